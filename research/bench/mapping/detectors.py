"""How well a detector sees a real room, and what becomes of it in the map.

The outlines of the room that were drawn by hand, and the depth images, tell where each thing is in
each image. Only kinds of which the room has none but the outlined are scored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from coterie_core.detections import Detector, ImageDetection, RgbdFrame
from coterie_core.household import load_household
from coterie_perception.detector import ColorDetector
from coterie_requests.lexicon import load_lexicon
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

    def add(
        self,
        truth: Sequence[ImageDetection],
        found: Sequence[ImageDetection],
        kinds: Sequence[str] = COUNTED,
    ) -> None:
        """Take one image: the surest report takes the outline that it overlaps most."""
        self.images += 1
        for kind in kinds:
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


class Watching:
    """A detector that looks at a generated house's images, scored against what is in them.

    Args:
        detector: Looks; its labels are read in the household's words.
    """

    def __init__(self, detector: ColorDetector) -> None:
        self.detector, self.sight = detector, Sight()
        canonical = load_lexicon().canonical
        known = {one.label for one in load_household().categories.values()}
        words = {label: canonical(label) for label in detector.labels or ()}
        self._words = {label: word for label, word in words.items() if word in known}

    def look(self, frame: RgbdFrame, truth: Sequence[ImageDetection]) -> list[ImageDetection]:
        """Return what it sees of the things that the household and it have names for."""
        found = [
            replace(
                one, scores={self._words[k]: v for k, v in one.scores.items() if k in self._words}
            )
            for one in self.detector(frame)
            if one.label in self._words
        ]
        self.sight.add(truth, found, sorted(set(self._words.values())))
        return found


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


def compare_room(
    folder: Path, detector: Detector, name: str, console: Console, out: Path | None
) -> None:
    """Print how a detector sees every second image, and its map beside that of the outlines.

    The profile comes from the first half of the images in time, the test from the second.

    Raises:
        RecordingError: There are no such frames.
    """
    truth = list(room_frames(folder, 2, EXACT))
    found = [renamed(detector(frame)) for frame, _ in truth]
    half = len(truth) // 2
    halves = {"first half": Sight(), "second half": Sight()}
    for k, ((_, outlined), reports) in enumerate(zip(truth, found, strict=True)):
        halves["first half" if k < half else "second half"].add(outlined, reports)
    print_whole(sight_table(name, halves, COUNTED), console)
    profile = profile_of(halves["first half"])
    console.print(f"profile from the first half: {json.dumps(profile)}", soft_wrap=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "profile.json").write_text(json.dumps({name: profile}, indent=1))
    maps = []
    for title, lists in ((name, found), ("the outlines", [one for _, one in truth])):
        frames = zip((frame for frame, _ in truth), lists, strict=True)
        maps.append(map_frames(frames))
        print_room(maps[-1], console, f"The map from {title}")
    seen, drawn = ({r.id for r in measured(scene) if r.id and r.right} for scene in maps)
    console.print(f"in the map from the outlines alone: {', '.join(sorted(drawn - seen))}")


def sight_table(name: str, halves: Mapping[str, Sight], counted: Sequence[str]) -> Table:
    """Return a row for each kind, and for all, of each part of the images."""
    table = Table(title=f"{name}, image by image", title_justify="left")
    for column in ("images", "kind", "recall", "precision", "in view", "reports"):
        table.add_column(column)
    for part, sight in halves.items():
        for kinds in (*((kind,) for kind in counted), tuple(counted)):
            right = sum(sight.seen[k] for k in kinds)
            table.add_row(
                f"{part} ({sight.images})",
                kinds[0] if len(kinds) == 1 else "all",
                f"{sight.recall(kinds):.2f}",
                f"{sight.precision(kinds):.2f}",
                str(right + sum(sight.missed[k] for k in kinds)),
                str(right + sum(sight.wrong[k] for k in kinds)),
            )
    return table


def profile_of(sight: Sight) -> Mapping[str, float]:
    """Return a look's miss rate and a report's error rate, for `coterie_core.confidence`."""
    miss, false = 1.0 - sight.recall(COUNTED), 1.0 - sight.precision(COUNTED)
    return {"miss": round(float(np.clip(miss, 0.01, 0.99)), 3), "false": round(float(false), 3)}
