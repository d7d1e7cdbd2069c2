"""`./coterie tour`: a team explores a house and maps it, and is asked what it then knows."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped_team
from coterie_bringup.running_team import TeamRun, ended_by_signals
from coterie_bringup.spinning import in_loop
from coterie_bringup.team import Team, load_team
from coterie_bringup.team_client import Operator, exploration_goal, operating
from coterie_bringup.team_models import with_model
from coterie_cli.ask import plain, way_length
from coterie_cli.demo.command import habitat_world
from coterie_cli.demo.progress import DemoProgress, Timings
from coterie_cli.figures.tour import draw
from coterie_cli.own_team import own_team, true_house
from coterie_cli.tour.map_watch import MapWatch, Shown
from coterie_cli.tour.record import Asked, TourRecord, questions_of_house
from coterie_core.observation import Observation
from coterie_core.questions import Question, percent
from coterie_ros.clients import GoalRejected, NoAnswer
from coterie_world.scene import SceneGraph, save

NODES_UP = 180.0
"""How long nodes may take until they can be spoken to [s]."""
MAP_PATIENCE = 90.0
"""How long the mapper may take for frames that wait when the robots are done [s]."""
ANSWER_PATIENCE = 300.0
"""How long one answer may take: a robot may go and look for it [s]."""
_LIMIT = 10
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class TourOptions:
    """What `./coterie tour` is asked for.

    `team_file`: None: config/teams/home.yaml. `seed`, `steps`, `domain`: None: the team file's.
    `ask`, `find`: questions and requests; none of either: some chosen from the house.
    """

    team_file: Path | None = None
    seed: int | None = None
    steps: int | None = None
    world: str = "embedded"
    model: str | None = None
    out: Path = Path("out/tour")
    domain: int | None = None
    ask: tuple[str, ...] = ()
    find: tuple[str, ...] = ()


def tour(options: TourOptions) -> int:
    """Run a tour; return the exit code: 0 if everything was answered.

    Raises:
        CommandError: The team cannot make such a tour, or does not come up.
        FileProblem: The team file is wrong.
    """
    team = tour_team(options)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--out {options.out}: {error.strerror}") from None
    console = Console()
    timings = Timings()
    record = TourRecord(team.name, team.house_name(), team.seed)
    record.asked = [Asked(words) for words in options.ask]
    record.asked += [Asked(words, find=True) for words in options.find]

    with own_team(team, options.domain, console, record.notes) as run:
        try:
            shown = asyncio.run(_main(run, record, timings, console))
        except asyncio.CancelledError:
            console.print("tour: interrupted; all processes have ended")
            return 130
    record.seconds = {**timings.parts, "in all": timings.total()}
    _leave(record, shown, options.out, console)
    return 0 if all(asked.kind != "none" for asked in record.asked) else 1


def tour_team(options: TourOptions) -> Team:
    """Return the team with the options applied.

    Raises:
        CommandError: It has no mapper or no robots that explore, the world is unknown, or nothing
            is asked about a real one.
    """
    team = with_model(load_team(options.team_file or shipped_team("home")), options.model)
    where = team.file or options.team_file
    if team.mapper is None:
        raise CommandError(f"{where}: no `mapper`; add `mapper: {{}}`, as home.yaml has it")
    if not team.explorers:
        raise CommandError(f"{where}: no robot with `role: explorer`: nobody would look around")
    if team.real and not (options.ask or options.find):
        raise CommandError(
            f"{where}: nobody knows what is in a real house; say what to ask, for example "
            '--ask "Is there a mug?" --find "a sofa"'
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


async def _main(run: TeamRun, record: TourRecord, timings: Timings, console: Console) -> Shown:
    """Start the team, lead it through the tour, end it; a signal ends everything in order."""
    shown: list[Shown] = []
    async with ended_by_signals(), run.supervisor.running():
        if not record.asked:
            with timings.part("house"):
                truth = await asyncio.to_thread(true_house, run.team)
            record.asked = questions_of_house(truth, run.team.seed)
        with DemoProgress(console) as progress:
            await run.unless_it_fails(_lead(run, record, timings, progress, shown))
    return shown[0]


async def _lead(
    run: TeamRun,
    record: TourRecord,
    timings: Timings,
    progress: DemoProgress,
    shown: list[Shown],
) -> None:
    robots = [robot.name for robot in run.team.explorers]
    with operating(
        robots, domain=run.domain, namespace=run.team.namespace, environment=run.environment
    ) as operator:
        operator.on_observation = partial(_note_way, record)
        watch = MapWatch(operator)
        with timings.part("nodes up"):
            progress.begin("starting", 1)
            missing = await in_loop(operator, operator.wait_for_team(NODES_UP))
            if missing:
                raise CommandError(_not_up(run, missing), exit_code=1)
            await in_loop(operator, watch.start())
            progress.finish("starting", "all nodes are up")
        with timings.part("exploration"):
            await asyncio.gather(
                *(_explore(run.team, operator, robot, record, progress) for robot in robots)
            )
        with timings.part("mapping what is left"):
            progress.begin("mapping", 1)
            record.mapper = await in_loop(operator, watch.settled(MAP_PATIENCE))
            scene = watch.shown.scene
            if scene is None:
                raise CommandError(_not_up(run, ["the map"]), exit_code=1)
            record.things = len(scene.objects)
            frames = record.mapper.get("frames", 0)
            progress.finish("mapping", f"{record.things} things from {frames} images")
        with timings.part("questions"):
            progress.begin("asking", len(record.asked))
            for number, asked in enumerate(record.asked):
                progress.show("asking", number, asked.text)
                await _ask(operator, asked)
            progress.finish("asking", f"{len(record.asked)} asked")
        # Whoever went to look has added to the map.
        await in_loop(operator, watch.settled(10.0))
        shown.append(watch.shown)


async def _explore(
    team: Team, operator: Operator, robot: str, record: TourRecord, progress: DemoProgress
) -> None:
    limits = team.exploration
    goal = exploration_goal(limits)
    progress.begin(robot, limits.steps or 100)

    def on_feedback(feedback: Any) -> None:
        done = feedback.steps if limits.steps else round(100 * feedback.coverage)
        progress.show(robot, done, f"{feedback.objects} things, {feedback.rooms} rooms")

    try:
        result = await in_loop(operator, operator.explore(robot, goal, on_feedback))
    except (GoalRejected, NoAnswer) as error:
        record.notes.append(f"{robot}: exploration failed: {error}")
        progress.finish(robot, f"failed: {error}")
        return
    if not result.success:
        record.notes.append(f"{robot}: {result.reason}")
    progress.finish(
        robot, f"{result.objects} things, {result.rooms} rooms, {result.distance:.0f} m"
    )


def _note_way(record: TourRecord, observation: Observation) -> None:
    record.ways.setdefault(observation.robot, []).append(observation.pose.position)


async def _ask(operator: Operator, asked: Asked) -> None:
    begin = time.monotonic()
    try:
        if asked.find:
            asked.take(await in_loop(operator, operator.find(asked.text, _LIMIT, 60.0)))
        else:
            question = Question(f"tour-{uuid.uuid4().hex[:12]}", "", "", asked.text)
            asked.take(await in_loop(operator, operator.ask(question, ANSWER_PATIENCE)))
    except (NoAnswer, GoalRejected) as error:
        asked.take(str(error))
    asked.seconds = time.monotonic() - begin


def _not_up(run: TeamRun, missing: list[str]) -> str:
    words = [f"not there after {NODES_UP:.0f} s: {', '.join(missing)}"]
    for program in run.supervisor.programs:
        words += [f"  {program.name}: {x}" for x in run.supervisor.last_lines(program.name)[-3:]]
    return "\n".join([*words, f"  logs: {run.directory / 'logs'}"])


def _leave(record: TourRecord, shown: Shown, out: Path, console: Console) -> None:
    """Print the table; write record, map and picture."""
    console.print(results_table(record, shown.scene))
    assert shown.scene is not None
    record.save(out / "tour.json", shown.scene)
    save(shown.scene, out / "map.json")
    draw(shown, record.ways, marked(record), out / "map.png")
    for name, what in (
        ("map.png", "what RViz shows"),
        ("map.json", f'the map: ./coterie find "..." --map {out / "map.json"}'),
        ("tour.json", "questions, answers, evidence"),
    ):
        console.print(f"{out / name}: {what}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"Ended in {record.seconds['in all']:.0f} s.", highlight=False)


def marked(record: TourRecord) -> dict[str, str]:
    """Return the things that answers rest on -> numbers of the questions."""
    numbers: dict[str, str] = {}
    for number, asked in enumerate(record.asked, 1):
        for id_ in asked.objects[:_SHOWN]:
            numbers[id_] = f"{numbers[id_]},{number}" if id_ in numbers else str(number)
    return numbers


def results_table(record: TourRecord, scene: SceneGraph | None) -> Table:
    """Return questions, answers and what they rest on as a table."""
    title = f"{record.things} things on the map of {record.house}"
    table = Table(title=title, show_lines=True)
    for name in ("", "question", "answer", "truth", "rests on"):
        table.add_column(name, overflow="fold", ratio=2 if name == "rests on" else None)
    for number, asked in enumerate(record.asked, 1):
        style = "red" if asked.kind == "none" else "yellow" if asked.guessed else "green"
        answer = Text(plain(asked.answer), style)
        if asked.guessed:
            answer.append(" (a guess)", "dim")
        elif asked.sure is not None:
            answer.append(f" ({percent(asked.sure)} sure)", "dim")
        lines = [_where(id_, scene) for id_ in asked.objects[:_SHOWN]]
        if len(asked.objects) > _SHOWN:
            lines.append(f"and {len(asked.objects) - _SHOWN} more")
        if asked.frames:
            lines.append(f"images {', '.join(plain(name) for name in asked.frames[:3])}")
        if asked.path:
            lines.append(f"a robot went to look: {way_length(asked.path):.1f} m")
        if asked.because and asked.kind != "find":
            lines += [plain(line) for line in asked.because.splitlines()]
        evidence = Text("\n".join(lines), "dim")
        question, truth = Text(plain(asked.text)), Text(plain(asked.truth))
        table.add_row(str(number), question, answer, truth, evidence)
    return table


def _where(id_: str, scene: SceneGraph | None) -> str:
    thing = scene.objects.get(id_) if scene is not None else None
    if scene is None or thing is None:
        return plain(id_)
    x, y, z = thing.box.center
    room = scene.rooms.get(thing.room)
    place = f"{plain(room.name)} " if room is not None else ""
    return f"{plain(thing.label.top)}, {place}({x:.1f}, {y:.1f}, {z:.1f})"
