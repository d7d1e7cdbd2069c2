"""A team on three computers that lose one another: what still works, and what comes back when.

python bench_hosts.py [--discovery server] [--cuts 5,30,120] [--only cut,off,loss,late]

It needs root: the computers are namespaces of this one's kernel, and each has a network interface,
processes, shared memory and files of its own. `base` runs the world and the team's nodes, `cart`
one robot's explorer, `desk` the other's. Links are cut, a computer loses its power and comes back,
one frame in five is lost, a robot joins late, leaves and returns. Every line says what was waited
for and how long it took; the exit code is 1 where something did not come.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fixtures"))

from coterie_fixtures.machines import Machine, Network, network, wait_for, why_not  # noqa: E402

COTERIE = (sys.executable, "-m", "coterie_cli.cli")
TEAM = """\
name: split
world: {{kind: embedded, seed: 7}}
mode: real_time
robots:
  - {{name: rover, embodiment: wheels}}
  - {{name: walker, embodiment: legs}}
aggregator: {{method: majority_vote, deadline: 5.0}}
mapper: {{}}
domain: 42
hosts:
  base: {{address: 10.77.0.1, runs: [team]}}
  cart: {{address: 10.77.0.2, robots: [rover]}}
  desk: {{address: 10.77.0.3, robots: [walker]}}
discovery: {{kind: {discovery}}}
"""
NAMES = ("base", "cart", "desk")
UP = 120.0
ANSWER = 30.0


class Person:
    """Somebody at a computer of the team, who asks it things."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        command = [sys.executable, str(Path(__file__)), "--inside"]
        self._program = machine.talk(command)
        self._open: dict[str, Future[Any]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def begin(self, what: str, **given: Any) -> Future[Any]:
        """Begin something; the future has its result."""
        key, future = uuid.uuid4().hex, Future()
        self._open[key] = future
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps({"id": key, "what": what, **given}) + "\n")
        self._program.stdin.flush()
        return future

    def do(self, what: str, **given: Any) -> Any:
        """Do something, and wait for its result."""
        return self.begin(what, **given).result(given.get("timeout", ANSWER) + 60.0)

    def _read(self) -> None:
        assert self._program.stdout is not None
        for line in self._program.stdout:
            with contextlib.suppress(ValueError, KeyError):
                told = json.loads(line)
                self._open.pop(told["id"]).set_result(told["result"])


class Report:
    """Lines of what was waited for, and what did not come."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []
        self.failed = 0

    def note(self, fault: str, what: str, came: str, *, good: bool = True) -> None:
        """Take a line down, and print it."""
        self.failed += not good
        self.rows.append((fault, what, came if good else f"NOT: {came}"))
        print(" | ".join(self.rows[-1]), flush=True)

    @contextlib.contextmanager
    def timed(self, fault: str, what: str) -> Iterator[None]:
        """Take down how long the block takes, or why it failed."""
        begin = time.monotonic()
        try:
            yield
        except (AssertionError, TimeoutError) as error:
            self.note(fault, what, str(error) or type(error).__name__, good=False)
        else:
            self.note(fault, what, f"{time.monotonic() - begin:.1f} s")


class Bench:
    """The team on its computers, and the faults."""

    def __init__(self, net: Network, file: Path, report: Report) -> None:
        self.net, self.file, self.report = net, file, report
        self.people: dict[str, Person] = {}

    def start(self, *names: str) -> None:
        """Start hosts' shares, and wait until each finds the whole team."""
        before = {name: self._ups(name) for name in names}
        for name in names:
            self.net[name].start([*COTERIE, "up", str(self.file), "--host", name], "up.log")
        for name in names:
            wait_for(lambda name=name: self._ups(name) > before[name], UP, f"{name} is up")

    def sit_down(self, *names: str) -> None:
        """Let somebody sit down at each of these computers."""
        for name in names:
            self.people[name] = Person(self.net[name])
            self.people[name].do("robots", timeout=UP)

    def ask(self, at: str, fault: str, want: int | None) -> None:
        """Ask the team; note who answered and when; `want` robots should."""
        begin = time.monotonic()
        told = self.people[at].do("ask", timeout=ANSWER)
        took = time.monotonic() - begin
        who = told.get("robots")
        text = f"{took:.1f} s, {who} robots" if who is not None else f"{took:.1f} s, {told['why']}"
        good = took < ANSWER + 5.0 and (want is None or who == want)
        self.report.note(fault, f"question at {at}", text, good=good)

    def everybody_answers(self, at: str, fault: str, timeout: float = 60.0) -> None:
        """Ask until both robots answer again; note how long that took."""
        with self.report.timed(fault, f"both robots answer at {at}"):
            wait_for(lambda: self.people[at].do("ask").get("robots") == 2, timeout, "both answer")

    def latched(self, at: str, fault: str, **want: bool) -> None:
        """Wait for what is latched, as a node hears it that begins now: the map, and who stands."""
        with self.report.timed(fault, f"map and stops at {at}"):
            told = self.people[at].do("latched", timeout=30.0)
            assert told["map"] > 0, f"no map: {told}"
            for robot, stopped in want.items():
                assert told["stopped"].get(robot) is stopped, str(told["stopped"])

    def _ups(self, name: str) -> int:
        return self.net[name].said("up.log").count(": up after")


