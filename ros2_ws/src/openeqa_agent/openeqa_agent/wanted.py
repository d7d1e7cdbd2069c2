"""What must be seen to answer an open question: kinds of things, and the room."""

from __future__ import annotations

from dataclasses import dataclass

from coterie_core.household import load_household
from coterie_requests.lexicon import load_lexicon
from coterie_requests.understanding.descriptions import Thing
from coterie_world.scene import SceneGraph, SceneObject
from openeqa_agent.labels import canonical
from openeqa_agent.narrower import narrower
from openeqa_agent.understood import OpenQuestion


@dataclass(frozen=True, slots=True)
class Wanted:
    """What must be seen.

    Attributes:
        things: Kinds of things, of which any label will do; what things stand to comes first.
        room: The room that is asked about; "" if none is.
    """

    things: tuple[frozenset[str], ...] = ()
    room: str = ""

    @staticmethod
    def of(question: OpenQuestion) -> Wanted:
        """Return what must be seen to answer a question.

        "What is on the desk?" takes a look at the desk; "what can I sit on?" at anything that
        serves.
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
        return Wanted(tuple(dict.fromkeys(named)), rooms[0] if rooms else "")

    def is_room(self, kind: str, name: str) -> bool:
        """Whether a room of this type and name is the one that is asked about."""
        room = self.room.lower()
        if name and room == name.lower():
            return True
        if any(c.isdigit() for c in room) and name:
            return False
        return bool(room) and load_household().room_type(room) == kind

    def found(self, names: frozenset[str], scene: SceneGraph) -> list[SceneObject]:
        """Return things of the map by these names, in the room that is asked about if one is."""
        lexicon = load_lexicon()
        found = []
        for thing in scene.objects.values():
            if lexicon.canonical(thing.label.top) not in names:
                continue
            room = scene.rooms.get(thing.room)
            if self.room and room and not self.is_room(room.type, room.name):
                continue
            found.append(thing)
        return found

    def missing(self, scene: SceneGraph | None) -> list[frozenset[str]]:
        """Return the kinds of things that the map does not have yet; all, if it has each."""
        if scene is None:
            return list(self.things)
        return [names for names in self.things if not self.found(names, scene)] or list(self.things)


def names_of(thing: Thing) -> frozenset[str]:
    """Labels that a thing of a question may have; empty for any thing."""
    if thing.generic:
        return frozenset()
    phrase = narrower(thing.words)
    # A class has other things too: a coffee table is no "dining table" to look at.
    return frozenset((canonical(phrase),)) if phrase else load_lexicon().members(thing.name)
