"""A second opinion on a sub-task: code that a model writes over the tools; the tool wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from coterie_core.geometry import Vec3
from coterie_core.tasks import SubTask, Verdict
from coterie_execution.geometry.results import Estimate
from coterie_execution.geometry.toolbox import Toolbox
from coterie_llm import Decider, Decision
from coterie_llm.errors import CheckFailed
from coterie_llm.fence import as_data
from coterie_llm.types import Message
from emos_planner.sandbox.code_rules import LONGEST, trouble_with
from emos_planner.sandbox.sandbox import DEFAULT_LIMITS, FUNCTIONS, CodeResult, Limits, run_code

_INPUTS = frozenset({"robot", "task"})

_API = """\
Variables (metres, radians, kilograms, seconds; the map's z is up):
robot: dict with name, moves (wheels, tracks, legs, air, fixed), radius, height, step_height, speed,
  arms (list of dicts: low, high = heights of the hand above the floor, reach, payload or None),
  cameras (list of dicts: low, high = heights above the floor, pitch_min, pitch_max (down is
  positive), hfov, vfov, near, far)
task: dict with kind, label, x, y, z (map; None while nobody knows), floor (height of the floor
  there), size (three edges, may be zeros)
Functions:
reach(x, y, z) -> dict: feasible, obstacle, distance, height, margin
sight(x, y, z) -> dict: feasible, obstacle, distance, angle
path(x, y, z) -> dict: feasible, obstacle, length, time
nearest_spot(x, y, z) -> metres from there to where the robot can stand, sideways; -1 if nowhere
arm_reaches(radius, height) -> whether a hand can be so far from the base axis and so high
Only math can be imported. The last line must be an expression, a dict such as
{"feasible": False, "reason": "1.62 m up, hand to 1.10 m", "obstacle": "too_high"}."""


class WrittenCheck(BaseModel):
    """What a model writes."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field("", max_length=600, description="which numbers decide it, and how")
    code: str = Field("", max_length=LONGEST, description="Python; its last line is the verdict")


@dataclass(frozen=True, slots=True)
class CheckState:
    """What code is written about: the sub-task, and the inputs that it will see."""

    sub_task: SubTask
    inputs: dict[str, Any] = field(default_factory=dict)


class WriteCheck(Decision[CheckState, WrittenCheck]):
    """Write code that tells whether a robot can do a sub-task (EMOS, section 3.4)."""

    name = "emos.write_check"
    reply_type = WrittenCheck
    max_tokens = 900

    def prompt(self, state: CheckState) -> Sequence[Message]:
        """Return the question: the sub-task, the numbers, and what code may use."""
        task = state.sub_task
        return (
            Message.system(
                "You are the reasoning of one robot in a team. Before it agrees to a sub-task you "
                "work out from numbers whether its body can do it. You do not guess and do no sums "
                "in your head: you write a short program for it, which is run in a sandbox."
            ),
            Message.user(
                f"{as_data('sub-task', task.description or task.kind, limit=300)}\n"
                f"{as_data('values', state.inputs, limit=3000)}\n\n{_API}\n\n"
                "Write the program. Think of everything its kind needs: a pick or place needs a "
                "way there and the hand at the thing, at its distance and its height at once; a "
                "detect needs a way and a view; a go_to needs a way."
            ),
        )

    def check(self, state: CheckState, reply: WrittenCheck) -> None:
        """Check that the code parses and uses offered names only.

        Raises:
            CheckFailed: It does not; says where.
        """
        if not reply.code.strip():
            return
        problem = trouble_with(reply.code, _INPUTS | set(FUNCTIONS))
        if problem:
            raise CheckFailed(f"the code cannot be run: {problem}")

    def rule(self, state: CheckState) -> WrittenCheck:
        """Return no code: the tool answers by itself."""
        return WrittenCheck(code="")


def inputs_for(
    toolbox: Toolbox, robot: str, sub_task: SubTask, estimate: Estimate | None = None
) -> dict[str, Any]:
    """Return the values that code about a robot and a sub-task sees.

    Raises:
        UnknownRobot: No resume of that robot.
    """
    body = toolbox.kind(robot).body
    frame = body.frame
    point, size = _target(toolbox, sub_task, estimate)
    floor = None
    if point is not None:
        floor = toolbox.plan.elevation(toolbox.plan.floor_index(point[2]))
    return {
        "robot": {
            "name": robot,
            "moves": frame.kind,
            "radius": round(frame.radius, 3),
            "height": round(frame.high - frame.base, 3),
            "step_height": round(min(frame.step, 9.9), 3),
            "speed": round(body.speed, 3),
            "arms": [
                {
                    "low": round(hand.low, 3),
                    "high": round(hand.high, 3),
                    "reach": round(hand.reach, 3),
                    "payload": hand.payload,
                }
                for hand in body.hands
            ],
            "cameras": [
                {
                    "low": round(camera.heights[0] + frame.base, 3),
                    "high": round(camera.heights[1] + frame.base, 3),
                    "pitch_min": round(camera.pitches[0], 3),
                    "pitch_max": round(camera.pitches[1], 3),
                    "hfov": round(camera.hfov, 3),
                    "vfov": round(camera.vfov, 3),
                    "near": camera.range[0],
                    "far": camera.range[1],
                }
                for camera in body.cameras
            ],
        },
        "task": {
            "kind": sub_task.kind,
            "label": sub_task.target.label if sub_task.target else "",
            "x": point[0] if point else None,
            "y": point[1] if point else None,
            "z": point[2] if point else None,
            "floor": floor,
            "size": list(size),
        },
    }


def _target(
    toolbox: Toolbox, sub_task: SubTask, estimate: Estimate | None
) -> tuple[Vec3 | None, Vec3]:
    if sub_task.target is not None:
        found = toolbox.catalog.meant_by(sub_task.target)
        if found:
            x, y, z = found[0].box.center
            if sub_task.kind == "place":
                z = found[0].box.top
                if estimate is not None and estimate.target is not None:
                    x, y, z = estimate.target
            return (x, y, z), found[0].box.size
    return (estimate.target if estimate is not None else None), (0.0, 0.0, 0.0)


async def second_opinion(
    decider: Decider,
    toolbox: Toolbox,
    robot: str,
    sub_task: SubTask,
    estimate: Estimate,
    *,
    start: Vec3 | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Verdict, CodeResult | None]:
    """Ask the model for code, run it, and compare its verdict with the tool's, which counts.

    Returns:
        The verdict, and what became of the code (None: no model, or it wrote none).

    Raises:
        UnknownRobot: No resume of that robot.
    """
    verdict = estimate.verdict(sub_task.id)
    if decider.rule_only:
        return verdict, None
    inputs = inputs_for(toolbox, robot, sub_task, estimate)
    decided = await decider.decide(WriteCheck(), CheckState(sub_task, inputs))
    if not decided.reply.code.strip():
        return verdict, None
    result = await run_code(decided.reply.code, inputs, toolbox, robot, limits, start=start)
    return compare(verdict, result), result


def compare(verdict: Verdict, result: CodeResult) -> Verdict:
    """Return the tool's verdict; where the code said otherwise, with that in `disagreement`.

    Code that gave no verdict is no disagreement.
    """
    if result.feasible is None or result.feasible is verdict.feasible:
        return verdict
    said = "can" if result.feasible else "cannot"
    obstacle = f" ({result.obstacle.value})" if result.obstacle else ""
    reason = f": {result.reason}" if result.reason else ""
    text = f"its code says it {said} do this{obstacle}{reason}; the tool's numbers count"
    return verdict.model_copy(update={"disagreement": text[:500]})