def cut(bench: Bench, seconds: float) -> None:
    """Cut cart's link while its robot explores; ask, stop and release meanwhile and after."""
    net, report, fault = bench.net, bench.report, f"cut {seconds:g} s"
    base = bench.people["base"]
    exploring = base.begin("explore", robot="rover", steps=1000)
    wait_for(lambda: base.do("moved")["rover"] > 0.5, 60.0, "rover moves")
    net.cut("cart")
    begin = time.monotonic()
    asked = base.begin("ask", timeout=ANSWER)
    stop = net["cart"].start([*COTERIE, "stop", "rover", "--timeout", "3"], "stop.log")
    told = asked.result(ANSWER + 10.0)
    text = f"{time.monotonic() - begin:.1f} s, {told.get('robots')} robots"
    report.note(fault, "question at base, begun with the cut", text, good=told.get("robots") != 2)
    while time.monotonic() - begin < seconds:
        time.sleep(0.2)
    far = base.do("moved")["rover"]
    time.sleep(1.0)
    moves = base.do("moved")["rover"] - far
    report.note(fault, "rover in the last second of the cut", f"drove {moves:.2f} m")
    net.mend("cart")
    mended = time.monotonic()
    stop.wait(60)
    with report.timed(fault, "a stop given at cart during the cut is obeyed"):
        wait_for(lambda: base.do("latched")["stopped"].get("rover") is True, 90.0, "rover stands")
    with report.timed(fault, "exploring, whose robot was cut off, ends for who asked"):
        ended = exploring.result(60.0)
        report.note(fault, "how it ended", f"{ended}, {time.monotonic() - mended:.1f} s after")
    bench.latched("cart", fault, rover=True)
    with report.timed(fault, "rover is released from base"):
        done = net["base"].run([*COTERIE, "release", "rover", "--timeout", "20"])
        assert done.returncode == 0, done.stdout + done.stderr
    bench.everybody_answers("base", fault)
    bench.ask("cart", fault, 2)
    time.sleep(3.0)
    bench.latched("cart", fault, rover=False)


def acted(bench: Bench) -> None:
    """Note how many goals the world's log has, and whether one was begun, or ended, twice."""
    logs = (bench.net["base"].folder / "state" / "runs").glob("*/log/*.jsonl")
    entries = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    counts = {
        kind: Counter(entry["body"]["action"] for entry in entries if entry["kind"] == kind)
        for kind in ("goal", "result")
    }
    twice = sum(n > 1 for counted in counts.values() for n in counted.values())
    told = f"{len(counts['goal'])} goals, {len(counts['result'])} ended, {twice} of them twice"
    bench.report.note("all of it", "the log of goals", told, good=not twice)


def off(bench: Bench, _: float = 0.0) -> None:
    """Take cart's power away, and switch it on again."""
    net, fault = bench.net, "power off"
    net["cart"].power_off()
    bench.ask("base", fault, 1)
    time.sleep(5.0)
    net["cart"].power_on()
    with bench.report.timed(fault, "cart is up again"):
        bench.start("cart")
    bench.sit_down("cart")
    bench.everybody_answers("base", fault)
    bench.latched("cart", fault, rover=False)
    bench.ask("cart", fault, 2)


def late(bench: Bench, _: float = 0.0) -> None:
    """Desk leaves, and returns."""
    net, fault = bench.net, "leaves, returns"
    ended = net["desk"].run(["pkill", "-INT", "-f", "coterie_cli"])
    wait_for(lambda: "ended after" in net["desk"].said("up.log"), 60.0, f"desk ends {ended}")
    bench.ask("base", fault, 1)
    with bench.report.timed(fault, "desk is up again"):
        bench.start("desk")
    bench.everybody_answers("base", fault)
    bench.ask("desk" if "desk" in bench.people else "base", fault, 2)


def loss(bench: Bench, _: float = 0.0) -> None:
    """Lose one frame in five of cart's, in both directions, and ask ten times."""
    net, fault = bench.net, "loss 20 %"
    with net.lossy("cart", 0.2):
        for _ in range(10):
            bench.ask("base", fault, None)
        bench.ask("cart", fault, None)
        bench.latched("cart", fault)
    bench.everybody_answers("base", fault)


