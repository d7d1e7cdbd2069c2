"""What arms have in common: where to grasp, to place and to open, and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from coterie_core.geometry import Box, Pose, Vec3, relative
from coterie_core.household import load_household
from coterie_core.skill_registry import spec_of
from coterie_core.skills import (
    Close,
    MoveArmTo,
    Open,
    Outcome,
    Pick,
    Place,
    Skill,
    SkillRefused,
    SkillResult,
    Target,
)
from robot_adapters.backends.base import Feedback, Progress, Whereabouts
from robot_adapters.backends.goals import Ended
from robot_adapters.backends.gripper import GripperClient
from robot_adapters.backends.support_finder import CLEARANCE, EDGE, SupportFinder, known_box
from robot_adapters.kinematics import Hand
from robot_adapters.sensing.own_arm import Grasped

if TYPE_CHECKING:
    from robot_adapters.settings_motion import ArmSettings

DOWN: Vec3 = (0.0, 0.0, -1.0)
"""From above."""
_SIDES = ((0.0, 0.0), (0.0, 45.0), (45.0, 45.0), (-45.0, 45.0), (60.0, 0.0), (-60.0, 0.0))
"""Ways to a thing beside that from above: turned from straight ahead, and down [degrees]."""
_RIM = 0.02
"""So much of a thing is between the fingers at least [m]; and so much short of its reach is a hand
sure to get."""

_SIGHTED = 0.3
"""What the robot saw of a thing counts for its grasp up to here from where the map has it [m]."""
_ELSEWHERE = 0.02
"""A thing that is seen so far from where the hand closed on nothing is reached for again [m]."""
_SECOND = 0.15
"""A thing of the same label that lies nearer is the same, seen twice [m]."""
ANOTHER_WAY = (Outcome.OUT_OF_REACH, Outcome.BLOCKED)
"""How a motion fails that may succeed another way."""
_FOUND = "something"
"""What the hand holds when nobody here knows what: an adapter that ended has picked it up."""


def ways(ahead: float) -> Iterator[Vec3]:
    """Return directions in which a hand may come to a thing, the usual ones first.

    Args:
        ahead: Direction of the thing from the robot [rad].
    """
    yield DOWN
    for turn, drop in _SIDES:
        a, d = ahead + math.radians(turn), math.radians(drop)
        yield (math.cos(a) * math.cos(d), math.sin(a) * math.cos(d), -math.sin(d))


def grip_point(middle: Vec3, size: Vec3, reach: float) -> Vec3:
    """Return where a hand grips a thing: at its middle, or at its rim where that is too far.

    Args:
        middle: Of the thing [m].
        size: Of its box [m].
        reach: How far from the base's axis the hand gets [m].
    """
    x, y, z = middle
    far = math.hypot(x, y)
    short = min(far - reach + _RIM, min(size[:2]) / 2.0 - _RIM)
    if short <= 0.0 or far == 0.0:
        return middle
    return (x * (1.0 - short / far), y * (1.0 - short / far), z)


class Mover(Protocol):
    """Moves the hand; points are in the robot's base frame [m]."""

    async def move(self, point: Vec3, direction: Vec3 | None) -> None:
        """Bring the hand to a point, pointing along a direction (None: any).

        Raises:
            Ended: It did not get there.
        """
        ...

    async def pose(self, joints: Mapping[str, float]) -> None:
        """Bring joints to positions [rad] or [m]; the others stay as they are.

        Raises:
            Ended: They did not get there.
        """
        ...

    async def see(self, boxes: list[tuple[str, Box]], held: Box | None) -> None:
        """Take obstacles (base frame), and what the hand holds.

        Args:
            boxes: Name and box of each obstacle.
            held: The box of what it holds, where that was when the hand took it; its middle is
                infinitely far where nobody knows.

        Raises:
            Ended: They were not taken.
        """
        ...

    def ready(self) -> str:
        """Return "" where it can move."""
        ...

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        ...


