"""A floor plan of letters and lines, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from rich.text import Text

from coterie_core.colors import robot_colors
from coterie_core.geometry import Vec3
from coterie_world.scene import Room, SceneGraph
from coterie_world.scene.regions import Regions

_COLUMNS, _ROWS = 76, 20
_ASPECT = 2.0
"""How much higher than wide a letter is."""
_LEG = 3.0
"""Longest line between two looks of a robot [m]: a longer one may lead through walls."""


def floor_plans(scene: SceneGraph, ways: Mapping[str, Sequence[Vec3]] | None = None) -> list[Text]:
    """Return one drawing for each floor with rooms, the lowest first.

    Args:
        scene: Rooms with outlines.
        ways: Robot -> where it was [m], in order; drawn as dots, and as its initial at the end.
    """
    floors = sorted(scene.floors.values(), key=lambda floor: floor.elevation)
    drawn = [(floor, [r for r in scene.rooms.values() if r.floor == floor.id]) for floor in floors]
    return [
        _Canvas(scene, rooms, floor.elevation).draw(ways or {})
        for floor, rooms in drawn
        if any(room.polygon for room in rooms)
    ]


class _Canvas:
    """Letters of one floor, and their styles.

    Args:
        scene: The house.
        rooms: Rooms of the floor.
        level: Height of the floor [m].
    """

    def __init__(self, scene: SceneGraph, rooms: Sequence[Room], level: float) -> None:
        self._regions, self._level = Regions(scene), level
        points = [point for room in rooms for point in room.polygon]
        self._left, self._top = min(x for x, _ in points), max(y for _, y in points)
        width = max(x for x, _ in points) - self._left
        depth = self._top - min(y for _, y in points)
        self._scale = min(_COLUMNS / width, _ROWS * _ASPECT / depth)  # letters per meter
        columns, rows = int(width * self._scale) + 1, int(depth * self._scale / _ASPECT) + 1
        self._rooms = [[self._room_at(c, r) for c in range(columns)] for r in range(rows)]
        self._cells = [
            [(self._wall(c, r), "dim") for c in range(columns + 1)] for r in range(rows + 1)
        ]
        for room in rooms:
            self._name(room)

    def draw(self, ways: Mapping[str, Sequence[Vec3]]) -> Text:
        """Return the plan with ways on it."""
        colors = robot_colors(ways)
        for robot, color in colors.items():
            for here, then in pairwise(ways[robot]):
                if self._here(here) and self._here(then) and math.dist(here, then) <= _LEG:
                    for share in (0.2, 0.4, 0.6, 0.8):
                        x, y = (
                            p + share * (q - p) for p, q in zip(here[:2], then[:2], strict=True)
                        )
                        self._put((x, y, self._level), "·", color)
            for point in filter(self._here, ways[robot]):
                self._put(point, "•", color)
        for robot, color in colors.items():
            if ways[robot] and self._here(ways[robot][-1]):
                self._put(ways[robot][-1], robot[:1].upper(), f"bold reverse {color}")
        return Text("\n").join(Text.assemble(*row) for row in self._cells)

    def _here(self, point: Vec3) -> bool:
        return abs(point[2] - self._level) < 1.5

    def _room_at(self, column: int, row: int) -> str:
        x = self._left + (column + 0.5) / self._scale
        y = self._top - (row + 0.5) * _ASPECT / self._scale
        return self._regions.room_at((x, y, self._level))

    def _of(self, column: int, row: int) -> str:
        inside = 0 <= row < len(self._rooms) and 0 <= column < len(self._rooms[0])
        return self._rooms[row][column] if inside else ""

    def _wall(self, column: int, row: int) -> str:
        """Return what stands in the upper left corner of a cell."""
        up_left, up = self._of(column - 1, row - 1), self._of(column, row - 1)
        left, here = self._of(column - 1, row), self._of(column, row)
        arms = (up_left != up, up != here, left != here, up_left != left)  # up, right, down, left
        return _CORNERS[sum(2**k for k, arm in enumerate(arms) if arm)]

    def _name(self, room: Room) -> None:
        """Write a room's name into its widest row nearest to its middle."""
        rows = [(k, row.count(room.id)) for k, row in enumerate(self._rooms) if room.id in row]
        if not rows:
            return
        middle = rows[len(rows) // 2][0]
        row, width = max(rows, key=lambda one: (one[1], -abs(one[0] - middle)))
        start = self._rooms[row].index(room.id)
        cells = self._cells[row]
        begin = start + max((width - len(room.name)) // 2, 0) + 1  # a long name crosses the wall
        cells += [(" ", "dim")] * (begin + len(room.name) - len(cells))
        for k, letter in enumerate(room.name, begin):
            if not cells[k][1].startswith("bold"):
                cells[k] = (letter, "bold")

    def _put(self, point: Vec3, letter: str, style: str) -> None:
        """Write a letter at a point, or just above or below where a name or a robot is."""
        column = int((point[0] - self._left) * self._scale)
        row = int((self._top - point[1]) * self._scale / _ASPECT)
        for r in (row, row + 1, row - 1):
            inside = 0 <= r < len(self._cells) and 0 <= column < len(self._cells[0])
            if inside and not self._cells[r][column][1].startswith("bold"):
                self._cells[r][column] = (letter, style)
                return


_CORNERS = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"
"""Lines by their arms: 1 up, 2 right, 4 down, 8 left."""
