"""The console with ten robots: its CPU share with pages open at 10 Hz, and how long a stop takes.

python research/perf/bench_console.py [--robots 10] [--pages 2] [--seconds 20] [--rounds 20]

A bridge in a process of its own moves the robots, the console runs in another, pages are websocket
clients in this one. A stop is timed from the message on the websocket to each robot's goal that
ended, by the client that sent the goal; a bare message there and back over ROS in the same round
tells what the machine takes. Where the time went is printed, too: stamps.py has the points.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

import aiohttp
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from bench_stop import ECHO, Watcher

from coterie_bringup.rundir import own_state, registered
from coterie_fixtures.ros_harness import NodeProcess, RosHarness, take_domain
from habitat_bridge.robots import load_embodiment

_STATE = "coterie-bench-console-"
STAGES = {
    "page": "the click's message reaches the console",
    "published": "the console has published the stop",
    "received": "the bridge has received it",
    "world": "the world's thread turns to it",
    "told": "all robots stand; the goal is told",
    "goal": "the goal's work has ended",
    "sent": "its result has been sent",
    "seen": "whoever sent the goal has the result",
}
"""What a stop passes, in this order."""


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has taken [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Pages(threading.Thread):
    """Open pages: websocket clients in a loop of their own."""

    def __init__(self, url: str, count: int) -> None:
        super().__init__(daemon=True)
        self.url, self.count = url, count
        self.messages = self.characters = 0
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.socket: aiohttp.ClientWebSocketResponse | None = None

    def run(self) -> None:
        self.loop.run_until_complete(self._all())

    async def _all(self) -> None:
        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(self._one(session, k) for k in range(self.count)))

    async def _one(self, session: aiohttp.ClientSession, number: int) -> None:
        async with session.ws_connect(f"{self.url}socket", max_msg_size=0) as socket:
            await socket.send_json({"key": ""})
            if number == 0:
                self.socket = socket
            async for message in socket:
                self.messages += 1
                self.characters += len(message.data)
                self.ready.set()

    def say(self, **said: object) -> None:
        """Send a command from the first page."""
        assert self.socket is not None
        asyncio.run_coroutine_threadsafe(self.socket.send_json({"id": 1, **said}), self.loop)


class StopFromPage(Watcher):
    """Rounds as in bench_stop, with the stop sent by a page."""

    pages: Pages

    def press(self) -> None:
        """Stop the team, as a click on STOP ALL does."""
        self.pages.say(do="stop")

    def split(self, stamps: Path) -> list[dict[str, float]]:
        """Return when the last stop passed which stage [s from the click], for each goal."""
        first: dict[tuple[str, str], float] = {}
        for line in stamps.read_text().splitlines():
            at, point, key = line.split(" ")
            if float(at) >= self.pressed:
                first.setdefault((point, key), float(at))
        rows = []
        for robot, seen in self.ended.items():
            id_ = self.ids[robot]
            keys = ("", id_)
            row = {p: min(first.get((p, k), np.inf) for k in keys) for p in STAGES}
            rows.append({p: at - self.pressed for p, at in (row | {"seen": seen}).items()})
        return [row for row in rows if row["seen"] > 0.0]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", type=int, default=10)
    parser.add_argument("--pages", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--load", type=int, default=0, help="processes that compute beside it")
    given = parser.parse_args()
    domain, lock = take_domain()
    names = [f"r{k}" for k in range(given.robots)]
    with lock, tempfile.TemporaryDirectory(prefix=_STATE) as folder:
        os.environ["COTERIE_STATE"] = folder
        directory = Path(folder) / "runs" / "bench"
        directory.mkdir(parents=True)
        ros = RosHarness(domain)
        try:
            with registered(own_state("bench", domain, directory, robots=names)):
                measure(ros, names, given)
        finally:
            ros.close()


def measure(ros: RosHarness, names: list[str], given: argparse.Namespace) -> None:
    """Start bridge, echo and console; print both figures with the machine's load."""
    body = load_embodiment("wheels").model_copy(update={"linear_speed": 0.2, "radius": 0.15})
    robots = [{"name": name, "embodiment": body.model_dump(mode="json")} for name in names]
    world = {"kind": "embedded", "seed": 7, "floors": 1, "rooms": 12, "look_on_arrival": False}
    parameters = {
        "world": json.dumps(world),
        "robots": json.dumps(robots),
        "mode": "real_time",
        "prior_map": "everything",
        "stop_directory": f"{os.environ['COTERIE_STATE']}/stops",
    }
    stamps = Path(os.environ["COTERIE_STATE"]) / "stamps"
    traced = [sys.executable, str(Path(__file__).with_name("stamps.py")), str(stamps)]
    bridge = [*traced, "habitat_bridge.node", "--ros-args"]
    for key, value in parameters.items():
        bridge += ["-p", f"{key}:={json.dumps(value)}"]
    ros.start_process(bridge)
    ros.start_process([sys.executable, "-c", ECHO])
    for _ in range(given.load):
        ros.start_process([sys.executable, "-c", "while True: pass"])
    console = ros.start_process([*traced, "coterie_cli.cli", "console", "--no-open", "--port", "0"])
    url = _url(ros, console)
    watcher = StopFromPage(ros, names, given.seed, motion=False)
    pages = watcher.pages = Pages(url, given.pages)
    pages.start()
    ros.spin_until(pages.ready.is_set, timeout=60.0)
    begin, used, count = time.monotonic(), cpu_seconds(console.pid), pages.messages
    while time.monotonic() - begin < given.seconds:
        watcher.drive()
        ros.spin(1.0)
    took = time.monotonic() - begin
    share = (cpu_seconds(console.pid) - used) / took
    rate = (pages.messages - count) / took / given.pages
    print(
        f"{len(names)} robots, {given.pages} pages, {rate:.1f} messages/s each: console takes "
        f"{100 * share:.0f} % of a core; load average {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    goals, echoes, rows = [], [], []
    for _ in range(given.rounds):
        told = watcher.round()
        if told is not None:
            goals += told[0]
            echoes.append(told[2])
            rows += watcher.split(stamps)
    if not goals:
        print("no round counted: too few robots were under way")
        return
    ms = 1000.0 * np.array(goals)
    print(
        f"stop from the page to a goal's end, {len(ms)} goals: median {np.median(ms):.0f}, p99 "
        f"{np.percentile(ms, 99):.0f}, most {ms.max():.0f} ms; echo p99 "
        f"{1000 * np.percentile(echoes, 99):.0f} ms; load average {os.getloadavg()[0]:.1f}"
    )
    before = np.zeros(len(rows))
    for stage, words in STAGES.items():
        at = 1000.0 * np.array([row[stage] for row in rows])
        step = np.percentile(at - before, (50, 99))
        print(
            f"{words:<42} after {np.median(at):4.0f}, p99 {np.percentile(at, 99):4.0f} ms; "
            f"this step {step[0]:4.0f}, p99 {step[1]:4.0f} ms"
        )
        before = at


def _url(ros: RosHarness, console: NodeProcess) -> str:
    pattern = re.compile(r"http://\S+")
    ros.spin_until(lambda: pattern.search(console.output), timeout=90.0, what="the console")
    found = pattern.search(console.output)
    assert found is not None
    return found[0]


if __name__ == "__main__":
    main()
