"""Finds the robot's map in the team's while the robot drives, and says how well."""

from __future__ import annotations

from collections.abc import Iterable

from coterie_world.scene import SceneGraph
from coterie_world.sightings import kind_of
from robot_adapters.sensing.alignment import (
    Alignment,
    AlignmentError,
    Landmark,
    MatchOptions,
    align,
)
from robot_adapters.sensing.objects import FoundBox, Tracks
from robot_adapters.sensing.seen import Sight

_GOOD_ENOUGH_M = 0.15
"""An alignment with a smaller error is not looked for again [m]."""
_BETTER = 0.7
"""A later alignment is taken if its error is smaller by this factor."""
_NEW_LANDMARKS = 3
_MOST_LANDMARKS = 80
_LEAST_VIEWS = 2


class MapFinder:
    """Objects of both maps, and the alignment that they give.

    Args:
        sight: How far images tell something.
        options: How maps are matched.

    Attributes:
        alignment: The best so far; None: none yet.
        problem: Why there is none.
    """

    def __init__(self, sight: Sight, options: MatchOptions | None = None) -> None:
        self.alignment: Alignment | None = None
        self.problem = "the team's map has not come"
        self._options = options
        self._own = Tracks(sight)
        self._team: list[Landmark] = []
        self._tried = (0, 0)

    def add(self, found: Iterable[FoundBox], time: float) -> None:
        """Take what the robot sees, in its own map."""
        self._own.add(found, time)

    def forget(self, since: float) -> None:
        """Forget what was seen from a time [s] on: the robot was not where it thought."""
        self._own.items = [track for track in self._own.items if track.time < since]

    def set_team(self, scene: SceneGraph) -> None:
        """Take the objects of the team's map."""
        self._team = [
            Landmark(kind_of(thing.label.top), thing.box.center)
            for thing in scene.objects.values()
            if thing.box.volume > 0.0 and thing.label.top
        ]

    def search(self) -> Alignment | None:
        """Match the maps if that is due; return a new alignment, None for none. Takes seconds."""
        own = [t for t in self._own.items if t.views >= _LEAST_VIEWS]
        news = (len(own), len(self._team))  # all own ones: the number of those matched ends
        grown = any(abs(a - b) >= _NEW_LANDMARKS for a, b in zip(news, self._tried, strict=True))
        if not grown or (self.alignment is not None and self.alignment.error < _GOOD_ENOUGH_M):
            return None
        self._tried = news
        most_seen = sorted(own, key=lambda t: -t.views)[:_MOST_LANDMARKS]
        landmarks = [Landmark(kind_of(t.label), t.box.center) for t in most_seen]
        try:
            found = align(landmarks, self._team, self._options)
        except AlignmentError as error:
            self.problem = str(error)
            return None
        if self.alignment is not None and found.error > _BETTER * self.alignment.error:
            return None
        self.alignment, self.problem = found, ""
        return found
