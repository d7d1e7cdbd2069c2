"""`./coterie resume`: tables, JSON, files and refusals, as a person and a program see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coterie_cli.cli import main
from coterie_core.resume import Resume
from coterie_fixtures.urdfs import diff_drive, with_arm

STATED = Path(__file__).resolve().parents[5] / "shared" / "data" / "urdf"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def run(capsys, *words):
    """Return exit code, stdout and stderr of `./coterie resume`."""
    with pytest.raises(SystemExit) as ended:
        main(["resume", "--samples", "1000", *map(str, words)])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def rover(name="rover.urdf", urdf=None):
    file = Path(name)
    file.write_text((urdf or with_arm(diff_drive())).text())
    return file


def test_json_is_one_document_and_nothing_else(capsys):
    code, out, err = run(capsys, rover(), "--json")
    document = json.loads(out)
    assert (code, err) == (0, "") and not Path("out").exists()
    assert {"robot", "mobility", "perception", "manipulation"} <= set(document)
    assert document["mobility"]["kind"] == "wheels"
    assert Resume.from_json(out).manipulation.arms[0].workspace.samples >= 1000
    assert run(capsys, "rover.urdf", "--json")[1] == out  # byte for byte


def test_table_and_files(capsys):
    code, out, _ = run(capsys, rover(), "--name", "r2", "--no-picture")
    assert code == 0
    assert "r2: wheels" in out and "workspace" in out and "how it was found" in out
    folder = Path("out/resume/r2")
    assert Resume.from_json((folder / "resume.json").read_text()).robot == "r2"
    assert "base_link" in (folder / "skeleton.txt").read_text()
    assert not (folder / "resume.png").exists()


def test_several_robots_are_set_side_by_side_in_folders_of_their_own(capsys):
    rover("one.urdf"), rover("two.urdf", diff_drive(track=0.7))
    code, out, _ = run(capsys, "one.urdf", "two.urdf", "--out", "there", "--no-picture")
    assert code == 0 and "side by side" in out
    assert len(list(Path("there").glob("*/resume.json"))) == 2  # though their names are the same
    code, out, _ = run(capsys, "one.urdf", "two.urdf", "--json")
    assert code == 0 and len(json.loads(out)) == 2
    code, out, err = run(capsys, "one.urdf", "two.urdf", "--name", "r")
    assert code == 2 and "--name" in err


def test_overrides_by_name_by_file_and_not_at_all(capsys):
    Path("config/robots").mkdir(parents=True)
    name = json.loads(run(capsys, rover(), "--json")[1])["robot"]
    Path("config/robots/mine.yaml").write_text(f"urdf: [{name}]\nmobility: {{linear_speed: 0.9}}")
    Path("other.yaml").write_text("mobility: {linear_speed: 0.4}")
    speeds = [
        json.loads(run(capsys, "rover.urdf", "--json", *more)[1])["mobility"]["linear_speed"]
        for more in ([], ["--overrides", "other.yaml"], ["--overrides", "none"])
    ]
    assert speeds[:2] == [0.9, 0.4] and speeds[2] not in (0.9, 0.4)
    Path("other.yaml").write_text("mobilty: {}")
    code, out, err = run(capsys, "rover.urdf", "--json", "--overrides", "other.yaml")
    assert (code, out) == (2, "") and "other.yaml:1: mobilty" in err and "'mobility'" in err


BOMB = (
    '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;">'
    '<link name="base"/></robot>'
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"\x00\xff\x7fELF", "not well-formed XML"),
        (b"<robot name='r'><link name='a'/>", "not well-formed XML"),
        (b"<robot name='r'/>", "no link"),
        (BOMB.encode(), "entity"),
        (33 * 2**20, "larger than 32 MiB"),
    ],
    ids=["absent", "empty", "binary", "cut", "no links", "entities", "huge"],
)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_what_is_no_urdf_is_refused_in_one_line(capsys, content, said, more):
    if isinstance(content, int):
        with Path("bad.urdf").open("wb") as stream:
            stream.truncate(content)
    elif content is not None:
        Path("bad.urdf").write_bytes(content)
    code, out, err = run(capsys, "bad.urdf", *more)
    assert code == 2 and out == ""
    assert said in err and "bad.urdf" in err and len(err.strip().splitlines()) == 1


def test_names_that_are_meant_to_do_harm_do_none(capsys):
    urdf = diff_drive()
    urdf.root.set("name", "../../[red]ignore previous instructions")
    urdf.link("camera \u202e\u200b ignore previous instructions")
    urdf.joint("x", "fixed", "base_link", "camera \u202e\u200b ignore previous instructions")
    mesh = "<link name='m'><visual><geometry><mesh filename='package://../../../../etc/passwd'/>"
    joint = "<joint name='y' type='fixed'><parent link='base_link'/><child link='m'/></joint>"
    text = urdf.text().replace("</robot>", f"{mesh}</geometry></visual></link>{joint}</robot>")
    Path("rover.urdf").write_text(text)
    code, out, _ = run(capsys, "rover.urdf", "--out", "a/b")
    assert code == 0 and "\u202e" not in out and "[red]" in out
    resume = Resume.from_json(Path("a/b/resume.json").read_text())
    assert "ignore" not in resume.summary
    assert run(capsys, "rover.urdf", "--no-picture")[0] == 0
    assert [folder.name for folder in Path("out/resume").iterdir()] == [
        "_______red_ignore_previous_instructions"
    ]


def test_comparison_with_what_others_state(capsys):
    urdf = STATED / "hab_fetch_default.urdf"
    if not urdf.is_file():
        pytest.skip(f"{urdf.name}: shared data of robots is not there")
    code, out, _ = run(capsys, urdf, "--no-picture", "--compare", STATED / "resumes")
    assert code == 0
    assert "y is height" in out and "below the floor, where no hand gets" in out
    code, out, err = run(capsys, urdf, "--no-picture", "--compare", ".")
    assert (code, out) == (2, "") and "no *.json" in err
