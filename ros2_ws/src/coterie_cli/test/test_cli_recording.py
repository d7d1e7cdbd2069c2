"""`./coterie record` and `./coterie map`: a house is recorded, and mapped from the recording."""

from __future__ import annotations

import numpy as np
import pytest

from coterie_bringup.errors import CommandError
from coterie_cli.map import MapOptions, map_recording
from coterie_cli.record import RecordOptions, record
from coterie_world.recording import open_recording
from coterie_world.scene import load
from semantic_mapper.files import load_map


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record")
    for out in (folder / "tour", folder / "tour.mcap"):
        options = RecordOptions(
            5, out, floors=1, rooms=4, size=(160, 120), most=36, headings=4, noise="low"
        )
        assert record(options) == 36
    return folder


def test_both_formats_hold_the_same(recorded):
    a, b = open_recording(recorded / "tour"), open_recording(recorded / "tour.mcap")
    assert len(a) == len(b) == 36 and not a.problems and not b.problems
    assert set(a.scene.rooms) == set(b.scene.rooms) and len(a.scene.rooms) == 4
    for k in (0, 20, 35):
        p, q = a[k], b[k]
        np.testing.assert_array_equal(p.frame.color, q.frame.color)
        np.testing.assert_allclose(p.frame.depth, q.frame.depth, atol=6e-4)
        np.testing.assert_allclose(p.frame.camera_to_map, q.frame.camera_to_map, atol=1e-9)
        assert [d.label for d in p.detections] == [d.label for d in q.detections]
    assert {a[k].place for k in range(36)} - {""}


def test_a_map_of_it(recorded, tmp_path, capsys):
    made = map_recording(MapOptions(recorded / "tour.mcap", tmp_path / "map.json"))
    scene = load_map(tmp_path / "map.json")
    assert len(scene.objects) == len(made.scene.objects) >= 10
    assert all(t.properties.get("color") for t in scene.objects.values())
    assert (tmp_path / "map.png").stat().st_size > 10_000
    told = capsys.readouterr().out
    assert "What was found" in told and "36 frames" in told


def test_a_map_as_others_want_it(recorded, tmp_path):
    rooms = recorded / "tour" / "scene.json"
    options = MapOptions(recorded / "tour", tmp_path / "m.voxeland.json", every=3, rooms=rooms)
    made = map_recording(options)
    assert made.frames == 12 and load_map(tmp_path / "m.voxeland.json").objects
    assert load(rooms).rooms


def test_mistakes_are_one_clear_line(recorded, tmp_path):
    out = tmp_path / "map.json"
    for options, told in (
        (MapOptions(tmp_path / "none", out), "does not exist"),
        (MapOptions(recorded / "tour", tmp_path / "map.png"), "--out"),
        (MapOptions(recorded / "tour", out, detector="no_such_module:f"), "MODULE:FUNCTION"),
        (MapOptions(recorded / "tour", out, source="kitti"), "scannet, hm3d"),
        (MapOptions(recorded / "tour", out, rooms=tmp_path / "none.json"), "--rooms"),
    ):
        with pytest.raises(CommandError, match=told):
            map_recording(options)
    with pytest.raises(CommandError, match="no pixels"):
        record(RecordOptions(5, tmp_path / "new", world="graph"))
    with pytest.raises(CommandError, match="already"):
        record(RecordOptions(5, recorded / "tour", rooms=4, floors=1))
