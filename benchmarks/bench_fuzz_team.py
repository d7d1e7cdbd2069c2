#!/usr/bin/env python3
"""Say anything whatever to every service, action and topic of a team that runs.

    ./coterie python benchmarks/bench_fuzz_team.py [--inputs 5000] [--team FILE] [--only WORD]

The team runs in processes of its own. Services get random requests, actions random goals, of which
those taken on are cancelled; what nodes listen to gets random messages. Fields are plausible, some
wild: no numbers, huge ones, texts of 3000 characters, control characters. A fault is: a process
that ends, an answer that takes over 10 s, a traceback in a log, more than 1 GB of memory, or a
team that answers no question after it. Faults are printed, and the exit code is 1.

Left out: /clock, and what rclpy serves for every node (parameters, lifecycle), by which whoever
reaches the graph may change what a node is; see docs/guides/security.md.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures"
sys.path.insert(0, str(FIXTURES))

from coterie_bringup.running_team import TeamRun, prepared  # noqa: E402
from coterie_bringup.spinning import in_loop  # noqa: E402
from coterie_bringup.supervisor import Event  # noqa: E402
from coterie_bringup.team import load_team  # noqa: E402
from coterie_bringup.team_client import TeamAnswer, operating  # noqa: E402
from coterie_core.questions import Question  # noqa: E402
from coterie_fixtures.fuzzing.messages import random_message  # noqa: E402

SLOWEST = 10.0
"""Longest that an answer may take [s]."""
MOST_MEMORY = 1e9
"""Most that a process may take [bytes]."""
GOES_ON = 1.0
"""Longest that a goal goes on before it is cancelled [s]."""
LEFT_OUT = re.compile(
    r"/(clock|rosout|parameter_events|(describe|get|list|set)_parameters(_atomically)?|"
    r"get_parameter_types|get_type_description|change_state|get_state|get_available_states|"
    r"get_available_transitions|get_transition_graph)$|/_action/"
)
Endpoint = tuple[str, str, str]
"""Kind ("service", "action" or "topic"), name and type of what can be spoken to."""


def type_of(spelled: str) -> Any:
    """Return the class of a type, as `coterie_msgs/srv/FindObjects`."""
    package, group, name = spelled.split("/")
    return getattr(importlib.import_module(f"{package}.{group}"), name)


def endpoints(node: Any) -> list[Endpoint]:
    """Return all that the graph's nodes can be told and that somebody serves."""
    from rclpy.action import get_action_names_and_types

    def served(endpoint: Endpoint) -> bool:
        kind, name, _ = endpoint
        if kind == "topic":
            return bool(node.count_subscribers(name))
        return bool(node.count_services(name + "/_action/send_goal" * (kind == "action")))

    found = [("action", name, types[0]) for name, types in get_action_names_and_types(node)]
    found += [
        ("service", name, types[0])
        for name, types in node.get_service_names_and_types()
        if not LEFT_OUT.search(name)
    ]
    found += [
        ("topic", name, types[0])
        for name, types in node.get_topic_names_and_types()
        if not LEFT_OUT.search(name)
    ]
    return sorted(filter(served, found))


class Stranger:
    """Somebody who speaks to all that there is, and takes down how long each answer took."""

    def __init__(self, node: Any, seed: int) -> None:
        self.node, self.dice = node, random.Random(seed)
        self.times: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.accepted: Counter[str] = Counter()
        self.faults: list[str] = []
        self._ends: dict[Endpoint, Any] = {}
        self._waiting: dict[Endpoint, str] = {}

    async def say(self, endpoint: Endpoint) -> None:
        """Say one thing, and wait for the answer."""
        kind, name, spelled = endpoint
        wild = self.dice.choice((0.0, 0.02, 0.2))
        tell: Callable[..., Any] = getattr(self, f"_{kind}")
        try:
            took = await asyncio.wait_for(tell(endpoint, type_of(spelled), wild), 2.0 * SLOWEST)
        except TimeoutError:
            waiting = self._waiting.get(endpoint, "its answer")
            self.faults.append(f"{kind} {name}: {2.0 * SLOWEST:g} s passed without {waiting}")
            return
        self.times[kind, name].append(took)
        if took > SLOWEST:
            self.faults.append(f"{kind} {name}: answered after {took:.1f} s")

    async def _service(self, endpoint: Endpoint, kind: Any, wild: float) -> float:
        client = self._end(endpoint, lambda: self.node.create_client(kind, endpoint[1]))
        request = random_message(kind.Request, self.dice, wild)
        begin = time.monotonic()
        await self._answer(lambda: client.call_async(request))
        return time.monotonic() - begin

    async def _action(self, endpoint: Endpoint, kind: Any, wild: float) -> float:
        from rclpy.action import ActionClient

        client = self._end(endpoint, lambda: ActionClient(self.node, kind, endpoint[1]))
        begin = time.monotonic()
        goal = random_message(kind.Goal, self.dice, wild)
        self._waiting[endpoint] = f"whether it is taken on: {str(goal)[:500]}"
        handle = await self._answer(lambda: client.send_goal_async(goal))
        took = time.monotonic() - begin
        if not handle.accepted:
            return took
        self.accepted[endpoint[1]] += 1
        ending = await self.node.in_executor(handle.get_result_async)
        goes_on = time.monotonic() + self.dice.uniform(0.0, GOES_ON)
        while not ending.done() and time.monotonic() < goes_on:
            await asyncio.sleep(0.01)
        begin = time.monotonic()
        if not ending.done():
            self._waiting[endpoint] = f"whether it is cancelled: {str(goal)[:500]}"
            await self._answer(handle.cancel_goal_async)
        self._waiting[endpoint] = f"its result, once cancelled: {str(goal)[:500]}"
        while not ending.done():
            await asyncio.sleep(0.002)
        return max(took, time.monotonic() - begin)

    async def _topic(self, endpoint: Endpoint, kind: Any, wild: float) -> float:
        from rclpy.qos import QoSProfile

        name = endpoint[1]

        def publisher() -> Any:
            heard = self.node.get_subscriptions_info_by_topic(name)
            asked = heard[0].qos_profile
            durable = {"reliability": asked.reliability, "durability": asked.durability}
            return self.node.create_publisher(kind, name, QoSProfile(depth=10, **durable))

        self._end(endpoint, publisher).publish(random_message(kind, self.dice, wild))
        await asyncio.sleep(0.0)
        return 0.0

    async def _answer(self, send: Callable[[], Any]) -> Any:
        """Send something in the executor's thread, or rclpy may miss its answer; wait for that."""
        future = await self.node.in_executor(send)
        while not future.done():
            await asyncio.sleep(0.002)
        return future.result()

    def _end(self, endpoint: Endpoint, make: Callable[[], Any]) -> Any:
        if endpoint not in self._ends:
            self._ends[endpoint] = make()
        return self._ends[endpoint]


