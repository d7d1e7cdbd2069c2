"""A camera in a generated house: atomic steps counted, images mapped, only what was seen known."""

from __future__ import annotations

import itertools
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.embodiment import Camera, Embodiment
from coterie_core.geometry import Pose, Vec3, wrap_angle
from coterie_core.household import load_household
from coterie_core.observation import Observation, RoomView
from coterie_core.skills import LookAround, NavigateTo
from coterie_world.scene import SceneGraph
from coterie_world.scene.regions import Regions
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.navigation import BodySpace
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.factory import NoiseLevel
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House
from habitat_bridge.image_detector import NO_THINGS, ImageDetector
from habitat_bridge.simulator import FrameRequest, Start, run_skill
from semantic_mapper.mapper import SemanticMapper
from semantic_mapper.options import MapperOptions

FORWARD = 0.25
"""One step ahead [m]."""
TURN = math.radians(30.0)
"""One turn [rad]."""
HEADINGS = 6
"""Images of a look around; with a view of 80 degrees they overlap."""
LOOK_STEPS = 10
"""Turns of a look around: 300 degrees, after which all of the circle was in view."""
FAR = 4.0
"""Greatest depth [m] at which a thing is mapped, and counts as seen."""
_OPEN = 0.35  # share of the containers that stand open
_EVERY = 1.0  # [m] between two images on the way
TIDY = 20
"""Images between two times that the map is tidied."""
_KEPT = 500  # images kept for the next episode
_NAME = "seeker"


@dataclass(frozen=True, slots=True)
class Shown:
    """One image: for the mapper, what the detector found, and the pixels of true things (by id)."""

    rgbd: RgbdFrame
    detections: tuple[ImageDetection, ...]
    pixels: Counter[str]


def make_house(seed: int, *, rooms: int | None = None) -> House:
    """Return a house of one floor, some of its cupboards open."""
    house = generate_house(seed, floors=1, rooms=rooms)
    rng = np.random.default_rng([0x0E0A, seed])
    for thing in house.objects:
        if thing.is_open is not None:
            thing.is_open = bool(rng.random() < _OPEN)
    return house


class Home:
    """A house with one camera in it, which can be put anywhere; images are made once per pose.

    What the detector gets wrong depends on the pose alone, so that the order of questions and
    agents does not matter.

    Args:
        seed: Of the house and of the detector's mistakes.
        noise: How badly the detector errs.
        width: Of the images [px]; they are three quarters as high.
        rooms: 4 to 25; None: the seed decides.
        rooms_told: Whether who lives in it is told rooms' names, kinds and outlines, as by a map of
            the building; else rooms have numbers, and things are in none.
        world: A world to use instead of a generated house, for example a scene of habitat-sim.
    """

    def __init__(
        self,
        seed: int,
        *,
        noise: NoiseLevel = "normal",
        width: int = 256,
        rooms: int | None = None,
        rooms_told: bool = True,
        world: EmbeddedWorld | None = None,
    ) -> None:
        self.seed = seed
        self.rooms_told = rooms_told
        self.world = world or EmbeddedWorld(
            make_house(seed, rooms=rooms),
            seed=seed,
            noise=getattr(DetectorNoise, noise)(),
            look_on_arrival=False,
            threads=1,
        )
        self.truth = self.world.truth()
        self.camera = Camera(
            name="head",
            width=width,
            height=width * 3 // 4,
            hfov=math.radians(80),
            mount_height=1.2,
            pitch=0.35,
        )
        body = Embodiment(
            name=_NAME,
            radius=0.2,
            height=1.3,
            linear_speed=10.0,
            angular_speed=12.0,
            cameras=(self.camera,),
        )
        self.world.add_robot(_NAME, body, Start())
        household = load_household()
        self._detector = ImageDetector(
            self.world.detector.noise,
            seed,
            {c.label: c.confused for c in household.categories.values()},
            [thing.label.top for thing in self.truth.objects.values()],
            is_open=self._is_open,
        )
        self._kept: OrderedDict[tuple[float, ...], Shown] = OrderedDict()
        places = self.world.bodies[0].places
        here = self.pose.position
        self.stands: dict[str, Vec3] = {
            place: spot
            for place in self.truth.places
            if (spot := places.stand(place)) is not None and self.space.connected(here, spot)
        }

    @property
    def pose(self) -> Pose:
        """Where the camera's base is."""
        return self.world.bodies[0].pose

    @property
    def space(self) -> BodySpace:
        """Where it can go."""
        return self.world.bodies[0].places.space

    def put(self, position: Vec3, yaw: float) -> None:
        """Take the base to a pose."""
        run_skill(self.world, _NAME, NavigateTo(position=position, yaw=wrap_angle(yaw)), dt=1.0)

    def observe(self, around: bool) -> Observation:
        """Return what the robot perceives here; `around`: in all directions."""
        if around:
            run_skill(self.world, _NAME, LookAround(), dt=1.0)
        return self.world.observe(_NAME)

    def _is_open(self, number: int) -> bool | None:
        """Whether the thing of an instance number stands open, as its looks tell a detector."""
        things = self.world.contents
        row = number - things.first_instance
        return things.things[things.ids[row]].is_open if 0 <= row < len(things.ids) else None

    def route(self, start: Vec3, goal: Vec3) -> tuple[Vec3, ...]:
        """Return the corners of the shortest way [m].

        Raises:
            NoWay: There is none.
        """
        return self.space.plan(start, goal).points

    def shown(self) -> Shown:
        """Return the image of the camera where it is now."""
        position, yaw = self.pose.position, self.pose.yaw
        key = (*(round(v, 2) for v in position), round(wrap_angle(yaw), 3))
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        (frame,) = self.world.render([FrameRequest(_NAME, "head")])
        assert frame.depth is not None and frame.semantic is not None
        # The detector's mistakes go by the name of the robot and how often it looked.
        named = replace(frame, robot="/".join(f"{v:.3f}" for v in key))
        found = tuple(self._detector.detect(named, 0))
        focal = self.camera.focal
        rgbd = RgbdFrame(
            frame.depth,
            (focal, focal, self.camera.width / 2, self.camera.height / 2),
            frame.camera_to_map,
            frame.color,
            frame.time,
            _NAME,
        )
        things = self.world.contents
        near = frame.semantic[(frame.depth > 0.0) & (frame.depth <= FAR)]
        values, counts = np.unique(near, return_counts=True)
        pixels: Counter[str] = Counter()
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            k = value - things.first_instance
            if 0 <= k < len(things.ids) and things.labels[k] not in NO_THINGS:
                pixels[things.ids[k]] = count
        shown = Shown(rgbd, found, pixels)
        self._kept[key] = shown
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return shown

    def close(self) -> None:
        """Release the world."""
        self.world.close()


