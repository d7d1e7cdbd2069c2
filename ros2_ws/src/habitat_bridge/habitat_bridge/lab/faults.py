"""Faults of a lab's robots: which goes wrong, when, how often, all of it by seed."""

from __future__ import annotations

import difflib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from coterie_core.plain_data import schema_problems, shorten

GOAL_FAULTS: Mapping[str, str] = {
    "navigate_rejected": "NavigateToPose rejects the goal",
    "navigate_aborted": "NavigateToPose aborts on the way with `code`",
    "navigate_hangs": "NavigateToPose accepts and never ends; the robot stands",
    "navigate_abandoned": "NavigateToPose aborts on the way without a code, and the controller "
    "drives on",
    "navigate_preempted": "another client's goal, to a place far away, takes the place of the goal "
    "on the way",
    "path_aborted": "ComputePathToPose aborts with `code`",
    "spin_aborted": "Spin aborts with `code`",
    "dock_aborted": "DockRobot aborts with `code`",
    "arm_rejected": "MoveGroup or FollowJointTrajectory rejects the goal",
    "arm_aborted": "MoveGroup or FollowJointTrajectory aborts with `code`",
    "arm_hangs": "MoveGroup or FollowJointTrajectory never ends; the arm stands",
    "gripper_aborted": "the gripper's action aborts",
    "gripper_misses": "the gripper closes beside the object",
}
"""Faults that strike a goal."""

STATE_FAULTS: Mapping[str, str] = {
    "navigation_inactive": "Nav2 is paused: its lifecycle manager says not active, a drive is "
    "aborted without a code, and goals are rejected",
    "navigation_dies": "Nav2's servers are gone, and come back after `duration`",
    "navigator_dies": "Nav2's bt_navigator is killed: it tells nothing more, is out of the graph "
    "after 20 s, and the controller drives on to the end of its path",
    "arm_dies": "MoveIt's and the controllers' servers are gone",
    "other_types": "NavigateToPose has the type of another distribution",
    "arm_in_collision": "MoveIt finds the start state in collision",
    "object_slips": "what the gripper holds falls to the floor",
    "localization_lost": "amcl_pose spreads to `value` [m]",
    "localization_jumps": "the localization errs by `value` [m] from one moment to the next",
    "tf_stale": "transforms stop coming",
    "tf_missing": "there never was a transform from map to odom",
    "clock_off": "stamps are wrong by `value` [s]",
    "camera_silent": "no images come",
    "camera_flooding": "images come `value` times as often",
    "detector_wrong": "the detector reports wrong labels",
    "detector_absent": "the detector reports nothing",
    "battery_low": "the battery is at `value`, 0 to 1",
    "link_cut": "nothing of the robot is heard, and it hears nothing",
}
"""Faults that last for a time."""

KINDS: Mapping[str, str] = {**GOAL_FAULTS, **STATE_FAULTS}
"""Every fault, with what it does."""

_VALUES = {
    "localization_lost": 1.5,
    "localization_jumps": 1.0,
    "clock_off": 30.0,
    "camera_flooding": 20.0,
    "battery_low": 0.04,
}
_GROUPS = ("navigate", "path", "spin", "dock", "arm", "gripper")


