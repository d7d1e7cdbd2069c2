"""Whose mug is which: names that two robots gave to one thing, brought together by where it lies.

Furniture has its ids from the map that all share. Small things, and furniture that no map tells of,
are named by who saw them first ("rover-mug-1"), so names of two robots never mean different things
by chance, but two names may mean one thing. A name of another robot's is taken to mean one's own
thing of that label at that place; where one knows of none, the other's name is kept, and given to
what is found there later.
"""

from __future__ import annotations

from dataclasses import replace

from coterie_core.cooperation import Note, Sighting
from coterie_core.geometry import Vec3
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.sightings import kind_of
from reveca_agent.entries import trim

MOST = 2000
"""Names remembered."""
AT_HAND = 1.2
"""Furniture stands at most so far from where another robot says that it is reached [m]."""
MOST_SEEN = 32
"""Things of one message whose names are brought together; nobody tells of more at a time."""


class Naming:
    """The names of one robot, and what others' names mean to it.

    Args:
        robot: Whose.
    """

    def __init__(self, robot: str) -> None:
        self.robot = robot
        self._own: dict[str, str] = {}
        """Another's name -> one's own."""
        self._told: dict[str, tuple[str, str]] = {}
        """Others' names of things never seen: -> label, where (id of furniture, or of a room)."""
        self._spots: dict[str, Vec3] = {}
        """Others' names of furniture never seen: -> where it is reached [m]."""
        self._asked: dict[str, str] = {}
        """Own questions: note id -> the thing they are about."""
        self._lay: dict[str, tuple[str, str]] = {}
        """Own things: -> label, where they were last seen to lie."""
        self._hands: dict[str, tuple[str, ...]] = {}

    def own(self, name: str) -> str:
        """Return one's own name for a thing."""
        return self._own.get(name, name)

    def held_by(self, robot: str) -> tuple[str, ...]:
        """Return what a robot said that it holds, by one's own names."""
        return self._hands.get(robot, ())

    def found(self, scene: SceneGraph, id_: str) -> str:
        """Take in a thing that was seen first now; what one was told of gets that name."""
        thing = scene.objects[id_]
        where = (kind_of(thing.label.top), _place(thing))
        names = [told for told, at in self._told.items() if at == where]
        if thing.kind != "item":
            names = [told for told in names if _stands_at(thing, self._spots.get(told))]
        name = next(iter(names), None)
        if name is None or name in scene.objects:
            return id_
        del self._told[name]
        self._spots.pop(name, None)
        self._lay.pop(id_, None)
        rename(scene, id_, name)
        self._own[id_] = name
        return name

    def expect(self, name: str, label: str, where: str) -> None:
        """Take in that a thing has a name already, for when it is found where it is said to be."""
        self._told[name] = (kind_of(label), where)
        trim(self._told, MOST)

    def drop(self, name: str) -> None:
        """Take in that a name of one's own means nothing."""
        self._lay.pop(name, None)

    def same(self, name: str, own: str) -> None:
        """Take in that a name of one's own meant a thing that has another."""
        self._own[name] = own
        self._lay.pop(name, None)

    def seen(self, scene: SceneGraph) -> None:
        """Remember where things lie, for when somebody speaks of them."""
        for thing in scene.objects.values():
            if thing.kind == "item" and _place(thing):
                self._lay[thing.id] = (kind_of(thing.label.top), _place(thing))
        trim(self._lay, MOST)

    def said(self, note: Note) -> None:
        """Remember a question of one's own, to know what its answer is about."""
        if note.kind == "ask" and note.facts is not None:
            self._asked[note.id] = note.facts.item
            trim(self._asked, MOST)

    def heard(self, note: Note, scene: SceneGraph) -> Note:
        """Return a note with names that mean something to oneself."""
        facts = note.facts
        if facts is None:
            return note
        changes: dict[str, object] = {}
        if facts.seen:  # furniture first: it is where other things are
            seen = facts.seen[:MOST_SEEN]
            for one in seen:
                self._furniture(one, scene)
            changes["seen"] = tuple(self._sighting(one, scene) for one in seen)
        if facts.place:
            changes["place"] = self.own(facts.place)
            facts = replace(facts, place=self.own(facts.place))
        if facts.item and facts.place != facts.item:
            if facts.reply_to in self._asked:
                changes["item"] = self._asked[facts.reply_to]
                if changes["item"] != facts.item:
                    self._own.setdefault(facts.item, str(changes["item"]))
            else:
                told = note.kind == "done"
                item = self._match(facts.item, facts.label, facts.place, scene, tell=told)
                changes["item"] = item
        if facts.searched:
            changes["searched"] = tuple(self.own(name) for name in facts.searched)
        if facts.me is not None:
            hands = tuple(self.own(name) for name in facts.me.hands[:MOST_SEEN])
            self._hands[note.sender] = hands
            changes["me"] = replace(facts.me, hands=hands)
        if facts.heading:
            changes["heading"] = self.own(facts.heading)
        trim(self._own, MOST)
        trim(self._told, MOST)
        trim(self._spots, MOST)
        return replace(note, facts=replace(facts, **changes)) if changes else note  # type: ignore[arg-type]

    def _sighting(self, one: Sighting, scene: SceneGraph) -> Sighting:
        if one.parent in self._own:
            one = replace(one, parent=self._own[one.parent])
        known = scene.objects.get(self.own(one.id))
        if known is not None and known.kind != "item":
            return one if known.id == one.id else replace(one, id=known.id)
        name = self._match(one.id, one.label, one.parent or one.room, scene, tell=True)
        return one if name == one.id else replace(one, id=name)

    def _furniture(self, one: Sighting, scene: SceneGraph) -> None:
        """Bring together two names of what stands on the floor, by where one stands beside it."""
        if one.position is None or one.parent or one.id in self._own or one.id in scene.objects:
            return
        kind = kind_of(one.label)
        for thing in scene.objects.values():
            if thing.kind == "item" or thing.room != one.room or kind_of(thing.label.top) != kind:
                continue
            if _stands_at(thing, one.position) and thing.id not in self._own.values():
                self._own[one.id] = thing.id
                return
        self._spots[one.id] = one.position

    def _match(self, name: str, label: str, where: str, scene: SceneGraph, *, tell: bool) -> str:
        """Return one's own name for another's; where one knows of no such thing, the other's."""
        if name in self._own:
            return self._own[name]
        if name in scene.objects or name in self._lay:
            return name
        kind = kind_of(label)
        taken = set(self._own.values())
        for id_, at in reversed(self._lay.items()):
            if at == (kind, where) and id_ not in taken and id_.startswith(f"{self.robot}-"):
                self._own[name] = id_
                return id_
        if tell and where and _may_name(name, scene):
            self._told[name] = (kind, where)
        return name


def rename(scene: SceneGraph, id_: str, name: str) -> None:
    """Give a thing of a map another id; what lies on or in it lies there still."""
    thing = scene.objects.pop(id_)
    thing.id = name
    scene.add_object(thing)
    for other in scene.objects.values() if thing.kind != "item" else ():
        other.support = name if other.support == id_ else other.support
        other.container = name if other.container == id_ else other.container


def _may_name(name: str, scene: SceneGraph) -> bool:
    """Tell whether a thing may be called so: not as a room or a place is."""
    return bool(name) and not any(
        name in known for known in (scene.rooms, scene.places, scene.connections, scene.floors)
    )


def _stands_at(thing: SceneObject, spot: Vec3 | None) -> bool:
    """Tell whether furniture is reached from a spot [m]."""
    return spot is not None and thing.box.contains((*spot[:2], thing.box.center[2]), AT_HAND)


def _place(thing: SceneObject) -> str:
    return thing.container or thing.support or thing.room
