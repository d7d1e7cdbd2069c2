"""Wants: what a task asks for, each with the sub-tasks that serve it, grown as things are found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from coterie_core.geometry import distance
from coterie_core.household import load_household
from coterie_core.scene import SceneGraph, SceneObject
from coterie_core.sightings import kind_of
from coterie_core.tasks import Predicate, SubTask, SubTaskKind, Thing
from coterie_core.understanding.phrases import Phrase
from emos_planner.leader.commands import Wish
from emos_planner.leader.resolve import Resolver, as_thing
from emos_planner.leader.searches import Searches
from emos_planner.leader.verbs import NotUnderstood

ROOMS_PER_SEARCH = 4
"""Rooms that one search sub-task holds: few enough to share a search among robots."""
MOST_THINGS = 60
"""Things that one want may move: a map full of phantoms must not fill the team's day."""

MOST_LABELS = 3
"""Labels that are searched for where several will do: the likeliest."""

WantKind = Literal["bring", "take", "detect", "check", "go", "open", "close"]


@dataclass(slots=True)
class Want:
    """One thing asked for.

    Either `phrase` (and `target`) say what is meant, in words, or `thing` (and `receptacle`) do.
    `need` is how many things (0: all). `given` maps the id of a thing (or room) to the sub-tasks
    that serve it; `met` are things that fit already; `searches` the sub-tasks that look for more,
    in `rooms` (ids); `then` says that it is begun when the wants before it are over.
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
    given: dict[str, tuple[str, ...]] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)
    searches: list[str] = field(default_factory=list)
    rooms: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    target_searches: list[str] = field(default_factory=list)
    goals: dict[str, Predicate] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What detectors call the thing."""
        if self.thing is not None:
            return self.thing.label
        return self.phrase.label or self.phrase.noun if self.phrase is not None else ""

    @property
    def enough(self) -> bool:
        """Whether as many things are being seen to as were asked for (never, if all were)."""
        return bool(self.need) and len(self.given) + len(self.met) >= self.need


_KINDS: dict[str, WantKind] = {"find": "detect", "look": "detect"}


