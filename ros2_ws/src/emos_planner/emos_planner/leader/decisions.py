"""What a model is asked as leader: how to split a task, and who takes what somebody refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from coterie_core.language import CheckFailed, Decision, Message, as_data, inline_data
from coterie_core.tasks import SubTask, SubTaskKind, Thing, Verdict
from emos_planner.leader.plan_selection import with_known_ids

_MOST_PROBLEMS = 12


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")


class SplitItem(_Reply):
    """One sub-task as a model writes it."""

    id: str = Field(min_length=1, max_length=60, description="short and unique, e.g. pick-1")
    kind: SubTaskKind
    object: str = Field("", max_length=120, description="id of the thing; for search its label")
    receptacle: str = Field("", max_length=120, description="place only: id of where to put it")
    rooms: list[str] = Field(default_factory=list, max_length=60, description="room ids")
    robot: str = Field(max_length=60, description="name of the robot that does it")
    depends_on: list[str] = Field(
        default_factory=list, max_length=60, description="ids done before"
    )
    same_robot_as: str = Field("", max_length=60, description="place: id of its pick")


class SplitReply(_Reply):
    """A task split into sub-tasks, each given to a robot."""

    reasoning: str = Field("", description="who can do what, in a few words")
    sub_tasks: list[SplitItem] = Field(max_length=300)


@dataclass(frozen=True)
class SplitState:
    """A task before it is split.

    `things` and `rooms` are what may be named; `basis` the sub-tasks that a rule has made of the
    words (empty where it did not understand them), `second` the same with a solver's robots;
    `fixed` says which robot a sub-task must go to because the person said so.
    """

    words: str
    scene: str
    things: Mapping[str, Thing]
    rooms: Mapping[str, str]
    robots: Mapping[str, str]
    basis: tuple[SubTask, ...] = ()
    second: tuple[SubTask, ...] = ()


class SplitTask(Decision[SplitState, SplitReply]):
    """Split a task into sub-tasks and give each to a robot whose body can do it."""

    name: ClassVar[str] = "emos.split_task"
    reply_type: ClassVar[type[BaseModel]] = SplitReply
    max_tokens: ClassVar[int] = 4000

    def prompt(self, state: SplitState) -> Sequence[Message]:
        """Show task, map, bodies, and what a solver would do."""
        second = _plan_text(state.second)
        return (
            Message.system(
                "You lead a team of household robots with different bodies. Split the person's "
                "task into sub-tasks and give each to one robot whose base, sensors and arm can "
                "do it, so that all is done early and nobody waits in vain.\n"
                "Kinds: go_to (a thing or rooms), search (a label, in rooms), detect (look at a "
                "known thing), pick, place (object on or into receptacle), open, close.\n"
                "Rules: name things, rooms and robots by the ids given, nothing else. A thing is "
                "detected before it is picked and picked before it is placed (depends_on). Who "
                "picks a thing places it (same_robot_as), unless it is handed over: placed where "
                "both robots reach, picked by the other. What is closed is opened before it is "
                "used. Wheels take no stairs. Things of unknown whereabouts are searched for. Do "
                "what the task asks for, all of it and nothing else. Keep the ids of the "
                "proposal for sub-tasks that you take over."
            ),
            Message.user(
                f"{as_data('task', state.words, limit=2000)}\n"
                f"{as_data('map', state.scene, limit=8000)}\n"
                + "\n".join(
                    as_data(f"robot {name}", text, limit=2500)
                    for name, text in state.robots.items()
                )
                + (
                    f"\nA solver that knows the bodies and ways proposes:\n"
                    f"{as_data('proposal of the solver', second, limit=8000)}"
                    if second
                    else ""
                )
            ),
        )

    def check(self, state: SplitState, reply: SplitReply) -> None:
        """Ids, kinds, order and robots must exist; nothing forgotten, repeated or not asked for."""
        problems = [*_wrong_names(state, reply), *_wrong_order(reply)]
        if state.basis and not problems:
            problems += _wrong_goals(state, reply)
        if not reply.sub_tasks:
            problems.append("there are no sub-tasks")
        if problems:
            more = len(problems) - _MOST_PROBLEMS
            raise CheckFailed(
                "; ".join(problems[:_MOST_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
            )

    def rule(self, state: SplitState) -> SplitReply:
        """Return the solver's plan."""
        return SplitReply(
            sub_tasks=[
                SplitItem(
                    id=one.id,
                    kind=one.kind,
                    object=_named(one),
                    receptacle=one.receptacle.id if one.receptacle else "",
                    rooms=list(one.rooms),
                    robot=one.robot,
                    depends_on=list(one.depends_on),
                    same_robot_as=one.same_robot_as,
                )
                for one in state.second
            ]
        )


