"""Right of way: a blocked robot tells all which way it wants to go, and who stands there yields."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from coterie_core.geometry import Vec3
from coterie_core.skills import NavigateTo, Outcome, Skill, SkillResult, Wait

MAX_PATH_POINTS = 200
"""Points of a way that a robot asks for at most."""
MAX_BODY_RADIUS_M = 3.0
"""Largest radius of a body that a way is asked for [m]."""
PASSING_GAP_M = 0.12
"""Room that two robots leave between them when they pass [m]."""
MIN_YIELD_PERIOD_S = 5.0
"""Least time from one time that a robot goes aside to the next one [s]."""
YIELD_TOLERANCE_M = 0.1
"""Largest distance from its yield pose at which a robot may end [m]; less than `PASSING_GAP_M`."""
YIELD_WAIT_S = 8.0
"""Time that a robot with work of its own waits aside, so that the other one passes [s]."""
REQUEST_WAIT_S = 2.0
"""Time that a blocked robot waits for a request of the one before it, which is blocked, too [s]."""
_MAX_POSES = 4  # spots that are tried for one request, one after the other
_MAX_BLOCKED_DRIVES = (
    2  # drives blocked one after the other, after which also the first by name goes aside
)


@dataclass(frozen=True, slots=True)
class YieldRequest:
    """A request to whoever stands in a way to step aside.

    Attributes:
        id: Unique; receivers drop repeats.
        sender: Name of the robot that asks.
        way: Position of the sender, and the points that it wants to go through, map frame [m].
        radius: Radius of its body [m].
        recipients: Names of the robots that it asks; empty: everybody.
        out: Whether the sender has no work and makes way for others once it is let out.

    Raises:
        ValueError: Fewer than two points or too many, one that is not finite, no such radius.
    """

    id: str
    sender: str
    way: tuple[Vec3, ...]
    radius: float
    recipients: tuple[str, ...] = ()
    out: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no way."""
        if not 2 <= len(self.way) <= MAX_PATH_POINTS:
            raise ValueError(f"way: expected 2 to {MAX_PATH_POINTS} points, got {len(self.way)}")
        if not all(math.isfinite(value) for point in self.way for value in point):
            raise ValueError("way: expected points of finite numbers [m]")
        if not 0.0 < self.radius <= MAX_BODY_RADIUS_M:
            raise ValueError(f"radius: expected more than 0 and up to {MAX_BODY_RADIUS_M:g} m")

    @property
    def text(self) -> str:
        """The same for people."""
        x, y, _ = self.way[-1]
        return f"{self.sender} cannot get to ({x:.2f}, {y:.2f}): who stands in the way, step aside"


Finder = Callable[[YieldRequest, Sequence[Vec3], bool], Vec3 | None]
"""Finds the spot to go to for a request [m], not near spots that were not got to [m].

The last argument tells whether it may lie behind the one who asks: who is shut in gets aside past
that one only."""


