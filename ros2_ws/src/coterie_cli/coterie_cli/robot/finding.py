"""One line of the report of `./coterie robot check`; ROS-free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["good", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report.

    Attributes:
        robot: Whom it is about.
        area: domain, topic, camera, frame, clock, server, urdf, map, battery, limits or permits.
        what: Name of the topic, server or frame.
        state: How good it is; bad: the robot does not work so.
        text: What was found.
        remedy: What to do ("": nothing).
        field: The place in the team file ("": none).
    """

    robot: str
    area: str
    what: str
    state: State
    text: str
    remedy: str = ""
    field: str = ""


def worst(findings: Iterable[Finding]) -> State:
    """Return how good it is altogether."""
    states = {finding.state for finding in findings}
    return "bad" if "bad" in states else "note" if "note" in states else "good"
