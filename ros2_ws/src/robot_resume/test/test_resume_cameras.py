"""Cameras of a URDF: grouped by device, with what their joints let them see."""

from __future__ import annotations

import math

import pytest

from coterie_fixtures.urdfs import Urdf, diff_drive, with_arm
from robot_resume.builder import resume_of

OPTICAL = (-math.pi / 2, 0, -math.pi / 2)


def cameras(urdf):
    return resume_of(urdf.text(), samples=200).perception


def add_device(urdf, parent, at=(0, 0, 0), rpy=(0, 0, 0), streams=("color", "depth")):
    """Add a camera with an optical frame per stream, as drivers lay them out."""
    urdf.link("camera_link", "box", (0.02, 0.09, 0.02))
    urdf.joint("camera_joint", "fixed", parent, "camera_link", at, rpy=rpy)
    for stream in streams:
        for tail, above, turn in (
            ("frame", "camera_link", (0, 0, 0)),
            ("optical_frame", f"camera_{stream}_frame", OPTICAL),
        ):  # fmt: skip
            urdf.link(f"camera_{stream}_{tail}")
            urdf.joint(f"camera_{stream}_{tail}_joint", "fixed", above, f"camera_{stream}_{tail}",
                       rpy=turn)  # fmt: skip
    return urdf


def on_a_neck():
    urdf = diff_drive().link("lift").link("pan").link("tilt")
    urdf.joint("lift_joint", "prismatic", "base_link", "lift", (0, 0, 1.0), limit=(0.0, 0.4))
    urdf.joint("pan_joint", "revolute", "lift", "pan", limit=(-2.0, 1.0))
    urdf.joint("tilt_joint", "revolute", "pan", "tilt", axis=(0, 1, 0), limit=(-0.3, 0.9))
    return add_device(urdf, "tilt", (0.1, 0, 0))


def test_the_frames_of_one_device_are_one_camera():
    perception = cameras(add_device(diff_drive(), "base_link", (0.2, 0, 0.5)))
    (camera,) = perception.cameras
    assert (camera.name, camera.link) == ("camera", "camera_link")
    assert camera.frame == "camera_color_optical_frame"
    assert camera.channels == ("rgb", "depth")
    assert (camera.mount, camera.height, camera.forward) == ("fixed", 0.5, 0.2)
    assert (camera.pitch, camera.pitches, camera.heights) == (0.0, (0.0, 0.0), (0.5, 0.5))
    assert "optical frame camera_color_optical_frame" in perception.evidence["camera.pitch"]


def test_two_devices_are_two_cameras_and_infrared_is_told():
    urdf = add_device(diff_drive(), "base_link", (0.2, 0, 0.5), streams=("color", "infra1"))
    urdf.link("rear_camera").joint(
        "rear", "fixed", "base_link", "rear_camera", (-0.2, 0, 0.4), rpy=(0, 0, math.pi)
    )
    urdf.link("camera_imu_frame").joint("imu", "fixed", "camera_link", "camera_imu_frame")
    perception = cameras(urdf)
    front, rear = sorted(perception.cameras, key=lambda camera: camera.name)
    assert front.channels == ("rgb", "infrared")
    assert abs(rear.yaws[0]) == pytest.approx(math.pi, abs=0.001)
    assert perception.others == {"camera_imu_frame": "imu"}


def test_joints_give_heights_pitches_and_yaws():
    (camera,) = cameras(on_a_neck()).cameras
    assert camera.mount == "movable"
    # 0.1 m ahead of the tilt axis, which lifts it by 0.1 sin(tilt).
    assert camera.heights[0] == pytest.approx(1.0 - 0.1 * math.sin(0.9), abs=0.002)
    assert camera.heights[1] == pytest.approx(1.4 + 0.1 * math.sin(0.3), abs=0.002)
    assert camera.pitches == pytest.approx((-0.3, 0.9), abs=0.002)
    assert camera.yaws == pytest.approx((-2.0, 1.0), abs=0.002)
    assert camera.height == pytest.approx(1.0)


def test_a_head_with_a_camera_is_no_arm_and_an_arm_with_a_camera_is():
    assert resume_of(on_a_neck().text(), samples=200).manipulation.arms == ()
    urdf = with_arm(diff_drive(), gripper=False)
    add_device(urdf, "arm_5", (0.05, 0, 0))
    found = resume_of(urdf.text(), samples=200)
    assert len(found.manipulation.arms) == 1
    (camera,) = found.perception.cameras
    assert camera.mount == "arm"
    assert camera.heights[1] > 0.9
    assert camera.yaws == (-math.pi, math.pi)


