"""The floors of a robot's own map: rooms, places and ways, told in the team's map."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from coterie_core.geometry import Vec2, Vec3
from coterie_core.observation import RoomView
from coterie_world.free_space.floor_graph import Mask
from coterie_world.scene import Connection, Floor, Place, PlaceLink, Room, SceneGraph
from coterie_world.scene.regions import same_region
from robot_adapters.sensing.grid_space import GridData, GridSpace
from robot_adapters.sensing.places import FloorPlaces, Naming, PlaceSpacing, passages
from robot_adapters.sensing.plane import MapPose
from robot_adapters.sensing.rooms import Labels, RoomLayer
from robot_adapters.sensing.storeys import Storeys

_FLOOR_GAP = 1.0
"""Grids whose heights differ by more are of different floors [m]."""
_DOOR_WIDTH = 1.2
"""Passages narrower than this are taken for doors [m]."""
_RING = 8
"""Points around another that are tried where no grid tells which ones are free."""
_MOST_STANDS = 24
"""Points around another that are weighed where a grid tells which ones are free."""
_START = 0.5
"""How far from where the body fits it may stand itself [m]: maps and bodies are not exact."""
_BAND = 0.2
"""Of two points the one that is nearer to a goal by so much is better, wherever it is [m]."""


@dataclass(slots=True)
class FloorState:
    """One floor: its grid, what a body can use of it, its places, and which cells were seen."""

    floor: Floor
    grid: GridData
    space: GridSpace
    places: FloorPlaces
    seen: Mask
    prefix: str
    regions: Labels

    def position(self, place: str) -> Vec3:
        """Return where a place is in the robot's map [m]."""
        x, y = self.places.spots[place].at
        return (x, y, self.space.elevation)

    def nearest_place(self, position: Vec3) -> str:
        """Return the place nearest to a point [m], rather one that is straight ahead of it."""
        spots = self.places.spots
        near = sorted(spots, key=lambda k: (math.dist(spots[k].at, position[:2]), k))[:5]
        start = self.space.nearest_fit(position, 0.5) or (position[0], position[1])
        straight = [k for k in near if self.space.line_fits(start, spots[k].at)]
        return next(iter(straight or near), "")


