"""An object detector's behaviour: what it reports of the things in view, with seeded mistakes."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coterie_core.geometry import Box, Vec3
from coterie_core.observation import Detection, RoomView


@dataclass(frozen=True, slots=True)
class Sighting:
    """A thing in view: id, true label and box, visible share (0..1), distance [m], size [px]."""

    id: str
    label: str
    box: Box
    fraction: float
    distance: float
    pixels: float


@dataclass(frozen=True, slots=True)
class DetectorNoise:
    """How a detector errs.

    Args:
        miss: Probability that a large, near, fully visible thing is not reported (0..1).
        miss_far: Added for a thing at the end of the range (grows with the square of distance).
        miss_small: Added for a thing of vanishing size; halves with every 12 px of its size.
        miss_hidden: Added for a thing of which hardly anything is visible.
        wrong_label: Probability of a confusable label for a near, fully visible thing (0..1); up
            to three times that at the end of the range.
        phantom: Mean number of things reported per full turn that are not there (Poisson).
        jitter: Standard deviation of a box centre at 1 m [m]; grows in proportion to distance.
        max_range: Nothing farther is reported [m]; a camera's own range limits it too.
        min_fraction: Least visible share of a thing (0..1).
        min_pixels: Least size of a thing in the image [px].
    """

    miss: float = 0.05
    miss_far: float = 0.30
    miss_small: float = 0.25
    miss_hidden: float = 0.30
    wrong_label: float = 0.05
    phantom: float = 0.10
    jitter: float = 0.01
    max_range: float = 6.0
    min_fraction: float = 0.2
    min_pixels: float = 3.0

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        for name in (
            "miss",
            "miss_far",
            "miss_small",
            "miss_hidden",
            "wrong_label",
            "min_fraction",
        ):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"DetectorNoise.{name} must be within 0..1, got {value!r}")
        for name in ("phantom", "jitter", "max_range", "min_pixels"):
            value = getattr(self, name)
            if not (0.0 <= value <= 100.0):
                raise ValueError(f"DetectorNoise.{name} must be within 0..100, got {value!r}")

    @staticmethod
    def none() -> DetectorNoise:
        """Return a detector that reports all that is in view, exactly."""
        return DetectorNoise(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0, 0.1, 2.0)

    @staticmethod
    def low() -> DetectorNoise:
        """Return a detector that hardly errs at close range."""
        return DetectorNoise(0.02, 0.15, 0.15, 0.2, 0.02, 0.03, 0.005)

    @staticmethod
    def normal() -> DetectorNoise:
        """Return a detector like those in use today."""
        return DetectorNoise()

    @staticmethod
    def high() -> DetectorNoise:
        """Return a detector in bad light."""
        return DetectorNoise(0.15, 0.5, 0.4, 0.4, 0.15, 0.4, 0.03)

    @property
    def perfect(self) -> bool:
        """Whether it makes no mistakes within its limits."""
        chances = (self.miss, self.miss_far, self.miss_small, self.miss_hidden, self.wrong_label)
        return not any((*chances, self.phantom, self.jitter))


class Detector:
    """Turns things in view into detections.

    Args:
        noise: How it errs.
        seed: All mistakes are a function of (seed, robot, step) and of what is in view.
        confusable: Label -> labels it is taken for.
        labels: All labels of the house, for phantoms and for labels without confusable ones.
        track_ids: Whether to report true ids as `Detection.instance`, as a perfect tracker would.
    """

    def __init__(
        self,
        noise: DetectorNoise,
        seed: int,
        confusable: Mapping[str, Sequence[str]],
        labels: Sequence[str],
        track_ids: bool = False,
    ) -> None:
        self.noise = noise
        self.seed = seed
        self.confusable = confusable
        self.labels = sorted(set(labels))
        self.track_ids = track_ids

    def detect(
        self,
        robot: str,
        step: int,
        sightings: Sequence[Sighting],
        room_of: Callable[[Vec3], RoomView | None],
        eye: Vec3,
        heading: float = 0.0,
        turn: float = 1.0,
    ) -> tuple[Detection, ...]:
        """Return what the detector reports.

        Args:
            robot: Whose detector.
            step: The world's step.
            sightings: What is in view.
            room_of: Room at a point [m].
            eye: Camera position [m].
            heading: Direction of the view's middle [rad].
            turn: Share of a full turn that is in view (0..1); phantoms are rarer in a narrow view.
        """
        if self.noise.perfect:
            return tuple(
                Detection(
                    s.label,
                    1.0,
                    s.box,
                    room_of(s.box.center),
                    s.distance,
                    s.id if self.track_ids else "",
                    {s.label: 1.0},
                )
                for s in sightings
            )
        key = [self.seed & 0xFFFFFFFF, zlib.crc32(robot.encode()), step]
        rng = np.random.default_rng(key)
        draws = rng.random((len(sightings), 6))
        shakes = rng.normal(size=(len(sightings), 6))
        found = []
        for sighting, draw, shake in zip(sightings, draws, shakes, strict=True):
            detection = self._report(sighting, draw.tolist(), shake.tolist(), room_of, eye)
            if detection is not None:
                found.append(detection)
        found += self._phantoms(rng, eye, room_of, heading, turn)
        return tuple(found)

    def _report(
        self,
        s: Sighting,
        draw: list[float],
        shake: list[float],
        room_of: Callable[[Vec3], RoomView | None],
        eye: Vec3,
    ) -> Detection | None:
        noise = self.noise
        far = min(1.0, s.distance / max(noise.max_range, 1e-6)) ** 2
        trouble = (
            noise.miss
            + noise.miss_far * far
            + noise.miss_small * 0.5 ** (s.pixels / 12.0)
            + noise.miss_hidden * (1.0 - s.fraction) ** 2
        )
        if draw[0] < trouble:
            return None
        sure = max(0.30, min(0.98, 0.95 - 0.6 * trouble + 0.12 * (draw[1] - 0.5)))
        rivals = [r for r in self.confusable.get(s.label, ()) if r != s.label] or [
            label for label in self.labels if label != s.label
        ]
        label = s.label
        scores = {label: sure}
        if rivals:
            rival = rivals[int(draw[3] * len(rivals))]
            rest = (1.0 - sure) * (0.4 + 0.5 * draw[4])
            if draw[2] < noise.wrong_label * (1.0 + 2.0 * far):
                # The wrong label wins narrowly: a mistaken detector is less sure.
                sure = max(0.25, sure * (0.55 + 0.25 * draw[5]))
                label, scores = rival, {rival: sure, s.label: sure * (0.4 + 0.5 * draw[4])}
            elif rest > 0.02:
                scores[rival] = min(rest, 0.9 * sure)
        total = sum(scores.values())
        if total > 1.0:
            scores = {name: value / total for name, value in scores.items()}
        box = _shaken(s.box, shake, noise.jitter * max(0.3, s.distance))
        return Detection(
            label,
            scores[label],
            box,
            room_of(box.center),
            math.dist(eye, box.center),
            s.id if self.track_ids else "",
            scores,
        )

    def _phantoms(
        self,
        rng: np.random.Generator,
        eye: Vec3,
        room_of: Callable[[Vec3], RoomView | None],
        heading: float,
        turn: float,
    ) -> list[Detection]:
        """Invent things near the robot, in the room it is in."""
        count = int(rng.poisson(self.noise.phantom * turn)) if self.labels else 0
        here = room_of(eye)
        out = []
        for _ in range(count):
            label = self.labels[int(rng.integers(len(self.labels)))]
            bearing = heading + turn * rng.uniform(-math.pi, math.pi)
            away = rng.uniform(0.8, 3.0)
            score, edge = float(rng.uniform(0.3, 0.6)), float(rng.uniform(0.1, 0.4))
            center = (
                eye[0] + away * math.cos(bearing),
                eye[1] + away * math.sin(bearing),
                eye[2] + float(rng.uniform(-0.6, 0.2)),
            )
            room = room_of(center)
            if room is None or here is None or room.id != here.id:
                continue
            box = Box(center, (edge, edge, edge))
            out.append(
                Detection(label, score, box, room, math.dist(eye, center), "", {label: score})
            )
        return out


def _shaken(box: Box, shake: list[float], sigma: float) -> Box:
    """Return the box with its centre and size disturbed by `sigma` [m]."""
    center = tuple(c + sigma * k for c, k in zip(box.center, shake[:3], strict=True))
    size = tuple(max(0.01, e + 0.5 * sigma * k) for e, k in zip(box.size, shake[3:], strict=True))
    return Box((center[0], center[1], center[2]), (size[0], size[1], size[2]), box.yaw)
