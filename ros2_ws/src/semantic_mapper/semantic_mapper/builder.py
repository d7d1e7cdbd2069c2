"""One map from what robots see: things, rooms and grids, kept over restarts, saved by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from coterie_core.detections import BoxDetection, ImageDetection, RgbdFrame
from coterie_world.meaning import Meanings
from coterie_world.scene import SceneGraph, merge
from coterie_world.scene.regions import Regions
from semantic_mapper.files import color_of, save_map
from semantic_mapper.grid import FloorGrids, GridOptions
from semantic_mapper.instances import Instance
from semantic_mapper.mapper import SemanticMapper
from semantic_mapper.options import MapperOptions
from semantic_mapper.state import StateError, load_state, restore, save_state

TIDY_EVERY = 50
"""Frames after which things that have grown together are joined, at the latest."""
_ENDINGS = {".voxeland.json": "voxeland", ".dsg.json": "spark-dsg", ".ply": "ply", ".json": "scene"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_Detection = TypeVar("_Detection", ImageDetection, BoxDetection)


class FrameMismatch(ValueError):
    """Two maps are in different frames: they are never mixed."""


@dataclass(frozen=True, slots=True)
class BuilderOptions:
    """How a map is built.

    Attributes:
        frame: The map's frame.
        mapper: Of the things.
        grid: Of the grids.
        ignore: Labels that are no things.
        keep_prior: Whether things that were known beforehand are in the map, with their ids.
        meanings: Compares labels by meaning; None: by letters and the household's tables.
    """

    frame: str = "map"
    mapper: MapperOptions = field(default_factory=MapperOptions)
    grid: GridOptions = field(default_factory=GridOptions)
    ignore: Collection[str] = ()
    keep_prior: bool = True
    meanings: Meanings | None = None


class MapBuilder:
    """Builds a map; one thread owns it.

    Attributes:
        version: Changes with the map.
        frames: Frames added so far.
        nameless: Detections without a label so far: they are no things.
        time: Stamp of the latest of them [s].
    """

    def __init__(self, options: BuilderOptions) -> None:
        self.options = options
        self.mapper = SemanticMapper(options.mapper, meanings=options.meanings)
        self.grids = FloorGrids((), options.grid)
        self.version = 0
        self.frames = 0
        self.nameless = 0
        self.time = 0.0
        self._prior = SceneGraph(frame=options.frame)
        self._tidied = 0

    @property
    def has_prior(self) -> bool:
        """Whether something was known beforehand."""
        return bool(self._prior.rooms or self._prior.objects)

    def set_prior(self, prior: SceneGraph) -> None:
        """Take rooms, floors and things known beforehand.

        Raises:
            FrameMismatch: It is in another frame.
        """
        check_frame(prior, self.options.frame, "the map known beforehand")
        self._prior = prior
        self.mapper.regions = Regions(prior)
        self.grids.set_floors(prior.floors.values())
        self.version += 1

    def add(self, frame: RgbdFrame, detections: Sequence[ImageDetection]) -> None:
        """Add a frame with what was found in it."""
        self.mapper.update(frame, self._things(detections))
        self.grids.update(frame)
        self._count(frame)

    def add_boxes(self, frame: RgbdFrame, boxes: Sequence[BoxDetection]) -> None:
        """Add what a detector found in space, in the map's frame; see SemanticMapper."""
        self.mapper.update_boxes(frame, self._things(boxes))
        self._count(frame)

    def _things(self, detections: Sequence[_Detection]) -> list[_Detection]:
        named = [one for one in detections if one.label.strip()]
        self.nameless += len(detections) - len(named)
        return [one for one in named if one.label not in self.options.ignore]

    def _count(self, frame: RgbdFrame) -> None:
        self.frames += 1
        self.time = max(self.time, frame.time)
        self.version += 1
        if self.frames - self._tidied >= TIDY_EVERY:
            self._tidy()

    def _tidy(self) -> None:
        if self._tidied != self.frames:
            self.mapper.tidy()
            self._tidied = self.frames

    def scene(self) -> SceneGraph:
        """Return the map as it is now, a copy."""
        self._tidy()  # a robot that stands still would show for long what has grown together
        scene = self.mapper.scene()
        scene.frame = self.options.frame
        if not self.options.keep_prior or not self._prior.objects:
            return scene
        return merge(self._prior, scene)[0]

    def clouds(
        self,
    ) -> tuple[list[npt.NDArray[np.float32]], list[tuple[int, int, int]]]:
        """Return points [m] and colour per thing that is in the map; neighbours differ in colour.

        The label gives the hue, the thing's number shifts it.
        """
        real = [t for t in self.mapper.instances if self.mapper.is_real(t)]
        return [t.points for t in real], [color_of(f"{t.labels.top} {t.id}") for t in real]

    def save(self, folder: Path, name: str) -> Path:
        """Write the map into a folder, as `save_scene` does."""
        return save_scene(self.scene, folder, name, self.mapper.instances)

    def keep(self, path: Path) -> None:
        """Write the whole state, to be taken up again by `resume`.

        Raises:
            OSError: The folder cannot be written.
        """
        save_state(self.mapper, self.grids, self.options.frame, path)

    def resume(self, path: Path) -> None:
        """Take up what `keep` wrote.

        Raises:
            StateError: The file cannot be used.
            FrameMismatch: It is a map in another frame.
        """
        state = load_state(path)
        if state.frame != self.options.frame:
            raise FrameMismatch(
                f"{path}: a map in frame {state.frame!r}, and this one is in frame "
                f"{self.options.frame!r}; change map_frame, or remove the file to begin anew"
            )
        try:
            self.grids = restore(self.mapper, state, self.options.grid)
        except ValueError as error:
            raise StateError(f"{path}: {error}; remove it to begin anew") from None
        self.time = max((t.time for t in self.mapper.instances), default=0.0)
        self.version += 1


