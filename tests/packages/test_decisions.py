"""Every decision of the stack: its name can be set in a team file, its reply begins with why."""

import importlib
import inspect
import pkgutil

import pytest

from coterie_fixtures.endless import endless
from coterie_fixtures.oracle.answering import all_answers
from coterie_llm import DECISIONS, Decision

pytestmark = pytest.mark.quick

PACKAGES = (
    "coterie_perception",
    "coterie_requests",
    "emos_planner",
    "mele_explorer",
    "object_planner",
    "openeqa_agent",
    "reveca_agent",
    "robot_adapters",
    "robot_resume",
    "semantic_mapper",
)

OF_STUDIES = ("coela.", "openeqa.judge_answer")
"""Decisions that only `research/` has, of a baseline and a judge; a profile names them, too."""


def _decisions() -> list[type[Decision]]:
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if ".testing" not in module.name and not module.name.endswith(("node", "__main__")):
                importlib.import_module(module.name)
    found: list[type[Decision]] = []
    todo = list(Decision.__subclasses__())
    while todo:
        one = todo.pop()
        todo += one.__subclasses__()
        if one.__module__.startswith(PACKAGES) and "name" in vars(one):
            found.append(one)
    return found


@pytest.fixture(scope="module")
def decisions() -> list[type[Decision]]:
    return _decisions()


def test_each_decision_can_be_named_in_a_profile(decisions: list[type[Decision]]) -> None:
    named = {one.name for one in decisions}
    of_studies = {name for name in DECISIONS if name.startswith(OF_STUDIES)}
    assert sorted(named | of_studies) == list(DECISIONS) and not named & of_studies


def test_every_reply_begins_with_the_reason(decisions: list[type[Decision]]) -> None:
    first = {one.name: next(iter(one.reply_type.model_fields)) for one in decisions}
    assert first == dict.fromkeys(first, "reason")


def test_no_two_decisions_have_replies_of_one_title(decisions: list[type[Decision]]) -> None:
    titles = {one.name: one.reply_type.model_json_schema()["title"] for one in decisions}
    assert len(set(titles.values())) == len(titles)


def test_the_oracle_answers_every_decision_but_images_and_bodies_in_words(
    decisions: list[type[Decision]],
) -> None:
    left_out = {"openeqa.answer_from_frames", "openeqa.caption_frame", "emos.describe_body"}
    left_out |= {"perception.detect_things", "adapter.check_outcome", "mapper.name_thing"}
    kinds = {one.reply_type.__name__ for one in decisions if one.name not in left_out}
    assert kinds <= set(all_answers())


def test_no_reply_can_go_on_for_ever(decisions: list[type[Decision]]) -> None:
    """Grammars enforce lengths: a weak model that repeats itself ends where the schema does.

    What a decision's `options` name is one of the values there.
    """
    open_ended = {}
    for one in decisions:
        named = inspect.getsource(one.options)
        fields = endless(one.reply_type.model_json_schema())
        open_ended[one.name] = [field for field in fields if f'"{field[1:]}"' not in named]
    assert {name: fields for name, fields in open_ended.items() if fields} == {}
