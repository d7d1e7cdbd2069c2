"""Fifty robots that answer ten questions a second: nothing is lost; the figures are printed."""

from __future__ import annotations

import asyncio
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie_core.questions import Question

pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]

FIFTY = """\
name: fifty
world: {kind: embedded, seed: 3, floors: 2, rooms: 22}
robots: [{name: "scout_{n}", count: 50, embodiment: air}]
exploration: {steps: 1}
aggregator: {method: majority_vote, deadline: 240.0}
"""
RATE = 10.0
"""Questions a second."""

SECONDS = 3.0


async def test_fifty_robots_ten_questions_a_second(
    ros_domain: int, running_team: Callable[..., Any], tmp_path: Path
) -> None:
    async with running_team(FIFTY, ros_domain) as running:
        operator = running.operator
        warm = [Question(f"warm-{i}", "chair", "kitchen", "") for i in range(3)]
        operator.ask_all(warm, deadline=240.0)
        await running.finals([q.id for q in warm])
        things = ["chair", "mug", "lamp", "plant", "book", "sofa", "towel", "plate"]
        count = int(RATE * SECONDS)
        ids = [f"q{i}" for i in range(count)]
        sent: dict[str, float] = {}
        begin = time.monotonic()
        for i, key in enumerate(ids):
            await asyncio.sleep(max(0.0, begin + i / RATE - time.monotonic()))
            sent[key] = time.monotonic()
            operator.ask_all(
                [Question(key, things[i % len(things)], "kitchen", "")], deadline=240.0
            )
        await running.finals(ids)
        for key in ids:
            final = operator.finals[key]
            assert final.missing == (), f"{key}: lost the answers of {final.missing}"
            assert len(final.votes) == 50
        for robot, answers in operator.answers.items():
            # A final answer may overtake the robots' own on its way here; none may be lost.
            await running.until(
                functools.partial(set(ids).issubset, answers), f"all answers of {robot}"
            )
        elapsed = np.array([operator.final_times[key] - sent[key] for key in ids])
        figures = {
            "robots": 50,
            "questions": count,
            "questions_per_second": RATE,
            "answers": 50 * count,
            "p50_s": round(float(np.percentile(elapsed, 50)), 3),
            "p95_s": round(float(np.percentile(elapsed, 95)), 3),
            "max_s": round(float(elapsed.max()), 3),
            "in_all_s": round(time.monotonic() - begin, 1),
        }
        print(json.dumps(figures))
