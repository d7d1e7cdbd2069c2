"""How the embedded house carries out each skill: its stages, and what happens at its end."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from coterie_core.geometry import Vec3
from coterie_core.observation import Observation
from coterie_core.skill_registry import spec_of
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
    SkillResult,
    Wait,
)
from coterie_world.scene import SceneObject
from habitat_bridge.embedded.body import Body, Hold, Job, SkillFailed, Spin, Stage, Turn, Walk
from habitat_bridge.embedded.deadlock_avoidance import make_way
from habitat_bridge.embedded.manipulation import Hands
from habitat_bridge.embedded.navigation import Disc, NoWay, Route
from habitat_bridge.embedded.things import Things

_TIMES: dict[type, float] = {
    Pick: 2.0,
    Place: 2.0,
    Open: 1.5,
    Close: 1.5,
    MoveArmTo: 1.0,
    Detect: 0.5,
}
_ON_SPOT = 0.01  # [m] no tolerance is kept more strictly than that
_BRUSH = 0.04  # [m] that bodies may overlap in passing; radii are those of circles around them
_AVOID = 3.0  # [m] robots nearer than this are gone around
_DONE = SkillResult(Outcome.SUCCEEDED)
_HANDWORK: dict[type, Callable[[Hands, Body, Any], SceneObject | None]] = {
    MoveArmTo: lambda hands, body, skill: hands.reach_point(body, skill.position),
    Pick: lambda hands, body, skill: hands.pick(body, skill.target),
    Place: lambda hands, body, skill: hands.place(body, skill.receptacle),
    Open: lambda hands, body, skill: hands.swing(body, skill.target, True),
    Close: lambda hands, body, skill: hands.swing(body, skill.target, False),
}
"""What a hand does at the end of a skill; returns the thing that changed, if one did."""


class Surroundings(Protocol):
    """What skills need of the world that a robot is in."""

    contents: Things
    look_on_arrival: bool
    steps_aside: bool

    @property
    def bodies(self) -> Sequence[Body]:
        """The robots, in the order they were added."""
        ...

    def look_around(self, body: Body) -> None:
        """Note what comes into view during a full turn where a robot stands."""

    def observe(self, robot: str) -> Observation:
        """Return what a robot perceives now."""
        ...


class SkillBook:
    """Makes a job of a skill for a robot of a world."""

    def __init__(self, world: Surroundings, hands: Hands) -> None:
        self._world = world
        self._hands = hands

    def begin(self, body: Body, skill: Skill) -> Job:
        """Return the job.

        Raises:
            SkillRefused: It cannot be done, as far as can be known before trying.
        """
        stages: deque[Stage] = deque()
        finish: Callable[[], SkillResult] = lambda: _DONE  # noqa: E731
        if isinstance(skill, NavigateTo):
            finish = self._navigate(body, skill, stages)
        elif isinstance(skill, LookAround):
            stages.append(Spin(lambda: self._world.look_around(body)))
        elif isinstance(skill, Detect):
            stages.append(Hold(_TIMES[Detect]))
            finish = lambda: self._detect(body, skill.label)  # noqa: E731
        elif isinstance(skill, Wait):
            stages.append(Hold(skill.duration))
        elif isinstance(skill, Ask):
            raise SkillRefused(
                Outcome.UNSUPPORTED, "Ask goes by message between robots, not through the world"
            )
        elif type(skill) in _HANDWORK or spec_of(skill).in_house is not None:
            finish = self._manipulate(body, skill, stages)
        else:
            raise SkillRefused(Outcome.UNSUPPORTED, f"this world has no skill {skill!r}")
        return Job(skill, stages, finish, travelled=body.travelled)

    def carry(self, body: Body) -> None:
        """Keep what a robot holds in its hand."""
        x, y, z = body.pose.position
        ahead = body.embodiment.radius + 0.1
        center = (
            x + ahead * math.cos(body.pose.yaw),
            y + ahead * math.sin(body.pose.yaw),
            z + min(0.8, body.embodiment.height),
        )
        self._world.contents.carry(body.holding, center, body.pose.yaw)

    def _navigate(
        self, body: Body, skill: NavigateTo, stages: deque[Stage]
    ) -> Callable[[], SkillResult]:
        space, here = body.places.space, body.pose.position
        goal = self._goal(body, skill)
        try:
            route = space.plan(here, goal)
        except NoWay as trouble:
            raise SkillRefused(Outcome.UNREACHABLE, str(trouble)) from None
        stages.append(Walk(route, self.blocker, self._replan, self._ask))
        if skill.yaw is not None:
            stages.append(Turn(skill.yaw))
        if self._world.look_on_arrival:
            stages.append(Spin(lambda: self._world.look_around(body)))

        def finish() -> SkillResult:
            off, angle = skill.left(body.pose, goal)
            if off > max(skill.tolerance, _ON_SPOT) or abs(angle) > max(skill.yaw_tolerance, 0.01):
                raise SkillFailed(
                    Outcome.BLOCKED,
                    f"it ended {off:.2f} m and {abs(angle):.2f} rad off, tolerated are "
                    f"{skill.tolerance:g} m and {skill.yaw_tolerance:g} rad; try again",
                )
            details = {"goal_offset": f"{off:.2f}"} if off > 0.05 else {}
            return SkillResult(Outcome.SUCCEEDED, details=details)

        return finish

    def _goal(self, body: Body, skill: NavigateTo) -> Vec3:
        """Return where base_link has to go [m]."""
        space, here = body.places.space, body.pose.position
        if skill.place:
            spot = body.places.stand(skill.place)
            if spot is None:
                raise SkillRefused(
                    Outcome.UNREACHABLE,
                    f"place {skill.place} has no room for radius {body.embodiment.radius:.2f} m",
                )
            return spot
        assert skill.position is not None
        goal = space.nearest_free(skill.position, skill.tolerance, near=here)
        if goal is not None and math.dist(goal[:2], skill.position[:2]) <= skill.tolerance:
            return goal
        other = space.nearest_free(skill.position, skill.tolerance)
        if other is None:
            x, y, _ = skill.position
            raise SkillRefused(
                Outcome.UNREACHABLE,
                f"nothing within {skill.tolerance:g} m of ({x:.2f}, {y:.2f}) in that room is free "
                f"for radius {body.embodiment.radius:.2f} m",
            )
        raise SkillRefused(Outcome.UNREACHABLE, space.why_not(here, other))

    def _manipulate(
        self, body: Body, skill: Skill, stages: deque[Stage]
    ) -> Callable[[], SkillResult]:
        target = skill if isinstance(skill, MoveArmTo) else spec_of(skill).target(skill)
        assert target is not None, "what hands do has a place"
        position = target.position
        hand = {Pick: "empty", Place: "full"}.get(type(skill), "")
        self._hands.refuse_hopeless(body, position, hand)
        stages.append(Hold(_TIMES.get(type(skill)) or spec_of(skill).seconds))
        work = _HANDWORK.get(type(skill), Hands.own)

        def finish() -> SkillResult:
            thing = work(self._hands, body, skill)
            if thing is None:
                return _DONE
            # A glance is of the house as it was; what this robot did it knows.
            body.glance = None
            return SkillResult(Outcome.SUCCEEDED, details={"label": thing.label.top})

        return finish

    def _detect(self, body: Body, label: str) -> SkillResult:
        """Report whether the detector finds a label now."""
        if not label:
            return _DONE
        seen = self._world.observe(body.name).detections
        if any(found.label == label for found in seen):
            return _DONE
        raise SkillFailed(Outcome.NOT_VISIBLE, f"no {label!r} in view from here; look elsewhere")

    def blocker(self, body: Body, position: Vec3) -> str:
        """Return the robot that a step to `position` would come too near to ("" for none)."""
        here = body.pose.position
        for other in self._world.bodies:
            if other is body:
                continue
            there = other.pose.position
            if abs(there[2] - position[2]) > 1.5:
                continue
            gap = math.dist(there, position)
            near = body.embodiment.radius + other.embodiment.radius - _BRUSH
            if gap < near and gap < math.dist(there, here) - 1e-6:
                return other.name
        return ""

    def _ask(self, body: Body, blocker: str) -> bool:
        """Have the robot in the way step aside, where the world's robots do so by themselves."""
        bodies = self._world.bodies
        other = next(b for b in bodies if b.name == blocker)
        return self._world.steps_aside and make_way(body, other, bodies)

    def _replan(self, body: Body, goal: Vec3) -> Route:
        """Return a way around the robots nearby.

        Raises:
            NoWay: There is none.
        """
        here = body.pose.position
        discs: list[Disc] = []
        for other in self._world.bodies:
            there = other.pose.position
            if (
                other is not body
                and math.dist(here, there) < _AVOID
                and abs(there[2] - here[2]) < 1.5
            ):
                discs.append((there[0], there[1], other.embodiment.radius + 0.03))
        return body.places.space.plan(here, goal, discs)
