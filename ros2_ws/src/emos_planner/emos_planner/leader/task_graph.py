"""The task graph: the sub-tasks of a task, what each waits for and who must do it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from coterie_core.tasks import Predicate, SubTask, SubTaskKind, Thing
from coterie_requests.understanding.phrases import Phrase
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.sightings import as_thing, kind_of
from emos_planner.leader.commands import Command
from emos_planner.leader.searches import Searches

_TELL_NOTHING = frozenset(("own", "whole", "nice", "same", "favorite", "favourite"))
"""Words before a noun after which no other thing is meant."""
WantKind = Literal["bring", "take", "detect", "check", "go", "open", "close"]

FURTHER = 0.25
"""Share of what is left unseen in a room that closer looks shall leave (0..1)."""


@dataclass(slots=True)
class Want:
    """One thing asked for.

    Either `phrase` (and `target`) say what is meant, in words, or `thing` (and `receptacle`) do.
    `need` is how many things (0: all). `assigned` maps the id of a thing (or room) to the sub-tasks
    that serve it; `satisfied` are things that fit already; `searches` the sub-tasks that look for
    more, in `rooms` (ids); `targets` are the furniture that the words mean as the place (ids),
    `target_searches` look for it; `goals` maps the id of a thing to what holds when it is done,
    `elsewhere` to the place that it went to instead. `lost` are things given that nobody can see
    to: where any others would do, they do not count. `unseen` are those that were put where nobody
    can look. `then`: it is begun when the wants before it are over.
    """

    kind: WantKind
    phrase: Phrase | None = None
    target: Phrase | None = None
    relation: str = ""
    thing: Thing | None = None
    receptacle: Thing | None = None
    need: int = 1
    robot: str = ""
    everybody: bool = False
    text: str = ""
    then: bool = False
    assigned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    satisfied: set[str] = field(default_factory=set)
    searches: list[str] = field(default_factory=list)
    rooms: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    target_searches: list[str] = field(default_factory=list)
    goals: dict[str, Predicate] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    unseen: set[str] = field(default_factory=set)

    @property
    def label(self) -> str:
        """What detectors call the thing."""
        if self.thing is not None:
            return self.thing.label
        return self.phrase.label or self.phrase.noun if self.phrase is not None else ""

    @property
    def unheard(self) -> tuple[str, ...]:
        """Words that say which things are meant, and that no robot can tell ("warm")."""
        said = [phrase for phrase in (self.phrase, self.target) if phrase is not None]
        every = [inner for whole in said for inner in whole.mentioned()]
        words = dict.fromkeys(word for phrase in every for word in phrase.ignored)
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
        return self.need > 0 and self.phrase is not None and not self.phrase.definite

    def is_about(self, kind: str) -> bool:
        """Whether things of a kind (a label as the household has it) matter for this."""
        if self.phrase is not None and self.phrase.anything:
            return True
        target = self.target.label if self.target else ""
        place = self.receptacle.label if self.receptacle else ""
        return kind in {kind_of(name) for name in (self.label, target, place) if name}


_KINDS: dict[str, WantKind] = {"find": "detect", "look": "detect"}


def wants_of(commands: Iterable[Command]) -> list[Want]:
    """Return the wants of commands in words."""
    wants = []
    for command in commands:
        phrase = command.object
        kind: WantKind = _KINDS.get(command.kind, command.kind)  # type: ignore[arg-type]
        wants.append(
            Want(
                kind,
                phrase,
                command.target,
                command.relation,
                need=0 if phrase.number == "all" else max(phrase.count, 1),
                robot=command.robot,
                everybody=command.everybody,
                text=command.text,
                then=command.then,
            )
        )
    return wants


def wants_of_goals(goals: Iterable[Predicate]) -> list[Want]:
    """Return the wants of goals in predicates; things to bring that must be detected, are once."""
    wants = []
    for goal in goals:
        thing = goal.object
        kind: WantKind = "go"
        if goal.name == "object_at_receptacle":
            kind = "bring"
        elif goal.name == "robot_detect_object":
            kind = "detect"
        elif goal.name == "robot_at_receptacle":
            thing = goal.receptacle
        wants.append(Want(kind, thing=thing, receptacle=goal.receptacle, robot=goal.robot))
    # What is to be detected anyway comes first: picking then waits for it.
    return sorted(wants, key=lambda want: want.kind != "detect")


@dataclass(slots=True)
class TaskGraph:
    """Makes sub-tasks: ids, dependencies, who must do them."""

    robots: tuple[str, ...]
    book: Searches
    sub_tasks: dict[str, SubTask] = field(default_factory=dict)
    only: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    never: dict[tuple[str, str], str] = field(default_factory=dict)
    checks: set[str] = field(default_factory=set)
    detect_of: dict[str, str] = field(default_factory=dict)
    open_of: dict[str, str] = field(default_factory=dict)
    waits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Sub-task -> those that were said to come before it; when they are over, it may begin."""
    search_of: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)
    resumed: bool = False
    """Whether the task was begun before: what is in place already counts first."""
    count: int = 0

    def add(
        self,
        kind: SubTaskKind,
        description: str,
        *,
        object: Thing | None = None,
        receptacle: Thing | None = None,
        rooms: Sequence[str] = (),
        after: Iterable[str] = (),
        same_robot_as: str = "",
        robot: str = "",
        enough: float = 0.0,
    ) -> str:
        """Add a sub-task and return its id."""
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
            same_robot_as=same_robot_as,
            description=description,
            enough=enough,
        )
        self.sub_tasks[sub_task.id] = sub_task
        if robot:
            self.only[sub_task.id] = robot
        return sub_task.id

    def adopt(self, plan: Iterable[SubTask]) -> None:
        """Take over other sub-tasks for the same wants; a model has split the task differently."""
        self.sub_tasks = {one.id: one for one in plan}
        self.only = {id: robot for id, robot in self.only.items() if id in self.sub_tasks}
        searches = [one for one in self.sub_tasks.values() if one.kind == "search" and one.object]
        self.search_of = {(o.object.label, o.rooms): o.id for o in searches if o.object}
        self.detect_of = _first(self.sub_tasks.values(), "detect")
        self.open_of = _first(self.sub_tasks.values(), "open")

    def with_enough(self, plan: Iterable[SubTask]) -> Iterator[SubTask]:
        """Yield a model's plan, each search with how much it may leave unseen."""
        plan = tuple(plan)
        looked: dict[str, set[str]] = {}
        for one in plan:
            if one.kind == "search" and one.object is not None:
                rooms = one.rooms or tuple(self.book.scene.rooms)
                looked.setdefault(one.object.label, set()).update(rooms)
        for one in plan:
            if one.kind == "search" and one.object is not None and not one.enough:
                rooms = one.rooms or tuple(self.book.scene.rooms)
                enough = self.book.share(rooms, len(looked[one.object.label]))
                one = one.model_copy(update={"enough": enough})
            yield one

    def note(self, text: str) -> None:
        """Remember something to tell the person, once."""
        if text not in self.notes:
            self.notes.append(text)

    def opened(self, owner: SceneObject, scene: SceneGraph, robot: str) -> str:
        """Return the sub-task that opens a closed container ("" where it stands open)."""
        if owner.is_open is not False:
            return ""
        return self.opens(owner, scene, robot)

    def opens(self, owner: SceneObject, scene: SceneGraph, robot: str) -> str:
        """Return the sub-task that opens something, one for all that need it."""
        if owner.id not in self.open_of:
            thing = as_thing(owner)
            self.open_of[owner.id] = self.add(
                "open", f"open {named(owner, scene)}", object=thing, robot=robot
            )
        return self.open_of[owner.id]

    def detected(self, thing: SceneObject, scene: SceneGraph, robot: str) -> tuple[str, ...]:
        """Return the sub-tasks after which a thing has been seen (none if it has been)."""
        inside = scene.objects.get(thing.container)
        opening = self.opened(inside, scene, "") if inside is not None else ""
        if thing.id in self.seen:
            return (opening,) if opening else ()
        if thing.id not in self.detect_of:
            self.detect_of[thing.id] = self.add(
                "detect",
                f"look at {named(thing, scene)}",
                object=as_thing(thing),
                after=(opening,),
                robot=robot,
            )
        return (self.detect_of[thing.id],)

    def forget(self, thing: str) -> None:
        """Forget a thing that was a mistake; seen again, it is looked at anew."""
        self.seen.discard(thing)
        self.detect_of.pop(thing, None)

    def searches(
        self,
        label: str,
        rooms: Sequence[str],
        names: Sequence[str],
        robot: str,
        of: int = 1,
        owner: Thing | None = None,
    ) -> list[str]:
        """Return the sub-tasks that look for a label in rooms; one that exists is used again.

        With `owner` what is on or in that piece of furniture is looked for.
        """
        key = (label, (*rooms, owner.id) if owner is not None else tuple(rooms))
        if key not in self.search_of:
            where = ", ".join(names) if names else "everywhere"
            if owner is not None:
                where = f"on {owner.id} ({where})"
                self.book.owners.setdefault(kind_of(label), set()).add(owner.id)
            self.search_of[key] = self.add(
                "search",
                f"look for {label} in {where}",
                object=Thing(label=label),
                receptacle=owner,
                rooms=rooms,
                robot=robot,
                enough=self.book.share(rooms, of),
            )
        return [self.search_of[key]]

    def search_again(self, want: Want, scene: SceneGraph) -> list[str]:
        """Add searches of rooms in which too much is unseen, by robots that may see more there.

        Whoever comes next goes on from what the others' looks have left open. Where nobody sees
        more in those rooms, closer looks at others may make up for it.
        """
        label, added = want.label, []
        tried = self.book.tried.get(kind_of(label), {})
        fit = (want.robot,) if want.robot else self.robots
        share = self.book.share(want.rooms[:1], len(want.rooms))
        most = {
            room: share
            for room in self.book.open_rooms(label, want.rooms)
            if not set(fit) <= tried.get(room, set())
        } or {
            room: FURTHER * self.book.left(label, (room,))
            for room in self.book.rest(label, want.rooms, fit)
        }
        for room, enough in most.items():
            id = self.add(
                "search",
                f"look for {label} in {scene.rooms[room].name}, where more may be",
                object=Thing(label=label),
                receptacle=self._owner(label, room, scene),
                rooms=(room,),
                robot=want.robot,
                enough=enough,
            )
            looked = self.book.looked(label)
            self.sub_tasks[id] = self.sub_tasks[id].model_copy(update={"looked": looked})
            for robot in tried.get(room, ()):
                self.never[id, robot] = f"it has searched {scene.rooms[room].name} already"
            added.append(id)
        want.searches += added
        return added

    def _owner(self, label: str, room: str, scene: SceneGraph) -> Thing | None:
        """Return the furniture of a room that a search is about (None: the whole room)."""
        here = (scene.objects.get(id) for id in sorted(self.book.owners.get(kind_of(label), ())))
        return next((as_thing(owner) for owner in here if owner and owner.room == room), None)


def _first(sub_tasks: Iterable[SubTask], kind: str) -> dict[str, str]:
    """Return thing -> the sub-task of a kind that is about it."""
    found: dict[str, str] = {}
    for one in sub_tasks:
        if one.kind == kind and one.object is not None:
            found.setdefault(one.object.id, one.id)
    return found


def named(thing: SceneObject, scene: SceneGraph) -> str:
    """Return a thing in words: its id, and the room where it is."""
    room = scene.rooms.get(thing.room)
    name = thing.id if thing.label.top in thing.id else f"{thing.label.top} {thing.id}"
    return f"{name} in {room.name}" if room is not None else name
