"""Where a hand would let go of things: by surfaces of the map, and by boxes alone.

    python -m research.bench.mapping.placing --houses 10 --seed 81600

Maps houses, whose seats and boards have heights that robots do not know. For each piece of
furniture on the map a robot that stands where the camera stood asks `SupportFinder` where to let go
of a cup, and the house tells whether anything bears it there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import typer
from rich.console import Console

from coterie_core.detections import RgbdFrame
from coterie_core.geometry import Box, Pose, Vec3, iou
from coterie_core.skills import Target
from coterie_world.scene import Receptacle, SceneGraph, SceneObject
from coterie_world.sightings import kind_of
from coterie_world.surfaces import free_points, usual_surfaces
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.surfaces import is_hollow
from research.bench.mapping.bench import map_house
from research.bench.mapping.errors import LADDER
from robot_adapters.backends.goals import Ended
from robot_adapters.backends.support_finder import SupportFinder
from robot_adapters.sensing.height_map import HeightMap, TeamHeightMap
from robot_adapters.sensing.plane import MapPose

Outcome = Literal["borne", "dropped", "refused"]
CUP = Box((0.0, 0.0, 0.0), (0.08, 0.08, 0.12))
NEAR_M, MOST_FRAMES = 2.2, 18
"""Images that the robot has taken on its way, from so near."""
BORNE_M = 0.05
"""A cup that is let go no higher above a surface, or pressed no deeper into it, stands [m]."""


class Where:
    """A robot that knows a map, and saw some images."""

    def __init__(self, scene: SceneGraph, eye: Vec3, frames: Sequence[RgbdFrame]) -> None:
        self.scene, self.eye, self.known = scene, eye, HeightMap()
        for frame in frames:
            self.known.add(frame)

    def objects(self, radius: float) -> list[tuple[str, str, Box]]:
        """Return all objects of the map."""
        return [(t.id, t.label.top, t.box) for t in self.scene.objects.values()]

    def surfaces(self, id_: str) -> tuple[Receptacle, ...]:
        """Return the open surfaces that the map has of an object."""
        thing = self.scene.objects[id_]
        return tuple(one for one in thing.receptacles if not one.inside or thing.is_open)

    def pose(self) -> Pose:
        """Return where it stands."""
        return Pose(self.eye)

    @property
    def height_map(self) -> TeamHeightMap:
        """Return what it saw."""
        return TeamHeightMap(self.known, MapPose(0.0, 0.0, 0.0, 0.0), self.eye)


def placed(where: Where, thing: SceneObject, true: Sequence[Box]) -> Outcome:
    """Return what becomes of a cup that is put onto a piece of furniture."""
    levels = [one.surface for one in where.surfaces(thing.id)]
    level = (levels or usual_surfaces(thing.label.top, thing.box, CUP, where.eye[2]))[0]
    points = free_points(level, CUP, [])
    x, y = level.center[:2]
    if len(points):
        x, y = points[np.hypot(*(points - where.eye[:2]).T).argmin()].tolist()
    target = Target(label=thing.label.top, position=(x, y, level.center[2]), instance=thing.id)
    try:
        point = SupportFinder(where, math.inf).point(target, CUP)  # type: ignore[arg-type]
    except Ended:
        return "refused"
    # What is let go over a rim falls to the bottom.
    hollow = is_hollow(thing.label.top)
    for surface in true:
        above = point[2] - surface.center[2]
        flat = Box((*surface.center[:2], point[2]), (*surface.size[:2], 0.1), surface.yaw)
        if flat.contains(point) and (abs(above) <= BORNE_M or (hollow and 0.0 <= above <= 0.5)):
            return "borne"
    return "dropped"


def house(seed: int) -> list[tuple[Outcome, Outcome]]:
    """Map a house; return what becomes of a cup on each piece, by surfaces and by boxes alone."""
    frames: list[RgbdFrame] = []
    scene, _ = map_house(seed, size=(160, 120), errors=LADDER[1], frames=frames)
    truth = EmbeddedWorld(generate_house(seed, floors=1), seed=seed).truth()
    eyes = np.array([frame.camera_to_map[:3, 3] for frame in frames])
    ground = min((floor.elevation for floor in truth.floors.values()), default=0.0)
    found = []
    for thing in scene.objects.values():
        alike = [
            (iou(thing.box, one.box), one.id)
            for one in truth.objects.values()
            if one.kind != "item" and kind_of(one.label.top) == kind_of(thing.label.top)
        ]
        share, owner = max(alike, default=(0.0, ""))
        true = [
            one.surface
            for one in (truth.objects[owner].receptacles if share >= 0.15 else ())
            if not one.inside
        ]
        middle = thing.box.center[2]
        away = np.array([thing.box.distance((float(x), float(y), middle)) for x, y, _ in eyes])
        near = [k for k in np.argsort(away, kind="stable") if away[k] < NEAR_M][:MOST_FRAMES]
        if not true or not near:
            continue
        x, y, _ = eyes[near[0]].tolist()
        where = Where(scene, (x, y, ground), [frames[k] for k in reversed(near)])
        by_surfaces = placed(where, thing, true)
        told, thing.receptacles = thing.receptacles, []
        found.append((by_surfaces, placed(where, thing, true)))
        thing.receptacles = told
    return found


def main(
    houses: Annotated[int, typer.Option(min=1, help="Number of generated houses.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first house.")] = 0,
) -> None:
    """Print how many cups are borne, dropped or refused."""
    pairs = [pair for k in range(houses) for pair in house(seed + k)]
    for name, column in (("surfaces of the map", 0), ("boxes alone", 1)):
        counts = Counter(pair[column] for pair in pairs)
        Console().print(f"{name}: {len(pairs)} pieces, {dict(counts)}")


if __name__ == "__main__":
    typer.run(main)
