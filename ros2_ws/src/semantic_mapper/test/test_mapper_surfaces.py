"""Support surfaces of mapped furniture: found where they are, and nowhere else."""

import math

import numpy as np
import pytest

from coterie_core.geometry import Box, heading_axes
from coterie_fixtures.drawn_scenes import MUG, SIDES, TABLE, view
from coterie_world.perception.support_surfaces import support_surfaces
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject, merge
from coterie_world.scene.model import Receptacle
from semantic_mapper.mapper import SemanticMapper

pytestmark = pytest.mark.quick
RNG = np.random.default_rng(4)


def slab(box: Box, noise: float = 0.004, count: int = 800) -> np.ndarray:
    """Points on the upper face of a box."""
    points = RNG.uniform(-0.5, 0.5, (count, 3)) * np.array([*box.size[:2], 0.0])
    points = points @ heading_axes(box.yaw).T + np.array(box.center)
    return points + RNG.normal(0.0, noise, points.shape) * (0.0, 0.0, 1.0)


def wall(x: float, height: float) -> np.ndarray:
    """Points of an upright face."""
    return np.column_stack(
        [np.full(600, x), RNG.uniform(-0.5, 0.5, 600), RNG.uniform(0.0, height, 600)]
    )


def test_boards_of_a_shelf_are_told_apart_and_its_back_is_none() -> None:
    boards = [Box((0.0, 0.0, z), (0.3, 1.0, 0.0)) for z in (0.4, 0.75, 1.1)]
    points = np.concatenate([*(slab(one) for one in boards), wall(-0.15, 1.2)])
    found = support_surfaces(points, 0.1, 1.3)
    assert sorted(one.box.center[2] for one in found) == pytest.approx([0.4, 0.75, 1.1], abs=0.01)
    assert all(one.variance < 0.02**2 for one in found)
    low = support_surfaces(points, 0.1, 1.0)  # a camera below the highest one
    assert sorted(one.box.center[2] for one in low) == pytest.approx([0.4, 0.75], abs=0.01)


@pytest.mark.parametrize("yaw", [0.0, 0.5, 1.2])
def test_a_turned_table_has_its_own_edges(yaw: float) -> None:
    (found,) = support_surfaces(slab(Box((2.0, 1.0, 0.7), (1.6, 0.8, 0.0), yaw)), 0.1, 1.2)
    assert sorted(found.box.size[:2]) == pytest.approx([0.8, 1.6], abs=0.12)
    long_side = found.box.yaw if found.box.size[0] > 1.2 else found.box.yaw + math.pi / 2.0
    assert math.sin(long_side - yaw) == pytest.approx(0.0, abs=0.1)
    assert found.box.center == pytest.approx((2.0, 1.0, 0.7), abs=0.03)


def test_noise_is_in_the_variance() -> None:
    box = Box((0.0, 0.0, 0.7), (1.0, 1.0, 0.0))
    (quiet,), (loud,) = (support_surfaces(slab(box, n), 0.1, 1.2) for n in (0.002, 0.012))
    assert quiet.variance < 0.1 * loud.variance
    assert math.sqrt(loud.variance) == pytest.approx(0.012, rel=0.3)


def test_small_upright_and_sparse_things_have_none() -> None:
    assert not support_surfaces(wall(0.0, 1.0), 0.0, 2.0)
    assert not support_surfaces(slab(Box((0.0, 0.0, 0.5), (0.08, 0.08, 0.0))), 0.0, 2.0)
    ring = slab(Box((0.0, 0.0, 0.5), (1.0, 1.0, 0.0)))
    ring = ring[np.abs(ring[:, :2]).max(axis=1) > 0.47]
    assert not support_surfaces(ring, 0.0, 2.0)


def test_the_map_tells_the_top_of_a_table_and_none_of_a_mug() -> None:
    mapper = SemanticMapper()
    for side in (*SIDES, *SIDES):
        mapper.update(*view({"table": TABLE, "mug": MUG}, side))
    things = {thing.label.top: thing for thing in mapper.scene().objects.values()}
    (top,) = things["table"].receptacles
    assert top.surface.center[2] == pytest.approx(TABLE[1][2], abs=0.02)
    assert 0.0 < top.variance < 0.02**2 and not top.inside
    assert not things["mug"].receptacles


def of(surfaces: list[Receptacle], observations: int) -> SceneGraph:
    graph = SceneGraph()
    box = Box((0.0, 0.0, 0.4), (1.0, 1.0, 0.8))
    graph.add_object(
        SceneObject(
            "t", LabelBelief.of("table"), box, receptacles=surfaces, observations=observations
        )
    )
    return graph


def test_merged_maps_keep_what_was_told_else_the_surer_estimate() -> None:
    plane = Box((0.0, 0.0, 0.8), (1.0, 1.0, 0.0))
    told, rough, fine = (Receptacle(id_, plane, variance=v) for id_, v in
                         (("top", 0.0), ("a/level_1", 1e-3), ("b/level_1", 1e-4)))  # fmt: skip
    merged = merge(of([rough], 3), of([fine], 9))[0].objects["t"]
    assert [r.id for r in merged.receptacles] == ["b/level_1"]
    merged = merge(of([told], 1), of([fine], 9))[0].objects["t"]
    assert [r.id for r in merged.receptacles] == ["top"]
