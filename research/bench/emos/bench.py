"""`bench emos`: Habitat-MAS on generated houses: verified episodes, methods, tables, plots."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

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
from coterie_core.resume_text import ResumeFormat
from coterie_llm import LanguageError, load_profile
from coterie_llm.local import ensure_served
from habitat_bridge.factory import NoiseLevel
from habitat_bridge.prior import PriorMap
from research.bench.common.records import write_csv, write_json
from research.bench.common.tables import print_whole
from research.bench.emos.episodes import (
    FAMILIES,
    Episode,
    EpisodeError,
    Family,
    WorldKind,
    load_episodes,
    save_episodes,
)
from research.bench.emos.goals import GoalProblem
from research.bench.emos.jobs import Job, Results, run_jobs
from research.bench.emos.run import BY_CHANCE, METHODS, Method
from research.bench.emos.scaling import FORMS, Vary, scaling_jobs
from research.bench.emos.tables import draw, print_results, scaling
from research.bench.emos.verified import find_episodes

app = typer.Typer(help="EMOS on Habitat-MAS.", add_completion=False)


def bench_emos(
    episodes: Annotated[
        int, typer.Option(min=1, help="Number of verified episodes per task.")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the houses and of chance.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for episodes, records, PDDL, tables and plots; default: none are written."
        ),
    ] = None,
    task: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=4,
            help="Number of a task of Habitat-MAS, 1 to 4; may be given again; default: all.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Method to measure: {', '.join(METHODS)}; may be given again; default: all."
        ),
    ] = None,
    vary: Annotated[
        str, typer.Option(help="Quantity to vary instead of the method: robots, objects or form.")
    ] = "",
    form: Annotated[
        str, typer.Option(help=f"Format of resumes in a model's prompts: {', '.join(FORMS)}.")
    ] = "json",
    world: Annotated[
        str,
        typer.Option(
            help="Kind of world: embedded, or habitat (the same episodes in habitat-sim)."
        ),
    ] = "embedded",
    prior: Annotated[
        str,
        typer.Option(help="Knowledge that the team begins with: rooms, furniture or everything."),
    ] = "everything",
    noise: Annotated[
        str, typer.Option(help="Noise of the detectors: none, low, normal or high.")
    ] = "none",
    lots: Annotated[
        int,
        typer.Option(
            min=1, help="Number of seeds for each method that draws lots (dealt, random)."
        ),
    ] = 5,
    profile: Annotated[
        Path | None,
        typer.Option(help="Path of a model profile (YAML or JSON); default: the rules decide."),
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Number of processes; 0: one per core.")] = 0,
    pddl: Annotated[bool, typer.Option(help="Write every episode's goal as PDDL, too.")] = False,
) -> None:
    """Run EMOS and its ablations on verified episodes; print the paper's tables with ours."""
    console = Console()
    count = workers or os.cpu_count() or 1
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    families: list[Family] = sorted(set(task or FAMILIES))  # type: ignore[arg-type]
    try:
        methods: list[Method] = [_chosen("--method", name, Method) for name in method or METHODS]
        varied: Vary | None = _chosen("--vary", vary, Vary) if vary else None
        style: ResumeFormat = _chosen("--form", form, ResumeFormat)
        where: WorldKind = _chosen("--world", world, WorldKind)
        known: PriorMap = _chosen("--prior", prior, PriorMap)
        mistakes: NoiseLevel = _chosen("--noise", noise, NoiseLevel)
        told = _profile(profile)
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:
            chosen: list[Episode] = []
            for family in families:
                chosen += _episodes(family, episodes, seed, out, count, bar)
            if not chosen:
                raise EpisodeError("no verified episode was found: try another --seed")
            base = Job(
                chosen[0], "emos", seed, style, told, world=where, prior=known, noise=mistakes
            )
            jobs = (
                list(scaling_jobs(chosen, varied, base))
                if varied
                else [
                    replace(base, episode=one, method=name, seed=lot)
                    for name in methods
                    for one in chosen
                    for lot in range(seed, seed + (lots if name in BY_CHANCE else 1))
                ]
            )
            shown = bar.add_task("episodes by methods", total=len(jobs))
            records = run_jobs(
                jobs,
                Results(out / "records.jsonl" if out else None),
                workers=count,
                on_progress=lambda n, m: bar.update(shown, completed=n, total=m),
            )
    except (EpisodeError, LanguageError, ValidationError, OSError, ValueError) as error:
        Console(stderr=True).print(
            f"bench emos: {error}", style="red", highlight=False, soft_wrap=True, markup=False
        )
        raise typer.Exit(2) from None
    if vary:
        print_whole(scaling(records, vary), console)
    else:
        print_results(records, console)
    for record in [r for r in records if r.get("error")][:10]:
        text = f"{record['episode']} {record['method']}: {record['error']}"
        console.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)
    if out is not None:
        name = f"results_{vary}" if vary else "results"
        name += "" if world == "embedded" else f"_{world}"
        name += "" if (prior, noise) == ("everything", "none") else f"_{prior}_{noise}"
        write_json(out / f"{name}.json", records)
        write_csv(out / f"{name}.csv", [{**r, "goals": json.dumps(r["goals"])} for r in records])
        if not vary:
            draw(records, out)
        if pddl:
            for one in chosen:
                GoalProblem(one).write(out / "pddl" / f"task{one.family}")
        console.print(f"results: {out}", highlight=False, markup=False, soft_wrap=True)


app.command("emos")(bench_emos)


def _episodes(
    family: Family, count: int, seed: int, out: Path | None, workers: int, bar: Progress
) -> list[Episode]:
    """Return verified episodes, from the folder if they were found before."""
    file = out / "episodes" / f"task{family}_seed{seed}.jsonl" if out else None
    kept = load_episodes(file) if file is not None and file.is_file() else []
    shown = bar.add_task(f"verifying episodes of task {family}", total=count)

    def note(found: list[Episode]) -> None:
        bar.update(shown, completed=len(found))
        if file is not None:
            save_episodes(found, file)

    found = find_episodes(family, count, seed, kept=kept, workers=workers, on_found=note)
    bar.update(shown, completed=len(found))
    return found


def _chosen(option: str, name: str, kind: Any) -> Any:
    """Return `name` if it is one of a Literal's values."""
    if name in get_args(kind):
        return name
    raise EpisodeError(f"{option}: {name!r}; one of {', '.join(get_args(kind))}")


def _profile(path: Path | None) -> str:
    """Return a model profile as JSON ("" for the rules)."""
    if path is None:
        return ""
    profile = load_profile(path)
    for one in profile.chain:
        ensure_served(one)  # a local model is served once for all processes
    return profile.model_dump_json(exclude_unset=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    return run_command(app, "bench emos", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
