"""`team check` tries out what the bridge does first; files, roles and namespaces are checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie_bringup.resources import roots
from coterie_bringup.team import load_team, parse_team
from coterie_cli.rehearsal import rehearse
from coterie_core.yaml_marks import FileProblem

TEAM = """\
world: {kind: embedded, seed: 4, floors: 1, rooms: 5}
robots:
  - {name: rover, embodiment: wheels, start: {room: ROOM}}
  - {name: drone, embodiment: air}
"""


def test_a_room_that_the_house_lacks_is_found_before_the_start() -> None:
    (problem,) = rehearse(parse_team(TEAM.replace("ROOM", "garage")))  # other houses have one
    assert problem.startswith("robots: rover: start") and "garage" in problem
    assert rehearse(parse_team(TEAM.replace("ROOM", "kitchen"))) == []


def test_a_pose_outside_and_a_body_that_is_no_robot_are_found(tmp_path: Path) -> None:
    far = TEAM.replace("{room: ROOM}", "{pose: {x: 500, y: 0}}")
    assert any("rover" in problem for problem in rehearse(parse_team(far)))
    (tmp_path / "broken.urdf").write_text("<robot name='x'>")
    file = tmp_path / "team.yaml"
    file.write_text(TEAM.replace("embodiment: wheels, start: {room: ROOM}", "urdf: broken.urdf"))
    (problem,) = rehearse(load_team(file))
    assert "broken.urdf" in problem


def test_the_world_of_habitat_is_tried_out_without_habitat() -> None:
    text = TEAM.replace("embedded", "habitat").replace("ROOM", "ballroom")
    assert "ballroom" in rehearse(parse_team(text))[0]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("embodiment: wheels", "urdf: nosuch.urdf", 3, "there is no .*nosuch.urdf"),
        ("embodiment: wheels", "role: worker", 3, "'rover' is a worker and there is no leader"),
        ("rooms: 5", "house: nosuch.json", 1, "there is no .*nosuch.json"),
        ("robots:", "namespace: a/b-c\nrobots:", 2, "cannot be a ROS namespace"),
        ("robots:", "namespace: 2lab\nrobots:", 2, "cannot be a ROS namespace"),
        ("robots:", "leader: {}\nrobots:", 2, "a leader needs robots"),
        ("robots:", "cooperation: {people: [ann]}\nrobots:", 2, "role: cooperator"),
    ],
)
def test_mistakes_name_their_own_line(
    tmp_path: Path, old: str, new: str, line: int, words: str
) -> None:
    file = tmp_path / "team.yaml"
    text = TEAM.replace(", floors: 1", "") if "house" in new else TEAM
    file.write_text(text.replace(", start: {room: ROOM}", "").replace(old, new))
    with pytest.raises(FileProblem, match=words) as error:
        load_team(file)
    assert [problem.line for problem in error.value.problems] == [line]


@pytest.mark.parametrize(
    ("written", "meant"), [("/lab", "lab"), ("lab/", "lab"), ("/b2/lab", "b2/lab"), ("/", "")]
)
def test_namespaces_are_accepted_in_the_way_of_ros(written: str, meant: str) -> None:
    team = parse_team(TEAM.replace("ROOM", "kitchen") + f"namespace: {written}\n")
    assert team.namespace == meant


def test_our_own_teams_can_start() -> None:
    for name in ("demo", "reveca", "own_model"):
        assert rehearse(load_team(roots()[0] / "config" / "teams" / f"{name}.yaml")) == []
