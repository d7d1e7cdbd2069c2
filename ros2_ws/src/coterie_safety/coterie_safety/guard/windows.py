"""Windows of local time in which robots may act, such as `mon-fri 08:00-18:00`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WINDOW = re.compile(r"(?:([a-z,\- ]+?)\s+)?(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")
_FORM = "expected HH:MM-HH:MM, with days in front if wanted, such as 'mon-fri 08:00-18:00'"


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A window of local time; one that ends at or before its start goes on past midnight.

    Args:
        text: Text of the window, as the team file has it.
        days: Weekdays on which it begins, 0 for Monday.
        start: Minute of the day at which it begins.
        end: Minute of the day at which it ends; 1440: midnight.
    """

    text: str
    days: frozenset[int]
    start: int
    end: int

    @staticmethod
    def parse(text: str) -> TimeWindow:
        """Read `[days ]HH:MM-HH:MM`; days are `mon`, `mon-fri` or `sat,sun`.

        Raises:
            ValueError: It is no such window; says what was expected.
        """
        found = _WINDOW.fullmatch(text.strip().lower())
        if found is None:
            raise ValueError(f"{text!r} is no window of time; {_FORM}")
        start, end = (60 * int(found[k]) + int(found[k + 1]) for k in (2, 4))
        if int(found[3]) > 59 or int(found[5]) > 59 or start >= 1440 or end > 1440:
            raise ValueError(f"{text!r} holds no time of day; {_FORM}")
        if start == end:
            raise ValueError(f"{text!r} is empty; for the whole day write 00:00-24:00")
        return TimeWindow(text.strip(), _days(found[1] or "mon-sun", text), start, end)

    def contains(self, moment: datetime) -> bool:
        """Whether a local time lies in the window."""
        minute = 60 * moment.hour + moment.minute
        today = moment.weekday() in self.days
        if self.start < self.end:
            return today and self.start <= minute < self.end
        yesterday = (moment - timedelta(days=1)).weekday() in self.days
        return (today and minute >= self.start) or (yesterday and minute < self.end)


def _days(text: str, window: str) -> frozenset[int]:
    days: set[int] = set()
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        last = last or first
        if first not in DAYS or last not in DAYS:
            raise ValueError(f"{window!r}: unknown day {part!r}; days are {', '.join(DAYS)}")
        k = DAYS.index(first)
        days.add(k)
        while DAYS[k] != last:
            k = (k + 1) % 7
            days.add(k)
    return frozenset(days)
