"""What is true and clearly to be seen in a house: names that single out, colours, supports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from coterie_bench.openeqa_tour import Episode, Sight
from coterie_bench.openeqa_world import FAR, Home
from coterie_core.colors import color_name, color_names
from coterie_core.relations import gap
from coterie_core.scene import SceneObject
from habitat_bridge.image_detector import STRUCTURE
from habitat_bridge.simulator import FrameRequest

CLEAR = 150
"""Pixels in some image from which a thing is clear enough to be asked about."""
LOOKS = 3
"""Images that must show it."""
_VAGUE = frozenset({"appliance", "decoration", "light switch", "box", "food", "can"})
"""Labels that people would not use, or not agree on."""
_MIRRORING = ("mirror", "glass")
_ONE_COLOR = 0.6  # least share of a thing's pixels in its colour


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
        self.things = {k: t for k, t in home.truth.objects.items() if t.label.top not in STRUCTURE}
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
        self._colors: dict[str, str] = {}

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

    def color(self, id_: str) -> str:
        """Name of the colour that a thing plainly has in the images ("" if it is not plain).

        The paint must have that name too, also somewhat darker and brighter.
        """
        if id_ not in self._colors:
            self._colors[id_] = self._plain_color(self.things[id_])
        return self._colors[id_]

    def _plain_color(self, thing: SceneObject) -> str:
        paint = thing.properties.get("color", "")
        if not paint.startswith("#") or thing.label.top in _MIRRORING:
            return ""
        rgb = [int(paint[k : k + 2], 16) for k in (1, 3, 5)]
        names = {color_name([min(255.0, v * share) for v in rgb]) for share in (0.93, 1.0, 1.07)}
        if len(names) != 1:
            return ""
        (name,) = names
        pixels = self._pixels(thing.id)
        if not len(pixels):
            return ""
        shown = Counter(color_names(pixels))
        return name if shown[name] >= _ONE_COLOR * len(pixels) else ""

    def _pixels(self, id_: str) -> np.ndarray:
        """Colours (n, 3) of a thing in the frame that shows it largest."""
        home, pose = self.home, self.sight.best_view(id_)
        if pose is None:
            return np.empty((0, 3))
        home.put(pose.position, pose.yaw)
        (frame,) = home.world.render([FrameRequest(home.world.robots[0], "head")])
        assert frame.semantic is not None and frame.color is not None and frame.depth is not None
        row = home.world.contents.rows[id_] + home.world.contents.first_instance
        mask = (frame.semantic == row) & (frame.depth <= FAR)
        found: np.ndarray = frame.color[mask]
        return found[:: max(len(found) // 300, 1)]
