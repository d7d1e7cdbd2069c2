"""What is known of a collaborator: sightings, interpolated between and predicted beyond them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from coterie_core.cooperation import Briefing, Spot, Walkways, advance

KEPT = 60
"""Sightings kept of each collaborator."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A collaborator at a step, by sight or by its own word: where, and what it holds (ids)."""

    step: int
    spot: Spot
    hands: tuple[str, ...] = ()
    seen: bool = True


@dataclass(frozen=True, slots=True)
class Guess:
    """Where a collaborator likely is: spot, uncertainty [m], and whether it still walks there."""

    spot: Spot
    spread: float
    walking: bool


@dataclass(slots=True)
class Collaborator:
    """One collaborator's history; information comes in pieces and is bridged between them.

    Attributes:
        name: Who.
        traces: Known whereabouts, oldest first.
        heading: Id of the thing or room it makes for, by its own word or by prediction; "".
        aim: Where that is; None: unknown.
        since: Step from which it makes for it.
    """

    name: str
    traces: list[Trace] = field(default_factory=list)
    heading: str = ""
    aim: Spot | None = None
    since: int = 0

    @property
    def last(self) -> Trace | None:
        """The latest trace."""
        return self.traces[-1] if self.traces else None

    def met(self, trace: Trace) -> None:
        """Store a trace; one that is older than the latest is put in order."""
        last = self.last
        if last is not None and trace.step < last.step:
            self.traces = sorted([*self.traces, trace], key=lambda t: t.step)
        elif last is not None and trace.step == last.step:
            self.traces[-1] = trace
        elif (
            last is not None
            and len(self.traces) > 1
            and trace.spot == last.spot == self.traces[-2].spot
            and trace.hands == last.hands == self.traces[-2].hands
        ):
            self.traces[-1] = trace  # it stands still: the span is kept, not every step of it
        else:
            self.traces.append(trace)
        if len(self.traces) > KEPT:
            del self.traces[: len(self.traces) - KEPT]

    def seen(self, trace: Trace, ways: Walkways, reach: float) -> None:
        """Store a sighting; what it made for no longer counts once it is there, or turned away."""
        last = self.last
        if self.aim is not None and trace.step > self.since:
            left = ways.distance(trace.spot, self.aim)
            turned = (
                last is not None
                and last.step >= self.since
                and left > ways.distance(last.spot, self.aim) + 0.1
            )
            if left <= reach or turned:
                self.heading, self.aim = "", None
        self.met(trace)

    def heads_for(self, heading: str, aim: Spot | None, step: int) -> None:
        """Store what it makes for."""
        self.heading, self.aim, self.since = heading, aim, step

    def interpolated(self, step: int, ways: Walkways) -> Spot | None:
        """Return where it was at a step between two traces: on the shortest way, evenly fast."""
        before = next((one for one in reversed(self.traces) if one.step <= step), None)
        if before is None:
            return None
        after = next((one for one in self.traces if one.step > step), None)
        if after is None or after.spot == before.spot:
            return before.spot
        share = (step - before.step) / (after.step - before.step)
        length = ways.distance(before.spot, after.spot)
        if not math.isfinite(length):
            return before.spot
        return advance(before.spot, ways.route(before.spot, after.spot), share * length)[0]

    def _gaps(self) -> Iterator[tuple[Trace, Trace | None]]:
        """Yield each trace with the next one, the last with None."""
        return zip_longest(self.traces, self.traces[1:])

    def passed(self, room: str, since: int, ways: Walkways) -> bool:
        """Tell whether it was in a room since a step, by traces and the ways between them."""
        for trace, after in self._gaps():
            if trace.step >= since and trace.spot.room == room:
                return True
            if after is None or after.step < since or after.spot.room == trace.spot.room:
                continue
            way = ways.distance(trace.spot, after.spot)
            if math.isfinite(way) and room in ways.rooms_between(trace.spot, after.spot):
                return True
        return False

    def predicted(self, step: int, ways: Walkways, stride: float) -> Guess | None:
        """Return where it likely is now, and how sure that is.

        It walks towards its aim from the latest trace on; the spread grows with the time since,
        slowly on a known way, at walking speed after it.
        """
        last = self.last
        if last is None:
            return None
        since = max(0, step - max(last.step, 0))
        if self.aim is None or self.since > step:
            return Guess(last.spot, stride * since, False)
        length = ways.distance(last.spot, self.aim)
        if not math.isfinite(length):
            return Guess(last.spot, stride * since, False)
        walked = stride * since
        if walked >= length:
            return Guess(self.aim, 0.1 * length + (walked - length), False)
        spot = advance(last.spot, ways.route(last.spot, self.aim), walked)[0]
        return Guess(spot, 0.1 * walked, True)

    def track(self, since: int, now: int, briefing: Briefing, spatial: bool = True) -> str:
        """Say in words where it was from one step to another: seen, bridged, or predicted."""
        ways, stride = briefing.ways, briefing.stride
        last = self.last
        if last is None:
            return f"{self.name}: not seen or heard yet"
        known = {trace.step: trace for trace in self.traces}
        steps = sorted({since, now, *(round(since + (now - since) * k / 4) for k in (1, 2, 3))})
        steps = sorted({*steps, *[s for s in known if since <= s <= now][-4:]})
        parts = []
        for step in steps:
            if step > last.step:
                guess = self.predicted(step, ways, stride)
                spot, how = (guess.spot if guess is not None else None), "predicted"
            else:
                spot, how = self.interpolated(step, ways), "on its way"
            if step in known:
                spot, how = known[step].spot, "seen" if known[step].seen else "by its word"
            if spot is not None:
                at = f" ({spot.position[0]:.1f}, {spot.position[1]:.1f})" if spatial else ""
                parts.append(f"step {step} {spot.room}{at}, {how}")
        return f"{self.name}: " + ("; ".join(parts) or "not known where")

    def could_reach(self, spot: Spot, start: int, end: int, ways: Walkways, stride: float) -> float:
        """Return the most steps that it had to spare at a spot in an interval (below 0: never).

        Every gap between two traces that overlaps the interval is an opportunity: the way there
        and on must fit the steps in between.
        """
        best = -math.inf
        for trace, after in self._gaps():
            gap_end = after.step if after is not None else end
            if gap_end < start:
                continue
            arrival = max(start, trace.step + ways.distance(trace.spot, spot) / stride)
            leave = float(end)
            if after is not None:
                leave = min(leave, after.step - ways.distance(spot, after.spot) / stride)
            best = max(best, leave - arrival)
        return best

    def text(self, step: int, spatial: bool = True) -> str:
        """Return in words where it was last and what it makes for; `spatial`: in numbers too."""
        last = self.last
        if last is None:
            return f"{self.name}: not seen or heard yet"
        x, y = last.spot.position[:2]
        held = f", holding {', '.join(last.hands)}" if last.hands else ""
        aim = f", making for {self.heading}" if self.heading else ""
        where = f"{last.spot.room} ({x:.1f}, {y:.1f})" if spatial else last.spot.room
        return f"{self.name}: {step - last.step} steps ago in {where}{held}{aim}"
