"""`./coterie tags`: the sheet is to scale and its tags are found again; mistakes are told."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import yaml
from PIL import Image
from typer.testing import CliRunner

pytest.importorskip("cv2")

from coterie_bringup.errors import CommandError
from coterie_cli.robot.command import app as robot_app
from coterie_cli.tags import DPI, PAGE_MM, app, sheets
from coterie_core.geometry import Box
from coterie_fixtures.rendered_tags import TagRecording, facing
from coterie_perception.tags import TagTable, find_tags, read_tags
from coterie_recordings.mcap_writer import RecordingWriter
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject
from coterie_world.scene.serial import save

LAB = "size: 0.08\ntags:\n" + "".join(f"  {k}: {{object: thing {k}}}\n" for k in range(9))


def run(*words: object, of=app):
    return CliRunner().invoke(of, [str(word) for word in words])


def test_a_sheet_has_all_tags_in_millimeters(tmp_path):
    table = TagTable(size=0.08, tags={k: {"object": f"thing {k}"} for k in range(9)})
    pages = list(sheets(table))
    assert {page.size for page in pages} == {tuple(round(mm / 25.4 * DPI) for mm in PAGE_MM)}
    found = {}
    for page in pages:
        image = np.repeat(np.asarray(page)[..., None], 3, axis=2)
        found |= {one.number: one.corners for one in find_tags(image, table)}
    assert found.keys() == set(range(9))
    for corners in found.values():
        edges = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
        assert edges / DPI * 25.4 == pytest.approx([80.0] * 4, abs=0.4)
    with pytest.raises(CommandError, match="tag 1: 300 mm does not fit on A4 paper"):
        list(sheets(TagTable(size=0.3, tags={1: {"place": "door"}})))


def test_print_writes_a_pdf_and_pictures_in_which_find_finds_them(tmp_path):
    lab = tmp_path / "tags.yaml"
    lab.write_text(LAB)
    assert run("print", lab, "--out", tmp_path / "s.pdf").exit_code == 0
    text = (tmp_path / "s.pdf").read_bytes()
    assert text.startswith(b"%PDF") and text.count(b"/Type /Page\n") >= 2
    assert run("print", lab, "--out", tmp_path / "s.png").exit_code == 0
    pages = sorted(tmp_path.glob("s_*.png"))
    assert len(pages) >= 2
    assert Image.open(pages[0]).info["dpi"][0] == pytest.approx(DPI, abs=0.1)
    result = run("find", pages[0], lab, "--json")
    rows = json.loads(result.stdout)
    assert result.exit_code == 0 and rows[0]["on"].startswith("thing")
    both = run("find", *pages, lab, "--json")
    assert {row["tag"] for row in json.loads(both.stdout)} == set(range(9))
    Image.new("RGB", (60, 40)).save(tmp_path / "dark.png")
    none = run("find", tmp_path / "dark.png", lab)
    assert none.stdout == "no tag of tag36h11 in it\n"


AHEAD = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 1], [0, 0, 0, 1]])
"""A camera 1 m above the map's origin that looks along x: optical frame to map (REP 103)."""
ROOM = """
size: 0.12
complete: [mug]
tags:
  3: {object: mug}
  7: {place: door, at: [2.0, -0.5, 1.1]}
  9: {place: shelf, at: [1.8, 0.6, 1.3]}
  11: {object: book}
"""


@pytest.fixture
def day(tmp_path):
    """A folder with recordings of two robots that look at the same tags, in maps of their own."""
    (tmp_path / "tags.yaml").write_text(ROOM)
    table = read_tags(tmp_path / "tags.yaml")
    at = {3: (1.6, 0.3, 1.2), 7: (2.0, -0.5, 1.1), 9: (1.8, 0.6, 1.3), 11: (1.5, -0.2, 0.7)}
    poses = {n: AHEAD @ facing((-y, 1.0 - z, x), (0.1, 0.2, 0.0)) for n, (x, y, z) in at.items()}
    shift = np.eye(4)
    shift[:2] = [[math.cos(0.7), -math.sin(0.7), 0, 3.0], [math.sin(0.7), math.cos(0.7), 0, -1.0]]
    for name, own in (("rover", np.eye(4)), ("slim", np.linalg.inv(shift))):
        seen = {number: own @ pose for number, pose in poses.items()}
        frames = TagRecording(table, [(float(k), own @ AHEAD, seen) for k in (1, 2)])
        with RecordingWriter(tmp_path / f"{name}.mcap") as writer:
            for k in range(len(frames)):
                writer.add(frames[k])
    return tmp_path


def test_recordings_of_tags_are_searched_aligned_and_judged(day):
    lab = day / "tags.yaml"
    told = run("find", day / "rover.mcap", lab).stdout
    rows = {row.split("│")[1].strip(): row for row in told.splitlines() if "│" in row}
    assert "side [px]" in told
    assert rows.keys() == {"3", "7", "9", "11"} and "door" in rows["7"] and " 2 " in rows["7"]
    told = run("align", day / "slim.mcap", day / "rover.mcap", lab).stdout
    given = yaml.safe_load(told)["in_team_map"]
    assert given == pytest.approx({"x": 3.0, "y": -1.0, "z": 0.0, "yaw": 0.7}, abs=0.01)
    few = run("align", day / "rover.mcap", "measured", lab, "--camera")
    assert "at least 3 tags in both, got 2" in str(few.exception)
    lab.write_text(ROOM.replace("{object: book}", "{object: book, at: [1.5, -0.2, 0.7]}"))
    mount = yaml.safe_load(run("align", day / "rover.mcap", "measured", lab, "--camera").stdout)
    assert [mount["mount"][name] for name in ("x", "y", "z")] == pytest.approx([0, 0, 1], abs=0.06)
    scene = SceneGraph()
    scene.add_room(Room("r1", "hall", "hall", polygon=[(0, -2), (3, -2), (3, 2), (0, 2)]))
    scene.extend([SceneObject("o1", LabelBelief.of("mug"), Box((1.6, 0.3, 1.2), (0.1, 0.1, 0.1)))])
    save(scene, day / "map.json")
    asked = {"question": "Is there a mug in the hall?", "answer": "no"}
    (day / "answers.json").write_text(json.dumps(asked))
    moved = {"moves": [{"label": "book", "end": [1.5, -0.2, 0.7]}]}
    (day / "results.json").write_text(json.dumps(moved))
    files = {"map": "map.json", "answers": "answers.json", "outcomes": "results.json"}
    more = [word for name, file in files.items() for word in (f"--{name}", day / file)]
    told = run("score", day / "rover.mcap", lab, *more, "--json", of=robot_app)
    found = json.loads(told.stdout)
    assert found["tags"] == {"3": 2, "7": 2, "9": 2, "11": 2}
    assert found["right_of"] == {
        "localization": [3, 3], "map": [1, 2], "answers": [0, 1], "outcomes": [1, 1],
    }  # fmt: skip


def test_score_needs_a_map_for_answers_and_names_a_bad_file(tmp_path):
    lab = tmp_path / "tags.yaml"
    lab.write_text(LAB)
    done = run("score", tmp_path, lab, "--answers", tmp_path / "a.json", of=robot_app)
    assert "needs --map" in str(done.exception)
    lab.write_text("tags: {1: {thing: mug}}")
    assert "tags.yaml" in str(run("score", tmp_path, lab, of=robot_app).exception)
