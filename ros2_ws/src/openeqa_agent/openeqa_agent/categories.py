"""The seven categories of open questions (OpenEQA, section II-C)."""

from __future__ import annotations

from typing import Literal, get_args

Category = Literal[
    "object_recognition",  # what is there
    "object_localization",  # where it is
    "attribute_recognition",  # its color, shape, material
    "spatial_understanding",  # how things stand to one another, what fits
    "object_state_recognition",  # open or closed, clean, on, full
    "functional_reasoning",  # what serves a purpose
    "world_knowledge",  # what follows from what people know
]
CATEGORIES: tuple[Category, ...] = get_args(Category)


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
