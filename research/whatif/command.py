"""The same episode with one thing changed: which one, what has to be so first, and the tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from coterie_bringup.errors import CommandError
from coterie_bringup.kept_runs import KeptRun, choose_run
from coterie_bringup.team_models import named_profile
from coterie_core.questions import FinalAnswer
from coterie_llm import ModelProfile
from coterie_safety.why import Record, Story, read_story
from coterie_safety.why.explanation import NothingKept
from coterie_safety.why.finding import find
from coterie_safety.why.words import line, mappings
from research.whatif.answers import AnswerChange, AnswersAgain
from research.whatif.decisions import ask_again
from research.whatif.episodes import exploration_again, goal_again
from research.whatif.exploration import WORD as EXPLORATION
from research.whatif.rerun.kept import CannotReplay, KeptNodes, kept_nodes
from research.whatif.rerun.tasks import TaskAgain, TaskEnd

_MOST_DECISIONS = 20
_MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What is asked for: which episode, and what is changed in it."""

    what: str = ""
    without: tuple[str, ...] = ()
    aggregator: str = ""
    model: str = ""
    team: str = ""
    folder: Path | None = None
    as_json: bool = False


def whatif(asked: WhatIf) -> int:
    """Have an episode again with a change, and print what changes; return 0.

    Raises:
        CommandError: Nothing is changed, nothing that is kept fits, or it cannot be had again.
    """
    if not (asked.without or asked.aggregator or asked.model):
        raise CommandError(
            "say what is to be otherwise: --without ROBOT, --aggregator NAME or --model PROFILE"
        )
    if asked.model and asked.aggregator:
        raise CommandError("--aggregator goes with --without, and not with --model")
    run = choose_run(asked.team, asked.folder)
    story = read_story(run.decisions, run.log)
    if asked.what.strip().lower() == EXPLORATION:
        return exploration_again(
            story, _nodes(run), _changed(asked), asked.without, asked.aggregator, _profile(asked),
            as_json=asked.as_json,
        )  # fmt: skip
    try:
        target = find(asked.what, story)
    except NothingKept as nothing:
        raise CommandError(f"{run.team}: {nothing}") from None
    record = story.get(target.id) if target.kind == "record" else None
    if asked.aggregator or target.kind == "question":
        if asked.model:
            return _decisions(_of_question(story, target.id), asked)
        chosen = target.id if asked.what and target.kind == "question" else ""
        return _answers(run, story, chosen, asked)
    if record is not None and record.kind == "decision" and asked.model:
        return _decisions([record], asked)
    task = target.task or (target.id if target.kind == "task" else "")
    if not task and record is not None:
        task = record.of.task
    if not task:
        raise CannotReplay(
            "that is no task, question or decision; ask for one of these (./coterie why shows "
            f"ids), or for the {EXPLORATION}"
        )
    return _task(run, story, task, asked)


# -- answers ---------------------------------------------------------------------------------------


def _answers(run: KeptRun, story: Story, question: str, asked: WhatIf) -> int:
    again = AnswersAgain(_nodes(run), asked.without, asked.aggregator)
    kept = [r for r in story.records if r.kind == "answer" and "votes" in r.body]
    kept = [record for record in kept if question in ("", record.of.question)]
    if not kept:
        raise CannotReplay("no answer is kept that was made of several robots' answers")
    words = {r.of.question: r.body.get("words", "") for r in story.records if r.kind == "question"}
    changes: list[tuple[str, AnswerChange]] = []
    refused: dict[str, int] = {}
    for record in kept:
        try:
            changes.append((str(words.get(record.of.question, "")), again.again(record)))
        except CannotReplay as why:
            if len(kept) == 1:
                raise
            refused[str(why)] = refused.get(str(why), 0) + 1
    if asked.as_json:
        print(json.dumps(_answers_as_data(changes, refused), indent=1))
        return 0
    _show_answers(changes, refused, asked)
    return 0