class RobotMap:
    """Floors of one robot's map.

    Args:
        radius: The body's radius [m].
        spacing: How places lie.
        region_prefix: Of ids of regions that the floor is parted into.
        pose: Where the robot's map lies in the team's; None: not known yet.

    Attributes:
        pose: Likewise; see `set_pose`.
        floors: By name.
        storeys: Floors that the team file gives; set before the first grid comes.
    """

    def __init__(
        self, radius: float, spacing: PlaceSpacing, region_prefix: str, pose: MapPose | None
    ) -> None:
        self.pose = pose
        self.floors: dict[str, FloorState] = {}
        self._radius, self._spacing = radius, spacing
        self._rooms = RoomLayer(region_prefix)
        self._known: list[Room] = []
        self._naming = Naming()
        self._team_names: dict[str, RoomView] = {}
        self.storeys = Storeys()

    def set_grid(self, grid: GridData, here: Vec3 | None) -> bool:
        """Take the next version of a floor's grid; tell whether it says anything new.

        Args:
            grid: The grid.
            here: Where the robot is in its map [m]; None: not known.
        """
        name = grid.floor or self._floor_named(grid.origin[2])
        state = self.floors.get(name)
        if state is not None and grid.same_as(state.grid):
            return False
        space = GridSpace(grid, self._radius)
        seen = np.zeros(space.shape, dtype=bool)
        regions = np.zeros(space.shape, dtype=np.int32)
        if state is None:
            z = grid.origin[2] + (self.pose.z if self.pose is not None else 0.0)
            prefix = f"p{len(self.floors)}_"
            places = FloorPlaces(self._spacing)
            state = FloorState(Floor(name, 0, z), grid, space, places, seen, prefix, regions)
            self.floors[name] = state
            for k, other in enumerate(sorted(self.floors.values(), key=_height)):
                other.floor.index = k
        else:
            _carry(state.seen, state.space, seen, space)
            state.grid, state.space, state.seen = grid, space, seen
        self._lay_out(state, here)
        return True

    def set_rooms(self, rooms: Iterable[Room], here: Vec3 | None) -> bool:
        """Take rooms with outlines in the team's map; tell whether they are news.

        An empty list changes nothing: a map that knows no rooms takes none away.
        """
        known = [r for r in rooms if len(r.polygon) >= 3]
        if not known or known == self._known:
            return False
        self._known = [Room(r.id, r.name, r.type, r.floor, list(r.polygon)) for r in known]
        self._rooms.give(self._known)
        for state in self.floors.values():
            self._lay_out(state, here)
        return True

    def set_pose(self, pose: MapPose, here: Vec3 | None) -> None:
        """Take where the robot's map lies in the team's; places keep their ids."""
        self.pose = pose
        for state in self.floors.values():
            state.floor.elevation = state.grid.origin[2] + pose.z
            self._lay_out(state, here)

    def floor_at(self, position: Vec3) -> FloorState | None:
        """Return the floor that a point [m] of the robot's map is above."""
        states = sorted(self.floors.values(), key=_height)
        below = [s for s in states if s.space.elevation <= position[2] + 0.3]
        return below[-1] if below else (states[0] if states else None)

    def room_at(self, point: Vec3) -> RoomView | None:
        """Return the room that a point [m] of the robot's map lies in."""
        state = self.floor_at(point)
        return self._called(self._rooms.at(point, state.floor.id if state else "", self._placed()))

    def room_of(self, place: str, state: FloorState) -> RoomView | None:
        """Return the room of a place."""
        return self._called(self._rooms.view(state.places.spots[place].region))

    def call_as_team(self, team: SceneGraph) -> None:
        """Call regions in observations as the team's map does, which joins those of robots.

        The outlines stay the robot's own, and so does what it tells that map.
        """
        own = [room for room in self._rooms.present() if room.id not in team.rooms]
        pairs = ((room.id, same_region(room, team.rooms.values())) for room in own)
        self._team_names = {
            id_: RoomView(room.id, room.name, room.type) for id_, room in pairs if room is not None
        }

    def _called(self, room: RoomView | None) -> RoomView | None:
        return None if room is None else self._team_names.get(room.id, room)

    def stands(self, point: Vec3, tolerance: float, here: Vec3) -> list[Vec3]:
        """Return points around another where the body may stand, the best to try first.

        Where there are any that the grid has a way to, only those; of these, where there are any in
        the room of the point, only those: what lies on the other side of a wall is near and out of
        reach. Of these the nearer ones first, and then those nearer to the robot.

        Args:
            point: What they are around, in the robot's map [m].
            tolerance: How far from it they may be [m].
            here: Where the robot is in its map [m].
        """
        x, y, z = point
        state = self.floor_at(point)
        if state is None:
            ring = [
                (x + r * math.cos(a), y + r * math.sin(a))
                for r in (0.5 * tolerance, 0.95 * tolerance)
                for a in (2.0 * math.pi * k / _RING for k in range(_RING))
            ]
            found = [(x, y), *(ring if tolerance > 0.0 else [])]
        else:
            space = state.space
            start = space.nearest_fit(here, _START)
            part = space.part_at(start) if start is not None else 0
            found = space.stands(point, tolerance, _MOST_STANDS, part=part)
            found = found or space.stands(point, tolerance, _MOST_STANDS)
        room = self.room_at(point)
        inside = [at for at in found if room is not None and self.room_at((*at, z)) == room]

        def worth(at: Vec2) -> tuple[int, float]:
            return int(math.dist(at, point[:2]) / _BAND), math.dist(at, here[:2])

        return [(*at, z) for at in sorted(inside or found, key=worth)]

    def has(self, place: str) -> bool:
        """Whether there is such a place now."""
        return any(place in state.places.spots for state in self.floors.values())

    def frontier(self) -> list[str]:
        """Return the places from where unknown cells are near, sorted."""
        spots = [s for state in self.floors.values() for s in state.places.spots.values()]
        return sorted(spot.id for spot in spots if spot.frontier)

    def scene(self, *, without: Collection[str] = ()) -> SceneGraph:
        """Return floors, rooms, ways between them, places and links, in the team's map.

        Args:
            without: Ids of rooms that are left out, such as those that the team's map has anyway.
        """
        graph = SceneGraph()
        if self.pose is None:
            return graph
        for room in self._rooms.present():
            if room.id in without:
                continue
            graph.add_room(Room(room.id, room.name, room.type, room.floor, list(room.polygon)))
        for state in self.floors.values():
            floor = state.floor
            graph.add_floor(Floor(floor.id, floor.index, floor.elevation, floor.ceiling_height))
            for name in state.places.spots:
                view = self._rooms.view(state.places.spots[name].region)
                at = self.pose.to_team(state.position(name))
                graph.add_place(Place(name, at, view.id if view else "", floor.id))
            for (a, b), link in state.places.links.items():
                graph.add_link(PlaceLink(a, b, link.length, link.width))
            self._add_connections(graph, state, self.pose)
        self.storeys.add_to(graph)
        return graph

    def _add_connections(self, graph: SceneGraph, state: FloorState, pose: MapPose) -> None:
        for a, b, at in passages(state.regions, state.space.fits, state.space):
            one, other = self._rooms.view(a), self._rooms.view(b)
            if one is None or other is None:
                continue
            width = state.space.width(at, at)
            graph.add_connection(
                Connection(
                    f"way_{len(graph.connections) + 1}",
                    one.id,
                    other.id,
                    "door" if width < _DOOR_WIDTH else "opening",
                    pose.to_team((at[0], at[1], state.space.elevation)),
                    width,
                )
            )

    def _lay_out(self, state: FloorState, here: Vec3 | None) -> None:
        pose = self.pose
        if pose is None:  # ids of places tell where they lie in the team's map
            return
        state.regions = self._rooms.number(state.space, state.floor, pose)
        at = (here[0], here[1]) if here is not None and self.floor_at(here) is state else None

        def named(spot: Vec2) -> str:
            x, y, _ = pose.to_team((spot[0], spot[1], 0.0))
            return self._naming.name(state.prefix, (x, y))

        state.places.update(state.space, state.regions, at, named)

    def _floor_named(self, z: float) -> str:
        given = self.storeys.at(z + (self.pose.z if self.pose is not None else 0.0))
        if given:
            return given
        for name, state in self.floors.items():
            if abs(state.grid.origin[2] - z) <= _FLOOR_GAP:
                return name
        return f"floor-{len(self.floors)}"

    def _placed(self) -> MapPose:
        return self.pose or MapPose()


def _height(state: FloorState) -> float:
    return state.space.elevation


def _carry(old: Mask, before: GridSpace, new: Mask, after: GridSpace) -> None:
    """Mark in a newer grid the cells that are marked in an older one."""
    points = (np.argwhere(old)[:, ::-1] + 0.5) * before.cell + before.origin
    cells = np.floor((points - after.origin) / after.cell).astype(np.int64)[:, ::-1]
    inside = ((cells >= 0) & (cells < after.shape)).all(axis=1)
    new[cells[inside, 0], cells[inside, 1]] = True
