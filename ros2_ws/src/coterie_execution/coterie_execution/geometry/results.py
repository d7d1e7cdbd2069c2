"""What the tools answer: typed, with the numbers in words, and the obstacle where they say no."""

from __future__ import annotations

from dataclasses import dataclass

from coterie_core.geometry import Vec3
from coterie_core.tasks import Obstacle, Verdict

_LONGEST = 500  # characters of a verdict's reason


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether the hand gets to a point from a spot where the robot can stand.

    Attributes:
        feasible: Whether there is such a spot.
        obstacle: Why not.
        reason: In words, with the numbers.
        spot: The best spot [m], with most room for error.
        margin: How much farther the hand reaches at this height [m].
    """

    feasible: bool
    obstacle: Obstacle | None = None
    reason: str = ""
    spot: Vec3 | None = None
    margin: float = 0.0


@dataclass(frozen=True, slots=True)
class Sight:
    """Whether a camera gets a thing into view from a spot where the robot can stand.

    Attributes:
        feasible: Whether there is such a spot.
        obstacle: Why not.
        reason: In words, with the numbers.
        spot: The best spot [m].
        share: Share of the thing's points that are in view (0..1).
    """

    feasible: bool
    obstacle: Obstacle | None = None
    reason: str = ""
    spot: Vec3 | None = None
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Path:
    """A way: whether there is one, its length [m], its time [s], and the rooms (ids) on it."""

    feasible: bool
    obstacle: Obstacle | None = None
    reason: str = ""
    length: float = 0.0
    time: float = 0.0
    rooms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """Whether a robot can do a sub-task, and what it costs.

    Attributes:
        feasible: Whether its body can.
        obstacle: Why not.
        reason: In words, with the numbers.
        time: Of the way from the start and of the skill [s].
        distance: Of the way [m].
        spot: Where to stand [m]; None where it is not known yet or does not matter.
        target: Where the hand goes, or what the camera looks at [m].
        thing: Id of the thing in the scene that is meant, "" for none.
        known: Whether the place of the thing is known; if not, the answer is about the body alone.
        opens: Id of the container that has to be opened first, "" for none.
        work: Time at the spot, without the way [s].
    """

    feasible: bool
    obstacle: Obstacle | None = None
    reason: str = ""
    time: float = 0.0
    distance: float = 0.0
    spot: Vec3 | None = None
    target: Vec3 | None = None
    thing: str = ""
    known: bool = True
    opens: str = ""
    work: float = 0.0

    def verdict(self, sub_task: str) -> Verdict:
        """Return this as what a robot says to a sub-task (by id)."""
        return Verdict(
            sub_task=sub_task,
            feasible=self.feasible,
            obstacle=self.obstacle,
            reason=self.reason[:_LONGEST],
            time=self.time,
        )
