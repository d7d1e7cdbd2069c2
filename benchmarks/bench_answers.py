"""Time from a question to the team's final answer, over real ROS processes.

    ./coterie setup; source .venv/setup.bash; source ros2_ws/install/setup.bash
    python benchmarks/bench_answers.py --robots 3 10 50 --rate 10 --seconds 10

Every team has an aggregator process and up to four explorer processes. Questions come at a steady
rate; each must be answered by every robot and end in one final answer. The ratio is to the plain
round trip of a question-sized message through a service between two of the same processes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rich.console import Console
from rich.progress import track
from rich.table import Table

from coterie_core.questions import Question
from coterie_msgs.msg import Answer, FinalAnswer
from coterie_msgs.msg import Question as QuestionMsg
from coterie_msgs.srv import Ask
from coterie_ros import conversions
from coterie_ros.executors import make_executor, spin
from coterie_ros.qos import profile
from coterie_ros.testing import NodeProcess, take_domain

PROCESSES = 4
THINGS = ("mug", "plant", "sofa", "bed", "towel", "books", "lamp", "chair", "sink", "clock")
ROOMS = ("kitchen", "bedroom", "bathroom", "living room", "hallway")


class Bench:
    """One team of processes and the client that asks it."""

    def __init__(self, robots: int, method: str) -> None:
        self.domain, self._lock = take_domain()
        self.names = [f"r{k:02}" for k in range(robots)]
        self.context = Context()
        rclpy.init(args=[], context=self.context, domain_id=self.domain)
        self.executor = make_executor(self.context)
        self.node = Node("bench", context=self.context, start_parameter_services=False)
        self.executor.add_node(self.node)
        self.sent: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self.repeats = 0
        self.answers: dict[str, set[str]] = {}
        self.missing = 0
        self.publisher = self.node.create_publisher(QuestionMsg, "question", profile("questions"))
        self.node.create_subscription(
            FinalAnswer, "final_answer", self._on_final, profile("answers")
        )
        for name in self.names:
            self.node.create_subscription(
                Answer, f"{name}/answer", self._on_answer, profile("answers")
            )
        self.client = self.node.create_client(Ask, f"{self.names[0]}/ask")
        listing = "[" + ",".join(self.names) + "]"
        self.processes = [
            self._start(
                "cam_aggregator.node",
                ["-p", f"robots:={listing}", "-p", f"method:={method}", "-p", "deadline:=30.0"],
            )
        ]
        count = min(PROCESSES, robots)
        for k in range(count):
            self.processes.append(
                self._start("mele_explorer.node", [], ["--robots", *self.names[k::count]])
            )

    def _start(self, module: str, ros: Sequence[str], arguments: Sequence[str] = ()) -> NodeProcess:
        environment = {**os.environ, "ROS_DOMAIN_ID": str(self.domain), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", module, *arguments]
        return NodeProcess([*command, *(["--ros-args", *ros] if ros else [])], environment)

    def _on_final(self, message: FinalAnswer) -> None:
        if message.question in self.ended:
            self.repeats += 1
            return
        self.ended[message.question] = time.perf_counter()
        self.missing += len(message.missing)

    def _on_answer(self, message: Answer) -> None:
        self.answers.setdefault(message.question, set()).add(message.robot)

    def spin_until(self, condition, timeout: float, what: str) -> None:
        if not spin(self.executor, self.context, until=condition, timeout=timeout, period=0.005):
            for process in self.processes:
                print(process.output[-2000:], file=sys.stderr)
            raise SystemExit(f"waited {timeout:g} s for {what}")

    def wait_ready(self) -> float:
        """Wait until everybody hears the questions; returns how long that took [s]."""
        start = time.perf_counter()
        wanted = len(self.names) + 1
        self.spin_until(
            lambda: self.publisher.get_subscription_count() >= wanted, 120.0, f"{wanted} listeners"
        )
        self.spin_until(self.client.service_is_ready, 60.0, "the ask service")
        self.ask("warm-up")
        self.spin_until(lambda: "warm-up" in self.ended, 60.0, "the first final answer")
        return time.perf_counter() - start

    def ask(self, name: str) -> None:
        k = len(self.sent)
        question = Question(name, THINGS[k % len(THINGS)], ROOMS[k % len(ROOMS)])
        self.sent[name] = time.perf_counter()
        self.publisher.publish(conversions.question_to_msg(question))

    def service_round_trip(self, repeats: int = 50) -> float:
        """Median time of one `ask` to one robot [s]: the baseline."""
        times = []
        for _ in range(repeats):
            request = Ask.Request()
            request.question = conversions.question_to_msg(Question("base", "mug", "kitchen"))
            start = time.perf_counter()
            future = self.client.call_async(request)
            self.spin_until(future.done, 10.0, "the baseline")
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def run(self, rate: float, seconds: float) -> list[float]:
        """Ask at a steady rate; returns the times from question to final answer [s]."""
        self.sent.clear()
        total = int(rate * seconds)
        start = time.perf_counter()
        for k in track(range(total), description=f"{len(self.names)} robots"):
            due = start + k / rate
            self.spin_until(lambda due=due: time.perf_counter() >= due, 60.0, "the next question")
            self.ask(f"q{k}")
        self.spin_until(lambda: all(name in self.ended for name in self.sent), 60.0, "all answers")
        wanted = len(self.names)
        self.spin_until(
            lambda: all(len(self.answers.get(n, ())) == wanted for n in self.sent), 30.0, "answers"
        )
        return [self.ended[name] - at for name, at in self.sent.items()]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        self.node.destroy_node()
        self.executor.shutdown()
        self.context.try_shutdown()
        self._lock.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", type=int, nargs="+", default=[3, 10, 50])
    parser.add_argument("--rate", type=float, default=10.0, help="questions per second")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--method", default="confidence_vote")
    parser.add_argument("--out", type=Path, help="write results.json into this folder")
    options = parser.parse_args()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    table = Table("robots", "questions", "lost", "p50 [ms]", "p95 [ms]", "baseline [ms]", "ratio")
    records = []
    for robots in options.robots:
        bench = Bench(robots, options.method)
        try:
            ready = bench.wait_ready()
            base = bench.service_round_trip()
            times = sorted(bench.run(options.rate, options.seconds))
        finally:
            bench.close()
        p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
        record = {
            "robots": robots,
            "questions": len(times),
            "rate": options.rate,
            "answers_missing": bench.missing,
            "final_answers_repeated": bench.repeats,
            "ready_s": ready,
            "p50_s": p50,
            "p95_s": p95,
            "baseline_s": base,
            "ratio_p50": p50 / base,
        }
        records.append(record)
        table.add_row(
            *(str(v) for v in (robots, len(times), bench.missing)),
            *(f"{1e3 * v:.1f}" for v in (p50, p95, base)),
            f"{p50 / base:.1f}",
        )
    Console().print(table)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "results.json").write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