def _named(sub_task: SubTask) -> str:
    if sub_task.object is None:
        return ""
    return sub_task.object.label if sub_task.kind == "search" else sub_task.object.id


def sub_tasks_of_reply(state: SplitState, reply: SplitReply) -> tuple[SubTask, ...]:
    """Return a checked reply as sub-tasks."""
    known = {one.id: one for one in (*state.basis, *state.second)}
    made = []
    for item in reply.sub_tasks:
        thing = state.things.get(item.object)
        if item.kind == "search":
            thing = Thing(label=item.object)
        made.append(
            SubTask(
                id=item.id,
                kind=item.kind,
                object=thing,
                receptacle=state.things.get(item.receptacle) if item.receptacle else None,
                rooms=tuple(item.rooms),
                robot=item.robot,
                depends_on=tuple(dict.fromkeys(item.depends_on)),
                same_robot_as=item.same_robot_as,
                description=_described(item, state, known.get(item.id)),
            )
        )
    return with_known_ids(made, state.second or state.basis, _meaning)


def _meaning(one: SubTask) -> tuple[object, ...]:
    return (*_end(one), one.rooms if one.kind == "search" else ())


def _described(item: SplitItem, state: SplitState, known: SubTask | None) -> str:
    if known is not None and (known.kind, _named(known)) == (item.kind, item.object):
        return known.description
    rooms = ", ".join(state.rooms.get(room, room) for room in item.rooms)
    where = f" on {item.receptacle}" if item.receptacle else f" in {rooms}" if rooms else ""
    return f"{item.kind.replace('_', ' ')} {item.object}{where}".strip()


def _wrong_names(state: SplitState, reply: SplitReply) -> list[str]:
    problems = []
    seen: set[str] = set()
    # Nobody can be named only where the solver found nobody either.
    nobody = any(not one.robot for one in state.second)
    for item in reply.sub_tasks:
        where = f"sub-task {inline_data(item.id)}"
        if item.id in seen:
            problems.append(f"{where} comes twice; give each its own id")
        seen.add(item.id)
        if item.robot not in state.robots and not (item.robot == "" and nobody):
            problems.append(
                f"{where}: there is no robot {inline_data(item.robot)}; there are "
                f"{', '.join(state.robots)}"
            )
        if item.kind == "search":
            if not item.object.strip():
                problems.append(f"{where}: search needs the label of a thing")
        elif item.kind != "go_to" and item.object not in state.things:
            problems.append(f"{where}: no thing with id {inline_data(item.object)}")
        elif item.kind == "go_to" and not item.rooms and item.object not in state.things:
            problems.append(f"{where}: go_to needs a known thing or rooms")
        if item.kind == "place" and item.receptacle not in state.things:
            problems.append(f"{where}: no receptacle with id {inline_data(item.receptacle)}")
        problems += [
            f"{where}: no room {inline_data(room)}"
            for room in item.rooms
            if room not in state.rooms
        ]
    return problems


