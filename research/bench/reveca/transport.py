"""The transport world: carry ten things to a bed, in hands and containers (TDW-MAT).

As the household world, and besides: one sees what is ahead, within a cone, and turns in steps of 15
degrees; a room counts as seen when all 24 directions were. Containers can be carried, each with up
to three things; put down at the goal, a container is emptied over it and stays in the hand. A step
is a tenth of a metre, or one other action.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from coterie_core.cooperation import (
    Action,
    Briefing,
    GoTo,
    Grab,
    Note,
    Percept,
    Put,
    Result,
    Send,
    Spot,
    Teammate,
    Thing,
    Turn,
)
from coterie_core.cooperation.messages import MAX_MESSAGE_CHARS
from coterie_core.cooperation.world import DONE
from research.bench.reveca.bodies import NAMES, Body, Channel, HouseholdOptions, failed
from research.bench.reveca.environment import UNDER_WAY, Metrics
from research.bench.reveca.household import HouseholdWorld
from research.bench.reveca.layouts import Layout, generated_layout, tdw_files, tdw_layout

TURN = 15
"""Degrees of a step of turning."""
SECTORS = 360 // TURN


@dataclass(frozen=True, slots=True)
class TransportOptions:
    """What kind of episodes.

    Attributes:
        agents: How many, from 1 up.
        horizon: Steps of an episode.
        stride: Metres per step [m].
        hands: Things that one can hold.
        carry: Things that a container holds.
        view: Width of the cone in which one sees [degrees].
        at_hand: So near one sees all around [m].
        folder: Layout files of ThreeDWorld; None: generated homes.
        grasp: Steps of taking a thing.
        load: Steps of putting a thing into a container in the other hand.
        drop: Steps of putting down.
        lost: A container that is put down at the goal stays there; else it is emptied and kept.
    """

    agents: int = 2
    horizon: int = 3000
    stride: float = 0.1
    hands: int = 2
    carry: int = 3
    view: int = 90
    at_hand: float = 1.2
    folder: Path | None = None
    grasp: int = 1
    load: int = 1
    drop: int = 1
    lost: bool = False


AS_ORIGINAL = TransportOptions(grasp=30, load=50, drop=30, lost=True)
"""What handling takes in the original, in frames, by the time limits in its code (turning to the
thing, reaching, resetting arms; a drop at most 30); it was not run here."""
RATES_AT = (750, 1500)
"""Steps at which it is noted how much was brought: at the end of 3000 all of it may be."""


class TransportWorld(HouseholdWorld):
    """Things to be carried to one place; they count wherever they come from.

    Args:
        options: What kind of episodes.
        channel: What becomes of messages on their way; None: all arrive in the next step.
    """

    reach = 1.0

    def __init__(
        self, options: TransportOptions | None = None, channel: Channel | None = None
    ) -> None:
        self.transport = options or TransportOptions()
        o = self.transport
        super().__init__(
            HouseholdOptions(
                agents=o.agents, horizon=o.horizon, stride=o.stride, hands=o.hands, hidden=False
            ),
            channel,
        )
        self.layout: Layout
        self._files = tdw_files(o.folder) if o.folder is not None else []
        self._make: Callable[[int], Layout] = generated_layout
        if self._files:
            self._make = lambda seed: tdw_layout(*self._files[seed % len(self._files)])

    # --- episodes --------------------------------------------------------------------------------

    def reset(self, seed: int) -> Mapping[str, Briefing]:
        """Make the episode of a seed: of a generated home, or of the files in turn."""
        o = self.transport
        self.layout = layout = self._make(seed)
        self.home, self.goal = layout.home, layout.goal
        self.things = {**self.home.fixed, **layout.items}
        self._contents: dict[str, list[str]] = {}
        self._loose: dict[str, list[str]] = {}
        for thing in self.things.values():
            self._lay(thing)
        self.bodies = {
            name: Body(name, layout.starts[k % len(layout.starts)])
            for k, name in enumerate(self.team)
        }
        self._begun = (self.goal, self.home, dict(self.things), {})
        self._heading = dict.fromkeys(self.team, 0)
        self._handling: dict[str, tuple[Action | None, int]] = dict.fromkeys(self.team, (None, 0))
        self.rates: dict[str, float] = {}
        self._seen_sectors: dict[str, set[int]] = {name: set() for name in self.team}
        self._seen_room = dict.fromkeys(self.team, "")
        self.steps = 0
        self._note_count = self._characters = 0
        self._failures: dict[str, int] = {}
        self._revision = dict.fromkeys(self.home.ways.rooms, 0)
        self._views: dict[str, tuple[Thing, ...]] = {}
        self._all = None
        self._changes = 0
        self._met = self._goal_met()
        return {
            name: Briefing(
                name,
                self.team,
                self.goal,
                self.home.ways,
                o.hands,
                o.stride,
                self.reach,
                o.horizon,
                MAX_MESSAGE_CHARS,
                TURN,
                o.carry,
                seed,
            )
            for name in self.team
        }

    def metrics(self) -> Metrics:
        """How the episode went; the group is the task's kind."""
        out = super().metrics()
        out.groups = {self.goal.subgoals[0].group: out.placed}
        return out

    def step(self, actions: Mapping[str, Action]) -> Mapping[str, Percept]:
        """Let all agents act, then all perceive; note what is brought by certain steps."""
        out = super().step(actions)
        for at in RATES_AT:
            if self.steps == at or (self.steps < at and self.done):
                placed, whole = self.metrics().placed
                self.rates[f"total_{at}"] = round(placed / max(1, whole), 4)
        return out

    # --- seeing ----------------------------------------------------------------------------------

    def percepts(self) -> Mapping[str, Percept]:
        """What each agent perceives now: what is ahead of it in its room."""
        over = self.done
        return {name: self._percept(body, over) for name, body in self.bodies.items()}

    def _percept(self, body: Body, over: bool) -> Percept:
        name, room, heading = body.name, body.spot.room, self._heading[body.name]
        sectors = self._seen_sectors[name]
        if self._seen_room[name] != room:
            self._seen_room[name] = room
            sectors.clear()
        before = len(sectors)
        half = self.transport.view // 2 // TURN
        sectors.update((heading // TURN + k) % SECTORS for k in range(-half, half + 1))
        # With the last direction all of the room is known, and what is missing in it.
        round_ = len(sectors) == SECTORS and before < SECTORS
        things = self._view(room) if round_ else self._ahead(body, heading)
        mates = [
            Teammate(o.name, o.spot, tuple(self.things[i] for i in o.hands), self._heading[o.name])
            for o in self.bodies.values()
            if o is not body and o.spot.room == room and self._sees(body, heading, o.spot)
        ]
        notes, body.notes = body.notes, []
        return Percept(
            self.steps,
            body.spot,
            body.hands,
            (*things, *self._carried(body)),
            (room, heading, self._revision[room], body.spot.position, round_, body.hands),
            (room,) if round_ else (),
            mates,
            notes,
            body.result,
            heading,
            over,
        )

    def _ahead(self, body: Body, heading: int) -> list[Thing]:
        return [t for t in self._view(body.spot.room) if self._sees(body, heading, t.spot)]

    def _sees(self, body: Body, heading: int, spot: Spot) -> bool:
        x, y, _ = body.spot.position
        dx, dy = spot.position[0] - x, spot.position[1] - y
        if dx * dx + dy * dy <= self.transport.at_hand**2:
            return True
        off = (math.degrees(math.atan2(dy, dx)) - heading + 180.0) % 360.0 - 180.0
        return abs(off) <= self.transport.view / 2.0

    def _carried(self, body: Body) -> list[Thing]:
        """What lies in the containers in its hands."""
        return [self.things[i] for hand in body.hands for i in self._contents.get(hand, ())]

    # --- actions ---------------------------------------------------------------------------------

    def _act(self, body: Body, action: Action, said: list[Note]) -> Result:
        if type(action) is Turn:
            return self._turn(body, action.degrees)
        if not self._handled(body, action):
            return UNDER_WAY
        before = body.spot.position
        result = super()._act(body, action, said)
        if type(action) is GoTo and body.spot.position != before:
            dx, dy = body.spot.position[0] - before[0], body.spot.position[1] - before[1]
            if dx or dy:
                angle = round(math.degrees(math.atan2(dy, dx)) / TURN) * TURN
                self._heading[body.name] = angle % 360
        return result

    def _handled(self, body: Body, action: Action) -> bool:
        """Whether handling a thing has taken its steps; it goes on while the agent goes on."""
        o = self.transport
        needs = 1
        if type(action) is Grab:
            needs = o.grasp
        elif type(action) is Put:
            needs = o.load if action.target in body.hands else o.drop
        elif type(action) is Send:
            return True  # one may speak meanwhile
        before, count = self._handling[body.name]
        count = count + 1 if before == action else 1
        self._handling[body.name] = (action, count) if count < needs else (None, 0)
        return count >= needs

    def _turn(self, body: Body, degrees: int) -> Result:
        if degrees not in (-TURN, TURN):
            return failed("not_here", f"turn by {TURN} or -{TURN} degrees, not {degrees}")
        self._heading[body.name] = (self._heading[body.name] + degrees) % 360
        return DONE

    def _grab(self, body: Body, item: str) -> Result:
        thing = self.things.get(item)
        holder = self.things.get(thing.parent) if thing is not None else None
        if holder is not None and holder.relation == "held" and holder.id not in body.hands:
            return failed("gone", f"{item} is in {holder.id}, which {holder.parent} carries")
        return super()._grab(body, item)

    def _put(self, body: Body, action: Put) -> Result:
        target = self.things.get(action.target)
        if target is not None and target.id in body.hands and target.kind == "container":
            return self._load(body, action.item, target)
        full = self._contents.get(action.item, ()) if action.item in body.hands else ()
        if target is None or target.kind != "surface" or not full:
            if target is not None and target.kind == "container":
                return failed("unknown_target", f"take {target.id} into a hand to put things in it")
            return super()._put(body, action)
        if not self._near(body, target):
            return failed("too_far", f"{target.id} is out of reach; go to it first")
        for item in tuple(full):
            self._contents[action.item].remove(item)
            laid = replace(self.things[item], spot=target.spot, parent=target.id, relation="on")
            self.things[item] = laid
            self._lay(laid)
        if self.transport.lost:
            self.place(action.item, target.id)
            self.things[action.item] = replace(self.things[action.item], portable=False)
        self._changed(target.spot.room)
        self._met = self._goal_met()
        return DONE

    def _load(self, body: Body, item: str, container: Thing) -> Result:
        if item not in body.hands or item == container.id:
            return failed("not_holding", f"{item[:60]} is not in your hands")
        if self.things[item].kind != "item":
            return failed("not_portable", f"{item} does not go into {container.id}")
        inside = self._contents.setdefault(container.id, [])
        if len(inside) >= self.transport.carry:
            return failed("full", f"{container.id} holds {self.transport.carry} things already")
        inside.append(item)
        self.things[item] = replace(self.things[item], parent=container.id, relation="in")
        body.hands = tuple(i for i in body.hands if i != item)
        return DONE

    def _lift(self, thing: Thing) -> None:
        # What is taken out of a container in somebody's hand is in no room's list.
        holder = self.things.get(thing.parent)
        if holder is not None and holder.relation == "held":
            self._contents[holder.id].remove(thing.id)
            return
        super()._lift(thing)


__all__ = ["NAMES", "TransportOptions", "TransportWorld"]
