"""The four robots: their links and joints, from published dimensions. Writes urdf/*.urdf.

`python -m coterie_description.robots` writes the files anew; a test tells when they are out of
date. Lengths [m], angles [rad], x ahead, z up. Sources: README.md of this package.
"""

from __future__ import annotations

from collections.abc import Callable

from coterie_description.robots.fetch import fetch
from coterie_description.robots.m100 import m100
from coterie_description.robots.spot import spot
from coterie_description.robots.stretch import stretch
from coterie_description.writing import Writer

ROBOTS: dict[str, Callable[[], Writer]] = {
    "fetch": fetch,
    "stretch": stretch,
    "spot": spot,
    "m100": m100,
    "m100_indoor": lambda: m100(0.5),
}
