"""MHP: Monte Carlo tree search over sub-goals in a symbolic model of the home (Watch-And-Help).

Every simulation samples where the things are that nobody has seen, from the agent's belief (rooms
not seen, containers not opened), and plays on in that sample: walks and actions cost their steps,
two hands (and containers carried) hold what they hold, exploring reveals what the sample has there,
putting things down frees the hands and is what pays. The tree holds the first sub-goals and grows
by UCT; below it the nearest move is played until all is brought. What others do is not modelled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from coterie_core.cooperation import Spot
from research.bench.reveca.baseline_common import BASE, BaselineAgent
from reveca_agent.plans import Plan, PlanKind
from reveca_agent.settings import Settings
from reveca_agent.skill_book import carried, carriers

ITERATIONS = 60
"""Simulations per decision."""
DEPTH = 5
"""Sub-goals that the tree looks ahead; below it the nearest move is played."""
LONGEST = 40
"""Most sub-goals of a simulation."""
EXPLORATION = 0.7
"""Weight of what was seldom tried, against worths scaled to 0..1 by the best and the worst met."""

Move = tuple[PlanKind, str]


@dataclass(slots=True)
class Node:
    """A node of the tree: how often it was visited, sum of worths, children by their move."""

    visits: int = 0
    total: float = 0.0
    children: dict[Move, Node] = field(default_factory=dict)


@dataclass(slots=True)
class Sub:
    """Something in the model that can be brought or that can carry: its label, where it is."""

    label: str
    spot: Spot
    extra: float = 1.0
    holds: int = 0


@dataclass(slots=True)
class Model:
    """The home as a simulation has it: changed by every move.

    Attributes:
        here: Where one is.
        time: Steps so far.
        hands: Free hands.
        space: Room in the containers in hand.
        held: Labels of what one carries.
        things: Things that one may take: id -> thing.
        places: Places to search: id -> (kind, spot, steps of searching).
        inside: What the sample has in them: id of the place -> labels.
        lacking: How many of each label are still to be brought.
        worth: Of what was brought.
    """

    here: Spot
    time: float
    hands: int
    space: int
    held: list[str]
    things: dict[str, Sub]
    places: dict[str, tuple[PlanKind, Spot, float]]
    inside: dict[str, list[str]]
    lacking: dict[str, int]
    worth: float = 0.0


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

    async def choose(self) -> Plan | None:
        """Return the plan for the sub-goal that the search visits most."""
        step = self.memory.step
        self._targets = self._places_of_targets()
        start = self._start()
        moves = self._moves(start)
        if not moves:
            bring = self.deliveries()
            if bring:
                return Plan("deliver", bring[0][0].id, bring[0][1], step)
            return self.look_again()
        if len(moves) == 1:
            return self._plan(moves[0])
        self._scale = 1.0 / (150.0 * (0.5 / self.briefing.stride))
        self._worst, self._best = math.inf, -math.inf
        root = Node()
        for _ in range(self.iterations):
            self._simulate(root, start)
        best = max(root.children, key=lambda m: (root.children[m].visits, m))
        return self._plan(best)

    def _plan(self, move: Move) -> Plan:
        kind, target = move
        items: tuple[str, ...] = ()
        if kind == "deliver":
            items = tuple(
                thing.id
                for thing in carried(self.memory)
                if any(place[0] == target for place in self._targets.get(thing.label, ()))
            )
        return Plan(kind, target, items, self.memory.step)

    # --- the model -------------------------------------------------------------------------------

    def _start(self) -> Model:
        memory, briefing = self.memory, self.briefing
        things: dict[str, Sub] = {}
        lacking: dict[str, int] = {}
        for goal, count in memory.needs().items():
            lacking[goal.item] = lacking.get(goal.item, 0) + count
        for thing in self.wanted():
            owner = memory.owner(thing)
            closed = owner is not None and owner.is_open is False
            things[thing.id] = Sub(thing.label, thing.spot, 1.0 + closed + bool(briefing.turn))
        in_hand = carriers(memory, briefing.carry)
        space = sum(left for _, left in in_hand)
        if briefing.turn and not in_hand:
            near = self.loose_containers()[:3]
            things |= {thing.id: Sub("", thing.spot, 1.0, briefing.carry) for thing in near}
        places = {task.target: (task.kind, task.spot, task.extra) for task, _ in self.places()}
        return Model(
            memory.spot,
            0.0,
            briefing.hands - len(memory.hands),
            space,
            [thing.label for thing in carried(memory) if thing.label in memory.goal.items],
            things,
            places,
            {},
            lacking,
        )

    def _places_of_targets(self) -> dict[str, list[tuple[str, Spot, bool]]]:
        """Label of what is brought -> known places where it belongs: id, spot, whether closed."""
        out: dict[str, list[tuple[str, Spot, bool]]] = {}
        for goal in self.memory.goal.subgoals:
            for id_ in self.memory.targets.get(goal.target, ()):
                entry = self.memory.scene.get(id_)
                if entry is not None:
                    place = (id_, entry.thing.spot, entry.thing.is_open is False)
                    out.setdefault(goal.item, []).append(place)
        return out

    def _sampled(self, start: Model) -> Model:
        """Return a copy of the start with unseen things drawn from the belief."""
        inside: dict[str, list[str]] = {}
        ids = list(self.shares)
        for k, (label, count) in enumerate(self.hidden):
            weights = [self.shares[id_][k] for id_ in ids]
            if label in start.lacking and sum(weights) > 0.0:
                for id_ in self.random.choices(ids, weights, k=count):
                    inside.setdefault(id_, []).append(label)
        return replace(
            start,
            held=list(start.held),
            things=dict(start.things),
            places=dict(start.places),
            inside=inside,
            lacking=dict(start.lacking),
        )

    def _moves(self, model: Model) -> list[Move]:
        moves: list[Move] = []
        carrying = [label for label in model.held if model.lacking.get(label, 0) > 0]
        if carrying:
            targets = {p[0] for label in carrying for p in self._targets.get(label, ())}
            moves += [("deliver", id_) for id_ in sorted(targets)]
        if model.hands > 0:
            several = sum(model.lacking.values()) - len(carrying) > 1
            for id_, thing in model.things.items():
                if thing.holds:
                    useful = several and model.hands > 1
                else:
                    useful = model.lacking.get(thing.label, 0) > model.held.count(thing.label)
                if useful:
                    moves.append(("fetch", id_))
        if sum(model.lacking.values()) > len(carrying) or not moves:
            moves += [(kind, id_) for id_, (kind, _, _) in model.places.items()]
        return moves

    def _spot(self, model: Model, move: Move) -> tuple[Spot, float]:
        """Return where a move leads, and the steps that it takes there."""
        kind, target = move
        if kind == "fetch":
            thing = model.things[target]
            return thing.spot, thing.extra
        if kind == "deliver":
            thing_there = self.memory.scene[target].thing
            return thing_there.spot, float(thing_there.is_open is False)
        _, spot, extra = model.places[target]
        return spot, extra

    def _steps(self, model: Model, move: Move) -> float:
        spot, extra = self._spot(model, move)
        return self.briefing.ways.distance(model.here, spot) / self.briefing.stride + extra

    def _do(self, model: Model, move: Move) -> None:
        """Carry out a move in the model."""
        kind, target = move
        model.time += self._steps(model, move)
        model.here, _ = self._spot(model, move)
        if kind == "fetch":
            thing = model.things.pop(target)
            if thing.holds:
                model.hands -= 1
                model.space += thing.holds
                model.things = {id_: one for id_, one in model.things.items() if not one.holds}
                return
            model.held.append(thing.label)
            if model.space > 0:
                model.space -= 1  # into a container: the hand is free again
            else:
                model.hands -= 1
        elif kind == "deliver":
            self._put(model, target)
        else:
            model.places.pop(target)
            for k, label in enumerate(model.inside.pop(target, ())):
                model.things[f"{target} {label} {k}"] = Sub(label, model.here)

    def _put(self, model: Model, target: str) -> None:
        kept: list[str] = []
        for label in model.held:
            here = any(place[0] == target for place in self._targets.get(label, ()))
            if not here or model.lacking.get(label, 0) <= 0:
                kept.append(label)
                continue
            model.time += 1.0
            model.lacking[label] -= 1
            model.worth += math.exp(-model.time * self._scale)
            if self.briefing.turn and self._carrying(model, len(kept)):
                model.space += 1
            else:
                model.hands = min(self.briefing.hands, model.hands + 1)
        model.held = kept

    def _carrying(self, model: Model, kept: int) -> bool:
        """Whether what is put down comes out of a container, so that room in it is what is won."""
        loads = self.briefing.carry if self._has_container(model) else 0
        return loads > 0 and model.space + kept < loads

    def _has_container(self, model: Model) -> bool:
        return model.space > 0 or bool(carriers(self.memory, self.briefing.carry))

    # --- the search ------------------------------------------------------------------------------

    def _simulate(self, root: Node, start: Model) -> None:
        """One simulation: down the tree by UCT, one new node, then the nearest move."""
        model = self._sampled(start)
        total = max(1, sum(model.lacking.values()))
        node, path, growing = root, [root], True
        for depth in range(LONGEST):
            moves = self._moves(model)
            if not moves:
                break
            near = {move: self._steps(model, move) for move in moves}
            if growing and depth < DEPTH:
                move = self._pick(node, moves, near)
                growing = move in node.children
                node = node.children.setdefault(move, Node())
                path.append(node)
            else:
                move = _default(moves, near)
            self._do(model, move)
        worth = model.worth / total
        self._worst, self._best = min(self._worst, worth), max(self._best, worth)
        for one in path:
            one.visits += 1
            one.total += worth

    def _pick(self, node: Node, moves: list[Move], near: dict[Move, float]) -> Move:
        fresh = [move for move in moves if move not in node.children]
        if fresh and len(node.children) <= 1 + node.visits**0.5:
            return _default(fresh, near)  # few children at first: the nearest are tried first
        known = [move for move in moves if move in node.children] or moves
        if known is moves:
            return _default(moves, near)
        log, span = math.log(node.visits + 1), self._best - self._worst

        def bound(move: Move) -> float:
            child = node.children[move]
            worth = (child.total / child.visits - self._worst) / span if span > 0.0 else 0.5
            return worth + EXPLORATION * math.sqrt(log / child.visits)

        return max(known, key=lambda move: (bound(move), move))


def _default(moves: list[Move], near: dict[Move, float]) -> Move:
    """The nearest move, things before places, and bringing when nothing is to be taken."""
    kinds = {"fetch": 0, "deliver": 1}
    return min(moves, key=lambda m: (kinds.get(m[0], 2), near[m], m))
