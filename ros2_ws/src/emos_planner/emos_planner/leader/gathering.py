"""How long a leader waits with a task for the map, its rooms, and the robots."""

from __future__ import annotations

from dataclasses import dataclass

GATHER = 5.0
"""How long to wait for robots that are not there when a task comes [s of wall time]."""


@dataclass(frozen=True, slots=True)
class Gathering:
    """What a leader waits for before it splits a task; all times are of the wall.

    Args:
        start_time: Time that robots may take to start after the leader [s].
        map_timeout: Time to wait for the first map; and, from the leader's start, for the first
            rooms: in a lab they come later than the map [s].
    """

    start_time: float
    map_timeout: float

    def over(
        self, waited: float, up: float, *, has_map: bool, has_rooms: bool, all_there: bool
    ) -> bool:
        """Tell whether a task waits no longer.

        Args:
            waited: Since the task came [s].
            up: Since the leader's start [s].
            has_map: Whether a map has come.
            has_rooms: Whether it shows any room.
            all_there: Whether all robots are there, or stopped.
        """
        if not has_map:
            return waited >= self.map_timeout
        if not has_rooms and up < self.map_timeout:
            return False
        return all_there or (waited >= GATHER and up >= self.start_time)

    def without_map(self) -> str:
        """Return what is told where no map has come."""
        return (
            f"no map came on 'semantic_map' within {self.map_timeout:g} s; is the bridge running, "
            "with prior_map? Where a world takes long to load, raise leader.map_timeout in the "
            "team file (or start the team with `up` first)"
        )

    def without_rooms(self) -> str:
        """Return what is told of a map that shows no rooms after that time."""
        return (
            f"the map shows no rooms {self.map_timeout:g} s after the leader's start: rooms cannot "
            "be named, and robots look where they are; draw rooms (world.room_outlines), or let "
            "the team explore first"
        )
