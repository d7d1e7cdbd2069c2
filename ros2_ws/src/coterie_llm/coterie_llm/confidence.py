"""Stated confidence of a model, read as it is meant."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

TOSS_UP = 0.5
_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)\s*")


def meant_confidence(given: Any) -> Any:
    """Return a confidence on the scale from 0.5 (a toss-up) to 1 (certain), as it was meant.

    Percentages become shares. A share below one half stands for "hardly sure": a model that says
    yes and 0.2 is not sure of no. It counts as a toss-up, so that no more is claimed than was said.
    What is on no usual scale is returned as it is, for the schema to refuse.
    """
    value = _share(given, from_percent=50.0)
    return TOSS_UP if isinstance(value, float) and 0.0 <= value < TOSS_UP else value


def meant_probability(given: Any) -> Any:
    """Return a probability from 0 to 1 as it was meant: percentages become shares.

    What is on no usual scale is returned as it is, for the schema to refuse.
    """
    return _share(given, from_percent=2.0)


def _share(given: Any, from_percent: float) -> Any:
    """Return a number as a share; plain numbers from `from_percent` to 100 are percentages."""
    if isinstance(given, bool):
        raise ValueError("expected a number, not true or false")
    text = _NUMBER.fullmatch(given) if isinstance(given, str) else None
    if text is None and not isinstance(given, int | float):
        return given
    value, percent = (float(text[1]), bool(text[2])) if text else (float(given), False)
    return value / 100.0 if percent or from_percent <= value <= 100.0 else value


Confidence = Annotated[float, Field(ge=TOSS_UP, le=1.0), BeforeValidator(meant_confidence)]
"""Probability (0.5..1) that what a reply says is right."""

Probability = Annotated[float, Field(ge=0.0, le=1.0), BeforeValidator(meant_probability)]
"""Probability (0..1)."""
