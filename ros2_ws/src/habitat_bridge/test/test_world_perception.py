"""What robots perceive: images that are right, detections that are in view, and nothing else."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from coterie_core.embodiment import Arm, Camera, Embodiment
from coterie_core.geometry import Box, Pose
from coterie_core.household import load_household
from coterie_core.skills import Detect, LookAround, NavigateTo, Open, Outcome, Target
from coterie_fixtures.tiny_house import UPPER, tiny_house
from habitat_bridge.embedded.detector import Detector, DetectorNoise, Sighting
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import FrameRequest, Start, WorldError, run_skill

EYE = Camera(name="eye", width=160, height=120, mount_height=1.3, pitch=0.2, far=9.0)
BODY = Embodiment(name="body", radius=0.2, height=1.4, cameras=(EYE,), arm=Arm(reach=1.0))
CLIMBER = BODY.model_copy(update={"mobility": "legs", "step_height": 0.2, "height": 0.8})
EXACT = DetectorNoise.none()


def world(house: House | None = None, **options: object) -> EmbeddedWorld:
    options.setdefault("noise", EXACT)
    options.setdefault("look_on_arrival", False)
    return EmbeddedWorld(house or tiny_house(), **options)  # type: ignore[arg-type]


def at(x: float, y: float, z: float = 0.0, yaw: float = 0.0) -> Start:
    return Start(pose=Pose((x, y, z), yaw))


def labels(sim: EmbeddedWorld, robot: str = "r") -> set[str]:
    return {found.label for found in sim.observe(robot).detections}


def test_the_view_is_what_is_ahead() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(2.0, 2.0, yaw=math.pi))
    assert labels(sim) == {"kitchen counter", "mug", "bowl"}
    assert run_skill(sim, "r", LookAround()).ok
    around = labels(sim)
    assert {"kitchen counter", "mug", "bowl", "refrigerator"} <= around
    assert "toilet" not in around
    assert "bed" not in around
    # As soon as it has moved, what is behind is out of view again.
    assert run_skill(sim, "r", NavigateTo(position=(2.2, 2.0, 0.0), yaw=math.pi)).ok
    assert labels(sim) == {"kitchen counter", "mug", "bowl"}


def test_arrival_is_a_look_around_unless_told_otherwise() -> None:
    sim = world(look_on_arrival=True)
    sim.add_robot("r", BODY, at(2.0, 2.0, yaw=math.pi))
    assert "refrigerator" in labels(sim)
    result = run_skill(sim, "r", NavigateTo(position=(6.2, 2.0, 0.0)))
    assert result.duration > math.tau / BODY.angular_speed
    assert {"sofa", "coffee table", "rug"} <= labels(sim)


def test_what_a_closed_container_holds_is_never_seen() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(3.0, 2.6, yaw=1.1))
    assert "refrigerator" in labels(sim)
    assert "milk" not in labels(sim)
    assert run_skill(sim, "r", Open(Target("refrigerator", (3.5, 3.55, 0.9)))).ok
    assert "milk" in labels(sim)


def test_range_limits_the_view() -> None:
    near = EXACT.__class__(**{**_fields(EXACT), "max_range": 2.0})
    sim = world(noise=near)
    sim.add_robot("r", BODY, at(2.6, 1.6, yaw=math.pi))
    assert "mug" not in labels(sim)
    assert "kitchen counter" not in labels(sim)
    assert run_skill(sim, "r", NavigateTo(position=(1.4, 1.6, 0.0), yaw=math.pi)).ok
    assert {"mug", "kitchen counter"} <= labels(sim)


def test_detections_say_where_things_are() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(3.4, 2.0, yaw=0.0))  # looks through the door
    seen = {found.label: found for found in sim.observe("r").detections}
    table = seen["coffee table"]
    assert table.box == Box((7.5, 1.7, 0.225), (1.0, 0.6, 0.45))
    assert table.room is not None
    assert table.room.name == "living room"
    assert table.instance == ""
    assert table.score == 1.0
    assert table.distance == pytest.approx(math.dist((3.4, 2.0, 1.3), (7.5, 1.7, 0.225)), abs=0.02)
    assert sim.observe("r").room == sim.room_view((2.0, 2.0, 0.0))


def test_tracks_only_if_asked_for() -> None:
    sim = world(track_ids=True)
    sim.add_robot("r", BODY, at(2.0, 2.0, yaw=math.pi))
    assert {found.instance for found in sim.observe("r").detections} == {
        "o_counter",
        "o_mug",
        "o_bowl",
    }


def test_neighbours_and_seen_places() -> None:
    sim = world(look_on_arrival=True)
    sim.add_robot("r", BODY, Start(room="kitchen"))
    seen = sim.observe("r")
    assert seen.seen[seen.place] == 1.0
    assert all(0.0 < quality <= 1.0 for quality in seen.seen.values())
    places = sim.truth().places
    assert not any(places[k].room == "r_bed" and quality > 0.5 for k, quality in seen.seen.items())
    for view in seen.neighbours:
        assert view.position == places[view.id].position
        if view.room is not None:
            assert view.id in seen.seen
    assert {label for view in seen.neighbours for label in view.labels} <= {
        found.label for found in seen.detections
    }


@pytest.mark.parametrize("seed", [1, 4])
def test_every_detection_has_pixels(seed: int) -> None:
    """What is detected without noise shows in the semantic images of a full turn from there."""
    camera = Camera(name="eye", width=320, height=320, mount_height=1.2, pitch=0.2, far=8.0)
    body = Embodiment(name="body", radius=0.2, cameras=(camera,))
    noise = DetectorNoise(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0, 0.15, 8.0)
    sim = world(generate_house(seed, rooms=9, floors=1), noise=noise, track_ids=True)
    sim.add_robot("r", body)
    checked = 0
    for place in list(sim.truth().places)[::4]:
        if not run_skill(sim, "r", NavigateTo(place=place)).ok:
            continue
        run_skill(sim, "r", LookAround())
        found = {detection.instance for detection in sim.observe("r").detections}
        shown: set[str] = set()
        here = sim.bodies[0].pose
        for quarter in range(8):
            sim.bodies[0].pose = Pose(here.position, quarter * math.pi / 4)
            frame = sim.render([FrameRequest("r", "eye", ("semantic",))])[0]
            assert frame.semantic is not None
            rows = np.unique(frame.semantic) - sim.contents.first_instance
            shown |= {sim.contents.ids[k] for k in rows if 0 <= k < len(sim.contents.ids)}
        sim.bodies[0].pose = here
        assert found
        assert found <= shown
        checked += len(found)
        hidden = {t.id for t in sim.contents if sim.contents.closed_around(t) is not None}
        assert not (hidden & found)
        assert not (hidden & shown)
    assert checked > 30


def test_images() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(2.0, 2.0, yaw=math.pi))
    (frame,) = sim.render([FrameRequest("r", "eye")])
    assert frame.color is not None
    assert frame.depth is not None
    assert frame.semantic is not None
    assert frame.labels is not None
    assert frame.color.shape == (120, 160, 3)
    assert frame.color.dtype == np.uint8
    assert frame.depth.dtype == np.float32
    assert frame.semantic.dtype == np.int32
    numbers = {frame.labels[k] for k in np.unique(frame.semantic) if k}
    assert {"kitchen counter", "mug", "wall", "floor"} <= numbers
    # Every pixel of the mug, put into the map by depth and intrinsics, lies on the mug's box.
    number = next(k for k, name in frame.labels.items() if name == "mug")
    rows, cols = np.nonzero(frame.semantic == number)
    assert len(rows) > 3
    z = frame.depth[rows, cols]
    focal = EYE.focal
    optical = np.stack(
        [(cols + 0.5 - 80) / focal * z, (rows + 0.5 - 60) / focal * z, z, np.ones_like(z)]
    )
    points = (frame.camera_to_map @ optical)[:3].T
    mug = sim.truth().objects["o_mug"].box
    assert all(mug.contains((x, y, h), 0.01) for x, y, h in points.tolist())


def test_depth_is_along_the_optical_axis() -> None:
    level = EYE.model_copy(update={"pitch": 0.0, "name": "level"})
    sim = world()
    sim.add_robot("r", BODY.model_copy(update={"cameras": (level,)}), at(2.0, 6.0, yaw=math.pi))
    (frame,) = sim.render([FrameRequest("r", "level", ("depth",))])
    assert frame.depth is not None
    assert frame.color is None
    assert frame.semantic is None
    assert frame.labels is None
    # The wall x = 0, half its thickness nearer, is as deep at the edge as in the middle.
    assert frame.depth[50, [60, 80, 100]] == pytest.approx([1.95] * 3, abs=0.01)


def test_far_and_near_pixels_are_zero() -> None:
    short = EYE.model_copy(update={"far": 1.5, "pitch": 0.0})
    sim = world()
    sim.add_robot("r", BODY.model_copy(update={"cameras": (short,)}), at(2.0, 2.0, yaw=math.pi))
    (frame,) = sim.render([FrameRequest("r", "eye")])
    assert frame.depth is not None
    assert frame.semantic is not None
    assert frame.depth[60, 80] == 0.0
    assert frame.semantic[60, 80] != 0
    assert float(frame.depth.max()) <= 1.5


def test_a_batch_gives_what_single_requests_give() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(2.0, 2.0, yaw=math.pi))
    sim.add_robot("s", CLIMBER, at(8.0, 2.0, UPPER))
    requests = [FrameRequest("r", "eye"), FrameRequest("s", "eye", ("depth",))]
    both = sim.render(requests)
    alone = [sim.render([request])[0] for request in requests]
    for a, b in zip(both, alone, strict=True):
        assert a.depth is not None
        np.testing.assert_array_equal(a.depth, b.depth)
    assert both[1].color is None
    with pytest.raises(WorldError, match="r has no camera 'nose'; its cameras: eye"):
        sim.render([FrameRequest("r", "nose")])


def test_robots_show_in_images_of_others_only() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(2.0, 2.0, yaw=math.pi))
    sim.add_robot("s", BODY, at(1.0, 2.0))
    (frame,) = sim.render([FrameRequest("r", "eye")])
    assert frame.semantic is not None
    assert frame.labels is not None
    assert frame.depth is not None
    robot = [k for k in np.unique(frame.semantic) if frame.labels.get(int(k)) == "robot"]
    assert len(robot) == 1
    assert float(frame.depth[frame.semantic == robot[0]].min()) < 0.9


def test_images_follow_what_is_moved() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(3.0, 2.6, yaw=1.1))
    before = sim.render([FrameRequest("r", "eye", ("semantic",))])[0]
    sim.observe("r")
    builds = sim.imaging.sensors.builds
    sim.render([FrameRequest("r", "eye", ("semantic",))])
    sim.look_around(sim.bodies[0])
    assert sim.imaging.sensors.builds == builds  # nothing moved, nothing built
    assert run_skill(sim, "r", Open(Target("refrigerator", (3.5, 3.55, 0.9)))).ok
    after = sim.render([FrameRequest("r", "eye", ("semantic",))])[0]
    assert before.semantic is not None
    assert after.semantic is not None
    milk = sim.contents.first_instance + sim.contents.rows["o_milk"]
    assert milk not in before.semantic
    assert milk in after.semantic


def test_detect_skill() -> None:
    sim = world()
    sim.add_robot("r", BODY, at(2.0, 2.0, yaw=math.pi))
    assert run_skill(sim, "r", Detect("mug")).ok
    result = run_skill(sim, "r", Detect("bed"))
    assert result.outcome is Outcome.NOT_VISIBLE
    assert "bed" in result.reason


def _fields(noise: DetectorNoise) -> dict[str, float]:
    return {name: getattr(noise, name) for name in DetectorNoise.__dataclass_fields__}


def _sightings(distance: float, fraction: float = 1.0, pixels: float = 40.0) -> list[Sighting]:
    box = Box((distance, 0.0, 0.5), (0.2, 0.2, 0.2))
    return [Sighting(f"o{k}", "mug", box, fraction, distance, pixels) for k in range(400)]


def _rate(**case: float) -> float:
    confusable = {"mug": ("cup", "bowl")}
    detector = Detector(DetectorNoise(phantom=0.0), 7, confusable, ["mug", "cup", "bowl"])
    found = detector.detect("r", 3, _sightings(**case), lambda p: None, (0.0, 0.0, 1.0))
    return len(found) / 400.0


def test_misses_grow_with_distance_smallness_and_what_hides() -> None:
    assert _rate(distance=1.0) > _rate(distance=5.5) + 0.1
    assert _rate(distance=1.0) > _rate(distance=1.0, pixels=4.0) + 0.1
    assert _rate(distance=1.0) > _rate(distance=1.0, fraction=0.2) + 0.1


def test_false_labels_are_confusable_ones_and_scores_are_a_distribution() -> None:
    detector = Detector(DetectorNoise.high(), 7, {"mug": ("cup", "bowl")}, ["mug", "sofa"])
    found = detector.detect("r", 3, _sightings(3.0), lambda p: None, (0.0, 0.0, 1.0))
    count = Counter(d.label for d in found if d.room is None and d.box is not None)
    assert set(count) <= {"mug", "cup", "bowl"}
    assert count["cup"] > 5
    assert count["bowl"] > 5
    assert count["mug"] > 3 * count["cup"]
    for d in found:
        assert d.label == max(d.scores, key=lambda k: d.scores[k])
        assert d.score == d.scores[d.label]
        assert sum(d.scores.values()) <= 1.0 + 1e-9
    right = [d.score for d in found if d.label == "mug"]
    wrong = [d.score for d in found if d.label != "mug"]
    assert np.mean(right) > np.mean(wrong) + 0.05


def test_boxes_shake_more_from_afar() -> None:
    detector = Detector(DetectorNoise.normal(), 1, {}, ["mug", "sofa"])

    def spread(distance: float) -> float:
        found = detector.detect("r", 1, _sightings(distance), lambda p: None, (0.0, 0.0, 1.0))
        return float(np.std([d.box.center[1] for d in found if d.box is not None]))

    assert spread(1.0) == pytest.approx(0.01, rel=0.4)
    assert spread(5.0) == pytest.approx(0.05, rel=0.4)


def test_phantoms_are_rare_and_in_the_same_room() -> None:
    sim = world(noise=DetectorNoise(phantom=2.0), seed=5)
    sim.add_robot("r", BODY, at(2.0, 2.0))
    run_skill(sim, "r", LookAround())
    ghosts = 0
    for _ in range(60):
        sim.tick(0.1)
        for found in sim.observe("r").detections:
            assert found.box is not None
            real = any(math.dist(found.box.center, t.box.center) < 0.35 for t in sim.contents)
            if not real:
                ghosts += 1
                assert found.room is not None
                assert found.room.name == "kitchen"
    assert 20 < ghosts < 150


def test_noise_levels_are_ordered_and_checked() -> None:
    levels = [
        DetectorNoise.none(),
        DetectorNoise.low(),
        DetectorNoise.normal(),
        DetectorNoise.high(),
    ]
    for name in ("miss", "miss_far", "miss_small", "wrong_label", "phantom", "jitter"):
        values = [getattr(level, name) for level in levels]
        assert values == sorted(values)
    assert levels[0].perfect
    assert not levels[1].perfect
    with pytest.raises(ValueError, match=r"DetectorNoise.miss must be within 0..1, got 1.5"):
        DetectorNoise(miss=1.5)


def test_false_labels_of_a_house_come_from_household_knowledge() -> None:
    sim = world(generate_house(2, floors=1, rooms=6), noise=DetectorNoise.high())
    category = load_household().category("sofa")
    assert category is not None
    if "sofa" in sim.contents.labels:
        assert tuple(sim.detector.confusable["sofa"]) == category.confused


_STORY = """
import json, sys
from habitat_bridge.house.generator import generate_house
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import run_skill
from coterie_core.skills import NavigateTo
sim = EmbeddedWorld(generate_house(3, floors=1, rooms=6), seed=int(sys.argv[1]))
out = []
for name in ("wheels", "legs"):
    sim.add_robot(name, EMBODIMENTS[name])
for hop in range(2):
    for name in sim.robots:
        seen = sim.observe(name)
        out.append(repr(seen))
        run_skill(sim, name, NavigateTo(place=seen.neighbours[hop % len(seen.neighbours)].id))
print(json.dumps(out))
"""


def _story(seed: int, hash_seed: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _STORY, str(seed)],
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": hash_seed, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    told: list[str] = json.loads(done.stdout)
    return told


def test_the_same_calls_give_the_same_observations_in_any_process() -> None:
    first = _story(11, "1")
    assert first == _story(11, "2")
    assert first != _story(12, "1")


def test_observing_twice_in_one_step_is_the_same() -> None:
    sim = world(noise=DetectorNoise.high(), look_on_arrival=True)
    sim.add_robot("r", EMBODIMENTS["wheels"])
    assert sim.observe("r") == sim.observe("r")
    before = sim.observe("r")
    sim.tick(0.1)
    assert sim.observe("r").detections != before.detections