def _show_answers(
    changes: Sequence[tuple[str, AnswerChange]], refused: Mapping[str, int], asked: WhatIf
) -> None:
    console = Console(highlight=False)
    table = Table("question", "as it was", _changed(asked), title="What the team answers")
    rows = [one for one in changes if one[1].differs] if len(changes) > 1 else changes
    for words, one in rows[:_MOST_ROWS]:
        style = "bold" if one.differs else ""
        table.add_row(Text(line(words)), _answer(one.before), Text(_answer(one.after), style))
    if rows:
        console.print(table)
    for _, one in rows[:1] if len(changes) == 1 else ():
        console.print(Text(f"  as it was: {line(one.before.explanation, 300)}", "dim"))
        console.print(Text(f"  otherwise: {line(one.after.explanation, 300)}", "dim"))
    different = sum(one.differs for _, one in changes)
    if len(changes) > 1:
        more = f", the first {_MOST_ROWS} shown" if different > _MOST_ROWS else ""
        console.print(f"{different} of {len(changes)} answers would have been others{more}.")
    elif not different:
        console.print("The same answer.")
    for why, count in refused.items():
        console.print(Text(f"{count} left out: {why}", "yellow"))


def _answers_as_data(
    changes: Sequence[tuple[str, AnswerChange]], refused: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "answers": [
            {
                "question": one.question,
                "words": words,
                "differs": one.differs,
                "before": asdict(one.before),
                "after": asdict(one.after),
            }
            for words, one in changes
        ],
        "left_out": dict(refused),
    }


def _answer(final: FinalAnswer) -> str:
    word = {True: "yes", False: "no", None: "cannot tell"}[final.yes]
    sure = "" if final.yes is None else f", {final.confidence:.2f} sure"
    return f"{word}{sure} ({final.method})"


# -- decisions -------------------------------------------------------------------------------------


def _of_question(story: Story, question: str) -> list[Record]:
    return [r for r in story.records if r.kind == "decision" and r.of.question == question]


def _decisions(records: list[Record], asked: WhatIf) -> int:
    if asked.without:
        raise CommandError(
            "--model asks again what was decided, from what was known then, so that --without "
            "changes nothing in it: leave one out, or give the id of a task for both"
        )
    if not records:
        raise CannotReplay("no decision of it is kept")
    left_out = len(records) - _MOST_DECISIONS
    changes = ask_again(records[-_MOST_DECISIONS:], named_profile(asked.model))
    if asked.as_json:
        data = [{"differs": one.differs, **asdict(one)} for one in changes]
        print(json.dumps({"decisions": data, "left_out": max(left_out, 0)}, indent=1))
        return 0
    console = Console(highlight=False)
    table = Table("decision", "as it was", _changed(asked), title="What was sent then, sent again")
    for one in changes:
        before, after = one.in_words()
        style = "yellow" if one.problem else "bold" if one.differs else ""
        head = Text(f"{one.id}\n{line(one.who, 40)}, {line(one.name, 60)}")
        table.add_row(head, Text(before), Text(after, style))
    console.print(table)
    answered = [one for one in changes if not one.problem]
    told = f"{sum(one.differs for one in answered)} of {len(answered)} replies decide otherwise."
    console.print(f"{told} They were checked against the schema, not against what the robot knew.")
    if left_out > 0:
        console.print(f"{left_out} earlier decisions were left out.")
    return 0


# -- tasks -----------------------------------------------------------------------------------------


