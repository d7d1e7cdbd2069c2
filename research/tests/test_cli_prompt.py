"""`./coterie prompt`: what a model is sent, in the house of a seed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coterie_bringup.errors import CommandError
from research.bench.decision_samples import Sample, decision_samples
from research.models.prompt import prompt, request_shown

NAME = "mele.choose_place"
GIVEN: dict[str, Any] = {"seed": 3, "number": 1, "mode": "model", "context": None}


@pytest.fixture(scope="module")
def sample() -> Sample:
    return decision_samples([NAME], seed=3, count=1)[NAME][0]


def test_the_same_seed_shows_the_same_prompt(
    sample: Sample, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prompt(NAME, **GIVEN, as_json=True) == 0
    first = json.loads(capsys.readouterr().out)
    assert first == json.loads(json.dumps(request_shown(sample, "model")))
    assert [m["role"] for m in first["messages"]] == ["system", "user"]
    assert first["rule"]["place"] in first["schema"]["properties"]["place"]["enum"]


def test_advice_is_shown_in_its_mode_alone(sample: Sample) -> None:
    advised, alone = (
        request_shown(sample, mode)["messages"][-1]["text"] for mode in ("advised", "model")
    )
    assert '<data label="advice">' in advised
    assert '<data label="advice">' not in alone


def test_a_small_context_makes_a_short_prompt(sample: Sample) -> None:
    whole, short = request_shown(sample, "model"), request_shown(sample, "model", 900)
    assert short["prompt_tokens_estimated"] < whole["prompt_tokens_estimated"]
    assert short["max_tokens"] <= 300


def test_it_is_readable(capsys: pytest.CaptureFixture[str]) -> None:
    prompt(NAME, **GIVEN, as_json=False)
    shown = capsys.readouterr().out
    for part in ("system", "user", "schema of the reply", "the rule's reply (not sent)", "tokens"):
        assert part in shown


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("mele.chose_place", {}, "did you mean mele.choose_place"),
        ("mele.choose_place", {"mode": "rule"}, "model, advised"),
    ],
)
def test_mistakes_are_named(name: str, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        prompt(name, **{**GIVEN, **changes}, as_json=True)
