"""`./coterie resume`: what a robot's body can do, read from its URDF."""

from __future__ import annotations

import asyncio
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_core.files import write_atomically
from coterie_core.language import Decider, ModelProfile, RulesModel, build_model
from coterie_core.resume import Resume
from emos_planner.resume.builder import SAMPLES, resume_of
from emos_planner.resume.errors import UrdfError
from emos_planner.resume.reading import read_description
from emos_planner.resume.skeleton import skeleton_text
from emos_planner.resume.tree import build_tree
from emos_planner.resume.words import describe


def resume(
    files: Sequence[Path],
    *,
    as_json: bool = False,
    name: str | None = None,
    out: Path | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    picture: bool = True,
    profile: Path | None = None,
) -> None:
    """Print and write the resumes of robots.

    Args:
        files: URDF files.
        as_json: Print the resume as JSON and nothing else; of several files one line each.
        name: Name of the robot, instead of the URDF's.
        out: Folder for what is written; default: out/resume/<robot>, with `as_json` none.
        samples: Postures sampled per arm.
        seed: Of the sampling.
        picture: Whether to draw.
        profile: A model that writes the summaries; none: the rule.

    Raises:
        CommandError: A URDF cannot be used; names the file, the element and the remedy.
    """
    if name is not None and len(files) > 1:
        raise CommandError("--name is for one robot; give one file, or leave --name out")
    decider = Decider(build_model(_profile(profile)) if profile else RulesModel())
    errors = Console(stderr=True, highlight=False)
    made = []
    for file in files:
        with errors.status(f"{file.name}: {samples} postures per arm") as status:
            try:
                found, skeleton = _one(file, name, samples, seed, decider)
            except UrdfError as error:
                status.stop()
                raise CommandError(str(error)) from None
        made.append(found)
        if as_json:
            print(found.to_json(indent=1 if len(files) == 1 else None))
        if out is not None or not as_json:
            folder = out or Path("out/resume") / _folder(found.robot)
            folder = folder / _folder(found.robot) if out and len(files) > 1 else folder
            _write(folder, found, skeleton, picture)
            if not as_json:
                _print(found, folder)
    if len(made) > 1 and not as_json:
        _compare(made)
    sys.stdout.flush()


def _one(
    file: Path, name: str | None, samples: int, seed: int, decider: Decider
) -> tuple[Resume, str]:
    if not file.is_file():
        raise CommandError(f"{file}: no such file; give the URDF of a robot")
    found = resume_of(file, name=name, samples=samples, seed=seed)
    skeleton = skeleton_text(build_tree(read_description(file)))
    return asyncio.run(describe(found, skeleton, decider)), skeleton


def _profile(path: Path) -> ModelProfile:
    import yaml
    from pydantic import ValidationError

    try:
        return ModelProfile.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise CommandError(f"{path}: cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CommandError(f"{path}: {where}: {first['msg']}") from None


def _folder(robot: str) -> str:
    """Return a folder's name: a robot's name comes from its URDF and may hold anything."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", robot)[:60] or "robot"


def _write(folder: Path, found: Resume, skeleton: str, picture: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "resume.json", found.to_json(indent=1) + "\n")
    write_atomically(folder / "skeleton.txt", skeleton + "\n")
    if picture:
        from emos_planner.resume.picture import draw_resume

        draw_resume(found, folder / "resume.png")


def _print(found: Resume, folder: Path) -> None:
    console = Console(highlight=False)
    table = Table(title=f"{found.robot}", title_justify="left", show_lines=False)
    for column in ("", "", "how it was found"):
        table.add_column(column, overflow="fold")
    body, evidence = found.mobility, found.mobility.evidence
    rows: list[tuple[str, Any, str]] = [
        ("moves on", body.kind, evidence.get("kind", "")),
        ("radius", f"{body.radius:.3f} m", evidence.get("radius", "")),
        ("height", f"{body.height:.3f} m", evidence.get("height", "")),
        (
            "step",
            "cannot be told" if body.step_height is None else f"{body.step_height:.3f} m",
            evidence.get("step_height", ""),
        ),
        ("stairs", "yes" if body.climbs_stairs else "no", evidence.get("climbs_stairs", "")),
    ]
    for camera in found.perception.cameras:
        low, high = camera.heights
        field = f"{math.degrees(camera.hfov):.0f} x {math.degrees(camera.vfov):.0f} deg"
        text = f"{camera.mount}, {low:.2f}-{high:.2f} m, {field}"
        told = [v for k, v in found.perception.evidence.items() if camera.name in k]
        rows.append((f"camera {camera.name}", text, "; ".join(told)))
    for arm in found.manipulation.arms:
        space = arm.workspace
        text = (
            f"{len(arm.joints)} joints, reach {space.reach:.2f} m, "
            f"{space.min_height:.2f}-{space.max_height:.2f} m high"
        )
        told = [v for k, v in found.manipulation.evidence.items() if arm.name in k]
        rows.append((f"arm {arm.name}", text, "; ".join(told)))
    for row in rows:
        table.add_row(*(_safe(str(cell)) for cell in row))
    console.print(table)
    console.print(_safe(found.summary), soft_wrap=True)
    for warning in found.warnings:
        console.print(f"note: {_safe(warning)}", style="yellow", soft_wrap=True)
    console.print(f"written: {folder}", soft_wrap=True, markup=False)


def _compare(made: Sequence[Resume]) -> None:
    table = Table(title="Robots", title_justify="left")
    lengths = ("radius [m]", "height [m]", "step [m]")
    for column in ("robot", "moves on", *lengths, "cameras", "reach [m]", "heights [m]"):
        table.add_column(column)
    for one in made:
        arms = [arm.workspace for arm in one.manipulation.arms]
        step = one.mobility.step_height
        table.add_row(
            _safe(one.robot),
            one.mobility.kind,
            f"{one.mobility.radius:.2f}",
            f"{one.mobility.height:.2f}",
            "?" if step is None else f"{step:.3f}",
            str(len(one.perception.cameras)),
            f"{max((a.reach for a in arms), default=0.0):.2f}" if arms else "-",
            f"{min(a.min_height for a in arms):.2f}-{max(a.max_height for a in arms):.2f}"
            if arms
            else "-",
        )
    Console(highlight=False).print(table)


def _safe(text: str) -> str:
    """Text of a URDF for the terminal: no markup, no control characters."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else "?" for c in text))
