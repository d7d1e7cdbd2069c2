"""Tasks of a team on three computers that lose one another: how they end, and what acted twice.

python research/perf/bench_hosts_tasks.py [--discovery server] [--cuts 5,30,120] [--keep FOLDER]

The computers are those of `bench_hosts.py`, and it needs root as that does. `base` runs the world
and the leader, `cart` one robot's worker, `desk` the other's; tasks are given at `base`. When a
robot has begun to carry, its computer's link is cut, loses one frame in five, or its power goes.
The team ends in order then, and goes on. A line says how each task ended, and after how long; the
exit code is 1 where one did not end, was claimed though it is not so, or a goal was acted on twice.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

from bench_hosts import COTERIE, NAMES, UP, Bench, faults, options, run

from coterie_fixtures.machines import wait_for

HOSTS = {"slim": "cart", "walker": "desk"}
TEAM = """\
name: crew
world: {{kind: embedded, seed: 31, floors: 1, noise: none}}
mode: real_time
seed: 31
robots:
  - {{name: slim, embodiment: slim, role: worker}}
  - {{name: walker, embodiment: legs, role: worker}}
leader: {{prior_map: everything}}
domain: 42
hosts:
  base: {{address: 10.77.0.1, runs: [team]}}
  cart: {{address: 10.77.0.2, robots: [slim]}}
  desk: {{address: 10.77.0.3, robots: [walker]}}
discovery: {{kind: {discovery}}}
"""
TASKS = (
    ("mug", "kitchen"),
    ("book", "living room"),
    ("mug", "living room"),
    ("book", "kitchen"),
    ("mug", "kitchen"),
    ("book", "living room"),
)
"""What is brought where, one after another: each can be done, whatever became of the one before."""
GOALS = {"kitchen": "kitchen counter", "living room": "sofa"}
ON = {"kitchen": "counter", "living room": "sofa"}
TASK = 400.0
"""Longest that a task may take, besides the cut [s]."""
ENDS = {0: "DONE", 1: "not done", 3: "in part"}


class Task:
    """A task given at `base`, and who carries."""

    def __init__(self, bench: Bench, number: int, thing: str, room: str) -> None:
        self.bench, self.thing, self.room = bench, thing, room
        self.log = f"do-{number}.log"
        words = f"Bring a {thing} to the {GOALS[room]}"
        self.begin = time.monotonic()
        self.process = bench.net["base"].start(
            [*COTERIE, "do", words, "--out", f"do-{number}"], self.log
        )

    def carrier(self) -> str:
        """Wait until a robot has something in its hand; return its name."""
        found: list[str] = []

        def carries() -> bool:
            if self.process.poll() is not None:
                raise AssertionError(f"it ended first: {self.said()[-300:]}")
            found[:] = re.findall(r"(slim|walker) did pick up", self.said())
            return bool(found)

        wait_for(carries, TASK, "a robot to take it")
        return found[0]

    def end(self, fault: str, seconds: float = 0.0) -> str:
        """Wait for its end; note how it ended."""
        report, what = self.bench.report, f"bring a {self.thing} to the {GOALS[self.room]}"
        try:
            code = self.process.wait(TASK + seconds)
        except subprocess.TimeoutExpired:
            report.note(fault, what, f"has not ended: {self.said()[-300:]}", good=False)
            self.process.kill()
            return ""
        end = ENDS.get(code, f"exit code {code}")
        took = time.monotonic() - self.begin
        words = "" if code == 0 else f": {' '.join(self.said().split())[-240:]}"
        report.note(fault, what, f"{end}, {took:.0f} s{words}", good=code in ENDS)
        return end

    def said(self) -> str:
        """Return what the command has said so far."""
        return self.bench.net["base"].said(self.log)


def world(bench: Bench) -> dict[str, Any]:
    """Return the simulated house as the world's node has kept it: truth that no robot reads."""
    (file,) = (bench.net["base"].folder / "state").glob("runs/*/world/world.json")
    kept: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return kept


