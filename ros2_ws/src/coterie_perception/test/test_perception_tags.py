"""Tags in pictures under perspective: numbers, poses, what they are on, calibration, scores."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cv2")

from coterie_core.detector_options import DetectorOptions
from coterie_core.geometry import Box
from coterie_core.yaml_marks import FileProblem
from coterie_fixtures.rendered_tags import INTRINSICS, TagRecording, facing, picture
from coterie_perception.detector import DetectorError, make_detector
from coterie_perception.tag_truth import TagReferee, moves_of, places_of, tags_in
from coterie_perception.tags import FAMILIES, TagTable, align, find_tags, read_tags
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject

LAB = """
family: tag36h11
size: 0.12
complete: [mug]
tags:
  3: {object: mug}
  7: {place: fridge door, at: [2.0, 1.0, 1.2]}
  9: {robot: rover, size: 0.16}
  11: {object: book}
"""


@pytest.fixture
def table(tmp_path: Path) -> TagTable:
    file = tmp_path / "tags.yaml"
    file.write_text(LAB)
    return read_tags(file)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.quick
def test_tags_of_every_family_are_found_in_perspective_with_their_poses(family):
    table = TagTable(family=family, size=0.12, tags={5: {"object": "mug"}})
    pose = facing((0.15, -0.08, 1.1), (0.5, -0.6, 0.4))
    (one,) = find_tags(picture(table, {5: pose}), table, INTRINSICS)
    assert one.number == 5 and one.pose is not None
    assert math.dist(one.pose[:3, 3], pose[:3, 3]) < 0.03
    apart = math.acos(min(1.0, (np.trace(one.pose[:3, :3].T @ pose[:3, :3]) - 1.0) / 2.0))
    assert apart < math.radians(4.0)


def test_a_tag_has_its_own_size_and_no_pose_without_a_camera(table):
    poses = {9: facing((0.0, 0.0, 2.0), (0.0, 0.4, 0.0)), 3: facing((0.4, 0.1, 1.5))}
    image = picture(table, poses)
    seen = {one.number: one for one in find_tags(image, table, INTRINSICS)}
    assert seen.keys() == poses.keys()
    assert seen[9].pose[2, 3] == pytest.approx(2.0, abs=0.05)
    assert all(one.pose is None for one in find_tags(image, table))
    assert find_tags(np.full_like(image, 128), table) == []


def test_as_a_detector_they_are_what_they_are_on(tmp_path):
    file = tmp_path / "tags.yaml"
    file.write_text(LAB)
    detector = make_detector("tags", DetectorOptions(file=str(file)))
    assert detector.labels == ("book", "fridge door", "mug", "rover")
    image = picture(detector.table, {3: facing((0.0, 0.0, 1.0)), 8: facing((0.3, 0.0, 1.0))})
    (one,) = detector.detect(image)  # nobody named number 8
    assert one.label == "mug" and one.attributes == {"tag": "3"}
    x, y, width, height = one.box
    assert abs(x + width / 2 - 320) < 3 and abs(y + height / 2 - 240) < 3
    assert abs(width - 0.12 * 520) < 4


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("family: tag36h12\ntags: {}", r"tags\.yaml:1.*tag36h11"),
        ("tags:\n  3: {object: mug, place: shelf}", "name one of object, place and robot"),
        ("tags:\n  9999: {object: mug}", "tag 9999: tag36h11 has the numbers 0 to 586"),
        ("tags:\n  3: {object: mug, size: -1}", r"tags\.3\.size|tags\[3\]\.size"),
    ],
)
def test_a_wrong_table_is_told_with_field_and_remedy(tmp_path, wrong, says):
    file = tmp_path / "tags.yaml"
    file.write_text(wrong)
    with pytest.raises(FileProblem, match=says):
        read_tags(file)
    with pytest.raises(DetectorError, match=says):
        make_detector("tags", DetectorOptions(file=str(file)))


def moved(x: float, y: float, yaw: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
    pose[:2, 3] = x, y
    return pose


# A camera at the map's origin, 1 m high, that looks along x: optical frame to map (REP 103).
AHEAD = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 1], [0, 0, 0, 1]])


def on_wall(x: float, y: float, z: float) -> np.ndarray:
    return AHEAD @ facing((-y, 1.0 - z, x), (0.1, 0.2, 0.0))


def test_maps_are_aligned_by_tags_that_both_robots_saw(table):
    tags = {3: on_wall(1.6, 0.3, 1.2), 7: on_wall(2.0, -0.5, 1.1), 11: on_wall(1.5, -0.2, 0.7)}
    shift = moved(3.0, -1.0, 0.7)  # the one robot's map in the other's
    one = TagRecording(table, [(1.0, AHEAD, tags)])
    other = TagRecording(
        table, [(1.0, shift @ AHEAD, {number: shift @ pose for number, pose in tags.items()})]
    )
    found = align(places_of(tags_in(one, table)), places_of(tags_in(other, table)), level=True)
    x, y, z, yaw = found.plane
    assert math.dist((x, y), (3.0, -1.0)) < 0.05 and abs(yaw - 0.7) < 0.03 and abs(z) < 0.03
    assert found.count == 3 and found.rms < 0.03
    with pytest.raises(ValueError, match="at least 2 tags in both, got 1"):
        align({3: np.zeros(3)}, {3: np.ones(3), 7: np.zeros(3)}, level=True)
    with pytest.raises(ValueError, match="spread them"):
        align({k: np.array([k, 0, 0.0]) for k in range(4)},
              {k: np.array([k, 0, 0.0]) for k in range(4)}, level=False)  # fmt: skip


def test_a_camera_is_calibrated_to_the_base_by_measured_tags(table):
    mount = AHEAD.copy()
    mount[:3, :3] = (
        AHEAD[:3, :3]
        @ np.array(  # pitched down by 0.3 rad
            [[1, 0, 0], [0, math.cos(0.3), -math.sin(0.3)], [0, math.sin(0.3), math.cos(0.3)]]
        ).T
    )
    mount[:3, 3] = (0.1, 0.0, 0.4)
    seen = {3: (0.2, 0.3, 1.4), 7: (-0.4, 0.1, 1.6), 9: (0.0, -0.3, 1.9), 11: (0.5, -0.1, 1.3)}
    base = {n: (mount @ [*at, 1.0])[:3] for n, at in seen.items()}
    found = align({n: np.array(at) for n, at in seen.items()}, base, level=False)
    assert found.rms < 1e-6 and found.pose == pytest.approx(mount, abs=1e-6)
    assert found.mount == pytest.approx((0.1, 0.0, 0.4, 0.0, 0.3, 0.0), abs=1e-6)


def thing(id_: str, label: str, at: tuple[float, float, float]) -> SceneObject:
    return SceneObject(id_, LabelBelief.of(label), Box(at, (0.1, 0.1, 0.1)))


def test_claims_are_judged_by_tags_alone(table):
    tags = {3: on_wall(1.6, 0.3, 1.2), 7: on_wall(2.0, 0.9, 1.2), 11: on_wall(1.5, -0.6, 0.7)}
    sights = tags_in(TagRecording(table, [(1.0, AHEAD, tags), (2.0, AHEAD, tags)]), table)
    assert {number: len(of) for number, of in sights.items()} == {3: 2, 7: 2, 11: 2}
    referee = TagReferee(table, sights)
    (local,) = referee.localization()
    assert local.verdict == "right" and local.off == pytest.approx(0.1, abs=0.04)
    scene = SceneGraph()
    scene.add_room(Room("r1", "kitchen", "kitchen", polygon=[(0, -2), (3, -2), (3, 0), (0, 0)]))
    scene.add_room(Room("r2", "hall", "hall", polygon=[(0, 0), (3, 0), (3, 2), (0, 2)]))
    for one in (
        thing("o1", "mug", (1.6, 0.3, 1.2)),
        thing("o2", "mug", (0.2, 0.2, 0.8)),
        thing("o3", "book", (0.2, 1.8, 0.7)),
        thing("o4", "sofa", (1.0, 1.0, 0.4)),
    ):
        scene.objects[one.id] = one
    rows = {row.claim.split(" at ")[0]: row for row in referee.mapped(scene)}
    assert rows["mug (tag 3) is in the map"].verdict == "right"
    assert rows["o2: mug"].verdict == "wrong"  # all mugs have tags
    assert rows["book (tag 11) is in the map"].verdict == "wrong"
    assert rows["o3: book"].verdict == "unknown"
    assert not any("sofa" in claim for claim in rows)
    assert referee.answered("mug", "hall", True, scene).verdict == "right"
    assert referee.answered("mug", "kitchen", True, scene).verdict == "wrong"
    assert referee.answered("book", "hall", True, scene).verdict == "unknown"
    assert referee.answered("book", "", False, scene).verdict == "wrong"
    told = moves_of([{"moves": [{"label": "mug", "end": [1.5, 0.4, 1.0]}]}])
    assert referee.brought(*told[0]).verdict == "right"
    assert referee.brought("book", (1.5, 0.4, 1.0)).verdict == "wrong"
    assert referee.brought("plate", (1.5, 0.4, 1.0)).verdict == "unknown"