def test_a_gazebo_sensor_tells_the_field_of_view_and_the_image():
    urdf = diff_drive().link("eyebrow")
    urdf.joint("e", "fixed", "base_link", "eyebrow", (0.2, 0, 0.6), rpy=(0, 0.3, 0))
    urdf.add(
        '<gazebo reference="eyebrow"><sensor type="depth" name="front"><camera>'
        "<horizontal_fov>1.5</horizontal_fov><image><width>320</width><height>240</height></image>"
        "<clip><near>0.2</near><far>6</far></clip></camera></sensor></gazebo>"
    )
    urdf.add(
        '<gazebo reference="base_link"><sensor type="gpu_ray" name="scan"><ray/></sensor></gazebo>'
    )
    perception = cameras(urdf)
    (camera,) = perception.cameras
    assert (camera.hfov, camera.width, camera.rows) == (1.5, 320, 240)
    assert camera.vfov == pytest.approx(2 * math.atan(math.tan(0.75) * 0.75), abs=1e-4)
    assert camera.range == (0.2, 6.0)
    assert camera.channels == ("depth",)
    assert camera.pitch == pytest.approx(0.3)
    assert "gazebo sensor 'front'" in perception.evidence["eyebrow.hfov"]
    assert perception.others == {"base_link": "lidar"}


def test_what_is_not_said_is_assumed_and_said_so():
    known = cameras(
        Urdf("a").link("base").link("realsense_link").joint("j", "fixed", "base", "realsense_link")
    )
    assert math.degrees(known.cameras[0].hfov) == pytest.approx(69.4, abs=0.1)
    assert "assumed: the data sheet" in known.evidence["realsense.hfov"]
    plain = cameras(add_device(diff_drive(), "base_link"))
    assert math.degrees(plain.cameras[0].hfov) == pytest.approx(60.0, abs=0.1)
    assert plain.evidence["camera.hfov"].startswith("assumed")
    none = cameras(diff_drive())
    assert none.cameras == () and "no link is named as a camera" in none.evidence["cameras"]


def test_an_optical_frame_that_is_not_turned_looks_along_x():
    urdf = diff_drive().link("cam_optical_frame")
    urdf.joint("c", "fixed", "base_link", "cam_optical_frame", (0.2, 0, 0.5))
    perception = cameras(urdf)
    assert perception.cameras[0].pitch == 0.0
    assert "not turned like one" in perception.evidence["cam_optical.pitch"]


def head_camera(rpy, shape="box"):
    urdf = diff_drive().link("zed_link", shape, (0.02, 0.1, 0.02) if shape else ())
    return urdf.joint("zed_joint", "fixed", "base_link", "zed_link", (0.2, 0, 1.2), rpy=rpy)


@pytest.mark.parametrize("shape", ["box", ""])
@pytest.mark.parametrize(
    ("rpy", "pitch", "yaw"),
    [
        ((-math.pi / 2 - 0.349, 0, -math.pi / 2), 0.349, 0.0),
        ((-math.pi / 2 + 0.3, 0, -math.pi / 2), -0.3, 0.0),
        ((0, 0.349, 0), 0.349, 0.0),
        ((0, 0.2, math.pi / 2), 0.2, math.pi / 2),
    ],
    ids=["optical, down", "optical, up", "body, down", "body, left"],
)
def test_a_frame_that_stands_upright_by_one_convention_only_follows_it(rpy, pitch, yaw, shape):
    found = resume_of(head_camera(rpy, shape).text(), samples=200)
    (camera,) = found.perception.cameras
    assert camera.pitch == pytest.approx(pitch, abs=0.002)
    assert camera.yaws == pytest.approx((yaw, yaw), abs=0.002)
    assert camera.hfov > camera.vfov
    assert not [told for told in found.warnings if "optical frame" in told]


@pytest.mark.parametrize("rpy", [(0.8, 0, 0), (-math.pi / 2, 0, 0)])
def test_axes_that_no_convention_explains_are_told(rpy):
    found = resume_of(head_camera(rpy).text(), samples=200)
    (told,) = [told for told in found.warnings if "optical frame" in told]
    assert "camera zed" in told and "zed_link" in told
