"""Places of occupancy grids: who fits where, ids that stay, frontier, regions, floors."""

import math
from dataclasses import replace

import numpy as np
import pytest

from robot_adapters.sensing.grid_space import GridData, GridSpace
from robot_adapters.sensing.places import PlaceSpacing
from robot_adapters.sensing.plane import MapPose
from robot_adapters.sensing.robot_map import RobotMap
from robot_adapters.sensing.rooms import rooms_from_names

CELL = 0.05
HERE = (1.0, 1.0, 0.0)


def two_rooms(door: float = 0.9, height: float = 0.0) -> GridData:
    """Rooms of 4 m x 4 m side by side, a door of some width [m] in the wall between."""
    values = np.full((84, 166), 100, np.int8)
    values[2:82, 2:82] = 0
    values[2:82, 84:164] = 0
    half = round(door / CELL / 2.0)
    values[42 - half : 42 + half, 82:84] = 0
    return GridData(values, CELL, (0.0, 0.0, height))


def robot_map(radius: float = 0.25, pose: MapPose | None = None) -> RobotMap:
    return RobotMap(radius, PlaceSpacing(), "", pose or MapPose())


def only_floor(made: RobotMap):
    (state,) = made.floors.values()
    return state


def test_places_are_where_the_body_fits_and_links_are_drivable():
    made = robot_map()
    assert made.set_grid(two_rooms(), HERE)
    state = only_floor(made)
    spots = state.places.spots
    assert len(spots) >= 4
    assert all(state.space.line_fits(spot.at, spot.at) for spot in spots.values())
    assert {made.room_of(k, state).name for k in spots} == {"region 1", "region 2"}
    assert state.places.links
    for (a, b), link in state.places.links.items():
        drivable = state.space.path_lengths(spots[a].at, [spots[b].at])[0]
        assert math.isfinite(drivable)
        assert link.length >= math.dist(spots[a].at, spots[b].at) - 0.01
    scene = made.scene()
    (door,) = scene.connections.values()
    assert door.kind == "door" and door.width == pytest.approx(0.9, abs=0.15)
    assert door.position[:2] == pytest.approx((4.15, 2.1), abs=0.2)


def test_a_body_that_is_too_wide_for_the_door_gets_no_places_beyond_it():
    thin, wide = robot_map(0.3), robot_map(0.55)
    for made in (thin, wide):
        made.set_grid(two_rooms(door=0.9), HERE)
    assert any(s.at[0] > 4.2 for s in only_floor(thin).places.spots.values())
    assert all(s.at[0] < 4.2 for s in only_floor(wide).places.spots.values())


def test_ids_stay_as_the_map_grows():
    whole = two_rooms()
    made = robot_map()
    known = {}
    for columns in (60, 90, 130, 166):
        values = whole.values.copy()
        values[:, columns:] = -1
        made.set_grid(GridData(values, CELL, (0.0, 0.0, 0.0)), HERE)
        spots = dict(only_floor(made).places.spots)
        assert known.keys() <= spots.keys()
        assert all(spots[k].at == known[k].at for k in known)
        if columns < 166:
            assert made.frontier()
        known = spots
    assert made.frontier() == []


def test_ids_stay_where_the_grid_begins_elsewhere():
    """SLAM maps grow at all four sides: the corner of the first cell moves."""
    made = robot_map()
    grid = two_rooms()
    made.set_grid(grid, HERE)
    state = only_floor(made)
    before = dict(state.places.spots)
    regions = {k: made.room_of(k, state).id for k in before}
    values = np.full((grid.values.shape[0] + 40, grid.values.shape[1] + 60), -1, np.int8)
    values[40:, 60:] = grid.values
    made.set_grid(GridData(values, CELL, (-60 * CELL, -40 * CELL, 0.0)), HERE)
    after = only_floor(made).places.spots
    assert {k: s.at for k, s in before.items()} == {k: s.at for k, s in after.items()}
    assert {k: made.room_of(k, only_floor(made)).id for k in after} == regions


