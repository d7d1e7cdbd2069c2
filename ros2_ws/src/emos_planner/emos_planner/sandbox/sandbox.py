"""Code of a model over the tools, run apart: in time and memory limits, without the host.

The interpreter is pydantic-monty, in a process of its own. All that code sees are its inputs and
the functions of `Tools`; all that comes back is a verdict or a typed failure.
"""

from __future__ import annotations

import asyncio
import enum
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_monty import (
    AsyncMonty,
    CollectString,
    MontyConversionError,
    MontyCrashedError,
    MontyError,
    MontySyntaxError,
    ResourceLimits,
)

from coterie_core.geometry import Vec3
from coterie_core.plain_data import schema_problems
from coterie_core.tasks import Obstacle
from coterie_core.waiting import in_time
from coterie_execution.geometry.results import Path, Reach, Sight
from coterie_execution.geometry.toolbox import Toolbox
from emos_planner.sandbox.code_rules import trouble_with

FUNCTIONS = ("reach", "sight", "path", "nearest_spot", "arm_reaches")
"""What code may call; see docs/emos_tools.md."""
_OWN = 0.6  # share of the time limit that code itself may run
_FARTHEST = 1e4  # [m] of coordinates


class Failure(str, enum.Enum):
    """Why code gave no verdict."""

    SYNTAX = "syntax"  # no Python
    NAME = "name"  # uses what is not offered
    TIME = "time"
    MEMORY = "memory"
    RECURSION = "recursion"
    CALLS = "calls"  # too many calls of the tools
    OUTPUT = "output"  # printed too much
    HOST_ACCESS = "host_access"  # files, network, environment, modules
    WRONG_TYPE = "wrong_type"  # its last value is no verdict
    EXCEPTION = "exception"  # it raised
    HOST_ERROR = "host_error"  # a tool was called wrongly
    CRASHED = "crashed"  # the interpreter ended


@dataclass(frozen=True, slots=True)
class Limits:
    """What code may use: time in all [s], memory [bytes], depth, calls, printed [characters].

    Of the time, `_OWN` is what the code itself may run; the rest is for its start and the tools.
    """

    seconds: float = 1.0
    memory: int = 32_000_000
    depth: int = 100
    calls: int = 60
    printed: int = 4000


DEFAULT_LIMITS = Limits()


class CodeVerdict(BaseModel):
    """What code has to end with: a dict of these fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    feasible: bool
    reason: str = Field("", max_length=2000)
    obstacle: str = Field("", max_length=40)


@dataclass(frozen=True, slots=True)
class CodeResult:
    """What became of a piece of code.

    Attributes:
        feasible: Its verdict; None if it gave none.
        obstacle: The obstacle that it named, if it is one.
        reason: Of the verdict, or of the failure.
        failure: Why there is no verdict.
        calls: How often it called tools.
        printed: What it printed.
        seconds: How long it took [s].
    """

    feasible: bool | None
    obstacle: Obstacle | None = None
    reason: str = ""
    failure: Failure | None = None
    calls: int = 0
    printed: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether there is a verdict."""
        return self.failure is None


class _BadCall(Exception):
    """A tool was called with something else than numbers."""


