"""Matterport3D's `.house` files: levels, regions with outlines, portals, objects with boxes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from coterie_core.geometry import Vec2, Vec3
from habitat_bridge.habitat.annotation_types import (
    Annotations,
    PortalNote,
    RegionNote,
    ThingNote,
    counter_clockwise,
    map_box,
)
from habitat_bridge.habitat.transforms import Array, corners

# The one-letter room labels of Matterport3D's house files.
MP3D_ROOMS = {
    "a": "bathroom", "b": "bedroom", "c": "closet", "d": "dining room", "e": "entryway",
    "f": "family room", "g": "garage", "h": "hallway", "i": "library", "j": "laundry room",
    "k": "kitchen", "l": "living room", "m": "meeting room", "n": "lounge", "o": "office",
    "p": "porch", "r": "game room", "s": "stairs", "t": "toilet", "u": "utility room",
    "v": "tv room", "w": "gym", "x": "outdoor", "y": "balcony", "z": "", "B": "bar",
    "C": "classroom", "D": "dining booth", "S": "spa",
}  # fmt: skip
JUNK = "Z"


def read_house_lines(path: Path, lines: list[str], rotation: Array) -> Annotations:
    """Read the lines after the header; `rotation` (3, 3) turns the file's frame into the map's.

    Regions take the outline of their surfaces' vertices where there are any, else their extent.
    Lines that are too short or hold no numbers are left out, with a note that names the first.
    """
    reader = _Reader(rotation)
    bad = 0
    for count, line in enumerate(lines, start=2):
        tokens = line.split()
        take = reader.handlers.get(tokens[0]) if tokens else None
        if take is None:
            continue
        try:
            take(tokens)
        except (ValueError, IndexError):
            bad += 1
            if bad == 1:
                reader.result.notes.append(f"{path.name}:{count}: broken line {line[:60]!r}")
    if bad > 1:
        reader.result.notes.append(f"{path.name}: {bad} lines are broken and left out")
    return reader.finish()


class _Reader:
    def __init__(self, rotation: Array) -> None:
        self.rotation = rotation
        self.result = Annotations()
        self.categories: dict[int, str] = {}
        self.surfaces: dict[int, str] = {}
        self.outlines: dict[str, list[Vec2]] = {}
        self.junk: set[str] = set()
        self.handlers: dict[str, Callable[[list[str]], None]] = {
            "L": self.level,
            "R": self.region,
            "P": self.portal,
            "S": self.surface,
            "V": self.vertex,
            "C": self.category,
            "O": self.thing,
        }

    def vec(self, tokens: list[str], start: int) -> Array:
        values = np.array([float(t) for t in tokens[start : start + 3]])
        if values.shape != (3,) or not np.isfinite(values).all() or np.abs(values).max() > 1e6:
            raise ValueError
        return np.asarray(self.rotation @ values, dtype=np.float64)

    def extent(self, tokens: list[str], start: int) -> tuple[Array, Array]:
        ends = np.stack([self.vec(tokens, start), self.vec(tokens, start + 3)])
        return ends.min(axis=0), ends.max(axis=0)

    def level(self, tokens: list[str]) -> None:
        low, _ = self.extent(tokens, 7)
        self.result.levels[tokens[1]] = float(low[2])

    def region(self, tokens: list[str]) -> None:
        key, code = tokens[1], tokens[5][0]
        low, high = self.extent(tokens, 9)
        if code == JUNK:
            self.junk.add(key)
            return
        corner = corners(low, high)[[0, 4, 6, 2], :2]
        label = MP3D_ROOMS.get(code, "")
        level = tokens[2] if int(tokens[2]) >= 0 else ""
        self.result.regions[key] = RegionNote(
            key,
            label,
            polygon=[(float(x), float(y)) for x, y in corner],
            low=float(low[2]),
            high=float(high[2]),
            level=level,
        )

    def portal(self, tokens: list[str]) -> None:
        # Panoramas share the letter; their second field is a name, not a number.
        if not tokens[1].lstrip("-").isdecimal():
            return
        low, high = self.extent(tokens, 5)
        mid, size = (low + high) / 2.0, high - low
        at: Vec3 = (float(mid[0]), float(mid[1]), float(low[2]))
        self.result.portals.append(
            PortalNote(tokens[1], tokens[2], tokens[3], at, float(max(size[0], size[1])))
        )

    def surface(self, tokens: list[str]) -> None:
        self.surfaces[int(tokens[1])] = tokens[2]

    def vertex(self, tokens: list[str]) -> None:
        point = self.vec(tokens, 4)
        region = self.surfaces.get(int(tokens[2]))
        if region is not None:
            self.outlines.setdefault(region, []).append((float(point[0]), float(point[1])))

    def category(self, tokens: list[str]) -> None:
        name = tokens[3].replace("#", " ")
        self.categories[int(tokens[1])] = name
        self.result.classes[int(tokens[1])] = name

    def thing(self, tokens: list[str]) -> None:
        center = self.vec(tokens, 4)
        a, b = self.vec(tokens, 7), self.vec(tokens, 10)
        radii = np.array([float(t) for t in tokens[13:16]])
        if radii.shape != (3,) or not np.isfinite(radii).all():
            raise ValueError
        axes = np.stack([a, b, np.cross(a, b)], axis=1)
        box = map_box(center, 2.0 * radii, axes)
        region = tokens[2] if int(tokens[2]) >= 0 else ""
        label = self.categories.get(int(tokens[3]), "")
        self.result.things.append(ThingNote(tokens[1], label, region, box))

    def finish(self) -> Annotations:
        result = self.result
        for key, outline in self.outlines.items():
            if key in result.regions and len(outline) >= 3:
                result.regions[key].polygon = counter_clockwise(outline)
        if self.junk:
            result.notes.append(f"{len(self.junk)} regions are marked as junk and left out")
        result.things = [t for t in result.things if t.region not in self.junk]
        for thing in result.things:
            if thing.region not in result.regions:
                thing.region = ""
        known = [p for p in result.portals if {p.region_a, p.region_b} <= result.regions.keys()]
        result.portals = [p for p in known if p.region_a != p.region_b]
        return result
