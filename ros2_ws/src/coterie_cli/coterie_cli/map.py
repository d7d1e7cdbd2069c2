"""`./coterie map`: a recording becomes a semantic map, a table and a picture from above."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_cli.commands import command
from coterie_core.detections import load_detector
from coterie_core.geometry import Vec3
from coterie_llm.embedders import EmbedderError
from coterie_recordings import Recording, RecordingError, ScanRecording, open_recording
from coterie_recordings.bag import BagRecording, BagTopics
from coterie_world.meaning import local_meanings
from coterie_world.scene import SceneError, SceneGraph
from semantic_mapper.builder import map_format
from semantic_mapper.files import load_map, save_map
from semantic_mapper.from_recording import MappingOptions, RecordingMap, build_map

app = typer.Typer(add_completion=False)


_MOST_PROBLEMS = 8
_COLUMNS = ("thing", "", "where", "colours", "label sure", "looks")


@dataclass(frozen=True, slots=True)
class MapOptions:
    """What is mapped."""

    recording: Annotated[
        Path,
        typer.Argument(
            help="Path of a recording: an MCAP file, a rosbag2 folder, a folder of OpenEQA's or "
            "ScanNet's."
        ),
    ]
    out: Annotated[
        Path,
        typer.Option(help="Path of the map: .json, .voxeland.json, .dsg.json or .ply."),
    ] = Path("out/map.json")
    picture: Annotated[
        Path | None, typer.Option(help="Path of the map's picture; default: beside the map.")
    ] = None
    every: Annotated[
        int, typer.Option(min=1, help="Step between the frames used; 1: every frame.")
    ] = 1
    detector: Annotated[
        str,
        typer.Option(
            help="MODULE:FUNCTION that makes a detector; default: the recording's detections."
        ),
    ] = ""
    rooms: Annotated[
        Path | None, typer.Option(help="Path of a map whose rooms and floors are taken as known.")
    ] = None
    source: Annotated[
        str,
        typer.Option(
            help="Source of an exported folder: scannet or hm3d; default: told by its files."
        ),
    ] = ""
    depth_topic: Annotated[
        str, typer.Option(help="Topic of a bag's depth images; default: found by type.")
    ] = ""
    color_topic: Annotated[
        str, typer.Option(help="Topic of a bag's color images; default: found by type.")
    ] = ""
    info_topic: Annotated[
        str, typer.Option(help="Topic of the CameraInfo of a bag's depth; default: found by type.")
    ] = ""
    detections_topic: Annotated[
        str, typer.Option(help="Topic of a bag's detections; default: found by type.")
    ] = ""
    map_frame: Annotated[
        str, typer.Option(help="Coordinate frame of a bag's map; default: map, world or odom.")
    ] = ""
    meaning: Annotated[
        str,
        typer.Option(
            help="Embedder that compares the detector's labels, and that is kept in the map: none, "
            "wordllama or minilm."
        ),
    ] = "none"

    @property
    def topics(self) -> BagTopics:
        """Topics and map frame of a bag."""
        return BagTopics(
            self.depth_topic,
            self.color_topic,
            self.info_topic,
            self.detections_topic,
            self.map_frame,
        )


@command(app, "map", MapOptions)
def map_command(options: MapOptions) -> int:
    """Make a semantic map from a recording."""
    map_recording(options)
    return 0


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
    if options.topics != BagTopics():
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
