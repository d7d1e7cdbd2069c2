"""`./coterie tags`: the sheet is to scale and its tags are found again; mistakes are told."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

pytest.importorskip("cv2")

from coterie_bringup.errors import CommandError
from coterie_cli.robot.command import app as robot_app
from coterie_cli.tags import DPI, PAGE_MM, app, sheets
from coterie_perception.tags import TagTable, find_tags

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


def test_score_needs_a_map_for_answers_and_names_a_bad_file(tmp_path):
    lab = tmp_path / "tags.yaml"
    lab.write_text(LAB)
    done = run("score", tmp_path, lab, "--answers", tmp_path / "a.json", of=robot_app)
    assert "needs --map" in str(done.exception)
    lab.write_text("tags: {1: {thing: mug}}")
    assert "tags.yaml" in str(run("score", tmp_path, lab, of=robot_app).exception)
