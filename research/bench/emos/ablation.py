"""EMOS's ablations: typical numbers instead of a body's own, a role alone, and no discussion."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from coterie_core.embodiment import MobilityKind
from coterie_core.geometry import Vec3
from coterie_core.resume import (
    Gripper,
    Manipulation,
    Mobility,
    Perception,
    Resume,
    ResumeArm,
    ResumeCamera,
)
from coterie_core.resume_text import without_measures
from coterie_core.tasks import SubTask
from coterie_core.workspace import Workspace
from emos_planner.allocation.solver import Share
from emos_planner.leader.leader import Leader
from emos_planner.leader.progress import Progress

# What anybody would guess of a robot of that kind: step [m], speed [m/s], radius [m], height [m].
_TYPICAL: dict[MobilityKind, tuple[float, float, float, float]] = {
    "wheels": (0.02, 0.6, 0.3, 1.2),
    "tracks": (0.05, 0.5, 0.3, 0.8),
    "legs": (0.2, 0.6, 0.3, 0.7),
    "air": (0.0, 0.8, 0.3, 0.3),
    "fixed": (0.0, 0.1, 0.3, 1.0),
}
_ARM_HEIGHT = (0.0, 2.0)
_ARM_REACH = 1.0


def without_numbers(resume: Resume) -> Resume:
    """Return a resume whose numbers are those typical of its kind (EMOS, w/o numerical).

    What needs no number stays: wheels or legs, stairs or not, cameras, arms and grippers or none.
    Of the summary the lengths, angles and weights go.
    """
    body = resume.mobility
    step, speed, radius, height = _TYPICAL[body.kind]
    if not body.climbs_stairs:
        step = min(step, 0.05)
    return Resume(
        robot=resume.robot,
        mobility=Mobility(
            kind=body.kind,
            radius=radius,
            height=height,
            step_height=step,
            climbs_stairs=body.climbs_stairs,
            linear_speed=speed,
            flight_height=1.2 if body.kind == "air" else 0.0,
        ),
        perception=Perception(
            cameras=(_typical_camera(),) if resume.perception.cameras else (),
        ),
        manipulation=Manipulation(
            arms=tuple(_typical_arm(arm.gripper is not None) for arm in resume.manipulation.arms),
        ),
        summary=without_measures(resume.summary),
    )


def without_resume(resume: Resume) -> Resume:
    """Return what a role in words tells of a robot: a helper that goes about, sees and grasps.

    Nothing of its base, sensors or arm is left, so that any robot seems fit for anything (EMOS,
    w/o robot resume, with role description).
    """
    return Resume(
        robot=resume.robot,
        mobility=Mobility(
            kind="legs", radius=0.25, height=0.8, step_height=0.25, climbs_stairs=True
        ),
        perception=Perception(cameras=(_typical_camera(),)),
        manipulation=Manipulation(arms=(_typical_arm(True),)),
        summary=role(resume.robot),
    )


def role(robot: str) -> str:
    """Return the role that stands in for a resume."""
    return f"{robot} is a household robot: it goes to places, looks for things and moves them."


def _typical_camera() -> ResumeCamera:
    return ResumeCamera(
        name="camera",
        link="camera",
        frame="camera",
        mount="movable",
        channels=("rgb", "depth"),
        height=1.2,
        heights=(0.2, 1.8),
        hfov=1.6,
        vfov=1.6,
        pitches=(-0.8, 0.8),
        yaws=(-3.14, 3.14),
    )


def _typical_arm(gripper: bool) -> ResumeArm:
    cell = 0.1
    width = round(_ARM_REACH / cell) - 1
    rows = tuple(((0, width),) for _ in range(round(_ARM_HEIGHT[1] / cell)))
    return ResumeArm(
        name="arm",
        base_link="base_link",
        tip_link="hand",
        joints=(),
        gripper=Gripper(link="hand", joints=(), opening=None) if gripper else None,
        workspace=Workspace(cell=cell, bottom=_ARM_HEIGHT[0], rows=rows),
    )


def deal(
    sub_tasks: Sequence[SubTask], robots: Sequence[str], only: Mapping[str, str], seed: int
) -> tuple[SubTask, ...]:
    """Give sub-tasks to robots in turn, in an order of chance, looking at nobody's body.

    Sub-tasks that one robot must do together, or that are about one object, stay together; whom
    the person named, does it.
    """
    order = list(robots)
    random.Random(seed).shuffle(order)
    of: dict[str, str] = {}
    turn = 0
    dealt = []
    for one in sub_tasks:
        about = f"object {one.object.id or one.object.label}" if one.object is not None else ""
        robot = only.get(one.id) or of.get(one.same_robot_as, "") or of.get(about, "")
        if not robot:
            robot = order[turn % len(order)]
            turn += 1
        of[one.id] = of[about or one.id] = robot
        dealt.append(one.model_copy(update={"robot": robot}))
    return tuple(dealt)


class DealingLeader(Leader):
    """Deals sub-tasks out in an order of chance, and asks nobody (EMOS, without discussion)."""

    channel = property(lambda self: None, lambda self, channel: None)

    async def _split(self, work: Progress, starts: Mapping[str, Vec3 | None]) -> tuple[Share, str]:
        return self._solve(work, starts)(work.sub_tasks, starts, {}), "nobody"

    def _solve(self, work: Progress, starts: Mapping[str, Vec3 | None]) -> Callable[..., Share]:
        only, seed = work.graph.only, self.options.seed
        return lambda tasks, robots, *_: Share(deal(tasks, tuple(robots), only, seed))
