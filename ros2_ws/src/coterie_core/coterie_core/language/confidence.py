"""How sure a model says that it is, read as it is meant."""

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
    if isinstance(given, bool):
        raise ValueError("expected a number from 0.5 (a toss-up) to 1 (certain)")
    text = _NUMBER.fullmatch(given) if isinstance(given, str) else None
    if text is None and not isinstance(given, int | float):
        return given
    value, percent = (float(text[1]), bool(text[2])) if text else (float(given), False)
    if percent or 50.0 <= value <= 100.0:
        value /= 100.0
    return TOSS_UP if 0.0 <= value < TOSS_UP else value


Confidence = Annotated[float, Field(ge=TOSS_UP, le=1.0), BeforeValidator(meant_confidence)]
"""Probability (0.5..1) that what a reply says is right."""
