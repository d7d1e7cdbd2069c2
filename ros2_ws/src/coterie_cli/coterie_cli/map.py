"""`./coterie map`: a recording becomes a semantic map, a table and a picture from above."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_core.detections import load_detector
from coterie_core.geometry import Vec3
from coterie_world.meaning import EmbedderError, local_meanings
from coterie_world.recording import Recording, RecordingError, ScanRecording, open_recording
from coterie_world.recording.bag import BagRecording, BagTopics
from coterie_world.scene import SceneError, SceneGraph
from semantic_mapper.builder import map_format
from semantic_mapper.files import load_map, save_map
from semantic_mapper.from_recording import MappingOptions, RecordingMap, build_map

_MOST_PROBLEMS = 8
_COLUMNS = ("thing", "", "where", "colours", "label sure", "looks")


@dataclass(frozen=True, slots=True)
class MapOptions:
    """What is mapped.

    Attributes:
        recording: A folder or a file.
        out: The map; its ending tells the format.
        picture: Where the picture goes; None: beside the map, as .png.
        every: Every so many-th frame is used.
        detector: "module:function" that makes a detector; "": that of the recording.
        rooms: A map whose rooms and floors are known; None: those of the recording.
        source: "scannet" or "hm3d": whose conventions hold in an exported folder; "": by its files.
        topics: Of a bag.
        meaning: Embedder that compares labels of detections by meaning.
    """

    recording: Path
    out: Path
    picture: Path | None = None
    every: int = 1
    detector: str = ""
    rooms: Path | None = None
    source: str = ""
    topics: BagTopics | None = None
    meaning: str = "none"


def map_recording(options: MapOptions) -> RecordingMap:
    """Map a recording, save it, and print what was found.

    Raises:
        CommandError: The recording cannot be used, or the map not be written.
    """
    console = Console(highlight=False)
    try:
        form = map_format(options.out.name)
    except ValueError as error:
        raise CommandError(f"--out: {error}") from None
    try:
        detector = load_detector(options.detector) if options.detector else None
    except ValueError as error:
        raise CommandError(str(error)) from None
    try:
        meanings = local_meanings(options.meaning)
    except EmbedderError as error:
        raise CommandError(f"--meaning: {error}") from None
    begun = time.monotonic()
    try:
        recording = _Watched(_open(options), _rooms(options.rooms))
        for problem in recording.problems[:_MOST_PROBLEMS]:
            console.print(f"note: {_safe(problem)}", style="yellow", soft_wrap=True)
        told = len(recording.problems)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeElapsedColumn(), console=console) as bars:
            task = bars.add_task("frames", total=None)
            how = MappingOptions(
                detector=detector,
                again=detector is not None,
                every=options.every,
                meanings=meanings,
            )
            made = build_map(
                recording, how, lambda done, total: bars.update(task, completed=done, total=total)
            )
        for problem in made.problems[told : told + _MOST_PROBLEMS]:
            console.print(f"note: {_safe(problem)}", style="yellow", soft_wrap=True)
        save_map(made.scene, options.out, form, made.builder.mapper.instances)
    except RecordingError as error:
        raise CommandError(str(error)) from None
    took = time.monotonic() - begun
    picture = options.picture or options.out.with_name(options.out.name.split(".")[0] + ".png")
    from coterie_cli.figures.map import draw_map

    draw_map(made.scene, made.builder.grids, recording.way, picture)
    console.print(_table(made.scene))
    console.print(
        f"{len(made.scene.objects)} things from {made.frames} frames with {made.detections} "
        f"detections in {took:.1f} s ({made.frames / max(took, 1e-9):.0f} frames/s)"
    )
    console.print(f"map: {options.out}\npicture: {picture}", soft_wrap=True)
    return made


class _Watched:
    """A recording that remembers where the camera was, with rooms known from elsewhere."""

    def __init__(self, recording: Recording, rooms: SceneGraph | None) -> None:
        self._recording = recording
        self.name = recording.name
        self.scene = rooms or recording.scene
        self.problems = recording.problems
        self.way: list[Vec3] = []

    def __len__(self) -> int:
        return len(self._recording)

    def __getitem__(self, index: int) -> Any:
        recorded = self._recording[index]
        x, y, z = (float(v) for v in recorded.frame.camera_to_map[:3, 3])
        self.way.append((x, y, z))
        return recorded


def _open(options: MapOptions) -> Recording:
    path = options.recording.expanduser()
    if options.source:
        if options.source not in ("scannet", "hm3d"):
            raise CommandError(f"--source {options.source}: one of scannet, hm3d")
        return ScanRecording(path, options.source)  # type: ignore[arg-type]
    if options.topics is not None and options.topics != BagTopics():
        return BagRecording(path, options.topics)
    return open_recording(path)


def _rooms(path: Path | None) -> SceneGraph | None:
    if path is None:
        return None
    try:
        return load_map(path)
    except SceneError as error:
        raise CommandError(f"--rooms: {error}") from None


def _table(scene: SceneGraph) -> Table:
    """What was found, by label: how many, where, of which colours, how sure."""
    rows: dict[str, list[Any]] = defaultdict(list)
    for thing in scene.objects.values():
        rows[thing.label.top].append(thing)
    table = Table(title="What was found", title_justify="left")
    for column in _COLUMNS:
        right = column in ("", "label sure", "looks")
        table.add_column(column, justify="right" if right else "left")
    for label, things in sorted(rows.items(), key=lambda item: (-len(item[1]), item[0])):
        rooms = Counter(_room(scene, t.room) for t in things if t.room)
        colors = Counter(t.properties["color"] for t in things if t.properties.get("color"))
        sure = sum(next(iter(t.label.distribution().values()), 0.0) for t in things) / len(things)
        table.add_row(
            _safe(label),
            str(len(things)),
            _counted(rooms),
            _counted(colors),
            f"{100.0 * sure:.0f} %",
            f"{sum(t.observations for t in things) / len(things):.0f}",
        )
    return table


def _counted(counter: Counter[str], most: int = 3) -> str:
    parts = [f"{_safe(k)}{f' x{n}' if n > 1 else ''}" for k, n in counter.most_common(most)]
    more = len(counter) - most
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")


def _room(scene: SceneGraph, id_: str) -> str:
    return scene.rooms[id_].name if id_ in scene.rooms else id_


def _safe(text: str) -> str:
    """Text of a recording for the terminal: no markup, no control characters."""
    return escape("".join(c if c.isprintable() else "?" for c in text))[:300]
