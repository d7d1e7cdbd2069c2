"""The communication module: what is said on the four occasions, and what is made of what is heard.

Messages are data: their facts are stored with who said them, own sight wins over them, and an
answer counts only if it was asked for.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from coterie_core.cooperation import (
    Briefing,
    Facts,
    Looked,
    Note,
    NoteKind,
    Sighting,
    Spot,
    Thing,
    Vocabulary,
    Whereabouts,
    compose,
    understand,
)
from reveca_agent.collaborators import Collaborator, Trace
from reveca_agent.entries import Claim, Entry, Heard, trim
from reveca_agent.memory import Memory
from reveca_agent.plans import Plan

SIGHTINGS = 8
"""Most things told in one message."""
DUTIES = 8
"""Most answers owed at a time; more questions than that at once are not answered."""
_REPEATS = 500


class Communicator:
    """Writes and reads messages for one agent."""

    def __init__(self, memory: Memory, briefing: Briefing) -> None:
        self.memory, self.briefing = memory, briefing
        self.duties: deque[Note] = deque(maxlen=DUTIES)
        """Questions to be answered."""
        self.asked: dict[str, str] = {}
        """Questions asked and not answered: id of the thing -> whom."""
        self.new: list[Note] = []
        """Messages whose relevance is not rated yet."""
        self.things: list[Thing] = []
        """Things that one was told of, not rated yet."""
        self.surprised = False
        self.aim = ""
        """What one makes for oneself: who says the same makes one think again."""
        self._ids: dict[str, None] = {}
        self._count = 0
        self._told: dict[str, None] = {}
        self._aside: dict[str, None] = {}
        self._words = Vocabulary(self._thing_named, self._room_named)

    # --- speaking --------------------------------------------------------------------------------

    def start(self, plan: Plan | None) -> Note:
        """Simulation initiation: where one is, what is around, what one makes for."""
        return self._note("start", Facts(me=self._me(), heading=_aim(plan), seen=self._seen()))

    def ask(self, whom: str, plan: Plan) -> Note:
        """Validation request: did you take this, or search this? ("" asks everybody)."""
        self.asked[plan.target] = whom
        trim(self.asked, _REPEATS)
        if plan.kind == "fetch":
            thing = self.memory.scene[plan.target].thing
            facts = Facts(item=thing.id, label=thing.label, place=thing.parent)
        else:
            facts = Facts(item=plan.target, place=plan.target)
        return self._note("ask", facts, (whom,) if whom else ())

    def reply(self, plan: Plan | None) -> Note:
        """Response to the oldest validation request: one's own history with the thing."""
        question = self.duties.popleft()
        asked = question.facts or Facts()
        item = asked.item
        search = bool(item) and asked.place == item
        answer, place = self._searched_it(item) if search else self._history(item)
        facts = Facts(
            me=self._me(),
            heading=_aim(plan),
            item=item,
            label=asked.label,
            place=place,
            answer=answer,  # type: ignore[arg-type]
            reply_to=question.id,
            searched=self._searched(),
            looked=self._looked(),
            seen=self._seen(),
        )
        return self._note("reply", facts, (question.sender,))

    def done(self, items: Iterable[str], plan: Plan | None) -> Note:
        """Sub-goal achievement: what is where it belongs, where one is, what is left to fetch."""
        brought = [self.memory.scene[id_].thing for id_ in items]
        first, rest = brought[0], brought[1:]
        goal = self.memory.serves(first)
        facts = Facts(
            me=self._me(),
            heading=_aim(plan),
            item=first.id,
            label=first.label,
            place=first.parent,
            answer="placed",
            subgoal=goal.key if goal else "",
            seen=(*(_sighting(thing, self.memory.name) for thing in rest), *self._seen()),
            searched=self._searched(),
            looked=self._looked(),
        )
        return self._note("done", facts)

    def release_item(self, item: str) -> Note:
        """What one could not bring where it belongs is free for others to fetch: where it is."""
        self._told.pop(item, None)
        self._aside[item] = None
        trim(self._aside, _REPEATS)
        return self._note("start", Facts(me=self._me(), seen=self._seen()))

    def _note(self, kind: NoteKind, facts: Facts, to: tuple[str, ...] = ()) -> Note:
        text, said = compose(kind, facts, self.briefing.limit)
        rooms = (f"looked {one.room}" for one in said.looked)
        self._told |= dict.fromkeys((*(one.id for one in said.seen), *said.searched, *rooms))
        trim(self._told, self.memory.settings.items)
        self._count += 1
        name = self.memory.name
        return Note(f"{name}-{self._count}", name, kind, text, said, to, self.memory.step)

    def _me(self) -> Whereabouts:
        memory = self.memory
        return Whereabouts(memory.spot.room, memory.spot.position, memory.hands)

    def _seen(self) -> tuple[Sighting, ...]:
        """The most relevant things that were not told yet."""
        memory = self.memory
        out: list[Sighting] = []
        least = memory.settings.levels - 1 if memory.settings.relevance else 0
        for entry in memory.shown():
            thing = entry.thing
            if entry.level < least or len(out) >= SIGHTINGS:
                break
            if entry.by or entry.missing or thing.id in self._told or thing.relation == "held":
                continue
            if thing.kind == "item" and thing.id in memory.placed:
                continue
            out.append(_sighting(thing, memory.name))
        return tuple(out)

    def _searched(self) -> tuple[str, ...]:
        """Places in which nothing of use is left and that one did not tell of, rooms first."""
        return tuple(id_ for id_ in searched(self.memory) if id_ not in self._told)[:SIGHTINGS]

    def _looked(self) -> tuple[Looked, ...]:
        """Rooms that one saw, where something is left, and that one did not tell of yet."""
        found = looked(self.memory)
        return tuple(one for one in found if f"looked {one.room}" not in self._told)[:SIGHTINGS]

    def _history(self, item: str) -> tuple[str, str]:
        memory = self.memory
        if item in memory.hands:
            return "taken", ""
        claim = memory.placed.get(item)
        if claim is not None and not claim.by:
            return "placed", claim.target
        fetched = any(
            deed.kind == "fetch" and deed.target == item and deed.outcome == "done"
            for deed in memory.deeds
        )
        if fetched and item not in self._aside:
            return "taken", ""
        return ("untouched" if item else "unknown"), ""

    def _searched_it(self, place: str) -> tuple[str, str]:
        memory = self.memory
        if memory.searched.get(place) == "":
            return "searched", ""
        if place in memory.rooms:
            return ("looked" if memory.unopened(place) else "searched"), ""
        return "untouched", ""

    # --- hearing ---------------------------------------------------------------------------------

    def hear(self, note: Note) -> None:
        """Take a message in: drop repeats and own echoes, read it, store what it says."""
        memory = self.memory
        if note.sender == memory.name or note.sender not in self.briefing.team:
            return
        if note.id in self._ids or not note.for_(memory.name):
            return
        self._ids[note.id] = None
        trim(self._ids, _REPEATS)
        note = understand(note, self._words)
        memory.heard.append(Heard(note, memory.step, memory.settings.levels - 1))
        self.new.append(note)
        del self.new[: -memory.settings.notes]
        facts = note.facts
        if facts is None:
            if "?" in note.text:  # a question that one cannot read is at least answered
                self.duties.append(note)
            return
        step = min(note.step, memory.step)
        if note.kind == "ask" and facts.item:
            self.duties.append(note)
        if not memory.settings.collaborators:
            # What others do is left out; what they saw of the scene is not.
            self._sightings(note.sender, facts, step)
            return
        mate = memory.collaborators.setdefault(note.sender, Collaborator(note.sender))
        self._whereabouts(mate, facts, step, note.kind)
        self._sightings(note.sender, facts, step)
        if note.kind == "reply" and self.asked.get(facts.item) in ("", note.sender):
            self._answered(mate, facts, step)
        elif note.kind == "done" and facts.item:
            self._brought(mate, facts, step)

    def _whereabouts(self, mate: Collaborator, facts: Facts, step: int, kind: NoteKind) -> None:
        memory = self.memory
        if facts.me is not None and facts.me.room in self.briefing.ways.rooms:
            position = facts.me.position
            if not all(math.isfinite(value) for value in position):
                position = self.briefing.ways.rooms[facts.me.room].center
            mate.met(Trace(step, Spot(facts.me.room, position), facts.me.hands, False))
            for id_ in facts.me.hands:
                self._taken(mate, id_, step)
        if facts.heading:
            mate.heads_for(facts.heading, self._where(facts.heading), step)
            if kind != "reply" or facts.heading == self.aim:
                self.surprised = True
        elif facts.me is not None:
            mate.heads_for("", None, step)
        for place in facts.searched:
            memory.search(place, mate.name)
        for one in facts.looked:
            if one.closed:
                memory.look(one.room, mate.name)
            else:  # all that is there was seen, and nothing can hide there
                memory.search(one.room, mate.name)

    def _where(self, name: str) -> Spot | None:
        room = self.briefing.ways.rooms.get(name)
        if room is not None:
            return room.spot
        entry = self.memory.scene.get(name)
        return None if entry is None else entry.thing.spot

    def _sightings(self, sender: str, facts: Facts, step: int) -> None:
        memory = self.memory
        for one in facts.seen[: 4 * SIGHTINGS]:
            before = memory.scene.get(one.id)
            room = self.briefing.ways.rooms.get(one.room)
            if room is None or (before is not None and memory.seen_at(before) >= step):
                continue  # own or newer information stands
            if before is not None and before.thing.kind != "item":
                continue  # furniture stays where it is; of its state one's own eyes tell
            owner = memory.scene.get(one.parent)
            spot = owner.thing.spot if owner is not None else room.spot
            if one.position is not None and all(map(math.isfinite, one.position)):
                spot = Spot(room.id, one.position)
            if before is not None:
                thing = replace(before.thing, spot=spot, parent=one.parent, relation=one.relation)
                level = before.level
            else:
                known = one.label in memory.goal.items
                thing = Thing(
                    one.id,
                    one.label,
                    "item" if known or one.parent else "surface",
                    spot,
                    one.parent,
                    one.relation,
                    None,
                    known or bool(one.parent),
                )
                level = 0
                self._tell_of(thing)
            memory.put(Entry(thing, step, sender, level))
            goal = memory.serves(thing)
            if goal is not None:
                memory.claim(thing.id, Claim(thing.parent, goal.key, step, sender))
            self.surprised = self.surprised or one.label in memory.goal.items

    def _tell_of(self, thing: Thing) -> None:
        self.things.append(thing)
        del self.things[: -self.memory.settings.items]

    def _answered(self, mate: Collaborator, facts: Facts, step: int) -> None:
        if self.asked[facts.item]:
            del self.asked[facts.item]
        if facts.answer == "searched":
            self.memory.search(facts.item, mate.name)
            self.surprised = True
        elif facts.answer == "looked":
            self.memory.look(facts.item, mate.name)
            self.surprised = True
        elif facts.answer == "taken":
            self._taken(mate, facts.item, step)
        elif facts.answer == "placed":
            self._brought(mate, facts, step)

    def _taken(self, mate: Collaborator, item: str, step: int) -> None:
        memory = self.memory
        entry = memory.scene.get(item)
        if entry is None or item in memory.hands or (not entry.by and memory.seen_at(entry) > step):
            return
        if entry.thing.parent == mate.name and entry.thing.relation == "held":
            return
        held = replace(entry.thing, parent=mate.name, relation="held", is_open=None)
        memory.put(Entry(held, step, mate.name, entry.level))
        self.surprised = True

    def _brought(self, mate: Collaborator, facts: Facts, step: int) -> None:
        memory = self.memory
        entry = memory.scene.get(facts.item)
        if facts.item in memory.hands or (
            entry is not None and not entry.by and memory.seen_at(entry) > step
        ):
            return
        owner = memory.scene.get(facts.place)
        if owner is None and facts.me is not None and facts.me.room in self.briefing.ways.rooms:
            spot = Spot(facts.me.room, facts.me.position)
        elif owner is not None:
            spot = owner.thing.spot
        else:
            return
        label = entry.thing.label if entry is not None else facts.label
        goals = memory.goal.of_item(label)
        if not goals:
            return
        goal = next((g for g in goals if g.key == facts.subgoal), goals[0])
        thing = Thing(facts.item, label, "item", spot, facts.place, goal.relation, None, True)
        memory.put(Entry(thing, step, mate.name, entry.level if entry else 0))
        if entry is None:
            self._tell_of(thing)
        memory.claim(facts.item, Claim(facts.place, goal.key, step, mate.name))
        for one in facts.seen:  # what was put there with it
            same = [g for g in memory.goal.of_item(one.label) if g.target == goal.target]
            if same and one.parent == facts.place:
                memory.claim(one.id, Claim(facts.place, same[0].key, step, mate.name))
        self.surprised = True

    # --- words -----------------------------------------------------------------------------------

    def _thing_named(self, word: str) -> tuple[str, str] | None:
        name = word.strip().lower().rstrip(".,;:!?")
        entry = self.memory.scene.get(name)
        if entry is not None:
            return name, entry.thing.label
        for entry in self.memory.shown():
            if entry.thing.label.replace(" ", "-") == name.replace(" ", "-"):
                return entry.thing.id, entry.thing.label
        stem = name.rpartition("-")[0] if name[-1:].isdigit() else name
        label = stem.replace("-", " ")
        known = self.memory.goal.items | self.memory.goal.targets
        return (name, label) if label in known and stem != name else None

    def _room_named(self, word: str) -> str | None:
        name = word.strip().lower().rstrip(".,;:!?").replace(" ", "-")
        for id_, room in self.briefing.ways.rooms.items():
            if name in (id_.lower(), room.name.lower().replace(" ", "-")):
                return id_
        return None


def searched(memory: Memory) -> list[str]:
    """Rooms and containers that one looked into and that hold nothing more of use, rooms first.

    A room counts if none of its containers is closed and unopened, either.
    """
    rooms = [r for r in memory.rooms if not memory.unopened(r) and not memory.useful_in(r)]
    inside = [id_ for id_, who in memory.searched.items() if not who and id_ not in memory.rooms]
    return rooms + [id_ for id_ in inside if not memory.useful_in(id_)]


def looked(memory: Memory) -> list[Looked]:
    """Rooms that one saw and that hold something of use, or something closed and unopened."""
    out = []
    for room in memory.rooms:
        closed = memory.unopened(room)
        if closed or memory.useful_in(room):
            out.append(Looked(room, tuple(closed)))
    return out


def _aim(plan: Plan | None) -> str:
    return plan.target if plan is not None and plan.kind != "wait" else ""


def _sighting(thing: Thing, robot: str) -> Sighting:
    """Return what a robot tells of a thing: also where, unless it lies on what all know."""
    known = thing.parent and not thing.parent.startswith(f"{robot}-")
    at = None if known else thing.spot.position
    return Sighting(thing.id, thing.label, thing.spot.room, thing.parent, thing.relation, at)
