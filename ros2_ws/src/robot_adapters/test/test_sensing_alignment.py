"""A robot's map found in the team's by objects: noise, wrong labels, symmetry, other buildings."""

import math

import numpy as np
import pytest

from coterie_core.detections import BoxDetection
from coterie_core.geometry import Box, wrap_angle
from coterie_core.transforms import TransformBuffer
from coterie_world.perception.frame_join import Boxes
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from habitat_bridge.house.generator import generate_house
from robot_adapters.sensing import observer
from robot_adapters.sensing.alignment import AlignmentError, Landmark, align
from robot_adapters.sensing.objects import FoundBox
from robot_adapters.sensing.observer import Observer, SensingSettings
from robot_adapters.sensing.plane import MapPose
from robot_adapters.sensing.seen import Sight


def furniture(seed: int, floor: int = 0) -> list[Landmark]:
    house = generate_house(seed)
    z = house.floors[floor].elevation
    return [
        Landmark(thing.label.top, thing.box.center)
        for thing in house.objects
        if thing.kind != "item" and -0.1 <= thing.box.bottom - z < 2.5
    ]


def as_seen(
    things: list[Landmark], pose: MapPose, rng: np.random.Generator, wrong: float, most: int
) -> list[Landmark]:
    """Things that lie together, in the robot's map, with noise and wrong labels."""
    labels = sorted({t.label for t in things})
    start = np.array(things[rng.integers(len(things))].at)
    near = sorted(things, key=lambda t: float(np.linalg.norm(np.array(t.at) - start)))[:most]
    seen = []
    for thing in near:
        label = labels[rng.integers(len(labels))] if rng.random() < wrong else thing.label
        x, y, z = (np.array(thing.at) + rng.normal(0.0, 0.1, 3)).tolist()
        seen.append(Landmark(label, pose.to_robot((x, y, z))))
    return seen


@pytest.mark.parametrize("seed", [211, 212, 213, 214])
def test_the_pose_is_found_within_its_error_in_spite_of_noise_and_wrong_labels(seed):
    rng = np.random.default_rng(seed)
    team = furniture(seed)
    pose = MapPose(*rng.uniform(-20.0, 20.0, 2), rng.uniform(-math.pi, math.pi))
    own = as_seen(team, pose, rng, wrong=0.15, most=25)
    found = align(own, team)
    off = math.dist(pose.to_team(own[0].at)[:2], found.pose.to_team(own[0].at)[:2])
    assert off < max(4.0 * found.error, 0.1) and off < 0.4
    assert abs(wrap_angle(found.pose.yaw - pose.yaw)) < max(4.0 * found.angle_error, 0.02)
    assert 0.0 < found.error < 0.3
    assert found.matched >= 15
    assert found.pose.z == 0.0
    assert f"{found.matched} of {found.landmarks} objects" in str(found)


@pytest.mark.parametrize("seed", [221, 222, 223])
def test_the_map_of_another_building_is_refused(seed):
    rng = np.random.default_rng(seed)
    own = as_seen(furniture(seed), MapPose(), rng, wrong=0.0, most=20)
    with pytest.raises(AlignmentError, match="in_team_map"):
        align(own, furniture(seed + 100))


def test_a_symmetrical_building_is_refused_and_one_odd_object_settles_it():
    """Two wards alike, turned by half a circle about the middle: both poses explain all."""
    rng = np.random.default_rng(0)
    half = [
        Landmark(label, (float(x), float(y), 0.5))
        for label, (x, y) in zip(
            ["bed", "bed", "chair", "desk", "sink", "lamp", "bed", "chair"],
            rng.uniform(2.0, 12.0, (8, 2)),
            strict=True,
        )
    ]
    mirrored = [Landmark(t.label, (-t.at[0], -t.at[1], t.at[2])) for t in half]
    pose = MapPose(3.0, 1.0, 0.7)
    seen = [Landmark(t.label, pose.to_robot(t.at)) for t in half]
    with pytest.raises(AlignmentError, match=r"ambiguous: 8 objects.* 180 degrees"):
        align(seen, [*half, *mirrored])
    odd = [
        Landmark(name, (4.0 + k, 3.0 + k, 1.0)) for k, name in enumerate(("piano", "stove", "tv"))
    ]
    seen += [Landmark(t.label, pose.to_robot(t.at)) for t in odd]
    found = align(seen, [*half, *mirrored, *odd])
    assert found.pose.yaw == pytest.approx(0.7, abs=1e-3)


