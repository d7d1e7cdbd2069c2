"""Worlds of Habitat data sets: rooms annotated or computed, stairs, drones, things in view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie_core.skills import NavigateTo
from habitat_bridge.embedded.export import save_habitat
from habitat_bridge.embedded.generator import generate_house
from habitat_bridge.factory import WorldSpec, make_world
from habitat_bridge.habitat.testing import habitat_python
from habitat_bridge.habitat.world import HabitatWorld
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import FrameRequest, WorldError, run_skill

pytestmark = pytest.mark.habitat
HOUSE = generate_house(5)


@pytest.fixture(scope="module", params=["with its truth", "as any data set"])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HabitatWorld]:
    folder = tmp_path_factory.mktemp("dataset")
    config = save_habitat(HOUSE, folder, "home")
    if request.param == "as any data set":
        scene = folder / "scenes" / "home.scene_instance.json"
        data = json.loads(scene.read_text())
        data.pop("user_defined", None)
        scene.write_text(json.dumps(data))
    spec = WorldSpec(
        kind="habitat",
        dataset=str(config),
        scene="home",
        habitat_python=habitat_python(__file__),
        noise="none",
        look_on_arrival=False,
        track_ids=True,
    )
    made = make_world(spec)
    assert isinstance(made, HabitatWorld)
    for name in ("legs", "wheels", "air"):
        made.add_robot(name, EMBODIMENTS[name])
    yield made
    made.close()


def test_rooms_things_and_stairs_become_a_scene(world: HabitatWorld) -> None:
    scene = world.truth()
    assert len(scene.rooms) == len(HOUSE.rooms)
    assert len(scene.floors) == len(HOUSE.floors)
    assert len(world.house.stairs) == len(HOUSE.stairs) == 1
    assert {t.label.top for t in scene.objects.values()} >= {"sofa", "bed", "toilet"}
    assert len(scene.connections) >= len(scene.rooms) - 1
    (stairs,) = world.house.stairs
    assert stairs.top[2] - stairs.bottom[2] == pytest.approx(HOUSE.floors[1].elevation)


def test_bodies_reach_what_they_can(world: HabitatWorld) -> None:
    floors: dict[str, set[float]] = {}
    for body in world.bodies:
        here = body.pose.position
        floors[body.name] = {
            world.place_map.places[place].position[2]
            for place in world.place_map.places
            if (spot := body.places.stand(place)) is not None
            and body.places.space.connected(here, spot)
        }
    assert len(floors["legs"]) == len(floors["air"]) == 2
    assert len(floors["wheels"]) == 1


def test_robots_move_see_and_make_images(world: HabitatWorld) -> None:
    for name in ("legs", "air"):
        here = world.state(name).pose.position[2]
        far = max(world.place_map.places.values(), key=lambda p: (abs(p.position[2] - here), p.id))
        assert run_skill(world, name, NavigateTo(far.id)).ok
        assert world.state(name).room == far.room
    seen = {
        found.instance: found.label
        for body in world.bodies
        for place in list(world.place_map.places)[::6]
        if run_skill(world, body.name, NavigateTo(place)).ok
        for found in world.observe(body.name).detections
    }
    truth = world.truth().objects
    assert len(seen) > 20
    assert all(truth[k].label.top == label for k, label in seen.items())
    camera = EMBODIMENTS["legs"].cameras[0].name
    (frame,) = world.render([FrameRequest("legs", camera)])
    assert frame.labels is not None and frame.semantic is not None and frame.depth is not None
    labels = {frame.labels.get(int(n)) for n in set(frame.semantic.ravel()) if n}
    assert labels & {t.label.top for t in truth.values()}
    assert (frame.depth > 0.0).mean() > 0.3


def test_a_scene_that_is_not_there(tmp_path: Path) -> None:
    config = save_habitat(HOUSE, tmp_path, "home")
    spec = {"kind": "habitat", "dataset": str(config), "scene": "palace"}
    with pytest.raises(WorldError, match="no scene 'palace'"):
        make_world({**spec, "habitat_python": habitat_python(__file__)})
    with pytest.raises(WorldError, match=r"world.*scene is missing"):
        make_world({"kind": "habitat", "dataset": str(config)})
    with pytest.raises(WorldError, match="dataset belongs to kind: habitat"):
        make_world({"kind": "embedded", "dataset": str(config)})
