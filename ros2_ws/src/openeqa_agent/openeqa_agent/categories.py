"""The seven categories of open questions (OpenEQA, section II-C), told from the words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, get_args

from openeqa_agent.words import clean

Category = Literal[
    "object_recognition",
    "object_localization",
    "attribute_recognition",
    "spatial_understanding",
    "object_state_recognition",
    "functional_reasoning",
    "world_knowledge",
]
CATEGORIES: tuple[Category, ...] = get_args(Category)

_CUES: tuple[tuple[str, Category], ...] = (
    (
        r"^where (?:is|are|did|was|were|have|do)\b|^have you seen"
        r"|^(?:which|what|in which|in what) room\b",
        "object_localization",
    ),
    (r"\bcolors?\b|\bmaterials?\b|\bshapes?\b|\bmade of\b|\bpattern\b", "attribute_recognition"),
    (
        r"\b(?:open|closed|turned|plugged|clean|messy|dirty|full|empty|made|switched|cluttered)\b",
        "object_state_recognition",
    ),
    (
        r"\b(?:can|should|could) (?:i|we|you)\b|\bi (?:can|need|want)\b|\bhow (?:can|do|should)\b",
        "functional_reasoning",
    ),
    (r"\b(?:between|behind|under|underneath|below|in front of)\b", "spatial_understanding"),
    (r"^what (?:is|are|object|item)\b|^which object\b|^how many\b", "object_recognition"),
)


def category_named(name: str) -> Category:
    """Return the category of a name with spaces, underscores or capitals.

    Raises:
        ValueError: There is no such category.
    """
    wanted = "_".join(name.strip().lower().replace("-", " ").replace("_", " ").split())
    for category in CATEGORIES:
        if category == wanted:
            return category
    raise ValueError(f"category {name!r}: expected one of {', '.join(CATEGORIES)}")


@lru_cache(maxsize=4096)
def categorize(text: str) -> Category:
    """Return the category of a question, by its words alone."""
    said = clean(text)
    for pattern, category in _CUES:
        if re.search(pattern, said):
            return category
    return "world_knowledge"
