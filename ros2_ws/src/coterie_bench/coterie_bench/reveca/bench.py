"""`bench reveca`: episodes of cooperative worlds by REVECA, its ablations and baselines."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from coterie_bench.command import run as run_command
from coterie_bench.records import mean_std, write_csv, write_json
from coterie_bench.reveca.methods import METHODS, WORLDS
from coterie_core.cooperation import Metrics, run_episode
from coterie_core.language import Decider

app = typer.Typer(help="Cooperation under partial observation.", add_completion=False)
DEFAULT = ("reveca", "single", "no_validation", "always_ask")


def run_one(
    world: str, method: str, seed: int, agents: int = 2, decider: Decider | None = None
) -> dict[str, Any]:
    """Play one episode and return its record.

    Raises:
        KeyError: No such world or method.
    """
    chosen = METHODS[method]
    place = WORLDS[world](chosen.agents or agents)
    team = chosen.make(place, decider)
    metrics = asyncio.run(run_episode(place, team, seed, together=decider is not None))
    return record(world, method, seed, len(place.team), metrics)


def record(world: str, method: str, seed: int, agents: int, metrics: Metrics) -> dict[str, Any]:
    """Return an episode's record."""
    out: dict[str, Any] = {
        "world": world,
        "method": method,
        "seed": seed,
        "agents": agents,
        "success": metrics.success,
        "simulation_steps": metrics.steps,
        "travel_distance": round(metrics.distance, 3),
        "communication_steps": metrics.notes,
        "characters": metrics.characters,
        "total": round(metrics.placed[0] / max(1, metrics.placed[1]), 4),
    }
    for group, (done, whole) in metrics.groups.items():
        out[group] = round(done / max(1, whole), 4)
    return out


def bench_reveca(
    episodes: Annotated[int, typer.Option(min=1, help="Episodes per world and method.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first one.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Where results.json goes.")] = None,
    method: Annotated[
        list[str] | None, typer.Option("--method", help=f"Of {', '.join(METHODS)}; several.")
    ] = None,
    world: Annotated[
        list[str] | None, typer.Option("--world", help=f"Of {', '.join(WORLDS)}; several.")
    ] = None,
    agents: Annotated[int, typer.Option(min=1, max=10, help="Agents in a team.")] = 2,
) -> None:
    """Play episodes in lockstep and print mean steps, distance, messages and characters."""
    methods, worlds = method or list(DEFAULT), world or ["household"]
    for names, known in ((methods, list(METHODS)), (worlds, list(WORLDS))):
        for name in names:
            if name not in known:
                raise typer.BadParameter(f"{name!r}: expected one of {', '.join(known)}")
    records = [
        run_one(place, one, seed + k, agents)
        for place in worlds
        for one in methods
        for k in range(episodes)
    ]
    print_table(records, Console())
    if out is not None:
        write_json(out / "results.json", records)
        write_csv(out / "results.csv", records)


app.command("reveca")(bench_reveca)


def print_table(records: Sequence[dict[str, Any]], console: Console) -> None:
    """Print a line per world and method."""
    table = Table("world", "method", "success", "SS", "TD [m]", "CS", "CC")
    for world, method in dict.fromkeys((r["world"], r["method"]) for r in records):
        rows = [r for r in records if (r["world"], r["method"]) == (world, method)]
        means = [
            mean_std(float(r[name]) for r in rows)[0]
            for name in (
                "success",
                "simulation_steps",
                "travel_distance",
                "communication_steps",
                "characters",
            )
        ]
        table.add_row(
            world,
            method,
            *(f"{value:.{k}f}" for value, k in zip(means, (2, 1, 1, 2, 0), strict=True)),
        )
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this bench; return the exit code."""
    return run_command(app, "bench reveca", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
