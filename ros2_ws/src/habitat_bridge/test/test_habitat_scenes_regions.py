"""Regions from the navmesh: parted at doors, joined where it is wide, storeys and flights found."""

import numpy as np
import pytest
from shapely import Polygon

from coterie_core.geometry import Box
from coterie_world.free_space.partition import RegionSettings
from coterie_world.scene import Floor, LabelBelief, Room, SceneGraph, SceneObject
from habitat_bridge.habitat.dataset_world import with_regions
from habitat_bridge.habitat.description import SceneDescription
from habitat_bridge.habitat.navgrid import rasterise
from habitat_bridge.habitat.regions import (
    connections_from_navmesh,
    regions_from_navmesh,
)


def rectangle(x0, y0, x1, y1, z=0.0, z1=None):
    """Two triangles of a rectangle that rises from z to z1 along x."""
    z1 = z if z1 is None else z1
    a, b, c, d = (x0, y0, z), (x1, y0, z1), (x1, y1, z1), (x0, y1, z)
    return [(a, b, c), (a, c, d)]


# Two rooms of 3.6 x 3.6 m and a hall, as a robot of 0.2 m radius can use them; doors 0.9 m wide.
FLAT = [
    *rectangle(0.2, 0.2, 3.8, 3.8),
    *rectangle(4.2, 0.2, 7.8, 3.8),
    *rectangle(0.2, 4.2, 7.8, 5.8),
    *rectangle(1.75, 3.8, 2.25, 4.2),
    *rectangle(5.75, 3.8, 6.25, 4.2),
]


def test_rooms_are_parted_at_their_doors():
    found = regions_from_navmesh(FLAT)
    assert [room.name for room in found.rooms] == ["region 1", "region 2", "region 3"]
    assert [floor.elevation for floor in found.floors] == [0.0]
    areas = sorted(Polygon(room.polygon).area for room in found.rooms)
    assert areas == pytest.approx([7.6 * 1.6, 3.6 * 3.6, 3.6 * 3.6], rel=0.15)
    hall = min(found.rooms, key=lambda room: abs(Polygon(room.polygon).centroid.y - 5))
    ways = found.connections
    assert len(ways) == 2 and all(hall.id in (w.room_a, w.room_b) for w in ways)
    assert all(w.kind == "door" and w.width == pytest.approx(0.9, abs=0.15) for w in ways)
    assert sorted(w.position[0] for w in ways) == pytest.approx([2.0, 6.0], abs=0.1)
    assert any("computed" in note for note in found.notes)
    for room in found.rooms:
        assert Polygon(room.polygon).exterior.is_ccw


def test_a_wide_passage_parts_nothing_and_furniture_neither():
    wide = [*rectangle(0, 0, 4, 4), *rectangle(4, 1, 5, 3), *rectangle(5, 0, 9, 4)]
    assert len(regions_from_navmesh(wide).rooms) == 1
    # A ring around a table: two narrow ways past it are no doors.
    ring = [
        *rectangle(0, 0, 4, 0.5),
        *rectangle(0, 2, 4, 2.5),
        *rectangle(0, 0.5, 1.5, 2),
        *rectangle(2.5, 0.5, 4, 2),
    ]
    assert len(regions_from_navmesh(ring).rooms) == 1


def test_small_pockets_join_their_neighbour():
    nook = [*rectangle(0, 0, 4, 4), *rectangle(4, 1.9, 4.3, 2.1), *rectangle(4.3, 1.5, 5.3, 2.5)]
    assert len(regions_from_navmesh(nook, RegionSettings(min_area=1.5)).rooms) == 1
    assert len(regions_from_navmesh(nook, RegionSettings(min_area=0.5)).rooms) == 2


