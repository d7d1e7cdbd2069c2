"""`bench openeqa`: open questions about generated houses or OpenEQA's, from memory or exploring."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from coterie_cli.commands import run as run_command
from coterie_core.files import write_atomically
from coterie_llm import LanguageError, build_model, load_profile
from habitat_bridge.factory import NoiseLevel
from openeqa_agent.agents import METHODS
from research.bench.common.code_digest import code_digest
from research.bench.common.processes import as_done
from research.bench.common.records import write_csv, write_json
from research.bench.openeqa.data import (
    DataError,
    DataQuestion,
    find_episode,
    load_open_eqa,
    run_episode,
)
from research.bench.openeqa.judge_official import OfficialPrompts
from research.bench.openeqa.phrases import PHRASES
from research.bench.openeqa.run import MOST_STEPS, Setup, run_house
from research.bench.openeqa.scenes import Start, has_starts, load_starts, run_scene
from research.bench.openeqa.tables import agreement, draw_plots, print_tables, summarised
from semantic_mapper.from_recording import load_detector

_CODE = (
    "research.bench.openeqa",
    "research.bench.data",
    "coterie_core",
    "habitat_bridge.embedded",
    "habitat_bridge.house",
    "habitat_bridge.render",
    "openeqa_agent",
    "semantic_mapper",
)
"""Code and data that make results."""
app = typer.Typer(help="Open questions about places.", add_completion=False)
SETTINGS = ("em", "active")


@dataclass(frozen=True, slots=True)
class Unit:
    """What is run, and kept, in one piece: a generated house, an episode, or a scene.

    `episodes` is where the episodes, or with `starts` the scenes, are.
    """

    setup: Setup
    house: int | None = None
    questions: tuple[DataQuestion, ...] = ()
    episodes: Path | None = None
    starts: tuple[Start, ...] = ()

    @property
    def name(self) -> str:
        """What it is called."""
        if self.starts:
            return self.starts[0].question.episode
        return f"house {self.house}" if self.house is not None else self.questions[0].episode

    @property
    def key(self) -> str:
        """What tells it, and the code that runs it, from all others."""
        parts = (
            asdict(self.setup), self.house, self.questions, str(self.episodes or ""), self.starts,
        )  # fmt: skip
        digest = hashlib.sha256((repr(parts) + code_digest(*_CODE)).encode())
        if self.questions:
            found = find_episode(self.episodes, self.questions[0].episode)
            digest.update(str(found and found.stat().st_mtime_ns).encode())
        return digest.hexdigest()[:20]


def run_unit(unit: Unit, cache: Path | None = None) -> list[dict[str, Any]]:
    """Return the records of a unit; with `cache`, from there if it was run before.

    A unit that fails gives one record with the `error` and no mark: it does not end the bench.
    """
    path = None if cache is None else cache / f"{unit.key}.json"
    if path is not None and path.is_file():
        try:
            kept: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
            return kept
        except (OSError, ValueError):
            pass  # a damaged file is made again
    try:
        if unit.starts:
            assert unit.episodes is not None
            records = asyncio.run(run_scene(unit.starts, unit.episodes, unit.setup))
        elif unit.house is not None:
            records = asyncio.run(run_house(unit.house, unit.setup))
        else:
            records = asyncio.run(run_episode(unit.questions, unit.episodes, unit.setup))
    except Exception as error:  # one house must not end the bench
        text = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
        return [{"episode": unit.name, "error": text}]
    for record in records:
        record["judge"] = unit.setup.judge
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(records))
    return records


def run_units(
    units: Sequence[Unit],
    cache: Path | None = None,
    *,
    jobs: int = 1,
    on_done: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """Return the records of all units in their order, computed by so many processes.

    Args:
        units: What to run.
        cache: Folder of finished units, from which a run that stopped goes on.
        jobs: Processes.
        on_done: Called with the name of every unit that is finished.
    """
    found: dict[int, list[dict[str, Any]]] = {}
    for k, records in as_done(run_unit, [(unit, cache) for unit in units], jobs):
        found[k] = records
        if on_done:
            on_done(units[k].name)
    return [record for k in sorted(found) for record in found[k]]


def units_of_data(
    questions: Sequence[DataQuestion], folder: Path | None, setup: Setup
) -> list[Unit]:
    """Return a unit per episode of a data set; the setting is "em"."""
    episodes: dict[str, list[DataQuestion]] = {}
    for one in questions:
        episodes.setdefault(one.episode, []).append(one)
    return [Unit(setup, None, tuple(part), folder) for part in episodes.values()]


def units_of_starts(starts: Sequence[Start], scenes: Path, setup: Setup) -> list[Unit]:
    """Return a unit per scene of the active split."""
    found: dict[str, list[Start]] = {}
    for one in starts:
        found.setdefault(one.question.episode, []).append(one)
    return [Unit(setup, None, (), scenes, tuple(part)) for part in found.values()]


def bench_openeqa(
    houses: Annotated[int, typer.Option(min=1, help="Number of generated houses.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first house.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for records, tables, questions and plots; default: none are written.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="Path of open-eqa-v0.json, or of questions like it, instead of generated houses.",
        ),
    ] = None,
    episodes: Annotated[
        Path | None, typer.Option("--episodes", help="Folder of episode histories, with --data.")
    ] = None,
    scenes: Annotated[
        Path | None,
        typer.Option(
            help="Folder of scenes (HM3D), which agents explore in habitat-sim from the "
            "start poses, with --data aeqa_start_poses-184.json."
        ),
    ] = None,
    detector: Annotated[
        str,
        typer.Option(help="MODULE:FUNCTION of a detector, for recordings without detections."),
    ] = "",
    rooms_told: Annotated[
        bool,
        typer.Option(
            "--rooms-told/--rooms-hidden",
            help="Agents are told rooms' names, kinds and outlines, as by a floor plan.",
        ),
    ] = True,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "--methods",
            help=f"Agent to measure: {', '.join(METHODS)}; may be given again; default: all.",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting", help="Setting to measure: em or active; may be given again; default: both."
        ),
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            help="Judge of the answers: rule, model (of --profile, with our prompt), or "
            "official (of --profile, with the prompt of OpenEQA in --judge-prompts)."
        ),
    ] = "rule",
    judge_prompts: Annotated[
        Path | None,
        typer.Option(help="Folder `prompts` of an OpenEQA checkout, for --judge official."),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            "--profile",
            "--model-profile",
            help="Path of a model profile (YAML or JSON); default: the rules decide.",
        ),
    ] = None,
    questions: Annotated[
        int, typer.Option(min=1, max=50, help="Largest number of questions per category and house.")
    ] = 3,
    steps: Annotated[
        int, typer.Option(min=1, help="Largest number of atomic steps of an active episode.")
    ] = MOST_STEPS,
    noise: Annotated[
        str, typer.Option(help="Noise of the detector: none, low, normal or high.")
    ] = "normal",
    width: Annotated[int, typer.Option(min=64, max=1280, help="Width of the images [px].")] = 256,
    rooms: Annotated[
        int | None,
        typer.Option(
            min=4, max=25, help="Number of rooms of a house; default: chosen by the seed."
        ),
    ] = None,
    phrases: Annotated[
        str, typer.Option(help=f"Wordings of questions about houses: {', '.join(PHRASES)}.")
    ] = PHRASES[0],
    jobs: Annotated[int, typer.Option(min=0, help="Number of processes; 0: one per core.")] = 0,
) -> None:
    """Ask open questions of every agent, mark the answers; print the paper's tables with ours."""
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    try:
        setup = Setup(
            methods=_chosen("--method", method, METHODS),
            settings=_chosen("--setting", setting, SETTINGS),
            noise=_one("--noise", noise, get_args(NoiseLevel)),  # type: ignore[arg-type]
            width=width,
            questions=questions,
            steps=steps,
            rooms=rooms,
            profile=_profile(profile),
            judge=_judge(judge, profile, judge_prompts),
            prompts=str(judge_prompts or ""),
            detector=detector,
            rooms_told=rooms_told,
            phrases=_one("--phrases", phrases, PHRASES),  # type: ignore[arg-type]
        )
        if detector:
            load_detector(detector)  # a mistake is told before anything is run
        if data is not None and scenes is not None:
            units = units_of_starts(load_starts(data), scenes, setup)
        elif data is not None and has_starts(data) and episodes is None:
            raise DataError(f"{data} has start poses: give --scenes to explore, or --episodes")
        elif scenes is not None:
            raise DataError("--scenes: give the questions too, with --data and start poses")
        elif data is not None:
            units = units_of_data(load_open_eqa(data), episodes, setup)
        elif episodes is not None:
            raise DataError("--episodes: give the questions too, with --data open-eqa-v0.json")
        else:
            units = [Unit(setup, seed + k) for k in range(houses)]
        what = "houses" if data is None else "episodes"
        with Progress(
            *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console
        ) as progress:
            task = progress.add_task(what, total=len(units))
            records = run_units(
                units,
                out / "units" if out else None,
                jobs=jobs or os.cpu_count() or 1,
                on_done=lambda name: progress.advance(task),
            )
    except (DataError, LanguageError, ValidationError, OSError, ValueError) as error:
        Console(stderr=True).print(
            f"bench openeqa: {error}", style="red", highlight=False, soft_wrap=True, markup=False
        )
        raise typer.Exit(2) from None
    good = [r for r in records if "error" not in r]
    if good:
        _report(good, console, out, seed)
    for record in [r for r in records if "error" in r][:10]:
        text = f"{record['episode']}: {record['error']}"
        console.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)
    if not good:
        raise typer.Exit(1)


