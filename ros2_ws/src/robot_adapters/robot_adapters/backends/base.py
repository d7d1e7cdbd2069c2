"""Protocols of backends: what drives a robot's base and what drives its arm."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from coterie_core.geometry import Box, Pose, Vec3
from coterie_core.skills import NavigateTo, Skill, SkillResult
from coterie_world.scene import Receptacle
from robot_adapters.sensing.height_map import TeamHeightMap
from robot_adapters.sensing.own_arm import Grasped

_FEEDBACK_PERIOD = 0.2
"""Shortest time between two pieces of feedback that are passed on [s]."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a skill has come.

    Attributes:
        done: Fraction that is done, 0 to 1.
        remaining: What is left of the path [m]; NaN where it is not known.
    """

    done: float = 0.0
    remaining: float = math.nan


Feedback = Callable[[Progress], None]
AllowPath = Callable[[Sequence[Vec3], Vec3 | None], object]
"""Takes a planned path [m] from where the robot is, and the goal that it is to end at (None: at its
last point), in the team's map; raises SkillRefused where it must not be driven."""

_SHRINK = 0.01
"""Boxes of a semantic map are a little larger than things [m]."""
_THINNEST = 0.005
"""Shortest edge of a box that an arm keeps away from [m]."""


def tight(box: Box) -> Box:
    """Return a box of the semantic map as large as the thing."""
    a, b, c = (max(edge - _SHRINK, _THINNEST) for edge in box.size)
    return replace(box, size=(a, b, c))


def in_tf(link: str, base: str) -> str:
    """Return the frame of a link: on one /tf for all robots it has the robot's name in front.

    Args:
        link: Of the URDF.
        base: The frame of the robot's base.
    """
    robot = base.rpartition("/")[0]
    return f"{robot}/{link}" if robot and not link.startswith(f"{robot}/") else link


def below(box: Box, top: float) -> Box:
    """Return what of a box lies below a height [m]; at least a thin piece of it."""
    high = max(min(top, box.top), box.bottom + _THINNEST)
    (x, y, _), (wide, deep, _) = box.center, box.size
    return Box((x, y, (box.bottom + high) / 2.0), (wide, deep, high - box.bottom), box.yaw)


class Whereabouts(Protocol):
    """Where the robot and things are: in the team's map for Coterie, in its own for its drivers."""

    @property
    def map_frame(self) -> str:
        """Name of the robot's map frame."""
        ...

    @property
    def base_frame(self) -> str:
        """Name of the robot's base frame."""
        ...

    def pose(self) -> Pose:
        """Return where the base is in the team's map.

        Raises:
            RuntimeError: That is not known; says why.
        """
        ...

    def to_robot_map(self, pose: Pose) -> Pose:
        """Return a pose of the team's map in the robot's.

        Raises:
            RuntimeError: Where the robot's map lies is not known.
        """
        ...

    def to_team_map(self, point: Vec3) -> Vec3:
        """Return a point of the robot's map in the team's.

        Raises:
            RuntimeError: Where the robot's map lies is not known.
        """
        ...

    def free_points(self, position: Vec3, tolerance: float) -> list[Vec3]:
        """Return points within a tolerance [m] where the robot may stand, the best to try first.

        The position itself comes first where nothing is known against it.
        """
        ...

    def objects(self, radius: float) -> list[tuple[str, str, Box]]:
        """Return objects (id, label, box) near the robot [m], boxes in the team's map."""
        ...

    def surfaces(self, id_: str) -> tuple[Receptacle, ...]:
        """Return the open support surfaces that the team's map has of an object."""
        ...

    def seen(self, label: str, position: Vec3, within: float) -> Box | None:
        """Return the box of a thing as the robot itself saw it of late from near by.

        Args:
            label: Of the thing.
            position: Where it is expected, team's map [m].
            within: How far from there it may be [m].

        Returns:
            Its box in the team's map; None: the robot did not see it, or from afar only.
        """
        ...

    def taken(self, label: str, position: Vec3) -> None:
        """Forget having seen a thing at a point of the team's map [m]: the hand holds it now."""
        ...

    async def stands(self, label: str, place: Vec3) -> bool:
        """Look once more; tell whether images since now show a thing at a place of the map [m]."""
        ...

    @property
    def height_map(self) -> TeamHeightMap:
        """Heights that the robot saw of late, in the team's map.

        Raises:
            RuntimeError: Where the robot is is not known.
        """
        ...


class Backend(Protocol):
    """What every backend does. All of it runs in the loop of the adapter's node but `halt`."""

    def ready(self) -> str:
        """Return "" where a skill can be sent now, else why not."""
        ...

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        ...


class NavigationBackend(Backend, Protocol):
    """Drives a robot's base.

    Attributes:
        limits_speed: Whether it has the robot keep to a highest speed; else the robot's own node
            decides how fast it drives.
    """

    limits_speed: bool

    def halt(self) -> None:
        """Send no more velocities of its own; goals are cancelled by `halting.Halt`.

        Returns at once and may be called in any thread, also while a skill runs.
        """
        ...

    def limit_speed(self, speed: float) -> None:
        """Drive no faster than so [m/s] from now on, where the robot can be told."""
        ...

    async def navigate(self, skill: NavigateTo, goal: Pose, feedback: Feedback) -> SkillResult:
        """Drive to a pose.

        Args:
            skill: What is asked for, with its tolerances.
            goal: Its target, in the team's map; the yaw counts where `skill.yaw` is given.
            feedback: Told how far it has come.

        Returns:
            How it ended. Cancelling the coroutine cancels the goal on the robot.
        """
        ...

    async def look_around(self, feedback: Feedback) -> SkillResult:
        """Turn once about the own axis."""
        ...

    async def dock(self) -> SkillResult:
        """Go to the dock and charge."""
        ...

    async def undock(self) -> SkillResult:
        """Leave the dock."""
        ...


class ArmBackend(Backend, Protocol):
    """Moves a robot's arm and gripper.

    Attributes:
        links: Of the arm in tf, from the first one that moves to the hand; none: not known.
    """

    links: tuple[str, ...]

    @property
    def holding(self) -> str:
        """Label of what the hand holds; empty: nothing."""
        ...

    @property
    def grasped(self) -> Grasped | None:
        """What the hand holds, and where on the robot; None: nothing, or nobody tells where."""
        ...

    async def manipulate(self, skill: Skill, feedback: Feedback) -> SkillResult:
        """Do MoveArmTo, Pick, Place, Open or Close; positions are in the team's map."""
        ...

    async def carry(self) -> SkillResult:
        """Take the posture in which the robot drives, with what the hand holds."""
        ...


def spared(feedback: Feedback) -> Feedback:
    """Pass on feedback a few times a second at most."""
    due = 0.0

    def pass_on(progress: Progress) -> None:
        nonlocal due
        now = asyncio.get_running_loop().time()
        if now >= due:
            due = now + _FEEDBACK_PERIOD
            feedback(progress)

    return pass_on
