"""A robot whose own node serves coterie_msgs' actions: positions are in the robot's map."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from coterie_core.geometry import Pose, Vec3
from coterie_core.skill_registry import spec_of
from coterie_core.skills import (
    LookAround,
    MoveArmTo,
    NavigateTo,
    Outcome,
    Pick,
    Skill,
    SkillRefused,
    SkillResult,
)
from coterie_msgs.action import Manipulate
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_ros import conversions
from robot_adapters.backends.base import AllowPath, Feedback, Progress, Whereabouts, in_tf
from robot_adapters.backends.goals import Ended, RobotAction, joined
from robot_adapters.sensing.own_arm import Grasped

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.backends.obstacles import Ground
    from robot_adapters.settings_motion import ArmSettings, NavigationSettings

_SIZE = (0.1, 0.1, 0.1)
"""Size that what the hand holds is taken to have [m]; the robot's own node does not tell."""
LOOK_TIMEOUT = 120.0
"""Longest time that a robot's own node may look around for [s]."""


def _result(action: RobotAction, message: Any) -> SkillResult:
    try:
        result = conversions.skill_result_from_msg(message.result, action.name)
    except conversions.ConversionError as error:
        return SkillResult(Outcome.FAULT, str(error))
    if result.ok:
        return result
    return replace(result, reason=f"{action.name}: {result.reason or result.outcome.name}")


class SkillsNavigation:
    """Drives a base by the robot's own coterie_msgs/NavigateTo.

    Args:
        node: Whose clients it has; made in its `on_start`.
        settings: Names and time-outs.
        where: Where the robot and its map are.
        allow: Takes a path and its goal, in the team's map; raises SkillRefused where it must not
            be driven.
        must_plan: Nothing may be driven of which no path is known: rooms are kept out of. Which
            way its own node takes nobody knows; the shortest over the robot's map stands for it.
    """

    limits_speed = False

    def __init__(
        self,
        node: AgentNode,
        settings: NavigationSettings,
        where: Ground,
        allow: AllowPath = lambda points, goal: None,
        must_plan: bool = False,
    ) -> None:
        self._settings, self._where = settings, where
        self._allow, self._must_plan = allow, must_plan
        space, wait = settings.namespace, settings.server_timeout
        name = settings.action or "driver/navigate_to"
        self._drive = RobotAction(node, NavigateToAction, joined(space, name), wait)
        self._look = RobotAction(node, Manipulate, joined(space, "driver/manipulate"), wait)

    def halt(self) -> None:
        """Do nothing: it sends no velocities, and stopping is the robot's own node's."""

    def limit_speed(self, speed: float) -> None:
        """Do nothing: coterie_msgs/NavigateTo has no speed: its own node knows the limit."""

    def ready(self) -> str:
        """Return "" where the robot's own node is there."""
        if self._drive.there:
            return ""
        return f"no server of {self._drive.name}: is the robot's own node running?"

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        return {self._drive.name: "there" if self._drive.there else "missing"}

    async def navigate(self, skill: NavigateTo, goal: Pose, feedback: Feedback) -> SkillResult:
        """Drive to a pose of the team's map."""

        def tell(message: Any) -> None:
            feedback(Progress(float(message.progress), float(message.distance_remaining)))

        try:
            own = self._where.to_robot_map(goal)
            if self._must_plan:
                await self._check_path(own)
            asked = NavigateTo(
                position=own.position,
                yaw=None if skill.yaw is None else own.yaw,
                tolerance=skill.tolerance,
                yaw_tolerance=skill.yaw_tolerance,
            )
            end = await self._drive.run(
                conversions.navigate_to_msg(asked),
                timeout=self._settings.timeout,
                on_feedback=tell,
            )
        except (Ended, SkillRefused) as ended:
            return ended.result
        except RuntimeError as error:
            return SkillResult(Outcome.FAULT, str(error))
        return _result(self._drive, end.result)

    async def _check_path(self, goal: Pose) -> None:
        """Let the shortest way to a goal of the robot's map pass.

        Raises:
            Ended: There is none, or no map.
            SkillRefused: It must not be driven.
        """
        here, target = self._where.to_robot_map(self._where.pose()).position, goal.position
        space = self._where.space_at(target)
        if space is None:
            raise Ended(
                Outcome.REFUSED,
                "limits.keep_out: no map tells which way the robot would take, so that it must not "
                "drive: name sensors.map or sensors.map_file",
            )
        path = await asyncio.to_thread(space.path, here, target, ())
        if path is None:
            x, y, _ = self._where.to_team_map(target)
            raise Ended(Outcome.UNREACHABLE, f"no way over the map to ({x:.2f}, {y:.2f})")
        to_team, points = self._where.to_team_map, (here[:2], *path)
        self._allow([to_team((x, y, target[2])) for x, y in points], to_team(target))

    async def look_around(self, feedback: Feedback) -> SkillResult:
        """Turn once about the own axis."""
        try:
            end = await self._look.run(
                conversions.manipulate_to_msg(LookAround()), timeout=LOOK_TIMEOUT
            )
        except Ended as ended:
            return ended.result
        return _result(self._look, end.result)

    async def dock(self) -> SkillResult:
        """Say that it cannot: there is no such skill."""
        return SkillResult(Outcome.UNSUPPORTED, "a robot with a node of its own docks by itself")

    async def undock(self) -> SkillResult:
        """Do nothing: the robot leaves its dock when it drives."""
        return SkillResult(Outcome.SUCCEEDED)


