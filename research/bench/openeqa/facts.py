"""What is true and clearly to be seen in a house: names that single out, colours, supports."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from coterie_core.household import load_household
from coterie_core.relations import gap
from habitat_bridge.image_detector import NO_THINGS
from research.bench.openeqa.tour import Episode, Sight
from research.bench.openeqa.world import Home

CLEAR = 150
"""Pixels in some image from which a thing is clear enough to be asked about."""
LOOKS = 3
"""Images that must show it."""
_VAGUE = frozenset({"appliance", "decoration", "light switch", "box", "food", "can"})
"""Labels that people would not use, or not agree on."""
_MIRRORING = ("mirror", "glass")
_SAID: dict[str, tuple[str, ...]] = {
    **{c: (c,) for c in ("white", "black", "red", "orange", "yellow", "green", "blue", "purple")},
    "pink": ("pink",),
    "grey": ("grey", "gray"),
    "cream": ("beige", "cream", "off-white"),
    "dark": ("black", "dark grey", "dark gray"),
    "steel": ("grey", "gray", "silver", "steel"),
    "oak": ("brown", "light brown", "wood"),
    "walnut": ("brown", "dark brown", "wood"),
    "pine": ("beige", "light brown", "tan", "wood"),
    "brick": ("brown", "reddish brown", "brick red"),
    "navy": ("blue", "dark blue", "navy"),
    "teal": ("teal", "turquoise", "blue-green"),
}
"""Paint of the household -> words that people have for it, the usual one first."""


class Facts:
    """The truth about a house, and which of it an episode shows.

    Args:
        home: The house.
        episode: The tour that people would have watched before they asked.
        sight: What is in view from where.
    """

    def __init__(self, home: Home, episode: Episode, sight: Sight) -> None:
        self.home = home
        self.sight = sight
        self.episode = episode
        self.things = {k: t for k, t in home.truth.objects.items() if t.label.top not in NO_THINGS}
        contents = home.world.contents
        self.hidden = {k for k in self.things if contents.hidden[contents.rows[k]]}
        self.seen = {
            k
            for k in self.things
            if k not in self.hidden
            and episode.pixels[k] >= CLEAR
            and episode.looks[k] >= LOOKS
            and self.things[k].label.top not in _VAGUE
        }
        self._types = Counter(room.type for room in home.truth.rooms.values())

    def label(self, id_: str) -> str:
        """What a thing is called."""
        return self.things[id_].label.top

    def labelled(self, labels: Iterable[str], room: str = "") -> list[str]:
        """Ids of all things of these labels (in a room), seen or not."""
        wanted = set(labels)
        return [
            k
            for k, t in self.things.items()
            if t.label.top in wanted and (not room or t.room == room)
        ]

    def room_name(self, room: str) -> str:
        """A room as people say it: "the kitchen", or "bedroom 2" where there are several."""
        found = self.home.truth.rooms[room]
        return f"the {found.type}" if self._types[found.type] == 1 else found.name

    def only(self, id_: str, room: str = "") -> bool:
        """Whether no other thing (of the room) goes by the same word.

        "The lamp" may also be a floor lamp, so that labels count as the same that end alike.
        """
        word = self.label(id_)
        for other, thing in self.things.items():
            if other == id_ or (room and thing.room != room):
                continue
            label = thing.label.top
            if label == word or label.endswith(" " + word) or word.endswith(" " + label):
                return False
        return True

    def name(self, id_: str, *, room: bool = True) -> str:
        """Words that mean this thing and no other ("" if there are none that are short).

        Args:
            id_: The thing.
            room: Whether its room may be named.
        """
        thing = self.things[id_]
        if self.only(id_):
            return f"the {self.label(id_)}"
        if room and thing.room and self.only(id_, thing.room):
            return f"the {self.label(id_)} in {self.room_name(thing.room)}"
        return ""

    def upon(self, id_: str) -> list[str]:
        """Ids of what stands openly on or in a thing."""
        return [k for k, t in self.things.items() if t.support == id_ and k not in self.hidden]

    def near(self, id_: str, most: float) -> list[str]:
        """Ids of other seen things of the same room within a distance [m], nearest first."""
        thing = self.things[id_]
        found = [
            (gap(thing.box, self.things[k].box), k)
            for k in self.seen
            if k != id_ and self.things[k].room == thing.room
        ]
        return [k for away, k in sorted(found) if away <= most]

    def colors(self, id_: str) -> tuple[str, ...]:
        """What people call the paint of a thing, the usual word first; () where it has none.

        The paint alone decides, as the truth has it: no image, and nothing that an agent uses, so
        that what light or an agent's own names of colors get wrong counts against it.
        """
        thing = self.things[id_]
        paint = thing.properties.get("color", "")
        if not paint.startswith("#") or thing.label.top in _MIRRORING:
            return ()
        return _SAID.get(paint_name([int(paint[k : k + 2], 16) for k in (1, 3, 5)]), ())

    def color(self, id_: str) -> str:
        """The usual word for the paint of a thing, or ""."""
        return next(iter(self.colors(id_)), "")


def paint_name(rgb: Sequence[float]) -> str:
    """Name of the household's range of paints (0..255) that holds a color, or lies nearest."""

    def outside(name: str) -> float:
        low, high = load_household().colors[name]
        return math.hypot(*(max(a - v, 0.0, v - b) for v, a, b in zip(rgb, low, high, strict=True)))

    return min(load_household().colors, key=outside)