class Fault(BaseModel):
    """One fault: what, whose, when.

    A fault of a goal strikes the `nth` goal of its kind since it was told (0: every one), at most
    `times` times (0: no limit). A fault of a state begins `after` seconds and lasts for `duration`
    (0: for ever).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    kind: str = Field(description="Name of the fault.")
    robot: str = Field("", description="Name of the robot; empty: all of them.")
    code: int | None = Field(None, description="Error code of the server; none: its usual one.")
    after: float = Field(0.0, ge=0.0, description="Time from the lab's start on [s].")
    duration: float = Field(0.0, ge=0.0, description="How long it lasts [s]; 0: for ever.")
    nth: int = Field(
        0, ge=0, description="Number of the goal that it strikes since it was told; 0: every goal."
    )
    times: int = Field(0, ge=0, description="Largest number of goals it strikes; 0: no limit.")
    chance: float = Field(1.0, ge=0.0, le=1.0, description="Probability that it strikes a goal.")
    value: float | None = Field(None, description="Its size, in its own unit; none: the usual one.")

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in KINDS:
            near = difflib.get_close_matches(kind, KINDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"no fault {kind!r}{hint} There are: {', '.join(KINDS)}")
        return kind

    @property
    def size(self) -> float:
        """Its value, or the usual one."""
        return _VALUES.get(self.kind, 0.0) if self.value is None else self.value

    @property
    def group(self) -> str:
        """The kind of goal that it strikes."""
        return self.kind.partition("_")[0]


def parse_fault(text: str) -> Fault:
    """Return the fault that a text such as `navigate_aborted:robot=rover,code=105` describes.

    Raises:
        ValueError: An unknown fault or field, or a value that does not fit; says which.
    """
    kind, _, rest = text.strip().partition(":")
    fields: dict[str, Any] = {"kind": kind.strip()}
    for part in rest.split(",") if rest.strip() else []:
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"fault {shorten(text)!r}: expected NAME=VALUE, got {shorten(part)!r}")
        fields[name.strip()] = value.strip()
    return _fault(fields, f"fault {shorten(text)!r}")


def read_faults(value: Any) -> list[Fault]:
    """Return the faults of a list of texts or mappings, as a YAML file or a parameter has them.

    Raises:
        ValueError: One of them cannot be used; says which and why.
    """
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"faults: expected a list, got {type(value).__name__}")
    found = []
    for k, one in enumerate(value):
        if isinstance(one, str):
            found.append(parse_fault(one))
        elif isinstance(one, Mapping):
            found.append(_fault(dict(one), f"faults[{k}]"))
        else:
            raise ValueError(f"faults[{k}]: expected a text or fields, got {type(one).__name__}")
    return found


def _fault(fields: dict[str, Any], where: str) -> Fault:
    try:
        return Fault.model_validate(fields)
    except ValidationError as error:
        raise ValueError(f"{where}: {schema_problems(error)}") from None


@dataclass(slots=True)
class Faults:
    """The faults of a lab, and what they have struck so far. Use it in one thread.

    Attributes:
        faults: In the order in which they are looked through.
        seed: Of what chance decides.
    """

    faults: list[Fault] = field(default_factory=list)
    seed: int = 0
    _goals: dict[tuple[str, str], int] = field(default_factory=dict)
    _before: dict[int, dict[tuple[str, str], int]] = field(default_factory=dict)
    _struck: dict[int, int] = field(default_factory=dict)

    def add(self, faults: Iterable[Fault], now: float) -> None:
        """Add faults that begin from now on [s]."""
        for fault in faults:
            self._before[len(self.faults)] = dict(self._goals)
            self.faults.append(fault.model_copy(update={"after": now + fault.after}))

    def clear(self) -> None:
        """Let all go right from now on."""
        self.faults.clear()
        self._before.clear()
        self._struck.clear()

    def strike(self, robot: str, group: str, now: float) -> Fault | None:
        """Count a goal of a group (navigate, arm, ...), and return the fault that strikes it."""
        assert group in _GROUPS, group
        count = self._goals[robot, group] = self._goals.get((robot, group), 0) + 1
        for k, fault in enumerate(self.faults):
            if fault.kind not in GOAL_FAULTS or fault.group != group:
                continue
            number = count - self._before.get(k, {}).get((robot, group), 0)
            if not self._on(fault, robot, now) or (fault.nth and fault.nth != number):
                continue
            if fault.times and self._struck.get(k, 0) >= fault.times:
                continue
            if fault.chance < 1.0:
                key = [self.seed, k, number, zlib.crc32(robot.encode())]
                if np.random.default_rng(key).random() >= fault.chance:
                    continue
            self._struck[k] = self._struck.get(k, 0) + 1
            return fault
        return None

    def active(self, robot: str, kind: str, now: float) -> Fault | None:
        """Return the fault of a kind that a robot suffers from now [s], if it does."""
        assert kind in STATE_FAULTS, kind
        matching = (f for f in self.faults if f.kind == kind and self._on(f, robot, now))
        return next(matching, None)

    @staticmethod
    def _on(fault: Fault, robot: str, now: float) -> bool:
        if fault.robot not in ("", robot) or now < fault.after:
            return False
        return not fault.duration or now < fault.after + fault.duration


def random_faults(robots: Sequence[str], seed: int, count: int, span: float) -> list[Fault]:
    """Return `count` faults drawn by seed, each beginning within `span` [s] and passing again."""
    rng = np.random.default_rng([seed, 0xFA17])
    kinds = [kind for kind in KINDS if kind != "other_types"]
    found = []
    for _ in range(count):
        kind = kinds[int(rng.integers(len(kinds)))]
        found.append(
            Fault(
                kind=kind,
                robot=robots[int(rng.integers(len(robots)))],
                after=round(float(rng.uniform(0.0, span)), 1),
                duration=round(float(rng.uniform(5.0, 30.0)), 1),
                times=1 if kind in GOAL_FAULTS else 0,
            )
        )
    return sorted(found, key=lambda fault: fault.after)
