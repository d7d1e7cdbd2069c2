"""Saved maps: read as map_server reads them; what is no map is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robot_adapters.sensing import map_file
from robot_adapters.sensing.map_file import MapFileError, read_map_file

FREE, UNKNOWN, OCCUPIED = 254, 205, 0
UPPER_ROW, LOWER_ROW = [FREE, OCCUPIED, UNKNOWN], [UNKNOWN, FREE, FREE]


def saved(folder: Path, text: str = "", *, image: str = "floor.pgm", rows: object = None) -> Path:
    """Write a map of two rows, as map_saver does; `text` replaces fields."""
    fields = {
        "image": image, "mode": "trinary", "resolution": "0.05", "origin": "[-1.5, 2.0, 0]",
        "negate": "0", "occupied_thresh": "0.65", "free_thresh": "0.25",
    }  # fmt: skip
    fields |= dict(line.split(": ", 1) for line in text.splitlines())
    pixels = np.array([UPPER_ROW, LOWER_ROW] if rows is None else rows, np.uint8)
    Image.fromarray(pixels).save(folder / Path(image).name)
    file = folder / "floor.yaml"
    file.write_text("\n".join(f"{k}: {v}" for k, v in fields.items() if v != "-"))
    return file


def test_a_map_of_map_saver(tmp_path: Path) -> None:
    grid = read_map_file(saved(tmp_path), "world")
    # Rows go up along y: the image's last row is the grid's first. Its own threshold would make
    # unknown cells free: (255 - 205) / 255 is below 0.25.
    assert grid.values.tolist() == [[-1, 0, 0], [0, 100, -1]]
    assert grid.values.dtype == np.int8
    assert (grid.cell, grid.origin, grid.frame) == (0.05, (-1.5, 2.0, 0.0), "world")


@pytest.mark.parametrize(
    ("text", "shades", "expected"),
    [
        ("negate: 1", [0, 254, 100], [0, 100, -1]),
        ("free_thresh: 0.1\noccupied_thresh: 0.9", [254, 0, 128], [0, 100, -1]),
        ("mode: scale\nfree_thresh: 0.2\noccupied_thresh: 0.6", [255, 0, 153], [0, 100, 50]),
        ("mode: raw", [0, 100, 101], [0, 100, -1]),
        ("mode: -\noccupied_thresh: -\nfree_thresh: -", [254, 0, 205], [0, 100, -1]),
    ],
)
def test_modes_and_thresholds(
    tmp_path: Path, text: str, shades: list[int], expected: list[int]
) -> None:
    assert read_map_file(saved(tmp_path, text, rows=[shades])).values.tolist() == [expected]


def test_pictures_of_other_kinds(tmp_path: Path) -> None:
    file = saved(tmp_path, image="floor.png")
    clear = np.zeros((1, 2, 4), np.uint8)
    clear[0, 0] = 254, 254, 254, 255  # the second pixel is transparent: nothing is known there
    Image.fromarray(clear).save(tmp_path / "floor.png")
    assert read_map_file(file).values.tolist() == [[0, -1]]
    Image.fromarray(np.array([[65000, 0]], np.uint16)).save(tmp_path / "floor.png")
    assert read_map_file(file).values.tolist() == [[0, 100]]


def test_the_image_lies_beside_the_file_whatever_path_was_written(tmp_path: Path) -> None:
    for image in ("/home/somebody/maps/floor.pgm", "maps/floor.pgm", "../floor.pgm"):
        (tmp_path / "maps").mkdir(exist_ok=True)
        assert read_map_file(saved(tmp_path / "maps", image=image)).values.shape == (2, 3)
    # It is never read from elsewhere: a team file of others reads nothing but its own folder.
    Image.fromarray(np.zeros((9, 9), np.uint8)).save(tmp_path / "secret.pgm")
    file = saved(tmp_path / "maps", f"image: {tmp_path / 'secret.pgm'}")
    with pytest.raises(MapFileError, match=r"image: there is no .*maps/secret.pgm; put the image"):
        read_map_file(file)
    (tmp_path / "maps" / "secret.pgm").symlink_to(tmp_path / "secret.pgm")
    with pytest.raises(MapFileError, match="put the image beside"):
        read_map_file(file)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("resolution: -", r"floor.yaml:1: resolution: is missing"),
        ("resolution: fine", r"floor.yaml:3: resolution: .*number.*fine"),
        ("resolution: 0", r"floor.yaml:3: resolution"),
        (
            "origin: [0, 0, 0.3]",
            r"floor.yaml:.* origin: expected a yaw of 0, got 0.3 rad: .*in_team",
        ),
        ("origin: [0, .nan, 0]", r"floor.yaml:4: origin"),
        ("free_thresh: 0.7", r"free_thresh: expected less than occupied_thresh \(0.65\), got 0.7"),
        ("mode: rainbow", r"floor.yaml:2: mode: .*rainbow"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(MapFileError, match=match):
        read_map_file(saved(tmp_path, text))


def test_what_is_no_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MapFileError, match=r"other.yaml: no such file; there is .*floor.yaml"):
        saved(tmp_path)
        read_map_file(tmp_path / "other.yaml")
    (tmp_path / "floor.pgm").write_bytes(b"P5\n3 2\n255\n\0")  # cut short
    with pytest.raises(MapFileError, match=r"floor.pgm: cannot be read .* expected a PGM, PNG"):
        read_map_file(tmp_path / "floor.yaml")
    Image.fromarray(np.zeros((2, 2), np.uint8)).save(tmp_path / "floor.pgm", "JPEG")
    with pytest.raises(MapFileError, match=r"cannot be read .* expected a PGM, PNG"):
        read_map_file(tmp_path / "floor.yaml")
    # The size is in the header, and the pixels are not read.
    (tmp_path / "floor.pgm").write_bytes(b"P5\n90000 90000\n255\n")
    with pytest.raises(MapFileError, match=r"cut the map|expected a PGM"):
        read_map_file(tmp_path / "floor.yaml")
    monkeypatch.setattr(map_file, "MOST_CELLS", 5)
    with pytest.raises(MapFileError, match=r"at most 5 cells, got 3 x 2; cut the map"):
        read_map_file(saved(tmp_path))
