"""What a robot perceives at a viewpoint of a topological house, with a detector that may err."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping

import networkx as nx
import numpy as np

from coterie_core.geometry import Pose, Vec3, distance, wrap_angle
from coterie_core.observation import Detection, Observation, PlaceView, RoomView
from research.bench.graph_houses.model import DetectorNoise, GraphHouse, SeenObject

_RANGE = 3.0  # [m] up to which the object files list what is around a viewpoint
_TOWARD = math.radians(45)  # a thing lies toward a place if its bearing differs by no more


class Perception:
    """The senses of all robots in a house.

    Args:
        house: What is where.
        rooms: Room name -> what a robot is told of the room it sees.
        noise: How the detector errs.
        seed: For its errors.
    """

    def __init__(
        self, house: GraphHouse, rooms: Mapping[str, RoomView], noise: DetectorNoise, seed: int
    ) -> None:
        self.house = house
        self.rooms = rooms
        self.noise = noise
        self.seed = seed
        self._labels = sorted({o.label for v in house.viewpoints.values() for o in v.objects})

    def observe(
        self,
        robot: str,
        place: str,
        look: int,
        ways: nx.Graph,
        *,
        step: int,
        time: float,
        pose: Pose,
    ) -> Observation:
        """Return what a robot perceives at a place.

        Another place counts as seen by the share of the things around it that are likely to be in
        range from here: 1 at no distance, falling to 0 at 3 m, and only where it is in view.

        Args:
            robot: Its name; the detector's errors depend on it.
            place: The viewpoint.
            look: Number of the robot's look; each look errs anew.
            ways: Ways that its body can take.
            step: Tick number.
            time: Simulated time [s].
            pose: Where the robot is.
        """
        view = self.house.viewpoints[place]
        room = self.rooms.get(view.room) if view.room is not None else None
        found = self._detections(robot, place, look)
        seen = {place: 1.0}
        for other in sorted(self.house.visible[place]):
            share = 1.0 - distance(view.position, self.house.viewpoints[other].position) / _RANGE
            if share > 0.0:
                seen[other] = share
        detections = tuple(
            Detection(thing.label, score, None, room, 0.0, thing.id, {thing.label: score})
            for thing, score in found
        )
        neighbours = self._neighbours(place, found, ways)
        return Observation(robot, step, time, pose, place, room, detections, neighbours, seen)

    def _neighbours(
        self, place: str, found: list[tuple[SeenObject, float]], ways: nx.Graph
    ) -> tuple[PlaceView, ...]:
        """Return the places one hop away with what is seen toward each."""
        here = self.house.viewpoints[place]
        ids = sorted(ways[place])
        bearings = {k: direction(here.position, self.house.viewpoints[k].position) for k in ids}
        toward: dict[str, set[str]] = {k: set() for k in ids}
        for thing, _ in found:
            if thing.bearing is None or not ids:
                continue
            off = {k: abs(wrap_angle(bearings[k] - thing.bearing)) for k in ids}
            nearest = min(ids, key=off.__getitem__)
            if off[nearest] <= _TOWARD:
                toward[nearest].add(thing.label)
        views = []
        for k in ids:
            there = self.house.viewpoints[k]
            told = there.room if k in self.house.visible[place] else None
            room = self.rooms.get(told) if told is not None else None
            labels = tuple(sorted(toward[k]))
            views.append(PlaceView(k, there.position, ways[place][k]["length"], room, labels))
        return tuple(views)

    def _detections(self, robot: str, place: str, look: int) -> list[tuple[SeenObject, float]]:
        """Return what the detector reports at a viewpoint with its scores; errs by `noise`."""
        things = self.house.viewpoints[place].objects
        noise = self.noise
        if noise == DetectorNoise():
            return [(thing, 1.0) for thing in things]
        rng = keyed_random(self.seed, robot, place, look)
        found: list[tuple[SeenObject, float]] = []
        for thing in things:
            missed, wrong, score = rng.random(), rng.random(), rng.uniform(0.6, 1.0)
            other = self._labels[int(rng.integers(len(self._labels)))]
            if missed < noise.miss:
                continue
            if wrong < noise.wrong_label and other != thing.label:
                thing, score = SeenObject(thing.id, other, thing.bearing), score - 0.2
            found.append((thing, float(score)))
        for _ in range(int(rng.poisson(noise.phantom)) if self._labels else 0):
            label = self._labels[int(rng.integers(len(self._labels)))]
            track = f"t{int(rng.integers(1 << 31))}"
            bearing = float(rng.uniform(-math.pi, math.pi))
            found.append((SeenObject(track, label, bearing), float(rng.uniform(0.4, 0.8))))
        return found


def direction(here: Vec3, there: Vec3) -> float:
    """Return the bearing [rad] of one point from another in the plane."""
    return math.atan2(there[1] - here[1], there[0] - here[0])


def keyed_random(seed: int, *key: str | int) -> np.random.Generator:
    """Return a generator that depends on the seed and the key only, not on the order of calls."""
    words = [k if isinstance(k, int) else zlib.crc32(k.encode()) for k in key]
    return np.random.default_rng([seed & 0xFFFFFFFF, *words])
