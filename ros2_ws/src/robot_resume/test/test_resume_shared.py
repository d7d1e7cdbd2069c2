"""Resumes of the URDFs beside the repository, held against what their makers publish."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import pytest

from coterie_core.urdf.errors import UrdfError
from coterie_fixtures.exact_reach import Kinematics
from robot_resume.builder import analyse, resume_of

FOLDER = Path(__file__).resolve().parents[5] / "shared" / "data" / "urdf"
FETCH, SPOT = "hab_fetch_default.urdf", "hab_spot_arm_default.urdf"
STRETCH, DRONE = "hab_stretch_default.urdf", "dji_m100_sensors_scaled_default.urdf"
RE1, WAFFLE = "stretch_description_RE1V0_tool_stretch_gripper.urdf", "turtlebot3_waffle.urdf"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the URDFs of ../shared/data/urdf are not here"
)


@functools.cache
def resume(name):
    return resume_of(FOLDER / name, samples=20_000)


def arm_space(name):
    (arm,) = resume(name).manipulation.arms
    return arm.workspace


@pytest.mark.parametrize(
    ("name", "kind", "arms", "stairs"),
    [
        (FETCH, "wheels", 8, False),
        (STRETCH, "wheels", 8, False),
        (RE1, "wheels", 6, False),
        (WAFFLE, "wheels", 0, False),
        (SPOT, "legs", 7, True),
        (DRONE, "air", 0, True),
    ],
)
def test_kind_and_arms(name, kind, arms, stairs):
    found = resume(name)
    assert found.mobility.kind == kind
    assert found.mobility.climbs_stairs is stairs
    assert [len(arm.joints) for arm in found.manipulation.arms] == ([arms] if arms else [])
    assert found.embodiment().mobility == kind
    assert found.perception.cameras


def test_fetch_is_as_high_as_its_camera_and_as_fast_as_published():
    body = resume(FETCH).mobility
    # 1.096 m as published; but this copy of the model has a camera frame above its head.
    (note,) = [warning for warning in resume(FETCH).warnings if "looks from" in warning]
    assert "end at 1.09 m" in note and "camera head_camera" in note
    assert body.height == pytest.approx(1.205, abs=0.005)
    assert body.linear_speed == pytest.approx(1.0, abs=0.06)
    assert body.radius == pytest.approx(0.559 / 2, abs=0.05)
    assert body.step_height == pytest.approx(0.018, abs=0.003)


def test_fetch_reaches_as_far_as_its_links_are_long():
    space = arm_space(FETCH)
    links = 0.117 + 0.219 + 0.133 + 0.197 + 0.1245 + 0.1385 + 0.16645
    assert links == pytest.approx(1.1, abs=0.01)
    shoulder = -0.086875 + 0.119525
    assert space.reach == pytest.approx(shoulder + links, abs=0.021)
    # Up: torso raised, the upper arm at its limit of 1.221 rad, the elbow straightens the rest.
    floor = 0.055325 - 0.06
    mount = 0.37743 + 0.38615 + 0.34858 + 0.06 - floor
    highest = mount + math.sin(1.221) * (0.219 + 0.133) + (links - 0.117 - 0.219 - 0.133)
    assert space.max_height == pytest.approx(highest, abs=0.021)
    gripper = resume(FETCH).manipulation.arms[0].gripper
    assert gripper is not None and gripper.opening == pytest.approx(0.10)


def test_the_head_of_fetch_rises_with_its_torso():
    camera = resume(FETCH).perception.cameras[0]
    assert camera.channels == ("rgb", "depth")
    assert camera.mount == "movable"
    assert camera.heights[1] - camera.heights[0] > 0.386
    assert camera.pitches == pytest.approx((-0.76, 1.45), abs=0.01)
    assert camera.yaws == pytest.approx((-1.57, 1.57), abs=0.01)
    mounts = {each.name: each.mount for each in resume(FETCH).perception.cameras}
    assert mounts["articulated_agent_arm_camera"] == "arm"


@pytest.mark.parametrize("name", [STRETCH, RE1])
def test_stretch_lifts_by_1_1_and_telescopes_by_0_52(name):
    chain = analyse(FOLDER / name).arms[0].chain
    columns = {joint.name: k for k, joint in enumerate(chain.joints)}
    rest = np.clip(np.zeros((1, chain.size)), chain.lower, chain.upper)
    up, out = rest.copy(), rest.copy()
    up[0, columns["joint_lift"]] = chain.upper[columns["joint_lift"]]
    for joint, column in columns.items():
        if joint.startswith("joint_arm"):
            out[0, column] = chain.upper[column]
    start, lifted, extended = (chain.points(values)[0] for values in (rest, up, out))
    assert lifted[2] - start[2] == pytest.approx(1.1, abs=0.001)
    assert np.linalg.norm(extended - start) == pytest.approx(0.52, abs=0.001)
    space = arm_space(name)
    assert 0.8 < space.reach < 1.0
    assert space.max_height > 1.1
    assert {joint.type for joint in resume(name).manipulation.arms[0].joints[:5]} == {"prismatic"}


def test_stretch_is_as_high_as_published():
    for name in (STRETCH, RE1):
        assert resume(name).mobility.height == pytest.approx(1.41, abs=0.05)
    assert resume(STRETCH).mobility.radius == pytest.approx(0.34, abs=0.03)


def test_spot_stands_on_its_legs():
    body = resume(SPOT).mobility
    hip = resume(SPOT).perception.cameras[-1].height  # sits at the height of the hips
    assert hip == pytest.approx(0.52, abs=0.04)
    assert body.step_height == pytest.approx(0.30, abs=0.06)
    (arm,) = resume(SPOT).manipulation.arms
    assert arm.gripper is not None and arm.gripper.joints == ("arm0.f1x",)
    # The turns about the forearm are given as a million: they need one turn.
    assert next(j for j in arm.joints if j.name == "arm0.hr0").upper == pytest.approx(math.pi)
    assert arm.workspace.reach == pytest.approx(0.292 + 0.984, abs=0.13)
    assert any("lower bound" in warning for warning in resume(SPOT).warnings)


def test_the_drone_is_turned_up_and_as_large_as_its_inertia():
    found = resume(DRONE)
    assert "y up" in found.mobility.evidence["frame"]
    assert found.mobility.radius == pytest.approx(0.65 / 2, abs=0.05)
    realsense = found.perception.cameras[0]
    assert realsense.pitch == pytest.approx(0.2, abs=0.001)
    assert set(realsense.channels) == {"rgb", "depth"}
    assert "lidar" in found.perception.others.values()


def test_waffle_has_the_published_size_and_its_prefix_is_empty():
    found = resume(WAFFLE)
    assert found.mobility.height == pytest.approx(0.141, abs=0.001)
    assert found.mobility.step_height == pytest.approx(0.010, abs=0.001)
    assert found.perception.cameras[0].frame == "camera_rgb_optical_frame"
    with pytest.raises(UrdfError, match="no link"):
        resume_of(FOLDER / "common_properties.urdf")


def test_cells_at_the_border_are_settled_by_inverse_kinematics():
    space = arm_space(FETCH)
    kinematics = Kinematics.of(FOLDER / FETCH)
    rng = np.random.default_rng(11)
    agreed = 0
    rows = rng.choice(np.arange(10, len(space.rows) - 6), 12, replace=False)
    for k in rows:
        height = space.bottom + (int(k) + 0.5) * space.cell
        _, farthest = space.radii_at(height)
        inside = kinematics.reaches((farthest - 1.5 * space.cell, 0.0, height))
        outside = kinematics.reaches((farthest + 1.5 * space.cell, 0.0, height))
        agreed += inside and not outside
    assert agreed == len(rows)
