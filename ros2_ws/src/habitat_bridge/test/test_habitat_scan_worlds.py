"""Annotated scans in the real habitat-sim: rooms, things, storeys, ways, and numbers in images."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from coterie_core.geometry import Pose
from coterie_core.skills import NavigateTo
from coterie_fixtures.habitat_python import habitat_python
from coterie_fixtures.scan_export import save_hm3d, save_mp3d, scan_parts
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.habitat.dataset_world import open_scene
from habitat_bridge.habitat.house_file import MP3D_ROOMS
from habitat_bridge.habitat.scenes import load_scene
from habitat_bridge.habitat.world import HabitatWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import FrameRequest, run_skill

HOUSE = generate_house(5, floors=2, rooms=7)
PARTS = scan_parts(HOUSE)
LAYOUTS = {"hm3d": (save_hm3d, "House"), "mp3d": (save_mp3d, "house")}
QUIET = {"noise": DetectorNoise.none(), "look_on_arrival": False}


@pytest.fixture(scope="module", params=LAYOUTS)
def scan(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, str]:
    """Layout, config, name of the scene."""
    save, name = LAYOUTS[request.param]
    return request.param, save(HOUSE, tmp_path_factory.mktemp(request.param)), name


@pytest.fixture(scope="module")
def world(scan: tuple[str, Path, str]) -> Iterator[HabitatWorld]:
    _, config, name = scan
    made = open_scene(habitat_python(__file__), name, config, track_ids=True, **QUIET)
    for robot in ("legs", "wheels"):
        made.add_robot(robot, EMBODIMENTS[robot])
    yield made
    made.close()


def twin(number: int) -> str:
    """Return the house's own id of the thing that a scan gives a number."""
    return PARTS[number - 1].thing


def test_annotations_are_read_as_they_were_written(scan: tuple[str, Path, str]) -> None:
    layout, config, name = scan
    graph = load_scene(config, name).graph
    assert len(graph.rooms) == len(HOUSE.rooms)
    assert [f.elevation for f in graph.floors.values()] == pytest.approx(
        [f.elevation for f in HOUSE.floors], abs=0.02
    )
    things = {thing.id: thing for thing in HOUSE.objects}
    assert len(graph.objects) >= len(things)
    for key, thing in graph.objects.items():
        mine = things.get(twin(int(key.rsplit("_", 1)[1])))
        if mine is None:
            assert thing.properties["label"] in ("door frame", "stairs")
            continue
        assert thing.label.top == mine.label.top
        assert thing.box.center == pytest.approx(mine.box.center, abs=0.6)
        room = HOUSE.rooms[int(thing.room.split("_")[1])]
        assert room.id == mine.room
        if layout == "mp3d":
            assert graph.rooms[thing.room].type == room.type or room.type not in MP3D_ROOMS.values()


@pytest.mark.habitat
def test_rooms_things_storeys_and_ways(world: HabitatWorld) -> None:
    scene = world.truth()
    assert len(scene.rooms) == len(HOUSE.rooms) and len(scene.floors) == len(HOUSE.floors) == 2
    assert len(world.house.stairs) == len(HOUSE.stairs) == 1
    index = {room.id: f"room_{k}" for k, room in enumerate(HOUSE.rooms)}
    true = {frozenset((index[d.room_a], index[d.room_b])) for d in HOUSE.doors}
    stairs = {frozenset((index[s.room_low], index[s.room_high])) for s in HOUSE.stairs}
    found = {frozenset((c.room_a, c.room_b)) for c in scene.connections.values()}
    assert found == true | stairs


@pytest.mark.habitat
def test_numbers_in_images_are_those_of_the_annotations(world: HabitatWorld) -> None:
    """The same views as of the house itself show the same things at the same pixels."""
    own = EmbeddedWorld(HOUSE, **QUIET)
    body = EMBODIMENTS["legs"]
    own.add_robot("legs", body)
    pair = [next(b for b in w.bodies if b.name == "legs") for w in (own, world)]
    same = total = 0
    names = {0: ""} | {
        world.contents.first_instance + world.contents.rows[key]: twin(int(key.rsplit("_", 1)[1]))
        for key in world.truth().objects
    }
    first = own.contents.first_instance
    mine = {first + row: key for key, row in own.contents.rows.items()}
    for k, place in enumerate(list(own.place_map.places)[::12]):
        spot = pair[0].places.stand(place)
        if spot is None:
            continue
        images = []
        for each, robot in zip((own, world), pair, strict=True):
            robot.pose = Pose(spot, 1.1 * k)
            (frame,) = each.render([FrameRequest("legs", body.cameras[0].name, ("semantic",))])
            assert frame.semantic is not None
            images.append(frame.semantic)
        here = np.vectorize(lambda n: mine.get(int(n), ""))(images[0])
        there = np.vectorize(lambda n: names.get(int(n), ""))(images[1])
        same += int((here == there).sum())
        total += here.size
    assert total > 0
    assert same >= 0.97 * total, f"{same} of {total} pixels"


@pytest.mark.habitat
def test_robots_walk_and_see(world: HabitatWorld) -> None:
    goals = world.place_map.places.values()
    up = max(goals, key=lambda p: p.position[2])
    assert run_skill(world, "legs", NavigateTo(up.id)).ok
    assert world.state("legs").room == up.room
    seen = {found.instance for found in world.observe("legs").detections}
    assert seen and seen <= set(world.truth().objects)
    here = world.state("wheels").pose.position[2]
    other = max(goals, key=lambda p: abs(p.position[2] - here))
    result = run_skill(world, "wheels", NavigateTo(other.id))
    assert not result.ok and result.reason
