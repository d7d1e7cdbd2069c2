"""What path and reach tools need to know of a body, so that robots with equal bodies share work."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.resume import Resume, ResumeArm, ResumeCamera

RUG = 0.03
"""Lower things [m] are driven over by any body on the ground."""
DOOR_MARGIN = 0.03
"""Room [m] a body needs on either side of a doorway, besides its own width."""
DOOR_HEIGHT = 2.05
"""Of doorways [m]: connections do not tell it."""
SLACK = 0.02
"""How far above or below the middle of a thing a hand may be and still take it [m]."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The space a body takes: what decides where it can stand and go.

    `low` and `high` [m] above the floor are the lowest and highest part that can hit something;
    `step` [m] is the highest riser it climbs; `base` [m] is the height of base_link.
    """

    kind: str
    radius: float
    low: float
    high: float
    step: float
    base: float

    @staticmethod
    def of(resume: Resume) -> Frame:
        """Return the frame of a resume's body."""
        body = resume.mobility
        flies = body.kind == "air"
        base = body.flight_height if flies else 0.0
        step = 9.9 if flies else min(body.step_height or 0.0, 0.5)
        low = max(0.0, base - 0.05) if flies else max(RUG, step)
        return Frame(body.kind, body.passage_radius, low, base + body.height, step, base)

    def door_trouble(self, door: str, width: float) -> str:
        """Return "" if the body fits through a way `width` [m] wide, else why not."""
        need = 2.0 * (self.radius + DOOR_MARGIN)
        if width < need - 1e-9:
            return (
                f"{door} is {width:.2f} m wide, a body of radius {self.radius:.2f} m needs "
                f"{need:.2f} m"
            )
        if self.high > DOOR_HEIGHT:
            return (
                f"{door} is {DOOR_HEIGHT:.2f} m high, the top of the body is at {self.high:.2f} m"
            )
        return ""

    def stairs_trouble(self, stairs: str, width: float, riser: float) -> str:
        """Return "" if the body takes stairs with such risers [m], else why not."""
        if self.kind in ("wheels", "fixed"):
            return f"{stairs} has risers of {riser:.2f} m and {self.kind} do not take stairs"
        if self.kind != "air" and riser > self.step + 1e-9:
            return f"{stairs} has risers of {riser:.2f} m, the body climbs {self.step:.2f} m"
        if width < 2.0 * self.radius:
            return (
                f"{stairs} is {width:.2f} m wide, a body of radius {self.radius:.2f} m needs "
                f"{2.0 * self.radius:.2f} m"
            )
        return ""


class Hand:
    """An arm as a table of what it reaches: `rows[k, j]` over height and radius cells."""

    def __init__(self, arm: ResumeArm, base: float) -> None:
        space = arm.workspace
        self.name = arm.name
        self.payload = arm.payload
        self.grid: npt.NDArray[np.bool_] = space.grid()
        self.cell = space.cell
        self.bottom = space.bottom + base
        self.low = space.min_height + base
        self.high = space.max_height + base
        self.reach = space.reach
        self.any_row: npt.NDArray[np.bool_] = np.any(self.grid, axis=1)

    def row(self, height: float) -> npt.NDArray[np.bool_] | None:
        """Return the radius cells at a height above the floor [m], give or take `SLACK`.

        None: the hand gets nowhere at that height.
        """
        out: npt.NDArray[np.bool_] | None = None
        for z in (height, height - SLACK, height + SLACK):
            k = int(np.floor((z - self.bottom) / self.cell))
            if 0 <= k < len(self.grid) and self.any_row[k]:
                out = self.grid[k] if out is None else out | self.grid[k]
        return out

    def reaches(
        self, row: npt.NDArray[np.bool_], radii: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.bool_]:
        """Tell for radii [m] from the base axis whether the hand gets there in a row."""
        cells = np.floor(radii / self.cell).astype(np.intp)
        out: npt.NDArray[np.bool_] = row[np.minimum(cells, len(row) - 1)] & (cells < len(row))
        return out

    def farthest(self, row: npt.NDArray[np.bool_]) -> float:
        """Return the largest radius [m] in a row."""
        return float((np.flatnonzero(row)[-1] + 1) * self.cell)

    def nearest_height(self, height: float) -> float:
        """Return the height [m] nearest to `height` at which the hand gets anywhere."""
        rows = np.flatnonzero(self.any_row)
        middles = self.bottom + (rows + 0.5) * self.cell
        return float(middles[int(np.argmin(np.abs(middles - height)))])


class Body:
    """All that tools use of a resume; equal for robots that differ in name only."""

    def __init__(self, resume: Resume) -> None:
        self.frame = Frame.of(resume)
        self.speed = resume.mobility.linear_speed
        self.turn = resume.mobility.angular_speed
        self.hands = tuple(Hand(arm, self.frame.base) for arm in resume.manipulation.arms)
        self.cameras: tuple[ResumeCamera, ...] = resume.perception.cameras

    @property
    def payload(self) -> float | None:
        """Largest load of its arms [kg]; None: not known of one of them, or no arm."""
        loads = [hand.payload for hand in self.hands]
        if not loads or any(load is None for load in loads):
            return None
        return max(load for load in loads if load is not None)


def body_key(resume: Resume) -> str:
    """Return a key that resumes share if their bodies are the same in all numbers."""
    parts = (
        resume.mobility.model_dump_json(exclude={"summary", "evidence"}),
        resume.perception.model_dump_json(exclude={"summary", "evidence"}),
        resume.manipulation.model_dump_json(exclude={"summary", "evidence"}),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
