"""Goals and explorations once more: checked against the run, changed, and shown side by side."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from coterie_llm import ModelProfile
from coterie_safety.why import Record, Story
from coterie_safety.why.words import line
from research.whatif.cooperation import (
    CooperationAgain,
    CooperationEnd,
    Step,
    first_difference,
    goal_of,
    kept_steps,
)
from research.whatif.cooperation import differs_from_run as goal_differs
from research.whatif.exploration import ExplorationAgain, Explored, kept_hops
from research.whatif.exploration import differs_from_run as hops_differ
from research.whatif.rerun.kept import CannotReplay, KeptNodes

_MOST_ROWS = 40
_TWICE = "once more as it was, twice, to see that it comes out the same ..."
_UNSTEADY = "the same seed gave two different runs: nothing can be compared with it"


def goal_again(
    story: Story,
    first: Record,
    nodes: KeptNodes,
    changed: str,
    without: Collection[str],
    profile: ModelProfile | None,
    *,
    as_json: bool,
) -> int:
    """Have a goal that robots share done again with a change, and show what changes; return 0.

    Raises:
        CannotReplay: It cannot be had again.
    """
    words = str(first.body.get("words", ""))
    goal, again = goal_of(words), CooperationAgain(nodes)
    tasks = {r.of.task for r in story.records if r.kind == "task" and r.body.get("words") == words}
    console = _console(as_json)
    console.print(_TWICE, style="dim")
    before = again.run(goal)
    if again.run(goal) != before:
        raise CannotReplay(_UNSTEADY)
    console.print(f"and {changed} ...", style="dim")
    after = again.run(goal, without, profile)
    doubt = _doubt(goal_differs(kept_steps(story, tasks), before), lockstep=again.lockstep)
    if as_json:
        data = {"trusted": not doubt, "doubt": doubt}
        print(json.dumps(data | {"before": asdict(before), "after": asdict(after)}, indent=1))
        return 0
    _show_goal(console, words, before, after, changed)
    _tell_doubt(console, doubt)
    return 0


def exploration_again(
    story: Story,
    nodes: KeptNodes,
    changed: str,
    without: Collection[str],
    aggregator: str,
    profile: ModelProfile | None,
    *,
    as_json: bool,
) -> int:
    """Have a house explored again with a change, and show what changes; return 0.

    Raises:
        CannotReplay: It cannot be had again.
    """
    kept = kept_hops(story)
    if not kept or story.gone.records:
        raise CannotReplay("where the robots went is not kept, or not any more")
    again = ExplorationAgain(nodes, max(map(len, kept.values())))
    console = _console(as_json)
    console.print(_TWICE, style="dim")
    before = again.run()
    if again.run().same != before.same:
        raise CannotReplay(_UNSTEADY)
    console.print(f"and {changed} ...", style="dim")
    after = again.run(without, aggregator, profile)
    doubt = _doubt(hops_differ(kept, before), lockstep=again.lockstep)
    if as_json:
        data = {"trusted": not doubt, "doubt": doubt}
        print(json.dumps(data | _explored_as_data(before, after), indent=1))
        return 0
    _show_explored(console, before, after, changed)
    _tell_doubt(console, doubt)
    return 0


def _console(as_json: bool) -> Console:
    return Console(highlight=False, stderr=as_json)


def _doubt(difference: str, *, lockstep: bool) -> str:
    """Return why what is shown says nothing certain about the run itself; "" where it does."""
    if not difference:
        return ""
    why = (
        "Over ROS, messages come in another order from run to run"
        if lockstep
        else "The run was in real time, and no two such runs are the same"
    )
    return (
        f"This what-if cannot be trusted as one of the run itself: {difference}. {why}. Both "
        "columns are runs in lockstep of the same team, house and starts, which can be compared "
        "with one another."
    )


def _tell_doubt(console: Console, doubt: str) -> None:
    if doubt:
        console.print(Text(line(doubt, 900), "yellow"))
    else:
        console.print(Text("The replay does what the run did, step by step.", "dim"))


def _rows(table: Table, name: str, one: object, other: object) -> None:
    texts = str(one), str(other)
    table.add_row(Text(name), Text(texts[0]), Text(texts[1], "bold" * (texts[0] != texts[1])))


def _show_goal(
    console: Console, words: str, before: CooperationEnd, after: CooperationEnd, changed: str
) -> None:
    table = Table("", "once more as it was", changed, title=Text(f'"{line(words)}"'))
    ends = (before, after)
    _rows(table, "in place, as they know", *(f"{end.reached} of {end.wanted}" for end in ends))
    for name in before.in_place:
        _rows(table, f"in truth {line(name, 80)}", *(end.in_place.get(name, 0) for end in ends))
    _rows(table, "simulated time [s]", *(f"{end.seconds:.0f}" for end in ends))
    for robot in before.ended:
        who = line(robot, 40)
        _rows(table, f"{who} ended", *(end.ended.get(robot, "not there") for end in ends))
        _rows(table, f"{who} put down", *(end.placed.get(robot, 0) for end in ends))
        steps = (sum(step.robot == robot for step in end.steps) for end in ends)
        _rows(table, f"steps of {who}", *steps)
        _rows(table, f"way of {who} [m]", *(f"{end.ways.get(robot, 0.0):.1f}" for end in ends))
        _rows(table, f"messages of {who}", *(end.messages.get(robot, 0) for end in ends))
    if after.model_calls:
        _rows(table, "requests to the model", before.model_calls, after.model_calls)
    different = first_difference(before, after)
    if different is not None:
        _rows(table, "first step that differs", *map(_step, different))
    console.print(table)
    if different is None:
        console.print("The robots that are in both do the same.")


def _step(step: Step | None) -> str:
    return "none" if step is None else f"{step.time:.1f} s: {line(step.robot, 40)} {step.what}"


def _show_explored(console: Console, before: Explored, after: Explored, changed: str) -> None:
    table = Table("", "once more as it was", changed, title="What the robots find")
    ends = (before, after)
    _rows(table, "kinds of things met", *(len(end.team_kinds) for end in ends))
    rooms = (len(frozenset[str]().union(*end.rooms.values())) for end in ends)
    _rows(table, "rooms met", *rooms)
    for robot in before.chosen:
        places = (len(end.chosen.get(robot, ())) for end in ends)
        _rows(table, f"hops of {line(robot, 40)}", *places)
        kinds = (len(end.kinds.get(robot, ())) for end in ends)
        _rows(table, f"kinds met by {line(robot, 40)}", *kinds)
    _rows(table, "simulated time [s]", *(f"{end.seconds:.0f}" for end in ends))
    _rows(table, "answers by", before.method, after.method)
    _rows(table, f"right of {len(before.asked)} answers", before.right, after.right)
    console.print(table)
    for title, some in (
        ("not met then", before.team_kinds - after.team_kinds),
        ("met only then", after.team_kinds - before.team_kinds),
    ):
        if some:
            console.print(Text(f"{title}: {line(', '.join(sorted(some)), 600)}"))
    changes = _changes(before, after)
    if changes:
        answers = Table("question", "is so", "once more as it was", changed)
        for one in changes[:_MOST_ROWS]:
            cells = (one["words"], *(_word(one[name]) for name in ("truth", "before", "after")))
            answers.add_row(*(Text(line(cell)) for cell in cells))
        console.print(answers)
    more = f", the first {_MOST_ROWS} shown" if len(changes) > _MOST_ROWS else ""
    console.print(f"{len(changes)} of {len(before.asked)} answers would have been others{more}.")


def _changes(before: Explored, after: Explored) -> list[dict[str, Any]]:
    return [
        {
            "words": f"Is there a {item.question.object} in {item.question.room}?",
            "truth": item.truth,
            "before": was.yes,
            "after": now.yes,
        }
        for item, was, now in zip(before.asked, before.answers, after.answers, strict=True)
        if was.yes != now.yes
    ]


def _word(yes: bool | None) -> str:
    return {True: "yes", False: "no", None: "cannot tell"}[yes]


def _explored_as_data(before: Explored, after: Explored) -> dict[str, Any]:
    def told(end: Explored) -> dict[str, Any]:
        return {
            "kinds": sorted(end.team_kinds),
            "kinds_by_robot": {robot: sorted(kinds) for robot, kinds in end.kinds.items()},
            "hops": {robot: list(places) for robot, places in end.chosen.items()},
            "seconds": end.seconds,
            "method": end.method,
            "questions": len(end.asked),
            "right": end.right,
        }

    return {"before": told(before), "after": told(after), "answers": _changes(before, after)}