def test_a_row_of_equal_chairs_gives_no_pose():
    row = [Landmark("chair", (1.5 * k, 0.0, 0.4)) for k in range(12)]
    with pytest.raises(AlignmentError):
        align(row[3:9], row)


def test_too_few_objects_in_common_are_told_by_number():
    team = furniture(230)
    own = [Landmark(t.label, t.at) for t in team[:3]]
    with pytest.raises(AlignmentError, match=r"3 objects .* 5 are needed"):
        align([*own, Landmark("spaceship", (0.0, 0.0, 0.0))], team)


def test_the_right_floor_of_several_is_found():
    house = generate_house(3)
    assert len(house.floors) > 1
    team = [t for k in range(len(house.floors)) for t in furniture(3, k)]
    up = house.floors[1].elevation
    # The robot's own map has its floor at height 0, as Nav2's maps do.
    pose = MapPose(2.0, -4.0, -1.2, up)
    own = as_seen(furniture(3, 1), pose, np.random.default_rng(1), wrong=0.1, most=30)
    found = align(own, team)
    assert found.pose.z == pytest.approx(up, abs=0.3)
    assert found.pose.yaw == pytest.approx(-1.2, abs=0.05)


def test_the_same_objects_give_the_same_answer():
    team = furniture(240)
    own = as_seen(team, MapPose(1.0, 2.0, 3.0), np.random.default_rng(2), wrong=0.2, most=20)
    assert align(own, team) == align(own, team)


def test_an_observer_that_has_seen_enough_places_its_map_in_the_teams():
    """From what detectors in space report, over some views, to an observation in the team's map."""
    things = furniture(250)[:25]
    pose = MapPose(7.0, -2.0, 2.0)
    scene = SceneGraph()
    for k, thing in enumerate(things):
        box = Box(thing.at, (0.4, 0.4, 0.4))
        scene.add_object(SceneObject(f"t{k}", LabelBelief.of(thing.label), box))
    transforms = TransformBuffer()
    observer = Observer(SensingSettings(map_pose=None), transforms)
    assert not observer.align()
    observer.feed_team_map(scene)
    for view in range(3):
        time = 1.0 + view
        transforms.add("map", "base_link", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), time)
        boxes = [
            BoxDetection(pose.to_robot(t.at), (0.0, 0.0, 0.0, 1.0), (0.4, 0.4, 0.4), {t.label: 0.9})
            for t in things
        ]
        observer.add_boxes("head", Boxes(tuple(boxes), "map", time), time)
        observer.work(time)
    assert observer.align()
    assert observer.map.pose.yaw == pytest.approx(2.0, abs=0.02)
    seen = observer.observation("r", 0, 3.0)
    assert seen.pose.position == pytest.approx((7.0, -2.0, 0.0), abs=0.1)
    assert "map aligned" in str(observer.figures()["alignment"])
    assert not observer.align()  # good enough: not looked for again


def test_a_robot_that_has_seen_much_in_vain_is_still_looked_for(monkeypatch):
    tried = []

    def refuse(own, team, options):
        tried.append(len(own))
        raise AlignmentError("ambiguous: let the robot see more")

    monkeypatch.setattr(observer, "align", refuse)
    maps = observer.MapFinder(Sight())
    for number in range(100):
        for view in range(2):
            box = Box((2.0 * number, 0.0, 0.5), (0.3, 0.3, 0.3))
            maps.add([FoundBox({"chair": 0.9}, box, 1.0)], 2.0 * number + view)
        maps.search()
    assert len(tried) == 33 and max(tried) == tried[-1] == 80
