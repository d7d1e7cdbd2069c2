"""What the model in the box said to decisions of the stack, recorded and replayed.

The prompts are those of today: a decision whose prompt has changed since goes to its rule, and the
test tells which. Record anew, with the model in the box set up (some ten minutes on idle cores):

    cd ros2_ws/src/coterie_bench/test
    COTERIE_RECORD=1 pytest --timeout 0 test_bench_model_in_the_box.py
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from coterie_bench.decision_samples import decision_samples
from coterie_core.language import Decided, ModelProfile, build_decider

CASSETTE = Path(__file__).parent / "data" / "model_in_the_box.jsonl"
SEED = 4
NAMES = (
    "mele.parse_question",
    "mele.choose_place",
    "mele.answer",
    "reveca.rate_relevance",
    "reveca.choose_plan",
    "reveca.judge_scenario",
    "coela.word_message",
    "coela.act_or_speak",
    "objects.plan",
    "objects.choose",
)


@pytest.mark.slow
def test_what_the_model_in_the_box_said_is_replayed() -> None:
    """Its replies are valid, or refused with a reason; the rule decides the rest."""
    recording = os.environ.get("COTERIE_RECORD") == "1"
    if recording:
        CASSETTE.unlink(missing_ok=True)
        profile = ModelProfile(kind="local", timeout_s=150.0, max_retries=0, record_to=CASSETTE)
    else:
        profile = ModelProfile(kind="replay", cassette=CASSETTE, context=4096, on_miss="rule")
    samples = decision_samples(NAMES, seed=SEED, count=1)

    async def ask() -> dict[str, Decided]:
        made = {}
        for name, (one,) in samples.items():
            decider = build_decider(profile, who=one.who, timeout_s=300.0)
            made[name] = await decider.decide(one.decision, one.state)
            await decider.aclose()
        return made

    made = asyncio.run(ask())
    for name, decided in made.items():
        (one,) = samples[name]
        one.decision.check(one.state, decided.reply)
        print(f"{name}: {decided.decided_by}, {decided.attempts} replies, {decided.reason[:200]}")
    changed = [name for name, decided in made.items() if "ReplayMiss" in decided.reason]
    told = f"other prompts since they were recorded: {', '.join(changed)}; see the top of the file"
    assert len(changed) <= len(NAMES) // 2, told
    replayed = [decided for name, decided in made.items() if name not in changed]
    own = [decided for decided in replayed if decided.decided_by == "model"]
    assert len(own) >= len(replayed) // 2
    assert all(decided.reason for decided in replayed if decided.decided_by == "rule")
    assert CASSETTE.stat().st_size < 300_000
