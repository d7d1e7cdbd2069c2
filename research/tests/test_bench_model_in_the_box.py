"""What the model in the box said to decisions of the stack, recorded and replayed.

The prompts are those of today: a decision whose prompt has changed since goes to its rule, and the
test tells which. Record anew, with the model in the box set up (some ten minutes on idle cores):

    COTERIE_RECORD=1 pytest --timeout 0 research/tests/test_bench_model_in_the_box.py
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from coterie_llm import Decided, ModelProfile, build_decider
from mele_explorer.answer_presence import PresenceReply
from mele_explorer.choose_place import PlaceChoice
from object_planner.plan import Plan
from object_planner.review import Choice
from research.bench.decision_samples import decision_samples
from research.bench.reveca.baseline_coela import TurnReply, Wording
from reveca_agent.planning import PlanChoice
from reveca_agent.relevance import Ratings
from reveca_agent.validation import ScenarioChoice

CASSETTE = Path(__file__).parent / "data" / "model_in_the_box.jsonl"
SEED = 4
FORMS = (
    PlaceChoice,
    PresenceReply,
    Ratings,
    PlanChoice,
    ScenarioChoice,
    Wording,
    TurnReply,
    Plan,
    Choice,
)
"""Forms of the replies to `NAMES`."""
NAMES = (
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


def test_what_it_said_fits_todays_forms() -> None:
    """Grammars kept the form of every reply: today's types read what they were made for."""
    lines = [json.loads(line) for line in CASSETTE.read_text("utf-8").splitlines()]
    forms = {form.__name__: form for form in FORMS}
    assert {line["request"]["schema"]["title"] for line in lines} == set(forms)
    said = [line for line in lines if "reply" in line]  # others were cut off
    assert len(said) >= len(lines) - 2
    for line in said:
        assert forms[line["request"]["schema"]["title"]].model_validate(line["reply"]["parsed"])
    assert CASSETTE.stat().st_size < 300_000


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
    print(told)
    assert len(changed) < len(NAMES), told
    replayed = [decided for name, decided in made.items() if name not in changed]
    assert any(decided.decided_by == "model" for decided in replayed)
    assert all(decided.reason for decided in replayed if decided.decided_by == "rule")
