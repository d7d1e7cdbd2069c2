"""Fences: what a guard enforces of where a robot may be, as outlines that a map can show."""

from __future__ import annotations

from typing import Annotated

import shapely
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coterie_core.geometry import Vec2
from coterie_core.plain_data import schema_problems

MAX_FENCES_CHARS = 1_000_000
"""Longest text that is read as fences [characters]."""


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Ring = Annotated[tuple[Vec2, ...], Field(min_length=3)]


class FencePiece(_Told):
    """A piece of the floor plan with heights, map frame [m].

    Attributes:
        rings: Its outline, and then those of its holes; none: all of the plan.
        z: Its lowest and highest height; None: all heights.
    """

    rings: tuple[Ring, ...] = ()
    z: tuple[float, float] | None = None


class Fence(_Told):
    """One limit of where a robot may be.

    Attributes:
        keep_out: The robot must be in none of the pieces; else in one of them.
        where: The limit's place in the team file, such as `limits.keep_out[0]`.
        name: The room as the team file names it; "": the limit is no room.
        pieces: Polygons that are kept out, or allowed; none: the map does not know them (yet).
    """

    keep_out: bool
    where: str
    name: str = ""
    pieces: tuple[FencePiece, ...] = ()


class Fences(_Told):
    """All limits of where one robot may be.

    Attributes:
        fences: Each limit; all of them hold.
        trouble: Reason why the robot must not move at all; "": it may.
    """

    fences: tuple[Fence, ...] = ()
    trouble: str = ""

    def to_json(self) -> str:
        """Return it as a message's text."""
        return self.model_dump_json(exclude_defaults=True)

    @staticmethod
    def from_json(text: str, what: str) -> Fences:
        """Read what `to_json` wrote; `what` names the source in errors.

        Raises:
            ValueError: It cannot be read; names the field.
        """
        if len(text) > MAX_FENCES_CHARS:
            raise ValueError(f"{what}: {len(text)} characters; at most {MAX_FENCES_CHARS}")
        try:
            return Fences.model_validate_json(text)
        except ValidationError as error:
            raise ValueError(f"{what}: {schema_problems(error)}") from None


def pieces_of(shape: shapely.Geometry | None, z: Vec2 | None) -> tuple[FencePiece, ...]:
    """Return a shape (None: all of the plan) of a range of heights [m] as pieces."""
    if shape is None:
        return (FencePiece(z=z),)
    polygons = [part for part in shapely.get_parts(shape) if isinstance(part, shapely.Polygon)]
    return tuple(
        FencePiece(
            rings=tuple(
                tuple((float(x), float(y)) for x, y in ring.coords[:-1])
                for ring in (polygon.exterior, *polygon.interiors)
            ),
            z=z,
        )
        for polygon in polygons
    )
