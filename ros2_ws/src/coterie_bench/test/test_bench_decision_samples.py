"""Every decision has states that came up in houses of a seed, and its rule passes its check."""

from __future__ import annotations

import pytest

from coterie_bench.decision_samples import decision_samples
from coterie_core.language import DECISIONS
from coterie_core.language.decision import messages_for, schema_for

QUICK = tuple(name for name in DECISIONS if not name.startswith(("openeqa.", "emos.")))


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
@pytest.mark.parametrize("package", ["emos.", "openeqa."])
def test_those_that_take_longer_come_up_too(package: str) -> None:
    names = tuple(name for name in DECISIONS if name.startswith(package))
    assert tuple(prompts(names, 1)) == names


def test_an_unknown_decision_is_refused() -> None:
    with pytest.raises(KeyError, match=r"mele\.dance"):
        decision_samples(["mele.dance"])
