"""Every decision of the stack: its name can be set in a team file, its reply begins with why."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from coterie_bench.oracle.answering import all_answers
from coterie_core.language import DECISIONS, Decision

PACKAGES = (
    "coterie_bench.reveca",
    "coterie_core",
    "emos_planner",
    "mele_explorer",
    "object_planner",
    "openeqa_agent",
    "reveca_agent",
    "robot_resume",
)


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
    assert sorted({one.name for one in decisions}) == list(DECISIONS)


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
    kinds = {one.reply_type.__name__ for one in decisions if one.name not in left_out}
    assert kinds <= set(all_answers())


def test_no_reply_can_go_on_for_ever(decisions: list[type[Decision]]) -> None:
    """Grammars enforce lengths: a weak model that repeats itself ends where the schema does.

    What a decision's `options` name is one of the values there.
    """
    endless = {}
    for one in decisions:
        named = inspect.getsource(one.options)
        fields = _endless(one.reply_type.model_json_schema())
        endless[one.name] = [field for field in fields if f'"{field[1:]}"' not in named]
    assert {name: fields for name, fields in endless.items() if fields} == {}


def _endless(schema: Mapping[str, Any], path: str = "", root: Any = None) -> Iterator[str]:
    """Yield the paths of texts and lists that have no longest length, and of open mappings."""
    root = schema if root is None else root
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "enum" in schema or "const" in schema:
        return
    for one in (*schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from _endless(one, path, root)
    kind = schema.get("type")
    if kind == "string" and "maxLength" not in schema:
        yield path
    if kind == "array":
        if "maxItems" not in schema:
            yield f"{path}[]"
        yield from _endless(schema.get("items", {}), f"{path}[]", root)
    if kind == "object":
        if schema.get("additionalProperties"):
            yield f"{path}{{}}"
        for name, one in schema.get("properties", {}).items():
            yield from _endless(one, f"{path}.{name}", root)
