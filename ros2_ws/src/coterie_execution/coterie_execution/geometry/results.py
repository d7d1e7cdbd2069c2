"""What the tools answer: typed, with the numbers in words, and the obstacle where they say no."""

from __future__ import annotations

from dataclasses import dataclass

from coterie_core.geometry import Vec3
from coterie_core.tasks import Obstacle, Verdict

_LONGEST = 500  # characters of a verdict's reason


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer of a tool.

    Attributes:
        obstacle: Why not; None: it can be done.
        reason: In words, with the numbers.
        spot: Where to stand [m]; None where it is not known yet or does not matter.
    """

    obstacle: Obstacle | None = None
    reason: str = ""
    spot: Vec3 | None = None

    @property
    def feasible(self) -> bool:
        """Whether it can be done."""
        return self.obstacle is None


@dataclass(frozen=True, slots=True)
class Reach(Finding):
    """Whether the hand gets to a point from a spot, and how much farther at this height [m]."""

    margin: float = 0.0


@dataclass(frozen=True, slots=True)
class Sight(Finding):
    """Whether a camera gets a thing into view, and the share of its points in view (0..1)."""

    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Path(Finding):
    """A way: whether there is one, its length [m], its time [s], and the rooms (ids) on it."""

    length: float = 0.0
    time: float = 0.0
    rooms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate(Finding):
    """Whether a robot can do a sub-task, and what it costs.

    Attributes:
        time: Of the way from the start and of the skill [s].
        distance: Of the way [m].
        target: Where the hand goes, or what the camera looks at [m].
        opens: Id of the container that has to be opened first, "" for none.
        work: Time at the spot, without the way [s].
    """

    time: float = 0.0
    distance: float = 0.0
    target: Vec3 | None = None
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
