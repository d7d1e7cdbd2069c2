"""The map of a team as a whole: resumed, saved by name, merged, never mixed, bounded."""

import json

import numpy as np
import pytest

from coterie_core.geometry import Box
from coterie_fixtures.drawn_scenes import MUG, SIDES, TABLE, view
from coterie_world.scene import Floor, LabelBelief, Room, SceneGraph, SceneObject, load
from semantic_mapper.builder import (
    BuilderOptions,
    FrameMismatch,
    MapBuilder,
    TeamMaps,
    map_format,
)
from semantic_mapper.files import load_map
from semantic_mapper.options import MapperOptions
from semantic_mapper.state import StateError

HOUSE = {"table": TABLE, "mug": MUG}


def built(boxes=HOUSE, frames=4, **options):
    builder = MapBuilder(BuilderOptions(**options))
    for k in range(frames):
        builder.add(*view(boxes, SIDES[k % len(SIDES)], time=float(k)))
    return builder


def rooms(frame="map"):
    graph = SceneGraph(frame=frame)
    graph.add_floor(Floor("f0", 0, 0.0))
    graph.add_room(Room("r1", "kitchen", "kitchen", "f0", [(0, -4), (6, -4), (6, 4), (0, 4)]))
    return graph


def labels(scene):
    return sorted(t.label.top for t in scene.objects.values())


def test_it_goes_on_where_it_was(tmp_path):
    first = built()
    first.keep(tmp_path / "state.npz")
    second = MapBuilder(BuilderOptions())
    second.resume(tmp_path / "state.npz")
    before, after = first.scene(), second.scene()
    assert after.objects == before.objects
    assert labels(after) == ["mug", "table"]
    (a,), (b,) = first.grids.grids.values(), second.grids.grids.values()
    assert (a.values() == b.values()).all() and a.origin == b.origin
    # And it knows the things again instead of making new ones.
    for builder in (first, second):
        builder.add(*view(HOUSE, SIDES[0], time=9.0))
        builder.add(*view({"vase": ((0.9, 0.4, 0.0), (1.1, 0.6, 0.5))}, SIDES[0], time=10.0))
    assert second.scene().objects == first.scene().objects
    assert [t.id for t in second.mapper.instances] == [t.id for t in first.mapper.instances]


def test_a_state_in_another_frame_is_refused(tmp_path):
    built().keep(tmp_path / "state.npz")
    other = MapBuilder(BuilderOptions(frame="flat"))
    with pytest.raises(
        FrameMismatch, match="a map in frame 'map', and this one is in frame 'flat'"
    ):
        other.resume(tmp_path / "state.npz")


@pytest.mark.parametrize("damage", ["cut", "text", "empty"])
def test_a_broken_state_says_so(tmp_path, damage):
    path = tmp_path / "state.npz"
    built().keep(path)
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "text": b"hello", "empty": b""}[damage])
    with pytest.raises(StateError, match=r"state\.npz: not a mapper's state"):
        MapBuilder(BuilderOptions()).resume(path)


def test_rooms_that_are_known_beforehand(tmp_path):
    builder = built()
    builder.set_prior(rooms())
    scene = builder.scene()
    assert {t.room for t in scene.objects.values()} == {"r1"}
    assert list(builder.grids.grids) == ["f0"]
    with pytest.raises(FrameMismatch, match="two maps in different frames"):
        builder.set_prior(rooms("odom"))


def test_things_that_are_known_beforehand_keep_their_ids():
    prior = rooms()
    prior.add_object(
        SceneObject("table-7", LabelBelief.of("table", 3.0), Box((2.4, 0, 0.375), (0.8, 1.2, 0.75)))
    )
    builder = built()
    builder.set_prior(prior)
    scene = builder.scene()
    assert labels(scene) == ["mug", "table"]
    assert scene.objects["table-7"].observations > 0
    without = built(keep_prior=False)
    without.set_prior(prior)
    assert "table-7" not in without.scene().objects


def test_labels_that_are_no_things_are_left_out():
    assert labels(built(ignore={"table"}).scene()) == ["mug"]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.json", "scene"),
        ("a.voxeland.json", "voxeland"),
        ("my-house_2.dsg.json", "spark-dsg"),
        ("a.ply", "ply"),
    ],
)
def test_a_name_tells_the_format(name, form, tmp_path):
    assert map_format(name) == form
    path = built().save(tmp_path / "maps", name)
    assert path.parent == tmp_path / "maps" and path.stat().st_size > 100
    assert [p.name for p in path.parent.iterdir()] == [name]
    if form != "ply":
        assert labels(load_map(path)) == ["mug", "table"]


@pytest.mark.parametrize(
    "name",
    ["", ".json", "../a.json", "a/b.json", "a\\b.json", "a.txt", "a..json", "\x00.json", "a b.json",
     "~.json", "x" * 200 + ".json", "/etc/a.json"],
)  # fmt: skip
def test_a_name_is_no_path(name, tmp_path):
    with pytest.raises(ValueError, match="expected"):
        built(frames=1).save(tmp_path / "maps", name)
    assert not list(tmp_path.iterdir())


def test_maps_of_two_robots_become_one():
    team, alone = TeamMaps("map"), built().scene()
    team.set("r1", alone)
    team.set("r2", built({**HOUSE, "vase": ((2.3, 0.35, 0.75), (2.4, 0.45, 1.0))}).scene())
    scene = team.scene()
    assert labels(scene) == ["mug", "table", "vase"]
    assert all(scene.objects[id_].observations > t.observations for id_, t in alone.objects.items())
    team.set("r2", SceneGraph())
    assert labels(team.scene()) == ["mug", "table"]


def test_maps_in_different_frames_are_never_mixed():
    team = TeamMaps("map")
    team.set("r1", built().scene())
    with pytest.raises(FrameMismatch, match="the map of 'r2' is in 'r2/odom'"):
        team.set("r2", SceneGraph(frame="r2/odom"))
    assert team.robots == ("r1",)


def test_memory_is_bounded_whatever_comes():
    """New things in every frame: what is kept after many frames is what was kept after some."""
    options = MapperOptions(most_instances=20, most_points=100, publish=1)
    builder = MapBuilder(BuilderOptions(mapper=options))
    rng = np.random.default_rng(0)
    sizes = []
    for k in range(60):
        x, y = rng.uniform(1.0, 3.5), rng.uniform(-1.0, 1.0)
        boxes = {"a": ((x, y, 1.0), (x + 0.3, y + 0.3, 1.4)), "table": TABLE}
        builder.add(*view(boxes, SIDES[k % 3], time=float(k)))
        if k >= 30:
            things = builder.mapper.instances
            kept = sum(t.points.nbytes + (0 if t.crop is None else t.crop.nbytes) for t in things)
            sizes.append(kept + sum(2 * g.free.nbytes for g in builder.grids.grids.values()))
            assert len(things) <= 20 and all(len(t.points) <= 100 for t in things)
    assert max(sizes) < 1.5 * sizes[0]


def test_what_is_published_is_json_that_loads(tmp_path):
    path = built().save(tmp_path, "a.json")
    assert json.loads(path.read_text())["frame"] == "map"
    assert labels(load(path)) == ["mug", "table"]
