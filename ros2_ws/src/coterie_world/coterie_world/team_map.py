"""A robot's map of the house: the one it was given, and what it has seen since."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from coterie_core.geometry import Box, Vec3, distance, spanning
from coterie_core.household import load_household
from coterie_core.observation import Detection, Observation
from coterie_core.tasks import Thing
from coterie_world.association import (
    EVENT,
    LOOK,
    MISNAMED_FURNITURE,
    MISNAMED_ITEM,
    SIGHTING,
    TWICE,
    assign,
    at_rest,
)
from coterie_world.object_events import ObjectEvent
from coterie_world.scene import (
    AgentState,
    LabelBelief,
    SceneGraph,
    SceneObject,
    Sighting,
    associate,
)
from coterie_world.sightings import (
    as_thing,
    is_solid,
    kind_of,
    note_found,
    rest,
    room_at,
    stays_where_put,
    support_at,
    usual_size,
)
from coterie_world.sizes import oversize, plausible_size
from coterie_world.surfaces import hollow_bottom


def known_things(
    scene: SceneGraph,
    detections: Sequence[Detection],
    was_put_there: Callable[[SceneObject, Box], bool],
) -> list[str]:
    """Return the known thing that each detection of one look shows ("" for a new one).

    Nearest pairs first, each thing once: two plates side by side are two. What is reported a
    second time at the same spot is the same thing. What fills the volume of something else is
    that, misnamed, for no two things are in one place: any furniture of other furniture, and
    an item of another one that it may be as well, as far as its labels tell.

    Args:
        scene: Map of the known things.
        detections: Detections of one look.
        was_put_there: Whether a box shows a thing that was put down and not seen since.
    """
    kinds = {kind_of(one.label) for one in detections if one.box is not None}
    known = [
        (thing, top)
        for thing in scene.objects.values()
        for top in (thing.label.top,)
        if thing.kind == "item" or is_solid(top) or kind_of(top) in kinds
    ]
    scores = {
        (k, thing.id): score
        for k, one in enumerate(detections)
        if one.box is not None and one.label
        for thing, top in known
        if (score := _likeness(thing, top, one, one.box, was_put_there)) > 0.0
    }
    whole = {k for k, one in enumerate(detections) if one.fused or _is_item(one.label)}
    pairs = assign({pair: score for pair, score in scores.items() if pair[0] in whole})
    by_thing = {id_: detections[k] for k, id_ in pairs.items()}
    # Large things are reported in parts, and items twice at times.
    for (k, id_), _ in sorted(scores.items(), key=lambda one: -one[1]):
        if k not in pairs and (k not in whole or _twice(by_thing.get(id_), detections[k])):
            pairs[k] = id_
    return [pairs.get(k, "") for k in range(len(detections))]


def _likeness(
    thing: SceneObject,
    top: str,
    one: Detection,
    box: Box,
    was_put_there: Callable[[SceneObject, Box], bool],
) -> float:
    """Return how much speaks for a detection to be of a thing (0: it is not)."""
    score = 0.0
    if kind_of(top) == kind_of(one.label):
        if one.instance and thing.id == one.instance:
            return 3.0
        score = LOOK.score(thing.box, box)
        if not score and was_put_there(thing, box):
            score = 1.0 / (2.0 + distance(thing.box.center, box.center))
    elif is_solid(top) and is_solid(one.label):
        score = MISNAMED_FURNITURE.score(thing.box, box)
    elif thing.kind == "item" and _is_item(one.label) and _may_be(thing, top, one):
        score = MISNAMED_ITEM.score(thing.box, box)
    return score


def _is_item(label: str) -> bool:
    return load_household().kind(label) == "item"


def _twice(first: Detection | None, second: Detection) -> bool:
    """Tell whether two detections of one look are of one thing."""
    if first is None or first.box is None or second.box is None:
        return False
    if first.fused and second.fused:
        # The team's map has looked at both: two boxes are two things.
        return first.box == second.box
    return TWICE.score(first.box, second.box) > 0.0


def _may_be(thing: SceneObject, top: str, one: Detection) -> bool:
    """Whether a thing and a detection may be the same, by any of the labels that either has."""
    labels = {kind_of(label) for label in (one.label, *one.scores)}
    return kind_of(top) in labels or kind_of(one.label) in {
        kind_of(label) for label in thing.label.weights
    }


ERROR_PER_M = 0.03
"""Error of a detected place, per metre of distance from the camera (standard deviation) [m/m]."""
_NEAREST = 0.3  # [m] from nearer than which places get no better
_GIVEN_FROM = 1.0  # [m] from where items of a given map are taken to have been seen
_STEP = 0.6  # [m] up to which the way between two observations is straight
_TRAIL = 0.2  # [m] between spots of a trail that are told apart
MAX_THINGS = 5000
"""Most things that are remembered."""


@dataclass(slots=True)
class _Put:
    """What a thing was put on or into, where [m], its foot [m], and whether it was seen since."""

    holder: str
    position: Vec3
    foot: float
    seen: bool = False


class TeamMap:
    """A scene graph that grows with observations; ids of things stay as they are.

    Args:
        scene: Map that is known beforehand; a copy is kept.
        robot: Name of the map's robot: new things are named after it, so that names of two robots
            differ.

    Attributes:
        trail: Straight pieces of floor on which the robot itself has driven [m].
    """

    def __init__(self, scene: SceneGraph | None = None, robot: str = "") -> None:
        self.scene = copy.deepcopy(scene) if scene is not None else SceneGraph()
        self.robot = robot
        self.version = 0
        self.trail: list[tuple[Vec3, Vec3]] = []
        self._at: Vec3 | None = None
        self._been: set[tuple[int, ...]] = set()
        self._numbers: dict[str, int] = {}
        self._reserved: set[str] = set()
        self._carried: dict[str, str] = {}
        self._before: dict[str, frozenset[str]] = {}  # what was known when a thing was taken
        self._put: dict[str, _Put] = {}
        self._made: set[str] = set()
        self._variances: dict[str, float] = {}  # of places of items that were seen [m^2]

    def adopt(self, scene: SceneGraph) -> None:
        """Take over a map given to the team; what this robot has seen itself stays."""
        seen = [t for t in self.scene.objects.values() if t.last_seen is not None]
        agents = self.scene.agents
        self.scene = copy.deepcopy(scene)
        self.scene.agents.update(agents)
        new = [thing for thing in seen if thing.id not in self.scene.objects]
        known = {id(mine) for _, mine in associate(list(self.scene.objects.values()), new)}
        for thing in new:
            if id(thing) not in known:
                self.scene.add_object(thing)
        self.version += 1

    def observe(self, observation: Observation, holding: str = "") -> list[str]:
        """Take in what a robot perceives; return the ids of the things it saw.

        Args:
            observation: Observation of any robot.
            holding: Id of what that robot holds.
        """
        self.scene.agents[observation.robot] = AgentState(
            observation.robot,
            observation.pose,
            observation.room.id if observation.room else "",
            holding,
            Sighting(observation.time, observation.robot),
        )
        household = load_household()
        if observation.robot == self.robot:
            self.drove(observation.pose.position)
        seen = observation.detections
        looks = list(zip(seen, known_things(self.scene, seen, self._was_put_there), strict=True))
        ids = [""] * len(looks)
        # What carries things comes before what stands on it.
        for k in sorted(
            range(len(looks)), key=lambda k: household.kind(looks[k][0].label) == "item"
        ):
            ids[k] = self._note(*looks[k], observation)
        self.version += 1
        return [id_ for id_ in ids if id_]

    def drove(self, to: Vec3 | None) -> None:
        """Take down that the robot itself is at a point on its way [m]; each spot counts once."""
        start, self._at = self._at, to
        if start is None or to is None or distance(start, to) > _STEP:
            return  # it was set down here, or the way between is not known
        spots = {_spot(to), _spot(tuple((a + b) / 2.0 for a, b in zip(start, to, strict=True)))}
        if spots - self._been and len(self.trail) < MAX_THINGS:
            self._been |= spots
            self.trail.append((start, to))

    def hear(self, things: Iterable[Thing], robot: str, time: float) -> None:
        """Take in things that another robot reports."""
        for thing in things:
            if len(self.scene.objects) < MAX_THINGS:
                note_found(self.scene, thing, robot, time)
                self.version += 1

    def reserve(self, names: Iterable[str]) -> None:
        """Give these names to nothing new: they mean things that are not seen now."""
        self._reserved.update(names)

    def thing(self, id_: str) -> SceneObject | None:
        """Return a thing by id."""
        return self.scene.objects.get(id_)

    def found(self, label: str) -> list[Thing]:
        """Return all things of a label (or a synonym), as tasks name them."""
        kind = kind_of(label)
        things = self.scene.objects.values()
        return [as_thing(thing) for thing in things if kind_of(thing.label.top) == kind]

    def resolve(self, thing: Thing) -> SceneObject | None:
        """Return the thing of this map that a task means: by id and label, else by where it is."""
        kind = kind_of(thing.label)
        same = self.scene.objects.get(thing.id)
        if thing.position is None or (same is not None and kind_of(same.label.top) == kind):
            return same
        alike = (o for o in self.scene.objects.values() if kind_of(o.label.top) == kind)
        near = SIGHTING.nearest(thing.position, ((o.id, o.box) for o in alike))
        return self.scene.objects[near] if near is not None else same

    def learn(self, thing: Thing) -> SceneObject | None:
        """Return the thing that a task means; one that this map does not have is put into it."""
        known = self.resolve(thing)
        if known is not None or thing.position is None:
            return known
        box = Box(thing.position, usual_size(self.scene, thing.label, thing.position))
        made = SceneObject(
            thing.id or self._name(thing.label),
            LabelBelief.of(thing.label),
            box,
            kind=load_household().kind(thing.label),
        )
        made.room = (
            thing.room if thing.room in self.scene.rooms else room_at(self.scene, box.center)
        )
        self.rest(made)
        self.scene.add_object(made)
        self.version += 1
        return made

    def note(self, event: ObjectEvent) -> None:
        """Take in what another robot did to a thing; what was seen since then counts more."""
        meant = Thing(label=event.label, id=event.object, position=event.position)
        kind = event.kind
        if kind == "placed":
            thing = self.scene.objects.get(self._carried.pop(event.robot, ""))
            thing = thing or self.resolve(meant) or self.learn(meant)
            if thing is not None and not _seen_since(thing, event):
                self.put(thing.id, event.holder, event.position)
            return
        thing = self.resolve(meant)
        if thing is None or _seen_since(thing, event):
            return
        if kind in ("opened", "closed"):
            self.set_open(thing.id, kind == "opened")
        elif distance(thing.box.center, event.position) <= 2 * EVENT.distance_m:
            if kind == "picked":
                self._carried[event.robot] = thing.id
                self.take(thing.id)
            elif kind == "gone" or thing.observations <= 2:
                del self.scene.objects[thing.id]
                self.version += 1

    def take(self, id_: str) -> None:
        """Take down that a thing is in a hand."""
        thing = self.scene.objects.get(id_)
        if thing is not None:
            thing.support = thing.container = ""
            self._put.pop(id_, None)
            self._before.setdefault(id_, frozenset(self.scene.objects))
            self.version += 1

    def about_to_put(self, id_: str) -> None:
        """Take down that a thing is put down next: what is seen first from now on may be that."""
        self._before[id_] = frozenset(self.scene.objects)

    def put(self, id_: str, owner: str, position: tuple[float, float, float]) -> str:
        """Take down that a thing now stands on or in another, at a position [m].

        Where on it is known only roughly: the next thing of its kind seen there is this one, and so
        is what was first seen there before it was known that the hand has let go.

        Returns:
            The id that it went by when it was seen there first ("": it was not); that is forgotten.
        """
        thing = self.scene.objects.get(id_)
        if thing is None:
            return ""
        x, y, z = position
        holder = self.scene.objects.get(owner)
        if holder is not None and not holder.receptacles:
            bottom = hollow_bottom(holder.label.top, holder.box)
            z = min(z, bottom) if bottom is not None else z  # it falls into a tub or a basket
        thing.box = Box((x, y, z + thing.box.size[2] / 2.0), thing.box.size, thing.box.yaw)
        twin = self._seen_first(thing, owner)
        put = _Put("", thing.box.center, z)
        if twin is not None:
            thing.box = self.scene.objects.pop(twin).box
        thing.room = holder.room if holder else room_at(self.scene, thing.box.center)
        self.rest(thing)
        if holder is not None and not thing.container:
            thing.support = owner
        put.holder = thing.container or thing.support
        self._put[thing.id] = put
        self.version += 1
        return twin or ""

    def seen_where_put(self, id_: str) -> bool:
        """Tell whether a thing was seen where it was put since then."""
        put = self._put.get(id_)
        return put is not None and put.seen

    def put_on(self, id_: str) -> str:
        """Return what a thing was put on or into, as far as it has not left it since ("": none)."""
        put = self._put.get(id_)
        return put.holder if put is not None else ""

    def _seen_first(self, thing: SceneObject, owner: str) -> str | None:
        """Return what is the thing that was put down, by another name."""
        before = self._before.pop(thing.id, None)
        if before is None:
            return None
        kind = kind_of(thing.label.top)
        near: list[tuple[float, str]] = []
        for id_, one in self.scene.objects.items():
            if id_ in before or id_ not in self._made or kind_of(one.label.top) != kind:
                continue
            away = distance(one.box.center, thing.box.center)
            if away <= SIGHTING.distance_m or (owner and owner in (one.support, one.container)):
                near.append((away, id_))
        return min(near)[1] if near else None

    def set_open(self, id_: str, is_open: bool) -> None:
        """Take down that a container stands open or is closed."""
        thing = self.scene.objects.get(id_)
        if thing is not None and thing.is_open is not None:
            thing.is_open = is_open
            self.version += 1

    def _was_put_there(self, thing: SceneObject, box: Box) -> bool:
        """Tell whether a box lies on or in what a thing was put on or into, unseen since."""
        put = self._put.get(thing.id)
        if put is None or put.seen or not put.holder:
            return False
        return support_at(self.scene, box.center, box.bottom)[0] == put.holder

    def _note(self, detection: Detection, known: str, observation: Observation) -> str:
        if detection.box is None or not detection.label:
            return ""
        household = load_household()
        if not known:
            if len(self.scene.objects) >= MAX_THINGS:
                return ""
            category = household.category(detection.label)
            made = SceneObject(
                self._name(detection.label),
                LabelBelief(dict(detection.scores) or {detection.label: detection.score}),
                detection.box,
                kind=household.kind(detection.label),
                # Nobody has looked into it: taken for shut until it is opened.
                is_open=False if category is not None and category.opens else None,
            )
            self.scene.add_object(made)
            self._made.add(made.id)
            known = made.id
        else:
            self._rename(self.scene.objects[known], detection)
        thing = self.scene.objects[known]
        if thing.kind == "item":  # items move; furniture of a given map stays where the map has it
            put = self._put.get(known)
            new = put is not None and not put.seen
            thing.box = self._place_of(thing, detection.box, detection.distance, new)
            self.rest(thing)
            if put is not None:
                self._rest_where_put(thing, put)
        elif thing.id in self._made and (thing.kind == "furniture" or is_solid(thing.label.top)):
            if detection.fused:
                self.reshape(thing, detection.box)
                if detection.surfaces:
                    thing.receptacles = [
                        replace(one, id=f"{thing.id}/level_{k}")
                        for k, one in enumerate(detection.surfaces, 1)
                    ]
            elif not thing.receptacles:
                # Surfaces, where somebody made them of the box, would not grow with it.
                thing.box = _with_more(thing, detection.box)
        room = detection.room.id if detection.room else ""
        if room in self.scene.rooms:
            thing.room = room
        elif not thing.room or thing.kind == "item":
            thing.room = room_at(self.scene, thing.box.center) or thing.room
        if kind_of(detection.label) == kind_of(thing.label.top):
            thing.observations += 1  # what shows it under another name does not confirm it
        thing.last_seen = Sighting(observation.time, observation.robot)
        return thing.id

    def _rest_where_put(self, thing: SceneObject, put: _Put) -> None:
        """Take in that what was put somewhere was seen: where it was put, or elsewhere."""
        put.seen = True
        at = (*put.position[:2], put.foot)
        if not stays_where_put(self.scene, thing, put.holder, at):
            del self._put[thing.id]

    def _place_of(self, thing: SceneObject, seen: Box, away: float, put: bool) -> Box:
        """Return where an item is, by all that has shown it there, near looks before far ones.

        Places are weighted by their variances, as a Kalman filter does of a thing that rests. Seen
        farther from its place than errors explain, it has been moved.
        """
        variance = (ERROR_PER_M * max(away, _NEAREST)) ** 2
        new = thing.id in self._made and thing.last_seen is None
        before = self._variances.get(thing.id, (ERROR_PER_M * _GIVEN_FROM) ** 2)
        gap = distance(thing.box.center, seen.center)
        if new or put or not at_rest(gap, before, variance):
            self._variances[thing.id] = variance
            return seen
        share = before / (before + variance)
        self._variances[thing.id] = before * (1.0 - share)
        (x, y, z), (w, d, h) = (
            tuple(a + share * (b - a) for a, b in zip(was, now, strict=True))
            for was, now in ((thing.box.center, seen.center), (thing.box.size, seen.size))
        )
        return Box((x, y, z), (w, d, h), seen.yaw)

    def _rename(self, thing: SceneObject, detection: Detection) -> None:
        """Add what a detector calls a thing that this robot put on the map to what it may be."""
        if thing.id not in self._made:
            return
        before = thing.label.top
        thing.label.add(LabelBelief(dict(detection.scores) or {detection.label: detection.score}))
        if thing.label.top != before:
            category = load_household().category(thing.label.top)
            thing.kind = load_household().kind(thing.label.top)
            thing.observations = 0  # no look has shown it as that yet
            if (thing.is_open is not None) != (category is not None and category.opens):
                thing.is_open = None if thing.is_open is not None else False

    def drop(self, id_: str) -> None:
        """Forget a thing that this robot took for one, and that is not there to be handled."""
        if id_ in self._made and self.scene.objects.pop(id_, None) is not None:
            self.version += 1

    def reshape(self, thing: SceneObject, box: Box) -> None:
        """Take over what the team's map made of all looks at a piece of furniture [m]."""
        thing.box = box

    def rest(self, thing: SceneObject) -> None:
        """Find out what a thing stands on or in, by where it is."""
        rest(self.scene, thing)

    def _name(self, label: str) -> str:
        base = "-".join(label.lower().split())[:40] or "thing"
        stem = f"{self.robot}-{base}" if self.robot else base
        while True:
            self._numbers[stem] = self._numbers.get(stem, 0) + 1
            name = f"{stem}-{self._numbers[stem]}"
            if name not in self.scene.objects and name not in self._reserved:
                return name


def _with_more(thing: SceneObject, seen: Box) -> Box:
    """Return the box of furniture with what another look shows of it.

    A look shows a part. What would make it larger than its kind is, is of something else: then
    the likelier of the two boxes counts.
    """
    if seen == thing.box:
        return seen  # as it is, without errors of rounding
    label, both = thing.label.top, spanning(thing.box, seen)
    if oversize(label, both.size) <= 1.0:
        return both
    likelier = plausible_size(label, seen.size) > plausible_size(label, thing.box.size)
    return seen if likelier else thing.box


def _spot(point: Iterable[float]) -> tuple[int, ...]:
    return tuple(round(value / _TRAIL) for value in point)


def _seen_since(thing: SceneObject, event: ObjectEvent) -> bool:
    return thing.last_seen is not None and thing.last_seen.time > event.time
