"""`./coterie ask`: put one question to a running team and show its answer with the evidence."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import math
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.results import found_object
from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import RunState, team_here
from coterie_cli.exit_codes import Exit, told
from coterie_cli.options import AsJson, Namespace, RunningTeam, TeamDomain
from coterie_core.questions import Answer, OpenAnswer, Question, percent

if TYPE_CHECKING:
    from rich.table import Table

    from coterie_bringup.team_client import TeamAnswer
    from coterie_core.geometry import Vec3
    from coterie_msgs.action import AskTeam
    from coterie_requests.ask_back import Judgement
    from coterie_world.scene import SceneGraph


app = typer.Typer(add_completion=False)


_SOURCES = {
    "blind": "by common sense",
    "captions": "from captions of images",
    "scene_graph": "from the map",
    "frames": "from images",
    "ours": "from map and images",
}
"""Methods of open questions in words."""
_SEEN = 5
"""Most labels that a line of progress names."""


@app.command("ask", epilog=told("ask"))
def ask(
    question: Annotated[
        list[str], typer.Argument(help='Question in words, such as "What color is the sofa?".')
    ],
    team: RunningTeam = "",
    domain: TeamDomain = None,
    namespace: Namespace = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Time to wait for the team and its answer [s].")
    ] = 300.0,
    as_json: AsJson = False,
) -> int:
    """Ask the running team a question; the answer comes with its confidence and evidence."""
    text = " ".join(" ".join(question).split())
    if not text:
        raise CommandError('the question is empty; for example: "Is there an oven in the kitchen?"')
    state = team_here(domain, namespace, team)
    state.require("ask")
    try:
        answer, scene, judgement = asyncio.run(_ask(state, text, timeout, quiet=as_json))
    except asyncio.CancelledError:
        print("coterie: the question was taken back", file=sys.stderr)
        return Exit.INTERRUPTED
    if isinstance(answer, str):
        raise CommandError(f"the team could not answer: {answer}", Exit.UNKNOWN)
    if isinstance(answer, OpenAnswer):
        if as_json:
            data = _open_data(answer, scene) | judgement_data(judgement)
            print(json.dumps({"question": text, **data}, indent=1))
        else:
            _print_open(text, answer, scene, judgement)
        if judgement is not None and not judgement.proceeds:
            return Exit.UNKNOWN if judgement.kind == "not_seen_yet" else Exit.NOT_CLEAR
        if answer.guessed and answer.confidence <= 0.0:
            return Exit.UNKNOWN  # "cannot tell: ...", which is no guess at anything
        return Exit.PARTLY if answer.guessed else Exit.DONE
    if as_json:
        print(json.dumps(as_data(text, answer) | judgement_data(judgement), indent=1))
    else:
        _print(text, answer)
    if answer.final.yes is None:
        return Exit.UNKNOWN
    return Exit.PARTLY if answer.guessed else Exit.DONE


def as_data(question: str, answer: TeamAnswer) -> dict[str, Any]:
    """Return the answer as plain data for programs."""
    final = answer.final
    word = {True: "yes", False: "no", None: "unknown"}[final.yes]
    return {
        "question": question,
        "answer": word,
        "guessed": answer.guessed,
        "confidence": round(final.confidence, 4),
        "method": final.method,
        "explanation": final.explanation,
        "missing": list(final.missing),
        "votes": [asdict(vote) for vote in final.votes],
        "answers": [asdict(one) for one in answer.answers],
    }


def judgement_data(judgement: Judgement | None) -> dict[str, Any]:
    """Return what a program reads of a judgement; nothing where nobody judged."""
    return {} if judgement is None else {"judgement": judgement.data}


def _open_data(answer: OpenAnswer, scene: SceneGraph | None) -> dict[str, Any]:
    data = {"is_open": True, "answer": answer.text, **asdict(answer)}
    del data["question"], data["text"]
    data["confidence"] = round(answer.confidence, 4)
    data["objects"] = [thing_data(id_, scene) for id_ in answer.objects]
    return data


def thing_data(id_: str, scene: SceneGraph | None) -> dict[str, Any]:
    """Return a thing of a map as plain data: id, and label, room, center [m] where it is known."""
    thing = found_object(id_, scene)
    if thing.center is None:
        return {"id": id_}
    return {"id": id_, "label": thing.label, "room": thing.room, "center": list(thing.center)}


async def _ask(
    state: RunState, text: str, timeout: float, *, quiet: bool
) -> tuple[TeamAnswer | OpenAnswer | str, SceneGraph | None, Judgement | None]:
    from rich.console import Console

    from coterie_bringup.signals import ended_by_signals
    from coterie_bringup.spinning import in_loop
    from coterie_bringup.team_client import operating
    from coterie_cli.person import PersonAtTerminal
    from coterie_cli.person_seat import attend
    from coterie_ros.clients import GoalRejected, NoAnswer

    with operating(
        state.robots,
        **state.reach,
    ) as operator:
        question = Question(f"ask-{uuid.uuid4().hex[:12]}", "", "", text)
        person = PersonAtTerminal(Console(stderr=True))
        if not quiet:  # a robot that goes to look may need a permit
            work = partial(attend, operator, state.robots, person, "ask")
            await in_loop(operator, operator.in_executor(work))
        try:
            async with ended_by_signals():
                with contextlib.closing(person), AskView(quiet) as view, person.beside(view.status):
                    answer = await in_loop(operator, operator.ask(question, timeout, view.show))
                scene = None
                if isinstance(answer, OpenAnswer) and answer.objects:
                    scene = await in_loop(operator, operator.map(3.0))
                return answer, scene, operator.judgements.get(question.id)
        except (NoAnswer, GoalRejected) as error:
            raise CommandError(
                f"no answer from {state.who}: {error} (./coterie doctor lists running teams; a "
                "robot that goes to look takes its time: --timeout)"
            ) from None


class AskView:
    """Shows on standard error how far a question is: one changing line, or a line per change.

    Args:
        quiet: Show nothing: a program reads the answer.
    """

    def __init__(self, quiet: bool = False) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, quiet=quiet)
        self.status = self._console.status("asking the team")
        self._told = ""

    def __enter__(self) -> AskView:
        if self._console.is_terminal:
            self.status.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.status.stop()

    def show(self, progress: AskTeam.Feedback) -> None:
        """Show what a feedback message says."""
        from rich.markup import escape

        text = progress_text(progress)
        if not text or text == self._told:
            return
        self._told = text
        if self._console.is_terminal:
            self.status.update(escape(text))
        else:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def progress_text(progress: AskTeam.Feedback) -> str:
    """Return how far a question is, in words; nothing where the message does not say."""
    if progress.stage == progress.HEARING and progress.robots:
        return f"{len(progress.robots)} of {progress.expected} robots have answered"
    if progress.stage == progress.THINKING:
        return "looking for the answer in the map"
    if progress.stage != progress.EXPLORING:
        return ""
    text = (
        f"{plain(progress.robot)} drives to {plain(progress.place)}, {plain(progress.reason)}; "
        f"{progress.distance:.1f} m of at most {progress.max_distance:g} m driven"
    )
    if progress.seen:
        text += f"; saw {', '.join(plain(label) for label in progress.seen[-_SEEN:])}"
    return text


def _print(question: str, answer: TeamAnswer) -> None:
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    final = answer.final
    word, colour = {True: ("YES", "green"), False: ("NO", "red"), None: ("UNKNOWN", "yellow")}[
        final.yes
    ]
    if answer.guessed:
        word, colour = f"A GUESS: {word}", "yellow"
    head = Text.assemble((word, f"bold {colour}"))
    if final.yes is not None:
        head.append(f"  {percent(final.confidence)} sure")
    head.append(f"   by {final.method}", "dim")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("robot", "says", "sure", "because"):
        table.add_column(title, overflow="fold")
    for one in answer.answers:
        nothing = one.evidence.kind == "nothing"
        says = ("-", "dim") if nothing else ("yes", "green") if one.yes else ("no", "red")
        table.add_row(
            Text(one.robot),
            Text(*says),
            "" if nothing else percent(one.confidence),
            Text(one.explanation or evidence_text(one)),
        )
    for robot in final.missing:
        table.add_row(Text(robot), Text("-", "dim"), "", Text("did not answer in time", "dim"))
    body = Table.grid(padding=(0, 0, 1, 0))
    body.add_row(head)
    body.add_row(table)
    if final.explanation:
        body.add_row(Text(final.explanation, "dim"))
    Console().print(Panel(body, title=Text(question), title_align="left", expand=False))


def _print_open(
    question: str, answer: OpenAnswer, scene: SceneGraph | None, judgement: Judgement | None
) -> None:
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    head = Text.assemble((plain(answer.text), "bold yellow" if answer.guessed else "bold green"))
    sure = f"{percent(answer.confidence)} sure"
    if judgement is not None and not judgement.proceeds:
        sure = judgement.brief
    elif answer.guessed:
        sure = "a guess" if answer.confidence > 0.0 else "nobody knows"
    head.append(f"   {sure}", "")
    head.append(f"   {kind_text(answer)}", "dim")
    body = Table.grid(padding=(0, 0, 1, 0))
    body.add_row(head)
    if answer.objects:
        body.add_row(objects_table(answer.objects[:8], scene))
    if said := notes(answer, plain):
        body.add_row(Text(said, "dim"))
    Console().print(Panel(body, title=Text(question), title_align="left", expand=False))


def objects_table(ids: Sequence[str], scene: SceneGraph | None) -> Table:
    """Return objects of a map as a table: id, labels, room, center."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("object", "taken for", "room", "center [m]"):
        table.add_column(Text(title), overflow="fold")  # no markup: "[m]" is a unit
    for id_ in ids:
        thing = scene.objects.get(id_) if scene else None
        if scene is None or thing is None:
            table.add_row(Text(plain(id_)), "", "", "")
            continue
        labels = list(thing.label.distribution().items())[:2]
        room = scene.rooms.get(thing.room)
        table.add_row(
            Text(plain(id_)),
            Text(", ".join(f"{plain(label)} {100 * p:.0f} %" for label, p in labels)),
            Text(plain(room.name) if room else ""),
            ", ".join(f"{v:.2f}" for v in thing.box.center),
        )
    return table


