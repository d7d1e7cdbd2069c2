"""The resume node over real rclpy: good, bad, changed and absent descriptions."""

from __future__ import annotations

import json

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.quick]

pytest.importorskip("coterie_msgs")

from std_msgs.msg import String  # noqa: E402

from coterie_fixtures.endpoint import Endpoint  # noqa: E402
from coterie_fixtures.urdfs import diff_drive, with_arm  # noqa: E402
from coterie_ros.conversions import resume_from_msg  # noqa: E402
from coterie_ros.qos import profile  # noqa: E402
from robot_resume.node import ResumeNode  # noqa: E402


class Robot:
    """A resume node in the namespace of robot r1, and who feeds and hears it."""

    def __init__(self, ros, **parameters) -> None:
        self.ros = ros
        self.heard: list[String] = []
        other = ros.node("other")
        latched = profile("latched")
        self.description = other.create_publisher(String, "r1/robot_description", latched)
        other.create_subscription(String, "r1/resume", self.heard.append, latched)
        self.node = ros.add(
            ResumeNode(
                "resume_node",
                namespace="/r1",
                context=ros.context,
                parameters={"samples": 1000, **parameters},
                light=True,
            )
        )
        ros.wait_active(self.node)

    def say(self, text) -> None:
        self.description.publish(String(data=text))

    def wait(self, count: int) -> String:
        self.ros.spin_until(lambda: len(self.heard) >= count, what=f"{count} resumes")
        assert len(self.heard) == count
        return self.heard[-1]

    def wait_refused(self, count: int) -> str:
        diagnostics = self.node.diagnostics
        self.ros.spin_until(lambda: diagnostics.counter("refused") == count, what="a refusal")
        return diagnostics.status().message


def test_bad_descriptions_are_named_and_the_last_good_resume_stays(ros):
    robot = Robot(ros)
    robot.say("")
    assert "empty" in robot.wait_refused(1)
    robot.say("\x1b[2Jnot xml at all")
    message = robot.wait_refused(2)
    assert "robot_description" in message and "\x1b" not in message

    text = with_arm(diff_drive()).text()
    robot.say(text)
    message = robot.wait(1)
    resume = resume_from_msg(message)
    assert resume.robot == "r1"
    assert resume.mobility.kind == "wheels" and len(resume.manipulation.arms) == 1
    assert "wheels" in resume.summary

    robot.say(text[: len(text) // 2])
    assert "last good resume stays" in robot.wait_refused(3)
    robot.say(text)  # comes again after a bad one: made again, the same
    assert resume_from_msg(robot.wait(2)) == resume
    robot.say(diff_drive(track=0.6).text())
    assert not resume_from_msg(robot.wait(3)).manipulation.arms
    assert robot.node.state_label == "active"


def test_overrides_and_a_model_that_lies(ros, tmp_path):
    file = tmp_path / "r1.yaml"
    file.write_text("mobility: {linear_speed: 0.77}\n")
    lies = {
        "mobility": "It flies at 40 m above everything.",
        "perception": "It sees.",
        "manipulation": "It grasps.",
    }
    with Endpoint(lambda request: lies) as endpoint:
        robot = Robot(
            ros,
            overrides=str(file),
            model_profile=json.dumps({"kind": "openai", "model": "m", "base_url": endpoint.url}),
        )
        robot.say(diff_drive().text())
        message = robot.wait(1)
    resume = resume_from_msg(message)
    assert resume.mobility.linear_speed == pytest.approx(0.77)
    assert "drives on wheels" in resume.summary and "40" not in resume.summary


def test_wrong_overrides_stop_the_start(ros, tmp_path):
    file = tmp_path / "r1.yaml"
    file.write_text("mobility: {speed: 1}\nwheel: []\n")
    node = ros.add(
        ResumeNode(
            "resume_node",
            namespace="/r1",
            context=ros.context,
            parameters={"overrides": str(file)},
            light=True,
        )
    )
    ros.spin_until(lambda: bool(node.failure), what="the refusal")
    assert "r1.yaml:1: mobility.speed" in node.failure and "did you mean 'wheels'" in node.failure
