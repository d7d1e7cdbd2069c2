"""MHP: Monte Carlo tree search over sub-goals, regression planning below (Watch-And-Help).

The upper level samples where the things may be that are still to be found (its belief: evenly over
rooms not seen and containers not opened) and searches over orders of the next sub-goals in these
samples by UCT. The lower level plans backwards from the sub-goal that was chosen: what must hold
for it, and what for that, down to an action that is possible now.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from coterie_bench.reveca.baseline_common import BASE, BaselineAgent
from coterie_core.cooperation import Action, GoTo, Grab, Open, Put, Spot, Thing, Wait
from reveca_agent.plans import Plan
from reveca_agent.settings import Settings

ITERATIONS = 60
"""Simulations per decision."""
SAMPLES = 6
"""Samples of where unseen things are; simulations take them in turn."""
DEPTH = 6
"""Sub-goals that a simulation looks ahead."""
BRANCHES = 10
"""Most sub-goals considered at a node: the nearest."""
EXPLORATION = 0.6
DISCOUNT = 0.98
"""Per step: a thing brought later is worth less."""


@dataclass(frozen=True, slots=True)
class Move:
    """A sub-goal of the search: bring a thing (or look into a place), from where to where."""

    key: str
    plan: Plan
    spot: Spot
    end: Spot
    extra: float
    thing: str = ""
    place: str = ""


@dataclass(slots=True)
class Node:
    """A node of the tree: visits, mean worth, children by the key of the move."""

    visits: int = 0
    worth: float = 0.0
    children: dict[str, Node] = field(default_factory=dict)


class TreeAgent(BaselineAgent):
    """Searches over sub-goals; never talks.

    Args:
        name: Its name in the team.
        settings: Bounds of its memory.
        iterations: Simulations per decision.
    """

    def __init__(self, name: str, settings: Settings = BASE, iterations: int = ITERATIONS) -> None:
        super().__init__(name, settings)
        self.iterations = iterations

    # --- upper level: tree search ----------------------------------------------------------------

    async def choose(self) -> Plan | None:
        """Return the plan for the sub-goal that the search visits most."""
        bring = self.deliveries()
        if bring and self.full:
            place, items = bring[0]
            return Plan("deliver", place.id, items, self.memory.step)
        carrier = self.carrier()
        if carrier is not None:
            return Plan("fetch", carrier.id, (), self.memory.step)
        moves = self._moves()
        if not moves:
            return self.look_again()
        if len(moves) == 1:
            return moves[0].plan
        hidden = self._samples(moves)
        root = Node()
        for k in range(self.iterations):
            self._simulate(root, moves, hidden[k % len(hidden)])
        best = max(moves, key=lambda m: (root.children.get(m.key, Node()).visits, m.key))
        return best.plan

    def _moves(self) -> list[Move]:
        step, ways = self.memory.step, self.briefing.ways
        moves: list[Move] = []
        for place, items in self.deliveries():
            plan = Plan("deliver", place.id, items, step)
            moves.append(
                Move(f"bring {place.id}", plan, place.spot, place.spot, len(items), "+".join(items))
            )
        if not self.full:
            for thing in self.wanted():
                plan = Plan("fetch", thing.id, (), step)
                end = self._target_spot(thing) or thing.spot
                moves.append(Move(f"fetch {thing.id}", plan, thing.spot, end, 3.0, thing.id))
        for room in self.unseen_rooms():
            spot = ways.rooms[room].spot
            plan = Plan("explore", room, (), step)
            moves.append(Move(f"explore {room}", plan, spot, spot, 0.0, place=room))
        for container in self.unopened():
            plan = Plan("look", container.id, (), step)
            moves.append(
                Move(
                    f"look {container.id}", plan, container.spot, container.spot, 1.0,
                    place=container.id,
                )
            )  # fmt: skip
        moves.sort(key=lambda m: (m.plan.kind in ("explore", "look"), self.steps_to(m.spot), m.key))
        sure = [m for m in moves if m.thing][:BRANCHES]
        return sure + [m for m in moves if not m.thing][: BRANCHES - len(sure) // 2]

    def _target_spot(self, thing: Thing) -> Spot | None:
        for goal in self.memory.goal.of_item(thing.label):
            for id_ in self.memory.targets.get(goal.target, ()):
                if id_ in self.memory.scene:
                    return self.memory.scene[id_].thing.spot
        return None

    def _samples(self, moves: Sequence[Move]) -> list[dict[str, int]]:
        """Return guesses of how many needed things each unseen place holds."""
        places = [m.place for m in moves if m.place]
        missing = sum(self.lacking().values()) - sum(1 for m in moves if m.plan.kind == "fetch")
        drawn: list[dict[str, int]] = []
        for _ in range(SAMPLES):
            sample: dict[str, int] = {}
            for _ in range(max(missing, 0) if places else 0):
                place = self.random.choice(places)
                sample[place] = sample.get(place, 0) + 1
            drawn.append(sample)
        return drawn

    def _simulate(self, root: Node, moves: Sequence[Move], sample: dict[str, int]) -> None:
        """One simulation: down the tree by UCT, one new node, then the nearest first."""
        node, path = root, [root]
        here, time, worth = self.memory.spot, 0.0, 0.0
        left = {move.key: move for move in moves}
        growing = True
        for _ in range(DEPTH):
            if not left:
                break
            move = self._pick(node, list(left.values()), here) if growing else None
            if move is None:
                move = min(left.values(), key=lambda m: (self._steps(here, m), m.key))
            del left[move.key]
            time += self._steps(here, move)
            here = move.end
            gain = 1.0 if move.thing else 0.7 * sample.get(move.place, 0)
            worth += gain * DISCOUNT**time
            if growing:
                known = move.key in node.children
                node = node.children.setdefault(move.key, Node())
                path.append(node)
                growing = known
        for one in path:
            one.visits += 1
            one.worth += (worth - one.worth) / one.visits

    def _pick(self, node: Node, moves: list[Move], here: Spot) -> Move:
        fresh = [m for m in moves if m.key not in node.children]
        if fresh:
            return min(fresh, key=lambda m: (self._steps(here, m), m.key))
        log = math.log(node.visits + 1)
        return max(
            moves,
            key=lambda m: (
                node.children[m.key].worth
                + EXPLORATION * math.sqrt(log / (node.children[m.key].visits + 1)),
                m.key,
            ),
        )

    def _steps(self, here: Spot, move: Move) -> float:
        ways, stride = self.briefing.ways, self.briefing.stride
        far = ways.distance(here, move.spot) + ways.distance(move.spot, move.end)
        return far / stride + move.extra

    # --- lower level: regression planning --------------------------------------------------------

    def _execute(self) -> Action | None:
        plan = self.plan
        if plan is None:
            return None
        if self.briefing.turn:  # turning and containers have a book of their own
            return super()._execute()
        action = self.regress(plan)
        if action is None:
            self.plan = None
        return action

    def regress(self, plan: Plan) -> Action | None:
        """Return what to do first so that the sub-goal will hold; None where it holds already.

        Backwards: a literal that does not hold is replaced by the action that makes it hold, and
        that action's preconditions become the next literals, until one can be done now.
        """
        entry = self.memory.scene.get(plan.target)
        if plan.kind == "explore":
            seen = self.memory.rooms.get(plan.target, -1) >= plan.step
            return None if self.memory.spot.room == plan.target and seen else GoTo(plan.target)
        if plan.kind == "wait":
            return None if self.memory.step > plan.step else Wait("nothing to do")
        if entry is None or entry.missing:
            return None
        thing = entry.thing
        if plan.kind == "fetch":
            if thing.id in self.memory.hands:  # holding(thing)
                return None
            return self._reachable(thing) or Grab(thing.id)
        if plan.kind == "look":
            if thing.is_open is not False:  # open(container)
                return None
            return self._near_to(thing) or Open(thing.id)
        items = [id_ for id_ in plan.items if id_ in self.memory.hands]
        if not items:  # on(item, target)
            return None
        ready = self._near_to(thing) or (Open(thing.id) if thing.is_open is False else None)
        return ready or Put(items[0], thing.id, "in" if thing.kind == "container" else "on")

    def _near_to(self, thing: Thing) -> Action | None:
        if self._near(thing.spot):
            return None
        return GoTo(thing.parent or thing.id, thing.spot)

    def _reachable(self, thing: Thing) -> Action | None:
        """What makes near(thing) and open(owner) hold; None where they do."""
        go = self._near_to(thing)
        if go is not None:
            return go
        owner = self.memory.owner(thing)
        return Open(owner.id) if owner is not None and owner.is_open is False else None
