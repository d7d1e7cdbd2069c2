"""Opening and closing furniture: the hand takes the handle, and pulls or pushes it straight."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from coterie_core.geometry import Box, Vec3
from coterie_core.skills import Close, Open, Outcome, Target
from coterie_world.sightings import is_solid
from robot_adapters.backends.arm import ANOTHER_WAY, GraspingArm
from robot_adapters.backends.base import Feedback, Progress, Whereabouts
from robot_adapters.backends.goals import Ended
from robot_adapters.backends.gripper import GripperClient
from robot_adapters.backends.support_finder import known_box

HANDLES = ("handle", "door handle", "drawer handle", "cabinet handle", "knob", "door knob")
"""What detectors call a handle."""
LEAST = 0.1
"""What moved less than this was not opened or closed [m]."""
_MARGIN = 0.1
"""A hand stays so far from the edges of a front [m], where its width allows it."""
_BEFORE = 0.15
"""A handle that was seen nearer to a front than this is on it [m]."""
_HEIGHTS = (0.5, 0.75, 0.25, 0.9)
"""Where a hand tries to take a front whose handle is not known: shares of its height."""
_FEELER = 0.04
"""Steps in which a hand feels for a handle [m]."""
_BEHIND = 0.08
"""A hand feels for a handle no farther than this behind where a front is expected [m]."""
_CORRIDOR = (0.4, 0.2, 0.3)
"""Depth, width and height of the space in which a robot has seen where a front is [m]."""
_INWARD = -0.05
"""The middle of that space lies behind the front of the box: boxes are too large at times [m]."""
_INSIDE = 0.2
"""What begins so far behind the front of a box is no front [m]."""
_STRAIGHT = 0.05
"""Pieces of a pull: planners bend longer ways [m]."""


@dataclass(frozen=True, slots=True)
class Front:
    """The side of furniture that faces the robot.

    Attributes:
        box: The furniture, team's map [m].
        out: Unit vector from the front toward the robot, team's map.
        depth: From the middle of the box to the front [m].
        width: Of the front [m].
    """

    box: Box
    out: Vec3
    depth: float
    width: float

    @staticmethod
    def toward(box: Box, here: Vec3) -> Front:
        """Return the side of a box before which a point lies [m]: farthest beyond its plane."""
        sides = []
        for k in range(4):
            yaw = box.yaw + k * math.pi / 2.0
            out = (math.cos(yaw), math.sin(yaw), 0.0)
            front = Front(box, out, box.size[k % 2] / 2.0, box.size[(k + 1) % 2])
            sides.append((front.before(here), k, front))
        return max(sides, key=lambda side: side[:2])[2]

    def before(self, point: Vec3) -> float:
        """Return how far a point lies before the front [m]; behind it less than 0."""
        return self._along(point, self.out[0], self.out[1]) - self.depth

    def aside(self, point: Vec3) -> float:
        """Return how far a point lies to the left of the front's middle, as the furniture has it.

        In metres; to the right it is less than 0.
        """
        return self._along(point, -self.out[1], self.out[0])

    def at(self, spot: tuple[float, float], before: float) -> Vec3:
        """Return a point of the team's map [m]: aside of the middle and height, and before it."""
        (aside, height), away = spot, self.depth + before
        x, y, _ = self.box.center
        dx, dy, _ = self.out
        return (x + away * dx - aside * dy, y + away * dy + aside * dx, height)

    def as_seen(self, spot: tuple[float, float], where: Whereabouts) -> Front:
        """Return the front where depth images show it about a spot, else as the box has it.

        What begins far behind the front of the box is the inside of what stands open.
        """
        yaw = math.atan2(self.out[1], self.out[0])
        begins = where.height_map.begins(Box(self.at(spot, _INWARD), _CORRIDOR, yaw))
        if begins is None or _INWARD + begins < -_INSIDE:
            return self
        return replace(self, depth=self.depth + _INWARD + begins)

    def _along(self, point: Vec3, dx: float, dy: float) -> float:
        return (point[0] - self.box.center[0]) * dx + (point[1] - self.box.center[1]) * dy


def by_hand(front: Front, here: Vec3) -> list[tuple[float, float]]:
    """Return where a hand may take a front that a bar goes across, nearest to the robot.

    Returns:
        Spots to try in turn: aside of the front's middle, and height in the team's map [m].
    """
    half, box = max(front.width / 2.0 - _MARGIN, 0.0), front.box
    aside = min(max(front.aside(here), -half), half)
    return [(aside, box.bottom + share * box.size[2]) for share in _HEIGHTS]


def by_sight(front: Front, label: str, where: Whereabouts) -> list[tuple[float, float]]:
    """Return where the robot saw handles on a front, as `by_hand` does.

    Raises:
        Ended: It saw none.
    """
    box = front.box
    middle = front.at((0.0, box.center[2]), 0.0)
    around = math.hypot(front.width, box.size[2]) / 2.0 + _BEFORE
    seen = (where.seen(name, middle, around) for name in HANDLES)
    found = [
        (front.aside(one.center), one.center[2])
        for one in seen
        if one is not None
        and abs(front.before(one.center)) <= _BEFORE
        and abs(front.aside(one.center)) <= front.width / 2.0
        and box.bottom <= one.center[2] <= box.top
    ]
    if not found:
        raise Ended(
            Outcome.NOT_VISIBLE,
            f"no handle of the {label} was seen from near by; a detector has to name it "
            f"({', '.join(HANDLES[:3])}), or set arm.handles to front where bars go across fronts",
        )
    return found


