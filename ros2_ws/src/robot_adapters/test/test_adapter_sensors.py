"""What a robot's own camera and detector tell becomes observations, and reaches the mapper."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("vision_msgs")
pytest.importorskip("nav2_msgs")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from vision_msgs.msg import (
    Detection2D,
    Detection2DArray,
    Detection3DArray,
    ObjectHypothesisWithPose,
)

from coterie_core.detections import BoxDetection
from coterie_core.embodiment import Camera
from coterie_core.geometry import Pose
from coterie_fixtures.nav2_base import Nav2Base
from coterie_fixtures.packed_images import encode_color
from coterie_fixtures.read_messages import transform_from_msg
from coterie_msgs.action import Manipulate
from coterie_msgs.msg import ImageDetections, Observation, SkillResult
from coterie_ros import conversions
from coterie_ros.qos import profile
from robot_adapters.node import AdapterNode
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

CAMERA = Camera(width=64, height=48, mount_height=0.5, pitch=0.0)
OPTICAL = "camera_optical_frame"
CAMERAS = json.dumps(
    [
        {
            "name": "front",
            "depth": "camera/depth/image_raw",
            "info": "camera/depth/camera_info",
            "detections": {"topic": "detector/detections", "labels": {"7": "vase"}},
        }
    ]
)
GIVEN = {
    "permits": '{"team": {"otherwise": "allow"}}',
    "limits": '{"team": {"area": "anywhere"}}',
    "frames.tf": "tf",
    "in_team_map": json.dumps({"x": 10.0, "y": 0.0, "yaw": math.pi / 2.0}),
    "sensors.cameras": CAMERAS,
    "sensors.settle": 0.2,
}


class Rig:
    """A base with a camera that sees a vase 2 m ahead, in a map that is turned in the team's."""

    def __init__(self, ros, matched=True, **parameters):
        self.ros = ros
        self.due, self.period = 0.0, 0.1  # [s] between images
        self.base = ros.add(Nav2Base(namespace="/porter", context=ros.context, tf="tf"))
        self.adapter = ros.add(
            AdapterNode(
                namespace="/porter", context=ros.context, parameters={**GIVEN, **parameters}
            )
        )
        node = self.node = ros.node()
        self.seen: list = []
        self.frames: list = []
        self.relayed: dict[str, list] = {"depth": [], "info": [], "detections": []}
        node.create_subscription(Observation, "/porter/observation", self.seen.append, 50)
        for topic, qos in (("/tf", "tf"), ("/tf_static", "tf_static")):
            node.create_subscription(
                TFMessage, topic, lambda m: self.frames.extend(m.transforms), profile(qos)
            )
        for name, kind, topic in (
            ("depth", Image, "depth/image_raw"),
            ("info", CameraInfo, "depth/camera_info"),
            ("detections", ImageDetections, "detections"),
        ):
            node.create_subscription(
                kind,
                f"/porter/team/front/{topic}",
                self.relayed[name].append,
                profile("sensor_data"),
            )
        best = profile("sensor_data")
        self.depth = node.create_publisher(Image, "/porter/camera/depth/image_raw", best)
        self.info = node.create_publisher(CameraInfo, "/porter/camera/depth/camera_info", best)
        self.found = node.create_publisher(Detection2DArray, "/porter/detector/detections", 10)
        self.static = node.create_publisher(TFMessage, "/porter/tf_static", profile("tf_static"))
        fixed = conversions.camera_transforms("porter", CAMERA, 0.0)
        for one in fixed:  # with plain names, as a robot's own tf has them
            one.header.frame_id = one.header.frame_id.removeprefix("porter/")
            one.child_frame_id = one.child_frame_id.removeprefix("porter/")
        self.optical = fixed[-1].child_frame_id
        self.static.publish(TFMessage(transforms=fixed))
        ros.spin_until(lambda: self.adapter.state_label == "active" and self.seen)
        if matched:
            ros.wait_for_matched(self.depth, self.info, self.found)

    def look(self, offset=0.0):
        """Send one moment's images and detections, once a period at most."""
        if self.adapter.now() < self.due:
            return
        self.due = self.adapter.now() + self.period
        now = self.adapter.now() + offset
        head = conversions.header(now, self.optical)
        pixels = np.full((48, 64), 4.0, np.float32)
        pixels[20:28, 28:36] = 2.0
        self.info.publish(conversions.camera_info_to_msg(CAMERA, head))
        self.depth.publish(conversions.image_to_msg(pixels, head))
        one = Detection2D(header=head)
        one.bbox.center.position.x, one.bbox.center.position.y = 32.0, 24.0
        one.bbox.size_x = one.bbox.size_y = 8.0
        guess = ObjectHypothesisWithPose()
        guess.hypothesis.class_id, guess.hypothesis.score = "7", 0.9
        one.results = [guess]
        self.found.publish(Detection2DArray(header=head, detections=[one]))

    def detect(self, label, *, looking):
        """Have the robot tell whether it sees something; return how the skill ended."""
        return self.do(Manipulate.Goal(skill=Manipulate.Goal.DETECT, label=label), looking=looking)

    def do(self, goal, *, looking):
        """Have the robot do something; return how it ended."""
        ros, client = self.ros, ActionClient(self.node, Manipulate, "/porter/manipulate")
        ros.spin_until(client.server_is_ready)
        end = ros.result(client.send_goal_async(goal)).get_result_async()
        ros.spin_until(lambda: (looking and self.look(), end.done())[1], what="the skill's end")
        return end.result().result.result