class GraspingArm:
    """Picks and places with a mover and a gripper.

    Args:
        settings: Distances.
        mover: Moves the hand.
        gripper: Opens and closes it; None: there is none.
        where: Where the robot and things are.
        reach: How far from the base's axis the hand gets, at most [m].
        hand: Where it grasps, in frames of the robot's tf; None: nobody tells.
    """

    def __init__(
        self,
        settings: ArmSettings,
        mover: Mover,
        gripper: GripperClient | None,
        where: Whereabouts,
        reach: float = math.inf,
        hand: Hand | None = None,
    ) -> None:
        self._settings, self._mover, self._gripper, self._where = settings, mover, gripper, where
        self._reach, self._hand = reach, hand
        self._bearing = SupportFinder(where, reach)
        self.links: tuple[str, ...] = ()
        self._holding, self._felt = "", False
        self._held: Box | None = None  # in the team's map
        self._taken: Box | None = None  # in the base frame, as it was taken
        self._at: Box | None = None  # what a skill of another package is done to
        # Read now: it holds up the loop, whose transforms would be old in the first Place.
        load_household()

    # -- what every backend does ---------------------------------------------------------------

    @property
    def holding(self) -> str:
        """Label of what the hand holds; empty: nothing."""
        return self._holding

    @property
    def grasped(self) -> Grasped | None:
        """What the hand holds, and where on the robot; None: nothing, or nobody tells where."""
        if self._held is None or self._hand is None:
            return None
        return Grasped(self._held.size, self._hand.link, self._hand.point)

    def ready(self) -> str:
        """Return "" where the arm can be used now, else why not."""
        return self._mover.ready() or (self._gripper.ready() if self._gripper is not None else "")

    def describe(self) -> dict[str, object]:
        """Return figures for the diagnostics."""
        return {**self._mover.describe(), "holding": self._holding or "nothing"}

    async def manipulate(self, skill: Skill, feedback: Feedback) -> SkillResult:
        """Do MoveArmTo, Pick, Place, Open or Close; positions are in the team's map.

        What went wrong after the work was done is the reason of a success.
        """
        trouble, put_at = "", None
        try:
            if isinstance(skill, MoveArmTo):
                await self._see(None)
                await self._mover.move(self._local(skill.position), None)
            elif isinstance(skill, Pick):
                await self._pick(skill.target, feedback)
            elif isinstance(skill, Place):
                trouble, put_at = await self._place(skill.receptacle, feedback)
            elif isinstance(skill, (Open, Close)):
                trouble = await self._open_or_close(skill, feedback)
            else:
                await self._own_skill(skill)
        except (Ended, SkillRefused) as end:
            return end.result
        except RuntimeError as error:
            return SkillResult(Outcome.FAULT, str(error))
        return SkillResult(Outcome.SUCCEEDED, trouble, put_at=put_at)

    async def carry(self) -> SkillResult:
        """Take the posture of `arm.carry`, with what the hand holds; without one nothing moves."""
        if not self._settings.carry:
            return SkillResult(Outcome.SUCCEEDED)
        try:
            await self._see(None)
            await self._mover.pose(self._settings.carry)
        except Ended as end:
            why = f"the arm is not in the posture of arm.carry: {end.result.reason}"
            return SkillResult(end.result.outcome, why)
        except RuntimeError as error:
            return SkillResult(Outcome.FAULT, str(error))
        return SkillResult(Outcome.SUCCEEDED)

    async def _own_skill(self, skill: Skill) -> None:
        """Do a skill of another package as that says."""
        spec = spec_of(skill)
        if spec.by_arm is None:
            raise Ended(Outcome.UNSUPPORTED, f"no arm does {spec.name}: its row has no `by_arm`")
        target = spec.target(skill)
        assert target is not None, "what packages add acts on something"
        self._at = self._thing(target)
        if self._gripper is not None and not self._holding:
            await self._gripper.close()
        await spec.by_arm(self, skill)

    async def touch(self, point: Vec3) -> None:
        """Bring the fingertips to a point of the team's map [m], whatever stands around it.

        Raises:
            Ended: They do not get there, or it is not at the thing that the skill is for: limits
                and permits were for that alone.
        """
        off = self._at.distance(point) if self._at is not None else math.inf
        if off > self._settings.approach:
            raise Ended(
                Outcome.REFUSED,
                f"a skill would touch what is {off:.2f} m from its target, allowed are "
                f"{self._settings.approach:g} m (arm.approach)",
            )
        await self._see(point)
        await self._mover.move(self._local(point), None)

    async def back(self) -> None:
        """Take the posture of `arm.carry`.

        Raises:
            Ended: It did not get there.
        """
        result = await self.carry()
        if not result.ok:
            raise Ended(result.outcome, result.reason)

    # -- pick and place ------------------------------------------------------------------------

    async def _pick(self, target: Target, feedback: Feedback) -> None:
        gripper = self._need_gripper()
        await self._feel(gripper)
        if self._holding:
            raise Ended(Outcome.HAND_FULL, f"the hand holds {self._holding!r}; put it down first")
        thing, known = self._thing(target), known_box(self._where, target)
        place = target.position if known is None else known.center
        why = await self._grasp(gripper, target.label, thing, place, feedback)
        again = self._thing(target)
        # Once more only where it turns out to lie elsewhere: then the look was at fault.
        if why and math.dist(again.center, thing.center) >= _ELSEWHERE:
            why = await self._grasp(gripper, target.label, again, place, feedback)
        if why:
            raise Ended(Outcome.HAND_EMPTY, why)

    async def _grasp(
        self, gripper: GripperClient, label: str, thing: Box, place: Vec3, feedback: Feedback
    ) -> str:
        """Reach for a thing and come back; return why the hand does not hold it ("": it does).

        Args:
            gripper: The fingers.
            label: What is to be taken.
            thing: Its box by the best look, in the team's map.
            place: Where the map has it [m].
            feedback: Takes the progress.

        Raises:
            Ended: The hand holds something, and the thing is where it was: it took another one.
        """
        point = grip_point(self._local(thing.center), thing.size, self._reach)
        await self._see(thing.center, label)
        await gripper.open()
        feedback(Progress(0.2))
        start, direction = await self._approach(point, thing)
        feedback(Progress(0.5))
        await self._mover.move(point, direction)
        self._felt = False  # who is interrupted now does not know what it holds
        grip = await gripper.close()
        self._felt = True
        feedback(Progress(0.7))
        if not gripper.holds(grip):
            await self._retreat(point, start)
            return gripper.empty(grip)
        self._hold(label, thing)
        await self._see(thing.center, label)
        await self._retreat(point, start)
        # What was held at first may have slipped on the way up.
        grip = await gripper.close()
        if gripper.holds(grip):
            self._where.taken(label, thing.center)
            if not await self._where.stands(label, place):
                return ""
            self._hold(_FOUND, thing)
            raise Ended(
                Outcome.HAND_FULL,
                f"the hand took something else: the {label} is still seen where it was; put down "
                "what it holds first",
            )
        self._hold()
        return f"{label} slipped: {gripper.empty(grip)}"

    async def _approach(self, point: Vec3, thing: Box) -> tuple[Vec3, Vec3]:
        """Bring the hand before a point; return where that is and which way the hand points.

        From above, else from any side: something may stand over the thing, or before it.

        Raises:
            Ended: No way is possible.
        """
        starts: list[tuple[Vec3, Vec3 | None]] = []
        for way in ways(math.atan2(point[1], point[0])):
            back = self._settings.approach + (thing.size[2] / 2.0 if way is DOWN else 0.0)
            x, y, z = (point[k] - back * way[k] for k in range(3))
            starts.append(((x, y, z), way))
        start, direction = await self._first(starts)
        assert direction is not None
        return start, direction

    async def _first(self, motions: Sequence[tuple[Vec3, Vec3 | None]]) -> tuple[Vec3, Vec3 | None]:
        """Bring the hand to the first of several points and directions that it gets to.

        Raises:
            Ended: It gets to none of them, and why not to the first; or something else is wrong.
        """
        first: Ended | None = None
        for point, direction in motions:
            try:
                await self._mover.move(point, direction)
                return point, direction
            except Ended as end:
                first = first or end
                if end.result.outcome not in ANOTHER_WAY:
                    raise
        assert first is not None
        raise first

    async def _feel(self, gripper: GripperClient) -> None:
        """Find out whether the hand holds something, where that is not known.

        So it is at the first use, and after a stop while the fingers moved. Opening it would drop
        what is held. So it is closed once, which changes nothing for that.

        Raises:
            Ended: The gripper does not answer.
        """
        if self._felt:
            return
        if not gripper.holds(await gripper.close()):
            self._hold()
        elif not self._holding:
            # Of a size that nobody knows, and from nowhere on the map.
            self._hold(_FOUND, Box((math.inf, math.inf, math.inf), (EDGE, EDGE, EDGE)))
        self._felt = True

    def _hold(self, label: str = "", thing: Box | None = None) -> None:
        """Take down what the hand holds, and where it was when it was taken, team's map [m]."""
        self._holding, self._held = label, thing
        known = thing is not None and math.isfinite(thing.center[0])
        self._taken = self._in_base(thing) if thing is not None and known else thing

    async def _place(self, receptacle: Target, feedback: Feedback) -> tuple[str, Vec3]:
        """Put down what the hand holds.

        Returns:
            Why the hand did not get away from it then ("": it did), and where the thing stands.
        """
        gripper = self._need_gripper()
        await self._feel(gripper)
        if not self._holding:
            raise Ended(Outcome.HAND_EMPTY, "the hand holds nothing that it could put down")
        grip = await gripper.close()
        if not gripper.holds(grip):
            lost = self._holding
            self._hold()
            raise Ended(Outcome.HAND_EMPTY, f"{lost} slipped on the way: {gripper.empty(grip)}")
        x, y, z = self._bearing.point(receptacle, self._held)
        height = self._held.size[2] / 2.0 if self._held is not None else EDGE / 2.0
        spot = (x, y, z + height + CLEARANCE)
        point = self._local(spot)
        await self._see(spot)
        above = await self._above(point)
        feedback(Progress(0.4))
        await self._mover.move(point, DOWN)
        feedback(Progress(0.7))
        self._felt = False
        await gripper.open()
        self._felt = True
        self._hold()
        try:
            # As it came, else with the hand turned as it likes, or straight up.
            await self._first([(above, DOWN), (above, None), (_up(point, self._settings), None)])
        except Ended as end:
            # It lies there: whoever is told that it does not would look for it in the hand.
            why = f"put down, but the hand did not get away from it: {end.result.reason}"
            return why, (x, y, z)
        return "", (x, y, z)

    async def _above(self, point: Vec3) -> Vec3:
        """Bring the hand over a point, lower where something is above; return where that is.

        Raises:
            Ended: It gets to none of these.
        """
        x, y, z = point
        heights = (z + share * self._settings.approach for share in (1.0, 0.5, 0.25, 0.0))
        above, _ = await self._first([((x, y, height), DOWN) for height in heights])
        return above

    async def _retreat(self, point: Vec3, start: Vec3) -> None:
        """Bring the hand up from a point, or back to where it came from."""
        await self._first([(_up(point, self._settings), None), (start, None)])

    async def _open_or_close(self, skill: Open | Close, feedback: Feedback) -> str:
        """Open or close furniture, and say how far; an arm that knows no handles does not."""
        raise Ended(
            Outcome.UNSUPPORTED,
            f"{type(skill).__name__} is not set up for this arm: set arm.handles, or let the "
            "robot's own node do it (arm.backend: skills)",
        )

    # -- where things are ----------------------------------------------------------------------

    def _need_gripper(self) -> GripperClient:
        if self._gripper is None:
            raise Ended(Outcome.UNSUPPORTED, "arm.gripper.backend is none: it cannot grasp")
        return self._gripper

    def _thing(self, target: Target) -> Box:
        """Return the box of the thing meant, in the team's map; a small one where none is known.

        What the robot itself saw from near by goes before the map: fingers are a matter of
        centimetres.
        """
        known = known_box(self._where, target)
        where = target.position if known is None else known.center
        seen = self._where.seen(target.label, where, _SIGHTED)
        return seen or known or Box(target.position, (EDGE, EDGE, EDGE))

    def _local(self, point: Vec3) -> Vec3:
        """Return a point of the team's map in the base frame."""
        return relative(self._where.pose(), Pose(point)).position

    def _in_base(self, box: Box) -> Box:
        """Return a box of the team's map in the base frame."""
        here = relative(self._where.pose(), Pose(box.center, box.yaw))
        return Box(here.position, box.size, here.yaw)

    async def _see(self, point: Vec3 | None, label: str = "") -> None:
        """Give the mover the obstacles: all near boxes but those of what the hand works on.

        Args:
            point: Where the hand is to get, team's map [m]: boxes around it are no obstacles,
                since furniture looks larger than it is.
            label: Of a thing that is grasped there: a second sighting of it is no obstacle.
        """
        radius = self._settings.scene_radius
        if radius <= 0.0:
            return
        boxes = []
        for name, seen, box in self._where.objects(radius):
            if point is not None and (
                box.contains(point, 0.01)
                or (seen == label and math.dist(box.center, point) < _SECOND)
            ):
                continue
            if self._held is not None and math.dist(box.center, self._held.center) < 0.05:
                continue
            boxes.append((name, self._in_base(box)))
        await self._mover.see(boxes, self._taken)


def _up(point: Vec3, settings: ArmSettings) -> Vec3:
    return (point[0], point[1], point[2] + settings.approach)
