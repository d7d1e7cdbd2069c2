"""Worlds of Habitat data sets: rooms annotated or computed, stairs, drones, things in view."""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from coterie_core.geometry import Pose
from coterie_core.skills import Close, NavigateTo, Open, Target
from coterie_fixtures.habitat_python import habitat_python
from coterie_fixtures.tiny_house import tiny_house
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.factory import WorldSpec, make_world
from habitat_bridge.habitat.dataset_world import open_scene
from habitat_bridge.habitat.world import HabitatWorld
from habitat_bridge.house.export import save_habitat
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.glb import glb_bytes
from habitat_bridge.render.mesh import ObjectMesh
from habitat_bridge.render.mesh_parts import Parts
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import FrameRequest, Start, WorldError, run_skill

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
        for place in list(world.place_map.places)[::4]
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


DRAWER = """<robot name="dresser">
<link name="body"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="body.glb"/></geometry></visual></link>
<link name="drawer"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="front.glb"/></geometry></visual></link>
<joint name="slide" type="prismatic"><parent link="body"/><child link="drawer"/>
  <origin xyz="0 0 0"/><axis xyz="1 0 0"/><limit lower="0" upper="0.3" effort="9" velocity="9"/></joint>
</robot>"""  # noqa: E501


def _box(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float]) -> ObjectMesh:
    parts = Parts()
    parts.box(x, y, z, (90, 60, 40))
    vertices, triangles, colors = parts.arrays()
    return ObjectMesh(vertices.astype(np.float32), triangles.astype(np.uint32), colors)


def test_articulated_furniture_opens(tmp_path: Path) -> None:
    config = save_habitat(tiny_house(), tmp_path, "home")
    urdf = tmp_path / "urdf" / "dresser"
    urdf.mkdir(parents=True)
    (urdf / "dresser.urdf").write_text(DRAWER)
    body, front = (
        _box((-0.2, 0.2), (-0.3, 0.3), (0.0, 0.8)),
        _box((0.2, 0.22), (-0.3, 0.3), (0, 0.8)),
    )
    (urdf / "body.glb").write_bytes(glb_bytes([("body", body)], linear=False))
    (urdf / "front.glb").write_bytes(glb_bytes([("front", front)], linear=False))
    data = json.loads(config.read_text())
    data["articulated_objects"] = {"paths": {".urdf": ["urdf/*"]}}
    config.write_text(json.dumps(data))
    file = tmp_path / "scenes" / "home.scene_instance.json"
    scene = json.loads(file.read_text())
    scene.pop("user_defined", None)
    scene["articulated_object_instances"] = [
        {"template_name": "dresser", "translation": [1.3, 0.0, -2.9], "fixed_base": True,
         "motion_type": "STATIC"}
    ]  # fmt: skip
    file.write_text(json.dumps(scene))
    world = open_scene(
        habitat_python(__file__), "home", config, noise=DetectorNoise.none(), look_on_arrival=False
    )
    try:
        (name,) = [k for k, t in world.truth().objects.items() if t.label.top == "dresser"]
        assert world.truth().objects[name].is_open is False
        world.add_robot("r", EMBODIMENTS["legs"], Start(pose=Pose((2.3, 2.9, 0.0), math.pi)))
        request = [FrameRequest("r", "front", ("depth", "semantic"))]
        number = world.contents.first_instance + world.contents.rows[name]

        def nearest() -> float:
            (frame,) = world.render(request)
            assert frame.depth is not None and frame.semantic is not None
            assert (frame.semantic == number).sum() > 500
            return float(frame.depth[frame.semantic == number].min())

        closed = nearest()
        dresser = Target("dresser", (1.3, 2.9, 0.4))
        result = run_skill(world, "r", Open(dresser))
        assert result.ok, result.reason
        assert closed - nearest() == pytest.approx(0.3, abs=0.05)
        os.kill(world.backend.pid, signal.SIGKILL)
        assert closed - nearest() == pytest.approx(0.3, abs=0.05)
        assert world.backend.restarts == 1
        assert run_skill(world, "r", Close(dresser)).ok
        assert nearest() == pytest.approx(closed, abs=0.01)
    finally:
        world.close()
