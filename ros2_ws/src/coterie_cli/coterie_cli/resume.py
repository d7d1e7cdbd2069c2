"""`./coterie resume`: what a robot's body can do, read from its URDF."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from coterie_bringup.errors import CommandError
from coterie_bringup.team_models import named_profile
from coterie_cli.commands import command
from coterie_cli.options import AsJson, ModelForFiles
from coterie_cli.resume_tables import comparison, table_of
from coterie_core.files import write_atomically
from coterie_core.resume import Resume
from coterie_core.urdf.errors import UrdfError
from coterie_llm import Decider, build_decider
from robot_resume.builder import SAMPLES, Analysis, analyse, resume_from
from robot_resume.compare import Stated, StatedError, compare, load_stated
from robot_resume.overrides import RobotOverrides, load_overrides, overrides_for
from robot_resume.skeleton import plain_line, skeleton_text
from robot_resume.verbalize import describe

app = typer.Typer(add_completion=False)


OVERRIDES = Path("config/robots")
"""Folder of the overrides that apply by the robot's name in its URDF."""


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """What is read and written."""

    files: Annotated[
        list[Path],
        typer.Argument(metavar="ROBOT.urdf...", help="Paths of the URDF or xacro files."),
    ]
    as_json: AsJson = False
    name: Annotated[str | None, typer.Option(help="Name of the robot; default: the URDF's.")] = None
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for the results; default: out/resume/ROBOT, with --json none.",
        ),
    ] = None
    overrides: Annotated[
        str | None,
        typer.Option(
            help="Path of a YAML file with what the URDF does not say, or none; default: "
            "config/robots."
        ),
    ] = None
    samples: Annotated[
        int,
        typer.Option(
            min=1000, max=5_000_000, help="Number of postures sampled for each arm's workspace."
        ),
    ] = SAMPLES
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sampled postures.")] = 0
    picture: Annotated[
        bool, typer.Option(help="Draw pictures of the workspace and the fields of view.")
    ] = True
    model: ModelForFiles = None
    packages: Annotated[
        list[Path] | None,
        typer.Option(
            "--package", help="Folder of packages whose files the URDF names; may be given again."
        ),
    ] = None
    arguments: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            metavar="NAME:=VALUE",
            help="Argument of a xacro file, such as arm:=true; may be given again.",
        ),
    ] = None
    compare: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder of Habitat-MAS resumes to compare with."),
    ] = None


@dataclass(frozen=True)
class _Made:
    resume: Resume
    analysis: Analysis
    seconds: float


@command(app, "resume", ResumeOptions)
def resume(options: ResumeOptions) -> int:
    """Read from a robot's URDF what its body can do: base, cameras, arms, workspace."""
    files = options.files
    if options.name is not None and len(files) > 1:
        raise CommandError("--name is for one robot; give one file, or leave --name out")
    stated = _stated(options.compare) if options.compare is not None else []
    decider = build_decider(named_profile(options.model))
    console = Console(highlight=False)
    made: list[_Made] = []
    folders: set[Path] = set()
    for file in files:
        with _progress(file.name, options.samples):
            one = _one(file, options, decider)
        made.append(one)
        folder = _folder(one.resume.robot, file, options, len(files), folders)
        if folder is not None:
            _write(folder, one, options.picture)
        if not options.as_json:
            _print(console, one, folder, short=len(files) > 1)
    if options.as_json:
        documents = [one.resume.to_json(indent=1) for one in made]
        print(documents[0] if len(made) == 1 else "[" + ",\n".join(documents) + "]")
    elif len(made) > 1:
        console.print(comparison([one.resume for one in made]))
    if options.compare is not None and not options.as_json:
        _compare(console, [one.resume for one in made], stated, options.compare)
    sys.stdout.flush()
    return 0


def _one(file: Path, options: ResumeOptions, decider: Decider) -> _Made:
    if not file.is_file():
        what = "a folder, not a file" if file.is_dir() else "no such file"
        raise CommandError(f"{file}: {what}; give the URDF of a robot")
    started = time.perf_counter()
    try:
        overrides = _overrides(file, options)
        analysis = analyse(
            file,
            packages=options.packages or (),
            overrides=overrides,
            arguments=_arguments(options.arguments or ()),
        )
        found = resume_from(
            analysis,
            name=options.name,
            samples=options.samples,
            seed=options.seed,
        )
    except UrdfError as error:
        raise CommandError(plain_line(str(error))) from None
    seconds = time.perf_counter() - started
    skeleton = skeleton_text(analysis.scene.tree)
    return _Made(asyncio.run(describe(found, skeleton, decider)), analysis, seconds)


