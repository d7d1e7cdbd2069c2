"""`./coterie demo`: a team explores a generated house over ROS, and is examined."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped_team
from coterie_bringup.running_team import TeamRun, ended_by_signals
from coterie_bringup.team import Team, load_team
from coterie_bringup.team_models import with_model
from coterie_cli.demo.progress import DemoProgress, Timings
from coterie_cli.demo.quiz import Examiner
from coterie_cli.demo.referee import Examination, bank_of_file, bank_of_house, examination
from coterie_cli.demo.results import DemoRecord
from coterie_cli.figures.report import percent, write_report
from coterie_cli.own_team import own_team, true_house
from coterie_world.scene import SceneGraph
from habitat_bridge.factory import WorldSpec
from habitat_bridge.simulator import WorldError


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the demonstration is asked for; `seed`, `domain`: None takes the team file's."""

    team_file: Path | None = None
    seed: int | None = None
    world: str = "embedded"
    model: str | None = None
    out: Path = Path("out/demo")
    domain: int | None = None


def demo(options: DemoOptions, *, open_report: bool = False) -> int:
    """Run the demonstration; return the exit code.

    Raises:
        CommandError: The team does not come up, or the options do not fit together.
        FileProblem: The team file is wrong.
    """
    timings = Timings()
    team = demo_team(options)
    options.out.mkdir(parents=True, exist_ok=True)
    console = Console()
    record = DemoRecord(
        team=team.name,
        house=team.house_name(),
        seed=team.seed,
        world=team.world.kind,
        live_method=team.aggregator.method,
    )

    with own_team(team, options.domain, console, record.events) as run:
        try:
            scene, examiner = asyncio.run(_main(team, run, record, timings, console))
        except asyncio.CancelledError:
            console.print("demo: interrupted; all processes have ended")
            return 130
    with timings.part("report"):
        tree = examiner.evaluation.tree if examiner.evaluation is not None else None
        report = options.out / "report.html"
        record.timings = {**timings.parts, "in all": timings.total()}
        record.save(options.out / "demo.json")
        write_report(record, scene, report, tree=tree)
    console.print(results_table(record))
    console.print(f"Report: {report}\nFigures: {options.out / 'demo.json'}", highlight=False)
    console.print(f"Ended in {timings.total():.0f} s.", highlight=False)
    if open_report:
        import webbrowser

        webbrowser.open(report.resolve().as_uri())
    return 0


def demo_team(options: DemoOptions) -> Team:
    """Return the demonstration's team with the options applied.

    Raises:
        CommandError: `--world` names no world, or the data of the graph world are missing.
    """
    team = with_model(load_team(options.team_file or shipped_team("demo")), options.model)
    changes: dict[str, Any] = {}
    world = team.world
    if options.world == "graph":
        world = graph_world(options.seed or 0)
        changes["robots"] = tuple(
            r.model_copy(update={"embodiment": "legs", "start": type(r.start)()})
            for r in team.robots
        )
    elif options.world == "habitat":
        world = habitat_world(world)
    elif options.world != "embedded":
        raise CommandError(f"--world {options.world}: expected embedded, graph or habitat")
    if options.seed is not None:
        changes["seed"] = options.seed
        if world.kind != "graph":
            world = world.model_copy(update={"seed": options.seed})
    return team.model_copy(update={**changes, "world": world})


def habitat_world(world: WorldSpec) -> WorldSpec:
    """Return the same house in habitat-sim.

    Raises:
        CommandError: It is not said where habitat-sim is, or the world is no house.
    """
    if world.kind == "graph":
        raise CommandError("--world habitat: the team file's world is a graph; give another --team")
    if not (world.habitat_python or os.environ.get("COTERIE_HABITAT_PYTHON")):
        raise CommandError(
            "--world habitat: set COTERIE_HABITAT_PYTHON to the Python that habitat-sim is "
            "installed in (docs/habitat.md)"
        )
    return world.model_copy(update={"kind": "habitat"})


def graph_world(seed: int) -> WorldSpec:
    """Return a topological house: one of the scans in COTERIE_GRAPHS, chosen by the seed.

    Raises:
        CommandError: There are no such houses on this machine.
    """
    from habitat_bridge.graph import list_scans

    given = os.environ.get("COTERIE_GRAPHS")
    root = Path(os.environ.get("COTERIE_ROOT", "."))
    folder = Path(given) if given else root.resolve().parent / "shared" / "data" / "mp3d_graphs"
    scans: list[str] = []
    with contextlib.suppress(WorldError):
        scans = sorted(list_scans(folder))
    if not scans:
        raise CommandError(
            f"--world graph: no houses in {folder}; set COTERIE_GRAPHS to a folder that holds "
            "connectivity/, objects/ and rooms.json"
        )
    scan = scans[seed % len(scans)]
    return WorldSpec(kind="graph", directory=str(folder), scan=scan, seed=seed)


async def _main(
    team: Team, run: TeamRun, record: DemoRecord, timings: Timings, console: Console
) -> tuple[SceneGraph, Examiner]:
    """Start the team, examine it, end it; a signal ends everything in order."""
    async with ended_by_signals(), run.supervisor.running():
        with timings.part("house and questions"):
            scene, exam = await asyncio.to_thread(_prepare, team)
        record.notes += exam.problems
        with DemoProgress(console) as progress:
            examiner = Examiner(team, run, record, exam, scene.places, timings, progress)
            await run.unless_it_fails(examiner.run())
    return scene, examiner


def _prepare(team: Team) -> tuple[SceneGraph, Examination]:
    scene = true_house(team)
    questions = team.questions
    seed = team.seed * 31 + questions.seed
    if questions.source == "file":
        bank = bank_of_file(team.resolve(questions.path))
    else:
        bank = bank_of_house(scene, seed)
    return scene, examination(bank, train=questions.train, test=questions.count, seed=seed)


def results_table(record: DemoRecord) -> Table:
    """Return the table of methods for the terminal."""
    table = Table(title=f"{len(record.questions)} questions, {len(record.tracks)} robots")
    table.add_column("method")
    table.add_column("right", justify="right")
    table.add_column("random split", justify="right")
    for score in record.scores:
        spread = ""
        if score.random_mean is not None and score.random_std is not None:
            spread = f"{100 * score.random_mean:.0f} ± {100 * score.random_std:.0f} %"
        live = score.method == record.live_method
        style = "bold" if live else None
        title = f"{score.title} (live)" if live else score.title
        table.add_row(title, percent(score.held_out), spread, style=style)
    return table


if __name__ == "__main__":
    sys.exit(demo(DemoOptions()))
