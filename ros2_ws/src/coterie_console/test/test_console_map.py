"""What is drawn of a map."""

import numpy as np
import pytest

from coterie_console.map_shapes import VIEW_RAD, look_from, map_shapes
from coterie_console.text import escaped, plain
from coterie_core.geometry import Box
from coterie_world.scene import Floor, LabelBelief, Room, SceneGraph, SceneObject

pytestmark = pytest.mark.quick

SQUARE = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)]


def thing(id_, label, center, size=(0.5, 0.5, 0.5), room="", yaw=0.0):
    return SceneObject(id_, LabelBelief.of(label), Box(center, size, yaw), room=room)


def house():
    graph = SceneGraph()
    for k in range(2):
        graph.add_floor(Floor(f"f{k}", k, 3.0 * k))
        graph.add_room(Room(f"r{k}", "study", "study", f"f{k}", list(SQUARE)))
    graph.add_object(thing("desk-2", "desk", (1, 1, 0.4), room="r0"))
    graph.add_object(thing("desk-10", "desk", (3, 1, 0.4), room="r0"))
    graph.add_object(thing("lamp", "lamp", (1, 1, 3.4)))  # no room: by its height
    return graph


def test_floors_rooms_and_edges_of_a_house():
    shapes = map_shapes(house())
    assert [(s.name, s.solid.ids) for s in shapes.storeys] == [
        ("Floor 0", ("desk-2", "desk-10")),
        ("Floor 1", ("lamp",)),
    ]
    room = shapes.storeys[1].rooms[0]
    corners = room.vertices[room.faces]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.abs(cross[:, 2]).sum() / 2 == pytest.approx(16.0)
    assert set(room.vertices[:, 2]) == {3.0}
    boxes = shapes.storeys[0].solid
    assert boxes.edges().shape == (24, 2, 3)
    lengths = np.linalg.norm(np.diff(boxes.edges(), axis=1), axis=-1)
    assert lengths == pytest.approx(0.5)


def test_maps_far_away_keep_their_precision_and_odd_shapes_are_drawn():
    graph = SceneGraph()
    graph.add_object(thing("a", "a", (4.5e6, -3.2e6, 1.0), (0.0, 0.0, 0.0)))
    graph.add_room(Room("bow", "bow", "room", "", [(0, 0), (1, 1), (1, 0), (0, 1)]))
    graph.add_room(Room("line", "line", "room", "", [(0, 0), (1, 0), (2, 0)]))
    shapes = map_shapes(graph)
    assert [r.id for s in shapes.storeys for r in s.rooms] == ["bow"]
    graph.rooms.clear()
    boxes = map_shapes(graph).storeys[0].solid
    assert np.abs(boxes.centers).max() < 10 and boxes.sizes.min() > 0
    empty = map_shapes(SceneGraph())
    assert empty.storeys[0].solid.ids == () and (empty.high > empty.low)[:2].all()


def test_a_box_around_everything_is_no_obstacle_to_clicks():
    graph = SceneGraph()
    for k in range(8):
        graph.add_object(thing(f"o{k}", "cup", (float(k), 0, 0.5)))
    graph.add_object(thing("wall", "wall", (3.5, 0, 1.0), (12.0, 6.0, 3.0)))
    storey = map_shapes(graph).storeys[0]
    assert storey.shells.ids == ("wall",) and len(storey.solid.ids) == 8


@pytest.mark.parametrize("aspect", [1.6, 0.46])  # a screen, and a phone held upright
def test_all_of_a_map_is_in_view(aspect):
    low, high = np.array([-3.0, -8.0, 0.0]), np.array([25.0, 8.0, 2.5])
    at, to = look_from(low, high, aspect)
    ahead = (to - at) / np.linalg.norm(to - at)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up, half = np.cross(right, ahead), np.tan(VIEW_RAD / 2)
    seen = []
    for corner in np.stack(np.meshgrid(*zip(low, high, strict=True)), -1).reshape(-1, 3) - at:
        depth = corner @ ahead
        seen.append((abs(corner @ right) / depth / half / aspect, abs(corner @ up) / depth / half))
    assert np.max(seen) < 1.0 and np.max(seen) > 0.85  # whole, and no smaller than need be


def test_text_of_others_is_only_text():
    odd = '<img src=x onerror="alert(1)">\n\x1b[2J\u202e 🪑 &amp;'
    assert escaped(odd) == "&lt;img src=x onerror=&quot;alert(1)&quot;&gt; ·[2J· 🪑 &amp;amp;"
    assert plain("a" * 10_000, 8) == "a" * 7 + "…" and plain("") == ""
