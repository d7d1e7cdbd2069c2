"""Protocols of backends: what drives a robot's base and what drives its arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from coterie_core.geometry import Pose
from coterie_core.skills import NavigateTo, Skill, SkillResult


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a skill has come.

    Attributes:
        done: Fraction that is done, 0 to 1.
        remaining: What is left of the path [m]; NaN where it is not known.
        pose: Where the robot is, in the team's map frame; None where it is not known.
    """

    done: float = 0.0
    remaining: float = float("nan")
    pose: Pose | None = None


Feedback = Callable[[Progress], None]


class Backend(Protocol):
    """What every backend does. All of it runs in the loop of the adapter's node."""

    async def halt(self) -> None:
        """Cancel every goal, whoever sent it, and command zero velocity where that is possible."""
        ...

    def ready(self) -> str:
        """Return "" where a skill can be sent now, else why not."""
        ...

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        ...


class NavigationBackend(Backend, Protocol):
    """Drives a robot's base."""

    async def navigate(self, skill: NavigateTo, goal: Pose, feedback: Feedback) -> SkillResult:
        """Drive to a pose.

        Args:
            skill: What is asked for, with its tolerances.
            goal: Its target, in the team's map frame; the yaw counts where `skill.yaw` is given.
            feedback: Told how far it has come.

        Returns:
            How it ended. Cancelling the coroutine cancels the goal on the robot.
        """
        ...

    async def look_around(self, feedback: Feedback) -> SkillResult:
        """Turn once about the own axis."""
        ...


class ArmBackend(Backend, Protocol):
    """Moves a robot's arm and gripper."""

    async def manipulate(self, skill: Skill, feedback: Feedback) -> SkillResult:
        """Do MoveArmTo, Pick, Place, Open or Close; positions are in the team's map frame."""
        ...