app.command("openeqa")(bench_openeqa)


def _report(
    records: Sequence[dict[str, Any]], console: Console, out: Path | None, seed: int
) -> None:
    """Print the tables, what is missing, and how the judges agree; write all of it."""
    rows = summarised(records, seed)
    print_tables(rows, console)
    missing = [r for r in records if r.get("missing")]
    if missing:
        episodes = len({r["episode"] for r in missing})
        console.print(
            f"{len(missing)} answers missing, about {episodes} episodes; the first: "
            f"{missing[0]['missing']}",
            style="yellow",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    told = agreement(records)
    if told is not None:
        console.print(
            f"Judges: on {told['answers']:.0f} answers rule and model agree on "
            f"{100.0 * told['exact']:.0f} %, within one mark on {100.0 * told['within_one']:.0f} %,"
            f" rank correlation {told['spearman']:.2f}; the model gave {told['missing']:.0f} no "
            "mark.",
            highlight=False,
            soft_wrap=True,
        )
    if out is not None:
        write_json(out / "records.json", records)
        write_csv(out / "records.csv", records)
        write_json(out / "results.json", rows)
        write_csv(out / "results.csv", rows)
        if told is not None:
            write_json(out / "judges.json", told)
        draw_plots(rows, out)
        console.print(f"results: {out}", highlight=False, markup=False, soft_wrap=True)


def _chosen(option: str, given: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the names given, also with commas between them; all if none is."""
    names = [name for text in given or () for name in text.replace(",", " ").split()]
    for name in names:
        _one(option, name, known)
    return tuple(dict.fromkeys(names)) or tuple(known)


def _one(option: str, name: str, known: Sequence[str]) -> str:
    if name not in known:
        raise DataError(f"{option}: {name!r}; one of {', '.join(known)}")
    return name


def _judge(
    name: str, profile: Path | None, prompts: Path | None
) -> Literal["rule", "model", "official"]:
    if _one("--judge", name, ("rule", "model", "official")) == "rule":
        return "rule"
    if profile is None:
        raise DataError(f"--judge {name}: needs a model; give --profile FILE")
    if name == "model":
        return "model"
    if prompts is None:
        raise DataError("--judge official: give --judge-prompts, the `prompts` of OpenEQA")
    OfficialPrompts.load(prompts)
    return "official"


def _profile(path: Path | None) -> str:
    """Return a model profile as JSON ("" for the rules), after seeing that it can be used."""
    if path is None:
        return ""
    profile = load_profile(path)
    build_model(profile)
    return profile.model_dump_json(exclude_unset=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    return run_command(app, "bench openeqa", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