class OpeningArm(GraspingArm):
    """An arm that opens and closes furniture, too."""

    _at_handle = False

    async def _feel(self, gripper: GripperClient) -> None:
        if self._at_handle:  # it was stopped there: a handle stays where it is
            await self._let_go(gripper)
        await super()._feel(gripper)

    async def _open_or_close(self, skill: Open | Close, feedback: Feedback) -> str:
        """Pull a front open by its handle, or push it shut; the hand holds it until the end."""
        target, settings = skill.target, self._settings
        gripper = self._need_gripper()
        await self._feel(gripper)
        if self._holding:
            raise Ended(Outcome.HAND_FULL, f"the hand holds {self._holding!r}; put it down first")
        box = self._furniture(target)
        here, opens = self._where.pose().position, isinstance(skill, Open)
        front = Front.toward(box, here)
        if settings.handles == "seen":
            spots = by_sight(front, target.label, self._where)
        else:
            spots = by_hand(front, here)
        boxed, front = front, front.as_seen(spots[0], self._where)
        await self._see(box.center)
        # The front of what is open has come out by a pull, and nobody may have told that it is.
        near = settings.approach
        far = near + settings.pull + max(boxed.depth - front.depth, 0.0)
        tries = [(spot, before) for before in (far, near) for spot in spots]
        await gripper.open()
        ahead = self._inward(front)
        starts = [self._local(front.at(*one)) for one in tries]
        start, _ = await self._first([(point, ahead) for point in starts])
        feedback(Progress(0.2))
        spot, first = tries[starts.index(start)]
        before = await self._take_hold(gripper, front, spot, first)
        feedback(Progress(0.5))
        moved = await self._draw(front, spot, before, settings.pull if opens else -settings.pull)
        held = gripper.holds(await gripper.close())
        await self._let_go(gripper)
        trouble = await self._away(front, spot, before + moved)
        done = f"{'pulled' if opens else 'pushed'} by {abs(moved):.2f} m"
        if held and abs(moved) >= LEAST:
            return f"{done}{trouble}"
        why = "the arm got no farther" if held else "the handle slipped"
        raise Ended(Outcome.HAND_EMPTY, f"the {target.label} was {done}: {why}{trouble}")

    def _furniture(self, target: Target) -> Box:
        """Return the box of what is opened; the map may call what stands there something else.

        Raises:
            Ended: Nothing stands there on the map.
        """
        known = known_box(self._where, target)
        if known is not None:
            return known
        there = [
            (math.dist(box.center, target.position), box)
            for _, label, box in self._where.objects(math.inf)
            if is_solid(label) and box.contains(target.position)
        ]
        if not there:
            why = f"no {target.label} is known there: look at it first"
            raise Ended(Outcome.UNKNOWN_TARGET, why)
        return min(there, key=lambda one: one[0])[1]

    def _inward(self, front: Front) -> Vec3:
        """Return the unit vector into the furniture, base frame."""
        near, far = (self._local(front.at((0.0, 0.0), before)) for before in (0.0, -1.0))
        return (far[0] - near[0], far[1] - near[1], far[2] - near[2])

    async def _take_hold(
        self, gripper: GripperClient, front: Front, spot: tuple[float, float], first: float
    ) -> float:
        """Close the hand nearer and nearer to a front until it holds something.

        Where a front is expected is wrong by centimetres, and handles stand out by some.

        Returns:
            How far before the front that is [m].

        Raises:
            Ended: It held nothing, or did not get there.
        """
        before, direction = first, self._inward(front)
        while True:
            self._felt, self._at_handle = False, True  # a stop may come before it is known
            grip = await gripper.close()
            if gripper.holds(grip):
                return before
            await self._let_go(gripper)
            before -= _FEELER
            if before < -_BEHIND:
                await self._away(front, spot, before)
                raise Ended(
                    Outcome.HAND_EMPTY,
                    f"the hand closed on nothing at the front: {gripper.empty(grip)}",
                )
            await self._mover.move(self._local(front.at(spot, before)), direction)

    async def _draw(
        self, front: Front, spot: tuple[float, float], before: float, by: float
    ) -> float:
        """Move the hand straight out by a distance [m], inward if less than 0; return how far.

        Raises:
            Ended: Something is wrong with the arm.
        """
        pieces = max(math.ceil(abs(by) / _STRAIGHT), 1)
        for k in range(pieces):
            point = self._local(front.at(spot, before + by * (k + 1) / pieces))
            try:
                await self._mover.move(point, self._inward(front))
            except Ended as end:
                if end.result.outcome not in ANOTHER_WAY:
                    raise
                return by * k / pieces
        return by

    async def _let_go(self, gripper: GripperClient) -> None:
        await gripper.open()
        self._felt, self._at_handle = True, False
        self._hold()

    async def _away(self, front: Front, spot: tuple[float, float], before: float) -> str:
        """Bring the hand away from a front; return why that failed ("": it did not)."""
        end = self._local(front.at(spot, before + self._settings.approach))
        try:
            await self._first([(end, self._inward(front)), (end, None)])
        except Ended as failed:
            return f", and the hand did not get away from it: {failed.result.reason}"
        return ""
