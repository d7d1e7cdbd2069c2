"""Meshes: inside their boxes, truthful about what hides what, deterministic."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_core.geometry import Box
from coterie_core.household import load_household
from coterie_fixtures.house_mesh import HouseMesh, build_mesh
from coterie_world.scene import LabelBelief, SceneObject
from habitat_bridge.house.disturbance import LEAST, MOST
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.surfaces import levels, receptacles_of
from habitat_bridge.house.usual import load_usual
from habitat_bridge.render.mesh import object_mesh, structure_meshes
from habitat_bridge.render.mesh_parts import parse_color
from habitat_bridge.render.mesh_shapes import BUILDERS, build_shape

SIZES = load_usual()
HOUSE = generate_house(8, floors=2, rooms=12)


@functools.cache
def whole() -> HouseMesh:
    return build_mesh(HOUSE)


def thing_of(
    shape: str, box: Box, *, is_open: bool | None = None, level: float = 1.0
) -> SceneObject:
    return SceneObject(
        "thing",
        LabelBelief.of("thing"),
        box,
        is_open=is_open,
        properties={"shape": shape, "color": "#a08060", "level": str(level)},
        receptacles=receptacles_of("thing", shape, box, 0.0, level),
    )


def typical(shape: str) -> Box:
    for category in load_household().categories.values():
        if category.shape == shape and category.label in SIZES:
            width, depth, height = (sum(r) / 2 for r in SIZES[category.label].size)
            return Box((1.0, 2.0, height / 2), (depth, width, height), 0.3)
    return Box((1.0, 2.0, 0.25), (0.5, 0.5, 0.5), 0.3)


def raycaster(vertices, triangles):
    from coterie_core.open3d_library import o3d

    scene = o3d.t.geometry.RaycastingScene()
    scene.add_triangles(o3d.core.Tensor(vertices), o3d.core.Tensor(triangles))

    def hits(origin, target):
        ray = np.array([[*origin, *np.subtract(target, origin)]], dtype=np.float32)
        return float(scene.cast_rays(o3d.core.Tensor(ray))["t_hit"].numpy()[0])

    return hits


def test_every_shape_of_the_household_is_known():
    shapes = {c.shape for c in load_household().categories.values()} - {"none"}
    assert shapes <= set(BUILDERS)


@pytest.mark.parametrize("shape", sorted(BUILDERS))
@settings(max_examples=12, deadline=None)
@given(
    scale=st.tuples(*(st.floats(LEAST, MOST) for _ in range(3))),
    level=st.floats(LEAST, MOST),
    yaw=st.floats(-3.1, 3.1),
    is_open=st.booleans(),
)
def test_a_mesh_stays_within_its_box(shape, scale, level, yaw, is_open):
    box = typical(shape)
    size = tuple(a * b for a, b in zip(box.size, scale, strict=True))
    box = Box(box.center, size, yaw)
    mesh = object_mesh(thing_of(shape, box, is_open=is_open, level=level))
    assert len(mesh.triangles) == len(mesh.color) > 0
    assert mesh.triangles.max() < len(mesh.vertices)
    for vertex in mesh.vertices:
        assert box.contains(tuple(float(v) for v in vertex), 1e-4)
    assert mesh.vertices.dtype == np.float32 and mesh.triangles.dtype == np.uint32
    assert mesh.color.dtype == np.uint8


@pytest.mark.parametrize("shape", sorted(BUILDERS))
def test_a_mesh_fills_the_height_of_its_box(shape):
    box = typical(shape)
    vertices, _, _ = build_shape(shape, box.size, (100, 100, 100), False).arrays()
    assert vertices[:, 2].max() == pytest.approx(box.size[2], abs=0.02)
    assert vertices[:, 2].min() < (0.6 if shape == "rail" else 0.07)


@pytest.mark.parametrize("level", [LEAST, 1.0, MOST])
@pytest.mark.parametrize("shape", sorted(s for s in BUILDERS if levels(s, typical(s).size)))
def test_what_stands_on_a_surface_touches_the_mesh(shape, level):
    """A ray down onto each surface ends on it: boards and seats are where receptacles say."""
    box = dataclasses.replace(typical(shape), yaw=0.0)
    thing = thing_of(shape, box, is_open=True, level=level)
    mesh = object_mesh(thing)
    hits = raycaster(mesh.vertices, mesh.triangles)
    assert thing.receptacles
    for receptacle in thing.receptacles:
        x, y, z = receptacle.surface.center
        drop = 0.1
        # Off the middle, where handles and gaps between doors are.
        x, y = x + 0.013, y + 0.021
        share = hits((x, y, z + drop), (x, y, z - drop))
        assert share * 2 * drop == pytest.approx(drop, abs=0.012), receptacle.id


@pytest.mark.parametrize("shape", ["cabinet", "low cabinet", "drawers", "fridge", "oven", "washer"])
def test_a_closed_container_hides_and_an_open_one_shows(shape):
    box = dataclasses.replace(typical(shape), yaw=0.0)
    inner = next(r for r in thing_of(shape, box).receptacles if r.inside)
    x, y, z = inner.surface.center
    target = (x, y + 0.02, z + 0.05)
    eye = (box.center[0] + 2.0, target[1], target[2])
    for is_open in (False, True):
        mesh = object_mesh(thing_of(shape, box), is_open)
        share = raycaster(mesh.vertices, mesh.triangles)(eye, target)
        assert (share < 1.0) != is_open
    closed = object_mesh(thing_of(shape, box), False)
    hits = raycaster(closed.vertices, closed.triangles)
    for dx, dy, dz in ((-2, 0, 0), (0, 2, 0), (0, -2, 0), (0, 0, 2)):
        assert hits((x + dx, y + 0.02 + dy, z + 0.05 + dz), target) < 1.0


def test_one_sees_under_a_table_and_not_through_a_counter():
    for shape, clear in (("table", True), ("counter", False)):
        box = dataclasses.replace(typical(shape), yaw=0.0)
        mesh = object_mesh(thing_of(shape, box))
        x, y, _ = box.center
        share = raycaster(mesh.vertices, mesh.triangles)(
            (x + 2, y + 0.1, 0.4), (x - 2, y + 0.1, 0.4)
        )
        assert (share > 1.0) == clear


def test_the_house_mesh_names_everything():
    mesh = whole()
    assert len(mesh.triangles) == len(mesh.instance) == len(mesh.part) == len(mesh.color)
    assert mesh.instances == ["", *(t.id for t in HOUSE.objects)]
    assert set(np.unique(mesh.instance)) == set(range(len(mesh.instances)))
    assert np.all((mesh.part > 0) == (mesh.instance == 0))
    assert {mesh.parts[k] for k in np.unique(mesh.part)} == {
        "", "wall", "floor", "ceiling", "door frame", "stairs",
    }  # fmt: skip
    assert mesh.triangles.max() < len(mesh.vertices)
    again = build_mesh(HOUSE)
    assert np.array_equal(mesh.vertices, again.vertices)
    assert np.array_equal(mesh.color, again.color)


def test_a_moved_object_is_elsewhere_and_nothing_else_is():
    thing = next(t for t in HOUSE.objects if t.kind == "item")
    box = dataclasses.replace(thing.box, center=(1.0, 1.0, 5.0))
    before, after = whole(), build_mesh(HOUSE, moved={thing.id: box})
    changed = np.flatnonzero(np.any(before.vertices != after.vertices, axis=1))
    rows = np.unique(before.triangles[before.instance == before.instances.index(thing.id)])
    assert set(changed) <= set(rows)
    assert np.allclose(after.vertices[rows].mean(axis=0)[:2], (1.0, 1.0), atol=0.2)


def test_floors_carry_walls_stop_and_doors_let_through():
    mesh = whole()
    keep = mesh.instance == 0
    hits = raycaster(mesh.vertices, mesh.triangles[keep])
    levels_ = {f.id: f for f in HOUSE.floors}
    for room in HOUSE.rooms:
        floor = levels_[room.floor]
        (x0, y0), (x1, y1) = room.polygon[0], room.polygon[1]
        # Half a metre into the room from its first wall: polygons run counter-clockwise.
        length = float(np.hypot(x1 - x0, y1 - y0))
        nx, ny = -(y1 - y0) / length, (x1 - x0) / length
        px, py = (x0 + x1) / 2 + 0.5 * nx, (y0 + y1) / 2 + 0.5 * ny
        well = [s for s in HOUSE.stairs if room.id in (s.room_low, s.room_high)]
        if not well:
            down = hits((px, py, floor.elevation + 1.0), (px, py, floor.elevation - 1.0))
            assert down * 2.0 == pytest.approx(1.0, abs=1e-3)
        if room.type != "balcony" and not well:
            top = floor.elevation + floor.ceiling_height
            up = hits((px, py, top - 1.0), (px, py, top + 1.0))
            assert up * 2.0 == pytest.approx(1.0, abs=1e-3)
    for door in HOUSE.doors:
        x, y, z = door.center
        c, s = np.cos(door.yaw), np.sin(door.yaw)
        for height, clear in ((1.0, True), (door.height + 0.2, False)):
            a = (x - 0.3 * s, y + 0.3 * c, z + height)
            b = (x + 0.3 * s, y - 0.3 * c, z + height)
            assert (hits(a, b) > 1.0) == clear
        # Beside the gap there is wall.
        w = door.width / 2 + 0.03
        a = (x + c * w - 0.3 * s, y + s * w + 0.3 * c, z + 1.0)
        b = (x + c * w + 0.3 * s, y + s * w - 0.3 * c, z + 1.0)
        assert hits(a, b) < 1.0


def test_one_can_look_up_the_stairwell():
    stairs = HOUSE.stairs[0]
    structure = structure_meshes(HOUSE)
    for part in ("floor", "ceiling"):
        hits = raycaster(structure[part].vertices, structure[part].triangles)
        x, y, _ = stairs.treads[5].center
        low, high = stairs.bottom[2], stairs.top[2]
        assert hits((x, y, low + 1.3), (x, y, high + 0.5)) > 1.0


def test_colours():
    assert parse_color("#102030") == (16, 32, 48)
    assert parse_color("tomato") == parse_color("#zzzzzz") == (160, 160, 160)
