"""Objects of a map to choose from: searched by words, label and room, in pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from coterie_console.text import plain
from coterie_world.scene import SceneGraph, SceneObject
from research.natural_order import natural

NO_LABEL = "(no label)"
NO_ROOM = "(no room)"


@dataclass(frozen=True, slots=True)
class Choice:
    """A label or a room to filter by: its name in the map, and the text that is shown."""

    value: str
    text: str


class ObjectIndex:
    """All objects of a map, sorted by label and id, and what they are found by."""

    def __init__(self, scene: SceneGraph) -> None:
        self._scene = scene
        things = scene.objects.values()
        self._sorted = sorted(
            things, key=lambda t: (not t.label.top, t.label.top.casefold(), natural(t.id))
        )
        self._words = {t.id: self._findable(t) for t in things}
        self.labels = _choices(Counter(t.label.top for t in things), {}, NO_LABEL)
        names = {room.id: room.name for room in scene.rooms.values()}
        self.rooms = _choices(Counter(t.room for t in things), names, NO_ROOM)

    def find(self, words: str = "", label: str | None = None, room: str | None = None) -> list[str]:
        """Return the ids of the objects that fit all filters, by label and id.

        Args:
            words: All of these occur in the id, one of the labels or the room's name.
            label: The top label; None: any.
            room: The id of the room ("": in none that is known); None: any.
        """
        wanted = words.casefold().split()
        return [
            t.id
            for t in self._sorted
            if (label is None or t.label.top == label)
            and (room is None or t.room == room)
            and all(w in self._words[t.id] for w in wanted)
        ]

    def name(self, id_: str, limit: int = 34) -> str:
        """Return an object's label and id as plain text; the id alone if it says the label."""
        thing = self._scene.objects.get(id_)
        if thing is None:
            return f"{plain(id_, limit)} (not in the map)"
        top = thing.label.top
        if top and id_.casefold().startswith((top.casefold(), top.casefold().replace(" ", "-"))):
            return plain(id_, limit)
        return f"{plain(thing.label.top, limit) or NO_LABEL} · {plain(id_, 24)}"

    def details(self, id_: str) -> list[tuple[str, str]]:
        """Return what the map says about an object as pairs of plain texts."""
        thing = self._scene.objects.get(id_)
        if thing is None:
            return []
        room = self._scene.rooms.get(thing.room)
        labels = list(thing.label.distribution().items())[:5]
        x, y, z = thing.box.center
        found = [
            ("id", plain(id_, 200)),
            (
                "labels",
                ", ".join(f"{plain(k, 500) or NO_LABEL} {100 * p:.0f} %" for k, p in labels),
            ),
            ("room", plain(room.name if room else thing.room, 80) or NO_ROOM),
            ("size", " × ".join(f"{v:.2f}" for v in thing.box.size) + " m"),
            ("centre", f"{x:.2f}, {y:.2f}, {z:.2f} m"),
        ]
        where = (("in", thing.container), ("on", "" if thing.container else thing.support))
        found += [(word, self.name(other)) for word, other in where if other in self._scene.objects]
        if thing.is_open is not None:
            found.append(("state", "open" if thing.is_open else "closed"))
        if thing.observations:
            found.append(("seen", f"{thing.observations} times"))
        return found

    def _findable(self, thing: SceneObject) -> str:
        room = self._scene.rooms.get(thing.room)
        labels = " ".join(list(thing.label.distribution())[:20]) or thing.label.top
        return f"{thing.id} {labels} {room.name if room else thing.room}".casefold()


def _choices(counts: Mapping[str, int], names: Mapping[str, str], empty: str) -> list[Choice]:
    """Return values by name, each with a text of its own: widgets cannot show two alike."""
    found: list[Choice] = []
    taken: set[str] = set()
    for value in sorted(counts, key=lambda v: natural(names.get(v, v))):
        base = plain(names.get(value, value), 40) or empty
        text, k = f"{base} ({counts[value]})", 2
        while text in taken:
            text, k = f"{base} #{k} ({counts[value]})", k + 1
        taken.add(text)
        found.append(Choice(value, text))
    return found
