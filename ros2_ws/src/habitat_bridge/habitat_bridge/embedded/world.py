"""EmbeddedWorld: robots in a house of the project's own, behind the Simulator protocol."""

from __future__ import annotations

import copy
import math
import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose, Vec3
from coterie_core.household import load_household
from coterie_core.observation import Observation, PlaceView, RoomView
from coterie_core.skills import Outcome, Skill, SkillResult
from coterie_safety.guard import Guard
from coterie_world.scene import AgentState, Connection, SceneGraph, SceneObject
from coterie_world.scene.model import ConnectionKind
from habitat_bridge.embedded.body import (
    COMMAND_TIMEOUT,
    EPSILON,
    Body,
    Drive,
    Glance,
    Job,
    SkillFailed,
    Stage,
    Velocity,
    Walk,
    advance_drive,
)
from habitat_bridge.embedded.body_places import BodyPlaces
from habitat_bridge.embedded.deadlock_avoidance import advance_aside
from habitat_bridge.embedded.detector import Detector, DetectorNoise, Sighting
from habitat_bridge.embedded.floor_map import Grid, floor_map
from habitat_bridge.embedded.laser import Laser, scan
from habitat_bridge.embedded.manipulation import Hands
from habitat_bridge.embedded.navigation import BodySpace
from habitat_bridge.embedded.occupancy import BodyKey, Occupancy
from habitat_bridge.embedded.places import PlaceMap, build_places
from habitat_bridge.embedded.skills import SkillBook
from habitat_bridge.embedded.start import choose_start
from habitat_bridge.embedded.things import Things
from habitat_bridge.house.house import House
from habitat_bridge.render.imaging import Imaging
from habitat_bridge.render.views import View
from habitat_bridge.simulator import (
    Capabilities,
    Frame,
    FrameRequest,
    RobotState,
    Start,
    WorldError,
)

_ANYWHERE = Start()
_TOWARD = 3.0  # [m] how far from a place a thing may lie that is seen toward it


def house_scene(house: House, places: PlaceMap) -> SceneGraph:
    """Return floors, rooms, connections, places and links of a house (no objects, no agents)."""
    scene = SceneGraph()
    for floor in house.floors:
        scene.add_floor(floor)
    for room in house.rooms:
        scene.add_room(room)
    for door in house.doors:
        kind: ConnectionKind = "opening" if door.kind == "opening" else "door"
        scene.add_connection(
            Connection(door.id, door.room_a, door.room_b, kind, door.center, door.width)
        )
    for stairs in house.stairs:
        scene.add_connection(
            Connection(
                stairs.id,
                stairs.room_low,
                stairs.room_high,
                "stairs",
                stairs.bottom,
                stairs.width,
                stairs.riser,
            )
        )
    for place in places.places.values():
        scene.add_place(place)
    for link in places.links.values():
        scene.add_link(link)
    return scene


def scene_now(
    fixed: SceneGraph, things: Iterable[SceneObject], agents: Iterable[AgentState]
) -> SceneGraph:
    """Return a house as it is now; a copy of what may change.

    Args:
        fixed: What does not change.
        things: All things of the house.
        agents: The robots.
    """
    scene = SceneGraph(
        fixed.frame,
        dict(fixed.floors),
        dict(fixed.rooms),
        dict(fixed.connections),
        dict(fixed.places),
        {place: dict(links) for place, links in fixed.links.items()},
    )
    for thing in things:
        scene.add_object(copy.deepcopy(thing))
    scene.agents.update((agent.name, agent) for agent in agents)
    return scene


