"""The lab's robots as bodies in a house: skills, arms and grippers, in the world's thread."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Pose, Vec3, yaw_to_quaternion
from coterie_core.skills import LookAround, Outcome, Skill, SkillRefused, SkillResult
from coterie_core.transforms import matrix
from habitat_bridge.embedded.body import Body, Job, Spin, Velocity
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.goal_scheduler import Step
from habitat_bridge.lab.arm import LabArm
from habitat_bridge.lab.hands import Grip, Hands
from habitat_bridge.simulator import Frame, RobotState

_NEAREST = 0.05  # [m] from the camera
_GRAY = 150

Ended = Callable[[SkillResult], object]


def with_held(frame: Frame, size: Vec3, at: Vec3, number: int) -> Frame:
    """Return a frame in which a thing is where the hand is: a gray square that faces the camera.

    Args:
        frame: What the camera sees of the house.
        size: Full edge lengths of the thing [m]; the square is as wide as the middle one.
        at: Its middle, in the house [m].
        number: Its instance number.
    """
    x, y, z = (np.linalg.inv(frame.camera_to_map) @ np.array([*at, 1.0]))[:3]
    if z <= _NEAREST:
        return frame
    focal, rows, cols = frame.camera.focal, frame.camera.height, frame.camera.width
    half = focal * sorted(size)[1] / 2.0 / z
    u, v = focal * x / z + cols / 2.0, focal * y / z + rows / 2.0
    top, bottom = (int(np.clip(edge, 0, rows)) for edge in (v - half, v + half))
    left, right = (int(np.clip(edge, 0, cols)) for edge in (u - half, u + half))
    if bottom <= top or right <= left:
        return frame
    window = np.s_[top:bottom, left:right]
    hidden = np.zeros((bottom - top, right - left), dtype=bool)
    if frame.depth is not None:
        before = frame.depth[window]
        hidden = (before > 0.0) & (before < z)

    def painted(image: npt.NDArray[Any] | None, value: float) -> Any:
        if image is None:
            return None
        out = image.copy()
        out[window][~hidden] = value
        return out

    return replace(
        frame,
        depth=painted(frame.depth, z),
        semantic=painted(frame.semantic, number),
        color=painted(frame.color, _GRAY),
    )


@dataclass(slots=True)
class Motion:
    """Joint values over time on the way [s], and who hears of its end."""

    times: list[float]
    values: list[dict[str, float]]
    on_end: Callable[[bool], object]
    elapsed: float = 0.0


@dataclass(slots=True)
class Manipulator:
    """A robot's arm as it is: joint values, gripper, and the motion under way."""

    arm: LabArm
    joints: dict[str, float]
    grip: Grip
    motion: Motion | None = None

    def advance(self, dt: float) -> None:
        """Let a motion go on for `dt` [s]."""
        motion = self.motion
        if motion is None:
            return
        motion.elapsed += dt
        for name in motion.values[-1]:
            track = [point[name] for point in motion.values]
            self.joints[name] = float(np.interp(motion.elapsed, motion.times, track))


@dataclass(slots=True, eq=False)
class BaseJob:
    """Something that a base is at: who hears how it ended, and how it goes on."""

    on_end: Ended
    on_progress: Callable[[RobotState], object] = lambda state: None