def turns(found: list[Endpoint], inputs: int, dice: random.Random) -> Iterator[Endpoint]:
    """Give what is spoken to, one after another; each as often as the others."""
    given = 0
    while given < inputs:
        dice.shuffle(found)
        for endpoint in found:
            if given == inputs:
                return
            given += 1
            yield endpoint


def health(run: TeamRun, before: dict[str, int | None]) -> list[str]:
    """Return what is wrong with a team's processes."""
    found = []
    for spec in run.specs:
        pid = run.supervisor.pid(spec.name)
        if pid is None or pid != before[spec.name]:
            found.append(f"{spec.name}: its process ended")
        elif (memory := psutil.Process(pid).memory_info().rss) > MOST_MEMORY:
            found.append(f"{spec.name}: takes {memory / 1e6:.0f} MB")
    for file in (run.directory / "logs").glob("*"):
        text = file.read_text("utf-8", "replace")
        for start in re.finditer(r"Traceback \(most recent call last\)", text):
            found.append(f"{file.name}: {text[start.start() : start.start() + 3000]}")
            break
    return found


async def fuzz(run: TeamRun, asked: argparse.Namespace) -> tuple[Stranger, float]:
    """Speak to a team that runs; return who did, with all faults, and the time it took [s]."""
    robots = [robot.name for robot in run.team.robots]
    async with run.supervisor.running():
        common = {"domain": run.domain, "environment": run.environment}
        with operating(robots, namespace=run.team.namespace, **common) as operator:
            await in_loop(operator, operator.wait_for_team(60.0))
        before = {spec.name: run.supervisor.pid(spec.name) for spec in run.specs}
        with operating(robots, namespace=run.team.namespace, **common) as node:
            await asyncio.sleep(3.0)  # until it has heard of all that there is
            found = [one for one in endpoints(node) if asked.only in one[1]]
            stranger = Stranger(node, asked.seed)
            print(f"{len(found)} services, actions and topics", flush=True)
            begin = time.monotonic()
            queue = turns(found, asked.inputs, random.Random(asked.seed))
            end = begin + 60.0 * asked.minutes

            async def one_of_many() -> None:
                for endpoint in queue:
                    if time.monotonic() > end or len(stranger.faults) > 20:
                        return
                    await stranger.say(endpoint)

            async def all_of_it() -> None:
                await asyncio.gather(*(one_of_many() for _ in range(asked.at_once)))

            await in_loop(node, all_of_it())
            took = time.monotonic() - begin
        stranger.faults += health(run, before)
        with operating(robots, namespace=run.team.namespace, **common) as operator:
            question = Question("after-all", "mug", "kitchen")
            answer = await in_loop(operator, operator.ask(question, 60.0))
            told = answer if isinstance(answer, TeamAnswer) else f"no answer: {answer}"
            print(f"a question after all of it: {str(told)[:300]}")
            if not isinstance(answer, TeamAnswer):
                stranger.faults.append(str(told))
    return stranger, took


def main() -> int:
    """Speak to a team's every end; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--team", type=Path, default=Path(__file__).parent / "soak.yaml")
    parser.add_argument("--inputs", type=int, default=5000, help="Number of inputs altogether.")
    parser.add_argument("--minutes", type=float, default=10.0, help="Longest time [min].")
    parser.add_argument("--at-once", type=int, default=8, help="How many are on the way at once.")
    parser.add_argument("--only", default="", help="Part of the names of what is spoken to.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the inputs.")
    asked = parser.parse_args()
    deaths: list[str] = []

    def heard(event: Event) -> None:
        if event.kind in ("died", "given_up", "failed"):
            lines = "\n  ".join(event.lines[-25:])
            deaths.append(f"{event.program}: {event.kind}: {event.text}\n  {lines}")

    with prepared(load_team(asked.team), on_event=heard) as run:
        stranger, took = asyncio.run(fuzz(run, asked))
    table = Table("", "said", "taken on", "slowest [s]")
    for kind, name in sorted(stranger.times):
        times = stranger.times[kind, name]
        taken = str(stranger.accepted[name]) if kind == "action" else ""
        row = (str(len(times)), taken, f"{max(times):.2f}")
        table.add_row(f"{kind} {name}", *row)
    Console(width=int(os.environ.get("COLUMNS", "120"))).print(table)
    faults = list(dict.fromkeys(stranger.faults)) + deaths
    for fault in faults:
        print(f"FAULT {fault}")
    total = sum(map(len, stranger.times.values()))
    print(f"{total} inputs in {took:.0f} s, {len(faults)} faults")
    return 1 if faults or not total else 0


if __name__ == "__main__":
    raise SystemExit(main())