def _wrong_order(reply: SplitReply) -> list[str]:
    problems = []
    items = {item.id: item for item in reply.sub_tasks}
    for item in reply.sub_tasks:
        where = f"sub-task {inline_data(item.id)}"
        unknown = [i for i in (*item.depends_on, item.same_robot_as) if i and i not in items]
        if unknown:
            problems.append(f"{where}: no sub-task {inline_data(unknown[0])} to depend on")
        partner = items.get(item.same_robot_as)
        if partner is not None and partner.robot != item.robot:
            problems.append(f"{where}: must be done by {partner.robot}, who does {partner.id}")
        if item.kind == "place":
            picks = [
                other
                for other in _before(item.id, items)
                if items[other].kind == "pick"
                and items[other].object == item.object
                and items[other].robot == item.robot
            ]
            if not picks:
                problems.append(f"{where}: {item.robot} places what it has not picked before")
    for item in reply.sub_tasks:
        if item.id in _before(item.id, items):
            problems.append(f"sub-task {inline_data(item.id)} waits for itself")
            break
    return problems


def _before(start: str, items: Mapping[str, SplitItem]) -> set[str]:
    """Return all that must be done before a sub-task."""
    found: set[str] = set()
    todo = [i for i in items[start].depends_on if i in items]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += [i for i in items[one].depends_on if i in items]
    return found


def _wrong_goals(state: SplitState, reply: SplitReply) -> list[str]:
    """Compare with what the words ask for: every end is reached once, nothing else is moved."""
    problems = []
    asked = {_end(one): one for one in state.basis}
    given: dict[tuple[str, str, str], int] = {}
    for item in reply.sub_tasks:
        end = _end_of_item(item)
        given[end] = given.get(end, 0) + 1
    for end, one in asked.items():
        if one.kind == "search":
            rooms = {r for i in reply.sub_tasks if i.kind == "search" for r in i.rooms}
            labels = {i.object.lower() for i in reply.sub_tasks if i.kind == "search"}
            if end[1].lower() not in labels or not set(one.rooms) <= rooms:
                problems.append(
                    f"forgotten: {inline_data(one.description)} ({', '.join(one.rooms)})"
                )
        elif one.kind != "pick" and end not in given:
            problems.append(f"forgotten: {inline_data(one.description or one.id)}")
    moved = {one.object.id for one in state.basis if one.kind in ("pick", "place") and one.object}
    opened = {one.object.id for one in state.basis if one.kind in ("open", "close") and one.object}
    for item in reply.sub_tasks:
        if item.kind in ("pick", "place") and item.object not in moved:
            problems.append(
                f"{inline_data(item.object)} is not to be moved; the task does not say so"
            )
        if item.kind in ("open", "close") and item.object not in opened:
            problems.append(f"{inline_data(item.object)} need not be {item.kind}ed")
    for end, n in given.items():
        # One thing, one robot: a second pick is for what was put down in between.
        put = sum(1 for i in reply.sub_tasks if i.kind == "place" and i.object == end[1])
        if end[0] == "pick" and n > max(put, 1):
            problems.append(f"{inline_data(end[1])} is picked up {n} times; give it to one robot")
    problems += [
        f"{end[0]} {inline_data(end[1])} {inline_data(end[2])} comes {n} times"
        for end, n in given.items()
        if n > 1 and end[0] not in ("pick", "go_to", "search") and end in asked
    ]
    return problems


def _end(one: SubTask) -> tuple[str, str, str]:
    where = one.receptacle.id if one.receptacle else ""
    if one.kind == "go_to" and one.object is None:
        return one.kind, "", ",".join(one.rooms)
    return one.kind, _named(one), where


def _end_of_item(item: SplitItem) -> tuple[str, str, str]:
    if item.kind == "go_to" and not item.object:
        return item.kind, "", ",".join(item.rooms)
    return item.kind, item.object, item.receptacle if item.kind == "place" else ""


class Given(_Reply):
    """Who takes one sub-task."""

    sub_task: str = Field(max_length=60)
    robot: str = Field(max_length=60, description='name of a robot; "" if none can do it')


class ReassignReply(_Reply):
    """Who takes the sub-tasks that were refused."""

    reasoning: str = ""
    assignments: list[Given] = Field(max_length=300)