class TeamMaps:
    """The maps of several robots as one."""

    def __init__(self, frame: str) -> None:
        self.frame = frame
        self.version = 0
        self._maps: dict[str, SceneGraph] = {}

    def set(self, robot: str, scene: SceneGraph) -> None:
        """Take a robot's map instead of its earlier one.

        Raises:
            FrameMismatch: It is in another frame than the team's.
        """
        check_frame(scene, self.frame, f"the map of {robot!r}")
        self._maps[robot] = scene
        self.version += 1

    @property
    def robots(self) -> tuple[str, ...]:
        """Whose maps there are."""
        return tuple(sorted(self._maps))

    def scene(self) -> SceneGraph:
        """Return all maps as one; the order they came in does not matter."""
        merged = SceneGraph(frame=self.frame)
        for robot in self.robots:
            merged, _ = merge(merged, self._maps[robot])
        return merged


def save_scene(
    scene: Callable[[], SceneGraph], folder: Path, name: str, things: tuple[Instance, ...] = ()
) -> Path:
    """Write a map into a folder; return the file.

    Args:
        scene: Makes the map, once the name is known to be one.
        folder: Is made.
        name: See SaveMap.srv.
        things: Their points go into a PLY.

    Raises:
        ValueError: The name is none.
        OSError: The folder cannot be written.
    """
    form = map_format(name)
    folder.mkdir(parents=True, exist_ok=True)
    # Under another name first: a reader never sees half of a map. The ending tells formats.
    part = folder / f".part-{name}"
    try:
        save_map(scene(), part, form, things)
        part.replace(folder / name)
    finally:
        part.unlink(missing_ok=True)
    return folder / name


def check_frame(scene: SceneGraph, frame: str, what: str) -> None:
    """Refuse a map in another frame.

    Raises:
        FrameMismatch: Says whose map, both frames and what to do.
    """
    if scene.frame != frame:
        raise FrameMismatch(
            f"two maps in different frames: {what} is in {scene.frame!r}, and this one is in "
            f"{frame!r}; give both the same map frame, or bring one into the other's"
        )


def map_format(name: str) -> str:
    """Return the format that a file name stands for.

    Raises:
        ValueError: It has path parts, odd characters, or an ending of no format.
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise ValueError(
            f"name {name[:120]!r}: expected a file name of letters, digits, '.', '_' and '-', "
            "without a folder, such as house.json"
        )
    for ending, form in _ENDINGS.items():
        if name.endswith(ending) and name != ending:
            return form
    raise ValueError(f"name {name!r}: expected one that ends in {', '.join(_ENDINGS)}")
