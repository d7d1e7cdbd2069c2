"""`bench reveca`: episodes of cooperative worlds by REVECA, its ablations and baselines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from coterie_cli.commands import run as run_command
from coterie_llm import LanguageError, load_profile
from research.bench.common.records import write_csv, write_json
from research.bench.reveca import hypothesis_tests as claims
from research.bench.reveca.bodies import NAMES
from research.bench.reveca.episodes import ClusterError, Job, play_all
from research.bench.reveca.layouts import tdw_files, tdw_layout
from research.bench.reveca.methods import LAYOUTS, METHODS, REFERENCES, WORLDS
from research.bench.reveca.methods import method as method_of
from research.bench.reveca.plots import draw_all
from research.bench.reveca.tables import print_tables
from reveca_agent.settings import Prior

app = typer.Typer(help="Cooperation under partial observation.", add_completion=False)


class BenchError(RuntimeError):
    """An option cannot be used: says which, what came and what was expected."""


MOST = 1_000_000
DEFAULT = ("reveca", "mhp", "rhp", "coela", "single", "oracle")


def bench_reveca(
    episodes: Annotated[int, typer.Option(help="Number of episodes per world and method.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the first episode.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for results.json, CSV, claims and plots; default: none are written.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            help=f"Method to measure: {', '.join(METHODS)}, or module:factory of your own; may "
            "be given again.",
        ),
    ] = None,
    world: Annotated[
        list[str] | None,
        typer.Option(
            "--world", help=f"World to measure in: {', '.join(WORLDS)}; may be given again."
        ),
    ] = None,
    layouts: Annotated[
        Path | None,
        typer.Option(help="Folder of ThreeDWorld layouts: world 'tdw' is measured, too."),
    ] = None,
    agents: Annotated[
        list[int] | None,
        typer.Option(help=f"Number of agents in a team, 1 to {len(NAMES)}; may be given again."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Number of processes on this machine.")] = 1,
    ray: Annotated[
        str,
        typer.Option(
            help="Address of a Ray cluster ('auto' finds a running one); default: no cluster."
        ),
    ] = "",
    profile: Annotated[
        Path | None,
        typer.Option(help="Path of a model profile (YAML or JSON); default: the rules decide."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Play all that the claims on REVECA are checked on.")
    ] = False,
    floors: Annotated[
        bool,
        typer.Option(
            help="Floors and ceiling are in every table: random answers, nearest move, oracle."
        ),
    ] = True,
    prior: Annotated[
        str,
        typer.Option(
            help="Beliefs of all agents about where objects lie: household (general "
            "knowledge, as the generator has it) or flat (none)."
        ),
    ] = "household",
) -> None:
    """Play episodes in lockstep; print the paper's tables with 95 % intervals of the means.

    Claims on REVECA of which all methods were played are checked. With --out a run that stopped
    goes on where it was.
    """
    console = Console()
    try:
        more = (*(claims.METHODS if check else ()), *(REFERENCES if floors else ()))
        methods = list(dict.fromkeys([*(method or DEFAULT), *more]))
        found = {name: method_of(name) for name in methods}
        if prior not in get_args(Prior):
            raise BenchError(f"--prior: {prior!r}; one of {', '.join(get_args(Prior))}")
        worlds = list(world or ([] if layouts else ["household"]))
        worlds = list(dict.fromkeys([*worlds, *(claims.WORLDS if check else ())]))
        for name in worlds:
            if name not in WORLDS:
                raise BenchError(f"--world: {name!r}; one of {', '.join(WORLDS)}")
        for option, value, least, most in (
            ("--episodes", episodes, 1, MOST),
            ("--seed", seed, 0, MOST),
            ("--jobs", jobs, 1, MOST),
            *(("--agents", count, 1, len(NAMES)) for count in agents or []),
        ):
            if not least <= value <= most:
                raise BenchError(f"{option}: expected {least} to {most}, got {value}")
        if layouts is not None:
            worlds.append(f"{LAYOUTS}{layouts.resolve()}")
            _try_layouts(layouts, range(seed, seed + episodes))
        if out is not None and out.exists() and not out.is_dir():
            raise BenchError(f"--out: {out} is a file; give a folder")
        told = _profile(profile)
        todo = [
            Job(
                place,
                one,
                seed + k,
                found[one].agents or count,
                told if found[one].asks else "",
                cast(Prior, prior),
            )
            for place in worlds
            for count in agents or [2]
            for one in methods
            for k in range(episodes)
        ]
        todo = list(dict.fromkeys(todo))
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        quiet = not console.is_terminal
        with Progress(
            *columns, TimeElapsedColumn(), console=console, transient=True, disable=quiet
        ) as bar:
            shown = bar.add_task("episodes", total=len(todo))
            records = play_all(
                todo,
                cache=out / "episodes" if out else None,
                jobs=jobs,
                ray=ray,
                on_played=lambda: bar.advance(shown),
            )
    except (BenchError, ClusterError, LanguageError, OSError, ValueError) as error:
        Console(stderr=True).print(
            f"bench reveca: {error}", style="red", highlight=False, soft_wrap=True, markup=False
        )
        raise typer.Exit(2) from None
    print_tables(records, console)
    findings = claims.check(records)
    claims.print_claims(findings, console)
    if out is not None:
        write_json(out / "claims.json", claims.as_records(findings))
        write_json(out / "results.json", records)
        write_csv(out / "results.csv", records)
        draw_all(records, out)
        console.print(f"results: {out}", highlight=False, markup=False, soft_wrap=True)


app.command("reveca")(bench_reveca)


def _try_layouts(folder: Path, seeds: range) -> None:
    """Read the layouts that will be played, before anything is played.

    Raises:
        LayoutError: The folder has none, or one is broken.
    """
    files = tdw_files(folder)
    for seed in seeds[: len(files)]:
        tdw_layout(*files[seed % len(files)])


def _profile(path: Path | None) -> str:
    """Return a model profile as JSON; "" for the rules.

    Raises:
        ProfileError: No such file, or no such profile in it.
    """
    if path is None:
        return ""
    read = load_profile(path)
    return "" if read.kind == "rules" else read.model_dump_json(exclude_unset=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    return run_command(app, "bench reveca", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
