"""Recordings in folders, ours and others': what is written is read, what is cut off is told."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.embedding import Embedding
from coterie_world.recording import (
    RecordedFrame,
    RecordingError,
    RecordingWriter,
    open_recording,
    readable,
    sample_evenly,
)
from coterie_world.recording.images import encode_depth
from coterie_world.scene import Room, SceneGraph

ROWS, COLS = 12, 16
AHEAD = np.array([[0, 0, 1, 1.0], [-1, 0, 0, 2.0], [0, -1, 0, 1.2], [0, 0, 0, 1.0]])


def frame(k, color=True):
    rng = np.random.default_rng(k)
    depth = rng.uniform(0.3, 6.0, (ROWS, COLS)).astype(np.float32)
    depth[0] = np.nan
    pixels = rng.integers(0, 256, (ROWS, COLS, 3), dtype=np.uint8) if color else None
    pose = AHEAD.copy()
    pose[0, 3] = k
    mask = rng.random((4, 5)) > 0.5
    look = Embedding.of("clip", [0.6, 0.8])
    found = (
        ImageDetection((2, 3, 5, 4), {"mug": 0.9, "cup": 0.1}, mask, look, {"color": "red"}),
        ImageDetection((-1, 0, 3, 2), {"Taſſe\n": 0.5}),
    )
    rgbd = RgbdFrame(depth, (9.5, 9.25, 8.0, 6.0), pose, pixels, 10.0 + k, "scout")
    return RecordedFrame(f"f{k}", rgbd, found, "a mug on a table", "place_3")


@pytest.fixture
def folder(tmp_path):
    rooms = SceneGraph()
    rooms.add_room(Room("room_1", "kitchen", "kitchen", "", [(0, 0), (3, 0), (3, 3)]))
    with RecordingWriter(tmp_path / "rec", scene=rooms) as writer:
        for k in range(4):
            writer.add(frame(k, color=k != 2))
    return tmp_path / "rec"


def lines_of(folder):
    return (folder / "frames.jsonl").read_text("utf-8").splitlines()


def rewrite(folder, k, **changes):
    lines = lines_of(folder)
    lines[k] = json.dumps(json.loads(lines[k]) | changes)
    (folder / "frames.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def test_what_is_written_is_read(folder):
    recording = open_recording(folder)
    assert (len(recording), recording.name, recording.problems) == (4, "rec", ())
    assert set(recording.scene.rooms) == {"room_1"}
    for k in range(4):
        got, put = recording[k], frame(k, color=k != 2)
        np.testing.assert_allclose(got.frame.depth, np.nan_to_num(put.frame.depth), atol=0.0006)
        assert (got.frame.color is None) == (k == 2)
        if k != 2:
            np.testing.assert_array_equal(got.frame.color, put.frame.color)
        np.testing.assert_array_equal(got.frame.camera_to_map, put.frame.camera_to_map)
        assert got.frame.intrinsics == put.frame.intrinsics
        assert (got.frame.time, got.frame.robot) == (10.0 + k, "scout")
        assert (got.name, got.caption, got.place) == (f"f{k}", "a mug on a table", "place_3")
        for a, b in zip(got.detections, put.detections, strict=True):
            assert (a.box, dict(a.scores), dict(a.attributes)) == (
                b.box, dict(b.scores), dict(b.attributes),
            )  # fmt: skip
            assert (a.mask is None) == (b.mask is None)
        np.testing.assert_array_equal(got.detections[0].mask, put.detections[0].mask)
        assert got.detections[0].embedding == Embedding.of("clip", [0.6, 0.8])
    with pytest.raises(IndexError):
        recording[4]


def test_no_detector_is_not_the_same_as_nothing_found(tmp_path):
    with RecordingWriter(tmp_path / "r", color="jpg") as writer:
        writer.add(replace(frame(0), detections=None))
        writer.add(replace(frame(1), detections=()))
        with pytest.raises(RecordingError, match="taken"):
            writer.add(frame(1))
    recording = open_recording(tmp_path / "r")
    assert recording[0].detections is None and recording[1].detections == ()
    assert (tmp_path / "r" / "color" / "000000.jpg").is_file()
    with pytest.raises(RecordingError, match="already"):
        RecordingWriter(tmp_path / "r")


def test_cut_off_while_writing(folder):
    text = (folder / "frames.jsonl").read_bytes()
    (folder / "frames.jsonl").write_bytes(text[:-40])
    image = (folder / "depth" / "000001.png").read_bytes()
    (folder / "depth" / "000001.png").write_bytes(image[: len(image) // 2])
    header = json.loads((folder / "recording.json").read_text())
    (folder / "recording.json").write_text(json.dumps(header | {"complete": False}))
    recording = open_recording(folder)
    assert [r.name for r in recording] == ["f0", "f2"]
    told = " | ".join(recording.problems)
    assert "not finished" in told and "line is cut off" in told and "000001.png" in told


def test_a_damaged_image_names_the_file_and_the_rest_is_used(folder):
    path = folder / "color" / "000001.png"
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(data)
    recording = open_recording(folder)
    with pytest.raises(RecordingError, match=r"000001\.png.*damaged.*copy it again"):
        recording[1]
    problems: list[str] = []
    assert [r.name for _, r in readable(recording, problems)] == ["f0", "f2", "f3"]
    assert len(problems) == 1


@pytest.mark.parametrize("name", ["../secret.png", "/etc/hostname", "depth/../../x.png", "link/x"])
def test_paths_stay_within_the_folder(folder, tmp_path, name):
    (tmp_path / "x.png").write_bytes(encode_depth(np.ones((ROWS, COLS))))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_bytes(encode_depth(np.ones((ROWS, COLS))))
    os.symlink(tmp_path / "outside", folder / "link")
    rewrite(folder, 1, depth=name)
    recording = open_recording(folder)
    assert [r.name for r in recording] == ["f0", "f2", "f3"]
    assert "folder" in recording.problems[0]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pose": [0.0] * 16}, "pose"),
        ({"pose": [1.0] * 9}, "pose"),
        ({"intrinsics": [0, 1, 1, 1]}, "intrinsics"),
        ({"time": "yesterday"}, "time"),
        ({"name": "f0"}, "second frame"),
        ({"detections": [{"box": [0, 0, 4, 4], "mask": [3, 2]}]}, "mask"),
        ({"detections": [{"box": [0, 0, 9000, 4]}]}, "box"),
        ({"detections": [{"box": [0, 0, 4, 4], "scores": {"mug": 7}}]}, "scores"),
    ],
)
def test_bad_lines_are_skipped_and_told(folder, changes, told):
    rewrite(folder, 1, **changes)
    recording = open_recording(folder)
    assert [r.name for r in recording] == ["f0", "f2", "f3"]
    assert "line 2" in recording.problems[0] and told in recording.problems[0]


def test_absurd_sizes_and_strange_images_are_refused(folder):
    Image.new("L", (20_000, 1)).save(folder / "depth" / "000000.png")
    Image.new("RGB", (COLS, ROWS)).save(folder / "depth" / "000001.png")
    Image.new("RGB", (COLS, ROWS + 1)).save(folder / "color" / "000003.png")
    recording = open_recording(folder)
    for k, told in ((0, "8192"), (1, "16 bits"), (3, "same pixels")):
        with pytest.raises(RecordingError, match=told):
            recording[k]


def test_what_is_no_recording_says_what_is(tmp_path):
    with pytest.raises(RecordingError, match="does not exist"):
        open_recording(tmp_path / "nothing")
    with pytest.raises(RecordingError, match=r"frames\.jsonl"):
        open_recording(tmp_path)
    (tmp_path / "frames.jsonl").write_text("")
    (tmp_path / "recording.json").write_text('{"format": "coterie-recording/9"}')
    with pytest.raises(RecordingError, match="newer"):
        open_recording(tmp_path)


def test_samples_are_even():
    class Thousand:
        def __len__(self):
            return 1000

    assert sample_evenly(Thousand(), 4) == [0, 333, 666, 999]
    assert sample_evenly(Thousand(), 1) == [500]
    assert len(sample_evenly(Thousand(), 50)) == 50
    assert sample_evenly(Thousand(), 0) == []


# -- exported folders ---------------------------------------------------------------------------


def write_scan(folder, poses, camera, depth_scale=0.001, size=(ROWS, COLS), digits=6):
    folder.mkdir(parents=True)
    for k, pose in enumerate(poses):
        stem = f"{k:0{digits}d}"
        depth = np.full((ROWS, COLS), 2.0, dtype=np.float32)
        (folder / f"{stem}-depth.png").write_bytes(encode_depth(depth * 0.001 / depth_scale))
        pixels = np.zeros((*size, 3), dtype=np.uint8)
        pixels[: size[0] // 2, size[1] // 2 :] = (255, 0, 0)
        Image.fromarray(pixels).save(folder / f"{stem}-rgb.png")
        np.savetxt(folder / f"{stem}.txt", pose, fmt="%f")
    for name in ("color", "depth"):
        k4 = np.eye(4)
        k4[0, 0], k4[1, 1], k4[0, 2], k4[1, 2] = camera
        if name == "color":
            k4[:2] *= size[1] / COLS
            k4[0, 2] += size[1] / COLS / 2 - 0.5
            k4[1, 2] += size[1] / COLS / 2 - 0.5
        np.savetxt(folder / f"intrinsic_{name}.txt", k4, fmt="%f")
    return folder


def test_scannet_keeps_its_axes_and_colour_comes_to_depths_pixels(tmp_path):
    lost = np.full((4, 4), -np.inf)
    poses = [AHEAD, lost, AHEAD]
    camera = (14.0, 14.0, 7.5, 5.5)
    folder = write_scan(tmp_path / "scene0001_00", poses, camera, size=(2 * ROWS, 2 * COLS))
    recording = open_recording(folder)
    assert [r.name for r in recording] == ["000000", "000002"]
    assert "1 of 3 frames skipped: no valid pose" in recording.problems[0]
    frame = recording[1].frame
    np.testing.assert_allclose(frame.depth, 2.0, atol=1e-3)
    np.testing.assert_allclose(frame.camera_to_map, AHEAD)
    # Pixel centres lie at halves here, at whole numbers in ScanNet.
    assert frame.intrinsics == (14.0, 14.0, 8.0, 6.0)
    assert frame.color.shape == (ROWS, COLS, 3)
    assert (frame.color[: ROWS // 2, COLS // 2 :, 0] == 255).all()
    assert frame.color[ROWS // 2 :].max() == 0 and frame.color[:, : COLS // 2].max() == 0


def test_hm3d_comes_out_z_up_and_looking_ahead(tmp_path):
    # A camera 1.5 m above the floor at (1, -2) that looks along +x, as the simulator has it: y up,
    # looking along -z of its own.
    pose = np.eye(4)
    pose[:3, :3] = np.array([[0, 0, -1], [0, 1, 0], [1, 0, 0]])
    pose[:3, 3] = (1.0, 1.5, 2.0)
    fx, hfov = COLS / 2.0, np.pi / 2
    written = ROWS / 2.0 / np.tan(hfov * ROWS / COLS / 2.0)
    folder = write_scan(
        tmp_path / "000-hm3d-x", [pose], (fx, written, COLS / 2, ROWS / 2), 10.0 / 65535.0, digits=5
    )
    frame = open_recording(folder)[0].frame
    np.testing.assert_allclose(frame.depth, 2.0, atol=1e-3)
    assert frame.intrinsics == (fx, fx, COLS / 2, ROWS / 2)
    np.testing.assert_allclose(frame.camera_to_map[:3, 3], (1.0, -2.0, 1.5))
    right, down, ahead = frame.camera_to_map[:3, :3].T
    np.testing.assert_allclose(ahead, (1, 0, 0), atol=1e-9)
    np.testing.assert_allclose(down, (0, 0, -1), atol=1e-9)
    np.testing.assert_allclose(right, (0, -1, 0), atol=1e-9)


def test_scannets_own_folders(tmp_path):
    flat = write_scan(tmp_path / "flat", [AHEAD], (14.0, 14.0, 7.5, 5.5))
    own = tmp_path / "own"
    for part in ("color", "depth", "pose", "intrinsic"):
        (own / part).mkdir(parents=True)
    Image.open(flat / "000000-rgb.png").save(own / "color" / "0.jpg")
    (flat / "000000-depth.png").rename(own / "depth" / "0.png")
    (flat / "000000.txt").rename(own / "pose" / "0.txt")
    for name in ("intrinsic_color.txt", "intrinsic_depth.txt"):
        (flat / name).rename(own / "intrinsic" / name)
    recording = open_recording(own)
    assert len(recording) == 1 and recording[0].frame.intrinsics == (14.0, 14.0, 8.0, 6.0)


def test_colour_only_and_pickles(tmp_path):
    only = write_scan(tmp_path / "only", [AHEAD, AHEAD], (14.0, 14.0, 7.5, 5.5))
    for path in [*only.glob("*.txt"), *only.glob("*-depth.png")]:
        path.unlink()
    recording = open_recording(only)
    assert len(recording) == 2 and "colour only" in recording.problems[0]
    assert recording[0].frame.color is not None and not recording[0].frame.depth.any()
    states = tmp_path / "states"
    states.mkdir()
    (states / "00000.pkl").write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")
    with pytest.raises(RecordingError, match="pickles are never opened"):
        open_recording(states)
    assert not os.path.exists("pwned")


def test_exported_folder_without_intrinsics(tmp_path):
    folder = write_scan(tmp_path / "s", [AHEAD], (14.0, 14.0, 7.5, 5.5))
    (folder / "intrinsic_depth.txt").unlink()
    with pytest.raises(RecordingError, match=r"intrinsic_depth\.txt"):
        open_recording(folder)
