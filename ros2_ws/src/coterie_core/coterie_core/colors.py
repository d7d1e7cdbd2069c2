"""Names of colours: what a person would call a paint or a pixel."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_ANCHORS: dict[str, tuple[tuple[int, int, int], ...]] = {
    "black": ((12, 12, 14), (36, 36, 38), (54, 54, 58)),
    "grey": ((96, 96, 99), (128, 128, 130), (165, 166, 170), (188, 190, 194)),
    "white": ((226, 226, 222), (240, 240, 236), (252, 252, 250)),
    "red": ((150, 30, 30), (190, 45, 42), (220, 60, 52), (110, 20, 22)),
    "orange": ((210, 110, 35), (238, 145, 58), (245, 130, 30)),
    "yellow": ((218, 184, 55), (242, 216, 95), (250, 235, 60)),
    "green": ((45, 100, 45), (80, 135, 65), (110, 165, 85), (30, 70, 32), (130, 200, 110)),
    "teal": ((32, 112, 112), (58, 140, 138), (82, 166, 162)),
    "blue": (
        (36, 66, 142), (62, 98, 175), (92, 132, 208), (24, 36, 78), (44, 58, 105), (120, 175, 225),
    ),
    "purple": ((95, 50, 120), (122, 74, 148), (152, 97, 177)),
    "pink": ((216, 132, 152), (232, 158, 174), (246, 182, 197), (230, 90, 150)),
    "brown": (
        (84, 56, 36), (104, 70, 46), (124, 86, 56), (150, 108, 68), (172, 132, 86), (198, 158, 106),
        (142, 72, 52), (166, 88, 66), (60, 40, 28),
    ),
    "beige": ((216, 200, 170), (230, 216, 190), (243, 232, 208), (226, 196, 144), (208, 186, 150)),
}  # fmt: skip
COLOR_NAMES: tuple[str, ...] = tuple(_ANCHORS)
"""The basic colour words of English, with teal and beige."""

_WORDS: dict[str, str] = {name: name for name in COLOR_NAMES} | {
    **dict.fromkeys(("silver", "silvery", "steel", "charcoal", "metallic"), "grey"),
    **dict.fromkeys(("cream", "tan", "ivory", "khaki", "off-white", "wooden-colored"), "beige"),
    **dict.fromkeys(("navy", "aqua", "azure", "cyan"), "blue"),
    **dict.fromkeys(("maroon", "crimson", "burgundy", "scarlet"), "red"),
    **dict.fromkeys(("turquoise",), "teal"),
    **dict.fromkeys(("violet", "lavender", "lilac", "magenta"), "purple"),
    **dict.fromkeys(("gold", "golden", "blonde"), "yellow"),
    **dict.fromkeys(("olive", "lime"), "green"),
    **dict.fromkeys(("oak", "walnut", "bronze", "copper", "chestnut"), "brown"),
    **dict.fromkeys(("dark",), "black"),
}
"""Words for colours, by their basic name."""
_ALIKE = frozenset(
    frozenset(pair)
    for pair in (
        ("white", "beige"), ("white", "grey"), ("grey", "black"), ("beige", "brown"),
        ("blue", "teal"), ("green", "teal"), ("red", "orange"), ("red", "pink"),
        ("orange", "yellow"), ("orange", "brown"), ("purple", "pink"), ("purple", "blue"),
        ("beige", "yellow"), ("red", "brown"),
    )
)  # fmt: skip
"""Basic colours that two people may call the same paint by."""

_HEX = re.compile(r"#?([0-9a-fA-F]{6})")
_WHITE = np.array([0.95047, 1.0, 1.08883])
_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def lab(rgb: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """CIE L*a*b* (D65) of sRGB values 0..255; (..., 3) in and out."""
    share = np.asarray(rgb, dtype=np.float64) / 255.0
    linear = np.where(share > 0.04045, ((share + 0.055) / 1.055) ** 2.4, share / 12.92)
    xyz = linear @ _TO_XYZ.T / _WHITE
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    x, y, z = root[..., 0], root[..., 1], root[..., 2]
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1)


def color_name(color: str | Sequence[float]) -> str:
    """Return the name of a colour, "#rrggbb" or red, green, blue (0..255); "" if it is none.

    The name is that of the nearest of a few examples of each colour in CIE L*a*b*.
    """
    if isinstance(color, str):
        found = _HEX.fullmatch(color.strip())
        if found is None:
            return color.strip().lower() if color.strip().lower() in _ANCHORS else ""
        value = int(found[1], 16)
        color = (value >> 16, value >> 8 & 255, value & 255)
    if len(color) != 3:
        return ""
    return _name(tuple(int(np.clip(v, 0, 255)) for v in color))


def basic_color(word: str) -> str:
    """Return the basic name of a colour word, or ""."""
    return _WORDS.get(word.strip().lower().replace("gray", "grey"), "")


def stated_color(properties: Mapping[str, object]) -> str:
    """Return the basic name of the colour that a map states of an object: a word or "#rrggbb"."""
    said = str(properties.get("color", "")).strip()
    return basic_color(said) or color_name(said)


def are_alike(one: str, other: str) -> bool:
    """Whether two basic names are so near that both may be said of one paint."""
    return frozenset((one, other)) in _ALIKE


def color_names(rgb: npt.ArrayLike) -> list[str]:
    """Return the names of colours (n, 3), red, green, blue, 0..255."""
    values = np.asarray(rgb, dtype=np.float64).reshape(-1, 3)
    names, anchors = _anchors()
    apart = np.linalg.norm(lab(values)[:, None, :] - anchors[None], axis=2)
    return [names[int(k)] for k in apart.argmin(axis=1)] if len(values) else []


@lru_cache(maxsize=4096)
def _name(rgb: tuple[int, ...]) -> str:
    return color_names([rgb])[0]


@lru_cache(maxsize=1)
def _anchors() -> tuple[list[str], npt.NDArray[np.float64]]:
    names = [name for name, values in _ANCHORS.items() for _ in values]
    return names, lab([value for values in _ANCHORS.values() for value in values])


ROBOT_COLORS = (
    "#0072b2", "#d55e00", "#009e73", "#a5569b", "#b8860b", "#2596be", "#7a5c3e", "#55606e",
)  # fmt: skip
"""Colors of robots, told apart by people who see red and green alike."""


def robot_colors(robots: Iterable[str]) -> dict[str, str]:
    """Return the robots' colors by name ("#rrggbb"): the same in every picture of a team."""
    return {
        robot: ROBOT_COLORS[k % len(ROBOT_COLORS)] for k, robot in enumerate(sorted(set(robots)))
    }
