"""Hears a team's map as it is published: the map, its points, what is free of each floor."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest

from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import PointCloud2

from coterie_bringup.team_client import Operator
from coterie_msgs.msg import SemanticMap
from coterie_ros import conversions
from coterie_world.scene import SceneGraph

TOPIC = "semantic_map"
_PERIOD = 0.2
_TOLD = 2
"""Unchanged figures of a mapper that say that it has nothing to do."""


@dataclass(slots=True)
class Shown:
    """The latest message of each topic; `grids`: topic's last part -> floor plan."""

    scene: SceneGraph | None = None
    points: PointCloud2 | None = None
    grids: dict[str, OccupancyGrid] = field(default_factory=dict)


class MapWatch:
    """Listens for an operator; all its methods are for the operator's loop."""

    def __init__(self, operator: Operator) -> None:
        self.shown = Shown()
        self._operator = operator
        self._grids: set[str] = set()

    async def start(self) -> None:
        """Begin to listen."""
        take = partial(setattr, self.shown, "points")
        self._operator.subscribe(PointCloud2, f"{TOPIC}/points", "latched", take)
        take = partial(setattr, self.shown, "scene")
        self._operator.subscribe(
            SemanticMap, TOPIC, "latched", take, convert=conversions.scene_from_msg
        )

    async def settled(self, timeout: float, quiet: float = 2.5) -> dict[str, int]:
        """Wait until the mapper has mapped all frames; return its figures, {} where none came.

        Args:
            timeout: Longest wait [s].
            quiet: A mapper that has nothing to do for so long has mapped what was seen [s]; so has
                one with images of robots that stand, when none had to wait four times as long.
        """
        end = time.monotonic() + timeout
        before: dict[str, int] = {}
        latest: list[dict[str, str]] = []
        since = idle = time.monotonic()
        told = 0  # figures that came since they changed: a mapper that is busy tells none
        while time.monotonic() < end:
            self._listen_to_floors()
            now, newest = time.monotonic(), self._mappers()
            told += any(new is not old for new, old in zip_longest(newest, latest))
            figures, latest = _sum(newest), newest
            if figures != before:
                before, since, told = figures, now, 0
            if figures.get("frames_waiting") or not newest:
                since = idle = now
            done = now - since > quiet and told >= _TOLD
            if newest and self.shown.scene and (done or now - idle > 4.0 * quiet):
                return figures
            await asyncio.sleep(_PERIOD)
        return _sum(self._mappers())

    def _mappers(self) -> list[dict[str, str]]:
        """Return the latest figures of the map's node, or of those of several."""
        return [
            figures
            for name, figures in self._operator.diagnostics_of.items()
            if name.rpartition("/")[2].startswith("mapper")
        ]

    def _listen_to_floors(self) -> None:
        """Subscribe to floor plans that have come to exist: how many floors there are shows."""
        grids = self._operator.resolve_topic_name(f"{TOPIC}/grid") + "/"
        for topic, _ in self._operator.get_topic_names_and_types():
            if topic.startswith(grids) and topic not in self._grids:
                self._grids.add(topic)
                take = partial(self.shown.grids.__setitem__, topic.removeprefix(grids))
                self._operator.subscribe(OccupancyGrid, topic, "latched", take)


def _sum(mappers: Iterable[Mapping[str, str]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for figures in mappers:
        for key in ("frames", "frames_waiting", "frames_dropped_busy"):
            total[key] = total.get(key, 0) + int(figures.get(f"map.{key}", "0"))
    return total
