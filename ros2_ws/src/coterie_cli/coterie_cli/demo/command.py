"""`./coterie demo`: a team explores and maps a house, and is asked what it then knows."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped_team
from coterie_bringup.running_team import TeamRun
from coterie_bringup.signals import ended_by_signals
from coterie_bringup.team import Team, load_team
from coterie_bringup.team_models import with_model
from coterie_cli.commands import command
from coterie_cli.demo import telling
from coterie_cli.demo.progress import DemoProgress, Timings
from coterie_cli.demo.questions import Asked, questions_of_house
from coterie_cli.demo.record import DemoRecord
from coterie_cli.demo.referee import Examination, bank_of_file, bank_of_house, examination
from coterie_cli.options import TEAM, Domain, Model, Out
from coterie_cli.own_team import own_team, true_house
from coterie_world.scene import SceneGraph, save
from habitat_bridge.factory import WorldSpec

if TYPE_CHECKING:
    from coterie_cli.demo.map_watch import Shown

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the demonstration is asked for."""

    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Seed of the house and the start places; default: that of the team file."
        ),
    ] = None
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of hops per robot; default: the team file's.")
    ] = None
    world: Annotated[
        str,
        typer.Option(
            help="Kind of world: embedded (generated house) or habitat (the same house in it)."
        ),
    ] = "embedded"
    ask: Annotated[
        list[str] | None,
        typer.Option(
            help="Question to ask when the house is explored; may be given again; default: chosen "
            "by the house."
        ),
    ] = None
    find: Annotated[
        list[str] | None,
        typer.Option(
            help="Request to find objects by; may be given again; default: chosen by the house."
        ),
    ] = None
    voting: Annotated[
        bool,
        typer.Option(
            "--voting",
            help="Put the team file's number of questions at the end, and compare the ways of "
            "making one answer of the robots' answers.",
        ),
    ] = False
    team: Annotated[
        Path | None, typer.Option(**TEAM, help="Path or name of the team file; default: home.")
    ] = None
    model: Model = None
    out: Out = Path("out/demo")
    domain: Domain = None
    show: Annotated[bool, typer.Option("--open", help="Open the picture of the map.")] = False


@command(app, "demo", DemoOptions)
def demo(options: DemoOptions) -> int:
    """Run a demonstration: robots explore a generated house, map it, and are asked about it."""
    team = demo_team(options)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--out {options.out}: {error.strerror}") from None
    console, timings = Console(), Timings()
    record = DemoRecord(team.name, team.house_name(), team.seed, team.aggregator.method)
    record.asked = [Asked(words) for words in options.ask or ()]
    record.asked += [Asked(words, find=True) for words in options.find or ()]
    with own_team(team, options.domain, console, record.notes) as run:
        try:
            truth, shown = asyncio.run(_main(run, record, timings, console, options.voting))
        except asyncio.CancelledError:
            console.print("demo: interrupted; all processes have ended")
            return 130
    record.seconds = {**timings.parts, "in all": timings.total()}
    _leave(record, truth, shown, options.out, console)
    if options.show:
        import webbrowser

        webbrowser.open((options.out / "map.png").resolve().as_uri())
    return 0 if all(asked.kind != "none" for asked in record.asked) else 1


def demo_team(options: DemoOptions) -> Team:
    """Return the team with the options applied.

    Raises:
        CommandError: It has no robots that explore, the world is unknown, or nothing is asked
            about a real one.
    """
    team = with_model(load_team(options.team or shipped_team("home")), options.model)
    where = team.file or options.team
    if not team.explorers:
        raise CommandError(f"{where}: no robot with `role: explorer`: nobody would look around")
    if team.real and not (options.ask or options.find):
        raise CommandError(
            f"{where}: nobody knows what is in a real house; say what to ask, for example "
            '--ask "Is there a mug?" --find "a sofa"'
        )
    if options.voting and team.real and team.questions.source != "file":
        raise CommandError(
            f"{where}: --voting scores answers: give questions with their truth, as "
            "`questions: {source: file, path: FILE}`"
        )
    world = team.world
    if options.world == "habitat":
        world = habitat_world(world)
    elif options.world != "embedded":
        raise CommandError(f"--world {options.world}: expected embedded or habitat")
    changes: dict[str, Any] = {}
    if options.seed is not None:
        changes["seed"] = options.seed
        world = world.model_copy(update={"seed": options.seed})
    if options.steps is not None:
        changes["exploration"] = team.exploration.model_copy(update={"steps": options.steps})
    return team.model_copy(update={**changes, "world": world})


def habitat_world(world: WorldSpec) -> WorldSpec:
    """Return the same house in habitat-sim.

    Raises:
        CommandError: It is not said where habitat-sim is, or the world is no house.
    """
    if world.kind == "own":
        raise CommandError("--world habitat: the team file's world is its own; give another --team")
    if not (world.habitat_python or os.environ.get("COTERIE_HABITAT_PYTHON")):
        raise CommandError(
            "--world habitat: set COTERIE_HABITAT_PYTHON to the Python that habitat-sim is "
            "installed in (docs/habitat.md)"
        )
    return world.model_copy(update={"kind": "habitat"})


async def _main(
    run: TeamRun, record: DemoRecord, timings: Timings, console: Console, voting: bool
) -> tuple[SceneGraph | None, Shown]:
    """Start the team, show what it does, end it; a signal ends everything in order."""
    from coterie_cli.demo.guide import Guide

    async with ended_by_signals(), run.supervisor.running():
        with timings.part("house"):
            truth = None if run.team.real else await asyncio.to_thread(true_house, run.team)
            exam = _examination(run.team, truth) if voting else None
        if truth is not None:
            telling.show_house(truth, console)
            record.asked = record.asked or questions_of_house(
                truth, run.team.seed, mapped=run.team.mapper is not None
            )
        with DemoProgress(console) as progress:
            guide = Guide(run, record, timings, progress)
            await run.unless_it_fails(guide.lead(exam))
    return truth, guide.shown


def _examination(team: Team, truth: SceneGraph | None) -> Examination:
    questions = team.questions
    seed = team.seed * 31 + questions.seed
    if truth is None or questions.source == "file":
        bank = bank_of_file(team.resolve(questions.path))
    else:
        bank = bank_of_house(truth, seed)
    return examination(bank, train=questions.train, test=questions.count, seed=seed)


def _leave(
    record: DemoRecord, truth: SceneGraph | None, shown: Shown, out: Path, console: Console
) -> None:
    """Tell what happened; write record, map and picture."""
    scene = shown.scene or truth or SceneGraph()
    telling.show_ways(record, scene, console)
    if shown.scene is not None:
        telling.show_things(shown.scene, console)
    telling.show_answers(record, scene, console)
    if record.scores:
        telling.show_voting(record, console)
    record.save(out / "demo.json", shown.scene)
    files = {"map.png": "the house and the robots' ways", "demo.json": "all that was said"}
    if shown.scene is not None:
        save(shown.scene, out / "map.json")
        files["map.json"] = f'the map: ./coterie find "..." --map {out / "map.json"}'
        from coterie_cli.figures.team_map import draw

        draw(shown, record.ways, telling.marked(record), out / "map.png")
    else:
        from coterie.floor_plan import Plan, draw_plans

        plan = Plan(scene, ways=record.ways, stops=True, items=False)
        draw_plans(plan).savefig(out / "map.png", dpi=130)
    console.print()
    for name, what in files.items():
        console.print(f"{out / name}: {what}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"Ended in {record.seconds['in all']:.0f} s.", highlight=False)
