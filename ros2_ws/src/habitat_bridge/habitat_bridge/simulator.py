"""The one protocol that all worlds speak: embedded houses, topological graphs, habitat-sim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from coterie_core.embodiment import Camera, Embodiment
from coterie_core.geometry import Pose, Vec3
from coterie_core.observation import Observation
from coterie_core.skills import Skill, SkillResult
from coterie_safety.guard import Guard
from coterie_world.scene import SceneGraph

Channel = Literal["color", "depth", "semantic"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a world can do: render images, move continuously, pick and place."""

    pixels: bool
    continuous: bool
    manipulation: bool


@dataclass(frozen=True, slots=True)
class Start:
    """Where a robot starts: a place, a room or a pose; all None: the world chooses by seed."""

    place: str | None = None
    room: str | None = None
    pose: Pose | None = None


@dataclass(frozen=True, slots=True)
class RobotState:
    """A robot's true state; the pose is what odometry reports.

    linear [m/s] in the map frame, angular [rad/s] about z, `travelled` [m] since the start;
    `place` is the nearest place, `busy` the running skill's name ("" when idle),
    `progress` 0..1 and `remaining` [m] of a running NavigateTo.
    """

    name: str
    pose: Pose
    linear: Vec3 = (0.0, 0.0, 0.0)
    angular: float = 0.0
    place: str = ""
    room: str = ""
    holding: str = ""
    travelled: float = 0.0
    busy: str = ""
    progress: float = 0.0
    remaining: float = 0.0


@dataclass(frozen=True, slots=True)
class FrameRequest:
    """Ask for images of one camera of one robot; only the named channels are made."""

    robot: str
    camera: str
    channels: tuple[Channel, ...] = ("color", "depth", "semantic")


@dataclass(frozen=True, slots=True)
class Frame:
    """Images of one camera at one moment.

    color (rows, cols, 3) uint8 RGB; depth (rows, cols) float32 [m] along the optical axis, 0 where
    nothing is within range; semantic (rows, cols) int32 instance numbers, 0 for none (`labels`
    maps a number to a label). `camera_to_map` (4, 4) float64: optical frame (x right, y down,
    z ahead) to map. Channels that were not asked for are None. Arrays may be read-only, and
    shared by several frames: copy what is to be changed.
    """

    robot: str
    camera: Camera
    time: float
    camera_to_map: npt.NDArray[np.float64]
    color: npt.NDArray[np.uint8] | None = None
    depth: npt.NDArray[np.float32] | None = None
    semantic: npt.NDArray[np.int32] | None = None
    labels: Mapping[int, str] | None = None


@runtime_checkable
class Simulator(Protocol):
    """A world with robots in it.

    Not thread-safe: one owner drives it. All randomness comes from the seed it was made with, so
    that the same calls give the same results. It tells a robot only what that robot can perceive;
    `truth()` is for the referee (question banks, reports, validators) and never for a robot.
    """

    name: str
    seed: int

    @property
    def capabilities(self) -> Capabilities:
        """What this world can do."""
        ...

    @property
    def time(self) -> float:
        """Simulated time [s] since the start."""
        ...

    @property
    def steps(self) -> int:
        """Number of ticks so far."""
        ...

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the robots in the world, in the order they were added."""
        ...

    def begin_at(self, time: float) -> None:
        """Let time begin at `time` [s] instead of 0; call it before the first tick."""
        ...

    def add_robot(self, name: str, embodiment: Embodiment, start: Start = ...) -> RobotState:
        """Put a robot into the world.

        Raises:
            WorldError: The name is taken, or no free spot fits the embodiment at `start`.
        """
        ...

    def remove_robot(self, name: str) -> None:
        """Take a robot out of the world; what it holds is put down where it stands."""
        ...

    def state(self, robot: str) -> RobotState:
        """Return a robot's true state."""
        ...

    def start_skill(self, robot: str, skill: Skill) -> None:
        """Begin a skill; a running one is cancelled first.

        Raises:
            SkillRefused: The world knows at once that it cannot be done, and says why.
        """
        ...

    def cancel_skill(self, robot: str) -> None:
        """Stop the running skill; its result (CANCELLED) comes with the next tick."""
        ...

    def path(self, robot: str) -> tuple[Vec3, ...]:
        """Return the path [m] that the running skill is going to take, from where the robot is.

        Empty where it takes none.
        """
        ...

    def halt(self, robot: str, halted: bool) -> None:
        """Hold a robot where it stands, or let it go; a running skill is cancelled.

        A robot that is held does not even make way for others.
        """
        ...

    def fence(self, robot: str, guard: Guard) -> None:
        """Let a robot that moves without a goal keep its limits: it makes way, or is driven.

        Args:
            robot: The robot.
            guard: Tells which paths and steps it must not take.
        """
        ...

    def tick(self, dt: float) -> dict[str, SkillResult]:
        """Advance simulated time by `dt` [s]; return the results of skills that ended meanwhile."""
        ...

    def observe(self, robot: str) -> Observation:
        """Return what the robot perceives now."""
        ...

    def render(self, requests: Sequence[FrameRequest]) -> list[Frame]:
        """Return the images asked for, all robots in one batch.

        Raises:
            WorldError: The world has no pixels, or a robot or camera is unknown.
        """
        ...

    def truth(self) -> SceneGraph:
        """Return the whole truth about the world as it is now."""
        ...

    def close(self) -> None:
        """Release what the world holds (processes, memory)."""
        ...


class WorldError(Exception):
    """A world cannot be loaded or asked as it was; says what, where and what to do."""


def run_skill(
    world: Simulator, robot: str, skill: Skill, dt: float = 0.1, limit: float = 600.0
) -> SkillResult:
    """Run one skill to its end in lockstep, nothing else moving on purpose meanwhile.

    Args:
        world: The world.
        robot: Who does it.
        skill: What to do.
        dt: Tick length [s].
        limit: Give up after so much simulated time [s]: cancelled and reported as TIMED_OUT.
    """
    from coterie_core.skills import Outcome, SkillRefused

    try:
        world.start_skill(robot, skill)
    except SkillRefused as refused:
        return refused.result
    end = world.time + limit
    while world.time < end:
        results = world.tick(dt)
        if robot in results:
            return results[robot]
    world.cancel_skill(robot)
    world.tick(dt)
    name = type(skill).__name__
    return SkillResult(
        Outcome.TIMED_OUT, f"{name} did not end within {limit:g} s of simulated time", limit
    )