def test_a_place_gives_way_to_a_chair_and_goes_under_a_wardrobe():
    made = robot_map()
    grid = two_rooms()
    made.set_grid(grid, HERE)
    name, spot = next(iter(only_floor(made).places.spots.items()))
    row, col = (round(v / CELL) for v in (spot.at[1], spot.at[0]))
    values = grid.values.copy()
    values[row - 1 : row + 1, col - 1 : col + 1] = 100
    aside = (7.0, 3.5, 0.0)
    made.set_grid(GridData(values, CELL, grid.origin), aside)
    moved = only_floor(made).places.spots[name]
    assert 0.0 < math.dist(moved.at, spot.at) <= 0.4
    values = values.copy()
    values[max(row - 20, 0) : row + 20, max(col - 20, 0) : col + 20] = 100
    made.set_grid(GridData(values, CELL, grid.origin), aside)
    assert name not in only_floor(made).places.spots


def test_grids_of_two_heights_are_two_floors():
    made = robot_map()
    made.set_grid(two_rooms(height=2.8), None)
    made.set_grid(two_rooms(height=0.0), None)
    scene = made.scene()
    assert [f.index for f in sorted(scene.floors.values(), key=lambda f: f.elevation)] == [0, 1]
    assert made.floor_at((1.0, 1.0, 0.0)).floor.elevation == 0.0
    assert made.floor_at((1.0, 1.0, 2.8)).floor.elevation == 2.8
    assert len({room.id for room in scene.rooms.values()}) == 4
    assert {p.position[2] for p in scene.places.values()} == {0.0, 2.8}


def test_rooms_that_a_person_named_go_before_regions_and_lie_in_the_teams_map():
    pose = MapPose(10.0, -3.0, math.pi / 2.0)
    corners = [pose.to_team((x, y, 0.0))[:2] for x, y in ((0, 0), (4.1, 0), (4.1, 4.2), (0, 4.2))]
    names = [{"name": "Machine shop", "type": "workshop", "polygon": corners}]
    made = robot_map(pose=pose)
    made.set_grid(two_rooms(), HERE)
    assert made.set_rooms(rooms_from_names(names, "lab.yaml: rooms"), HERE)
    here, beyond = made.room_at((1.0, 1.0, 0.0)), made.room_at((6.0, 1.0, 0.0))
    assert (here.id, here.name, here.type) == ("machine_shop", "Machine shop", "workshop")
    assert beyond.id.startswith("region_")
    for place in made.scene().places.values():
        x, _, _ = pose.to_robot(place.position)
        assert (place.room == "machine_shop") == (x < 4.15)
    assert not made.set_rooms([], None)  # a map that knows no rooms takes none away
    assert made.room_at((1.0, 1.0, 0.0)).id == "machine_shop"


@pytest.mark.parametrize(
    "entry, message",
    [
        ({"polygon": [[0, 0], [1, 0], [1, 1]]}, r"rooms\[0\].name"),
        ({"name": "hall", "polygon": [[0, 0], [1, 0]]}, r"rooms\[0\].polygon.*three or more"),
        ({"name": "hall", "polygon": [[0, 0], [1, 0], [2, 0]]}, "around an area"),
        ({"name": "hall", "polygon": [[0, 0], ["a", 0], [2, 0]]}, r"got \['a', 0\]"),
        (
            {"name": "hall", "polygon": [[0, 0], [3, 2], [3, 0], [0, 3]]},
            r"rooms\[0\].*crosses itself",
        ),
        ({"name": "hall", "outline": []}, "no field 'outline'"),
    ],
)
def test_rooms_that_cannot_be_are_refused_by_name_of_the_field(entry, message):
    with pytest.raises(ValueError, match=message):
        rooms_from_names([entry], "rooms")


def test_a_room_named_twice_is_refused():
    square = [[0, 0], [1, 0], [1, 1]]
    twice = [{"name": "Hall", "polygon": square}, {"name": "hall", "polygon": square}]
    with pytest.raises(ValueError, match="is there already"):
        rooms_from_names(twice, "rooms")


