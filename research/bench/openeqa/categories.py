"""Categories of OpenEQA's questions by the names in its files."""

from __future__ import annotations

from typing import get_args

from openeqa_agent.understood import Category

CATEGORIES: tuple[Category, ...] = get_args(Category)
"""The seven categories of open questions (OpenEQA, section II-C)."""


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
