"""What Nav2 answers, without ROS: where a goal can be gone to, and the code where it cannot."""

from __future__ import annotations

import math

from coterie_core.geometry import Vec3
from coterie_core.skills import Outcome, SkillResult
from habitat_bridge.embedded.body import Body
from habitat_bridge.embedded.navigation import NoWay, Route
from habitat_bridge.embedded.occupancy import CELL

# Error codes of Nav2 on Jazzy, by server.
FAILED_TO_MAKE_PROGRESS = 105
CONTROLLER_UNKNOWN = 100
INVALID_PLANNER = 201
PLANNER_TF_ERROR = 202
START_OCCUPIED = 205
GOAL_OUTSIDE_MAP = 204
NO_VALID_PATH = 208

GOAL_TOLERANCE = 0.25
"""How far from its goal a robot may stand [m], and by how much it may be turned [rad]."""
PLANNER_TOLERANCE = 0.5
"""How far from its goal a path may end [m], as NavFn's default has it."""


class NoPath(Exception):
    """Nav2 finds no path; carries its error code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def plan(body: Body, goal: Vec3) -> Route:
    """Return the path of a body to a goal in the house [m].

    Raises:
        NoPath: There is none.
    """
    space, here = body.places.space, body.pose.position
    occupancy = space.occupancy
    edge = [o + n * CELL for o, n in zip(occupancy.origin, occupancy.shape[::-1], strict=True)]
    inside = all(o <= g <= e for o, g, e in zip(occupancy.origin, goal, edge, strict=False))
    if not inside or occupancy.room_index(goal) < 0:
        raise NoPath(GOAL_OUTSIDE_MAP, f"the goal ({goal[0]:.2f}, {goal[1]:.2f}) is off the map")
    spot = space.nearest_free(goal, PLANNER_TOLERANCE, near=here)
    if spot is None or math.dist(spot[:2], goal[:2]) > PLANNER_TOLERANCE:
        raise NoPath(NO_VALID_PATH, "failed to create a plan: no valid path")
    try:
        return space.plan(here, spot)
    except NoWay as trouble:
        raise NoPath(NO_VALID_PATH, f"failed to create a plan: {trouble}") from None


def navigation_code(result: SkillResult) -> int:
    """Return the code with which Nav2 tells how a drive ended; 0 for success and cancelling."""
    if result.outcome in (Outcome.SUCCEEDED, Outcome.CANCELLED):
        return 0
    if result.outcome is Outcome.BLOCKED:
        return FAILED_TO_MAKE_PROGRESS
    if result.outcome in (Outcome.UNREACHABLE, Outcome.REFUSED, Outcome.UNKNOWN_TARGET):
        return NO_VALID_PATH
    return CONTROLLER_UNKNOWN
