"""`bench map`: how true the semantic map of generated houses is, and how fast it is made."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from coterie_core.detections import RgbdFrame
from coterie_core.detector_options import DetectorOptions
from coterie_core.embodiment import Camera, Embodiment
from coterie_core.household import load_household
from coterie_core.skills import NavigateTo
from coterie_fixtures.map_score import compare
from coterie_llm.embedders import EmbedderError
from coterie_perception.detector import DetectorError, make_detector
from coterie_recordings import RecordingError
from coterie_world.meaning import Meanings, local_meanings
from coterie_world.scene import SceneGraph
from coterie_world.scene.regions import Regions
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.factory import NoiseLevel
from habitat_bridge.house.generator import generate_house
from habitat_bridge.image_detector import NO_THINGS, ImageDetector
from habitat_bridge.simulator import Frame, FrameRequest, Start, WorldError, run_skill
from research.bench.common.records import write_csv, write_json
from research.bench.common.tables import print_whole
from research.bench.mapping.detectors import Watching, compare_room, sight_table
from research.bench.mapping.errors import EXACT, LADDER, SensorErrors
from research.bench.mapping.naming import FreeNaming, Words, other_names
from research.bench.mapping.room import RoomErrors, map_room, print_room
from semantic_mapper.mapper import SemanticMapper
from semantic_mapper.options import MapperOptions

app = typer.Typer(help="Semantic maps of generated houses.", add_completion=False)
VISIBLE = 80
"""A thing counts as seen when some image held so many pixels of it."""


@dataclass(frozen=True, slots=True)
class MapScore:
    """How true one house's map is.

    `precision`: share of the map's things that are things of the house; `recall`: share of the
    seen things that the map has; `labels`: share of the matched ones with the right top label;
    `duplicates`: further things of the map for one that is matched already; `box_error`: median
    distance of box centres [m]; `box_iou`: median overlap of boxes; `rooms`: share in the right
    room, by outlines of rooms that are the house's own; `precision_25` and the like: the same by
    boxes whose intersection over union is at least 0.25 or 0.5, whatever the centres; `rate`:
    frames per second of the mapper alone; `errors`: of the sensors.
    """

    house: int
    frames: int
    detections: float
    things: int
    seen: int
    precision: float
    recall: float
    labels: float
    duplicates: int
    box_error: float
    box_iou: float
    rooms: float
    precision_25: float
    recall_25: float
    precision_50: float
    recall_50: float
    rate: float
    errors: str = ""


def map_house(
    seed: int,
    *,
    noise: NoiseLevel = "normal",
    size: tuple[int, int] = (320, 240),
    headings: int = 6,
    options: MapperOptions | None = None,
    errors: SensorErrors = EXACT,
    naming: FreeNaming | None = None,
    meanings: Meanings | None = None,
    frames: list[RgbdFrame] | None = None,
    watching: Watching | None = None,
) -> tuple[SceneGraph, MapScore]:
    """Drive a camera through a generated house, map it, and compare with the truth.

    Args:
        seed: Of the house and of all mistakes.
        noise: How badly the detector errs.
        size: Columns and rows of the images [px].
        headings: Directions looked at from every place.
        options: Of the mapper.
        errors: Of depth, poses and masks.
        naming: Other words of the detector for the same things; None: it has one each.
        meanings: Compares labels by meaning, for the mapper; None: it does not.
        frames: Takes the frames that are mapped.
        watching: A detector that looks at the images in place of the house's own; None: that does.
    """
    rng, names_rng = np.random.default_rng([seed, 7]), np.random.default_rng([seed, 8])
    world = EmbeddedWorld(generate_house(seed, floors=1), seed=seed, look_on_arrival=False)
    camera = Camera(
        name="head",
        width=size[0],
        height=size[1],
        hfov=math.radians(80),
        mount_height=1.2,
        pitch=0.35,
    )
    body = Embodiment(name="mapper", radius=0.2, height=1.3, cameras=(camera,))
    truth = world.truth()
    household = load_household()
    detector = ImageDetector(
        getattr(DetectorNoise, noise)(),
        seed,
        {c.label: c.confused for c in household.categories.values()},
        [thing.label.top for thing in truth.objects.values()],
    )
    mapper = SemanticMapper(options, Regions(truth), meanings)
    try:
        world.add_robot("mapper", body, Start())
        pixels: Counter[str] = Counter()
        taken, found, spent = 0, 0, 0.0
        for place in truth.places:
            for k in range(headings):
                yaw = math.remainder(k * math.tau / headings, math.tau)
                if not run_skill(world, "mapper", NavigateTo(place=place, yaw=yaw)).ok:
                    break
                (frame,) = world.render([FrameRequest("mapper", "head")])
                pixels |= _visible(world, frame)
                detections = detector.detect(frame)
                rgbd = RgbdFrame(
                    _depth(frame),
                    (camera.focal, camera.focal, camera.width / 2, camera.height / 2),
                    frame.camera_to_map,
                    frame.color,
                    frame.time,
                    "mapper",
                )
                if watching is not None:
                    detections = watching.look(rgbd, detections)
                rgbd, detections = errors.spoil(rgbd, detections, rng)
                if naming is not None:
                    detections = naming.rename(detections, names_rng)
                begun = time.perf_counter()
                mapper.update(rgbd, detections)
                if taken % 50 == 49:
                    mapper.tidy()
                spent += time.perf_counter() - begun
                taken += 1
                if frames is not None:
                    frames.append(rgbd)
                found += len(detections)
        mapper.tidy()
        scene = mapper.scene()
    finally:
        world.close()
    seen = [id_ for id_, count in pixels.items() if count >= VISIBLE]
    score = compare(scene, truth, seen, naming.kind_of if naming is not None else str)
    rate = taken / spent if spent else math.nan
    return scene, MapScore(
        seed, taken, found / max(taken, 1), **score, rate=rate, errors=str(errors)
    )


def _visible(world: EmbeddedWorld, frame: Frame) -> Counter[str]:
    assert frame.semantic is not None
    things = world.contents
    values, counts = np.unique(frame.semantic, return_counts=True)
    seen: Counter[str] = Counter()
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        k = value - things.first_instance
        if 0 <= k < len(things.ids) and frame.labels and frame.labels[value] not in NO_THINGS:
            seen[things.ids[k]] = count
    return seen


def _depth(frame: Frame) -> np.ndarray[Any, np.dtype[np.float32]]:
    assert frame.depth is not None
    return frame.depth


def bench_map(
    houses: Annotated[int, typer.Option(min=1, help="Number of generated houses.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first house.")] = 0,
    noise: Annotated[
        str, typer.Option(help="Noise of the detector: none, low, normal or high.")
    ] = "normal",
    width: Annotated[int, typer.Option(min=64, max=1920, help="Width of the images [px].")] = 320,
    depth_noise: Annotated[
        float,
        typer.Option(
            min=0.0, max=5.0, help="Depth noise in multiples of a Kinect's; 0: exact depth."
        ),
    ] = 0.0,
    position_jitter: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Error of the camera's position [m].")
    ] = 0.0,
    rotation_jitter: Annotated[
        float, typer.Option(min=0.0, max=30.0, help="Error of the camera's rotation [deg].")
    ] = 0.0,
    leak: Annotated[
        int,
        typer.Option(min=0, max=50, help="Width by which masks reach beyond their objects [px]."),
    ] = 0,
    boxes: Annotated[bool, typer.Option(help="Detections have boxes only, no masks.")] = False,
    rename: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Fraction of the detections named by another word for the same thing, as by "
            "detectors without a fixed list of labels.",
        ),
    ] = 0.0,
    words: Annotated[
        str,
        typer.Option(help="Other words: tables (synonyms that the tables know) or unlisted."),
    ] = "unlisted",
    meaning: Annotated[
        str,
        typer.Option(help="Embedder that compares labels: none, wordllama or minilm."),
    ] = "none",
    ladder: Annotated[
        bool, typer.Option(help="Print a row for each step from exact sensors to bad ones.")
    ] = False,
    room: Annotated[
        Path | None, typer.Option(help="Folder of 7-Scenes RedKitchen: map this real room instead.")
    ] = None,
    detector: Annotated[
        str,
        typer.Option(
            help="Detector that sees the real room or the rendered images in place of the told "
            "detections: box, or another name as ./coterie detect has it."
        ),
    ] = "",
    network: Annotated[
        str, typer.Option(help="Network of the detector, as ./coterie detect has it.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results.json and CSV; default: none are written."),
    ] = None,
) -> None:
    """Map generated houses from RGB-D images and a noisy detector; compare with the truth."""
    console = Console()
    if noise not in get_args(NoiseLevel):
        Console(stderr=True).print(f"bench map: --noise: one of {', '.join(get_args(NoiseLevel))}")
        raise typer.Exit(2)
    if room is not None and detector:
        _bench_detector(room, detector, network, console, out)
        return
    if room is not None:
        _bench_room(room, RoomErrors(leak=leak or 2, masks=not boxes), seed, console)
        return
    if words not in get_args(Words):
        Console(stderr=True).print(f"bench map: --words: one of {', '.join(get_args(Words))}")
        raise typer.Exit(2)
    try:
        meanings = local_meanings(meaning)
    except EmbedderError as error:
        Console(stderr=True).print(f"bench map: --meaning: {error}", markup=False)
        raise typer.Exit(2) from None
    if detector:
        _bench_rendered(detector, network, houses, seed, width, console)
        return
    one = SensorErrors(depth_noise, position_jitter, rotation_jitter, leak, boxes)
    steps = LADDER if ladder else (one,)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    scores: list[MapScore] = []
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("houses", total=houses * len(steps))
        for errors in steps:
            for k in range(houses):
                size = (width, width * 3 // 4)
                try:
                    made = map_house(
                        seed + k,
                        noise=noise,  # type: ignore[arg-type]
                        size=size,
                        errors=errors,
                        naming=FreeNaming(rename, other_names(words)) if rename else None,  # type: ignore[arg-type]
                        meanings=meanings,
                    )
                    scores.append(made[1])
                except WorldError as error:
                    console.print(f"house {seed + k}: {error}", style="yellow", markup=False)
                progress.advance(task)
    if ladder:
        print_ladder(scores, console)
    else:
        print_scores(scores, console, str(one))
    if out is not None:
        records = [asdict(score) for score in scores]
        write_json(out / "results.json", records)
        write_csv(out / "results.csv", records)
        console.print(f"results: {out}", highlight=False, markup=False, soft_wrap=True)


def _bench_rendered(
    name: str, network: str, houses: int, seed: int, width: int, console: Console
) -> None:
    try:
        watching = Watching(make_detector(name, DetectorOptions(file=network)))
    except DetectorError as error:
        Console(stderr=True).print(f"bench map: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    size = (width, width * 3 // 4)
    print_scores(
        [map_house(seed + k, noise="none", size=size, watching=watching)[1] for k in range(houses)],
        console,
        f"seen by {name} in rendered images",
    )
    kinds = sorted({*watching.sight.seen, *watching.sight.missed, *watching.sight.wrong})
    print_whole(sight_table(name, {"rendered": watching.sight}, kinds), console)


def _bench_detector(
    folder: Path, name: str, network: str, console: Console, out: Path | None
) -> None:
    try:
        detector = make_detector(name, DetectorOptions(file=network))
        compare_room(folder, detector, name, console, out)
    except (RecordingError, DetectorError) as error:
        Console(stderr=True).print(f"bench map: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None


def _bench_room(folder: Path, errors: RoomErrors, seed: int, console: Console) -> None:
    try:
        scene = map_room(folder, errors=errors, seed=seed)
    except RecordingError as error:
        Console(stderr=True).print(f"bench map: --room: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    shape = "masks" if errors.masks else "boxes"
    print_room(scene, console, f"A real room: {shape} that leak by {errors.leak} px")


_COLUMNS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("frames", "frames", "{:.0f}".format),
    ("things", "things", "{:.0f}".format),
    ("seen", "seen", "{:.0f}".format),
    ("precision", "precision", "{:.2f}".format),
    ("recall", "recall", "{:.2f}".format),
    ("precision_25", "P at IoU .25", "{:.2f}".format),
    ("recall_25", "R at .25", "{:.2f}".format),
    ("precision_50", "P at .5", "{:.2f}".format),
    ("recall_50", "R at .5", "{:.2f}".format),
    ("labels", "labels right", "{:.2f}".format),
    ("duplicates", "duplicates", "{:.1f}".format),
    ("box_error", "center off [m]", "{:.3f}".format),
    ("box_iou", "box IoU", "{:.2f}".format),
    ("rooms", "rooms right", "{:.2f}".format),
    ("rate", "frames/s", "{:.0f}".format),
)
_PRIVILEGED = "Outlines of rooms are the house's own: what room an object is in, is given."


def print_scores(scores: Sequence[MapScore], console: Console, errors: str = "") -> None:
    """Print a row per house and the means."""
    title = "Semantic maps against the truth" + (f" ({errors})" if errors else "")
    table = Table(title=title, caption=_PRIVILEGED, title_justify="left", caption_justify="left")
    table.add_column("house", justify="right")
    for _, title, _ in _COLUMNS:
        table.add_column(title, justify="right")
    for score in scores:
        table.add_row(str(score.house), *(f(getattr(score, name)) for name, _, f in _COLUMNS))
    if scores:
        table.add_section()
        table.add_row("mean", *_means(scores), style="bold")
    print_whole(table, console)


def print_ladder(scores: Sequence[MapScore], console: Console) -> None:
    """Print a row of means per step of errors."""
    table = Table(
        title="Semantic maps by the errors of the sensors", caption=_PRIVILEGED,
        title_justify="left", caption_justify="left",
    )  # fmt: skip
    table.add_column("errors")
    for _, title, _ in _COLUMNS:
        table.add_column(title, justify="right")
    for errors in dict.fromkeys(score.errors for score in scores):
        table.add_row(errors, *_means([score for score in scores if score.errors == errors]))
    print_whole(table, console)


def _means(scores: Sequence[MapScore]) -> list[str]:
    return [
        f(float(np.mean([getattr(score, name) for score in scores]))) for name, _, f in _COLUMNS
    ]


app.command("map")(bench_map)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    from coterie_cli.commands import run

    return run(app, "bench map", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
