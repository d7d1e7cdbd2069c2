"""Names in the order that people count in."""

from __future__ import annotations

import re


def natural(text: str) -> list[tuple[int, int, str]]:
    """Key for sorting that puts obj2 before obj10."""
    return [
        (0, int(part), "") if part.isdecimal() and len(part) < 16 else (1, 0, part)
        for part in re.split(r"(\d+)", text.casefold())
        if part
    ]
