"""`./coterie tags`: sheets to print, tags in pictures, and how maps and cameras lie by tags."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from PIL import Image, ImageDraw, ImageFont
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_cli.options import AsJson
from coterie_core.yaml_marks import FileProblem
from coterie_perception.detector import DetectorError
from coterie_perception.pictures import pictures
from coterie_perception.tag_truth import places_of, tags_in
from coterie_perception.tags import TagTable, align, find_tags, read_tags, tag_pixels
from coterie_recordings import RecordingError, open_recording

app = typer.Typer(add_completion=False, no_args_is_help=True)

DPI = 300
PAGE_MM, MARGIN_MM, CAPTION_MM = (210.0, 297.0), 12.0, 8.0
"""A4 paper, its unprinted edge, and the line of text below a tag."""
_QUIET = 0.15
"""White around a tag, as a share of its side: more than the one module that readers need."""

TagsFile = Annotated[Path, typer.Argument(help="Path of the YAML file of the lab's tags.")]


@app.callback()
def tags() -> None:
    """AprilTags and ArUco markers: print them, find them, calibrate by them."""


@app.command("print")
def print_tags(
    file: TagsFile,
    out: Annotated[
        Path, typer.Option(help="Path of the sheet: .pdf, or .png, with one file a page.")
    ] = Path("out/tags.pdf"),
) -> int:
    """Make a sheet (A4) with all tags of a file in their sizes; print it at 100 %, not to fit."""
    if out.suffix.lower() not in (".pdf", ".png"):
        raise CommandError(f"--out: expected a name that ends in .pdf or .png, got {out.name!r}")
    table = given_tags(file)
    try:
        pages = list(sheets(table))
    except DetectorError as error:
        raise CommandError(str(error)) from None
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix.lower() == ".pdf":
        pages[0].save(out, save_all=True, append_images=pages[1:], resolution=DPI)
        print(out)
        return 0
    for k, page in enumerate(pages):
        name = out if len(pages) == 1 else out.with_stem(f"{out.stem}_{k + 1}")
        page.save(name, dpi=(DPI, DPI))
        print(name)
    return 0


@app.command("find")
def find(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Pictures, folders, videos, recordings, or the number of a camera.",
        ),
    ],
    file: TagsFile,
    as_json: AsJson = False,
) -> int:
    """Tell which tags are in pictures, and where; exit code 1 if there is none."""
    table = given_tags(file)
    try:
        seen = [(p.name, one) for p in pictures(sources) for one in find_tags(p.pixels, table)]
    except (RecordingError, DetectorError) as error:
        raise CommandError(str(error)) from None
    names = {number: entry.name for number, entry in table.tags.items()}
    rows = [
        {"picture": name, "tag": one.number, "on": names.get(one.number, ""),
         "corners": one.corners.round(1).tolist()}
        for name, one in seen
    ]  # fmt: skip
    if as_json:
        print(json.dumps(rows))
        return 0 if rows else 1
    if not rows:
        print(f"no tag of {table.family} in it")
        return 1
    shown = Table(title="Tags", title_justify="left")
    for column in ("tag", "on", "pictures", "largest in", "side [px]"):
        shown.add_column(escape(column))
    for number in sorted({one.number for _, one in seen}):
        mine = {name: one.corners for name, one in seen if one.number == number}
        sides = {
            name: float(np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1).mean())
            for name, corners in mine.items()
        }
        best = max(sides, key=lambda name: sides[name])
        cells = (names.get(number, ""), len(mine), best, f"{sides[best]:.0f}")
        shown.add_row(str(number), *(escape(str(cell)) for cell in cells))
    Console(highlight=False).print(shown)
    return 0


@app.command("align")
def align_frames(
    recording: Annotated[Path, typer.Argument(help="Path of a recording of the one robot.")],
    other: Annotated[
        str,
        typer.Argument(
            help="Path of a recording of the other one; or `measured`: the file's `at`."
        ),
    ],
    file: TagsFile,
    camera: Annotated[
        bool,
        typer.Option(
            "--camera", help="Calibrate the camera: print where it is on the base, by `at`."
        ),
    ] = False,
    every: Annotated[int, typer.Option(min=1, help="Step between the frames used.")] = 1,
) -> int:
    """Print how one robot's map lies in another's, or a camera on its base, by tags of both.

    The line is that of a team file: in_team_map, or the camera's mount.
    """
    table = given_tags(file)
    try:
        sights = tags_in(open_recording(recording), table, every)
        if camera:
            seen = {n: np.median([s.in_camera for s in of], axis=0) for n, of in sights.items()}
        else:
            seen = places_of(sights)
        if other == "measured":
            known = {n: np.array(e.at) for n, e in table.tags.items() if e.at is not None}
        else:
            known = places_of(tags_in(open_recording(Path(other)), table, every))
        found = align(seen, known, level=not camera)
    except (RecordingError, DetectorError, ValueError) as error:
        raise CommandError(str(error)) from None
    if camera:
        names = ("x", "y", "z", "roll", "pitch", "yaw")
        mount = (f"{n}: {v:.3f}" for n, v in zip(names, found.mount, strict=True))
        print(f"mount: {{{', '.join(mount)}}}")
    else:
        x, y, z, yaw = found.plane
        print(f"in_team_map: {{x: {x:.3f}, y: {y:.3f}, z: {z:.3f}, yaw: {yaw:.4f}}}")
    print(f"# {found.count} tags, {1e3 * found.rms:.0f} mm off (root mean square)")
    return 0


def given_tags(file: Path) -> TagTable:
    """Return the tags of a file.

    Raises:
        CommandError: It is no such file.
    """
    try:
        return read_tags(file)
    except (OSError, FileProblem, DetectorError) as error:
        raise CommandError(str(error)) from None


def sheets(table: TagTable) -> Iterator[Image.Image]:
    """Yield pages (A4 at `DPI`) with all tags of a table, left to right, from the top down.

    Raises:
        CommandError: A tag does not fit on the paper.
    """
    page, x, y, row = _page(), MARGIN_MM, MARGIN_MM, 0.0
    width, height = (edge - 2 * MARGIN_MM for edge in PAGE_MM)
    for number, entry in sorted(table.tags.items()):
        side = 1e3 * table.side(number)
        cell, tall = side * (1 + 2 * _QUIET), side * (1 + 2 * _QUIET) + CAPTION_MM
        if cell > width or tall > height:
            raise CommandError(
                f"tag {number}: {side:.0f} mm does not fit on A4 paper; give at most "
                f"{width / (1 + 2 * _QUIET):.0f} mm"
            )
        if x + cell > PAGE_MM[0] - MARGIN_MM:
            x, y, row = MARGIN_MM, y + row, 0.0
        if y + tall > PAGE_MM[1] - MARGIN_MM:
            yield page
            page, x, y, row = _page(), MARGIN_MM, MARGIN_MM, 0.0
        quiet = side * _QUIET
        square = Image.fromarray(tag_pixels(table.family, number, _dots(side)))
        page.paste(square, (_dots(x + quiet), _dots(y + quiet)))
        text = f"{number}  {entry.name}  {side:g} mm".encode("ascii", "replace").decode()
        at = (_dots(x + quiet), _dots(y + cell) + 4)
        ImageDraw.Draw(page).text(at, text, fill=90, font=ImageFont.load_default(_dots(3.5)))
        x, row = x + cell, max(row, tall)
    yield page


def _page() -> Image.Image:
    return Image.new("L", (_dots(PAGE_MM[0]), _dots(PAGE_MM[1])), 255)


def _dots(millimeters: float) -> int:
    return round(millimeters / 25.4 * DPI)
