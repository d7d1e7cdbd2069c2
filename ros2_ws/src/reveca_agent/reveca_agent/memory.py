"""An agent's memory in its six parts: goal, messages, scene, own history, collaborators, skills."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from itertools import islice

from pydantic import TypeAdapter, ValidationError

from coterie_core.cooperation import Goal, Spot, SubGoal, Thing
from coterie_core.plain_data import schema_problems
from reveca_agent.collaborators import Collaborator
from reveca_agent.entries import Claim, Deed, Entry, Heard, MemoryFault, tokens_of, trim
from reveca_agent.settings import Settings
from reveca_agent.skill_book import SKILLS, Skill

NOWHERE = Spot("", (0.0, 0.0, 0.0))
MESSAGES = 6
"""Most messages that a prompt tells of."""
TRY_AGAIN = 300
"""Steps after which one tries again to get to what one could not get to."""
SOON = 30
"""The same where another robot was in the way."""


@dataclass(slots=True)
class Memory:
    """What an agent knows. All histories are bounded by `settings`.

    The six parts of the paper are `goal`, `heard`, `scene` (with what it says of rooms and
    containers: `rooms`, `searched`, `placed`), `deeds` with `spot` and `hands`, `collaborators`,
    and `skills`.
    """

    settings: Settings
    name: str
    goal: Goal
    heard: deque[Heard] = field(default_factory=deque)
    scene: dict[str, Entry] = field(default_factory=dict)
    deeds: deque[Deed] = field(default_factory=deque)
    collaborators: dict[str, Collaborator] = field(default_factory=dict)
    skills: dict[str, Skill] = field(default_factory=lambda: dict(SKILLS))
    rooms: dict[str, int] = field(default_factory=dict)
    """Rooms seen: id -> step of the last look."""
    searched: dict[str, str] = field(default_factory=dict)
    """Containers and rooms known to hold nothing more of use: id -> who searched ("" oneself)."""
    looked: dict[str, str] = field(default_factory=dict)
    """Rooms that others saw and left something of use in, or containers closed: id -> who."""
    placed: dict[str, Claim] = field(default_factory=dict)
    spot: Spot = NOWHERE
    hands: tuple[str, ...] = ()
    step: int = 0
    gone: dict[str, int] = field(default_factory=dict)
    """Things that the goal needs and that somebody must have taken: id -> step noticed."""
    no_way: dict[str, int] = field(default_factory=dict)
    """Rooms and things that one could not get to: id -> step of the last try."""
    targets: dict[str, dict[str, None]] = field(default_factory=dict)
    """Known things by which a sub-goal's target is meant: label or id -> ids."""
    _parents: dict[str, dict[str, None]] = field(default_factory=dict)
    closed: dict[str, None] = field(default_factory=dict)
    """Containers that were closed when last seen."""
    opens: bool = True
    """Whether the own hand can open containers, as far as was tried."""
    _levels: list[dict[str, None]] = field(default_factory=list)
    _rooms: dict[str, dict[str, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.heard = deque(self.heard, maxlen=self.settings.notes)
        self.deeds = deque(self.deeds, maxlen=self.settings.notes)
        self._levels = [{} for _ in range(self.settings.levels)]
        for entry in self.scene.values():
            self._index(entry)
            self._note_target(entry.thing)

    # --- scene observation history ---------------------------------------------------------------

    def put(self, entry: Entry) -> None:
        """Store a thing, newest last within its level; the least relevant oldest makes room."""
        id_ = entry.thing.id
        before = self.scene.get(id_)
        if before is not None:
            self._levels[before.level].pop(id_, None)
            if before.thing.spot.room != entry.thing.spot.room:
                self._rooms[before.thing.spot.room].pop(id_, None)
            if before.thing.parent != entry.thing.parent:
                self._leave(before.thing.parent, id_)
        self.scene[id_] = entry
        self._index(entry)
        if not entry.missing:
            self.gone.pop(id_, None)
        if before is None or before.thing.label != entry.thing.label:
            self._note_target(entry.thing)
        if before is None and len(self.scene) > self.settings.items:
            self._forget_one()

    def _index(self, entry: Entry) -> None:
        thing = entry.thing
        self._levels[min(entry.level, self.settings.levels - 1)][thing.id] = None
        self._rooms.setdefault(thing.spot.room, {})[thing.id] = None
        if thing.parent:
            self._parents.setdefault(thing.parent, {})[thing.id] = None
        if thing.is_open is False:
            self.closed[thing.id] = None
        else:
            self.closed.pop(thing.id, None)

    def _note_target(self, thing: Thing) -> None:
        """Note whether things belong at this one: from near it may be something else."""
        for found in self.targets.values():
            found.pop(thing.id, None)
        for name in (thing.label, thing.id):
            if name in self.goal.targets:
                self.targets.setdefault(name, {})[thing.id] = None

    def rate(self, id_: str, level: int) -> None:
        """Set a thing's relevance."""
        entry = self.scene.get(id_)
        if entry is None or entry.level == level:
            return
        self._levels[entry.level].pop(id_, None)
        entry.level = level
        self._levels[level][id_] = None

    def miss(self, id_: str, step: int) -> None:
        """Note that a thing is not where it was believed to be."""
        entry = self.scene.get(id_)
        if entry is None or entry.missing:
            return
        entry.missing, entry.step = True, step
        self.placed.pop(id_, None)
        if entry.thing.kind == "item" and entry.thing.label in self.goal.items:
            self.gone[id_] = step

    def block(self, id_: str, passing: bool = False) -> None:
        """Note that one could not get to a room or thing; it is tried again much later.

        What was in the way is soon gone where it is `passing`.
        """
        self.no_way.pop(id_, None)
        self.no_way[id_] = self.step - (TRY_AGAIN - SOON if passing else 0)
        trim(self.no_way, self.settings.notes)

    def blocked(self, id_: str) -> bool:
        """Tell whether one could not get to a room or thing lately."""
        last = self.no_way.get(id_)
        return last is not None and self.step - last < TRY_AGAIN

    def drop(self, id_: str) -> None:
        """Forget a thing."""
        entry = self.scene.pop(id_, None)
        if entry is not None:
            self._levels[entry.level].pop(id_, None)
            self._rooms[entry.thing.spot.room].pop(id_, None)
            self._leave(entry.thing.parent, id_)
            self.placed.pop(id_, None)
            self.closed.pop(id_, None)
            self.gone.pop(id_, None)
            for found in self.targets.values():
                found.pop(id_, None)

    def _leave(self, parent: str, id_: str) -> None:
        inside = self._parents.get(parent)
        if inside is not None:
            inside.pop(id_, None)
            if not inside:
                del self._parents[parent]

    def search(self, place: str, by: str = "") -> None:
        """Note that a room or container was searched; one's own word stands against others'."""
        if by and self.searched.get(place) == "":
            return
        self.searched[place] = by
        if len(self.searched) > self.settings.items:
            # Hearsay goes first, the oldest of it; then what one did oneself.
            told = (name for name, who in self.searched.items() if who)
            del self.searched[next(told, next(iter(self.searched)))]

    def look(self, room: str, by: str) -> None:
        """Note that a collaborator saw a room and left containers closed in it."""
        self.looked[room] = by
        trim(self.looked, self.settings.items)

    def unopened(self, room: str) -> list[str]:
        """Return containers of a room that are closed and into which one has not looked."""
        return [
            id_
            for id_ in self.in_room(room)
            if id_ in self.closed and self.searched.get(id_) != "" and not self.scene[id_].missing
        ]

    def useful_in(self, place: str) -> bool:
        """Tell whether something that the goal lacks is known in a room or container."""
        ids = self.in_room(place) if place in self.rooms else self.inside(place)
        return any(
            entry.thing.label in self.goal.items and entry.thing.relation != "held"
            for entry in (self.scene[id_] for id_ in ids if id_ not in self.placed)
            if not entry.missing
        )

    def claim(self, item: str, claim: Claim) -> None:
        """Note that a thing is where it belongs, if it is one that is remembered."""
        if item in self.scene:
            self.placed[item] = claim

    def _forget_one(self) -> None:
        for level in self._levels:
            for id_ in level:
                if id_ not in self.hands:
                    self.drop(id_)
                    return

    def in_room(self, room: str) -> Iterable[str]:
        """Ids of things believed to be in a room."""
        return self._rooms.get(room, {})

    def inside(self, owner: str) -> Iterable[str]:
        """Ids of things believed to lie on or in a thing."""
        return self._parents.get(owner, {})

    def by_relevance(self) -> Iterator[Entry]:
        """Entries, most relevant first, newest first within a level."""
        for level in reversed(self._levels):
            for id_ in reversed(level):
                yield self.scene[id_]

    def top(self, count: int) -> list[Entry]:
        """Return the top of the relevance order; takes the same time however much is known."""
        return list(islice(self.by_relevance(), count))

    def shown(self) -> list[Entry]:
        """Return what reaches a decision: the top of the relevance order, within its bounds."""
        settings = self.settings
        if not settings.tokens:
            return self.top(settings.shown)
        out, left = [], settings.tokens
        for entry in islice(self.by_relevance(), settings.shown):
            left -= tokens_of(entry.thing)
            if left < 0:
                break
            out.append(entry)
        return out

    def dialogue(self, most: int = MESSAGES) -> list[str]:
        """Return the most relevant messages of late, in the order in which they were heard.

        Without ratings these are the latest.
        """
        late = list(self.heard)[-5 * most :]
        if self.settings.relevance:
            order = sorted(range(len(late)), key=lambda k: (-late[k].level, -k))
            late = [late[k] for k in sorted(order[:most]) if late[k].level > 0]
        return [f"{one.step} {one.note.sender}: {one.note.text}" for one in late[-most:]]

    def seen_at(self, entry: Entry) -> int:
        """Return the step at which a thing was last known to be where it is, by own eyes or words.

        What stays in view without a change is not stored again at every step; it was seen when
        its room was.
        """
        owner = self.owner(entry.thing)
        hidden = owner is not None and owner.is_open is False
        if hidden or entry.missing or entry.by or entry.thing.relation == "held":
            return entry.step
        return max(entry.step, self.rooms.get(entry.thing.spot.room, -1))

    # --- goal ------------------------------------------------------------------------------------

    def owner(self, thing: Thing) -> Thing | None:
        """Return what a thing lies on or in, if known."""
        entry = self.scene.get(thing.parent)
        return None if entry is None else entry.thing

    def serves(self, thing: Thing) -> SubGoal | None:
        """Return the sub-goal that a thing fulfils where it lies, or None."""
        if thing.relation not in ("on", "in"):
            return None
        owner = self.owner(thing)
        for goal in self.goal.of_item(thing.label):
            if goal.relation != thing.relation:
                continue
            if goal.target == thing.parent or (owner is not None and owner.label == goal.target):
                return goal
        return None

    def needs(self) -> dict[SubGoal, int]:
        """Return how many things each sub-goal still lacks, by what is known to be in place."""
        have: dict[str, int] = {}
        for claim in self.placed.values():
            have[claim.key] = have.get(claim.key, 0) + 1
        return {goal: max(0, goal.count - have.get(goal.key, 0)) for goal in self.goal.subgoals}

    # --- saving ----------------------------------------------------------------------------------

    def save(self) -> str:
        """Return all that is remembered as JSON; the skill book is code."""
        parts = {one.name: getattr(self, one.name) for one in fields(_Saved)}
        parts["scene"] = [self.scene[id_] for level in self._levels for id_ in level]
        return _SAVED.dump_json(_Saved(**parts)).decode()

    @staticmethod
    def restore(text: str) -> Memory:
        """Read a memory that `save` wrote.

        Raises:
            MemoryFault: Not such a text; names the field.
        """
        try:
            saved = _SAVED.validate_json(text)
        except ValidationError as error:
            raise MemoryFault(f"saved memory: {schema_problems(error, 'text')}") from None
        for entry in saved.scene:
            entry.level = min(entry.level, saved.settings.levels - 1)
        parts = {one.name: getattr(saved, one.name) for one in fields(_Saved)}
        return Memory(**parts | {"scene": {entry.thing.id: entry for entry in saved.scene}})


@dataclass(slots=True)
class _Saved:
    settings: Settings
    name: str
    goal: Goal
    heard: deque[Heard]
    scene: list[Entry]
    deeds: deque[Deed]
    collaborators: dict[str, Collaborator]
    rooms: dict[str, int]
    searched: dict[str, str]
    looked: dict[str, str]
    placed: dict[str, Claim]
    gone: dict[str, int]
    spot: Spot
    hands: tuple[str, ...]
    step: int


_SAVED = TypeAdapter(_Saved)
