"""Text of maps and files for a page: plain, short, and never markup."""

from __future__ import annotations

import html

_JOINERS = {"\u200d", "\ufe0f"}
"""Parts of emoji that count as not printable."""


def plain(text: str, limit: int = 60) -> str:
    """Return text on one line, without control and direction characters, cut to `limit`.

    Widgets show such text as it is. An empty one comes back empty.
    """
    if len(text) > 4 * limit:
        text = text[: 4 * limit]
    flat = " ".join(text.split())
    shown = "".join(c if c.isprintable() or c in _JOINERS else "·" for c in flat)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def escaped(text: str, limit: int = 600) -> str:
    """Return `plain` text for the inside of an HTML element or attribute."""
    return html.escape(plain(text, limit), quote=True)
