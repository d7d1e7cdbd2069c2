"""Where a team's memory is kept: in its run, or beyond it; and of one house only."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie_bringup.errors import CommandError
from coterie_bringup.launching import launch_plan
from coterie_bringup.memory import claim_memory, house_identity, memory_folder
from coterie_bringup.plan import plan
from coterie_bringup.running_team import prepared
from coterie_bringup.team import Team, load_team, parse_team
from coterie_core.yaml_marks import FileProblem

TEAM = """\
name: crew
world: {kind: embedded, seed: 31, floors: 1}
robots:
  - {name: eyes}
  - {name: hands, role: worker}
leader: {}
planner: {}
open_questions: {}
"""


def parameters(team: Team, run: Path) -> dict[str, dict[str, object]]:
    return {
        node: dict(values)
        for spec in plan(team, run_directory=run)
        for node, values in spec.parameters.items()
    }


def test_everybody_has_a_copy_in_the_run_and_knows_the_house(tmp_path: Path) -> None:
    nodes = parameters(parse_team(TEAM), tmp_path)
    keepers = {n for n, p in nodes.items() if p.get("memory_directory") == str(tmp_path / "team")}
    assert keepers == {"leader", "object_planner", "open_questions", "eyes/explorer", "hands/robot"}
    assert {nodes[n]["house"] for n in keepers} == {"seed 31, floors 1"}


def test_one_node_publishes_the_map(tmp_path: Path) -> None:
    """Without a mapper the leader makes it, from what all robots see; else the mapper."""
    nodes = parameters(parse_team(TEAM), tmp_path)
    assert nodes["bridge"]["prior_topic"] == nodes["leader"]["map_topic"] == "prior_map"
    assert nodes["leader"]["observers"] == ["eyes", "hands"]
    nodes = parameters(parse_team(TEAM + "mapper: {}\n"), tmp_path)
    assert nodes["leader"]["map_topic"] == "semantic_map"
    assert nodes["leader"]["observers"] == []
    assert nodes["mapper"]["memory_directory"] == str(tmp_path / "team")


def test_a_memory_that_is_kept_outlives_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    kept = parse_team(TEAM + "memory: {keep: true}\n")
    folder = tmp_path / "state" / "memory" / "crew"
    assert memory_folder(kept, tmp_path / "run") == folder
    nodes = parameters(kept, tmp_path / "run")
    assert nodes["leader"]["memory_directory"] == str(folder / "team")
    assert nodes["eyes/explorer"]["state_directory"] == str(folder / "memory")
    assert nodes["leader"]["state_directory"] == str(tmp_path / "run" / "leader"), "tasks are not"
    file = tmp_path / "crew.yaml"
    file.write_text(TEAM + "memory: {keep: true, folder: kept/here}\n")
    assert memory_folder(load_team(file), None) == tmp_path / "kept" / "here"


@pytest.mark.parametrize("folder", ["/etc", "../other", "~/home", "a/../../b"])
def test_a_folder_elsewhere_is_refused(folder: str) -> None:
    with pytest.raises(FileProblem, match=r"leads out of the team file's folder"):
        parse_team(TEAM + f"memory: {{keep: true, folder: '{folder}'}}\n")


def test_the_memory_of_another_house_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    text = TEAM + "memory: {keep: true}\n"
    claim_memory(parse_team(text))
    claim_memory(parse_team(text))
    file = tmp_path / "other.yaml"
    file.write_text(text.replace("seed: 31", "seed: 32"))
    refused = r"is of another house \(seed 31, floors 1\)"
    with pytest.raises(CommandError, match=refused):
        with prepared(load_team(file), domain=0):
            pass
    with pytest.raises(CommandError, match=refused):
        launch_plan({"team": str(file)})
    assert not (tmp_path / "state" / "runs").exists()


def test_houses_are_told_apart_by_what_makes_them(tmp_path: Path) -> None:
    def identity(world: str) -> str:
        return house_identity(parse_team(f"world: {{{world}}}\nrobots: [{{name: a}}]\n"))

    worlds = [
        "kind: embedded, seed: 1",
        "kind: embedded, seed: 2",
        "kind: embedded, seed: 1, rooms: 6",
        "kind: own, maker: 'm:make', options: {scan: one}",
        "kind: own, maker: 'm:make', options: {scan: two}",
    ]
    assert len({identity(world) for world in worlds}) == len(worlds)
    assert identity("kind: embedded, seed: 1, noise: none") == identity("kind: embedded, seed: 1")