@dataclass(frozen=True)
class ReassignState:
    """Sub-tasks that need another robot.

    `second` are the open sub-tasks with a solver's robots; `refused` (sub-task, robot) pairs that
    must not come again, `verdicts` why; `pairs` which sub-tasks must go to one robot.
    """

    words: str
    robots: Mapping[str, str]
    second: tuple[SubTask, ...]
    refused: Collection[tuple[str, str]]
    verdicts: tuple[tuple[str, Verdict], ...] = ()
    load: Mapping[str, float] | None = None


class Reassign(Decision[ReassignState, ReassignReply]):
    """Give refused sub-tasks to other robots."""

    name: ClassVar[str] = "emos.reassign"
    reply_type: ClassVar[type[BaseModel]] = ReassignReply
    max_tokens: ClassVar[int] = 2000

    def prompt(self, state: ReassignState) -> Sequence[Message]:
        """Show what was refused and why, the bodies, and the solver's way out."""
        reasons = [
            f"{inline_data(robot)} on {inline_data(v.sub_task)}: {inline_data(v.reason, limit=300)}"
            for robot, v in state.verdicts[-40:]
        ]
        busy = {robot: round(seconds) for robot, seconds in (state.load or {}).items()}
        return (
            Message.system(
                "You lead a team of household robots. Some sub-tasks were refused by the robots "
                "that were to do them. Name for each sub-task the robot that does it now: one "
                "whose body can, that has not refused it, and that has not too much to do. Where "
                'no robot can do it, leave robot empty ("").'
            ),
            Message.user(
                f"{as_data('task', state.words, limit=1000)}\n"
                f"{as_data('sub-tasks to give', _plan_text(state.second), limit=6000)}\n"
                f"{as_data('refusals', reasons, limit=6000)}\n"
                f"{as_data('seconds of work each has already', busy, limit=2000)}\n"
                + "\n".join(
                    as_data(f"robot {name}", text, limit=1500)
                    for name, text in state.robots.items()
                )
            ),
        )

    def check(self, state: ReassignState, reply: ReassignReply) -> None:
        """Every sub-task once, by a known robot that has not refused it; pairs stay together."""
        problems = []
        wanted = {one.id: one for one in state.second}
        robots: dict[str, str] = {}
        for item in reply.assignments:
            if item.sub_task not in wanted:
                problems.append(f"{inline_data(item.sub_task)} is none of the sub-tasks")
            elif item.sub_task in robots:
                problems.append(f"{item.sub_task} comes twice")
            elif item.robot and item.robot not in state.robots:
                problems.append(f"there is no robot {inline_data(item.robot)}")
            elif (item.sub_task, item.robot) in state.refused:
                problems.append(f"{item.robot} has refused {item.sub_task}")
            robots[item.sub_task] = item.robot
        for one in state.second:
            if one.id not in robots:
                problems.append(f"{one.id} is forgotten")
            partner = one.same_robot_as
            if partner in robots and robots.get(one.id) and robots[partner] != robots[one.id]:
                problems.append(f"{one.id} must go to the robot that does {partner}")
        if problems:
            raise CheckFailed("; ".join(problems[:_MOST_PROBLEMS]))

    def rule(self, state: ReassignState) -> ReassignReply:
        """Return the solver's choice."""
        return ReassignReply(
            assignments=[Given(sub_task=one.id, robot=one.robot) for one in state.second]
        )


def _plan_text(sub_tasks: Sequence[SubTask]) -> str:
    lines = []
    for one in sub_tasks:
        parts = [f"{one.id}: {one.kind} {inline_data(_named(one), limit=60)}"]
        if one.receptacle is not None:
            parts.append(f"on {inline_data(one.receptacle.id, limit=60)}")
        if one.rooms:
            parts.append(f"in {', '.join(one.rooms)}")
        if one.depends_on:
            parts.append(f"after {', '.join(one.depends_on)}")
        if one.same_robot_as:
            parts.append(f"by the robot of {one.same_robot_as}")
        parts.append(f"robot: {one.robot or 'nobody'}")
        lines.append(" ".join(parts))
    return "\n".join(lines)
