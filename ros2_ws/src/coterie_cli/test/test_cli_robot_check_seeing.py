"""`./coterie robot check`: poses, detectors, frames and namespaces, as the adapter takes them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("vision_msgs")

from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState, LaserScan
from vision_msgs.msg import (
    Detection2D,
    Detection2DArray,
    Detection3D,
    Detection3DArray,
    ObjectHypothesis,
    ObjectHypothesisWithPose,
)

from coterie_cli.robot.expected import expected_of
from coterie_cli.robot.facts import Facts, Source, TopicFacts
from coterie_cli.robot.finding import worst
from coterie_cli.robot.findings import judge
from coterie_cli.robot.seeing import COLORS, judge_cameras
from coterie_fixtures.checked_robot import LATCHED, SETTINGS, bad, found, the, with_settings
from coterie_ros.conversions import color_from_msg
from robot_adapters.settings import AdapterSettings

pytestmark = pytest.mark.ros
POSE = {"frames": {"tf": "tf", "pose": "pose"}}
NOWHERE = {"navigation": {"backend": "none"}}


def note(findings, what):
    """Return what is to know about a topic."""
    return [f for f in findings if f.what == what and f.state == "note"]


def detections(kind, *ids):
    """Return an array of detections with these class identifiers."""
    guesses = [ObjectHypothesisWithPose(hypothesis=ObjectHypothesis(class_id=i)) for i in ids]
    one = {Detection2DArray: Detection2D, Detection3DArray: Detection3D}[kind]
    return kind(detections=[one(results=[guess]) for guess in guesses])


def seen(ros, kind, frame, *ids, more=None, **faults):
    """Return the findings about a robot with a detector of vision_msgs."""
    detector = {"topic": "camera/boxes", "type": f"vision_msgs/{kind.__name__}", **(more or {})}
    expected = with_settings(sensors=SETTINGS["sensors"] | {"detections": detector})
    says = [("camera/boxes", frame, detections(kind, *ids))]
    return found(ros, expected, topics={"camera/boxes": (kind, 5)}, says=says, **faults)


@pytest.mark.parametrize(
    ("listens", "state", "text", "remedy"),
    [
        ({}, "note", "nobody listens to it", "robots.ada.adapter.navigation.cmd_vel"),
        ({"cmd_vel": TwistStamped}, "bad", "takes", "set navigation.stamped_velocity: true"),
        ({"cmd_vel": Twist}, "good", "the base's driver listens", ""),
    ],
)
def test_a_stop_of_nav2_needs_somebody_who_hears_its_zeros(ros, listens, state, text, remedy):
    wheels = [f for f in found(ros, listens=listens) if f.what == "/ada/cmd_vel"]
    assert [f.state for f in wheels] == [state]
    assert text in wheels[0].text and remedy in wheels[0].remedy


def test_no_zeros_are_sent_where_no_topic_is_named():
    servers = [one.name for one in with_settings(navigation={"cmd_vel": ""}).servers]
    assert "/ada/navigate_to_pose" in servers and "/ada/cmd_vel" not in servers


def test_frames_and_time_lie_in_the_teams_namespace(ros):
    settings = AdapterSettings.model_validate(SETTINGS | {"frames": {"tf": "/tf"}})
    expected = expected_of("ada", settings, "lab")
    names = {"tf": "/lab/tf", "tf_static": "/lab/tf_static", "clock": "/lab/clock"}
    topics = {"clock": (Clock, 5)}
    findings = found(ros, expected, namespace="lab/ada", names=names, topics=topics)
    assert bad(findings) == [] and worst(findings) == "good", findings
    assert {f.what for f in findings if f.area == "topic"} >= {"/lab/tf", "/lab/tf_static"}
    clocks = [f.text for f in findings if f.area == "clock"]
    assert clocks and all(text.endswith("/lab/clock") for text in clocks)


def test_a_tf_beside_the_teams_namespace_is_told(ros):
    settings = AdapterSettings.model_validate(SETTINGS | {"frames": {"tf": "/tf"}})
    expected = expected_of("ada", settings, "lab")
    moved = the(found(ros, expected, names={"tf": "/tf"}), "/lab/tf", "/tf has this type")
    assert "namespace moves /tf" in moved.remedy


def test_a_tf_of_the_robots_own_stays_where_it_is():
    expected = expected_of("ada", AdapterSettings.model_validate(SETTINGS), "lab")
    assert (expected.tf, expected.clock) == ("/lab/ada/tf", "/lab/clock")
    assert expected_of("ada", AdapterSettings()).tf == "/tf"


def test_a_robot_that_tells_its_pose_needs_no_tf(ros):
    odometry = {"pose": (Odometry, 5)}
    sensors = SETTINGS["sensors"]
    cameras = [{"name": "eye", "mount": {"z": 0.5}, **sensors}]
    expected = with_settings(**POSE, sensors={"cameras": cameras})
    findings = found(
        ros, expected, topics=odometry, says=[("pose", "map", Odometry())],
        without=("tf", "tf_static"),
    )  # fmt: skip
    assert bad(findings) == [] and worst(findings) == "good", findings


def test_sensors_that_tf_static_places_need_no_mount_beside_a_pose(ros):
    scan = {"backend": "velocity", "scan": "scan"}
    expected = with_settings(**POSE, navigation=scan)
    topics = {"pose": (Odometry, 5), "scan": (LaserScan, 5)}
    says = [("pose", "map", Odometry()), ("scan", "lidar", LaserScan())]
    findings = found(ros, expected, topics=topics, says=says, without=("tf",))
    lidar = the(findings, "lidar", "where frame 'lidar' sits on 'base_link' is not known")
    assert "navigation.scan_mount" in lidar.remedy
    assert [what for what, _ in bad(findings)] == ["lidar"]  # the camera's frame is told


def test_poses_that_come_too_seldom_or_in_another_frame(ros):
    pose = {"pose": "amcl_pose", "pose_type": "geometry_msgs/PoseWithCovarianceStamped"}
    findings = found(ros, with_settings(**NOWHERE, frames={"tf": "tf", **pose}))
    once = the(findings, "/ada/amcl_pose", "a pose older than 1 s does not count")
    assert "amcl_pose comes only on motion" in once.remedy
    assert "/ada/amcl_pose" not in {f.what for f in findings if f.area == "clock"}


def test_poses_in_another_frame_are_taken_for_the_maps(ros):
    topics, says = {"pose": (Odometry, 5)}, [("pose", "odom", Odometry())]
    findings = found(ros, with_settings(**POSE), topics=topics, says=says)
    assert bad(findings) == []
    assert (
        "is in frame 'odom', and is taken for a pose in 'map'"
        in note(findings, "/ada/pose")[0].text
    )


@pytest.mark.parametrize("kind", [Detection2DArray, Detection3DArray])
def test_detections_without_a_frame_are_refused(ros, kind):
    the(seen(ros, kind, "", "cup"), "/ada/camera/boxes", "name no frame, and so they are refused")


@pytest.mark.parametrize(
    ("kind", "frame", "joined"),
    [
        (Detection2DArray, "lens", True),
        (Detection2DArray, "", True),
        (Detection3DArray, "optical", True),
        (Detection3DArray, "map", True),
        (Detection3DArray, "world", False),
    ],
)
def test_detections_of_a_camera_with_a_mount(ros, kind, frame, joined):
    detector = {"topic": "camera/boxes", "type": f"vision_msgs/{kind.__name__}"}
    camera = SETTINGS["sensors"] | {"name": "eye", "mount": {"z": 0.5}, "detections": detector}
    says = [("camera/boxes", frame, detections(kind, "cup"))]
    expected = with_settings(sensors={"cameras": [camera]})
    told = bad(found(ros, expected, topics={"camera/boxes": (kind, 5)}, says=says))
    assert [what for what, _ in told] == ["/ada/camera/boxes"] * (not joined), told


def test_camera_info_that_is_sent_once_and_kept(ros):
    findings = found(ros, topics={"camera/camera_info": (CameraInfo, LATCHED)}, infos=1)
    assert bad(findings) == [] and worst(findings) == "good", findings


@pytest.mark.parametrize(
    ("kind", "frame", "joined"),
    [
        (Detection3DArray, "map", True),
        (Detection3DArray, "optical", True),
        (Detection3DArray, "world", False),
        (Detection2DArray, "optical", True),
        (Detection2DArray, "lens", False),
    ],
)
def test_detections_in_a_frame_that_tf_does_not_join(ros, kind, frame, joined):
    findings = seen(ros, kind, frame, "cup")
    if joined:
        assert bad(findings) == [] and worst(findings) == "good", findings
    else:
        the(findings, "/ada/camera/boxes", f"is in frame '{frame}', which tf does not join")


@pytest.mark.parametrize(
    ("ids", "more", "told"),
    [
        (("41", "0"), {}, "by numbers (0, 41)"),
        (("41", "cup"), {}, ""),
        (("41",), {"labels": {"41": "cup"}}, ""),
    ],
)
def test_things_that_are_told_by_numbers_need_labels(ros, ids, more, told):
    findings = seen(ros, Detection2DArray, "optical", *ids, more=more)
    assert bad(findings) == []
    assert [told in f.text for f in note(findings, "/ada/camera/boxes")] == [True] * bool(told)


def test_slashes_in_front_of_frames_do_not_count(ros):
    findings = found(ros, slash="/")
    assert bad(findings) == [] and worst(findings) == "good", findings
    named = with_settings(frames={"tf": "tf", "map": "/map", "odom": "/odom", "base": "/base_link"})
    assert bad(found(ros, named)) == []


@pytest.mark.parametrize(("encoding", "notes"), [("bgra8", 0), ("8UC3", 1)])
def test_color_images_that_nobody_reads(ros, encoding, notes):
    expected = with_settings(sensors=SETTINGS["sensors"] | {"color": "camera/color"})
    findings = found(ros, expected, topics={"camera/color": (Image, 5)}, color=encoding)
    assert bad(findings) == []
    assert len([f for f in note(findings, "/ada/camera/color") if encoding in f.text]) == notes


@pytest.mark.parametrize("encoding", COLORS)
def test_encodings_of_color_are_those_that_are_read(encoding):
    size = {"mono8": 1, "8UC1": 1, "rgb8": 3, "bgr8": 3}.get(encoding, 4)
    image = Image(width=2, height=1, encoding=encoding, step=2 * size)
    image.data = np.zeros(2 * size, np.uint8).tobytes()
    assert color_from_msg(image).shape == (1, 2, 3)


@pytest.mark.parametrize("mount", [{"mount": {"z": 0.5}}, {}])
@pytest.mark.parametrize("frame", ["base_link", "map"])
def test_images_that_are_stamped_with_a_frame_that_is_no_cameras(ros, mount, frame):
    cameras = [{"name": "eye", **mount, **SETTINGS["sensors"]}]
    findings = found(ros, with_settings(sensors={"cameras": cameras}), image=frame)
    (stamped,) = note(findings, "/ada/camera/depth")
    assert f"stamped with '{frame}', which is no camera's frame" in stamped.text
    assert ("mount" in stamped.remedy) is not bool(mount)


@pytest.mark.parametrize(("joints", "missing"), [(["lift", "elbow"], ""), (["elbow"], "lift")])
def test_joints_of_the_urdfs_arm_that_are_not_told(ros, joints, missing):
    expected = with_settings(**NOWHERE, arm={"backend": "trajectory"})
    expected = dataclasses.replace(expected, joints=("lift", "elbow"))
    topics = {"joint_states": (JointState, 5)}
    told = bad(found(ros, expected, topics=topics, joints=joints))
    texts = [text for what, text in told if what == "/ada/joint_states"]
    assert [missing in text and "it tells elbow" in text for text in texts] == [True] * bool(
        missing
    )


CAMERA = {"depth": "d", "info": "i", "color": "c", "detections": {"detector": "box"}}


@pytest.mark.parametrize(("delay", "state"), [(0.4, "good"), (1.6, "note")])
def test_how_late_detections_come_is_told_against_their_images(delay, state):
    """Whatever the robot's clock says: this one is an hour off."""
    settings = AdapterSettings.model_validate({"sensors": CAMERA})
    facts, source = Facts(), Source("/dog/camera", "sensor_msgs/msg/Image")
    for topic, more in (("d", 0.0), ("c", 0.1), ("detections", delay)):
        offsets = [3600.0 + more + spread for spread in (0.0, 0.02, 0.04)]
        facts.topics[f"/dog/{topic}"] = TopicFacts([source], 3, 1.0, "eye", offsets, (8, 8), "rgb8")
    told = [f for f in judge_cameras(expected_of("dog", settings), facts) if "after" in f.text]
    assert [one.state for one in told] == [state]
    assert f"detections come {delay + 0.02:.2f} s after their images" in told[0].text


def test_a_detector_of_the_team_is_not_missed_before_the_team_runs():
    settings = AdapterSettings.model_validate({"sensors": CAMERA})
    told = judge(expected_of("dog", settings), Facts())
    (one,) = [f for f in told if f.what == "/dog/detections"]
    assert one.state == "note" and "./coterie up starts the detector" in one.remedy
    (color,) = [f for f in told if f.what == "/dog/c"]
    assert color.state == "bad"
