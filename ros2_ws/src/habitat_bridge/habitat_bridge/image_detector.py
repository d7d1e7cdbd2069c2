"""A detector for images: boxes, masks and label scores from semantic images, with mistakes.

It stands in for a network (Mask R-CNN, YOLO-World, ...) where the pictures are those of a
simulator: it sees what the semantic camera sees, and errs as `DetectorNoise` says.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from coterie_core.colors import COLOR_NAMES, color_name
from coterie_core.detections import ImageDetection
from coterie_requests.detector_vocabulary import STRUCTURE
from coterie_world.scene import SceneObject
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.simulator import Frame, Simulator

NO_THINGS = STRUCTURE | {"door frame", "stairs", "robot"}
"""Labels of semantic images that name no thing: parts of the house, and robots."""


class ImageDetector:
    """Turns semantic images into detections.

    Args:
        noise: How it errs; boxes and labels here as there, phantoms per image.
        seed: All mistakes are a function of (seed, robot, number of the frame).
        confusable: Label -> labels it is taken for.
        labels: All labels, for phantoms.
        ignore: Labels that are never reported.
        masks: Whether to report masks, or boxes only.
        is_open: Tells by instance number whether a thing stands open (None: it does not open);
            it is reported as the attribute "opening", wrong as often as labels are.
        color_of: Tells by instance number the name of a thing's colour ("": none); it is reported
            as the attribute "color", wrong as often.
    """

    def __init__(
        self,
        noise: DetectorNoise,
        seed: int,
        confusable: Mapping[str, Sequence[str]],
        labels: Sequence[str],
        ignore: Collection[str] = NO_THINGS,
        masks: bool = True,
        is_open: Callable[[int], bool | None] | None = None,
        color_of: Callable[[int], str] | None = None,
    ) -> None:
        self.noise = noise
        self.seed = seed
        self.confusable = confusable
        self.labels = sorted(set(labels) - set(ignore))
        self.ignore = frozenset(ignore)
        self.masks = masks
        self.is_open = is_open
        self.color_of = color_of
        self._count: dict[str, int] = {}

    def detect(self, frame: Frame, number: int | None = None) -> list[ImageDetection]:
        """Return what the detector finds in a frame with semantic and depth images.

        Args:
            frame: The frame.
            number: What the mistakes depend on besides seed and camera; None: how many frames of
                the robot came before.

        Raises:
            ValueError: The frame has no semantic or no depth image.
        """
        if frame.semantic is None or frame.depth is None or frame.labels is None:
            raise ValueError(
                f"{frame.robot}/{frame.camera.name}: the detector needs semantic and depth images"
            )
        who = frame.robot if number is None else f"{frame.robot}/{frame.camera.name}"
        if number is None:
            number = self._count.get(frame.robot, 0)
            self._count[frame.robot] = number + 1
        key = (self.seed, zlib.crc32(who.encode()), number)
        rng, eye = np.random.default_rng(key), np.random.default_rng((*key, 1))
        found = []
        for value, window, rows, cols in _windows(frame.semantic):
            label = frame.labels.get(value, "")
            if not label or label in self.ignore:
                continue
            mask = frame.semantic[rows, cols] == value
            depth = frame.depth[rows, cols][mask]
            depth = depth[depth > 0.0]
            if not len(depth):
                continue
            state = self.is_open(value) if self.is_open else None
            distance = float(np.median(depth))
            detection = self._one(rng, label, window, mask, distance, state)
            if detection is None:
                continue
            color = self._color(eye, value, distance)
            if color:
                told = {**detection.attributes, "color": color}
                detection = replace(detection, attributes=told)
            found.append(detection)
        found += self._phantoms(rng, frame.semantic.shape)
        return found

    def _one(
        self,
        rng: np.random.Generator,
        label: str,
        window: tuple[int, int, int, int],
        mask: npt.NDArray[np.bool_],
        distance: float,
        is_open: bool | None = None,
    ) -> ImageDetection | None:
        noise = self.noise
        chance, wrong, spread = rng.random(3)
        pixels = float(np.sqrt(mask.sum()))
        if pixels < noise.min_pixels or distance > noise.max_range:
            return None
        far = min(distance / noise.max_range, 1.0)
        miss = noise.miss + noise.miss_far * far * far + noise.miss_small * 0.5 ** (pixels / 12.0)
        if chance < min(miss, 0.98):
            return None
        others = [o for o in self.confusable.get(label, ()) if o != label]
        shown = label
        if others and wrong < noise.wrong_label * (1.0 + 2.0 * far):
            shown = others[int(rng.integers(len(others)))]
        sure = 1.0 if noise.perfect else 0.95 - 0.3 * far - 0.25 * float(spread)
        scores = {shown: round(sure, 3)}
        for other in [o for o in (label, *others) if o != shown][:2]:
            scores[other] = round((1.0 - sure) / 2.0, 3)
        if not noise.perfect:
            mask, window = _frayed(rng, mask, window)
            if not mask.any():
                return None
        told: dict[str, str] = {}
        if is_open is not None:
            mistaken = rng.random() < noise.wrong_label * (1.0 + 2.0 * far)
            told["opening"] = "open" if is_open != mistaken else "closed"
        return ImageDetection(window, scores, mask if self.masks else None, attributes=told)

    def _color(self, rng: np.random.Generator, number: int, distance: float) -> str:
        """The name of the colour it reports: the true one, or now and then another."""
        color = self.color_of(number) if self.color_of is not None else ""
        far = min(distance / self.noise.max_range, 1.0)
        if not color or rng.random() >= self.noise.wrong_label * (1.0 + 2.0 * far):
            return color
        others = [name for name in COLOR_NAMES if name != color]
        return others[int(rng.integers(len(others)))]

    def _phantoms(self, rng: np.random.Generator, shape: tuple[int, ...]) -> list[ImageDetection]:
        found = []
        # `phantom` counts per full turn; an image shows about a quarter of one.
        for _ in range(int(rng.poisson(self.noise.phantom / 4.0)) if self.labels else 0):
            height, width = (int(rng.integers(8, max(s // 4, 9))) for s in shape[:2])
            v, u = int(rng.integers(shape[0] - height)), int(rng.integers(shape[1] - width))
            label = self.labels[int(rng.integers(len(self.labels)))]
            mask = np.ones((height, width), dtype=bool) if self.masks else None
            found.append(ImageDetection((u, v, width, height), {label: 0.45}, mask))
        return found


def detector_of(world: Simulator) -> ImageDetector | None:
    """Return a detector for a world's images that errs as the world's own does.

    None for worlds without pixels. Houses in habitat-sim are made of the same parts as embedded
    ones, so that the same detector serves both.
    """
    from habitat_bridge.embedded.world import EmbeddedWorld

    if not isinstance(world, EmbeddedWorld):
        return None
    own, contents = world.detector, world.contents

    def thing(number: int) -> SceneObject | None:
        row = number - contents.first_instance
        return contents.things[contents.ids[row]] if 0 <= row < len(contents.ids) else None

    def is_open(number: int) -> bool | None:
        found = thing(number)
        return None if found is None else found.is_open

    def color_of(number: int) -> str:
        found = thing(number)
        return "" if found is None else color_name(str(found.properties.get("color", "")))

    return ImageDetector(
        own.noise, own.seed, own.confusable, own.labels, is_open=is_open, color_of=color_of
    )


def _windows(
    semantic: npt.NDArray[np.int32],
) -> list[tuple[int, tuple[int, int, int, int], slice, slice]]:
    """Every instance number from 1 on with its bounding box (u, v, width, height) and slices."""
    from scipy.ndimage import find_objects

    found = []
    for value, box in enumerate(find_objects(semantic), 1):
        if box is None:
            continue
        rows, cols = box
        window = (cols.start, rows.start, cols.stop - cols.start, rows.stop - rows.start)
        found.append((value, window, rows, cols))
    return found


def _frayed(
    rng: np.random.Generator,
    mask: npt.NDArray[np.bool_],
    window: tuple[int, int, int, int],
) -> tuple[npt.NDArray[np.bool_], tuple[int, int, int, int]]:
    """A mask as networks make it: shifted by up to a pixel, so that its rim takes in background."""
    du, dv = (int(k) for k in rng.integers(-1, 2, size=2))
    return mask, (window[0] + du, window[1] + dv, window[2], window[3])
