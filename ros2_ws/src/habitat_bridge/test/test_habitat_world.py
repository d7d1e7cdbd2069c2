"""A house in the real habitat-sim: motion, images, hands, and robots by name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from coterie_core.geometry import Pose
from coterie_core.skills import Close, NavigateTo, Open, Outcome, Pick, Place, SkillRefused, Target
from coterie_fixtures.habitat_python import habitat_python
from coterie_fixtures.tiny_house import UPPER, tiny_house
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.habitat.world import HabitatWorld
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import FrameRequest, Start, WorldError, run_skill

pytestmark = pytest.mark.habitat
KITCHEN, LIVING = (2.0, 2.0, 0.0), (5.5, 2.0, 0.0)
BEDROOM = (6.5, 2.0, UPPER)


@pytest.fixture(scope="module")
def python() -> str:
    return habitat_python(__file__)


@pytest.fixture
def world(python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HabitatWorld]:
    cache = Path(tmp_path_factory.getbasetemp()) / "habitat-cache"
    made = HabitatWorld(
        tiny_house(), python, cache=cache, noise=DetectorNoise.none(), look_on_arrival=False
    )
    yield made
    made.close()


def at(position: tuple[float, float, float], yaw: float = 0.0) -> Start:
    return Start(pose=Pose(position, yaw))


def test_legs_take_the_stairs_at_their_speed(world: HabitatWorld) -> None:
    legs = EMBODIMENTS["legs"]
    world.add_robot("spot", legs, at(KITCHEN))
    result = run_skill(world, "spot", NavigateTo(position=BEDROOM))
    assert result.outcome is Outcome.SUCCEEDED
    assert math.dist(world.state("spot").pose.position, BEDROOM) < 0.05
    assert world.state("spot").room == "r_bed"
    assert result.distance <= result.duration * legs.linear_speed + 1e-6
    assert result.distance > math.dist(KITCHEN, BEDROOM)


def test_images_show_what_is_there(world: HabitatWorld) -> None:
    world.add_robot("a", EMBODIMENTS["wheels"], at(KITCHEN, 0.0))
    world.add_robot("b", EMBODIMENTS["slim"], at((3.5, 2.0, 0.0), math.pi))
    frames = world.render([FrameRequest("a", "head"), FrameRequest("b", "head", ("depth",))])
    a, b = frames
    assert a.color is not None and a.depth is not None and a.semantic is not None
    assert a.color.shape == (256, 256, 3) and a.depth.shape == a.semantic.shape == (256, 256)
    assert a.labels is not None
    seen = {a.labels[int(n)] for n in np.unique(a.semantic) if n}
    assert {"wall", "floor", "robot"} <= seen
    # The second robot's surface, back-projected, is a cylinder around where it stands.
    second = [n for n, label in a.labels.items() if label == "robot"][1]
    rows, cols = np.nonzero(a.semantic == second)
    depth, focal = a.depth[rows, cols], EMBODIMENTS["wheels"].cameras[0].focal
    rays = np.stack([(cols + 0.5 - 128) / focal, (rows + 0.5 - 128) / focal, np.ones(len(rows))])
    points = (a.camera_to_map[:3, :3] @ (rays * depth)).T + a.camera_to_map[:3, 3]
    off = np.hypot(points[:, 0] - 3.5, points[:, 1] - 2.0)
    assert len(rows) > 500 and off.max() < 0.22 and off.min() > 0.17
    assert b.color is None and b.semantic is None and b.depth is not None


def test_fridge_opens_and_milk_comes_out(world: HabitatWorld) -> None:
    world.add_robot("a", EMBODIMENTS["wheels"], at((3.5, 2.75, 0.0), math.pi / 2))
    fridge = Target("refrigerator", (3.5, 3.55, 0.9))
    milk = Target("milk", (3.5, 3.5, 1.1))
    request = FrameRequest("a", "head", ("semantic",))
    number = world.contents.first_instance + world.contents.rows["o_milk"]

    def milk_pixels() -> int:
        (frame,) = world.render([request])
        return int((frame.semantic == number).sum())

    assert run_skill(world, "a", Pick(milk)).outcome is Outcome.CLOSED
    assert milk_pixels() == 0
    assert run_skill(world, "a", Open(fridge)).ok
    assert milk_pixels() > 0
    assert run_skill(world, "a", Pick(milk)).ok
    assert world.state("a").holding == "o_milk"
    assert milk_pixels() == 0
    assert run_skill(world, "a", Place(fridge)).ok
    assert milk_pixels() > 0
    assert run_skill(world, "a", Close(fridge)).ok
    assert milk_pixels() == 0


def test_names_and_spots_are_checked(world: HabitatWorld) -> None:
    world.add_robot("a", EMBODIMENTS["slim"], at(KITCHEN))
    with pytest.raises(WorldError, match="in the world already"):
        world.add_robot("a", EMBODIMENTS["slim"])
    with pytest.raises(WorldError, match="does not fit"):
        world.add_robot("b", EMBODIMENTS["slim"], at(KITCHEN))
    world.add_robot("b", EMBODIMENTS["slim"], at(LIVING))
    world.remove_robot("a")
    world.add_robot("a", EMBODIMENTS["slim"], at(KITCHEN))
    assert world.robots == ("b", "a")
    with pytest.raises(SkillRefused, match="stairs s1"):
        world.start_skill("a", NavigateTo(position=BEDROOM))