def _arguments(given: Sequence[str]) -> dict[str, str]:
    parts = {text: text.partition(":=") for text in given}
    for text, (name, sign, _) in parts.items():
        if not (name and sign):
            raise CommandError(f"--arg {text}: expected NAME:=VALUE, such as arm:=true")
    return {name: value for name, _, value in parts.values()}


def _overrides(file: Path, options: ResumeOptions) -> RobotOverrides | None:
    if options.overrides == "none":
        return None
    if options.overrides is not None:
        return load_overrides(Path(options.overrides))
    return overrides_for(_name_in(file), OVERRIDES)


def _name_in(file: Path) -> str:
    """Return the robot's name as the file has it, without reading more than its head."""
    with file.open("rb") as stream:
        head = stream.read(65_536)
    found = re.search(rb"<robot\b[^>]*?\bname\s*=\s*[\"']([^\"']*)", head)
    return found.group(1).decode("utf-8", "replace") if found else ""


@contextlib.contextmanager
def _progress(name: str, samples: int) -> Iterator[None]:
    """Show on stderr that work goes on, if it takes more than a second on a terminal."""
    errors = Console(stderr=True, highlight=False)
    if not errors.is_terminal:
        yield
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
    )
    bar.add_task(f"{plain_line(name)}: {samples} postures per arm", total=None)
    later = threading.Timer(1.0, bar.start)
    later.daemon = True
    later.start()
    try:
        yield
    finally:
        later.cancel()
        later.join()
        bar.stop()


def _folder(
    robot: str, file: Path, options: ResumeOptions, count: int, taken: set[Path]
) -> Path | None:
    """Return where a robot's files go; names come from URDFs and may hold anything."""
    if options.out is None and options.as_json:
        return None
    name = re.sub(r"[^A-Za-z0-9_-]", "_", robot)[:60] or "robot"
    folder = options.out or Path("out/resume") / name
    if options.out is not None and count > 1:
        folder = options.out / name
    if folder in taken:
        folder = folder.with_name(f"{folder.name}_{re.sub(r'[^A-Za-z0-9_-]', '_', file.stem)[:60]}")
    taken.add(folder)
    return folder


def _write(folder: Path, one: _Made, picture: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "resume.json", one.resume.to_json(indent=1) + "\n")
    tree = one.analysis.scene.tree
    write_atomically(folder / "skeleton.txt", skeleton_text(tree, 1_000_000) + "\n")
    if picture:
        from robot_resume.outline import outline_of
        from robot_resume.picture import draw_resume

        draw_resume(one.resume, folder / "resume.png", outline_of(one.analysis))


def _print(console: Console, one: _Made, folder: Path | None, *, short: bool) -> None:
    found = one.resume
    console.print(table_of(found))
    console.print(plain_line(found.summary, 3000), soft_wrap=True, markup=False)
    notes = found.warnings[:3] if short else found.warnings
    for note in notes:
        console.print(f"note: {plain_line(note)}", style="yellow", soft_wrap=True, markup=False)
    if len(notes) < len(found.warnings):
        console.print(f"and {len(found.warnings) - len(notes)} more notes in resume.json")
    arms = len(found.manipulation.arms)
    sampled = max((arm.workspace.samples for arm in found.manipulation.arms), default=0)
    took = f"{one.seconds:.2f} s" + (f", {arms} x {sampled} postures" if arms else "")
    console.print(f"written: {folder}  ({took})\n", soft_wrap=True, markup=False)


def _stated(folder: Path) -> list[Stated]:
    try:
        return load_stated(folder)
    except StatedError as error:
        raise CommandError(plain_line(str(error))) from None


def _compare(console: Console, made: Sequence[Resume], stated: list[Stated], folder: Path) -> None:
    for one in made:
        title = f"{plain_line(one.robot, 80)}: ours, and what {folder.name} states"
        console.print(f"\n{title}", style="bold", markup=False)
        rows = compare(one, stated)
        if not rows:
            console.print(f"no file of {folder} is of this robot", markup=False)
        for row in rows:
            text = plain_line(f"{row.field}: ours {row.ours}; theirs {row.theirs}")
            console.print(f"  {text}", markup=False, soft_wrap=True)
            console.print(f"    {plain_line(row.why)}", markup=False, style="dim", soft_wrap=True)
