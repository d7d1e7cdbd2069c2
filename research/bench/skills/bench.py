"""`bench skills`: tasks done directly and through a lab of real robots' interfaces, and why not."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from coterie_cli.commands import run
from coterie_core.observation import Detection
from coterie_core.skills import Outcome, Skill, SkillResult
from coterie_execution.standpoints import turn_to
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House
from habitat_bridge.robots import load_embodiment
from habitat_bridge.simulator import Start, run_skill
from research.bench.common.records import write_json
from research.bench.common.tables import print_whole
from research.bench.skills.tasks import KINDS, LabTask, make_tasks, trouble

app = typer.Typer(help="Tasks directly and through a lab.", add_completion=False)
ROBOT = "robot"


@dataclass(frozen=True, slots=True)
class Trial:
    """How one task went one way.

    `cause` is the step that failed with its outcome, or what was not so in the end.
    """

    house: int
    task: int
    kind: str
    way: str
    done: bool
    cause: str
    reason: str


@app.command()
def main_command(
    houses: Annotated[int, typer.Option(min=1, max=1000, help="Number of houses.")] = 2,
    tasks: Annotated[int, typer.Option(min=1, max=1000, help="Number of tasks per house.")] = 6,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first house.")] = 300,
    rooms: Annotated[int, typer.Option(min=4, max=25, help="Number of rooms of a house.")] = 6,
    robot: Annotated[str, typer.Option(help="Name of the robot's preset.")] = "slim",
    pace: Annotated[
        float, typer.Option(min=0.5, max=50.0, help="Simulated seconds per second of the lab.")
    ] = 8.0,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder for the results; default: none.")
    ] = None,
) -> None:
    """Do the same tasks in the same houses both ways, and explain the difference by cause."""
    trials: list[Trial] = []
    for number in range(seed, seed + houses):
        house = generate_house(number, floors=1, rooms=rooms)
        trials += run_house(house, robot, tasks, pace)
    console = Console()
    print_whole(success_table(trials), console)
    print_whole(cause_table(trials), console)
    if out is not None:
        write_json(out / "skills.json", [asdict(trial) for trial in trials])


def run_house(house: House, preset: str, count: int, pace: float) -> list[Trial]:
    """Do the tasks of a house both ways."""
    # Interfaces of real robots: only who runs this bench needs them.
    from research.bench.skills.through import lab_robot

    body = load_embodiment(preset)
    direct = _world(house, look=True)
    start = Start(pose=direct.add_robot(ROBOT, body).pose)
    tasks = make_tasks(direct, ROBOT, count, house.seed)
    trials = []
    for k, task in enumerate(tasks):
        step, result = _run(task, direct, lambda skill: run_skill(direct, ROBOT, skill, dt=0.05))
        seen = list(direct.observe(ROBOT).detections)
        trials.append(_trial(direct, house.seed, k, task, "direct", result, step, seen))
        direct.put_down(ROBOT)
    world = _world(house, look=False)
    domain = int(os.environ.get("ROS_DOMAIN_ID", "0"))
    with lab_robot(world, body, start, domain=domain, pace=pace) as (commander, drop):
        for k, task in enumerate(tasks):
            step, result = _run(task, world, commander.do)
            seen = commander.detections()
            trials.append(_trial(world, house.seed, k, task, "lab", result, step, seen))
            drop()
    return trials


def _run(
    task: LabTask, world: EmbeddedWorld, do: Callable[[Skill], SkillResult]
) -> tuple[int, SkillResult]:
    """Do a task's steps up to the first that fails; return its number and how it ended.

    The robot faces what its hand does, by where it truly stands.
    """
    step, result = -1, SkillResult(Outcome.SUCCEEDED)
    while result.ok and step + 1 < len(task.steps):
        step += 1
        skill, pose = task.steps[step], world.state(ROBOT).pose
        if (turn := turn_to(skill, pose.position, pose.yaw)) is not None:
            do(turn)
        result = do(skill)
    return step, result


def _world(house: House, *, look: bool) -> EmbeddedWorld:
    noise = DetectorNoise.normal()
    return EmbeddedWorld(house, seed=house.seed, noise=noise, look_on_arrival=look, threads=1)


def _trial(
    world: EmbeddedWorld,
    house: int,
    number: int,
    task: LabTask,
    way: str,
    result: SkillResult,
    step: int,
    seen: list[Detection],
) -> Trial:
    name = type(task.steps[step]).__name__
    if not result.ok:
        cause, reason = f"{name}: {result.outcome.name}", result.reason
    else:
        reason = trouble(world, ROBOT, task, seen)
        cause = f"after {name}" if reason else ""
    return Trial(house, number, task.kind, way, not cause, cause, reason)


def success_table(trials: Sequence[Trial]) -> Table:
    """Return how many tasks of each kind were done each way."""
    table = Table(title="Tasks done, directly and through the lab")
    for column in ("task", "tasks", "direct", "lab", "difference [points]"):
        table.add_column(column, justify="left" if column == "task" else "right")
    for kind in (*KINDS, "all"):
        chosen = [t for t in trials if kind in (t.kind, "all")]
        ways = {w: [t.done for t in chosen if t.way == w] for w in ("direct", "lab")}
        if not ways["lab"]:
            continue
        share = {w: 100.0 * sum(done) / len(done) for w, done in ways.items()}
        table.add_row(
            kind,
            str(len(ways["lab"])),
            f"{share['direct']:.0f} %",
            f"{share['lab']:.0f} %",
            f"{share['lab'] - share['direct']:+.0f}",
        )
    return table


def cause_table(trials: Sequence[Trial]) -> Table:
    """Return why tasks that were done one way were not done the other."""
    by_task: dict[tuple[int, int], dict[str, Trial]] = {}
    for trial in trials:
        by_task.setdefault((trial.house, trial.task), {})[trial.way] = trial
    causes: Counter[tuple[str, str, str]] = Counter()
    reasons: dict[tuple[str, str, str], str] = {}
    for ways in by_task.values():
        if len({trial.done for trial in ways.values()}) < 2:
            continue
        failed = next(trial for trial in ways.values() if not trial.done)
        key = (f"only {'direct' if failed.way == 'lab' else 'lab'}", failed.kind, failed.cause)
        causes[key] += 1
        reasons.setdefault(key, failed.reason)
    table = Table(title="What explains the difference")
    for column in ("done", "task", "what failed the other way", "times", "for example"):
        table.add_column(column)
    for key, count in causes.most_common():
        table.add_row(*key, str(count), reasons[key])
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench's command line."""
    return run(app, "coterie bench skills", arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
