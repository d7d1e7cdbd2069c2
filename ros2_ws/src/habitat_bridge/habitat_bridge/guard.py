"""Guard: checks every skill before it runs, in simulation and on robots; refuses by default."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NoReturn

import shapely

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Vec2, Vec3
from coterie_core.scene import SceneGraph
from coterie_core.skills import (
    Ask,
    Close,
    Detect,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Open,
    Outcome,
    Pick,
    Place,
    Skill,
    SkillRefused,
    Target,
    Wait,
)

_LONGEST_WAIT = 3600.0  # [s]
_LONGEST_TEXT = 500  # characters
_MARGIN = 0.5  # [m]


@dataclass(frozen=True, slots=True)
class AllowedArea:
    """Where robots may act: a box [m], and optionally a fence and floors within it.

    Args:
        low: Lowest corner of the box [m].
        high: Highest corner [m].
        fence: Outline (x, y) [m] that targets must lie in; empty: no fence.
        floors: Lowest and highest height [m] of each storey that is allowed; empty: all.
    """

    low: Vec3
    high: Vec3
    fence: tuple[Vec2, ...] = ()
    floors: tuple[tuple[float, float], ...] = ()

    @staticmethod
    def of(
        scene: SceneGraph, fence: tuple[Vec2, ...] = (), floors: Collection[str] | None = None
    ) -> AllowedArea:
        """Return the area of a house: what its rooms, floors, places and objects span.

        Args:
            scene: The house.
            fence: As in the class.
            floors: Ids of the floors that are allowed (None: all).

        Raises:
            ValueError: A floor is not in the house, or the house has no extent.
        """
        unknown = sorted(set(floors or ()) - set(scene.floors))
        if unknown:
            raise ValueError(
                f"allowed floors: no floor {unknown[0]!r}; floors here: {', '.join(scene.floors)}"
            )
        points: list[Vec3] = [place.position for place in scene.places.values()]
        for floor in scene.floors.values():
            for room in scene.rooms.values():
                if room.floor == floor.id:
                    points += [(x, y, floor.elevation) for x, y in room.polygon]
                    points += [
                        (x, y, floor.elevation + floor.ceiling_height) for x, y in room.polygon
                    ]
        for thing in scene.objects.values():
            points += thing.box.axis_aligned()
        if not points:
            raise ValueError("allowed area: the house has neither rooms with outlines nor places")
        spans = [[p[k] for p in points] for k in range(3)]
        low, high = [min(s) - _MARGIN for s in spans], [max(s) + _MARGIN for s in spans]
        storeys = tuple(
            (floor.elevation, floor.elevation + floor.ceiling_height)
            for floor in scene.floors.values()
            if floors is not None and floor.id in floors
        )
        return AllowedArea((low[0], low[1], low[2]), (high[0], high[1], high[2]), fence, storeys)

    def trouble(self, point: Vec3) -> str:
        """Return "" if a point [m] is allowed, else why not."""
        where = f"({point[0]:.2f}, {point[1]:.2f}, {point[2]:.2f})"
        if not all(a <= p <= b for a, p, b in zip(self.low, point, self.high, strict=True)):
            return f"{where} is outside the house"
        if self.fence and not shapely.contains_xy(shapely.Polygon(self.fence), point[0], point[1]):
            return f"{where} is outside the fence"
        if self.floors and not any(low - 0.3 <= point[2] <= high for low, high in self.floors):
            return f"{where} is on a floor that is not allowed"
        return ""


class Guard:
    """Says no to skills that must not run; what it does not know, it refuses.

    Args:
        area: Where robots may act; None: nowhere, so that every skill with a position is refused.
        places: Ids and positions [m] of the places that exist.
        skills: Types of skill that are allowed at all; None: all of coterie_core.skills.
    """

    def __init__(
        self,
        area: AllowedArea | None,
        places: Mapping[str, Vec3],
        skills: Collection[type] | None = None,
    ) -> None:
        self.area = area
        self.places = places
        self.skills = None if skills is None else frozenset(skills)

    @staticmethod
    def of(scene: SceneGraph, area: AllowedArea | None = None) -> Guard:
        """Return the guard of a house; without an area, all of the house is allowed."""
        places = {place.id: place.position for place in scene.places.values()}
        return Guard(area or AllowedArea.of(scene), places)

    def check(self, skill: object, embodiment: Embodiment) -> None:
        """Let a skill pass.

        Raises:
            SkillRefused: It must not run: REFUSED (not allowed, or numbers that are none),
                UNKNOWN_TARGET (no such place), UNSUPPORTED (not with this body).
        """
        if self.skills is not None and type(skill) not in self.skills:
            self._refuse(f"{type(skill).__name__} is not among the allowed skills")
        if isinstance(skill, NavigateTo):
            self._navigate(skill, embodiment)
        elif isinstance(skill, MoveArmTo):
            self._arm(skill, embodiment)
            self._point(skill.position, "position")
        elif isinstance(skill, (Pick, Place, Open, Close)):
            self._arm(skill, embodiment)
            self._target(skill.receptacle if isinstance(skill, Place) else skill.target)
        elif isinstance(skill, Wait):
            if not (math.isfinite(skill.duration) and 0.0 <= skill.duration <= _LONGEST_WAIT):
                self._refuse(
                    f"Wait.duration must be 0..{_LONGEST_WAIT:g} s, got {skill.duration!r}"
                )
        elif isinstance(skill, Ask):
            if len(skill.text) > _LONGEST_TEXT:
                self._refuse(f"Ask.text has {len(skill.text)} characters; at most {_LONGEST_TEXT}")
        elif isinstance(skill, LookAround):
            if embodiment.mobility == "fixed":
                self._unable("LookAround", embodiment, "it cannot turn")
        elif not isinstance(skill, Detect):
            self._refuse(f"{type(skill).__name__} is not a skill this guard knows")

    def _navigate(self, skill: NavigateTo, embodiment: Embodiment) -> None:
        if embodiment.mobility == "fixed":
            self._unable("NavigateTo", embodiment, "it cannot move")
        if skill.yaw is not None and not math.isfinite(skill.yaw):
            self._refuse(f"NavigateTo.yaw must be a finite angle [rad], got {skill.yaw!r}")
        for name in ("tolerance", "yaw_tolerance"):
            value = getattr(skill, name)
            if not (math.isfinite(value) and value >= 0.0):
                self._refuse(f"NavigateTo.{name} must be finite and at least 0, got {value!r}")
        if skill.place:
            if skill.place not in self.places:
                raise SkillRefused(
                    Outcome.UNKNOWN_TARGET,
                    f"there is no place {skill.place!r}; use an id from the last observation",
                )
            self._point(self.places[skill.place], f"place {skill.place}")
        elif skill.position is None:
            raise SkillRefused(
                Outcome.UNKNOWN_TARGET, "NavigateTo names neither a place nor a position"
            )
        else:
            self._point(skill.position, "position")

    def _arm(self, skill: Skill, embodiment: Embodiment) -> None:
        if embodiment.arm is None:
            self._unable(type(skill).__name__, embodiment, "it has no arm")

    def _target(self, target: Target) -> None:
        if not target.label:
            raise SkillRefused(Outcome.UNKNOWN_TARGET, "the target has no label")
        self._point(target.position, f"target {target.label!r}")

    def _point(self, point: Vec3, what: str) -> None:
        if len(point) != 3 or not all(math.isfinite(p) for p in point):
            self._refuse(f"{what}: expected three finite numbers [m], got {point!r}")
        if self.area is None:
            self._refuse(f"{what}: no area is allowed; give the guard an allowed area")
        trouble = self.area.trouble(point)
        if trouble:
            self._refuse(f"{what} {trouble}")

    @staticmethod
    def _unable(skill: str, embodiment: Embodiment, why: str) -> NoReturn:
        raise SkillRefused(
            Outcome.UNSUPPORTED, f"{skill} is not possible for {embodiment.name}: {why}"
        )

    @staticmethod
    def _refuse(reason: str) -> NoReturn:
        raise SkillRefused(Outcome.REFUSED, reason)
