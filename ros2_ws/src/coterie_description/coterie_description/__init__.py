"""Robots as URDF: published dimensions in plain shapes, free to use."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

ROBOTS = ("fetch", "stretch", "spot", "m100")
"""Names of the robots of this package."""


def urdf_path(name: str) -> Path:
    """Return the URDF file of a robot.

    Raises:
        KeyError: There is no such robot; names those there are.
    """
    if name not in ROBOTS:
        raise KeyError(f"no robot {name!r}; there are {', '.join(ROBOTS)}")
    return Path(str(resources.files("coterie_description").joinpath(f"urdf/{name}.urdf")))
