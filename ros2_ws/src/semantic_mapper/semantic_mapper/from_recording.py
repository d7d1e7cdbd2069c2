"""A recording becomes a semantic map: with the detections in it, or with a detector of yours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from coterie_core.detections import Detector, ImageDetection, RgbdFrame
from coterie_recordings import RecordedFrame, Recording, RecordingError, readable
from coterie_world.meaning import Meanings
from coterie_world.scene import SceneGraph
from semantic_mapper.builder import BuilderOptions, MapBuilder
from semantic_mapper.options import MapperOptions

NUMBERS = (
    "class numbers of a detector, which no request in words finds; record a detector that gives "
    "names, or give another one (--detector)"
)
NEED_A_DETECTOR = (
    "record with a detector, or give one: geometry alone tells where something is, not what it is"
)


@dataclass(frozen=True, slots=True)
class MappingOptions:
    """How a recording is mapped.

    Attributes:
        mapper: Of the mapper.
        detector: Looks at frames without detections (at all, with `again`); None: there is none.
        again: Whether the detector looks at frames with detections too, instead of these.
        every: Every so many-th frame is used.
        ignore: Labels that are no things.
        meanings: Compares labels by meaning; None: by letters and the household's tables.
    """

    mapper: MapperOptions = field(default_factory=MapperOptions)
    detector: Detector | None = None
    again: bool = False
    every: int = 1
    ignore: tuple[str, ...] = ()
    meanings: Meanings | None = None


@dataclass(slots=True)
class RecordingMap:
    """A map from a recording, how it was made, and what went wrong.

    `frames` were used, with `detections` in all; `problems` are for people.
    """

    scene: SceneGraph
    builder: MapBuilder
    frames: int
    detections: int
    problems: tuple[str, ...]


def map_recording(
    recording: Recording,
    options: MappingOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SceneGraph:
    """Return the map of what a recording shows; see `build_map`."""
    return build_map(recording, options, progress).scene


def build_map(
    recording: Recording,
    options: MappingOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RecordingMap:
    """Map what a recording shows, one frame in memory at a time; damaged frames are left out.

    Args:
        recording: Frames with depth and poses.
        options: How.
        progress: Called with the number of frames done and of all.

    Raises:
        RecordingError: No frame can be used: none has depth, or nothing says what is in them.
    """
    options = options or MappingOptions()
    rooms = recording.scene
    frame_name = rooms.frame if rooms is not None else "map"
    builder = MapBuilder(
        BuilderOptions(
            frame_name,
            options.mapper,
            ignore=options.ignore,
            keep_prior=False,
            meanings=options.meanings,
        )
    )
    if rooms is not None:
        builder.set_prior(rooms)
    problems: list[str] = []
    chosen = _Every(recording, max(options.every, 1))
    used = found = blind = unnamed = 0
    for index, recorded in readable(chosen, problems):
        if progress is not None:
            progress(index, len(chosen))
        if not bool((recorded.frame.depth > 0.0).any()):
            blind += 1
            continue
        detections = _detections(recorded.frame, recorded.detections, options)
        if detections is None:
            unnamed += 1
            continue
        builder.add(recorded.frame, detections)
        used += 1
        found += len(detections)
    if progress is not None:
        progress(len(chosen), len(chosen))
    if not used:
        what, remedy = "no frames that can be used", "; ".join([*recording.problems, *problems][:3])
        if unnamed:
            what, remedy = f"none of its {unnamed} frames has detections", NEED_A_DETECTOR
        elif blind:
            what, remedy = "no depth in it", "a map needs depth images and poses"
        raise RecordingError(recording.name, what, remedy)
    if unnamed:
        problems.append(f"{unnamed} frames without detections left out")
    if blind:
        problems.append(f"{blind} frames without depth left out")
    if builder.nameless:
        problems.append(f"{builder.nameless} detections without a label left out")
    scene = builder.scene()
    if numbers := sorted({t.label.top for t in scene.objects.values() if t.label.top.isdecimal()}):
        problems.append(f"things are called {', '.join(numbers[:5])}: {NUMBERS}")
    return RecordingMap(scene, builder, used, found, (*recording.problems, *problems))


def _detections(
    frame: RgbdFrame, recorded: Sequence[ImageDetection] | None, options: MappingOptions
) -> Sequence[ImageDetection] | None:
    if options.detector is None or (recorded is not None and not options.again):
        return recorded
    found = options.detector(frame)
    rows, cols = frame.depth.shape
    # A detector of others: what it says of other pixels than these is a mistake to be told.
    for one in found:
        u, v, width, height = one.box
        if u >= cols or v >= rows or u + width <= 0 or v + height <= 0:
            raise ValueError(
                f"the detector's box {one.box} lies outside of the {cols} x {rows} px of the frame"
            )
        if not np.isfinite(list(one.scores.values())).all():
            raise ValueError(f"the detector's scores of box {one.box} are not finite")
    return found


class _Every:
    """Every so many-th frame of a recording."""

    def __init__(self, recording: Recording, step: int) -> None:
        self._recording = recording
        self._step = step
        self.name = recording.name
        self.scene = recording.scene
        self.problems = recording.problems

    def __len__(self) -> int:
        return -(-len(self._recording) // self._step)

    def __getitem__(self, index: int) -> RecordedFrame:
        return self._recording[index * self._step]
