"""Descriptions of four robots of the kinds that EMOS uses, from published dimensions."""

from __future__ import annotations

import difflib
from pathlib import Path

FOLDER = Path(__file__).parent / "urdf"
ROBOTS = ("fetch", "m100", "m100_indoor", "spot", "stretch")
"""Names of the robots; `m100_indoor` is the M100 at half its size, to fit through doors."""


def urdf_path(name: str) -> Path:
    """Return the file of a robot's URDF.

    Raises:
        KeyError: There is no robot of that name; the message names those there are.
    """
    return _file(name, "urdf")


def overrides_path(name: str) -> Path:
    """Return the file that states what the URDF does not say (as in config/robots).

    Raises:
        KeyError: There is no robot of that name.
    """
    return _file(name, "yaml")


def _file(name: str, ending: str) -> Path:
    if name not in ROBOTS:
        close = difflib.get_close_matches(name, ROBOTS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise KeyError(f"no robot {name[:80]!r}{hint} There are: {', '.join(ROBOTS)}")
    return FOLDER / f"{name}.{ending}"
