"""Which box a click means, and where some boxes are."""

import numpy as np
import pytest

from coterie_console.map_shapes import map_shapes
from coterie_core.geometry import Box
from coterie_world.scene import Floor, LabelBelief, SceneGraph, SceneObject
from research.annotate.shapes import bounds, boxes_of, hit, on_floor


def thing(id_, label, center, size=(0.5, 0.5, 0.5), yaw=0.0):
    return SceneObject(id_, LabelBelief.of(label), Box(center, size, yaw))


def test_a_click_means_the_nearest_box_that_one_does_not_stand_in():
    graph = SceneGraph()
    for k, x in enumerate((1.0, 3.0, 5.0)):
        graph.add_object(thing(f"o{k}", "box", (x, 0, 0)))
    boxes = map_shapes(graph).storeys[0].solid
    origin = np.array([-1.0, 0, 0]) - map_shapes(graph).origin
    assert [i for _, i in hit(boxes, origin, (2.0, 0, 0))] == ["o0", "o1", "o2"]
    assert [i for _, i in hit(boxes, origin + np.array([2, 0, 0]), (1.0, 0, 0))] == ["o1", "o2"]
    assert hit(boxes, origin, (-1.0, 0, 0)) == hit(boxes, origin, (0, 0, 1.0)) == []
    turned = SceneGraph()
    turned.add_object(thing("d", "box", (0, 0, 0), (2.0, 0.1, 1.0), yaw=np.pi / 4))
    boxes = map_shapes(turned).storeys[0].solid
    [(near, _)], [(far, _)] = (hit(boxes, (2, y, 0), (-1.0, 0, 0)) for y in (0.6, -0.6))
    assert (near, far) == pytest.approx((1.33, 2.53), abs=0.01)
    assert not hit(boxes, (2.0, 0.9, 0), (-1.0, 0, 0))


def test_boxes_by_id_and_floor():
    graph = SceneGraph()
    for k in range(2):
        graph.add_floor(Floor(f"f{k}", k, 3.0 * k))
    graph.add_object(thing("desk", "desk", (1, 1, 0.4)))
    graph.add_object(thing("lamp", "lamp", (1, 1, 3.4)))
    shapes = map_shapes(graph)
    assert on_floor(shapes, "Floor 1") == {"lamp"}
    low, high = bounds(shapes, ["Floor 1"])
    assert (low[2], high[2]) == pytest.approx((3.15, 3.65))
    assert boxes_of(shapes, ["lamp", "nowhere", "desk"]).ids == ("lamp", "desk")
    assert boxes_of(shapes, []).ids == ()