def test_observations_are_in_the_teams_map_and_the_mapper_gets_images_in_its_frames(ros):
    rig = Rig(ros)
    first = rig.seen[-1]
    # (1, 1) of the robot's map, which lies at (10, 0) of the team's, turned by a quarter.
    assert (first.pose.position.x, first.pose.position.y) == pytest.approx((9.0, 1.0), abs=0.02)

    def tracked():
        rig.look()
        return any(t.label == "vase" for t in rig.adapter.sensors.observer.objects.items)

    ros.spin_until(tracked)
    # An observation follows every skill.
    assert rig.detect("vase", looking=True).outcome == SkillResult.SUCCEEDED
    ros.spin_until(lambda: rig.seen[-1].detections)
    (vase,) = rig.seen[-1].detections
    center = vase.box.center.position if hasattr(vase.box.center, "position") else vase.box.center
    # 2 m ahead of the robot, which looks along y of the team's map.
    assert (center.x, center.y) == pytest.approx((9.0, 3.0), abs=0.15)
    ros.spin_until(lambda: (rig.look(), all(rig.relayed.values()))[1])
    for messages in rig.relayed.values():
        assert messages[-1].header.frame_id == f"porter/{rig.optical}"
    sent = rig.relayed["detections"][-1]
    assert sent.detections[0].scores[0].label == "vase" and sent.image_width == 64
    known = {(one.header.frame_id, one.child_frame_id) for one in rig.frames}
    assert {("map", "porter/map"), ("porter/odom", "porter/base_link")} <= known
    placed = next(one for one in rig.frames if one.child_frame_id == "porter/map")
    assert transform_from_msg(placed) == Pose((10.0, 0.0, 0.0), pytest.approx(math.pi / 2.0))


def test_of_what_a_silent_detector_has_not_found_nothing_counts_as_looked_for(ros):
    """Depth alone tells where there is floor, and not that there is no vase."""
    rig = Rig(ros)
    rig.adapter.sensors._patient_until = 0.0
    assert rig.seen[-1].place == "" and not rig.seen[-1].seen and not rig.seen[-1].neighbours
    assert rig.seen[-1].pose.position.x == pytest.approx(9.0, abs=0.02)

    def told():
        return "does the detector run?" in rig.adapter.diagnostics.status().message

    ros.spin_until(told, what="that the detector is silent")
    ros.spin_until(lambda: (rig.look(), rig.seen[-1].place)[1], what="an observation by itself")
    assert not any("detector run" in one for one in rig.adapter.sensors.problems())


def test_what_was_seen_before_is_not_in_view_now(ros):
    """The vase stays known, and neither a detector that is silent nor another thing shows it."""
    rig = Rig(ros)
    assert rig.detect("vase", looking=True).outcome == SkillResult.SUCCEEDED
    silent = rig.detect("vase", looking=False)
    assert silent.outcome == SkillResult.FAULT and "no detections come" in silent.reason
    assert rig.adapter.sensors.observer.objects.items
    other = rig.detect("cup", looking=True)
    assert other.outcome == SkillResult.NOT_VISIBLE and "'cup'" in other.reason


