"""Where to go to answer an open question: to frontiers, or where the answer is likely."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import networkx as nx

from coterie_core.common_sense import HouseholdSense
from coterie_core.geometry import Vec3
from coterie_core.lexicon import load_lexicon
from coterie_core.observation import Observation, RoomView
from coterie_core.scene import SceneGraph, SceneObject
from coterie_core.skills import NavigateTo, Outcome, Skill, SkillResult
from openeqa_agent.answers import OpenReply
from openeqa_agent.ground import answer_from_map
from openeqa_agent.question import parse_open
from openeqa_agent.understood import OpenQuestion
from openeqa_agent.words import Thing

ExplorerKind = Literal["frontier", "question"]
_IMPOSSIBLE = (Outcome.UNREACHABLE, Outcome.UNKNOWN_TARGET, Outcome.UNSUPPORTED, Outcome.REFUSED)
_TRIES = 3
_ANYWHERE = 0.15  # how likely any room answers a question of which nothing is understood
_BEYOND = 0.5  # rooms that an unvisited place leads to, in rooms of which nothing was seen
_REST = 0.1  # share of its likelihood that a room keeps after all of it was seen
_WORTH = 0.08  # least chance for which ours looks around
_RARE = 0.15  # likelihood in a room below which a thing is believed only when seen more often
_WELL = 0.7  # quality from which a place counts as seen when all of a room shall be
_SERVES = 0.65  # least confidence in a thing that is to serve a use
_NEAR = 2.5  # [m] from which small things on furniture are seen
_CLOSER = 3.0  # [m] how near a thing a place lies from which it is seen better


@dataclass(frozen=True, slots=True)
class ExplorerOptions:
    """How an explorer decides.

    Attributes:
        seen: Quality (0..1) from which a place counts as seen from afar.
        sure: Least confidence with which the map's answer ends the exploration.
        looks: Observations of a thing before "nothing is on it" or a count is believed.
        look_cost: What a look around costs, as a way of so many metres.
        hops: Most places that are gone to; None: no limit.
    """

    seen: float = 0.5
    sure: float = 0.5
    looks: int = 4
    look_cost: float = 2.5
    hops: int | None = None


@dataclass(slots=True)
class _Spot:
    """A place as far as it is known: where [m], its room, how well it was seen from afar (0..1).

    `looked`: the robot looked around there; `chosen`: how often it was sent there.
    """

    position: Vec3
    room: RoomView | None = None
    seen: float = 0.0
    visits: int = 0
    looked: bool = False
    failures: int = 0
    chosen: int = 0


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What must be seen: kinds of things (any label of each will do), and the room, if told."""

    things: tuple[frozenset[str], ...]
    room: str = ""


