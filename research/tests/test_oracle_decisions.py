"""Prompts of all decisions but EMOS's: no verdict of the rule, short ones too, and the oracle."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from coterie_fixtures.oracle import Oracle
from coterie_llm import DECISIONS, Message, messages_for, request_for
from coterie_llm.decision import read_reply
from coterie_llm.dialect import Dialect
from coterie_llm.tokens import estimate_prompt
from coterie_llm.types import Reply
from research.bench.decision_samples import Sample, decision_samples

PACKAGES = ("coela.", "mele.", "objects.", "openeqa.", "reveca.")


def text_of(messages: tuple[Message, ...]) -> str:
    return "\n".join(message.text for message in messages)


def oracles_reply(sample: Sample, context: int | None = None) -> Any:
    """Return the oracle's reply to a decision put without look-ups; it passes the check."""
    request = request_for(sample.decision, sample.state, "model", context)
    body = Dialect().body("m", dataclasses.replace(request, tools=()))
    said = Oracle()(json.loads(json.dumps(body)))
    assert isinstance(said, dict), f"{sample.decision.name}: {said}"
    return read_reply(sample.decision, sample.state, Reply(json.dumps(said), said))


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_prompts_tell_no_verdict_and_the_oracle_answers_them(package: str) -> None:
    names = tuple(name for name in DECISIONS if name.startswith(package))
    for name, samples in decision_samples(names, seed=7, count=2).items():
        for sample in samples:
            decision, state = sample.decision, sample.state
            rule = decision.rule(state)
            prompt = text_of(messages_for(decision, state, "model"))
            assert 'label="advice"' not in prompt
            # An answer under review came from the rule here, and is shown as that.
            assert name == "objects.refine" or rule.model_dump_json() not in prompt, name
            if len(rule.reason) > 20 and not name.startswith("objects."):
                assert rule.reason not in prompt, name
            advised = text_of(messages_for(decision, state, "advised"))
            assert ('label="advice"' in advised) == bool(decision.advice(state))
            # The oracle cannot see.
            if not any(message.images for message in messages_for(decision, state, "model")):
                oracles_reply(sample)


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_prompts_fit_small_contexts_and_can_be_answered(package: str) -> None:
    names = tuple(name for name in DECISIONS if name.startswith(package))
    for name, samples in decision_samples(names, seed=8, count=1).items():
        decision, state = samples[0].decision, samples[0].state
        if any(message.images for message in messages_for(decision, state)):
            continue  # they are of one size
        for context in (2_000, 4_000, 8_000, 128_000):
            request = request_for(decision, state, "model", context)
            assert estimate_prompt(request) + request.max_tokens <= context, name
        oracles_reply(samples[0], 2_000)
        oracles_reply(samples[0], 8_000)