def test_a_fine_grid_is_made_coarser_and_keeps_its_obstacles():
    values = np.zeros((300, 300), np.int8)
    values[150, 10:290] = 100  # a wire of one cell
    space = GridSpace(GridData(values, 0.01, (0.0, 0.0, 0.0)), 0.2)
    assert space.cell == pytest.approx(0.05)
    assert not space.line_fits((1.5, 0.5), (1.5, 2.5))
    assert space.line_fits((0.5, 0.5), (2.5, 0.5))


def test_the_same_grid_again_is_no_news():
    made = robot_map()
    assert made.set_grid(two_rooms(), None)
    assert not made.set_grid(two_rooms(), None)


def test_a_grid_without_any_free_cell_has_no_places():
    made = robot_map()
    made.set_grid(GridData(np.full((50, 50), -1, np.int8), CELL, (0.0, 0.0, 0.0)), HERE)
    assert only_floor(made).places.spots == {}


def test_a_robot_stands_beside_what_it_goes_to_and_not_behind_the_wall():
    made = robot_map()
    values = np.array(two_rooms().values)
    values[10:60, 70:82] = 100  # a counter along the wall between the rooms
    made.set_grid(replace(two_rooms(), values=values), HERE)
    kitchen = {"name": "kitchen", "polygon": [[0, 0], [4.15, 0], [4.15, 4.2], [0, 4.2]]}
    hall = {"name": "hall", "polygon": [[4.15, 0], [8.3, 0], [8.3, 4.2], [4.15, 4.2]]}
    made.set_rooms(rooms_from_names([kitchen, hall], "rooms"), HERE)
    space = only_floor(made).space
    thing, here = (3.95, 1.5, 0.9), (1.0, 2.5, 0.0)
    nearest = space.nearest_fit(thing, 0.9)
    assert nearest is not None and nearest[0] > 4.2  # behind the wall
    points = made.stands(thing, 0.9, here)
    assert points and all(p[0] < 3.5 and space.line_fits(p, p) for p in points)
    away = [math.dist(p[:2], thing[:2]) for p in points]
    assert max(away) <= 0.9 and away[0] < min(away) + 0.2
    assert min(math.dist(a, b) for k, a in enumerate(points) for b in points[:k]) > 0.19
    assert made.stands(thing, 0.3, here) == []
    free = (1.0, 1.5, 0.0)
    assert made.stands(free, 0.0, here) == [free]
    # Where the counter shuts a corner off, that is no place to go to.
    values = values.copy()
    values[60:70, 2:82] = 100
    made.set_grid(replace(two_rooms(), values=values), HERE)
    corner = (1.0, 3.8, 0.0)
    assert only_floor(made).space.line_fits(corner, corner)
    assert all(p[1] < 3.0 for p in made.stands((1.0, 3.3, 0.5), 0.8, here))
    assert made.stands(corner, 0.2, here)  # nowhere else: who plans will tell


def test_rooms_join_where_a_corridor_lies_that_nobody_drew():
    """The corridor bends and is too small for a region: half of it belongs to either room."""
    values = np.full((80, 100), 100, np.int8)
    values[2:42, 2:42] = 0  # a den in the lower left, a bath in the upper right
    values[50:78, 70:98] = 0
    values[20:32, 42:92] = 0  # 0.6 m wide, along x and then along y
    values[20:50, 80:92] = 0
    made = robot_map(radius=0.1)
    squares = {"Den": (0.0, 0.0, 2.15, 2.15), "Bath": (3.45, 2.45, 5.0, 4.0)}
    drawn = [
        {"name": name, "polygon": [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]}
        for name, (x0, y0, x1, y1) in squares.items()
    ]
    made.set_rooms(rooms_from_names(drawn, "rooms"), None)
    made.set_grid(GridData(values, CELL, (0.0, 0.0, 0.0)), HERE)
    scene = made.scene()
    assert sorted(scene.rooms) == ["bath", "den"]
    assert {place.room for place in scene.places.values()} == {"bath", "den"}
    (way,) = scene.connections.values()
    assert way.width == pytest.approx(0.6, abs=0.1)
