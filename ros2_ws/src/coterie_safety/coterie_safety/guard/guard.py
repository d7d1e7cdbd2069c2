"""Guard: checks every skill before it runs, in simulation and on robots; refuses by default."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NoReturn

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Vec3
from coterie_core.skill_registry import DOCK, spec_of
from coterie_core.skills import (
    Ask,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Outcome,
    Pick,
    SkillRefused,
    Target,
    Wait,
)
from coterie_safety.guard.area import AllowedArea, Zones, ends_trouble
from coterie_safety.guard.fences import Fences
from coterie_safety.guard.leaving import Breach
from coterie_safety.guard.limits import Limits, RobotLimits
from coterie_safety.guard.mass import masses_of_target
from coterie_safety.guard.windows import TimeWindow
from coterie_world.scene import SceneGraph

_MAX_WAIT_S = 3600.0  # [s]
_MAX_TEXT_CHARS = 500  # characters
NO_AREA = (
    "no area is allowed: write where this robot may be into the team file, as "
    "`limits: {area: [[x, y], [x, y], [x, y]]}` (corners in the map frame [m]), or "
    "`limits: {area: anywhere}`"
)
"""Refusal of a real robot without an allowed area."""


class Guard:
    """Says no to skills that must not run; what it does not know, it refuses.

    Args:
        area: Box that the robot may act in; None: only `limits` say where it may be, and where
            they do not, it must not move.
        places: Ids and positions [m] of the places that exist.
        limits: The limits of this robot, with those of its team.
        scene: The map that names of rooms and floors, and masses, are of; None: none is known.
        clock: Returns the local time.
    """

    def __init__(
        self,
        area: AllowedArea | None,
        places: Mapping[str, Vec3],
        limits: RobotLimits | None = None,
        *,
        scene: SceneGraph | None = None,
        clock: Callable[[], datetime] = datetime.now,
    ) -> None:
        self.area = area
        self.places = places
        self.limits = limits or RobotLimits()
        self._clock = clock
        self._scene = scene or SceneGraph()
        self._zones = Zones(self.limits, scene)

    @staticmethod
    def of(scene: SceneGraph, limits: RobotLimits | None = None) -> Guard:
        """Return the guard of a known house; without limits, all of the house is allowed.

        Raises:
            ValueError: The house has no extent, or the limits name a room or floor it has not.
        """
        places = {place.id: place.position for place in scene.places.values()}
        guard = Guard(AllowedArea.of(scene), places, limits, scene=scene)
        if guard._zones.unknown:
            raise ValueError("; ".join(guard._zones.unknown.values()))
        return guard

    def know(self, scene: SceneGraph, places: Mapping[str, Vec3] | None = None) -> None:
        """Take in a newer map, and the places that exist now (None: the map's)."""
        self._scene = scene
        self._zones = Zones(self.limits, scene, self._zones)
        self.places = (
            {place.id: place.position for place in scene.places.values()}
            if places is None
            else places
        )

    @property
    def speed(self) -> float | None:
        """Highest speed that the limits allow [m/s]; None: not limited."""
        return self.limits.speed

    def fences(self) -> Fences:
        """Return where the limits let the robot be, for maps that show it."""
        return Fences(fences=self._zones.fences(), trouble=self._no_way())

    def check(self, skill: object, embodiment: Embodiment) -> None:
        """Let a skill pass.

        Raises:
            SkillRefused: It must not run: REFUSED (not allowed, or numbers that are none),
                UNKNOWN_TARGET (no such place), UNSUPPORTED (not with this body).
        """
        spec = spec_of(skill)
        self._allowed_now(spec.name, type(skill).__name__)
        if spec.arm and embodiment.arm is None:
            self._unable(type(skill).__name__, embodiment, "it has no arm")
        if isinstance(skill, NavigateTo):
            self._navigate(skill, embodiment)
        elif isinstance(skill, MoveArmTo):
            self._point(skill.position, "position")
        elif (target := spec.target(skill)) is not None:
            self._target(target)
            if isinstance(skill, Pick):
                self._payload(skill.target)
        elif isinstance(skill, Wait):
            if not (math.isfinite(skill.duration) and 0.0 <= skill.duration <= _MAX_WAIT_S):
                self._refuse(f"Wait.duration must be 0..{_MAX_WAIT_S:g} s, got {skill.duration!r}")
        elif isinstance(skill, Ask):
            if len(skill.text) > _MAX_TEXT_CHARS:
                self._refuse(
                    f"Ask.text has {len(skill.text)} characters; at most {_MAX_TEXT_CHARS}"
                )
        elif isinstance(skill, LookAround):
            if embodiment.mobility == "fixed":
                self._unable("LookAround", embodiment, "it cannot turn")
            self._somewhere("LookAround")
        elif spec.moves:
            self._refuse(f"{type(skill).__name__} is not a skill this guard knows")

    def check_docking(self, embodiment: Embodiment) -> None:
        """Let a drive to the dock pass; where the dock is, only the robot's driver knows.

        Raises:
            SkillRefused: It must not be driven: REFUSED (`dock` is not allowed, not now, or nothing
                says where the robot may be), UNSUPPORTED (not with this body).
        """
        self._allowed_now(DOCK, DOCK)
        if embodiment.mobility == "fixed":
            self._unable(DOCK, embodiment, "it cannot move")
        self._somewhere(DOCK)

    def check_path(
        self, points: Sequence[Vec3], start: Vec3 | None = None, goal: Vec3 | None = None
    ) -> None:
        """Let a planned path pass.

        Args:
            points: The path [m, map frame].
            start: Position of the robot; None: the first point.
            goal: Position that it is to go to; None: the last point.

        Raises:
            SkillRefused: It leads where the robot must not be, and the reason names the limit; or
                it is no path from the robot to the goal.
        """
        trouble = self.path_trouble(points, start, goal)
        if trouble:
            self._refuse(trouble)

    def path_trouble(
        self, points: Sequence[Vec3], start: Vec3 | None = None, goal: Vec3 | None = None
    ) -> str:
        """Return why a path must not be taken, as `check_path` has it; "": it may be."""
        ends = [one for one in (start, goal) if one is not None]
        whole = (*ends[: start is not None], *points, *ends[start is not None :])
        return ends_trouble(points, start, goal) or self._zones.path_trouble(whole)

    def step_trouble(self, here: Vec3, there: Vec3) -> str:
        """Return why a robot must not go on from here to a point beside it [m]; "": it may."""
        return self._zones.step_trouble(here, there)

    def breaches(self, position: Vec3 | None) -> tuple[Breach, ...]:
        """Return the limits that a robot at a position [m] breaks; None: nobody knows where it is.

        Where it is not known, and limits say where it may be, that is what is wrong.
        """
        if position is not None and all(map(math.isfinite, position)):
            return self._zones.breaches(position)
        text = "nobody knows where the robot is, and limits say where it may be"
        return (Breach("limits", text),) if self._zones.fenced else ()

    def strays(self, position: Vec3 | None) -> str:
        """Return why a robot must not be at a position by its limits, as `breaches` has it."""
        return next((one.text for one in self.breaches(position)), "")

    def _allowed_now(self, name: str, what: str) -> None:
        """Refuse what is not allowed at all, or not at this time.

        Args:
            name: Its name in team files.
            what: Name of the action in the reason.
        """
        for where, section in self.limits.layers:
            allowed = section.skills
            if allowed is not None and name not in allowed:
                self._refuse(
                    f"{what} is not among the allowed skills "
                    f"{', '.join(allowed) or '(none)'} ({where}.skills)"
                )
            if section.hours:
                now = self._clock()
                if not any(TimeWindow.parse(text).contains(now) for text in section.hours):
                    self._refuse(
                        f"it is {now:%a %H:%M}, and robots act only {', '.join(section.hours)} "
                        f"({where}.hours)"
                    )

    def _somewhere(self, what: str) -> None:
        """Refuse what moves the robot where nothing says where it may be."""
        if trouble := self._no_way():
            self._refuse(f"{what}: {trouble}")

    def _no_way(self) -> str:
        """Return why the robot must not move at all; "": it may."""
        if self.area is None and not self.limits.says_where:
            return NO_AREA
        return next(iter(self._zones.unknown.values()), "")

    def _payload(self, target: Target) -> None:
        layers = self.limits.layers
        bounds = [(w, s, s.payload) for w, s in layers if s.payload is not None]
        if not bounds:
            return
        masses = masses_of_target(self._scene, target, self._masses())
        known = [(mass, label) for label, mass in masses if mass is not None]
        for where, section, payload in bounds:
            if len(known) < len(masses) and "refuse" in self._answers(section):
                unknown = next(label for label, mass in masses if mass is None)
                self._refuse(
                    f"the mass of {unknown!r} is not known, and {where}.payload allows "
                    f"{payload:g} kg; give its mass under {where}.masses, or write "
                    f"`unknown_mass: allow` there"
                )
            mass, label = max(known, default=(0.0, ""))
            if mass > payload:
                self._refuse(
                    f"{label!r} weighs {mass:.2f} kg, and {where}.payload allows {payload:g} kg"
                )

    def _answers(self, section: Limits) -> set[str]:
        """Return what a section and the robot's own say of an unknown mass."""
        own, team = self.limits.robot.unknown_mass, self.limits.team.unknown_mass
        return {section.unknown_mass or team or "refuse", own or "allow"}

    def _masses(self) -> dict[str, float]:
        """Return the heavier of what team and robot say a label weighs."""
        masses: dict[str, float] = {}
        for _, section in self.limits.layers:
            for label, mass in section.masses.items():
                masses[label] = max(mass, masses.get(label, 0.0))
        return masses

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

    def _target(self, target: Target) -> None:
        if not target.label:
            raise SkillRefused(Outcome.UNKNOWN_TARGET, "the target has no label")
        self._point(target.position, f"target {target.label!r}")

    def _point(self, point: Vec3, what: str) -> None:
        if len(point) != 3 or not all(math.isfinite(p) for p in point):
            self._refuse(f"{what}: expected three finite numbers [m], got {point!r}")
        self._somewhere(what)
        trouble = self.area.trouble(point) if self.area is not None else ""
        trouble = trouble or self._zones.trouble(point)
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
