"""The task graph: the sub-tasks of a task, what each waits for and who must do it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from networkx import Graph, node_connected_component

from coterie_core.tasks import SubTask, SubTaskKind, SubTaskState, Thing
from coterie_requests.request import Command
from coterie_requests.understanding.phrases import Phrase
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.sightings import as_thing, kind_of
from emos_planner.leader.searches import Searches

_TELL_NOTHING = frozenset(("own", "whole", "nice", "same", "favorite", "favourite"))
"""Words before a noun after which no other thing is meant."""

SEEN = ("find", "look", "check")
"""Wants that looks bring about."""
FURTHER = 0.25
"""Share of what is left unseen in a room that closer looks shall leave (0..1)."""


@dataclass(slots=True)
class Want:
    """One thing asked for: what (`phrase`), and where to (`target`; `relation`: in, on or near).

    `need` is how many things (0: all). `assigned` maps the id of a thing (or room) to the sub-tasks
    that serve it; `satisfied` are things that fit already; `searches` the sub-tasks that look for
    more, in `rooms` (ids); `targets` are the furniture that the words mean as the place (ids),
    `target_searches` look for it; `elsewhere` maps the id of a thing to the place that it went to
    instead. `lost` are things given that nobody can see to: where any others would do, they do not
    count. `unseen` are those that were put where nobody can look. `then`: it is begun when the
    wants before it are over. `skill`: of a "use", its row in the table of skills.
    """

    kind: Command
    phrase: Phrase
    target: Phrase | None = None
    relation: str = ""
    need: int = 1
    robot: str = ""
    everybody: bool = False
    text: str = ""
    then: bool = False
    skill: str = ""
    assigned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    satisfied: set[str] = field(default_factory=set)
    searches: list[str] = field(default_factory=list)
    rooms: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    target_searches: list[str] = field(default_factory=list)
    elsewhere: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    unseen: set[str] = field(default_factory=set)

    @property
    def label(self) -> str:
        """What detectors call the thing."""
        return self.phrase.label or self.phrase.noun

    def mentioned(self) -> list[Phrase]:
        """Return all that the words name."""
        said = [phrase for phrase in (self.phrase, self.target) if phrase is not None]
        return [inner for whole in said for inner in whole.mentioned()]

    @property
    def unheard(self) -> tuple[str, ...]:
        """Words that say which things are meant, and that no robot can tell ("warm")."""
        words = dict.fromkeys(word for phrase in self.mentioned() for word in phrase.ignored)
        return tuple(word for word in words if word not in _TELL_NOTHING)

    @property
    def enough(self) -> bool:
        """Whether as many things are being seen to as were asked for (never, if all were)."""
        return bool(self.need) and self.count >= self.need

    @property
    def count(self) -> int:
        """How many things are seen to, or there already."""
        return len(self.assigned) - len(self.lost) + len(self.satisfied)

    @property
    def any_will_do(self) -> bool:
        """Whether so many of a kind were asked for ("a mug", "two mugs"), and none by name."""
        return self.need > 0 and not self.phrase.definite

    def is_about(self, kind: str) -> bool:
        """Whether things of a kind (a label as the household has it) matter for this."""
        target = self.target.label if self.target else ""
        return self.phrase.anything or kind in {
            kind_of(name) for name in (self.label, target) if name
        }


@dataclass(slots=True)
class TaskGraph:
    """What a task means: wants, the sub-tasks that they need as they are now, and who may do them.

    Attributes:
        robots: Those that take part.
        book: What searches have left unseen; knows the map.
        wants: What was asked for.
        sub_tasks: By their ids, as the other fields have them.
        only: Sub-task -> the robot that the person named for it.
        failures: Sub-task -> robot -> how it failed.
        against: Sub-task -> robot -> why it is not to do it: it refused, or has searched there.
        given_up: Sub-task -> why nobody does it.
        waits: Sub-task -> those that were said to come before it; when they are over, it may begin.
        checks: Sub-tasks that look at what was put down.
        seen: Things that were seen in this task (ids).
        removed: Sub-tasks that count no longer.
        notes: What a person should know of how the task was taken.
        resumed: Whether the task was begun before: what is in place already counts first.
        count: How many sub-tasks were made.
    """

    robots: tuple[str, ...]
    book: Searches
    wants: list[Want] = field(default_factory=list)
    sub_tasks: dict[str, SubTask] = field(default_factory=dict)
    only: dict[str, str] = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)
    against: dict[str, dict[str, str]] = field(default_factory=dict)
    given_up: dict[str, str] = field(default_factory=dict)
    waits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    checks: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    resumed: bool = False
    count: int = 0

    @property
    def scene(self) -> SceneGraph:
        """The leader's map."""
        return self.book.scene

    # -- sub-tasks as they are ------------------------------------------------------------------

    def change(self, id: str, **fields: Any) -> SubTask:
        """Change fields of a sub-task; return it."""
        one = self.sub_tasks[id] = self.sub_tasks[id].model_copy(update=fields)
        return one

    def open_again(self, id: str, robot: str = "") -> SubTask:
        """Have a sub-task begun anew, by a robot ("": nobody yet)."""
        self.given_up.pop(id, None)
        return self.change(id, state=SubTaskState.PENDING, robot=robot, reason="")

    def give_up(self, id: str, why: str, **fields: Any) -> None:
        """Take down that nobody does a sub-task, and why."""
        self.given_up[id] = why
        self.change(id, reason=why, **fields)

    def remove(self, id: str, instead: str = "") -> None:
        """Drop a sub-task; what waits for it waits for another one instead ("": for none)."""
        self.removed.add(id)
        self.sub_tasks.pop(id, None)
        self.given_up.pop(id, None)
        for one in list(self.sub_tasks.values()):
            if id in one.depends_on:
                left = (instead if i == id else i for i in one.depends_on)
                self.change(one.id, depends_on=tuple(i for i in left if i and i != one.id))

    def unit(self, id: str) -> list[SubTask]:
        """Return a sub-task and all that the same robot must do, in the task's order."""
        pairs = Graph((o.id, o.same_robot_as or o.id) for o in self.sub_tasks.values())
        ids = node_connected_component(pairs, id) if id in pairs else set()
        return [one for one in self.sub_tasks.values() if one.id in ids]

    def before(self, id: str) -> set[str]:
        """Return all that a sub-task waits for, by way of others, too."""
        return all_before(id, {one.id: one.depends_on for one in self.sub_tasks.values()})

    # -- who may do them ------------------------------------------------------------------------

    def forbidden(self, robots: Iterable[str]) -> dict[tuple[str, str], str]:
        """Return the pairs of a sub-task and a robot that must not be, with the reason."""
        named = {
            (id, one): f"{robot} was asked for by name"
            for id, robot in self.only.items()
            for one in robots
            if one != robot
        }
        for known in (self.failures, self.against):
            for id, reasons in known.items():
                named |= {(id, robot): why for robot, why in reasons.items()}
        return named

    def rule_out(self, id: str, robot: str, why: str) -> None:
        """Take down why a robot is not to do a sub-task; the first reason stays."""
        self.against.setdefault(id, {}).setdefault(robot, why)

    # -- new ones -------------------------------------------------------------------------------

    def add(
        self,
        kind: SubTaskKind,
        description: str,
        *,
        object: Thing | None = None,
        receptacle: Thing | None = None,
        rooms: Sequence[str] = (),
        after: Iterable[str] = (),
        robot: str = "",
        **more: Any,
    ) -> str:
        """Add a sub-task, `robot` alone may do it ("": any); return its id."""
        self.count += 1
        while f"{kind}-{self.count}" in self.sub_tasks:
            self.count += 1
        sub_task = SubTask(
            id=f"{kind}-{self.count}",
            kind=kind,
            object=object,
            receptacle=receptacle,
            rooms=tuple(rooms),
            depends_on=tuple(dict.fromkeys(i for i in after if i)),
            description=description,
            **more,
        )
        self.sub_tasks[sub_task.id] = sub_task
        if robot:
            self.only[sub_task.id] = robot
        return sub_task.id

    def note(self, text: str) -> None:
        """Remember something to tell the person, once."""
        if text not in self.notes:
            self.notes.append(text)

    def _first(self, kind: SubTaskKind, thing: str) -> str:
        """Return the sub-task of a kind that is about a thing ("": there is none)."""
        return next(
            (
                one.id
                for one in self.sub_tasks.values()
                if one.kind == kind and one.object is not None and one.object.id == thing
                if one.id not in self.checks
            ),
            "",
        )

    def opened(self, owner: SceneObject) -> str:
        """Return the sub-task that opens a closed container ("" where it stands open)."""
        return self.opens(owner) if owner.is_open is False else ""

    def opens(self, owner: SceneObject, robot: str = "") -> str:
        """Return the sub-task that opens something, one for all that need it."""
        return self._first("open", owner.id) or self.add(
            "open", f"open {named(owner, self.scene)}", object=as_thing(owner), robot=robot
        )

    def detected(self, thing: SceneObject, robot: str = "") -> tuple[str, ...]:
        """Return the sub-tasks after which a thing has been seen (none if it has been)."""
        inside = self.scene.objects.get(thing.container)
        opening = self.opened(inside) if inside is not None else ""
        if thing.id in self.seen:
            return (opening,) if opening else ()
        words, item = f"look at {named(thing, self.scene)}", as_thing(thing)
        known = self._first("detect", thing.id)
        return (known or self.add("detect", words, object=item, after=(opening,), robot=robot),)

    def search(
        self,
        label: str,
        rooms: Sequence[str],
        robot: str,
        of: int = 1,
        owner: Thing | None = None,
    ) -> str:
        """Return the sub-task that looks for a label in rooms; one that exists is used again.

        With `owner` what is on or in that piece of furniture is looked for; `of` is the number of
        rooms of all searches together.
        """
        for one in self.sub_tasks.values():
            if one.kind == "search" and one.object is not None and one.object.label == label:
                if one.rooms == tuple(rooms) and one.receptacle == owner:
                    return one.id
        where = ", ".join(self.scene.rooms[room].name for room in rooms) or "everywhere"
        if owner is not None:
            where = f"on {owner.id} ({where})"
            self.book.owners.setdefault(kind_of(label), set()).add(owner.id)
        enough = self.book.share(rooms, of)
        return self.add(
            "search", f"look for {label} in {where}", object=Thing(label=label), receptacle=owner,
            rooms=rooms, robot=robot, enough=enough,
        )  # fmt: skip

    def search_again(self, want: Want) -> None:
        """Add searches of rooms in which too much is unseen, by robots that may see more there.

        Whoever comes next goes on from what the others' looks have left open. Where nobody sees
        more in those rooms, closer looks at others may make up for it.
        """
        label, book = want.label, self.book
        tried = book.tried.get(kind_of(label), {})
        fit = (want.robot,) if want.robot else self.robots
        share = book.share(want.rooms[:1], len(want.rooms))
        most = {
            room: share
            for room in book.open_rooms(label, want.rooms)
            if not set(fit) <= tried.get(room, set())
        } or {
            room: FURTHER * book.left(label, (room,)) for room in book.rest(label, want.rooms, fit)
        }
        owners = [self.scene.objects.get(id) for id in sorted(book.owners.get(kind_of(label), ()))]
        for room, enough in most.items():
            name = self.scene.rooms[room].name
            id = self.add(
                "search",
                f"look for {label} in {name}, where more may be",
                object=Thing(label=label),
                receptacle=next((as_thing(o) for o in owners if o and o.room == room), None),
                rooms=(room,),
                robot=want.robot,
                enough=enough,
                looked=book.belief(label).of_robots(),
            )
            for robot in tried.get(room, ()):
                self.rule_out(id, robot, f"it has searched {name} already")
            want.searches.append(id)


def all_before(id: str, waits: Mapping[str, Sequence[str]]) -> set[str]:
    """Return all that must be done before a step, given what each waits for itself."""
    found: set[str] = set()
    todo = [*waits.get(id, ())]
    while todo:
        one = todo.pop()
        if one in waits and one not in found:
            found.add(one)
            todo += waits[one]
    return found


def named(thing: SceneObject, scene: SceneGraph) -> str:
    """Return a thing in words: its id, and the room where it is."""
    room = scene.rooms.get(thing.room)
    name = thing.id if thing.label.top in thing.id else f"{thing.label.top} {thing.id}"
    return f"{name} in {room.name}" if room is not None else name
