"""Marks: the rule judge on own and on real pairs, the model judge's faults, Eq. 1 and 2."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.faults import BROKEN_JSON, rate_limit, server_error
from coterie_llm import Decider, ModelProfile, RulesModel, build_model
from research.bench.openeqa.judge import Mark, bootstrap, efficiency, judge, match_score, rule_mark

REAL = Path(__file__).resolve().parents[3] / "shared/data/open_eqa/open-eqa-v0.json"


@pytest.mark.parametrize(
    ("question", "answer", "prediction", "least", "most"),
    [
        ("What color is the rug?", "light grey", "gray", 4, 5),
        ("What color is the rug?", "blue and white", "blue", 3, 4),
        ("What color is the rug?", "blue", "It is red.", 1, 1),
        ("Is the door open?", "yes", "Yes, it is open.", 5, 5),
        ("Is the door open?", "no", "it's closed", 5, 5),
        ("Is the door open?", "yes", "closed", 1, 1),
        ("Is the door open or closed?", "closed", "shut", 5, 5),
        ("How many stools are there?", "three", "3 stools", 5, 5),
        ("How many stools are there?", "3", "4", 2, 2),
        ("How many stools are there?", "3", "9", 1, 1),
        ("Where is the broom?", "in the kitchen", "In the kitchen, next to the door", 5, 5),
        ("Where is the cup?", "on the couch", "on the sofa", 5, 5),
        ("Where is the cup?", "left of the sink", "right of the sink", 1, 2),
        ("Where is the cup?", "on the desk in the office", "on the desk", 4, 5),
        ("What is on the wall?", "a painting", "picture", 5, 5),
        ("What is on the wall?", "a painting", "a fridge", 1, 1),
        ("What is on the wall?", "a painting", "", 1, 1),
        ("Where can I sit?", "Yes, on the bench", "on the bench", 4, 5),
        ("Who sits on the bench?", "a man", "Robert", 3, 3),
        ("Is the hatch open?", "Yes, slightly", "It is ajar", 4, 5),
        ("Is the radio on?", "Yes", "It is turned on", 5, 5),
        ("Is the radio on?", "No", "It is turned on", 1, 1),
        ("Where is the stool?", "next to the oven", "left of the oven", 4, 4),
        ("Where is the shoe?", "under the bed", "on the bed", 1, 2),
        ("What color is the cloth?", "beige with blue", "brown with blue", 3, 3),
    ],
)
def test_rule_marks(question, answer, prediction, least, most):
    assert least <= rule_mark(question, answer, (), prediction) <= most


def test_the_best_of_several_right_answers_counts():
    assert rule_mark("Where is the cat?", "on the bed", ("in the bedroom",), "bedroom") == 5


@pytest.mark.skipif(not REAL.is_file(), reason="needs ../shared/data/open_eqa")
def test_agrees_with_people_on_real_answers():
    """People's further answers to a question are right, answers about other houses wrong."""
    questions = [q for q in json.loads(REAL.read_text("utf-8")) if q.get("extra_answers")]
    dice = random.Random(1)
    right, wrong = [], []
    for asked in dice.sample(questions, 80):
        extra = asked["extra_answers"]
        for k, said in enumerate(extra):
            others = extra[:k] + extra[k + 1 :]
            right.append(rule_mark(asked["question"], asked["answer"], others, said))
        other = dice.choice(questions)
        if other["episode_history"] != asked["episode_history"]:
            wrong.append(rule_mark(asked["question"], asked["answer"], extra, other["answer"]))
    higher = [(a > b) + 0.5 * (a == b) for a in right for b in wrong]
    assert len(right) > 200 and sum(higher) / len(higher) > 0.8


def model(endpoint):
    profile = ModelProfile(
        kind="openai", model="judge", base_url=endpoint.url, timeout_s=5.0, max_retries=0
    )
    return Decider(build_model(profile), timeout_s=5.0)


async def test_no_mark_is_asked_again_once_then_missing():
    replies = [{"reason": "hm", "mark": 7}, {"reason": "right", "mark": 5}, "great!", "great!"]
    with Endpoint(lambda request: replies.pop(0)) as endpoint:
        decider = model(endpoint)
        second = await judge(decider, "Where?", "here", ("there",), "here")
        assert second == Mark(5, "model", "right") and len(endpoint.received) == 2
        assert "reference answers" in endpoint.received[0].text
        assert await judge(decider, "Where?", "here", (), "here") is None
        assert len(endpoint.received) == 4


@pytest.mark.parametrize("faults", [(server_error(),), (rate_limit(),), (BROKEN_JSON, BROKEN_JSON)])
async def test_an_endpoint_that_fails_gives_no_mark_and_ends_nothing(faults):
    with Endpoint() as endpoint:
        endpoint.fail(*faults)
        assert await judge(model(endpoint), "Where?", "here", (), "here") is None


async def test_without_a_model_the_rule_marks():
    assert await judge(Decider(RulesModel()), "Q?", "yes", (), "yes") == Mark(5, "rule", "by rules")


def test_correctness_and_efficiency():
    """Eq. 1 and 2 on numbers worked out by hand."""
    marks = [5, 3, None, 1]
    assert match_score(marks) == pytest.approx(50.0)
    assert efficiency(marks, [10, 40, 5, 5], [20, 10, 5, 5]) == pytest.approx(
        100.0 * (1.0 + 0.5 * 0.25 + 0.0) / 3
    )
    assert math.isnan(match_score([None])) and math.isnan(efficiency([], [], []))
    assert efficiency([5], [3.0], [0.0]) == 0.0
    with pytest.raises(ValueError, match="differ in length"):
        efficiency([5], [], [1])
    with pytest.raises(ValueError, match=r"1\.\.5"):
        match_score([6])


def test_bootstrap_repeats_and_holds_the_mean():
    values = [0.0, 0.25, 1.0, 1.0, 0.5] * 8
    low, high = bootstrap(values, seed=4)
    assert (low, high) == bootstrap(values, seed=4)
    assert low < sum(values) / len(values) < high
    assert all(map(math.isnan, bootstrap([])))
