"""How well a detector sees a real room, and what becomes of it in the map.

The outlines of the room that were drawn by hand, and the depth images, tell where each thing is in
each image. Only kinds of which the room has none but the outlined are scored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from coterie_core.detections import Detector, ImageDetection, RgbdFrame
from research.bench.common.tables import print_whole
from research.bench.mapping.room import RoomErrors, map_frames, measured, print_room, room_frames

EXACT = RoomErrors(leak=0, gross=0.0, wrong=0.0, missed=0.0)
"""A detector that reports each outline as it is."""
COUNTED = ("chair", "mug", "television")
"""Kinds of which all things of the room are outlined; of books and boxes some are not."""
WORDS = {"cup": "mug", "tv": "television", "couch": "sofa", "cell phone": "phone"}
"""COCO's words for what the outlines call otherwise; all other labels stay."""
OVERLAP = 0.3
"""Least intersection over union of a right box: outlines end where depth does."""

Frames = Iterator[tuple[RgbdFrame, list[ImageDetection]]]


@dataclass(slots=True)
class Sight:
    """What a detector reported of the outlined things, image by image, per kind."""

    seen: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    images: int = 0

    def recall(self, kinds: Sequence[str]) -> float:
        """Share of the things in view that were reported under their label."""
        right = sum(self.seen[k] for k in kinds)
        return right / max(right + sum(self.missed[k] for k in kinds), 1)

    def precision(self, kinds: Sequence[str]) -> float:
        """Share of the reports that were right."""
        right = sum(self.seen[k] for k in kinds)
        return right / max(right + sum(self.wrong[k] for k in kinds), 1)

    def add(self, truth: Sequence[ImageDetection], found: Sequence[ImageDetection]) -> None:
        """Take one image: the surest report takes the outline that it overlaps most."""
        self.images += 1
        for kind in COUNTED:
            left = [one for one in truth if one.label == kind]
            reports = [one for one in found if one.label == kind]
            for report in sorted(reports, key=lambda one: -max(one.scores.values())):
                best = max(left, key=lambda one: overlap(one.box, report.box), default=None)
                if best is not None and overlap(best.box, report.box) >= OVERLAP:
                    left.remove(best)
                    self.seen[kind] += 1
                else:
                    self.wrong[kind] += 1
            self.missed[kind] += len(left)


def overlap(one: Sequence[int], other: Sequence[int]) -> float:
    """Intersection over union of two boxes (first column, first row, width, height)."""
    (x, y, w, h), (u, v, a, b) = one, other
    across = max(min(x + w, u + a) - max(x, u), 0)
    along = max(min(y + h, v + b) - max(y, v), 0)
    common = across * along
    return common / (w * h + a * b - common)


def renamed(found: Sequence[ImageDetection]) -> list[ImageDetection]:
    """Return detections in the words of the outlines."""
    return [
        replace(one, scores={WORDS.get(k, k): v for k, v in one.scores.items()}) for one in found
    ]


def sights(folder: Path, detector: Detector, part: slice) -> tuple[Sight, Frames]:
    """Return what was reported in a part of the room's images, and those with the reports.

    Raises:
        RecordingError: There are no such frames.
    """
    sight, seen = Sight(), []
    for frame, truth in list(room_frames(folder, errors=EXACT))[part]:
        found = renamed(detector(frame))
        sight.add(truth, found)
        seen.append((frame, found))
    return sight, iter(seen)


def compare_room(
    folder: Path, make: Callable[[], Detector], name: str, console: Console, out: Path | None
) -> None:
    """Print how a detector sees the room, and its map beside that of the outlines.

    The profile comes from the first half of the images in time, the test from the second.
    """
    detector = make()
    fitted, _ = sights(folder, detector, slice(0, 100))
    tested, _ = sights(folder, detector, slice(100, 200))
    table = Table(title=f"{name}, image by image: {COUNTED}", title_justify="left")
    for column in ("images", "kind", "recall", "precision", "in view", "reports"):
        table.add_column(column)
    for part, sight in (("first half", fitted), ("second half", tested)):
        for kinds in (*((kind,) for kind in COUNTED), COUNTED):
            right = sum(sight.seen[k] for k in kinds)
            table.add_row(
                f"{part} ({sight.images})",
                kinds[0] if len(kinds) == 1 else "all",
                f"{sight.recall(kinds):.2f}",
                f"{sight.precision(kinds):.2f}",
                str(right + sum(sight.missed[k] for k in kinds)),
                str(right + sum(sight.wrong[k] for k in kinds)),
            )
    print_whole(table, console)
    profile = profile_of(fitted)
    console.print(f"profile from the first half: {json.dumps(profile)}", soft_wrap=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "profile.json").write_text(json.dumps({name: profile}, indent=1))
    _, frames = sights(folder, detector, slice(0, 200, 2))
    mapped = map_frames(frames)
    print_room(mapped, console, f"The map from {name}, every second image")
    drawn = map_frames(room_frames(folder, 2, EXACT))
    print_room(drawn, console, "The map from the outlines without errors, every second image")
    both = [
        {row.id for row in measured(scene) if row.id and row.right} for scene in (mapped, drawn)
    ]
    console.print(f"in the map from the outlines alone: {', '.join(sorted(both[1] - both[0]))}")


def profile_of(sight: Sight) -> Mapping[str, float]:
    """Return a look's miss rate and a report's error rate, for `coterie_core.confidence`."""
    miss, false = 1.0 - sight.recall(COUNTED), 1.0 - sight.precision(COUNTED)
    return {"miss": round(float(np.clip(miss, 0.01, 0.99)), 3), "false": round(float(false), 3)}
