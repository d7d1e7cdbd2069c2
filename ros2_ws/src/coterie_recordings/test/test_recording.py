"""Recordings in folders of others: what is there is read, what is cut off is told."""

from __future__ import annotations

import os

import numpy as np
import pytest
from PIL import Image

from coterie_fixtures.packed_images import encode_depth
from coterie_recordings import RecordingError, open_recording, readable, sample_evenly

pytestmark = pytest.mark.quick

ROWS, COLS = 12, 16
AHEAD = np.array([[0, 0, 1, 1.0], [-1, 0, 0, 2.0], [0, -1, 0, 1.2], [0, 0, 0, 1.0]])
CAMERA = (14.0, 14.0, 7.5, 5.5)


def test_what_is_no_recording_says_what_is(tmp_path):
    with pytest.raises(RecordingError, match="does not exist"):
        open_recording(tmp_path / "nothing")
    with pytest.raises(RecordingError, match="in this folder; known are MCAP files"):
        open_recording(tmp_path)
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(RecordingError, match="no recording; known are MCAP files"):
        open_recording(tmp_path / "a.txt")


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


def test_cut_off_and_damaged_images(tmp_path):
    """One that has no end is skipped; one that is damaged names its file, the rest is used."""
    folder = write_scan(tmp_path / "s", [AHEAD] * 4, CAMERA)
    cut, damaged = folder / "000001-depth.png", folder / "000002-rgb.png"
    cut.write_bytes(cut.read_bytes()[:-20])
    data = bytearray(damaged.read_bytes())
    data[50:60] = bytes(10)
    damaged.write_bytes(data)
    recording = open_recording(folder)
    assert len(recording) == 3 and "1 of 4 frames skipped" in recording.problems[0]
    with pytest.raises(RecordingError, match=r"000002-rgb\.png.*damaged.*copy it again"):
        recording[1]
    problems: list[str] = []
    assert [r.name for _, r in readable(recording, problems)] == ["000000", "000003"]
    assert len(problems) == 1
    with pytest.raises(IndexError):
        recording[3]


def test_absurd_sizes_and_strange_images_are_refused(tmp_path):
    folder = write_scan(tmp_path / "s", [AHEAD] * 2, CAMERA)
    Image.new("L", (20_000, 1)).save(folder / "000000-depth.png")
    Image.new("RGB", (COLS, ROWS)).save(folder / "000001-depth.png")
    recording = open_recording(folder)
    for k, told in ((0, "8192"), (1, "16 bits")):
        with pytest.raises(RecordingError, match=told):
            recording[k]


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
    assert len(recording) == 2 and "color only" in recording.problems[0]
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
