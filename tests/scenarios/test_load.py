"""Twenty robots that answer ten questions a second: no answer is lost.

How long that takes with up to fifty robots tells benchmarks/bench_end_to_end.py.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import pytest

from coterie_core.questions import Question

pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]

TWENTY = """\
name: twenty
world: {kind: embedded, seed: 3, floors: 2, rooms: 22}
robots: [{name: "scout_{n}", count: 20, embodiment: air}]
exploration: {steps: 1}
aggregator: {method: majority_vote, deadline: 240.0}
"""
THINGS = ("chair", "mug", "lamp", "plant", "book", "sofa", "towel", "plate")


async def test_twenty_robots_ten_questions_a_second(
    ros_domain: int, running_team: Callable[..., Any]
) -> None:
    async with running_team(TWENTY, ros_domain) as running:
        operator = running.operator
        warm = [Question(f"warm-{i}", "chair", "kitchen", "") for i in range(3)]
        operator.ask_all(warm, deadline=240.0)
        await running.finals([question.id for question in warm])
        ids = [f"q{i}" for i in range(30)]
        for i, key in enumerate(ids):
            await asyncio.sleep(0.1)
            question = Question(key, THINGS[i % len(THINGS)], "kitchen", "")
            operator.ask_all([question], deadline=240.0)
        await running.finals(ids)
        for key in ids:
            final = operator.finals[key]
            assert final.missing == (), f"{key}: lost the answers of {final.missing}"
            assert len(final.votes) == 20
        for robot, answers in operator.answers.items():
            # A final answer may overtake the robots' own on its way here; none may be lost.
            await running.until(
                functools.partial(set(ids).issubset, answers), f"all answers of {robot}"
            )
