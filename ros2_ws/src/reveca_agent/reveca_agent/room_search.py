"""How far a robot has looked through the rooms of a house for what its goal lacks."""

from __future__ import annotations

import math
from dataclasses import dataclass

from coterie_core.tasks import SubTask, Thing
from coterie_execution.executive import Executive
from coterie_execution.search_coverage import apparent_size

LEFT = (0.5, 0.25, 0.1)
"""Share of a thing that a room may hold in view which looks may leave unseen (0..1), the first time
that the room is looked through, the second time, and later."""
LOOK_AGAIN = 60.0
"""A room that was left so long ago is looked through anew [s]."""


@dataclass(slots=True)
class _Look:
    """One time that a room is looked through.

    `before` is how often it was before, `left` when the robot left it [s], `whole` what was
    expected in it at first; it is `over` where no further look would show more.
    """

    before: int = 0
    left: float = math.inf
    whole: float = 0.0
    over: bool = False

    @property
    def enough(self) -> float:
        """How many things may be left unseen."""
        return LEFT[min(self.before, len(LEFT) - 1)] * self.whole


class RoomSearch:
    """Has rooms looked through, each time better than before.

    Args:
        executive: Of the robot.
    """

    def __init__(self, executive: Executive) -> None:
        self._executive = executive
        self._looks: dict[str, _Look] = {}
        self._label = "thing"

    def begin(self, items: frozenset[str]) -> None:
        """Look for things of a new goal (labels): for what is hardest to see of them."""
        self._label = min(items, key=lambda one: (apparent_size(one), one), default="thing")
        self._looks.clear()
        self._executive.looks.begin()

    def enter(self, room: str, left: str, time: float) -> None:
        """Take in that the robot went from one room into another at a time [s]."""
        if left in self._looks:
            self._looks[left].left = time
        look = self._looks.get(room)
        if look is not None and time - look.left > LOOK_AGAIN:
            self._looks[room] = _Look(look.before + self.covered(room))
            self._executive.looks.forget(room)

    def sub_task(self, room: str) -> SubTask | None:
        """Return the search of a room; None: enough of it was seen."""
        look = self._looks.setdefault(room, _Look())
        look.whole = look.whole or self._left(room)
        return None if self.covered(room) else self._search(room, look.enough, look.before)

    def covered(self, room: str) -> bool:
        """Tell whether enough of a room was seen, or no look would show more."""
        look = self._looks.get(room)
        if look is None or not look.whole:
            return False
        look.over = look.over or self._left(room) <= look.enough
        return look.over

    def ended(self, room: str) -> None:
        """Take in that no further look would show more of a room."""
        self._looks.setdefault(room, _Look()).over = True

    def _left(self, room: str) -> float:
        """Return how many such things nobody has seen in a room, as far as is expected."""
        one, looks = self._search(room), self._executive.looks
        looks.search(one)
        looks.count()
        cover = looks.coverage(one)
        assert cover is not None
        return cover.left(self._executive.tools, room)

    def _search(self, room: str, enough: float = 0.0, before: int = 0) -> SubTask:
        return SubTask(
            id=f"search {before + 1} {room}"[:60],
            kind="search",
            object=Thing(label=self._label),
            rooms=(room,),
            enough=enough,
        )