def test_an_observation_waits_for_a_slow_detector_and_for_one_that_is_silent_not(ros):
    """A sponge in a sink was passed by: half a second is less than two images of a detector."""
    rig = Rig(ros, **{"sensors.min_views": 3})
    wait = Manipulate.Goal(skill=Manipulate.Goal.WAIT)
    before = len(rig.seen)
    assert rig.do(wait, looking=False).outcome == SkillResult.SUCCEEDED
    ros.spin_until(lambda: len(rig.seen) > before)
    assert not rig.seen[-1].detections

    rig.period = 0.6
    looks = rig.adapter.sensors.observer.looks
    ros.spin_until(lambda: (rig.look(), looks.heard(0.0))[1], what="a first image")
    before = len(rig.seen)
    assert rig.do(wait, looking=True).outcome == SkillResult.SUCCEEDED
    ros.spin_until(lambda: len(rig.seen) > before)
    assert [one.label for one in rig.seen[before].detections] == ["vase"]


def test_the_team_gets_no_images_just_after_localization_jumped(ros):
    rig = Rig(ros)
    got = rig.relayed["depth"]
    ros.spin_until(lambda: (rig.look(), len(got) > 2)[1], what="images for the team")
    rig.base.correct(2.0)
    sensors = rig.adapter.sensors
    ros.spin_until(lambda: (rig.look(), not sensors.steady)[1], what="the jump to be noticed")
    ros.spin_until(lambda: (rig.look(), sensors.steady)[1], what="localization to be steady")
    before = len(got)
    ros.spin_until(lambda: (rig.look(), len(got) > before + 2)[1], what="images again")
    times = [conversions.time_from_msg(one.header.stamp) for one in got]
    assert max(b - a for a, b in itertools.pairwise(times)) > 1.5


def test_colors_and_boxes_in_space_reach_the_team(ros):
    camera = {
        "name": "front",
        "depth": "camera/depth/image_raw",
        "info": "camera/depth/camera_info",
        "color": "camera/color/image_raw/compressed",
        "detections": {
            "topic": "detector/boxes",
            "type": "vision_msgs/Detection3DArray",
            "labels": {"7": "vase"},
        },
    }
    rig = Rig(ros, **{"sensors.cameras": json.dumps([camera])}, matched=False)
    got: dict[str, list] = {"color": [], "boxes": []}
    best = profile("sensor_data")
    for name, kind, topic in (
        ("color", Image, "color/image_raw"), ("boxes", Detection3DArray, "boxes"),
    ):  # fmt: skip
        rig.node.create_subscription(kind, f"/porter/team/front/{topic}", got[name].append, best)
    color = rig.node.create_publisher(
        CompressedImage, "/porter/camera/color/image_raw/compressed", best
    )
    boxes = rig.node.create_publisher(Detection3DArray, "/porter/detector/boxes", 10)
    ros.wait_for_matched(rig.depth, rig.info, color, boxes)
    due = 0.0

    def sent():
        nonlocal due
        if rig.adapter.now() >= due:
            due = rig.adapter.now() + 0.1
            head = conversions.header(rig.adapter.now(), rig.optical)
            red = np.full((48, 64, 3), (220, 20, 20), np.uint8)
            packed = encode_color(red, "jpg")
            color.publish(CompressedImage(header=head, format="jpeg", data=packed))
            one = BoxDetection((0.0, 0.0, 2.0), (0.0, 0.0, 0.0, 1.0), (0.2, 0.3, 0.2), {"7": 0.9})
            boxes.publish(conversions.boxes_to_vision_msg([one], head))
        return all(got.values())

    ros.spin_until(sent, what="color and boxes for the team")
    pixels = conversions.color_from_msg(got["color"][-1])
    assert pixels.shape == (48, 64, 3) and pixels[20, 20, 0] > 200 > 60 > pixels[20, 20, 2]
    (box,) = got["boxes"][-1].detections
    assert box.results[0].hypothesis.class_id == "vase"
    for messages in got.values():
        assert messages[-1].header.frame_id == f"porter/{rig.optical}"


@pytest.mark.parametrize(("offset", "side"), [(120.0, "ahead of"), (-120.0, "behind")])
def test_images_of_another_clock_are_refused_with_the_figure(ros, offset, side):
    rig = Rig(ros)
    ros.spin_until(
        lambda: (rig.look(offset=offset), any("120" in p for p in rig.adapter.sensors.problems()))[
            1
        ]
    )
    (problem,) = [p for p in rig.adapter.sensors.problems() if "120" in p][:1]
    assert f"{side} the clock here" in problem and "camera/depth" in problem
    assert rig.adapter.sensors.clocks.news(problem.partition(":")[0]) == ""  # it has been told
    assert not rig.adapter.sensors.observer.objects.items
