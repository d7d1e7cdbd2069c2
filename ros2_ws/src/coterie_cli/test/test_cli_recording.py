"""`./coterie record` and `./coterie map`: a house is recorded, and mapped from the recording."""

from __future__ import annotations

import numpy as np
import pytest

from coterie_bringup.errors import CommandError
from coterie_cli.map import MapOptions, map_recording
from coterie_cli.record import RecordOptions, record
from coterie_recordings import open_recording
from coterie_world.scene import save
from semantic_mapper.files import load_map


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record")
    options = RecordOptions(
        folder / "tour.mcap",
        5,
        floors=1,
        rooms=4,
        width=160,
        most=36,
        headings=4,
        noise="low",
    )
    assert record(options) == 0
    return folder


def test_it_holds_what_the_robot_saw(recorded):
    tour = open_recording(recorded / "tour.mcap")
    assert len(tour) == 36 and not tour.problems and len(tour.scene.rooms) == 4
    shown = tour[20]
    assert shown.frame.robot == "scout" and shown.frame.color.shape == (120, 160, 3)
    assert (shown.frame.depth > 0.0).any() and any(one.detections for one in tour)
    np.testing.assert_allclose(shown.frame.camera_to_map[2, 3], 1.2, atol=0.05)


def test_a_map_of_it(recorded, tmp_path, capsys):
    made = map_recording(MapOptions(recorded / "tour.mcap", tmp_path / "map.json"))
    scene = load_map(tmp_path / "map.json")
    assert len(scene.objects) == len(made.scene.objects) >= 10
    assert all(t.properties.get("color") for t in scene.objects.values())
    assert (tmp_path / "map.png").stat().st_size > 10_000
    told = capsys.readouterr().out
    assert "What was found" in told and "36 frames" in told


def test_a_map_as_others_want_it(recorded, tmp_path):
    rooms, out = tmp_path / "rooms.json", tmp_path / "m.voxeland.json"
    save(open_recording(recorded / "tour.mcap").scene, rooms)
    made = map_recording(MapOptions(recorded / "tour.mcap", out, every=3, rooms=rooms))
    assert made.frames == 12 and load_map(out).objects


def test_mistakes_are_one_clear_line(recorded, tmp_path):
    out = tmp_path / "map.json"
    for options, told in (
        (MapOptions(tmp_path / "none", out), "does not exist"),
        (MapOptions(recorded / "tour.mcap", tmp_path / "map.png"), "--out"),
        (MapOptions(recorded / "tour.mcap", out, detector="no_such_module:f"), "PYTHONPATH"),
        (MapOptions(recorded / "tour.mcap", out, source="kitti"), "scannet, hm3d"),
        (MapOptions(recorded / "tour.mcap", out, rooms=tmp_path / "none.json"), "--rooms"),
    ):
        with pytest.raises(CommandError, match=told):
            map_recording(options)
    with pytest.raises(CommandError, match="no pixels"):
        record(RecordOptions(tmp_path / "new", 5, world="graph"))
    with pytest.raises(CommandError, match="already"):
        record(RecordOptions(recorded / "tour.mcap", 5, rooms=4, floors=1))
