"""Floors of a real building and what joins them, as the team file gives them: stairs, elevators.

No sensor tells a robot on wheels what leads upstairs. So a person writes it, and where nothing is
written, another floor is out of reach, and the robot says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coterie_core.geometry import Vec3
from coterie_world.scene import Floor, Place, PlaceLink, SceneGraph

_BELOW = 0.5
"""A robot whose pose is so far below a floor's height is on that floor all the same [m]."""
_NEAR = 3.0
"""An end of a link joins the places of its floor that are nearer than this [m]."""
_WIDTH = 0.8


@dataclass(frozen=True, slots=True)
class FloorLink:
    """Stairs or an elevator: both ends [m, team map], and which robots may use it (none: all)."""

    kind: str
    ends: tuple[Vec3, Vec3]
    robots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Storeys:
    """The floors of a building by name, with their heights [m, team map], and links.

    Args:
        robot: Whose adapter asks.
        heights: Floor -> height of what one walks on [m]; none: nothing is known of floors.
        links: What joins them.
    """

    robot: str = ""
    heights: Mapping[str, float] = field(default_factory=dict)
    links: Sequence[FloorLink] = ()

    @staticmethod
    def of(robot: str, settings: Mapping[str, Any]) -> Storeys:
        """Return the floors of a node's parameter: {"heights": {...}, "links": [...]}."""
        links = [
            FloorLink(one["kind"], _ends(one["ends"]), tuple(one["robots"]))
            for one in settings.get("links", ())
        ]
        return Storeys(robot, dict(settings.get("heights", {})), links)

    def at(self, z: float) -> str:
        """Return the floor that a height [m, team map] is above; "": no floors are given."""
        ranked = sorted(self.heights, key=lambda name: self.heights[name])
        below = [name for name in ranked if self.heights[name] <= z + _BELOW]
        return below[-1] if below else (ranked[0] if ranked else "")

    def trouble(self, here: Vec3, there: Vec3) -> str:
        """Return why a robot cannot get from one point to another by the floors; "": it may."""
        begin, end = self.at(here[2]), self.at(there[2])
        reached, new = {begin}, [begin]
        while new:
            floor = new.pop()
            for link in self._usable:
                a, b = (self.at(one[2]) for one in link.ends)
                for one, other in ((a, b), (b, a)):
                    if one == floor and other not in reached:
                        reached.add(other)
                        new.append(other)
        if end in reached:
            return ""
        return (
            f"cannot get there: it is on floor {end!r}, the robot is on {begin!r}, and no link of "
            f"the team file (world.floor_links) that {self.robot} may use joins them"
        )

    def add_to(self, graph: SceneGraph) -> None:
        """Add the floors, and the links that this robot may use, as places and ways between them.

        All robots name the ends alike: where one knows the places of one floor, and another those
        of the other, the team's map joins them.
        """
        ranked = sorted(self.heights, key=lambda name: self.heights[name])
        for index, name in enumerate(ranked):
            graph.floors.setdefault(name, Floor(name, index, self.heights[name]))
        known = list(graph.places.values())
        for k, link in enumerate(self.links):
            if link not in self._usable:
                continue
            names = []
            for side, end in zip("ab", link.ends, strict=True):
                place = Place(f"{link.kind}_{k + 1}{side}", end, "", self.at(end[2]))
                near = [
                    one
                    for one in known
                    if one.floor == place.floor and math.dist(one.position, end) <= _NEAR
                ]
                graph.add_place(place)
                for one in near:
                    away = math.dist(one.position, end)
                    graph.add_link(PlaceLink(place.id, one.id, away, _WIDTH))
                names.append(place.id)
            graph.add_link(PlaceLink(names[0], names[1], math.dist(*link.ends), _WIDTH))

    @property
    def _usable(self) -> list[FloorLink]:
        return [one for one in self.links if not one.robots or self.robot in one.robots]


def _ends(ends: Sequence[Sequence[float]]) -> tuple[Vec3, Vec3]:
    (ax, ay, az), (bx, by, bz) = ends
    return (ax, ay, az), (bx, by, bz)