class RightOfWay:
    """When a robot asks for its way, and when it goes aside for another one.

    Args:
        robot: Its name.

    Attributes:
        blocked: Number of its latest drives in a row that ended because something stood in its way.
        asked: The request that it has to look into; None: there is none.
        whom: Name of the robot that it goes aside for now; "": none.
        shut_in: Whether it gets aside only past that one, and has to ask it to let it out.
        lets_pass: Whether it has gone aside though it has work of its own: it had better wait.
        listens: Whether it was blocked and nobody has asked it yet: of two that stand before one
            another both are blocked at nearly the same time, and it had better wait for that one.
    """

    def __init__(self, robot: str) -> None:
        self.robot = robot
        self.blocked = 0
        self.asked: YieldRequest | None = None
        self.whom = ""
        self.lets_pass = self.listens = self.shut_in = self._busy = False
        self._heard: deque[str] = deque(maxlen=200)
        self._asked_at = self._last = -math.inf
        self._goal: Vec3 | None = None
        self._request: YieldRequest | None = None
        self._tries = 0
        self._closed: deque[Vec3] = deque(maxlen=10)

    def hear(self, request: YieldRequest, now: float) -> None:
        """Take in a request at a time `now` [s]; not one that was heard before."""
        if request.id in self._heard or request.sender == self.robot:
            return
        self._heard.append(request.id)
        concerned = not request.recipients or self.robot in request.recipients
        if (
            concerned and not 0.0 <= now - self._last < MIN_YIELD_PERIOD_S
        ):  # before: the world began anew
            self.asked, self._asked_at, self._tries = request, now, 0
            self.listens = False

    def blocked_drive(self, skill: Skill, result: SkillResult) -> NavigateTo | None:
        """Take in how an own skill ended; return it if it was a drive that something blocked."""
        drive = skill if isinstance(skill, NavigateTo) else None
        if isinstance(skill, Wait) or (drive and result.outcome is Outcome.UNREACHABLE):
            return None  # it stands where it stood before
        if drive is None or result.outcome is not Outcome.BLOCKED:
            self.blocked, self.asked = 0, None  # that was before what it has done since
            self.listens = False
            return None
        self.blocked += 1
        self.listens = self.asked is None
        return drive

    def request(self, way: Sequence[Vec3], radius: float, now: float) -> YieldRequest:
        """Return the request for an own way [m] and body [m], at a time `now` [s]."""
        points = tuple(way[:MAX_PATH_POINTS])
        name = f"{self.robot}-way-{now:.2f}"
        return YieldRequest(name, self.robot, points, radius, out=self.shut_in)

    def go_aside(self, find: Finder, idle: bool, stands_aside: bool = False) -> NavigateTo | None:
        """Return how to go aside for who has asked; None: nobody has, or there is no need.

        A robot that is blocked itself goes aside for one whose name sorts before its own: of two
        that stand before one another, one moves. Where that does not help, since the other one
        stands where the way ends, it goes for any at the second time. Who is shut in is let out at
        once.

        Args:
            find: Finds the spot.
            idle: Whether it has nothing else to do.
            stands_aside: Whether it waits aside, and was asked once more.
        """
        request = self.asked
        if request is None:
            return None
        first = request.out or request.sender < self.robot
        turn = self.blocked >= (1 if first else _MAX_BLOCKED_DRIVES)
        if not (idle or stands_aside or turn):
            return None  # its turn comes if it is blocked once more
        self.asked = None
        spot = find(request, self._closed, False)
        if spot is None and idle:
            spot = find(request, self._closed, True)
            self.shut_in = spot is not None
        if spot is None:
            return None
        self.whom, self._goal, self._last = request.sender, spot, self._asked_at
        self._request, self._tries, self._busy = request, self._tries + 1, not idle
        return NavigateTo(position=spot, tolerance=YIELD_TOLERANCE_M)

    def ended(self, result: SkillResult | None) -> bool:
        """Take in how going aside ended: where it did not get to it goes no more.

        Where no way led there, it goes elsewhere at once: its own map of the floor is rough. Who is
        shut in and was not let out yet tries again.

        Args:
            result: Result of the drive; None: it was broken off.

        Returns:
            Whether it has to ask for its own way aside: it has work, and something blocked it.
        """
        stuck = False
        if result is None:
            pass
        elif result.ok:
            if self._goal is not None:
                self._closed.clear()
                self.lets_pass, self.blocked = self._busy, 0
        elif self.shut_in and result.outcome is Outcome.BLOCKED:
            self.asked = self._request if self._tries < _MAX_POSES else None
        elif self._goal is not None and result.outcome in (Outcome.UNREACHABLE, Outcome.BLOCKED):
            self._closed.append(self._goal)
            stuck = self._busy and result.outcome is Outcome.BLOCKED
            if stuck:
                self.blocked = 0  # now it is the turn of the other one
            if result.outcome is Outcome.UNREACHABLE and self._tries < _MAX_POSES:
                self.asked = self._request
        self.whom, self._goal, self.shut_in = "", None, False
        return stuck


async def make_way(
    aside: RightOfWay,
    find: Finder,
    carry_out: Callable[[Skill], Awaitable[SkillResult]],
    ask_way: Callable[[NavigateTo], object],
    idle: bool,
) -> bool:
    """Go aside for a robot that has asked for it, or may do so now; tell whether this one moved.

    Args:
        aside: State of the robot's yielding, with the request that it was sent.
        find: Finds the spot.
        carry_out: Has the robot carry out a skill.
        ask_way: Asks the others for the way of a drive.
        idle: Whether it has nothing else to do.
    """
    moved = stands_aside = False
    if aside.listens and not idle:
        aside.listens = False
        await carry_out(Wait(REQUEST_WAIT_S))
    while True:
        while (skill := aside.go_aside(find, idle, stands_aside)) is not None:
            moved, result = True, None
            if aside.shut_in:
                ask_way(skill)
            try:
                result = await carry_out(skill)
            finally:  # stopped on the way: it goes aside for nobody any more
                stuck = aside.ended(result)
            if stuck:
                ask_way(skill)
        if not aside.lets_pass:
            return moved
        aside.lets_pass, stands_aside = False, True
        await carry_out(Wait(YIELD_WAIT_S))