def test_storeys_are_told_apart_and_joined_by_their_stairs():
    stairs = [
        *rectangle(0, 0, 4, 3),
        *rectangle(4, 1, 8, 1.6, 0.0, 2.8),
        *rectangle(8, 0, 12, 3, 2.8),
        *rectangle(0, 0, 3.5, 3, 2.8),  # Above the first room, not joined to anything.
    ]
    found = regions_from_navmesh(stairs)
    assert [f.elevation for f in found.floors] == pytest.approx([0.0, 2.8], abs=0.06)
    flights = [w for w in found.connections if w.kind == "stairs"]
    assert len(flights) == 1 and flights[0].riser > 0
    rooms = {room.id: room for room in found.rooms}
    assert rooms[flights[0].room_a].floor == "floor-0"
    upper = rooms[flights[0].room_b]
    assert upper.floor == "floor-1" and Polygon(upper.polygon).centroid.x > 8
    assert len([r for r in found.rooms if r.floor == "floor-1"]) == 2


def test_ways_between_annotated_rooms_come_from_the_navmesh():
    rooms = {
        "a": Room("a", "a", "", "f", [(0, 0), (4, 0), (4, 4), (0, 4)]),
        "b": Room("b", "b", "", "f", [(4, 0), (8, 0), (8, 4), (4, 4)]),
        "hall": Room("hall", "hall", "", "f", [(0, 4), (8, 4), (8, 6), (0, 6)]),
        "none": Room("none", "none", "", "f"),
    }
    ways = connections_from_navmesh(rooms, {"f": Floor("f", 0, 0.0)}, FLAT)
    assert sorted({w.room_a, w.room_b} for w in ways) == sorted([{"a", "hall"}, {"b", "hall"}])


def description(graph):
    return SceneDescription(
        "x", None, None, None, None, (0, 1, 0), (0, 0, -1), [], graph,
        ["the data set has no regions; with_regions computes them from the navmesh"],
    )  # fmt: skip


def thing(key, label, x, y):
    return SceneObject(key, LabelBelief.of(label), Box((x, y, 0.4), (0.6, 0.6, 0.8)))


def test_a_scene_without_regions_gets_them_with_guessed_kinds():
    graph = SceneGraph()
    graph.extend(
        [
            thing("1", "bed", 1, 1),
            thing("2", "wardrobe", 0.1, 3),
            thing("3", "toilet", 5, 1),
            thing("4", "bathtub", 8.2, 2),  # By the wall, outside of where one can stand.
            thing("5", "lamp", 30, 30),
        ]
    )
    scene = description(graph)
    done = with_regions(scene, FLAT)
    assert done.regions == "computed" and not scene.graph.rooms
    names = {t.id: done.graph.rooms[t.room].name for t in done.graph.objects.values() if t.room}
    assert names["1"] == names["2"] and "(bedroom)" in names["1"]
    assert names["3"] == names["4"] and "(bathroom)" in names["3"]
    assert all(room.name.startswith("region ") for room in done.graph.rooms.values())
    assert "5" not in names
    text = " ".join(done.notes)
    assert "computed" in text and "guessed" in text and "1 objects lie in no region" in text
    assert with_regions(done, FLAT) is done


def test_the_same_triangles_give_the_same_regions_in_any_order():
    first = regions_from_navmesh(FLAT)
    second = regions_from_navmesh(np.array(FLAT)[::-1])
    assert [r.polygon for r in first.rooms] == [r.polygon for r in second.rooms]


@pytest.mark.parametrize(
    ("triangles", "says"),
    [
        (np.zeros((0, 3, 3)), "no area"),
        (np.zeros((4, 3, 3)), "no area"),
        (np.zeros((4, 3)), "shape"),
        (np.full((1, 3, 3), np.nan), "finite"),
        (np.array(rectangle(0, 0, 1e6, 1e6)), "too many"),
    ],
)
def test_what_is_no_navmesh_is_refused(triangles, says):
    with pytest.raises(ValueError, match=says):
        regions_from_navmesh(triangles)


def test_the_grid_covers_the_navmesh():
    grid = rasterise(FLAT, 0.1)
    (mask,) = grid.masks
    area = 2 * 3.6**2 + 7.6 * 1.6 + 2 * 0.5 * 0.4
    assert mask.sum() * 0.01 == pytest.approx(area, rel=0.05)
