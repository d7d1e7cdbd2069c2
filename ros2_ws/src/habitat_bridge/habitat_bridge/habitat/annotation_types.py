"""What the formats of annotated scenes come down to: regions, things and portals, z up [m]."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from coterie_core.frames import zup_to_yup
from coterie_core.geometry import Box, Vec2, Vec3
from habitat_bridge.habitat.transforms import Array, upright_box


@dataclass(slots=True)
class RegionNote:
    """An annotated region, in the map frame (z up) [m].

    `label` is the annotators' word for its kind ("" where they gave none), `polygon` its outline
    (empty: unknown), `low`/`high` its extent in height (None: unknown), `level` its storey's key.
    """

    key: str
    label: str = ""
    name: str = ""
    polygon: list[Vec2] = field(default_factory=list)
    low: float | None = None
    high: float | None = None
    level: str = ""
    user: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ThingNote:
    """An annotated object: region key, box in the map frame (None: unknown), colour in the mesh."""

    key: str
    label: str
    region: str = ""
    box: Box | None = None
    color: int | None = None


@dataclass(slots=True)
class PortalNote:
    """An annotated way between two regions: where [m, map frame] and how wide [m]."""

    key: str
    region_a: str
    region_b: str
    position: Vec3
    width: float


@dataclass(slots=True)
class Annotations:
    """All that a descriptor tells. `levels` maps a storey's key to its elevation [m]."""

    regions: dict[str, RegionNote] = field(default_factory=dict)
    things: list[ThingNote] = field(default_factory=list)
    portals: list[PortalNote] = field(default_factory=list)
    levels: dict[str, float] = field(default_factory=dict)
    classes: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def map_box(center: Array, size: tuple[float, ...] | Array, rotation: Array) -> Box:
    """Return the upright box around an oriented one, both in the z-up map frame [m]."""
    half = np.abs(np.asarray(size, dtype=np.float64)) / 2.0
    return upright_box(zup_to_yup(center), zup_to_yup((rotation * half).T))


def counter_clockwise(polygon: list[Vec2]) -> list[Vec2]:
    """Return the outline in counter-clockwise order, without a repeated last point."""
    if len(polygon) > 1 and polygon[0] == polygon[-1]:
        polygon = polygon[:-1]
    area = sum(
        a[0] * b[1] - b[0] * a[1] for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True)
    )
    return polygon if area >= 0.0 else polygon[::-1]