class EmbeddedWorld:
    """Robots in a house; implements `Simulator` with pixels, motion and manipulation.

    What a robot perceives: `observe` reports what its cameras have in view now, and, while it has
    not moved since, what was in view when it last looked around. With `look_on_arrival` every
    NavigateTo ends with a look around, and so does the arrival in the world: observations then
    are panoramas, as at the viewpoints of topological houses.

    Args:
        house: The house.
        seed: For start places and detector noise.
        noise: How the detector errs (None: `DetectorNoise.normal()`).
        look_on_arrival: Whether a robot turns once at the end of every way.
        track_ids: Whether detections carry the true ids of things, as a perfect tracker would.
        guard: Checks skills (None: everything within the house is allowed).
        threads: Threads that draw images and cast rays (0: all cores).

    Attributes:
        steps_aside: Whether robots make way for one another without a goal of their own.
    """

    def __init__(
        self,
        house: House,
        *,
        seed: int = 0,
        noise: DetectorNoise | None = None,
        look_on_arrival: bool = True,
        track_ids: bool = False,
        guard: Guard | None = None,
        threads: int = 0,
    ) -> None:
        if not house.rooms:
            raise WorldError(f"house {house.seed} has no rooms; generate or load another one")
        self.name = f"house-{house.seed}"
        self.seed = seed
        self.house = house
        self.look_on_arrival = look_on_arrival
        self.steps_aside = True
        self.occupancy = self._make_occupancy()
        self.place_map = build_places(self.occupancy)
        self.imaging = self._make_imaging(threads)
        self.contents: Things = self.imaging.contents
        self._scene = house_scene(house, self.place_map)
        self._bodies: dict[str, Body] = {}
        self.guard = guard or Guard.of(self.truth())
        household = load_household()
        labels = self.contents.labels
        confusable = {
            label: tuple(category.confused)
            for label in set(labels)
            if (category := household.category(label)) is not None
        }
        self.detector = Detector(
            noise or DetectorNoise.normal(), seed, confusable, labels, track_ids
        )
        hands = Hands(self.contents, self.imaging.sensors, self.occupancy)
        self._book = SkillBook(self, hands)
        self._hands = hands
        self.hardware = Hardware(self)
        self._spaces: dict[BodyKey, BodyPlaces] = {}
        self._rooms = {room.id: RoomView(room.id, room.name, room.type) for room in house.rooms}
        self._place_ids = list(self.place_map.places)
        self._place_points = np.array(
            [place.position for place in self.place_map.places.values()]
        ).reshape(-1, 3)
        self._time = 0.0
        self._steps = 0

    @property
    def capabilities(self) -> Capabilities:
        """Pixels, continuous motion and manipulation."""
        return Capabilities(pixels=True, continuous=True, manipulation=True)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._time

    def begin_at(self, time: float) -> None:
        """Let time begin later than 0 [s]; before the first tick."""
        self._time = time

    @property
    def steps(self) -> int:
        """Number of ticks so far."""
        return self._steps

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the robots, in the order they were added."""
        return tuple(self._bodies)

    @property
    def bodies(self) -> Sequence[Body]:
        """The robots themselves, in the order they were added."""
        return tuple(self._bodies.values())

    def add_robot(self, name: str, embodiment: Embodiment, start: Start = _ANYWHERE) -> RobotState:
        """Put a robot into the house; without a start, at a free place chosen by seed.

        Raises:
            WorldError: The name is taken, or no free spot fits the embodiment at `start`.
        """
        if not name:
            raise WorldError("a robot needs a name")
        if name in self._bodies:
            raise WorldError(f"robot {name!r} is in the world already; choose another name")
        key = BodyKey.of(embodiment)
        if key not in self._spaces:
            self._spaces[key] = BodyPlaces(self._make_space(key), self.place_map)
        places = self._spaces[key]
        rng = self.random(name, "start")
        pose = choose_start(start, embodiment, places, self.house, self.bodies, rng)
        self._bodies[name] = body = Body(name, embodiment, places, pose)
        if self.look_on_arrival:
            self.look_around(body)
        return self.state(name)

    def remove_robot(self, name: str) -> None:
        """Take a robot out of the world; what it holds is put down where it stands."""
        self._hands.drop(self.body(name))
        del self._bodies[name]

    def put_down(self, robot: str) -> None:
        """Put what a robot holds down where it stands."""
        self._hands.drop(self.body(robot))

    def state(self, robot: str) -> RobotState:
        """Return a robot's true state."""
        body = self.body(robot)
        job, walk = body.job, body.walk
        remaining = walk.remaining(body) if walk is not None else 0.0
        done = walk.done if walk is not None else 0.0
        position = body.pose.position
        return RobotState(
            robot,
            body.pose,
            body.linear,
            body.angular,
            body.places.nearest(position),
            self.occupancy.room_id(position),
            body.holding,
            body.travelled,
            type(job.skill).__name__ if job is not None else "",
            done / (done + remaining) if done + remaining > EPSILON else float(job is not None),
            remaining,
        )

    def start_skill(self, robot: str, skill: Skill) -> None:
        """Begin a skill; a running one is cancelled first.

        Raises:
            SkillRefused: The guard refuses it, or the world knows at once that it cannot be done.
        """
        body = self.body(robot)
        self.guard.check(skill, body.embodiment)
        job = self._book.begin(body, skill)
        self._stop(body)
        body.ended, body.aside = None, None
        body.job = job
        body.walk = next((stage for stage in job.stages if isinstance(stage, Walk)), None)

    def cancel_skill(self, robot: str) -> None:
        """Stop the running skill where the robot stands; its result comes with the next tick."""
        body = self.body(robot)
        job = body.job
        if job is not None:
            walked = body.travelled - job.travelled
            self._stop(body)
            body.ended = SkillResult(Outcome.CANCELLED, "cancelled", job.elapsed, walked)

    def path(self, robot: str) -> tuple[Vec3, ...]:
        """Return the path [m] that the running skill is going to take; empty: it takes none."""
        body = self.body(robot)
        walk = body.walk
        return () if walk is None else (body.pose.position, *walk.route.points[walk.at :])

    def halt(self, robot: str, halted: bool) -> None:
        """Hold a robot where it stands, or let it go; a running skill is cancelled."""
        body = self.body(robot)
        body.halted = halted
        if halted:
            self.cancel_skill(robot)
            self._stop(body)
            body.aside, body.drive = None, None

    def fence(self, robot: str, guard: Guard) -> None:
        """Let a robot that moves without a goal keep its limits; see Simulator."""
        self.body(robot).guard = guard

    def tick(self, dt: float) -> dict[str, SkillResult]:
        """Advance by `dt` [s]; return the results of skills that ended."""
        if not (dt > 0.0 and math.isfinite(dt)):
            raise WorldError(f"tick(dt) needs a positive time [s], got {dt!r}")
        self._time += dt
        self._steps += 1
        results: dict[str, SkillResult] = {}
        for name, body in self._bodies.items():
            before = body.pose
            if body.aside is not None:
                advance_aside(body, dt)
                if body.job is not None:
                    body.job.elapsed += dt
            elif body.job is not None:
                self._advance(body, body.job, dt)
            elif body.drive is not None:
                advance_drive(body, body.drive, dt, self._book.blocker)
            if body.drive is not None and body.drive.until <= self._time:
                body.drive = None
            self._moved(body, before, dt)
            if body.ended is not None:
                results[name], body.ended = body.ended, None
        return results

    def observe(self, robot: str) -> Observation:
        """Return what the robot perceives now; the same again within one step."""
        body = self.body(robot)
        position = body.pose.position
        place = body.places.nearest(position)
        sightings, seen_places = self._in_view(body)
        around = body.glance is not None
        room_of = self.room_view
        eye = (position[0], position[1], position[2] + self._eye_height(body))
        widest = max((c.hfov for c in body.embodiment.cameras), default=0.0)
        turn = 1.0 if around else min(1.0, widest / math.tau)
        detections = self.detector.detect(
            robot, self._steps, sightings, room_of, eye, body.pose.yaw, turn
        )
        reach = max(
            (min(c.far, self.detector.noise.max_range) for c in body.embodiment.cameras),
            default=1.0,
        )
        seen: dict[str, float] = {place: 1.0}
        for other in sorted(seen_places):
            away = math.dist(self.place_map.places[other].position, position)
            quality = round(1.0 - away / reach, 4)
            if quality > 0.0:
                seen.setdefault(other, quality)
        ways = body.places.ways(place) if body.embodiment.mobility != "fixed" else {}
        views = []
        toward: dict[str, set[str]] = {k: set() for k in (place, *ways)}
        if toward:
            spots = {k: self.place_map.places[k].position for k in toward}
            for found in detections:
                if found.box is not None:
                    center = found.box.center
                    nearest = min(spots, key=lambda k: (math.dist(spots[k][:2], center[:2]), k))
                    if math.dist(spots[nearest], center) <= _TOWARD:
                        toward[nearest].add(found.label)
        for other, length in ways.items():
            spot = self.place_map.places[other]
            told = self._rooms.get(spot.room) if other in seen else None
            views.append(
                PlaceView(other, spot.position, length, told, tuple(sorted(toward[other])))
            )
        return Observation(
            robot,
            self._steps,
            self._time,
            body.pose,
            place,
            room_of(position),
            detections,
            tuple(views),
            seen,
        )

    def render(self, requests: Sequence[FrameRequest]) -> list[Frame]:
        """Return the images asked for, all robots in one batch; their arrays are read-only.

        Raises:
            WorldError: A robot or camera is unknown.
        """
        for request in requests:
            self.body(request.robot)
        return self.imaging.render(requests, self._bodies, self._time)

    def truth(self) -> SceneGraph:
        """Return the whole truth about the house as it is now; a copy of what may change."""
        agents = (
            AgentState(name, body.pose, self.occupancy.room_id(body.pose.position), body.holding)
            for name, body in self._bodies.items()
        )
        return scene_now(self._scene, self.contents, agents)

    def close(self) -> None:
        """Release nothing: the world holds only memory."""

    def room_view(self, point: Vec3) -> RoomView | None:
        """Return the room a point [m] lies in, None outside."""
        return self._rooms.get(self.occupancy.room_id(point))

    def look_around(self, body: Body) -> None:
        """Note what comes into view during a full turn where a robot stands."""
        sightings, places = self._look(body, around=True)
        body.glance = Glance(body.pose, tuple(sightings), frozenset(places), self.contents.revision)

    def random(self, *key: str | int) -> np.random.Generator:
        """Return a generator that depends on the seed and this key only, not on the call order."""
        words = [k if isinstance(k, int) else zlib.crc32(k.encode()) for k in key]
        return np.random.default_rng([self.seed & 0xFFFFFFFF, *words])

    def _make_occupancy(self) -> Occupancy:
        """Return what places are laid out by, and rooms are told by."""
        return Occupancy(self.house)

    def _make_imaging(self, threads: int) -> Imaging:
        """Return the cameras; another geometry than the house's own may answer for them."""
        return Imaging(self.house, threads)

    def _make_space(self, key: BodyKey) -> BodySpace:
        """Return where a kind of body can go."""
        return BodySpace(self.occupancy, key)

    def _look(self, body: Body, around: bool) -> tuple[list[Sighting], set[str]]:
        best: dict[str, Sighting] = {}
        places: set[str] = set()
        for camera in body.embodiment.cameras:
            view = View.of(body.pose, camera, around)
            found, clear = self.imaging.sensors.look(view, self.detector.noise, self._place_points)
            for sighting in found:
                known = best.get(sighting.id)
                if known is None or sighting.fraction > known.fraction:
                    best[sighting.id] = sighting
            places.update(self._place_ids[k] for k in np.flatnonzero(clear))
        rows = self.contents.rows
        return sorted(best.values(), key=lambda s: rows[s.id]), places

    def _in_view(self, body: Body) -> tuple[list[Sighting], set[str]]:
        """Return what is in view now, and what a look around from this very spot has shown."""
        glance = body.glance
        if glance is not None and math.dist(glance.pose.position, body.pose.position) > 0.02:
            glance = body.glance = None
        if glance is not None and glance.revision == self.contents.revision:
            return list(glance.sightings), set(glance.places)
        sightings, places = self._look(body, around=False)
        if glance is None:
            return sightings, places
        now = {s.id: s for s in sightings}
        for old in glance.sightings:
            known = now.get(old.id)
            if known is None or (known.box == old.box and known.fraction < old.fraction):
                now[old.id] = old
        rows = self.contents.rows
        return sorted(now.values(), key=lambda s: rows[s.id]), places | glance.places

    def _eye_height(self, body: Body) -> float:
        return max((c.mount_height for c in body.embodiment.cameras), default=0.0)

    def body(self, name: str) -> Body:
        """Return a robot; raises WorldError where there is none of that name."""
        if name not in self._bodies:
            raise WorldError(
                f"no robot named {name!r}; robots here: {', '.join(self._bodies) or 'none'}"
            )
        return self._bodies[name]

    def _stop(self, body: Body) -> None:
        body.job, body.walk = None, None
        body.linear, body.angular = (0.0, 0.0, 0.0), 0.0

    def _advance(self, body: Body, job: Job, dt: float) -> None:
        """Let a skill run for `dt` [s]."""
        budget = dt
        stages: deque[Stage] = job.stages
        result: SkillResult | None = None
        try:
            while stages:
                budget, over = stages[0].advance(body, budget)
                if not over:
                    budget = 0.0
                    break
                stages.popleft()
            job.elapsed += dt - budget
            if not stages:
                result = job.finish()
        except SkillFailed as failed:
            result = SkillResult(failed.outcome, failed.reason)
        if result is not None:
            walked = body.travelled - job.travelled
            body.ended = replace(result, duration=job.elapsed, distance=walked)
            body.job, body.walk = None, None

    def _moved(self, body: Body, before: Pose, dt: float) -> None:
        """Note how a robot has moved during a tick, and what that does to what it holds and saw."""
        moved = body.pose.position
        if body.glance is not None and math.dist(body.glance.pose.position, moved) > 0.02:
            body.glance = None
        if body.holding:
            self._book.carry(body)
        old = before.position
        body.linear = ((moved[0] - old[0]) / dt, (moved[1] - old[1]) / dt, (moved[2] - old[2]) / dt)
        body.angular = math.remainder(body.pose.yaw - before.yaw, math.tau) / dt