def options(what: str | None, only: str) -> argparse.ArgumentParser:
    """Return the options of a bench with these computers; `only`: all its faults."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--discovery", default="multicast")
    parser.add_argument("--cuts", default="5,30,120", help="lengths of the cuts [s]")
    parser.add_argument("--only", default=only, help="the faults, one after another")
    parser.add_argument("--keep", type=Path, default=None, help="folder for the logs")
    return parser


def faults(given: argparse.Namespace) -> list[tuple[str, float]]:
    """Return the faults that were asked for, and for how long each [s]; 0: that is its own."""
    return [
        (name, float(seconds))
        for name in given.only.split(",")
        for seconds in (given.cuts.split(",") if name == "cut" else ["0"])
    ]


def run(team: str, given: argparse.Namespace, work: Callable[[Bench], None]) -> int:
    """Do something with a team's three computers; return the exit code.

    Args:
        team: Text of the team file.
        given: What was asked for.
        work: Is given the computers, on which nothing runs yet.
    """
    if why := why_not():
        print(f"there can be no such computers here: {why}", file=sys.stderr)
        return 2
    # Whoever ends it finds no computers left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    report = Report()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "team.yaml"
        file.write_text(team.format(discovery=given.discovery))
        with network(NAMES, folder) as net:
            bench = Bench(net, file, report)
            work(bench)
            acted(bench)
    print(f"{len(report.rows)} checks, {report.failed} failed")
    return 1 if report.failed else 0


def main() -> int:
    """Run the faults; return the exit code."""
    parser = options(__doc__, "cut,off,loss,late")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return inside()

    def work(bench: Bench) -> None:
        base = bench.net["base"]
        base.start([*COTERIE, "up", str(bench.file), "--host", "base"], "up.log")
        wait_for(lambda: "ready" in base.said("up.log"), UP, "base starts")
        with bench.report.timed("joins later", "cart and desk are up"):
            bench.start("cart", "desk")
        bench.sit_down("base", "cart")
        bench.everybody_answers("base", "joins later")
        bench.latched("cart", "joins later")
        doing = {"cut": cut, "off": off, "loss": loss, "late": late}
        for name, seconds in faults(given):
            doing[name](bench, seconds)

    return run(TEAM, given, work)


def inside() -> int:
    """Do at one computer what lines of JSON on the standard input ask for."""
    from coterie_bringup.rundir import running_teams
    from coterie_bringup.team_client import operating

    (state,) = running_teams()
    with operating(state.robots, domain=state.domain, environment=state.environment) as operator:
        moved = dict.fromkeys(state.robots, 0.0)
        last: dict[str, Any] = {}

        def see(seen: Any) -> None:
            here = seen.pose.position
            if seen.robot in last:
                moved[seen.robot] += math.dist(here, last[seen.robot])
            last[seen.robot] = here

        operator.on_observation = see

        async def serve(told: dict[str, Any]) -> None:
            what = told.pop("what"), told.pop("id")
            try:
                result = await _do(operator, state, moved, what[0], told)
            except Exception as error:
                result = {"why": f"{type(error).__name__}: {error}"}
            print(json.dumps({"id": what[1], "result": result}), flush=True)

        for line in sys.stdin:
            operator.run(serve(json.loads(line)))
    return 0


async def _do(operator: Any, state: Any, moved: Any, what: str, told: dict[str, Any]) -> Any:
    from coterie_bringup.team_client import TeamAnswer
    from coterie_core.questions import Question

    if what == "robots":
        return state.robots
    if what == "moved":
        return moved
    if what == "ask":
        question = Question(uuid.uuid4().hex, "mug", "kitchen")
        answer = await operator.ask(question, told.get("timeout", ANSWER))
        if not isinstance(answer, TeamAnswer):
            return {"why": str(answer)}
        return {"robots": len(answer.answers), "yes": answer.final.yes}
    if what == "explore":
        from coterie_msgs.action import Explore

        end = await operator.explore(
            told["robot"], Explore.Goal(max_steps=told["steps"]), lambda feedback: None
        )
        return {"reason": end.reason}
    assert what == "latched"
    return await asyncio.to_thread(_latched, state, told.get("timeout", 30.0))


def _latched(state: Any, timeout: float) -> dict[str, Any]:
    """Return what a node hears of latched topics that begins now."""
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from std_msgs.msg import Bool

    from coterie_msgs.msg import SemanticMap
    from coterie_ros.qos import profile

    context = Context()
    rclpy.init(args=[], context=context, domain_id=state.domain)
    node = rclpy.create_node(f"newcomer_{os.getpid()}", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    stopped: dict[str, bool] = {}
    things: list[int] = []
    node.create_subscription(
        SemanticMap, "/semantic_map", lambda m: things.append(len(m.objects) + len(m.rooms)),
        profile("latched"),
    )  # fmt: skip
    for robot in state.robots:
        node.create_subscription(
            Bool, f"/{robot}/stopped",
            lambda message, robot=robot: stopped.__setitem__(robot, bool(message.data)),
            profile("latched"),
        )  # fmt: skip
    end = time.monotonic() + timeout
    while time.monotonic() < end and not (things and len(stopped) == len(state.robots)):
        executor.spin_once(0.1)
    executor.shutdown(1.0)
    node.destroy_node()
    context.try_shutdown()
    return {"map": things[-1] if things else 0, "stopped": stopped}


if __name__ == "__main__":
    raise SystemExit(main())