def turns(from_yaw: float, to_yaw: float) -> int:
    """Return how many steps of 30 degrees it takes to face another way (rounded to the nearest)."""
    return round(abs(wrap_angle(to_yaw - from_yaw)) / TURN)


def way_steps(points: Sequence[Vec3], yaw: float) -> tuple[int, float]:
    """Return the atomic steps along a way, and the heading [rad] at its end.

    Each straight piece takes the turns to face it and its length in steps of 0.25 m, rounded up.
    """
    steps = 0
    for a, b in itertools.pairwise(points):
        length = math.dist(a[:2], b[:2])
        if length < 0.02:
            continue
        heading = math.atan2(b[1] - a[1], b[0] - a[0])
        steps += turns(yaw, heading) + math.ceil(length / FORWARD - 1e-6)
        yaw = heading
    return steps, yaw


def grid_yaw(k: int) -> float:
    """Return the k-th heading of a look around [rad]; the same at every place."""
    return wrap_angle(k * math.tau / HEADINGS)


class OutOfSteps(Exception):
    """The episode's limit of atomic steps is reached."""


class Seeker:
    """An agent's body and map in one episode: what it does counts, what it sees is mapped.

    Args:
        home: The house.
        start: Place where it starts.
        yaw: Heading at the start [rad].
        limit: Most atomic steps of an episode; then it must answer.
        after: Called with every image; True ends what is being done.
    """

    def __init__(
        self,
        home: Home,
        start: str,
        yaw: float,
        *,
        limit: int = 10**9,
        after: Callable[[Shown], bool] | None = None,
    ) -> None:
        self.home = home
        self.start = start
        self.yaw = yaw
        self.steps = 0
        self.limit = limit
        self.frames: list[tuple[Shown, str]] = []
        self.rooms: set[str] = set()
        self.after = after or (lambda shown: False)
        self._mapper = SemanticMapper(MapperOptions(), Regions(home.truth))
        self._scene: SceneGraph | None = None
        home.put(home.stands[start], yaw)
        self._yaw = home.pose.yaw
        self.last = self.observe(around=False)

    def go(self, place: str) -> bool:
        """Walk to a place with open eyes; tell whether `after` ended it on the way.

        Raises:
            NoWay: There is no way.
            OutOfSteps: The limit was reached.
        """
        points = self.home.route(self.home.pose.position, self.home.stands[place])
        for a, b in itertools.pairwise(points):
            length = math.dist(a[:2], b[:2])
            if length < 0.02:
                continue
            heading = math.atan2(b[1] - a[1], b[0] - a[0])
            self._turn(heading)
            pieces = max(round(length / _EVERY), 1)
            spent = 0
            for k in range(1, pieces + 1):
                share = k / pieces
                self.home.put(
                    (a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), b[2]), heading
                )
                due = math.ceil(share * length / FORWARD - 1e-6)
                self._spend(due - spent)
                spent = due
                if self.see():
                    return True
        return False

    def look_around(self) -> bool:
        """Turn about and look every 60 degrees; tell whether `after` ended it.

        Raises:
            OutOfSteps: The limit was reached.
        """
        first = round(self._yaw / (math.tau / HEADINGS))
        for k in range(HEADINGS):
            if k:
                self._spend(LOOK_STEPS // (HEADINGS - 1))
            self.face(grid_yaw(first + k))
            if self.see():
                return True
        return False

    def face(self, yaw: float) -> None:
        """Turn the camera without counting it."""
        self.home.put(self.home.pose.position, yaw)
        self._yaw = self.home.pose.yaw

    def see(self) -> bool:
        """Map the image of now; return what `after` says."""
        shown = self.home.shown()
        self._mapper.update(shown.rgbd, shown.detections)
        room = self.home.world.room_view(self.home.pose.position)
        self.rooms.add(room.id if room else "")
        self.frames.append((shown, self.home.world.state(_NAME).place))
        if len(self.frames) % TIDY == 0:
            self._mapper.tidy()
        self._scene = None
        return self.after(shown)

    def observe(self, around: bool = True) -> Observation:
        """Return what is perceived here; its rooms become known."""
        seen = self.home.observe(around)
        if not self.home.rooms_told:
            seen = _unnamed(seen)
        self.face(self._yaw)
        self.rooms |= set(_rooms_told(seen))
        self._scene = None
        self.last = seen
        self.last_around = around
        return seen

    def scene(self) -> SceneGraph:
        """Return the map: things, and only those rooms and places that the robot knows of."""
        if self._scene is None:
            scene = known_part(self._mapper.scene(), self.rooms)
            self._scene = scene if self.home.rooms_told else without_rooms(scene)
        return self._scene

    def _turn(self, heading: float) -> None:
        count = turns(self._yaw, heading)
        self._spend(count)
        self._yaw = wrap_angle(heading)

    def _spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps >= self.limit:
            self.steps = self.limit
            raise OutOfSteps


def known_part(scene: SceneGraph, rooms: set[str]) -> SceneGraph:
    """Take out of a map what the robot cannot know: rooms that it has not met, and ways there."""
    for room in [r for r in scene.rooms if r not in rooms]:
        del scene.rooms[room]
    for place in [p.id for p in scene.places.values() if p.room not in scene.rooms]:
        del scene.places[place]
        for other in scene.links.pop(place, {}):
            scene.links.get(other, {}).pop(place, None)
    for way in [
        c.id for c in scene.connections.values() if not {c.room_a, c.room_b} <= set(scene.rooms)
    ]:
        del scene.connections[way]
    for thing in scene.objects.values():
        if thing.room not in scene.rooms:
            thing.room = ""
    return scene


def without_rooms(scene: SceneGraph) -> SceneGraph:
    """Take the rooms' names, kinds and outlines out of a map: they have numbers, things no room."""
    for k, room in enumerate(scene.rooms.values(), 1):
        room.name, room.type, room.polygon = f"room {k}", "", []
    for thing in scene.objects.values():
        thing.room = ""
    return scene


def _unnamed(seen: Observation) -> Observation:
    """Return an observation that does not tell what rooms are called or are for."""

    def bare(room: RoomView | None) -> RoomView | None:
        return None if room is None else replace(room, name="", type="")

    return replace(
        seen,
        room=bare(seen.room),
        neighbours=tuple(replace(view, room=bare(view.room)) for view in seen.neighbours),
        detections=tuple(replace(d, room=None) for d in seen.detections),
    )


def _rooms_told(seen: Observation) -> Iterator[str]:
    if seen.room is not None:
        yield seen.room.id
    for view in seen.neighbours:
        if view.room is not None:
            yield view.room.id
