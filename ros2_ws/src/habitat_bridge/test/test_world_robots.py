"""Robots by name and worlds by description: files, errors that help, and what comes out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from pydantic import ValidationError

from coterie_fixtures.tiny_house import tiny_house
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.factory import WorldSpec, make_world
from habitat_bridge.house.export import house_to_json
from habitat_bridge.robots import EMBODIMENTS, RobotError, load_embodiment, load_embodiments
from habitat_bridge.simulator import Start, WorldError


def test_the_robots_that_come_along() -> None:
    assert {"wheels", "slim", "legs", "tracks", "air"} <= set(EMBODIMENTS)
    assert EMBODIMENTS["legs"].climbs_stairs
    assert not EMBODIMENTS["wheels"].climbs_stairs
    assert EMBODIMENTS["air"].flight_height > 0.5
    assert EMBODIMENTS["air"].arm is None
    for name, body in EMBODIMENTS.items():
        assert body.name == name
        assert body.cameras
    assert load_embodiment("wheels") == EMBODIMENTS["wheels"]


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(RobotError, match=r"no robot 'whels'; did you mean 'wheels'\?"):
        load_embodiment("whels")


def test_robots_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "cart.yaml").write_text("mobility: wheels\nradius: 0.4\n")
    assert load_embodiments(tmp_path)["cart"].radius == 0.4
    (tmp_path / "cart.yaml").write_text("mobility: wheels\nradus: 0.4\n")
    with pytest.raises(
        RobotError, match=r"cart.yaml: unknown field 'radus'; did you mean 'radius'"
    ):
        load_embodiments(tmp_path)
    (tmp_path / "cart.yaml").write_text("radius: fat\n")
    with pytest.raises(RobotError, match=r"cart.yaml: radius: .*got 'fat'"):
        load_embodiments(tmp_path)
    (tmp_path / "cart.yaml").write_text("- a\n")
    with pytest.raises(RobotError, match="expected fields of a robot, got list"):
        load_embodiments(tmp_path)
    (tmp_path / "cart.yaml").write_text("a: [\n")
    with pytest.raises(RobotError, match="not YAML"):
        load_embodiments(tmp_path)
    with pytest.raises(RobotError, match="no such folder"):
        load_embodiments(tmp_path / "nowhere")
    (tmp_path / "cart.yaml").unlink()
    with pytest.raises(RobotError, match="holds no YAML"):
        load_embodiments(tmp_path)


def test_an_embedded_world() -> None:
    world = make_world(WorldSpec(kind="embedded", seed=3, floors=1, rooms=5, noise="none"))
    assert isinstance(world, EmbeddedWorld)
    assert world.detector.noise == DetectorNoise.none()
    assert len(world.house.rooms) == 5
    assert world.seed == 3
    again = make_world({"seed": 3, "floors": 1, "rooms": 5})
    assert again.truth().rooms == world.truth().rooms


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"kind": "embeded"}, "world.kind"),
        ({"sed": 3}, "world.sed: unknown field; did you mean 'seed'?"),
        ({"noise": "loud"}, "world.noise"),
        ({"floors": 9}, "world.floors"),
        ({"kind": "own", "floors": 2}, "floors belongs to kind: embedded"),
        ({"kind": "own", "seed": 2}, "maker is missing"),
        ({"maker": "a:b"}, "maker belongs to kind: own"),
        ({"kind": "own", "maker": "a b"}, "world.maker"),
        ({"house": "nowhere.json"}, "nowhere.json"),
        ({"house": "h.json", "rooms": 5}, "remove floors and rooms"),
    ],
)
def test_errors_name_the_field(spec: dict[str, object], words: str) -> None:
    with pytest.raises(WorldError) as caught:
        make_world(spec)
    assert words in str(caught.value)


def test_a_saved_house(tmp_path: Path) -> None:
    file = tmp_path / "house.json"
    file.write_text(house_to_json(tiny_house()))
    world = make_world(WorldSpec(house=str(file)))
    assert isinstance(world, EmbeddedWorld)
    assert world.house == tiny_house()
    file.write_text("{}")
    with pytest.raises(WorldError, match=r"world.house: .*house.json"):
        make_world(WorldSpec(house=str(file)))


def test_a_description_survives_json() -> None:
    spec = WorldSpec(seed=2, floors=2, noise="low")
    assert WorldSpec.model_validate(json.loads(spec.model_dump_json())) == spec
    with pytest.raises(ValidationError):
        WorldSpec.model_validate({"seed": -1})


def make_tiny(seed: int, threads: int = 1) -> EmbeddedWorld:
    return EmbeddedWorld(tiny_house(), seed=seed, threads=threads)


def make_nothing(seed: int) -> object:
    return seed


def test_a_world_of_ones_own() -> None:
    own = {"kind": "own", "maker": f"{__name__}:make_tiny", "seed": 3, "options": {"threads": 2}}
    assert make_world(own).seed == 3
    with pytest.raises(WorldError, match=r"world.maker: .*make_tiny failed \(TypeError"):
        make_world({**own, "options": {"thread": 2}})
    with pytest.raises(WorldError, match="make_nothing made int: a function that makes"):
        make_world({"kind": "own", "maker": f"{__name__}:make_nothing"})
    with pytest.raises(WorldError, match="no_such_module cannot be imported"):
        make_world({"kind": "own", "maker": "no_such_module:make"})


def test_a_crowd_starts_beside_the_places_until_there_is_no_room_left() -> None:
    world = EmbeddedWorld(tiny_house(), look_on_arrival=False)
    places = len(world.truth().places)
    body = EMBODIMENTS["wheels"]
    with pytest.raises(WorldError, match=r"other robots leave no room in the house"):
        for k in range(500):
            world.add_robot(f"r{k}", body, Start())
    robots = list(world.bodies)
    assert len(robots) > places
    gaps = [
        math.dist(a.pose.position, b.pose.position)
        for k, a in enumerate(robots)
        for b in robots[:k]
    ]
    assert min(gaps) > 2.0 * body.radius
    assert all(one.places.space.is_free(one.pose.position) for one in robots)