@dataclass(slots=True)
class Tools:
    """The tools as functions of plain numbers, for one robot that starts at `start` [m]."""

    toolbox: Toolbox
    robot: str
    start: Vec3 | None = None
    calls: int = 0
    trouble: str = ""
    _names: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return name -> function."""
        self._names = {
            "reach": self.reach,
            "sight": self.sight,
            "path": self.path,
            "nearest_spot": self.nearest_spot,
            "arm_reaches": self.arm_reaches,
        }
        return {name: self._guarded(name, call) for name, call in self._names.items()}

    def reach(self, x: float, y: float, z: float, radius: float = 0.0) -> dict[str, Any]:
        """Tell whether the hand gets to a point: feasible, obstacle, distance, height, margin."""
        found: Reach = self.toolbox.reach(
            self.robot, _point(x, y, z), radius=_number(radius), start=self.start
        )
        return {
            "feasible": found.feasible,
            "obstacle": found.obstacle.value if found.obstacle else "",
            "distance": found.distance,
            "height": found.height,
            "margin": found.margin,
        }

    def sight(self, x: float, y: float, z: float) -> dict[str, Any]:
        """Tell whether a camera sees a point: feasible, obstacle, distance, angle."""
        found: Sight = self.toolbox.sight(self.robot, _point(x, y, z), start=self.start)
        return {
            "feasible": found.feasible,
            "obstacle": found.obstacle.value if found.obstacle else "",
            "distance": found.distance,
            "angle": found.angle,
        }

    def path(self, x: float, y: float, z: float) -> dict[str, Any]:
        """Tell whether the robot gets near a point: feasible, obstacle, length, time."""
        goal = _point(x, y, z)
        found: Path = self.toolbox.path(self.robot, self.start or goal, goal)
        return {
            "feasible": found.feasible,
            "obstacle": found.obstacle.value if found.obstacle else "",
            "length": found.length,
            "time": found.time,
        }

    def nearest_spot(self, x: float, y: float, z: float) -> float:
        """Return how far [m] the nearest spot to stand on is, sideways; -1: none within 5 m."""
        point = _point(x, y, z)
        parts = None if self.start is None else self.toolbox.components_of(self.robot, self.start)
        spot = self.toolbox.kind(self.robot).space.stand(point, 5.0, parts)
        return -1.0 if spot is None else math.dist(spot[:2], point[:2])

    def arm_reaches(self, radius: float, height: float) -> bool:
        """Tell whether a hand can be so far from the base axis, so high above the floor [m]."""
        away, high = _number(radius), _number(height)
        for hand in self.toolbox.kind(self.robot).body.hands:
            row = hand.row(high)
            if row is not None and away >= 0.0 and hand.reaches(row, np.array([away]))[0]:
                return True
        return False

    def _guarded(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*given: Any, **named: Any) -> Any:
            self.calls += 1
            try:
                return call(*given, **named)
            except (_BadCall, TypeError) as error:
                words = str(error).replace(f"Tools.{name}() ", "")
                self.trouble = f"{name} was called wrongly: {words}"
            except Exception as error:
                self.trouble = f"{name} failed: {type(error).__name__}"
            # Nothing of the host's own errors crosses into the sandbox.
            raise ValueError(self.trouble)

        return guarded


async def run_code(
    code: str,
    inputs: Mapping[str, Any],
    toolbox: Toolbox,
    robot: str,
    limits: Limits = DEFAULT_LIMITS,
    *,
    start: Vec3 | None = None,
) -> CodeResult:
    """Run code of a model and return its verdict or why there is none; never raises for the code.

    Args:
        code: Python that ends with a dict `{"feasible": bool, "reason": str}`.
        inputs: Plain values (numbers, texts, lists, dicts) that it sees as variables.
        toolbox: What its functions answer from.
        robot: Whose body they are about.
        limits: What it may use.
        start: Where the robot is [m].

    Raises:
        UnknownRobot: No resume of that robot.
        asyncio.CancelledError: The caller was cancelled.
    """
    toolbox.kind(robot)
    began = time.perf_counter()
    problem = trouble_with(code, frozenset(inputs) | set(FUNCTIONS))
    if problem:
        kind = Failure.SYNTAX if problem.startswith("it is no Python") else Failure.NAME
        if "cannot be imported" in problem or "is private" in problem:
            kind = Failure.HOST_ACCESS
        return CodeResult(None, reason=problem, failure=kind)
    tools = Tools(toolbox, robot, start)
    out = CollectString(max_bytes=16 * limits.printed)
    try:
        # Calls of tools do not count against the sandbox's own clock: they do here.
        value = await in_time(_run(code, inputs, tools, limits, out), limits.seconds)
        result = _verdict(value)
    except asyncio.TimeoutError:
        result = CodeResult(
            None,
            reason=f"it was stopped after {limits.seconds:.1f} s",
            failure=Failure.TIME,
        )
    except MontyError as error:
        result = _failed(error, tools, limits)
    except Exception as error:
        result = CodeResult(
            None, reason=f"the sandbox failed: {type(error).__name__}", failure=Failure.CRASHED
        )
    return CodeResult(
        result.feasible,
        result.obstacle,
        result.reason[:500],
        result.failure,
        tools.calls,
        out.output[: limits.printed],
        time.perf_counter() - began,
    )


async def _run(
    code: str, inputs: Mapping[str, Any], tools: Tools, limits: Limits, out: CollectString
) -> Any:
    allowed = ResourceLimits(
        max_feed_duration_secs=_OWN * limits.seconds,
        max_memory=limits.memory,
        max_recursion_depth=limits.depth,
        max_suspensions=limits.calls,
    )
    async with (
        AsyncMonty(
            max_processes=1,
            request_timeout=limits.seconds,
            feed_duration_limit_grace=(1.0 - _OWN) / 2.0 * limits.seconds,
        ) as pool,
        pool.checkout(limits=allowed) as session,
    ):
        return await session.feed_run(
            code,
            inputs=dict(inputs),
            external_lookup=tools.functions(),
            print_callback=out,
        )


def _verdict(value: Any) -> CodeResult:
    try:
        found = CodeVerdict.model_validate(value)
    except ValidationError as error:
        problem = schema_problems(error, "value")
        reason = (
            f"its last value is no verdict ({problem}, got {type(value).__name__}); "
            'end with a dict such as {"feasible": True, "reason": "..."}'
        )
        return CodeResult(None, reason=reason, failure=Failure.WRONG_TYPE)
    except RecursionError:
        return CodeResult(None, reason="its last value is no verdict", failure=Failure.WRONG_TYPE)
    named = {obstacle.value: obstacle for obstacle in Obstacle}
    return CodeResult(found.feasible, named.get(found.obstacle), found.reason)


def _failed(error: MontyError, tools: Tools, limits: Limits) -> CodeResult:
    text = " ".join(str(error).split())[:300]
    inner = error.exception() if not isinstance(error, MontyCrashedError) else None
    kind = Failure.EXCEPTION
    if isinstance(error, MontyCrashedError):
        kind = Failure.TIME if getattr(error, "timed_out", False) else Failure.CRASHED
    elif isinstance(error, MontySyntaxError):
        kind = Failure.SYNTAX
    elif isinstance(error, MontyConversionError):
        kind = Failure.WRONG_TYPE
    elif isinstance(inner, TimeoutError):
        kind, text = Failure.TIME, f"it ran longer than {_OWN * limits.seconds:.1f} s"
    elif isinstance(inner, MemoryError):
        printed = str(16 * limits.printed) in text
        kind = Failure.OUTPUT if printed else Failure.MEMORY
        text = (
            f"it printed more than {16 * limits.printed} bytes"
            if printed
            else f"it needs more than {limits.memory // 1_000_000} MB"
        )
    elif isinstance(inner, RecursionError):
        kind, text = Failure.RECURSION, f"it calls itself more than {limits.depth} deep"
    elif isinstance(inner, RuntimeError) and "suspension limit" in text:
        kind, text = Failure.CALLS, f"it calls tools more than {limits.calls} times"
    elif isinstance(inner, (PermissionError, ImportError, OSError)):
        kind = Failure.HOST_ACCESS
    elif isinstance(inner, NameError):
        kind = Failure.NAME
    elif tools.trouble and tools.trouble in text:
        kind, text = Failure.HOST_ERROR, tools.trouble
    return CodeResult(None, reason=text, failure=kind)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _BadCall(f"expected a number [m], got {type(value).__name__}")
    number = float(value)
    if not math.isfinite(number) or abs(number) > _FARTHEST:
        raise _BadCall(f"expected a finite number of metres, got {number!r}")
    return number


def _point(x: Any, y: Any, z: Any) -> Vec3:
    return (_number(x), _number(y), _number(z))