class Explorer:
    """One robot's search for an answer: `observe`, then `next_skill`, until that returns None.

    "frontier" goes to the nearest place that is known and not seen, whatever the question (the
    baseline of OpenEQA, section III); where all were seen, to those where it never was, since ways
    may go on from there; until none is left. "question" goes where most is to be
    learned per metre: it knows from common sense which rooms hold what is asked about and what
    rooms lie side by side, and it ends as soon as the map answers with enough confidence.

    Args:
        question: The question, or its words.
        kind: "frontier" or "question".
        options: How it decides.
        sense: Common sense of rooms.

    Attributes:
        reason: Why the last choice was made.
        stopped: Why the exploration ended; "" while it goes on.
        path: Places that were visited, in order.
    """

    def __init__(
        self,
        question: OpenQuestion | str,
        kind: ExplorerKind = "question",
        options: ExplorerOptions | None = None,
        sense: HouseholdSense | None = None,
    ) -> None:
        if kind not in get_args(ExplorerKind):
            raise ValueError(f"kind {kind!r}: expected one of {', '.join(get_args(ExplorerKind))}")
        self.question = parse_open(question) if isinstance(question, str) else question
        self.kind: ExplorerKind = kind
        self.options = options or ExplorerOptions()
        self.reason = ""
        self.stopped = ""
        self.path: list[str] = []
        self._sense = sense or HouseholdSense()
        self._wanted = wanted(self.question)
        self._labels = frozenset().union(*self._wanted.things)
        self._missing: list[frozenset[str]] = list(self._wanted.things)
        asked = self.question
        self._doubts_absence = (asked.polar and bool(asked.anchors)) or asked.kind == "space"
        self._spots: dict[str, _Spot] = {}
        self._seen: dict[str, float] = {}
        self._ways: nx.Graph = nx.Graph()
        self._here = ""
        self._scene: SceneGraph | None = None
        self._hops = 0

    def observe(
        self, observation: Observation, scene: SceneGraph | None = None, *, around: bool = True
    ) -> None:
        """Take in what the robot perceives, and the map that was made of all it has seen.

        Args:
            observation: What it perceives.
            scene: The map of now; None: no other than before.
            around: Whether it looked around there, or straight ahead only.
        """
        here = observation.place
        spot = self._spots.setdefault(here, _Spot(observation.pose.position))
        spot.room = observation.room or spot.room
        spot.looked = spot.looked or around
        if not self.path or self.path[-1] != here:
            self.path.append(here)
            spot.visits += 1
        for place, quality in observation.seen.items():
            if place != here or around:
                self._seen[place] = max(self._seen.get(place, 0.0), quality)
        for view in observation.neighbours:
            other = self._spots.setdefault(view.id, _Spot(view.position))
            other.room = view.room or other.room
            self._ways.add_edge(here, view.id, length=max(view.distance, 0.01))
        for place, known in self._spots.items():
            known.seen = self._seen.get(place, 0.0)
        self._ways.add_node(here)
        self._here = here
        if scene is not None:
            self._scene = scene

    def look_here(self) -> bool:
        """Tell whether a look around is worth its cost where the robot stands.

        Frontier exploration looks at what was not seen well from elsewhere; ours where the room may
        show what is wanted, and where rooms beside it are not known yet.
        """
        spot = self._spots[self._here]
        if spot.looked:
            return False
        if self.kind == "frontier":
            return spot.seen < self.options.seen
        self._missing = self._not_found()
        around = (self._spots[place] for place in self._ways[self._here])
        if any(other.room is None and not other.visits for other in around):
            return True
        if self._must_be_seen(spot) or self._better_view(spot) is not None:
            return True
        own = self._chance(spot.room.type, spot.room.name) if spot.room else _ANYWHERE
        return own * (1.0 - spot.seen) >= _WORTH

    def skill_ended(self, skill: Skill, result: SkillResult) -> None:
        """Learn how a way ended; a place that cannot be reached is not tried again for ever."""
        if isinstance(skill, NavigateTo) and not result.ok and skill.place in self._spots:
            spot = self._spots[skill.place]
            spot.failures = _TRIES if result.outcome in _IMPOSSIBLE else spot.failures + 1

    def answer(self, scene: SceneGraph | None = None) -> OpenReply | None:
        """Return the map's answer if it is sure enough to stop for, else None.

        Args:
            scene: The map of now; None: that of the last observation.
        """
        if scene is not None:
            self._scene = scene
        if self._scene is None:
            return None
        reply = answer_from_map(self.question, self._scene)
        least = self.options.sure
        if self.question.kind == "used_for":
            least = max(least, _SERVES)  # something else may serve better
        if reply.abstains or reply.guessed or reply.confidence < least:
            return None
        sure = self._settled(reply, self._scene) and self._confirmed(reply, self._scene)
        return reply if sure else None

    async def next_skill(self) -> NavigateTo | None:
        """Return where to go next, or None when there is nothing more to find (`stopped`).

        Raises:
            RuntimeError: Called before the first observation.
        """
        if not self._here:
            raise RuntimeError("observe() must come before next_skill()")
        if self.kind == "question" and self.answer() is not None:
            self.stopped = "the map answers the question"
            return None
        if self.options.hops is not None and self._hops >= self.options.hops:
            self.stopped = f"limit of {self.options.hops} places"
            return None
        ways: dict[str, float] = nx.single_source_dijkstra_path_length(
            self._ways, self._here, weight="length"
        )
        place = self._frontier(ways) if self.kind == "frontier" else self._likeliest(ways)
        if not place:
            self.stopped = "everything that can be reached was seen"
            return None
        self._hops += 1
        self._spots[place].chosen += 1
        return NavigateTo(place=place)

    def concerns(self, labels: Iterable[str]) -> bool:
        """Tell whether labels that are in view are among what is looked for."""
        if not self._wanted.things:
            return True
        canonical = load_lexicon().canonical
        return any(canonical(label) in self._labels for label in labels)

    # -- choosing ------------------------------------------------------------------------------

    def _frontier(self, ways: dict[str, float]) -> str:
        """Return the nearest place that was not seen, else the nearest one not visited."""
        left = []
        for place, length in ways.items():
            spot = self._spots[place]
            if not spot.visits and spot.failures < _TRIES:
                left.append((spot.seen >= self.options.seen, length, place))
        if not left:
            return ""
        seen, length, place = min(left)
        what = "where ways may go on" if seen else "not seen yet"
        self.reason = f"{place} is the nearest place {what}, {length:.1f} m away"
        return place

    def _likeliest(self, ways: dict[str, float]) -> str:
        """Return the place with the best chance of an answer per metre."""
        best, chosen = 0.0, ""
        left = self._left_in_rooms()
        self._missing = self._not_found()
        for place, length in sorted(ways.items()):
            spot = self._spots[place]
            if spot.looked or max(spot.failures, spot.chosen) >= _TRIES or place == self._here:
                continue
            gain, why = self._gain(place, spot, left)
            rate = gain / (length + self.options.look_cost)
            if rate > best:
                best, chosen = rate, place
                self.reason = f"{place}, {length:.1f} m away: {why}"
        return chosen

    def _gain(self, place: str, spot: _Spot, left: dict[str, float]) -> tuple[float, str]:
        """Chance (0..) that standing at a place shows what is wanted, and why."""
        if self._must_be_seen(spot):
            return 2.0, "all of the room must be seen"
        closer = self._better_view(spot)
        if closer is not None:
            return 2.0, f"a better view of the {closer.label.top}"
        unseen = max(1.0 - spot.seen, 0.0)
        own = 0.0
        if spot.room is not None:
            own = self._chance(spot.room.type, spot.room.name) * left.get(spot.room.id, 1.0)
        if spot.visits:
            worth = own * unseen
            return (worth if worth >= _WORTH else 0.0), "a look around"
        new = self._chance_beyond(self._rooms_at(place))
        if spot.room is None:
            return new, "a room not seen yet"
        gain = own * unseen + _BEYOND * new * (0.5 + 0.5 * unseen)
        return gain, f"{spot.room.name} may show it ({own:.2f})"

    def _must_be_seen(self, spot: _Spot) -> bool:
        """Whether a place belongs to a room of which all must be seen: for counts, and for "no"."""
        question = self.question
        if question.kind != "how_many" and not (question.polar and not question.anchors):
            return False
        if spot.room is None or spot.looked or spot.seen >= _WELL:
            return False
        return self._is_room(spot.room.type, spot.room.name)

    def _better_view(self, spot: _Spot) -> SceneObject | None:
        """A thing asked about that was found, is too little known, and is near a place."""
        if self._scene is None:
            return None
        for names in self._wanted.things:
            for thing in self._found(names, self._scene):
                if thing.observations >= self.options.looks and (
                    not self._doubts_absence or self._well_seen(thing)
                ):
                    continue
                if math.dist(thing.box.center[:2], spot.position[:2]) <= _CLOSER:
                    return thing
        return None

    def _not_found(self) -> list[frozenset[str]]:
        scene = self._scene
        if scene is None:
            return list(self._wanted.things)
        found = [names for names in self._wanted.things if self._found(names, scene)]
        return [names for names in self._wanted.things if names not in found] or found

    def _chance(self, kind: str, name: str = "") -> float:
        """How likely a room of a type holds what is missing (0..1)."""
        if self._wanted.room:
            return 1.0 if self._is_room(kind, name) else 0.02
        if not self._missing:
            return _ANYWHERE
        return max(
            max(self._sense.likelihood(label, kind) for label in names) for names in self._missing
        )

    def _chance_beyond(self, beside: Iterable[str]) -> float:
        """The same of a room that was not seen, from the types of those next to it."""
        had = Counter(
            spot_room.type
            for spot_room in {s.room.id: s.room for s in self._spots.values() if s.room}.values()
        )
        types = self._sense.household.room_types
        chances = []
        for room in beside:
            share = self._sense.rooms_beside(room)
            total = chance = 0.0
            for kind, p in share.items():
                if had[kind] >= types[kind].per_house[1]:
                    continue
                total += p
                chance += p * self._chance(kind)
            chances.append(chance / total if total else 0.0)
        return max(chances, default=_ANYWHERE)

    def _rooms_at(self, place: str) -> list[str]:
        """Types of the rooms at a place, or at those it can be reached from."""
        spot = self._spots[place]
        if spot.room is not None:
            return [spot.room.type]
        rooms = (self._spots[k].room for k in self._ways[place])
        return sorted({room.type for room in rooms if room is not None}) or [""]

    def _left_in_rooms(self) -> dict[str, float]:
        """Room id -> share of it (0..1) that may still hide something."""
        rest: dict[str, list[float]] = {}
        for spot in self._spots.values():
            if spot.room is not None:
                rest.setdefault(spot.room.id, []).append(0.0 if spot.visits else 1.0 - spot.seen)
        return {room: max(sum(v) / len(v), _REST) for room, v in rest.items()}

    # -- being sure ----------------------------------------------------------------------------

    def _settled(self, reply: OpenReply, scene: SceneGraph) -> bool:
        """Whether looking further could not well change the answer.

        What was found is found; but that there is none, or no more, takes a look at all of the
        room, or at all of the thing on which it would be.
        """
        question = self.question
        if question.kind == "how_many":
            return self._room_seen()
        named = [names for thing in question.anchors if (names := names_of(thing))]
        if question.kind == "size":
            named = list(self._wanted.things)
        negative = question.polar and reply.text.lower().startswith("no")
        if not negative and question.kind not in ("space", "size"):
            return True
        if not named:
            return self._room_seen()
        return all(
            any(self._well_seen(thing) for thing in self._found(names, scene)) for names in named
        )

    def _confirmed(self, reply: OpenReply, scene: SceneGraph) -> bool:
        """Whether what the answer rests on was seen often enough not to be a detector's mistake.

        A refrigerator in a bedroom takes more looks than one in a kitchen; so do colours and
        states, which one look gets wrong more often than labels.
        """
        asked = self.question.kind
        for id_ in reply.objects[:2]:
            thing = scene.objects.get(id_)
            if thing is None:
                continue
            room = scene.rooms.get(thing.room)
            label = thing.label.top
            likely = self._sense.likelihood(label, room.type) if room is not None else 0.0
            looks = self.options.looks
            doubtful = asked in ("color", "state", "attribute")
            if likely >= _RARE and not doubtful:
                looks -= 1
            if doubtful and thing.observations < 3:
                return False
            if thing.label.probability(label) < 0.5:
                return False
            if thing.observations < looks and not self._seen_closely(thing):
                return False
        return True

    def _seen_closely(self, thing: SceneObject) -> bool:
        """Whether the robot has looked around near a thing, wherever it could."""
        near = [
            spot.looked
            for spot in self._spots.values()
            if spot.failures < _TRIES
            and math.dist(thing.box.center[:2], spot.position[:2]) <= _CLOSER
        ]
        return bool(near) and all(near)

    def _well_seen(self, thing: SceneObject) -> bool:
        """Whether small things on or about a thing would have been seen: often, and from near."""
        if self._seen_closely(thing):
            return True
        return thing.observations >= self.options.looks and any(
            spot.looked and math.dist(thing.box.center[:2], spot.position[:2]) <= _NEAR
            for spot in self._spots.values()
        )

    def _room_seen(self) -> bool:
        """Whether the room that is asked about was entered, and all known of it was seen."""
        inside = [
            spot
            for spot in self._spots.values()
            if spot.room is not None and self._is_room(spot.room.type, spot.room.name)
        ]
        if not self._wanted.room or not inside:
            return False
        return any(spot.visits for spot in inside) and all(
            spot.looked or spot.seen >= _WELL or spot.failures >= _TRIES for spot in inside
        )

    def _is_room(self, kind: str, name: str) -> bool:
        room = self._wanted.room.lower()
        if name and room == name.lower():
            return True
        if any(c.isdigit() for c in room) and name:
            return False
        return bool(room) and self._sense.household.room_type(room) == kind

    def _found(self, names: frozenset[str], scene: SceneGraph) -> list[SceneObject]:
        """Things of the map by these names, in the room that is asked about if one is."""
        lexicon = load_lexicon()
        found = []
        for thing in scene.objects.values():
            if lexicon.canonical(thing.label.top) not in names:
                continue
            room = scene.rooms.get(thing.room)
            if self._wanted.room and room and not self._is_room(room.type, room.name):
                continue
            found.append(thing)
        return found


def names_of(thing: Thing) -> frozenset[str]:
    """Labels that a thing of a question may have; empty for any thing."""
    return frozenset() if thing.generic else load_lexicon().members(thing.name)


def wanted(question: OpenQuestion) -> _Wanted:
    """Return what must be seen to answer: what things stand to comes first, then they themselves.

    "What is on the desk?" takes a look at the desk; "what can I sit on?" at anything that serves.
    """
    things = [question.target, *question.others]
    around = [anchor for thing in things for anchor in thing.anchors]
    named = [names for thing in (*around, *things) if (names := names_of(thing))]
    if question.use:
        lexicon = load_lexicon()
        serving = {
            label
            for _, use in lexicon.uses_in(question.use)[:1]
            for label, grade in lexicon.spread(lexicon.uses[use].things).items()
            if grade >= 0.7
        }
        if serving:
            named = [frozenset(serving)]
    rooms = [thing.room for thing in (*things, *around) if thing.room]
    return _Wanted(tuple(dict.fromkeys(named)), rooms[0] if rooms else "")
