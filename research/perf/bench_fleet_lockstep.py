"""What a team of up to 1000 robots costs without ROS: questions, assignment, prompts, memory.

    ./coterie setup; source .venv/setup.bash; source ros2_ws/install/setup.bash
    python research/perf/bench_fleet_lockstep.py --robots 1,3,10,30,100,300,1000 --out out/fleet

Robots answer from memories that each hold one room of a generated house, in turn (no exploration);
their answers are aggregated by vote and, up to `--debate` robots, by a debate with the rules. Work
is assigned to robots that stand anywhere in the house: a fixed number of sub-tasks, and one per
robot. Prompts are those that a model would be sent to split a task with a sub-task per robot, for
all of them. Times are of the processor, so that other programs do not spoil them. Writes
lockstep.json, and adds the plot fleet_lockstep.png.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

from bench_assign import tasks_in
from growth import draw, table
from rich.console import Console

from cam_aggregator.registry import make_aggregator
from coterie_core.geometry import Vec3
from coterie_core.resume import Resume
from coterie_core.tasks import SubTask
from coterie_execution.geometry.toolbox import Toolbox
from coterie_llm import RulesModel, estimate_tokens
from coterie_requests.common_sense import load_common_sense
from coterie_requests.debate import DebateState, DebateTurn, Utterance
from coterie_world.scene import SceneGraph
from emos_planner.allocation.solver import assign
from emos_planner.leader.leader import Leader
from emos_planner.leader.options import LeaderOptions
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.robots import EMBODIMENTS
from mele_explorer.answering import Answerer
from mele_explorer.bank import QuestionBank

sys.path += [str(Path(__file__).resolve().parents[2] / folder) for folder in ("", "tests/fixtures")]
from coterie_fixtures.explorations import oracle_run
from research.bench.emos.counting import CountingDecider

Row = dict[str, Any]
QUESTIONS, FIXED = 20, 50
KINDS = ("wheels", "legs", "slim", "air")
FIGURES = (
    "memory per robot [kB]",
    "answered per s",
    "vote [ms]",
    "confidence vote [ms]",
    "debate by rules [ms]",
    "tokens of a debate's last turn",
    "turns of a debate",
    "assign 50 sub-tasks [s]",
    "assign one for each [s]",
    "one leader: tokens of a prompt",
)


class AsAModel(CountingDecider):
    """Counts the prompts that a model would get; the rule replies."""

    @property
    def rule_only(self) -> bool:
        """Whether no model would be asked."""
        return False


def questions(truth: SceneGraph, robots: int, debated: bool) -> Row:
    """Return how fast robots answer and how long putting their answers together takes."""
    rooms = [room.name for room in truth.rooms.values()]
    bank = [item.question for item in QuestionBank.from_graph(truth, 0).items][:QUESTIONS]
    sense = load_common_sense()
    gc.collect()
    tracemalloc.start()
    names = [f"r{k}" for k in range(robots)]
    team = [
        Answerer(oracle_run(truth, rooms[k % len(rooms)], name).memory, sense)
        for k, name in enumerate(names)
    ]
    row: Row = {"memory per robot [kB]": tracemalloc.get_traced_memory()[0] / robots / 1e3}
    tracemalloc.stop()
    begin = time.process_time()
    answers = [[one.answer_by_rule(question) for one in team] for question in bank]
    row["answered per s"] = len(bank) / (time.process_time() - begin)
    for title, method, limit in (
        ("vote", "majority_vote", True),
        ("confidence vote", "confidence_vote", True),
        ("debate by rules", "debate", debated),
    ):
        if limit:
            some = 2 if method == "debate" else len(bank)
            aggregator = make_aggregator(method)
            begin = time.process_time()
            for question, given in zip(bank[:some], answers, strict=False):
                aggregator.decide(question, given, names)
            row[f"{title} [ms]"] = 1000.0 * (time.process_time() - begin) / some
    said = tuple(
        Utterance(one.robot, turn, one.yes, one.confidence, one.evidence.kind, "I was not there")
        for turn in range(2)
        for one in answers[0]
    )
    state = DebateState("r0", bank[0], answers[0][0], "", said, final=True)
    prompt = DebateTurn().prompt(state)
    row["tokens of a debate's last turn"] = sum(estimate_tokens(m.text) for m in prompt)
    row["turns of a debate"] = 3 * robots
    return row


def leading(truth: SceneGraph, robots: int) -> Row:
    """Return how long assignment takes, and what a model would be sent."""
    rng = random.Random(0)
    resumes = {
        f"r{k}": Resume.of_embodiment(EMBODIMENTS[KINDS[k % len(KINDS)]]) for k in range(robots)
    }
    resumes = {name: one.model_copy(update={"robot": name}) for name, one in resumes.items()}
    places = [place.position for place in truth.places.values()]
    starts: dict[str, Vec3 | None] = {name: rng.choice(places) for name in resumes}
    toolbox = Toolbox(truth, resumes)
    rooms = list(truth.rooms)
    each = [
        SubTask(id=f"go-{k}", kind="go_to", rooms=(rooms[k % len(rooms)],)) for k in range(robots)
    ]
    row: Row = {}
    for title, tasks in (("50 sub-tasks", tasks_in(truth, FIXED, rng)), ("one for each", each)):
        begin = time.process_time()
        assign(tasks, starts, toolbox)
        row[f"assign {title} [s]"] = time.process_time() - begin
    words = "visit all rooms and look at all mugs, plates and books"
    decider = AsAModel(RulesModel())
    options = LeaderOptions().model_copy(update={"group_size": 10**6})
    leader = Leader(decider, truth, resumes, options=options)
    asyncio.run(leader.discuss("t", words, starts))
    cost = decider.costs["emos.split_task"]
    row["one leader: tokens of a prompt"] = cost.prompt / cost.times
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--robots", default="1,3,10,30,100,300,1000")
    parser.add_argument("--debate", type=int, default=100, help="largest team that debates")
    parser.add_argument("--out", type=Path, default=Path("out/fleet"))
    options = parser.parse_args()
    world = EmbeddedWorld(generate_house(3, floors=3, rooms=25), look_on_arrival=False)
    truth = world.truth()
    rows: list[Row] = []
    options.out.mkdir(parents=True, exist_ok=True)
    for robots in map(int, options.robots.split(",")):
        row: Row = {"robots": robots, "load": os.getloadavg()[0]}
        row |= questions(truth, robots, robots <= options.debate)
        row |= leading(truth, robots)
        rows.append(row)
        print(json.dumps(row), flush=True)
        (options.out / "lockstep.json").write_text(json.dumps({"rows": rows}, indent=1))
    Console().print(table("in lockstep", rows, FIGURES))

    def line(*figures: str) -> dict[str, list[tuple[float, float]]]:
        return {f: [(row["robots"], row[f]) for row in rows if f in row] for f in figures}

    panels = {
        "answers put together": line("vote [ms]", "confidence vote [ms]", "debate by rules [ms]"),
        "questions that all answer": line("answered per s"),
        "assignment": line("assign 50 sub-tasks [s]", "assign one for each [s]"),
        "tokens of one prompt": line(
            "one leader: tokens of a prompt",
            "tokens of a debate's last turn",
        ),
        "turns of a debate": line("turns of a debate"),
        "memory per robot": line("memory per robot [kB]"),
    }
    draw(panels, options.out / "fleet_lockstep.png")


if __name__ == "__main__":
    main()