class SkillsArm:
    """Uses an arm by the robot's own coterie_msgs/Manipulate.

    Args:
        node: Whose clients it has; made in its `on_start`.
        settings: Names and time-outs.
        where: Where the robot and its map are.
    """

    def __init__(self, node: AgentNode, settings: ArmSettings, where: Whereabouts) -> None:
        self._settings, self._where = settings, where
        name = settings.action or "driver/manipulate"
        self._action = RobotAction(
            node, Manipulate, joined(settings.namespace, name), settings.server_timeout
        )
        self.links: tuple[str, ...] = ()  # its own node knows them
        self._holding = ""

    @property
    def holding(self) -> str:
        """Label of what the hand holds; empty: nothing."""
        return self._holding

    @property
    def grasped(self) -> Grasped | None:
        """What the hand holds, of a size that nobody tells; None: nothing, or no `arm.tip`."""
        tip = self._settings.tip
        known = self._holding and tip
        return Grasped(_SIZE, in_tf(tip, self._where.base_frame)) if known else None

    def ready(self) -> str:
        """Return "" where the robot's own node is there."""
        if self._action.there:
            return ""
        return f"no server of {self._action.name}: is the robot's own node running?"

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        return {
            self._action.name: "there" if self._action.there else "missing",
            "holding": self._holding or "nothing",
        }

    async def manipulate(self, skill: Skill, feedback: Feedback) -> SkillResult:
        """Do MoveArmTo, Pick, Place, Open or Close."""
        try:
            end = await self._action.run(
                conversions.manipulate_to_msg(self._own(skill)),
                timeout=self._settings.timeout,
                on_feedback=lambda message: feedback(Progress(float(message.progress), math.nan)),
            )
        except Ended as ended:
            return ended.result
        except RuntimeError as error:
            return SkillResult(Outcome.FAULT, str(error))
        self._holding = str(end.result.holding)[:100]
        result = _result(self._action, end.result)
        if isinstance(skill, Pick) and result.ok:
            self._where.taken(skill.target.label, skill.target.position)
        return replace(
            result, put_at=self._in_team(result.put_at), bears_at=self._in_team(result.bears_at)
        )

    async def carry(self) -> SkillResult:
        """Do nothing: the robot's own node draws its arm in before it drives."""
        return SkillResult(Outcome.SUCCEEDED)

    def _in_team(self, point: Vec3 | None) -> Vec3 | None:
        return None if point is None else self._where.to_team_map(point)

    def _own(self, skill: Skill) -> Skill:
        """Return a skill with positions in the robot's map."""
        if isinstance(skill, MoveArmTo):
            return MoveArmTo(self._where.to_robot_map(Pose(skill.position)).position)
        target = spec_of(skill).target(skill)
        if target is None:
            return skill
        position = self._where.to_robot_map(Pose(target.position)).position
        own: Skill = type(skill)(replace(target, position=position))  # type: ignore[call-arg,arg-type]
        return own
