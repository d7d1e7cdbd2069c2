"""What tags in a recording say of a lab, and how true the robots' claims are by them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie_core.geometry import Vec3
from coterie_core.household import normalized
from coterie_perception.tags import Matrix, TagTable, find_tags
from coterie_recordings import Recording
from coterie_world.association import assign
from coterie_world.scene import SceneGraph
from coterie_world.scene.regions import Regions

_LAST = 5
"""Newest sightings of a tag whose median is where it is now."""


@dataclass(frozen=True, slots=True)
class TagSight:
    """A tag once: when [s], where its middle is in the map and in the optical frame (3,) [m]."""

    time: float
    in_map: Matrix
    in_camera: Matrix


Sights = dict[int, list[TagSight]]


def tags_in(recording: Recording, table: TagTable, every: int = 1) -> Sights:
    """Return the sightings of each tag in a recording, in the order of time.

    Raises:
        RecordingError: A frame cannot be read.
        DetectorError: OpenCV is missing.
    """
    found: Sights = defaultdict(list)
    for k in range(0, len(recording), every):
        frame = recording[k].frame
        if frame.color is None:
            continue
        for one in find_tags(frame.color, table, frame.intrinsics):
            if one.pose is not None:
                at = (frame.camera_to_map @ one.pose)[:3, 3]
                found[one.number].append(TagSight(frame.time, at, one.pose[:3, 3]))
    return dict(found)


def places_of(sights: Sights) -> dict[int, Matrix]:
    """Return where each tag is now in the map [m]: the median of its newest sightings."""
    return {
        number: np.median([one.in_map for one in of[-_LAST:]], axis=0)
        for number, of in sights.items()
    }


@dataclass(slots=True)
class Row:
    """A claim, or what it should have said, beside what tags show.

    `verdict`: right, wrong, or unknown where no tag tells; `off` [m] is the distance between claim
    and tag, None where there is none.
    """

    kind: str
    claim: str
    verdict: str
    why: str
    off: float | None = None


@dataclass(slots=True)
class TagScore:
    """All rows of a score."""

    rows: list[Row] = field(default_factory=list)

    def share(self, kind: str) -> tuple[int, int]:
        """Return how many claims of a kind are right, and how many were decided."""
        decided = [row for row in self.rows if row.kind == kind and row.verdict != "unknown"]
        return sum(row.verdict == "right" for row in decided), len(decided)


class TagReferee:
    """Judges claims by the tags that were seen, and by nothing else.

    Args:
        table: The tags.
        sights: Where and when they were seen.
        within: Largest distance between a claim and its tag [m].
    """

    def __init__(self, table: TagTable, sights: Sights, within: float = 0.5) -> None:
        self._table, self._sights, self._within = table, sights, within
        self._places = places_of(sights)
        self._complete = {normalized(label) for label in table.complete}

    def localization(self) -> Iterator[Row]:
        """Compare tags whose position was measured with where robots saw them."""
        for number, entry in self._table.tags.items():
            if entry.at is None or number not in self._places:
                continue
            seen = [math.dist(one.in_map, entry.at) for one in self._sights[number]]
            off = float(np.median(seen))
            text = f"tag {number} ({entry.name}) is where it was seen"
            why = f"median of {len(seen)} sightings, at most {max(seen):.2f} m"
            yield Row("localization", text, self._fits(off), why, off)

    def mapped(self, scene: SceneGraph) -> Iterator[Row]:
        """Compare the objects of a map with tagged ones, one to one."""
        tagged = self._objects()
        names = {normalized(self._table.tags[number].object) for number in tagged}
        claims = [one for one in scene.objects.values() if normalized(one.label.top) in names]
        away = {
            (number, one.id): math.dist(one.box.center, at)
            for number, at in tagged.items()
            for one in claims
            if normalized(one.label.top) == normalized(self._table.tags[number].object)
        }
        near = {pair: 2.0 - off / self._within for pair, off in away.items() if off <= self._within}
        taken = assign(near)
        used = set(taken.values())
        for number in tagged:
            text = f"{self._table.tags[number].object} (tag {number}) is in the map"
            if number in taken:
                yield Row("map", text, "right", "", away[number, taken[number]])
                continue
            others = [off for (n, id_), off in away.items() if n == number and id_ not in used]
            why = f"none of that label within {self._within:g} m"
            yield Row("map", text, "wrong", why, min(others, default=None))
        for one in claims:
            if one.id not in used:
                known = normalized(one.label.top) in self._complete
                text = f"{one.id}: {one.label.top} at {_told(one.box.center)}"
                why = "no tag is there" + ("" if known else ", but others may be without one")
                yield Row("map", text, "wrong" if known else "unknown", why)

    def answered(self, label: str, room: str, yes: bool | None, scene: SceneGraph) -> Row:
        """Judge an answer to whether there is an object of a label in a room ("": anywhere)."""
        regions = Regions(scene)
        wanted = scene.room_named(room) if room else None
        here = [
            number
            for number, at in self._objects().items()
            if normalized(self._table.tags[number].object) == normalized(label)
            and (wanted is None or regions.room_at((at[0], at[1], at[2])) == wanted.id)
        ]
        place = f" in {room}" if room else ""
        said = {True: "yes", False: "no", None: "unknown"}[yes]
        text = f"{label}{place}: {said}"
        if room and wanted is None:
            return Row("answers", text, "unknown", f"the map has no room {room!r}")
        if not here and normalized(label) not in self._complete:
            return Row("answers", text, "unknown", "no tag of one was seen there")
        why = f"tag {here[0]} was seen there" if here else "all of that label have tags, none there"
        return Row("answers", text, "right" if yes is bool(here) else "wrong", why)

    def brought(self, label: str, to: Vec3) -> Row:
        """Judge the claim that an object of a label was brought to a point of the map [m]."""
        text = f"a {label} was brought to {_told(to)}"
        offs = {
            number: math.dist(at, to)
            for number, at in self._objects().items()
            if normalized(self._table.tags[number].object) == normalized(label)
        }
        if not offs:
            return Row("outcomes", text, "unknown", "no tag of one was seen")
        number = min(offs, key=lambda one: offs[one])
        why = f"tag {number} was seen last {offs[number]:.2f} m away"
        return Row("outcomes", text, self._fits(offs[number]), why, offs[number])

    def _objects(self) -> dict[int, Matrix]:
        tags = self._table.tags
        return {
            number: at
            for number, at in sorted(self._places.items())
            if number in tags and tags[number].object
        }

    def _fits(self, off: float) -> str:
        return "right" if off <= self._within else "wrong"


def moves_of(results: Iterable[Mapping[str, Any]]) -> list[tuple[str, Vec3]]:
    """Return label and goal [m] of what tasks say they brought, of results of `./coterie do`.

    Raises:
        ValueError: They are none.
    """
    found = []
    for result in results:
        moves = result.get("moves")
        if not isinstance(moves, Sequence):
            raise ValueError("expected results of ./coterie do --json, with moves")
        for move in moves:
            label, end = move.get("label"), move.get("end")
            if isinstance(label, str) and isinstance(end, list) and len(end) == 3:
                found.append((label, (float(end[0]), float(end[1]), float(end[2]))))
    return found


def _told(point: Vec3) -> str:
    return "(" + ", ".join(f"{value:.1f}" for value in point) + ")"