class Hardware:
    """The drivers of all robots of a world.

    Args:
        world: The house with its robots.
    """

    def __init__(self, world: EmbeddedWorld) -> None:
        self._world = world

    def body(self, robot: str) -> Body:
        """Return a robot's body."""
        return self._world.body(robot)

    def drive(self, robot: str, velocity: Velocity) -> None:
        """Let a robot drive by a command until it times out; a skill, or a stop, goes first."""
        body = self.body(robot)
        if not body.halted:
            body.drive = Drive(velocity.limited(body), self._world.time + COMMAND_TIMEOUT)

    def scan(self, robot: str, laser: Laser) -> npt.NDArray[np.float32]:
        """Return what a robot's scanner measures now: ranges (rays,) [m], infinite for none."""
        world = self._world
        bodies = {body.name: body for body in world.bodies}
        others = world.imaging.pillars(bodies, without=robot)
        return scan(world.imaging.sensors, laser, self.body(robot).pose, others)

    def floor(self, robot: str) -> int:
        """Return the index of the floor that a robot is on."""
        return self._world.occupancy.floor_index(self.body(robot).pose.position[2])

    def floor_map(self, robot: str) -> tuple[Grid, float, Vec3]:
        """Return the map of the floor that a robot is on; see `floor_map`."""
        return floor_map(self.body(robot).places.space, self.floor(robot))
