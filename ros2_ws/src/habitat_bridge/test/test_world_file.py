"""How a world stands, kept on disk: robots, moved things, hands, open doors; and files that err."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from coterie_core.geometry import Box
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import Start
from habitat_bridge.world_file import WorldFile, put_into_hand

WHEELS = EMBODIMENTS["wheels"]


def world(seed: int = 4) -> EmbeddedWorld:
    return EmbeddedWorld(generate_house(seed, floors=1, rooms=5), seed=seed)


def begun(folder: Path, here: EmbeddedWorld) -> tuple[WorldFile, list[str]]:
    said: list[str] = []
    return WorldFile(folder, here, said.append), said


def changed(folder: Path) -> tuple[EmbeddedWorld, str, str]:
    """Return a world in which things were moved, opened and taken, and two ids: carried, held."""
    here = world()
    file, _ = begun(folder, here)
    for robot in ("ada", "bob"):
        file.add_robot(robot, WHEELS, Start())
    contents = here.contents
    closed = next(t for t in contents if t.is_open is False)
    contents.set_open(closed.id, True)
    tray, cup, held = [t for t in contents if t.kind == "item"][:3]
    table = next(t for t in contents if t.receptacles and t.id not in (tray.support, cup.support))
    room = table.room
    contents.put(cup.id, replace(cup.box, center=tray.box.center), room, tray.id)
    contents.put(tray.id, replace(tray.box, center=table.box.center, yaw=0.4), room, table.id)
    tray.properties["receptacle"] = "top"
    put_into_hand(here, "ada", held.id)
    for _ in range(3):
        here.tick(0.1)
    file.keep(at_once=True)
    file.close()
    return here, cup.id, held.id


def test_a_restart_goes_on_with_the_house_as_it_was(tmp_path: Path) -> None:
    before, cup, held = changed(tmp_path)
    after = world()
    file, said = begun(tmp_path, after)
    for robot in ("ada", "bob"):
        file.add_robot(robot, WHEELS, Start())
        then, now = before.state(robot), after.state(robot)
        assert now.pose.position == pytest.approx(then.pose.position, abs=0.05)
        assert now.pose.yaw == pytest.approx(then.pose.yaw)
        assert now.holding == then.holding
    assert after.state("ada").holding == held
    one, two = before.truth(), after.truth()
    for id_, thing in one.objects.items():
        if id_ != held:
            assert two.objects[id_] == thing, id_
    assert two.objects[cup].box == one.objects[cup].box  # it goes along once
    assert said == []


@pytest.mark.parametrize("seed, text, told", [
    (4, "{", "cannot be read"),
    (4, json.dumps({"world": "house-4", "robots": {"ada": {"position": [0, 0]}}, "things": {}}),
     "cannot be read"),
    (4, json.dumps({"format": 2, "world": "house-4", "robots": {}, "things": {}}), "format 2"),
    (5, json.dumps({"world": "house-4", "robots": {}, "things": {}}), "of house-4"),
])  # fmt: skip
def test_a_file_that_errs_is_told_and_the_house_begins_anew(tmp_path, seed, text, told) -> None:
    (tmp_path / "world.json").write_text(text)
    fresh, here = world(seed), world(seed)
    file, said = begun(tmp_path, here)
    file.add_robot("ada", WHEELS, Start())
    fresh.add_robot("ada", WHEELS, Start())
    assert len(said) == 1 and told in said[0] and "begins anew" in said[0]
    assert here.truth().objects == fresh.truth().objects
    assert here.state("ada") == fresh.state("ada")


def test_a_robot_that_does_not_fit_where_it_stood_begins_at_its_start(tmp_path: Path) -> None:
    wall = {"position": [-100.0, 0.0, 0.0], "yaw": 0.0, "holding": "no-such-thing"}
    moved = {"nothing-7": Box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))}
    things = {
        id_: {"center": box.center, "size": box.size, "yaw": box.yaw} for id_, box in moved.items()
    }
    state = {"world": "house-4", "robots": {"ada": wall}, "things": things}
    (tmp_path / "world.json").write_text(json.dumps(state))
    file, said = begun(tmp_path, here := world())
    file.add_robot("ada", WHEELS, Start())
    fresh = world()
    fresh.add_robot("ada", WHEELS, Start())
    assert here.state("ada") == fresh.state("ada")
    assert len(said) == 1 and "ada does not go on where it stood" in said[0]


def test_a_full_disk_is_told_and_the_world_goes_on(tmp_path: Path) -> None:
    (tmp_path / "world.json").mkdir()  # nothing can take its place
    here = world()
    file, said = begun(tmp_path, here)
    file.add_robot("ada", WHEELS, Start())
    file.keep(at_once=True)
    file.close()
    assert any("not kept" in text for text in said)
