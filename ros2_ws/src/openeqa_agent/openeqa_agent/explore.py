"""Where to go to answer an open question: to frontiers, or where the answer is likely."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from coterie_core.geometry import Vec3
from coterie_core.observation import Observation
from coterie_core.skills import NavigateTo, Skill, SkillResult
from coterie_requests.common_sense import HouseholdSense
from coterie_requests.lexicon import load_lexicon
from coterie_world.coverage import SEEN_WELL_QUALITY
from coterie_world.scene import SceneGraph, SceneObject
from openeqa_agent.ground import answer_from_map
from openeqa_agent.places import TRIES, KnownPlaces, Spot, Wanted
from openeqa_agent.reply import OpenReply
from openeqa_agent.understood import OpenQuestion, serves

ExplorerKind = Literal["frontier", "question"]
_ANYWHERE = 0.15  # how likely any room answers a question of which nothing is understood
_BEYOND = 0.5  # rooms that an unvisited place leads to, in rooms of which nothing was seen
_WORTH = 0.08  # least chance for which ours looks around
_RARE = 0.15  # likelihood in a room below which a thing is believed only when seen more often
_SERVES = 0.65  # least confidence in a thing that is to serve a use


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


class Explorer:
    """One robot's search for an answer: `observe`, then `next_skill`, until that returns None.

    "frontier" goes to the nearest place that is known and not seen, whatever the question (the
    baseline of OpenEQA, section III); where all were seen, to those where it never was, since ways
    may go on from there; until none is left. "question" goes where most is to be
    learned per metre: it knows from common sense which rooms hold what is asked about and what
    rooms lie side by side, and it ends as soon as the map answers with enough confidence.

    Args:
        question: The question.
        kind: "frontier" or "question".
        options: How it decides.

    Attributes:
        reason: Why the last choice was made.
        stopped: Why the exploration ended; "" while it goes on.
    """

    def __init__(
        self,
        question: OpenQuestion,
        kind: ExplorerKind = "question",
        options: ExplorerOptions | None = None,
    ) -> None:
        if kind not in get_args(ExplorerKind):
            raise ValueError(f"kind {kind!r}: expected one of {', '.join(get_args(ExplorerKind))}")
        self.question = question
        self.kind: ExplorerKind = kind
        self.options = options or ExplorerOptions()
        self.reason = ""
        self.stopped = ""
        self._sense = HouseholdSense()
        self._wanted = Wanted.of(self.question)
        self._labels = frozenset().union(*self._wanted.things)
        self._missing: list[frozenset[str]] = list(self._wanted.things)
        self._doubts_absence = "space" in question.acts or (
            question.polar and bool(self._wanted.anchors)
        )
        self._places = KnownPlaces()
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
        self._places.observe(observation, around)
        if scene is not None:
            self._scene = scene

    def look_here(self) -> bool:
        """Tell whether a look around is worth its cost where the robot stands.

        Frontier exploration looks at what was not seen well from elsewhere; ours where the room may
        show what is wanted, and where rooms beside it are not known yet.
        """
        spot = self._places.spots[self._places.here]
        if spot.looked:
            return False
        if self.kind == "frontier":
            return spot.seen < self.options.seen
        self._missing = self._wanted.missing(self._scene)
        if any(other.room is None and not other.visits for other in self._places.around()):
            return True
        if self._must_be_seen(spot) or self._better_view(spot) is not None:
            return True
        own = self._chance(spot.room.type, spot.room.name) if spot.room else _ANYWHERE
        return own * (1.0 - spot.seen) >= _WORTH

    def way(self, place: str) -> list[Vec3]:
        """Return the known way from where the robot is to a place, both included [m]."""
        return self._places.way(place)

    def skill_ended(self, skill: Skill, result: SkillResult) -> None:
        """Learn how a way ended; a place that cannot be reached is not tried again for ever."""
        if isinstance(skill, NavigateTo) and not result.ok:
            self._places.failed(skill.place, result.outcome)

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
        if any(map(serves, self.question.steps)):
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
        if not self._places.here:
            raise RuntimeError("observe() must come before next_skill()")
        if self.kind == "question" and self.answer() is not None:
            self.stopped = "the map answers the question"
            return None
        if self.options.hops is not None and self._hops >= self.options.hops:
            self.stopped = f"limit of {self.options.hops} places"
            return None
        ways = self._places.lengths()
        place = self._frontier(ways) if self.kind == "frontier" else self._likeliest(ways)
        if not place:
            self.stopped = "everything that can be reached was seen"
            return None
        self._hops += 1
        self._places.spots[place].chosen += 1
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
            spot = self._places.spots[place]
            if not spot.visits and spot.failures < TRIES:
                left.append((spot.seen >= self.options.seen, length, place))
        if not left:
            return ""
        seen, length, place = min(left)
        what = "where ways may go on" if seen else "not seen yet"
        self.reason = f"the nearest place {what}, {length:.1f} m away"
        return place

    def _likeliest(self, ways: dict[str, float]) -> str:
        """Return the place with the best chance of an answer per metre."""
        best, chosen = 0.0, ""
        left = self._places.left_in_rooms()
        self._missing = self._wanted.missing(self._scene)
        for place, length in sorted(ways.items()):
            spot = self._places.spots[place]
            if (
                spot.looked
                or max(spot.failures, spot.chosen) >= TRIES
                or place == self._places.here
            ):
                continue
            gain, why = self._gain(place, spot, left)
            rate = gain / (length + self.options.look_cost)
            if rate > best:
                best, chosen = rate, place
                self.reason = f"{length:.1f} m away: {why}"
        return chosen

    def _gain(self, place: str, spot: Spot, left: dict[str, float]) -> tuple[float, str]:
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
        new = self._chance_beyond(self._places.rooms_at(place))
        if spot.room is None:
            return new, "a room not seen yet"
        gain = own * unseen + _BEYOND * new * (0.5 + 0.5 * unseen)
        return gain, f"{spot.room.name} may show it ({own:.2f})"

    def _must_be_seen(self, spot: Spot) -> bool:
        """Whether a place belongs to a room of which all must be seen: for counts, and for "no"."""
        absence = self.question.polar and not self._wanted.anchors
        if "how_many" not in self.question.acts and not absence:
            return False
        if spot.room is None or spot.looked or spot.seen >= SEEN_WELL_QUALITY:
            return False
        return self._wanted.is_room(spot.room.type, spot.room.name)

    def _better_view(self, spot: Spot) -> SceneObject | None:
        """A thing asked about that was found, is too little known, and is near a place."""
        if self._scene is None:
            return None
        for names in self._wanted.things:
            for thing in self._wanted.found(names, self._scene):
                if thing.observations >= self.options.looks and (
                    not self._doubts_absence or self._places.well_seen(thing, self.options.looks)
                ):
                    continue
                if spot.near(thing):
                    return thing
        return None

    def _chance(self, kind: str, name: str = "") -> float:
        """How likely a room of a type holds what is missing (0..1)."""
        if self._wanted.room:
            return 1.0 if self._wanted.is_room(kind, name) else 0.02
        if not self._missing:
            return _ANYWHERE
        return max(
            max(self._sense.likelihood(label, kind) for label in names) for names in self._missing
        )

    def _chance_beyond(self, beside: Iterable[str]) -> float:
        """The same of a room that was not seen, from the types of those next to it."""
        had = self._places.room_types()
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

    # -- being sure ----------------------------------------------------------------------------

    def _settled(self, reply: OpenReply, scene: SceneGraph) -> bool:
        """Whether looking further could not well change the answer.

        What was found is found; but that there is none, or no more, takes a look at all of the
        room, or at all of the thing on which it would be.
        """
        acts = self.question.acts
        if "how_many" in acts:
            return self._places.room_seen(self._wanted)
        named = self._wanted.things if "size" in acts else self._wanted.anchors
        negative = self.question.polar and reply.text.lower().startswith("no")
        if not negative and not acts & {"space", "size"}:
            return True
        if not named:
            return self._places.room_seen(self._wanted)
        return all(
            any(
                self._places.well_seen(thing, self.options.looks)
                for thing in self._wanted.found(names, scene)
            )
            for names in named
        )

    def _confirmed(self, reply: OpenReply, scene: SceneGraph) -> bool:
        """Whether what the answer rests on was seen often enough not to be a detector's mistake.

        A refrigerator in a bedroom takes more looks than one in a kitchen; so do colours and
        states, which one look gets wrong more often than labels.
        """
        doubtful = bool(self.question.acts & {"color", "state", "attribute"})
        for id_ in reply.objects[:2]:
            thing = scene.objects.get(id_)
            if thing is None:
                continue
            room = scene.rooms.get(thing.room)
            label = thing.label.top
            likely = self._sense.likelihood(label, room.type) if room is not None else 0.0
            looks = self.options.looks
            if likely >= _RARE and not doubtful:
                looks -= 1
            if doubtful and thing.observations < 3:
                return False
            if thing.label.probability(label) < 0.5:
                return False
            if thing.observations < looks and not self._places.seen_closely(thing):
                return False
        return True
