"""Limits: what the section `limits:` of a team file allows, for the team and for one robot."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import shapely
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Vec2
from coterie_core.plain_data import schema_problems
from coterie_core.skill_registry import SKILLS
from coterie_core.yaml_checks import suggestion
from coterie_safety.guard.windows import TimeWindow


def _polygon(points: tuple[Vec2, ...]) -> tuple[Vec2, ...]:
    if len(points) < 3:
        raise ValueError(f"a polygon has at least 3 corners [x, y], got {len(points)}")
    shape = shapely.Polygon(points)
    if not shape.is_valid or shape.area <= 0.0:
        why = shapely.is_valid_reason(shape).lower()
        raise ValueError(f"no polygon: {why}; give its corners in their order around it")
    return points


def _polygons(value: Any) -> Any:
    """Take one polygon for a list of one."""
    if isinstance(value, (list, tuple)) and value and _is_point(value[0]):
        return [value]
    return value


def _is_point(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not any(
        isinstance(part, (list, tuple, dict)) for part in value
    )


def _height_range(value: tuple[float, float] | None) -> tuple[float, float] | None:
    if value is not None and value[0] >= value[1]:
        raise ValueError(f"expected [lowest, highest] height [m], got [{value[0]:g}, {value[1]:g}]")
    return value


def _skill(value: str) -> str:
    if value not in SKILLS:
        raise ValueError(f"unknown skill {value!r}{suggestion(value, tuple(SKILLS))}")
    return value


def _one_or_many(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _window(value: str) -> str:
    TimeWindow.parse(value)
    return value


OneOrMany = BeforeValidator(_one_or_many)
"""Takes a text alone for a list of one."""
Hours = Annotated[tuple[Annotated[str, AfterValidator(_window)], ...], OneOrMany]
"""Windows of local time, as they are written."""
Polygon = Annotated[tuple[Vec2, ...], AfterValidator(_polygon)]
Polygons = Annotated[tuple[Polygon, ...], BeforeValidator(_polygons)]
HeightRange = Annotated[tuple[float, float] | None, AfterValidator(_height_range)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class FloorLimit(_Section):
    """A storey that robots may be on: by the map's name, or by its heights."""

    name: str = Field("", description="Name of a floor of the map; empty: z tells the heights.")
    z: HeightRange = Field(
        None,
        description="Lowest and highest height of the storey [m], map frame; none: the map's.",
    )
    area: Polygons = Field(
        (),
        description="Polygon, or list of polygons, that robots stay in on this floor; none: "
        "limits.area alone holds.",
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _some(self) -> FloorLimit:
        if not self.name and self.z is None:
            raise ValueError("give the name of a floor of the map, or z: [lowest, highest] [m]")
        return self


class KeepOut(_Section):
    """Where robots must not be, reach or pass: a room of the map, or a polygon."""

    room: str = Field("", description="Name, kind or identifier of a room of the map.")
    polygon: Annotated[tuple[Vec2, ...], AfterValidator(lambda p: _polygon(p) if p else p)] = Field(
        (), description="Corners of the polygon, list of [x, y] in the map frame [m]."
    )
    z: HeightRange = Field(
        None, description="Lowest and highest height of the polygon [m]; none: all heights."
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"room": value}
        return {"polygon": value} if isinstance(value, (list, tuple)) else value

    @model_validator(mode="after")
    def _one(self) -> KeepOut:
        if bool(self.room) == bool(self.polygon):
            raise ValueError("give a room or a polygon")
        if self.room and self.z is not None:
            raise ValueError("z belongs to a polygon; a room has its floor's heights")
        return self


class Limits(_Section):
    """What robots may do and where; what is not given is not limited here."""

    area: Literal["anywhere"] | Polygons = Field(
        (),
        description="Polygon, or list of polygons, of corners [x, y] in the map frame [m] that "
        "robots stay in; anywhere: no limit; none: no limit in simulation, and a real robot "
        "refuses to move.",
    )
    floors: tuple[FloorLimit, ...] = Field(
        (), description="List of the floors that robots stay on; none: all."
    )
    keep_out: tuple[KeepOut, ...] = Field(
        (), description="List of rooms and polygons that robots stay out of, on their way, too."
    )
    speed: float | None = Field(None, gt=0.0, le=10.0, description="Highest speed [m/s].")
    payload: float | None = Field(
        None, gt=0.0, le=1000.0, description="Largest mass of an object that is picked up [kg]."
    )
    masses: dict[str, Annotated[float, Field(ge=0.0, le=1e6)]] = Field(
        default_factory=dict,
        description="Masses of objects by label [kg], where the map tells none.",
    )
    unknown_mass: Literal["refuse", "allow"] | None = Field(
        None,
        description="Answer where there is a payload limit and an object's mass is not known: "
        "refuse or allow; none: refuse.",
    )
    hours: Hours = Field(
        (),
        description="Windows of local time, such as 08:00-20:00 or mon-fri 22:00-06:00; none: "
        "at any time.",
    )
    skills: tuple[Annotated[str, AfterValidator(_skill)], ...] | None = Field(
        None, description="List of the skills that are allowed, dock among them; none: all."
    )

    @property
    def says_where(self) -> bool:
        """Whether it says where robots may be: an area, or floors with areas."""
        return bool(self.area) or (bool(self.floors) and all(f.area for f in self.floors))


class RobotLimits(_Section):
    """The limits of one robot: the team's and its own; both hold, so that its own only narrow."""

    team: Limits = Limits()
    robot: Limits = Limits()
    name: str = ""

    @staticmethod
    def from_json(text: str, what: str = "limits") -> RobotLimits:
        """Read what `to_json` wrote; "" for no limits.

        Raises:
            ValueError: It cannot be read; names the field.
        """
        try:
            return RobotLimits.model_validate(json.loads(text)) if text else RobotLimits()
        except ValidationError as error:
            raise ValueError(f"{what}: {schema_problems(error)}") from None

    def to_json(self) -> str:
        """Return it as a node's parameter."""
        return self.model_dump_json(exclude_defaults=True)

    @property
    def layers(self) -> tuple[tuple[str, Limits], ...]:
        """Each section with its place in the team file."""
        return (("limits", self.team), (f"robots.{self.name}.limits", self.robot))

    @property
    def speed(self) -> float | None:
        """Highest speed [m/s]; None: not limited."""
        return min((s.speed for _, s in self.layers if s.speed is not None), default=None)

    def body(self, body: Embodiment) -> Embodiment:
        """Return a body that is no faster than these limits allow."""
        if self.speed is None or self.speed >= body.linear_speed:
            return body
        return body.model_copy(update={"linear_speed": self.speed})

    @property
    def says_where(self) -> bool:
        """Whether one of the sections says where the robot may be."""
        return self.team.says_where or self.robot.says_where

    @property
    def keeps_out(self) -> bool:
        """Whether the robot is kept out of anything, so that it matters which way it drives."""
        return bool(self.team.keep_out or self.robot.keep_out)