@dataclass(slots=True)
class Plant:
    """A world and what its robots are at; one thread owns it (see `SimThread`).

    Attributes:
        world: The house with all robots in it.
        manipulators: Robot -> its arm, for those that have one.
    """

    world: EmbeddedWorld
    manipulators: dict[str, Manipulator] = field(default_factory=dict)
    _jobs: dict[str, BaseJob] = field(default_factory=dict)
    _hands: Hands = field(init=False)

    def __post_init__(self) -> None:
        """Give the world's robots hands; as real ones, they move for nobody unless told to."""
        self.world.steps_aside = False
        self._hands = Hands(self.world)

    # -- what SimThread asks for -----------------------------------------------------------------

    @property
    def busy(self) -> int:
        """Number of robots whose base is at work."""
        return len(self._jobs)

    def ready(self, now: float) -> bool:
        """Time never waits for anybody in a lab."""
        return True

    def step(self, dt: float) -> Step:
        """Advance the world, the arms and what they hold by `dt` [s]."""
        results = self.world.tick(dt)
        states = {robot: self.world.state(robot) for robot in self.world.robots}
        for robot, job in list(self._jobs.items()):
            if robot in results:
                del self._jobs[robot]
                job.on_end(results[robot])
            else:
                job.on_progress(states[robot])
        for robot, manipulator in self.manipulators.items():
            self._move_arm(robot, manipulator, dt)
        return Step(self.world.time, states, len(results))

    def conclude(self) -> None:
        """Nothing is left to do after a step."""

    def close(self, reason: str, outcome: Outcome = Outcome.FAULT) -> None:
        """End everything, for example because the world failed."""
        jobs, self._jobs = list(self._jobs.values()), {}
        for job in jobs:
            job.on_end(SkillResult(outcome, reason))
        for manipulator in self.manipulators.values():
            self._end_motion(manipulator, False)

    # -- the base --------------------------------------------------------------------------------

    def begin(self, robot: str, skill: Skill, job: BaseJob) -> None:
        """Begin a skill of the base; a running one ends as cancelled."""
        self.cancel(robot)
        try:
            self.world.start_skill(robot, skill)
        except SkillRefused as refused:
            job.on_end(refused.result)
            return
        self._jobs[robot] = job

    def spin(self, robot: str, angle: float, job: BaseJob) -> None:
        """Turn a base on the spot by an angle [rad], to the left where it is positive."""
        self.cancel(robot)
        body = self.body(robot)
        done = SkillResult(Outcome.SUCCEEDED)
        turn = Spin(lambda: None, abs(angle), math.copysign(1.0, angle))
        body.job = Job(LookAround(), deque([turn]), lambda: done, travelled=body.travelled)
        self._jobs[robot] = job

    def cancel(self, robot: str, job: BaseJob | None = None) -> None:
        """Stop a base where it stands; with a job only if that is what it is at."""
        running = self._jobs.get(robot)
        if job is not None and running is not job:
            return
        self.world.hardware.drive(robot, Velocity())
        if running is not None:
            del self._jobs[robot]
            self.world.cancel_skill(robot)
            running.on_end(SkillResult(Outcome.CANCELLED, "cancelled"))

    def drive(self, robot: str, velocity: Velocity) -> None:
        """Give a velocity command to a base."""
        self.world.hardware.drive(robot, velocity)

    def body(self, robot: str) -> Body:
        """Return a robot's body."""
        return self.world.body(robot)

    # -- the arm ---------------------------------------------------------------------------------

    def hand_pose(self, robot: str, link: str = "") -> np.ndarray:
        """Return the pose (4, 4) of a robot's hand, or of a link of its arm, in the house."""
        manipulator = self.manipulators[robot]
        return matrix_of(self.world.state(robot).pose) @ manipulator.arm.pose(
            manipulator.joints, link
        )

    def hand(self, robot: str) -> Vec3:
        """Return where the point between a robot's fingers is, in the house [m]."""
        x, y, z = self.hand_pose(robot)[:3, 3].tolist()
        return (x, y, z)

    def with_held(self, robot: str, frame: Frame) -> Frame:
        """Return an image of a robot's camera in which what its gripper holds is to be seen."""
        manipulator = self.manipulators.get(robot)
        if manipulator is None or not manipulator.grip.thing:
            return frame
        things, name = self.world.contents, manipulator.grip.thing
        number = things.first_instance + things.rows[name]
        return with_held(frame, things.things[name].box.size, self.hand(robot), number)

    def move(
        self,
        robot: str,
        points: Sequence[tuple[float, Mapping[str, float]]],
        on_end: Callable[[bool], object],
    ) -> None:
        """Move an arm through joint values at times [s] from now; a motion under way ends.

        Args:
            robot: Whose arm.
            points: Time and joint values, times rising; joints left out stay.
            on_end: Told whether the motion came to its end.
        """
        manipulator = self.manipulators[robot]
        self.halt_arm(robot)
        values = [dict(manipulator.joints)]
        times = [0.0]
        for time, named in points:
            values.append({**values[-1], **{k: named[k] for k in named if k in values[-1]}})
            times.append(max(time, times[-1] + 1e-6))
        manipulator.motion = Motion(times, values, on_end)

    def halt_arm(self, robot: str) -> None:
        """Stop an arm where it is."""
        manipulator = self.manipulators.get(robot)
        if manipulator is not None:
            self._end_motion(manipulator, False)

    def close_gripper(self, robot: str, gap: float) -> bool:
        """Close a gripper to a gap [m]; return whether something stops its fingers."""
        manipulator = self.manipulators[robot]
        return self._hands.close(
            self.body(robot), manipulator.grip, self.hand(robot), manipulator.arm.opening, gap
        )

    def open_gripper(self, robot: str, gap: float) -> str:
        """Open a gripper to a gap [m]; return the label of what it let go of ("": nothing)."""
        manipulator = self.manipulators[robot]
        item = self._hands.open(self.body(robot), manipulator.grip, self.hand(robot), gap)
        return "" if item is None else item.label.top

    def slip(self, robot: str) -> str:
        """Let what a gripper holds fall; return its label ("": it held nothing)."""
        manipulator = self.manipulators.get(robot)
        if manipulator is None:
            return ""
        item = self._hands.slip(self.body(robot), manipulator.grip)
        return "" if item is None else item.label.top

    def _move_arm(self, robot: str, manipulator: Manipulator, dt: float) -> None:
        if manipulator.motion is None and not manipulator.grip.handle:
            return
        manipulator.advance(dt)
        self._hands.moved(manipulator.grip, self.hand(robot))
        motion = manipulator.motion
        if motion is not None and motion.elapsed >= motion.times[-1]:
            self._end_motion(manipulator, True)

    @staticmethod
    def _end_motion(manipulator: Manipulator, done: bool) -> None:
        motion, manipulator.motion = manipulator.motion, None
        if motion is not None:
            motion.on_end(done)


def matrix_of(pose: Pose) -> np.ndarray:
    """Return a pose as a matrix (4, 4)."""
    return matrix(pose.position, yaw_to_quaternion(pose.yaw))
