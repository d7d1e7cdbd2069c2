"""Runs a program of Coterie and writes down when a stop passes where, for bench_console.

python benchmarks/stamps.py FILE MODULE [ARGS]

Appends lines `TIME POINT KEY` to FILE: time of the machine's monotonic clock [s], which all
processes share, the point, and the goal's id where the point has one. The product is
not changed; what it calls at these points is wrapped.
"""

from __future__ import annotations

import functools
import os
import runpy
import sys
import time
from collections.abc import Callable
from typing import Any

from coterie_console.team.page import ConsolePage
from coterie_ros.safe_publisher import SafePublisher
from coterie_ros.serving import GoalContext
from coterie_ros.stopping import StopServer
from habitat_bridge.goal_scheduler import Goal, GoalScheduler


def main() -> None:
    """Wrap, then run the module in this process."""
    file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def stamp(point: str, key: str = "") -> None:
        os.write(file, f"{time.monotonic():.6f} {point} {key}\n".encode())

    def wrap(
        owner: type, name: str, before: str = "", after: str = "", key: Any = lambda *_: ""
    ) -> None:
        inner: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(inner)
        def outer(*given: Any, **named: Any) -> Any:
            known = key(*given)
            if before and known is not None:
                stamp(before, known)
            told = inner(*given, **named)
            if after and known is not None:
                stamp(after, known)
            return told

        setattr(owner, name, outer)

    def a_stop(_: object, __: object, text: str) -> str | None:
        return "" if '"stop"' in text else None

    def team_topic(publisher: SafePublisher, _: object) -> str | None:
        return "" if publisher.topic.rpartition("/")[2] == "stop" else None

    def told(_: object, job: Goal, *__: object) -> str:
        return job.id

    def goal(context: GoalContext, *_: object) -> str:
        return context.id

    wrap(ConsolePage, "_hear", before="page", key=a_stop)
    wrap(SafePublisher, "publish", after="published", key=team_topic)
    wrap(StopServer, "_stop", before="received")
    wrap(GoalScheduler, "halt", before="world")
    wrap(GoalScheduler, "_tell", before="told", key=told)
    wrap(GoalContext, "end", before="goal", key=goal)
    wrap(GoalContext, "conclude", after="sent", key=goal)
    module = sys.argv[2]
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