def kind_text(answer: OpenAnswer) -> str:
    """Return what kind of question was answered, and from what; "" for one not understood."""
    source = _SOURCES.get(answer.method, answer.method)
    return f"{answer.category.replace('_', ' ')}, {source}" if answer.category else ""


def way_length(path: Sequence[Vec3]) -> float:
    """Return the length of a way [m]."""
    return sum(math.dist(a, b) for a, b in itertools.pairwise(path))


def plain(text: str) -> str:
    """Text of a map or a model for the terminal: no control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)[:400]


def notes(answer: OpenAnswer, clean: Callable[[str], str] = str) -> str:
    """Return what else there is to say of an answer; `clean` makes its texts fit to be shown."""
    said = []
    if answer.frames:
        said.append(f"seen in {', '.join(clean(name) for name in answer.frames[:5])}")
    if answer.path:
        said.append(f"went {way_length(answer.path):.1f} m to look")
    if answer.explanation:
        said.append(clean(answer.explanation))
    if answer.reason:
        said.append(f"the rules decided: {clean(answer.reason)}")
    return "; ".join(said)


def evidence_text(answer: Answer) -> str:
    """Return an answer's evidence in words."""
    evidence = answer.evidence
    if evidence.kind == "seen":
        things = ", ".join(evidence.objects[:3])
        return f"saw {things}" if things else f"saw it {evidence.sightings} times"
    if evidence.kind == "not_there":
        share = f"{100 * evidence.visited_fraction:.0f} % of the room seen"
        also = f"; saw one in {', '.join(evidence.elsewhere[:2])}" if evidence.elsewhere else ""
        return f"looked {evidence.looks} times, {share}, not there{also}"
    if evidence.kind == "nothing":
        return "cannot tell"
    return f"never been there; common sense says {100 * evidence.prior:.0f} %"