def _task(run: KeptRun, story: Story, task: str, asked: WhatIf) -> int:
    first = next((r for r in story.records if r.kind == "task" and r.of.task == task), None)
    if first is None:
        raise CannotReplay("the task's words are not kept any more")
    words = str(first.body.get("words", ""))
    shared = first.who != "leader"  # robots without a leader keep the goal each for itself
    earlier = [
        r
        for r in story.records
        if r.kind == "task"
        and r.at < first.at
        and not (shared and r.who != first.who and r.body.get("words") == words)
    ]
    given = _first_given(story, task)
    if earlier or story.gone.records:
        raise CannotReplay(
            "the team did other things before this task: the house was not as at the start any "
            "more; the first task of a run can be had again"
        )
    if shared:
        return goal_again(
            story, first, _nodes(run), _changed(asked), asked.without, _profile(asked),
            as_json=asked.as_json,
        )  # fmt: skip
    again = TaskAgain(_nodes(run))
    console = Console(highlight=False, stderr=asked.as_json)
    console.print("once more as it was, twice, to see that it comes out the same ...", style="dim")
    before = check_repeats(again, words, given)
    console.print(f"and {_changed(asked)} ...", style="dim")
    after = again.run(words, asked.without, _profile(asked))
    if asked.as_json:
        print(json.dumps({"before": asdict(before), "after": asdict(after)}, indent=1))
        return 0
    kept = next((r.body for r in story.of_kind("outcome") if r.of.task == task), {})
    console.print(_task_table(words, before, after, asked))
    if kept.get("message") and str(kept["message"]) != before.message:
        console.print(
            Text(
                f"The run itself ended {line(kept.get('outcome', ''), 40)}: "
                f"{line(kept['message'], 300)}. It began in the same way; when robots' messages "
                "come differs from run to run over ROS, and not here.",
                "dim",
            )
        )
    return 0


def _first_given(story: Story, task: str) -> dict[str, str]:
    for record in story.records:
        if record.kind == "assignment" and record.of.task == task:
            parts = mappings(record.body.get("sub_tasks"))
            return {str(one.get("what", "")): str(one.get("robot", "")) for one in parts}
    return {}


def _task_table(words: str, before: TaskEnd, after: TaskEnd, asked: WhatIf) -> Table:
    title = Text(f'"{line(words)}"')  # data, not markup
    table = Table("", "once more as it was", _changed(asked), title=title)

    def row(name: str, one: object, other: object) -> None:
        texts = str(one), str(other)
        table.add_row(
            Text(name), Text(texts[0]), Text(texts[1], "bold" if texts[0] != texts[1] else "")
        )

    row("ended", before.state, after.state)
    reached = (f"{end.achieved} of {end.wanted}" for end in (before, after))
    row("reached", *reached)
    row("simulated time [s]", f"{before.seconds:.0f}", f"{after.seconds:.0f}")
    row("rounds of discussion", before.rounds, after.rounds)
    for robot in dict.fromkeys((*before.skills, *after.skills)):
        row(f"skills of {line(robot, 40)}", before.skills.get(robot, 0), after.skills.get(robot, 0))
    if before.model_calls or after.model_calls:
        row("decided by the model", before.by_model, after.by_model)
        row("requests to the model", before.model_calls, after.model_calls)
    for what in dict.fromkeys((*before.given, *after.given)):
        one, other = before.given.get(what), after.given.get(what)
        row(line(what, 80), *(who or ("nobody" if who == "" else "-") for who in (one, other)))
    row("said at the end", line(before.message, 300), line(after.message, 300))
    return table


def _profile(asked: WhatIf) -> ModelProfile | None:
    return named_profile(asked.model) if asked.model else None


def _nodes(run: KeptRun) -> KeptNodes:
    return kept_nodes(run.directory)


def _changed(asked: WhatIf) -> str:
    parts = [f"without {', '.join(asked.without)}"] if asked.without else []
    parts += [f"by {asked.aggregator}"] if asked.aggregator else []
    parts += [f"with model {asked.model}"] if asked.model else []
    return line(", ".join(parts), 80)


def check_repeats(again: TaskAgain, words: str, kept: Mapping[str, str]) -> TaskEnd:
    """Do a task twice as it was; return its end where it comes out the same, and as it was kept.

    Args:
        again: The team.
        words: The task.
        kept: Who got which sub-task at first, as it was kept; {}: not kept.

    Raises:
        CannotReplay: It does not; says what differs.
    """
    first = again.run(words)
    if replace(again.run(words)).same != first.same:
        raise CannotReplay("the same seed gave two different runs: nothing can be compared with it")
    if kept and kept != dict(first.given):
        for what in kept.keys() | first.given.keys():
            was, now = kept.get(what, "nobody"), first.given.get(what, "nobody")
            if was != now:
                raise CannotReplay(
                    f"it does not begin again as it was: {what!r} went to {was}, and goes to {now} "
                    "from the robots' starts; the team had done other things before (the first "
                    "task of a run can be had again)"
                )
    return first
