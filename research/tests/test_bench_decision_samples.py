"""Every decision has states that came up in houses of a seed, and its rule passes its check."""

from __future__ import annotations

import re

import pytest

from coterie_llm import DECISIONS
from coterie_llm.decision import messages_for, schema_for
from research.bench.decision_samples import decision_samples

LONG = ("openeqa.", "emos.")
IMAGES = ("adapter.", "mapper.", "perception.")  # no samples
QUICK = tuple(name for name in DECISIONS if not name.startswith((*LONG, *IMAGES)))


def prompts(names: tuple[str, ...], seed: int) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for name, samples in decision_samples(names, seed=seed, count=2).items():
        assert 1 <= len(samples) <= 2
        for sample in samples:
            decision, state = sample.decision, sample.state
            assert decision.name == name
            assert decision.only_reply(state) is None  # a model would be asked
            decision.check(state, decision.rule(state))
            assert schema_for(decision, state)["type"] == "object"
            texts = [message.text for message in messages_for(decision, state, "model")]
            told.setdefault(name, []).append("\n".join(texts))
    return told


@pytest.mark.slow
def test_the_same_seed_gives_the_same_states_and_another_others() -> None:
    first = prompts(QUICK, 3)
    assert tuple(first) == QUICK
    again = ("coela.act_or_speak", "reveca.choose_plan")
    assert prompts(again, 3) == {name: first[name] for name in again}
    other = prompts(again, 4)
    assert all(other[name] != first[name] for name in again)


@pytest.mark.slow
def test_what_a_robot_is_told_first_stays_so_that_a_server_can_keep_it() -> None:
    """Servers cache the beginning of prompts: what changes stands behind it.

    Some begin with the robot's name, and are so one for each robot.
    """
    heads: dict[tuple[str, str], set[str]] = {}
    for name, samples in decision_samples(QUICK, seed=3, count=8).items():
        for sample in samples:
            kind = (name, repr(sorted(vars(sample.decision).items())))
            head, *rest = messages_for(sample.decision, sample.state, "model")
            assert rest and head.role == "system"
            text = re.sub(r"\AYou are \w+, a", "You are a", head.text)
            heads.setdefault(kind, set()).add(text)
    two = ("objects.reflect", "objects.refine")  # of the paper's workflow and of ours
    changing = {kind: texts for kind, texts in heads.items() if len(texts) > 1 + (kind[0] in two)}
    assert changing == {}


@pytest.mark.slow
@pytest.mark.parametrize("package", ["emos.", "openeqa."])
def test_those_that_take_longer_come_up_too(package: str) -> None:
    names = tuple(name for name in DECISIONS if name.startswith(package))
    assert tuple(prompts(names, 1)) == names


def test_an_unknown_decision_is_refused() -> None:
    with pytest.raises(KeyError, match=r"mele\.dance"):
        decision_samples(["mele.dance"])
