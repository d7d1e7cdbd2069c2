"""`./coterie detect`: what a detector finds in pictures, as a table and as boxes on them."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from PIL import Image, ImageDraw
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_cli.commands import command
from coterie_core.detections import ImageDetection
from coterie_core.detector_options import DETECTORS, DetectorOptions
from coterie_perception.detector import ColorDetector, DetectorError, make_detector
from coterie_perception.pictures import Picture, how_many, pictures

app = typer.Typer(add_completion=False)
_COLORS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#800000")


@dataclass(frozen=True, slots=True)
class DetectOptions:
    """What is looked at, and by which detector."""

    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Pictures, folders of pictures, videos, recordings or bags; or the number or "
            "device of a camera, such as 0.",
        ),
    ]
    detector: Annotated[
        str, typer.Option(help=f"Name of the detector: {', '.join(DETECTORS)}.")
    ] = "box"
    network: Annotated[
        str,
        typer.Option(help="Network: an .onnx file, or what transformers loads (open_vocabulary)."),
    ] = ""
    labels: Annotated[
        str, typer.Option(help="Path of a text file with an .onnx network's labels, one a line.")
    ] = ""
    words: Annotated[
        str, typer.Option(help="Words that open_vocabulary and vlm look for, separated by commas.")
    ] = ""
    model: Annotated[
        str, typer.Option(help="Path of the profile (.yaml) of a model that sees. For vlm.")
    ] = ""
    min_score: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Least score of a detection.")
    ] = 0.3
    threads: Annotated[int, typer.Option(min=1, max=64, help="Threads of the network.")] = 1
    every: Annotated[int, typer.Option(min=1, help="Step between the pictures taken.")] = 1
    most: Annotated[
        int | None,
        typer.Option(min=1, help="Largest number of pictures; default: all, of a camera one."),
    ] = None
    as_json: Annotated[
        Path | None, typer.Option("--json", help="Path of a JSON file with all detections.")
    ] = None
    out: Annotated[
        Path, typer.Option(help="Folder of the pictures with boxes, or the name of the only one.")
    ] = Path("out/detect")

    @property
    def told(self) -> DetectorOptions:
        """What the detector is told."""
        return DetectorOptions(
            file=self.network,
            labels=self.labels,
            words=tuple(word.strip() for word in self.words.split(",") if word.strip()),
            profile=self.model,
            min_score=self.min_score,
            threads=self.threads,
        )


@command(app, "detect", DetectOptions)
def detect(options: DetectOptions) -> int:
    """Find things in pictures: a table, and boxes on them. Exit code 1 if none is found."""
    console = Console(highlight=False)
    try:
        detector = make_detector(options.detector, options.told, "--detector")
        looked = list(_look(detector, options))
    except DetectorError as error:
        raise CommandError(str(error)) from None
    if not looked:
        raise CommandError(f"{', '.join(options.sources[:3])}: no color picture in it")
    if options.as_json is not None:
        _write(options.as_json, detector, looked)
    found = [(name, one) for name, all_found, _ in looked for one in all_found]
    if found:
        console.print(_single(found) if len(looked) == 1 else _summary(found))
    else:
        score = options.min_score
        console.print(f"Nothing has a score of {score:g} or more; --min-score asks for less.")
    mean = sum(took for *_, took in looked) / len(looked)
    console.print(
        f"{detector.name}: pictures: {len(looked)}, detections: {len(found)}, "
        f"{1e3 * mean:.0f} ms a picture\nboxes: {options.out}",
        soft_wrap=True,
        markup=False,
    )
    return 0 if found else 1


Looked = tuple[str, Sequence[ImageDetection], float]


def _look(detector: ColorDetector, options: DetectOptions) -> Iterator[Looked]:
    """Yield name, detections and time [s] of each picture, and draw it."""
    single, names = options.out.suffix != "", Counter[str]()
    console = Console(stderr=True, highlight=False)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        count = how_many(options.sources)
        total = None if count is None else min(-(-count // options.every), options.most or count)
        task = bar.add_task(f"{detector.name} looks", total=total)
        for picture in pictures(options.sources, options.every, options.most):
            begun = time.perf_counter()
            found = detector.detect(picture.pixels)
            took = time.perf_counter() - begun
            if single and names:
                raise CommandError(f"--out: {options.out} is one picture; give a folder for more")
            name = Path(picture.name).stem
            names[name] += 1
            same = f"_{names[name]}" if names[name] > 1 else ""
            file = options.out if single else options.out / f"{name}{same}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            drawn(picture, found).save(file)
            bar.advance(task)
            yield picture.name, found, took


def drawn(picture: Picture, found: Sequence[ImageDetection]) -> Image.Image:
    """Return a picture with boxes, masks and labels; a label has one color."""
    image = Image.fromarray(picture.pixels)
    names = sorted({one.label for one in found})
    pen = ImageDraw.Draw(image, "RGBA")
    for one in reversed(found):  # the surest on top
        color = _COLORS[names.index(one.label) % len(_COLORS)]
        x, y, width, height = one.box
        if one.mask is not None:
            shade = Image.fromarray((one.mask * 90).astype(np.uint8))
            pen.bitmap((x, y), shade, fill=color)
        pen.rectangle((x, y, x + width - 1, y + height - 1), outline=color, width=2)
        text = f"{one.label} {one.scores[one.label]:.2f}"
        text = text.encode("ascii", "replace").decode()  # the built-in font has no other signs
        left, top, right, low = pen.textbbox((x + 2, max(y - 12, 0)), text)
        pen.rectangle((left - 2, top - 1, right + 2, low + 1), fill=color)
        pen.text((x + 2, max(y - 12, 0)), text, fill="white")
    return image


def _single(found: Sequence[tuple[str, ImageDetection]]) -> Table:
    table = Table(title="Detections", title_justify="left")
    for column in ("label", "score", "less likely", "box: column, row, width, height [px]"):
        table.add_column(escape(column))
    for _, one in found:
        others = [f"{name} {score:.2f}" for name, score in one.scores.items() if name != one.label]
        box = ", ".join(map(str, one.box))
        score = f"{one.scores[one.label]:.2f}"
        table.add_row(escape(one.label), score, escape(", ".join(others)), box)
    return table


def _summary(found: Sequence[tuple[str, ImageDetection]]) -> Table:
    by_label: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for name, one in found:
        by_label[one.label].append((name, one.scores[one.label]))
    table = Table(title="Detections by label", title_justify="left")
    table.add_column("label")
    for column in ("detections", "pictures", "mean score", "best score", "best in"):
        table.add_column(column, justify="left" if column == "best in" else "right")
    for label, scored in sorted(by_label.items(), key=lambda item: (-len(item[1]), item[0])):
        scores = [score for _, score in scored]
        best = max(scored, key=lambda item: item[1])
        row = (str(len(scored)), str(len({name for name, _ in scored})))
        mean = f"{sum(scores) / len(scores):.2f}"
        table.add_row(escape(label), *row, mean, f"{best[1]:.2f}", escape(best[0]))
    return table


def _write(file: Path, detector: ColorDetector, looked: Sequence[Looked]) -> None:
    rows: list[dict[str, Any]] = [
        {
            "picture": name,
            "seconds": round(took, 4),
            "detections": [
                {"label": one.label, "scores": dict(one.scores), "box": list(one.box)}
                for one in found
            ],
        }
        for name, found, took in looked
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"detector": detector.name, "pictures": rows}, indent=1))