def is_there(bench: Bench, thing: str, room: str) -> bool:
    """Tell whether such a thing stands on the goal in a room in truth, by the names of things."""
    return any(
        name.startswith(thing)
        and one.get("room") == room.replace(" ", "-")
        and str(one.get("support")).startswith(ON[room])
        for name, one in world(bench)["things"].items()
    )


def cut(bench: Bench, task: Task, fault: str, seconds: float) -> str:
    """Cut the link of the robot that carries; return how the task ended."""
    host = HOSTS[task.carrier()]
    bench.net.cut(host)
    time.sleep(seconds)
    state = "ended" if task.process.poll() is not None else "goes on"
    bench.net.mend(host)
    bench.report.note(fault, f"the task at the end of the cut of {host}", state)
    return task.end(fault, seconds)


def lossy(bench: Bench, task: Task, fault: str, _: float) -> str:
    """Lose one frame in five of the robot that carries; return how the task ended."""
    with bench.net.lossy(HOSTS[task.carrier()], 0.2):
        return task.end(fault)


def off(bench: Bench, task: Task, fault: str, _: float) -> str:
    """Take the power of the robot's computer away, and switch it on again."""
    host = HOSTS[task.carrier()]
    bench.net[host].power_off()
    time.sleep(5.0)
    bench.net[host].power_on()
    with bench.report.timed(fault, f"{host} is up again"):
        bench.start(host)
    return task.end(fault)


def down(bench: Bench, task: Task, fault: str, _: float) -> str:
    """End every host's share in the midst of a task, and go on with both."""
    net, report = bench.net, bench.report
    task.carrier()
    for name in NAMES:
        done = net[name].run([*COTERIE, "down"])
        said = " ".join((done.stdout + done.stderr).split())
        good = done.returncode == 0 and f"--host {name} --resume" in said
        report.note(fault, f"down at {name}", said.replace(str(bench.file.parent), ""), good=good)
    end = task.end(fault)
    report.note(fault, "whoever gave the task is told", end, good=end == "not done")
    for name in NAMES:
        net[name].start([*COTERIE, "up", str(bench.file), "--host", name, "--resume"], "again.log")
    with report.timed(fault, "all hosts are up again"):
        for name in NAMES:
            wait_for(lambda name=name: ": up after" in net[name].said("again.log"), UP, name)
    begin = time.monotonic()
    done = net["base"].run([*COTERIE, "do", "--resume", "--out", Path(task.log).stem])
    took = time.monotonic() - begin
    words = " ".join((done.stdout + done.stderr).split())[-240:]
    end = ENDS.get(done.returncode, f"exit code {done.returncode}")
    told = f"{end}, {took:.0f} s" + ("" if end == "DONE" else f": {words}")
    report.note(fault, "the task is gone on with", told, good=done.returncode in (0, 3))
    return end


def checked(bench: Bench, fault: str, task: Task, end: str) -> None:
    """Compare a claim with the house: what was said to be done is so."""
    if end == "DONE":
        with bench.report.timed(fault, f"the {task.thing} is there, in truth"):
            there = lambda: is_there(bench, task.thing, task.room)  # noqa: E731
            wait_for(there, 30.0, f"a {task.thing} on the {GOALS[task.room]}")


def main() -> int:
    """Give tasks, and lose hosts meanwhile; return the exit code."""
    given = options(__doc__, "cut,loss,off,down").parse_args()

    def work(bench: Bench) -> None:
        with bench.report.timed("start", "all hosts are up"):
            bench.start(*NAMES)
        doing = {"cut": cut, "loss": lossy, "off": off, "down": down}
        for number, (name, seconds) in enumerate(faults(given)):
            fault = f"cut {seconds:g} s" if name == "cut" else name
            task = Task(bench, number, *TASKS[number % len(TASKS)])
            try:
                checked(bench, fault, task, doing[name](bench, task, fault, seconds))
            except (AssertionError, TimeoutError) as error:
                bench.report.note(fault, "it came to nothing", str(error), good=False)

    return run(TEAM, given, work)


if __name__ == "__main__":
    raise SystemExit(main())
