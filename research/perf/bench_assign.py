"""Speed and worth of the assignment: teams of robots and sub-tasks in a generated house.

Run: python research/perf/bench_assign.py [--seeds 3] [--json FILE]
Cold: with a new toolbox, so that all reach, sight and ways are worked out too; warm: with them
known. Times are of the processor, so that other programs do not spoil them. The greedy plan and the
plan by turns (sub-tasks dealt out in order among those that can do
them) are the baselines of the makespan.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).resolve().parents[2] / folder)
    for folder in (
        "ros2_ws/src/coterie_core",
        "ros2_ws/src/habitat_bridge",
        "ros2_ws/src/emos_planner",
        "tests/fixtures",
    )
]

from coterie_core.geometry import Vec3  # noqa: E402
from coterie_core.resume import Resume  # noqa: E402
from coterie_core.tasks import SubTask, Thing  # noqa: E402
from coterie_execution.geometry.toolbox import Toolbox  # noqa: E402
from coterie_fixtures.plan_times import plan_times  # noqa: E402
from coterie_world.scene import SceneGraph  # noqa: E402
from emos_planner.allocation.solver import assign  # noqa: E402
from habitat_bridge.embedded.world import EmbeddedWorld  # noqa: E402
from habitat_bridge.house.generator import generate_house  # noqa: E402
from habitat_bridge.robots import EMBODIMENTS  # noqa: E402

SIZES = ((2, 5), (5, 10), (10, 20), (20, 50), (50, 100))


def tasks_in(scene: SceneGraph, count: int, rng: random.Random) -> list[SubTask]:
    """Return rearrangements, looks, visits and searches."""
    items = [o for o in scene.objects.values() if o.kind == "item" and 0.0 < max(o.box.size) < 0.35]
    tables = [
        o
        for o in scene.objects.values()
        if o.kind != "item" and any(not r.inside and r.surface.size[0] > 0.4 for r in o.receptacles)
    ]
    rng.shuffle(items)
    out: list[SubTask] = []
    for k, item in enumerate(items):
        thing = Thing(label=item.label.top, id=item.id)
        kind = rng.choice(("move", "move", "detect", "go_to", "search"))
        if len(out) >= count - 1:
            kind = "detect"
        if kind == "move":
            table = rng.choice(tables)
            out.append(SubTask(id=f"pick-{k}", kind="pick", object=thing))
            out.append(
                SubTask(
                    id=f"place-{k}",
                    kind="place",
                    object=thing,
                    receptacle=Thing(label=table.label.top, id=table.id),
                    depends_on=(f"pick-{k}",),
                    same_robot_as=f"pick-{k}",
                )
            )
        elif kind == "search":
            room = rng.choice(sorted(scene.rooms))
            out.append(SubTask(id=f"search-{k}", kind="search", object=thing, rooms=(room,)))
        elif kind == "detect":
            out.append(SubTask(id=f"detect-{k}", kind="detect", object=thing))
        else:
            out.append(SubTask(id=f"go-{k}", kind="go_to", object=thing))
        if len(out) >= count:
            break
    return out[:count]


def by_turns(
    tasks: list[SubTask], toolbox: Toolbox, starts: dict[str, Vec3 | None]
) -> list[SubTask]:
    """Return the sub-tasks dealt out in turn among those that can do them; what nobody can, not."""
    robots, at = list(starts), 0
    who: dict[str, str] = {}
    plan = []
    for task in tasks:
        if task.same_robot_as in who:
            who[task.id] = who[task.same_robot_as]
        else:
            unit = [task, *(t for t in tasks if t.same_robot_as == task.id)]
            for turn in range(len(robots)):
                name = robots[(at + turn) % len(robots)]
                if all(toolbox.estimate(name, t, starts[name]).feasible for t in unit):
                    who[task.id] = name
                    at += turn + 1
                    break
        if task.id in who:
            plan.append(task.model_copy(update={"robot": who[task.id]}))
    return plan


def measure(robots: int, count: int, seeds: int) -> dict[str, float]:
    rows = []
    for seed in range(seeds):
        world = EmbeddedWorld(generate_house(seed, floors=2), look_on_arrival=False)
        scene = world.truth()
        rng = random.Random(seed)
        kinds = sorted(EMBODIMENTS)
        resumes = {
            f"r{k:02}": Resume.of_embodiment(EMBODIMENTS[kinds[k % len(kinds)]])
            for k in range(robots)
        }
        places = [place.position for place in scene.places.values()]
        starts: dict[str, Vec3 | None] = {name: rng.choice(places) for name in resumes}
        tasks = tasks_in(scene, count, rng)
        toolbox = Toolbox(scene, resumes)
        begun = time.process_time()
        share = assign(tasks, starts, toolbox)
        cold = time.process_time() - begun
        begun = time.process_time()
        again = assign(tasks, starts, toolbox)
        warm = time.process_time() - begun
        assert again == share
        greedy = assign(tasks, starts, toolbox, search=False)
        kept = [t for t in share.sub_tasks if t.id in {x.id for x in tasks}]
        dealt = by_turns(tasks, toolbox, starts)
        same = assign([t for t in tasks if t.id in {d.id for d in dealt}], starts, toolbox)
        rows.append(
            {
                "sub-tasks": float(len(kept)),
                "cold [s]": cold,
                "warm [s]": warm,
                "makespan [s]": share.makespan,
                "to greedy": share.makespan / max(greedy.makespan, 1e-9),
                "to by turns": same.makespan / plan_times(dealt, starts, toolbox),
                "hand-overs": len(share.hand_overs) / 2.0,
                "unassigned": float(len(share.unassigned)),
            }
        )
    return {key: statistics.mean(row[key] for row in rows) for key in rows[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {}
    for robots, count in SIZES:
        found = measure(robots, count, options.seeds)
        results[f"{robots} x {count}"] = found
        cells = "  ".join(f"{key} {value:.3g}" for key, value in found.items())
        print(f"{robots:3} robots, {count:3} sub-tasks: {cells}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