def wants_of(wishes: Iterable[Wish]) -> list[Want]:
    """Return the wants of wishes in words."""
    wants = []
    for wish in wishes:
        phrase = wish.object
        kind: WantKind = _KINDS.get(wish.kind, wish.kind)  # type: ignore[arg-type]
        wants.append(
            Want(
                kind,
                phrase,
                wish.target,
                wish.relation,
                need=0 if phrase.number == "all" else max(phrase.count, 1),
                robot=wish.robot,
                everybody=wish.everybody,
                text=wish.text,
                then=wish.then,
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
class Board:
    """Makes sub-tasks: ids, dependencies, who must do them."""

    robots: tuple[str, ...]
    book: Searches
    sub_tasks: dict[str, SubTask] = field(default_factory=dict)
    only: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    never: dict[tuple[str, str], str] = field(default_factory=dict)
    checks: set[str] = field(default_factory=set)
    _detect_of: dict[str, str] = field(default_factory=dict)
    _open_of: dict[str, str] = field(default_factory=dict)
    waits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Sub-task -> those that were said to come before it; when they are over, it may begin."""
    _search_of: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)
    _count: int = 0

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
        self._count += 1
        while f"{kind}-{self._count}" in self.sub_tasks:
            self._count += 1
        sub_task = SubTask(
            id=f"{kind}-{self._count}",
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
        self._search_of = {(o.object.label, o.rooms): o.id for o in searches if o.object}
        self._detect_of = _first(self.sub_tasks.values(), "detect")
        self._open_of = _first(self.sub_tasks.values(), "open")

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
        if owner.id not in self._open_of:
            thing = as_thing(owner)
            self._open_of[owner.id] = self.add(
                "open", f"open {named(owner, scene)}", object=thing, robot=robot
            )
        return self._open_of[owner.id]

    def detected(self, thing: SceneObject, scene: SceneGraph, robot: str) -> tuple[str, ...]:
        """Return the sub-tasks after which a thing has been seen (none if it has been)."""
        inside = scene.objects.get(thing.container)
        opening = self.opened(inside, scene, "") if inside is not None else ""
        if thing.id in self.seen:
            return (opening,) if opening else ()
        if thing.id not in self._detect_of:
            self._detect_of[thing.id] = self.add(
                "detect",
                f"look at {named(thing, scene)}",
                object=as_thing(thing),
                after=(opening,),
                robot=robot,
            )
        return (self._detect_of[thing.id],)

    def forget(self, thing: str) -> None:
        """Forget a thing that was a mistake; seen again, it is looked at anew."""
        self.seen.discard(thing)
        self._detect_of.pop(thing, None)

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
        if key not in self._search_of:
            where = ", ".join(names) if names else "everywhere"
            if owner is not None:
                where = f"on {owner.id} ({where})"
                self.book.owners.setdefault(kind_of(label), set()).add(owner.id)
            self._search_of[key] = self.add(
                "search",
                f"look for {label} in {where}",
                object=Thing(label=label),
                receptacle=owner,
                rooms=rooms,
                robot=robot,
                enough=self.book.share(rooms, of),
            )
        return [self._search_of[key]]

    def search_again(self, want: Want, scene: SceneGraph) -> list[str]:
        """Add searches of rooms in which too much is unseen, by robots that have not been there.

        Whoever comes next goes on from what the others' looks have left open.
        """
        label, added = want.label, []
        tried = self.book.tried.get(kind_of(label), {})
        fit = (want.robot,) if want.robot else self.robots
        for room in self.book.open_rooms(label, want.rooms):
            if set(fit) <= tried.get(room, set()):
                continue
            id = self.add(
                "search",
                f"look for {label} in {scene.rooms[room].name}, where more may be",
                object=Thing(label=label),
                receptacle=self._owner(label, room, scene),
                rooms=(room,),
                robot=want.robot,
                enough=self.book.share((room,), len(want.rooms)),
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


def expand(wants: Iterable[Want], scene: SceneGraph, board: Board) -> list[str]:
    """Add the sub-tasks that wants need with what the map shows now; return the new ids.

    Called again whenever the map has grown: things that were looked for are picked, placed, looked
    at once they are found, and a search is added once where the map shows too little.

    Raises:
        NotUnderstood: What is wanted cannot be on this map (no such room, nothing to put it on).
    """
    before = set(board.sub_tasks)
    resolver = Resolver(scene)
    taken = {id for want in wants for id in want.given if want.kind in ("bring", "take")}
    for want in wants:
        if want.kind == "go":
            _go(want, resolver, board)
        else:
            _serve(want, resolver, board, taken)
    return [id for id in board.sub_tasks if id not in before]


def _go(want: Want, resolver: Resolver, board: Board) -> None:
    phrase = want.phrase
    if want.given:
        return
    if phrase is not None and resolver.is_place(phrase):
        rooms = resolver.rooms(phrase)
        for room in rooms if want.need == 0 and not phrase.floor else rooms[:1]:
            who = board.robots if want.everybody else (want.robot,)
            want.given[room.id] = tuple(
                board.add("go_to", f"go to {room.name}", rooms=(room.id,), robot=robot)
                for robot in who
            )
            goal = Thing(label=room.name, room=room.id)
            want.goals[room.id] = Predicate(name="robot_at_object", object=goal, robot=want.robot)
        return
    if want.thing is not None and not want.thing.id and want.thing.room in resolver.scene.rooms:
        room = resolver.scene.rooms[want.thing.room]
        task = board.add("go_to", f"go to {room.name}", rooms=(room.id,), robot=want.robot)
        want.given[room.id] = (task,)
        return
    found = _candidates(want, resolver)
    if not found:
        _search(want, want.searches, want.label, want.phrase, resolver, board)
    for thing in found[: want.need or MOST_THINGS]:
        who = board.robots if want.everybody else (want.robot,)
        want.given[thing.id] = tuple(
            board.add(
                "go_to",
                f"go to {named(thing, resolver.scene)}",
                object=as_thing(thing),
                robot=robot,
            )
            for robot in who
        )
        want.goals[thing.id] = _goal(want, as_thing(thing))


def _serve(want: Want, resolver: Resolver, board: Board, taken: set[str]) -> None:
    """See to every thing that fits, as many as are needed; search where there are too few."""
    if want.phrase is not None and want.phrase.anything and not want.phrase.places:
        raise NotUnderstood(f"{want.text!r}: say where: everything on what, or in which room")
    scene = resolver.scene
    targets: list[SceneObject] = []
    if want.kind == "bring":
        targets = _targets(want, resolver)
        if not targets:
            label = want.receptacle.label if want.receptacle else ""
            if want.target is not None:
                label = want.target.label or want.target.noun
                if resolver.is_place(want.target):
                    raise NotUnderstood(
                        f"the map shows nothing in {want.target.said!r} to put things on; name a "
                        "piece of furniture"
                    )
            _search(want, want.target_searches, label, want.target, resolver, board)
        want.targets = tuple(dict.fromkeys((*want.targets, *(t.id for t in targets))))
    found = [
        t for t in _candidates(want, resolver) if t.id not in want.given and t.id not in want.met
    ]
    if want.kind == "bring":
        there = {target.id for target in targets}
        fits = [t for t in found if t.support in there or t.container in there]
        others = [t for t in found if t not in fits and t.id not in taken and t.id not in there]
        found = sorted(others, key=lambda t: (_far(t, targets), t.id))
        if not want.need or len(found) + len(want.given) < want.need:
            most = want.need - len(found) - len(want.given) if want.need else len(fits)
            for thing in sorted(fits, key=lambda t: t.id)[:most]:
                # What the map has there already has to be seen there before it counts.
                looks = board.detected(thing, scene, "")
                if looks:
                    want.given[thing.id] = looks
                else:
                    want.met.add(thing.id)
    for thing in found[:MOST_THINGS]:
        if want.enough:
            break
        if want.kind == "bring" and not targets:
            break
        needed = _chain(want, thing, targets, scene, board)
        if needed:
            want.given[thing.id] = needed
        else:
            want.met.add(thing.id)  # only to be seen, and seen already
        want.goals[thing.id] = _goal(want, as_thing(thing), targets)
        if want.kind in ("bring", "take"):
            taken.add(thing.id)
    if _unclear(want, board) and not want.enough:
        _search(want, want.searches, want.label, want.phrase, resolver, board)


def _unclear(want: Want, board: Board) -> bool:
    """Whether the map may not show all that is wanted."""
    if want.need:
        return len(want.given) + len(want.met) < want.need
    if want.phrase is not None and want.phrase.anything:
        if want.searches:
            return not board.book.is_enough(want.label, want.rooms)
        return not want.given and not want.met  # a map that shows something there shows all
    if want.phrase is not None and want.phrase.label in board.book.scene.objects:
        return False  # one that was named
    category = load_household().category(want.label)
    if category is not None and category.kind != "item":
        # All windows: furniture stays where the map has it, and one that shows some shows all.
        return not want.given and not want.met
    return not (want.searches and board.book.is_enough(want.label, want.rooms))


def _far(thing: SceneObject, targets: Sequence[SceneObject]) -> float:
    if not targets:
        return 0.0
    return distance(thing.box.center, targets[0].box.center)


def _candidates(want: Want, resolver: Resolver) -> list[SceneObject]:
    if want.phrase is not None:
        return resolver.things(want.phrase)
    thing = want.thing
    if thing is None:
        return []
    if thing.id in resolver.scene.objects:
        return [resolver.scene.objects[thing.id]]
    if thing.id:
        return []
    return resolver.things(Phrase(thing.label, noun=thing.label, label=thing.label))


def _targets(want: Want, resolver: Resolver) -> list[SceneObject]:
    if want.target is not None:
        return resolver.targets(want.target, want.relation, want.label)
    place = want.receptacle
    if place is not None and place.id in resolver.scene.objects:
        return [resolver.scene.objects[place.id]]
    label = place.label if place else ""
    return resolver.targets(Phrase(label, noun=label, label=label), "", want.label)


def _search(
    want: Want,
    known: list[str],
    label: str,
    phrase: Phrase | None,
    resolver: Resolver,
    board: Board,
) -> None:
    """Add searches over the rooms where a thing may be, likeliest first, once."""
    if known or not label or not resolver.scene.rooms:
        if not resolver.scene.rooms:
            board.note("the map shows no rooms yet: robots look where they are")
            if not known and label:
                known += board.searches(label, (), (), want.robot)
        return
    if phrase is not None and phrase.anything:
        owners = _bearing(phrase, resolver)
        want.rooms = tuple(dict.fromkeys(owner.room for owner in owners))
        for owner in owners:
            names = [resolver.scene.rooms[owner.room].name]
            thing = as_thing(owner)
            known += board.searches(
                label, (owner.room,), names, want.robot, len(want.rooms), owner=thing
            )
        return
    where = resolver.where(phrase or Phrase(label, noun=label, label=label))
    if known is want.searches:
        want.rooms = tuple(room.id for room in where)
    by_floor: dict[str, list[str]] = {}
    for room in where:
        by_floor.setdefault(room.floor, []).append(room.id)
    # "an apple or a mug", "something to drink": any of several labels will do.
    labels = (phrase.labels[:MOST_LABELS] if phrase is not None else ()) or (label,)
    for rooms in by_floor.values():
        for k in range(0, len(rooms), ROOMS_PER_SEARCH):
            part = rooms[k : k + ROOMS_PER_SEARCH]
            names = [resolver.scene.rooms[room].name for room in part]
            for one in labels if label in labels else (label,):
                known += board.searches(one, part, names, want.robot, len(where))
    if phrase is not None and not phrase.known:
        near = resolver.nearest_name(phrase)
        hint = f" (the map has {near!r})" if near else ""
        board.note(f"nobody knows what {phrase.noun!r} is{hint}; robots look for that name")


def _bearing(phrase: Phrase, resolver: Resolver) -> list[SceneObject]:
    """Return the furniture that "everything on the table" is on, as far as the map shows it."""
    found: dict[str, SceneObject] = {}
    for modifier in phrase.places:
        if not resolver.is_place(modifier.phrase):
            found |= {thing.id: thing for thing in resolver.things(modifier.phrase)}
    return [
        thing
        for thing in found.values()
        if thing.receptacles and thing.room in resolver.scene.rooms
    ]


def _chain(
    want: Want,
    thing: SceneObject,
    targets: Sequence[SceneObject],
    scene: SceneGraph,
    board: Board,
) -> tuple[str, ...]:
    """Add open, detect, pick, open, place, as far as they are needed."""
    item, robot = as_thing(thing), want.robot
    if want.kind in ("open", "close"):
        kind: SubTaskKind = "open" if want.kind == "open" else "close"
        if kind == "open":
            return (board.opens(thing, scene, robot),)
        return (board.add(kind, f"{kind} {named(thing, scene)}", object=item, robot=robot),)
    seen = board.detected(thing, scene, robot if want.kind in ("detect", "check") else "")
    if want.kind in ("detect", "check"):
        return seen
    pick = board.add("pick", f"pick up {named(thing, scene)}", object=item, after=seen, robot=robot)
    if want.kind == "take":
        return (*seen, pick)
    target = targets[0]
    inside = want.relation == "in" or not any(not r.inside for r in target.receptacles)
    opening = board.opened(target, scene, "") if inside else ""
    where = "into" if inside and target.receptacles else "on"
    place = board.add(
        "place",
        f"put {thing.id} {where} {named(target, scene)}",
        object=item,
        receptacle=as_thing(target),
        after=(pick, opening),
        same_robot_as=pick,
        robot=robot,
    )
    return tuple(i for i in (*seen, pick, opening, place) if i)


def other_place(
    want: Want, place: SubTask, tried: Collection[str], scene: SceneGraph, board: Board
) -> str:
    """Add a sub-task that puts a thing elsewhere: its place is full, or out of everybody's reach.

    First what the words mean too, then furniture of the same kind in that room, then any other in
    it that stands open. Returns its id, "" where there is nothing else.
    """
    if place.object is None or place.receptacle is None:
        return ""
    first = scene.objects.get(place.receptacle.id)
    room = first.room if first is not None else place.receptacle.room
    kind = kind_of(place.receptacle.label)
    near = [
        t for t in scene.objects.values() if t.kind == "furniture" and t.room == room and _is_top(t)
    ]
    near.sort(key=lambda t: (kind_of(t.label.top) != kind, _far(t, [first] if first else []), t.id))
    meant = [scene.objects[id] for id in want.targets if id in scene.objects]
    asked = {t.id for t in meant if t.room == room or len(want.targets) < 6}
    options = [t for t in meant if t.id in asked] + near
    target = next((t for t in options if t.id not in tried), None)
    if target is None:
        return ""
    instead = target.id not in want.targets and kind_of(target.label.top) != kind
    id = board.add(
        "place",
        f"put {place.object.id} on {named(target, scene)}" + (" instead" if instead else ""),
        object=place.object,
        receptacle=as_thing(target),
        after=[i for i in place.depends_on if not i.startswith("open-")],
        same_robot_as=place.same_robot_as,
        robot=board.only.get(place.id, ""),
    )
    thing = place.object.id
    want.given[thing] = (*(i for i in want.given.get(thing, ()) if i != place.id), id)
    if instead:
        want.elsewhere[thing] = f"{named(target, scene)} instead of {place.receptacle.label}"
    return id


def _is_top(thing: SceneObject) -> bool:
    """Whether things may be put on a piece of furniture unasked: nobody wants them on seats."""
    home = load_household()
    seat = home.canonical(thing.label.top) in (*home.members("seats"), "stool")
    return not seat and any(not r.inside for r in thing.receptacles)


def _goal(want: Want, item: Thing, targets: Sequence[SceneObject] = ()) -> Predicate:
    if want.kind == "bring":
        return Predicate(name="object_at_receptacle", object=item, receptacle=as_thing(targets[0]))
    if want.kind in ("detect", "check"):
        return Predicate(name="robot_detect_object", object=item, robot=want.robot)
    return Predicate(name="robot_at_object", object=item, robot=want.robot)


def goals_of_wants(wants: Iterable[Want], scene: SceneGraph) -> tuple[Predicate, ...]:
    """Return the goals; what nobody has found yet has a label and no id."""
    resolver = Resolver(scene)
    goals: dict[Predicate, None] = {}
    for want in wants:
        goals.update(dict.fromkeys(want.goals.values()))
        if want.goals or want.kind in ("open", "close") or not want.label:
            continue
        item = Thing(label=want.label)
        if want.kind == "bring":
            targets = _targets(want, resolver)
            said = want.target.label or want.target.noun if want.target else ""
            place = as_thing(targets[0]) if targets else Thing(label=said)
            goal = Predicate(name="object_at_receptacle", object=item, receptacle=place)
        elif want.kind in ("detect", "check"):
            goal = Predicate(name="robot_detect_object", object=item, robot=want.robot)
        else:
            goal = Predicate(name="robot_at_object", object=item, robot=want.robot)
        goals[goal] = None
    return tuple(goals)


def unused(board: Board, wants: Iterable[Want]) -> Collection[str]:
    """Return searches that no want needs any longer."""
    needed: set[str] = set()
    searches: set[str] = set()
    for want in wants:
        searches |= {*want.searches, *want.target_searches}
        if not want.enough and not board.book.is_enough(want.label, want.rooms):
            needed |= set(want.searches)
        if want.kind == "bring" and not want.given:
            needed |= set(want.target_searches)
    return searches - needed
