"""The category of a question, from what it asks (OpenEQA, section II-C)."""

from __future__ import annotations

import re

from openeqa_agent.categories import Category
from openeqa_agent.understood import OpenQuestion

_HOME = re.compile(r"\b(?:home|house|building|apartment|people|person|live[ds]?|city|suburbs?)\b")
_KNOWN_STATES = frozenset(
    ("open", "closed", "on", "off", "clean", "messy", "empty", "full", "made", "unmade", "folded",
     "plugged in", "in", "out", "up", "set")
)  # fmt: skip


def sort_category(question: OpenQuestion, core: str, context: str) -> Category:
    """Return the category of an understood question.

    Args:
        question: What is asked; its category is not looked at.
        core: The clause that asks.
        context: What was said before it.
    """
    kind = question.kind
    if kind in ("where", "which_room"):
        return "world_knowledge" if question.attribute == "this" else "object_localization"
    if kind == "color":
        return "attribute_recognition"
    if kind == "attribute":
        if question.attribute == "purpose":
            return "functional_reasoning"
        plain = question.attribute in ("material", "shape", "pattern", "size")
        return "attribute_recognition" if plain else "world_knowledge"
    if kind == "state":
        known = question.attribute in _KNOWN_STATES
        return "world_knowledge" if not known and _HOME.search(core) else "object_state_recognition"
    if kind == "is_there":
        return _presence(question)
    if kind == "relation":
        if _HOME.search(core) or re.search(r"\b(?:this|the) room\b", core):
            return "world_knowledge"
        held = question.relation in ("in", "on", None)
        return "object_state_recognition" if held else "spatial_understanding"
    if kind in ("space", "size"):
        return "spatial_understanding"
    if kind == "used_for":
        return _use(question, core, context)
    if kind == "how_many":
        return "world_knowledge" if _HOME.search(core) else "object_recognition"
    if kind == "what":
        return _what(question, core)
    return "spatial_understanding" if question.polar else "world_knowledge"


def _presence(question: OpenQuestion) -> Category:
    if question.relation in ("on", "in"):
        return "object_state_recognition"
    if question.relation is not None:
        return "spatial_understanding"
    return "world_knowledge"


def _use(question: OpenQuestion, core: str, context: str) -> Category:
    if re.search(r"\b(?:between|stand|walk|reach|fit|see)\b", core) and question.polar:
        return "spatial_understanding"
    if question.polar and not re.search(r"\b(?:something|anything|somewhere|a place)\b", core):
        return "world_knowledge"
    if context and question.attribute != "place":
        return "world_knowledge"  # a predicament told first asks for more than a tool
    return "functional_reasoning"


def _what(question: OpenQuestion, core: str) -> Category:
    if question.relation in ("between", "in front of"):
        return "spatial_understanding"
    if question.relation in ("under", "behind") and question.target.generic:
        return "object_recognition" if question.target.color else "spatial_understanding"
    if re.search(
        r"\b(?:brand|written|words?|animal|holiday|sport|season|name|weather|why)\b", core
    ):
        return "world_knowledge"
    return "object_recognition"
