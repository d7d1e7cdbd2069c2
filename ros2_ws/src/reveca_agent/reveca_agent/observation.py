"""The observation module: what is perceived goes into memory, what is missing is noticed."""

from __future__ import annotations

from dataclasses import replace

from coterie_core.cooperation import Briefing, Percept, Spot, Thing
from reveca_agent.collaborators import Collaborator, Trace
from reveca_agent.entries import Claim, Entry
from reveca_agent.memory import Memory


class Observer:
    """Takes percepts in; what it has seen already costs nothing.

    Attributes:
        new: Things whose relevance is not rated yet.
        surprised: Something changed that may overturn the current plan.
    """

    def __init__(self, memory: Memory, briefing: Briefing) -> None:
        self.memory = memory
        self.ways, self.reach = briefing.ways, briefing.reach
        self.new: list[Thing] = []
        self.surprised = False
        self._view: object = None
        self._released: set[str] = set()

    def observe(self, percept: Percept) -> None:
        """Store self, scene and collaborators of a percept."""
        memory = self.memory
        memory.step, memory.spot = percept.step, percept.spot
        self._released.clear()
        if percept.hands != memory.hands:
            self._hands(percept.hands)
        for mate in percept.teammates:
            self._teammate(percept.step, mate.name, mate.spot, mate.hands)
        for room in percept.covered:
            memory.rooms[room] = percept.step
        if percept.view is not None and percept.view == self._view:
            return
        self._view = percept.view
        seen: set[str] = set()
        for thing in percept.things:
            seen.add(thing.id)
            self._thing(thing, percept.step)
        for room in percept.covered:
            self._missing(room, seen, percept)
        for hand in percept.hands:
            for id_ in tuple(memory.inside(hand)):
                if id_ not in seen:
                    self._lost(id_, percept.step)

    def _lost(self, id_: str, step: int) -> None:
        """Note that a thing is no more in the container that one carries."""
        before = self.memory.scene[id_]
        thing = replace(before.thing, parent="", relation="")
        self.memory.put(Entry(thing, step, "", before.level, missing=True))

    def _hands(self, hands: tuple[str, ...]) -> None:
        memory = self.memory
        for id_ in hands:
            entry = memory.scene.get(id_)
            if entry is not None and id_ not in memory.hands:
                held = replace(entry.thing, parent=memory.name, relation="held")
                memory.put(Entry(held, memory.step, "", entry.level))
                memory.placed.pop(id_, None)
        self._released.update(id_ for id_ in memory.hands if id_ not in hands)
        memory.hands = hands

    def _teammate(self, step: int, name: str, spot: Spot, hands: tuple[Thing, ...]) -> None:
        memory = self.memory
        if memory.settings.collaborators:
            mate = memory.collaborators.setdefault(name, Collaborator(name))
            held = tuple(thing.id for thing in hands)
            mate.seen(Trace(step, spot, held), self.ways, self.reach)
        for thing in hands:
            before = memory.scene.get(thing.id)
            if before is None or before.thing != thing:
                self._thing(thing, step)

    def _thing(self, thing: Thing, step: int) -> None:
        memory = self.memory
        before = memory.scene.get(thing.id)
        if before is None:
            memory.put(Entry(thing, step))
            self.new.append(thing)
            del self.new[: -memory.settings.items]
            self.surprised = self.surprised or thing.label in memory.goal.items
        elif (before.thing is thing or before.thing == thing) and not before.missing:
            before.step, before.by = step, ""
        else:
            items = memory.goal.items
            if thing.label in items and thing.id not in self._released:
                self.surprised = self.surprised or before.missing or before.thing != thing
            if thing.label != before.thing.label:  # from near it is something else
                self.new.append(thing)
                del self.new[: -memory.settings.items]
                memory.placed.pop(thing.id, None)
                self.surprised = self.surprised or before.thing.label in items
            memory.put(Entry(thing, step, "", before.level))
        if thing.is_open and memory.searched.get(thing.id) != "":
            memory.search(thing.id)
        self._place(thing, step)

    def _place(self, thing: Thing, step: int) -> None:
        memory = self.memory
        if thing.label not in memory.goal.items:
            return
        goal = memory.serves(thing)
        if goal is not None:
            before = memory.placed.get(thing.id)
            same = before is not None and before.target == thing.parent
            since = before.since if before is not None and same else step
            memory.claim(thing.id, Claim(thing.parent, goal.key, step, since=since))
        elif memory.placed.pop(thing.id, None) is not None:
            self.surprised = True

    def _missing(self, room: str, seen: set[str], percept: Percept) -> None:
        """Mark what should be in view in a room and is not; what closed containers hide may be."""
        memory = self.memory
        for id_ in tuple(memory.in_room(room)):
            if id_ in seen:
                continue
            entry = memory.scene[id_]
            thing = entry.thing
            if thing.relation == "held" or entry.missing or (entry.by and not percept.sure):
                continue
            owner = memory.owner(thing)
            if owner is not None and owner.is_open is False and thing.relation == "in":
                continue
            memory.miss(id_, percept.step)
            if thing.label in memory.goal.items:
                self.surprised = True
