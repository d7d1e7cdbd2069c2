"""The open questions node over real rclpy: answers from the map, goes to look, meets faults."""

from __future__ import annotations

import base64
import dataclasses
import io
import json

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("coterie_msgs")

from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.action import ActionClient
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import Header, String

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Box
from coterie_fixtures.drawn_scenes import COLS, ROWS, SIDES, TABLE, view
from coterie_fixtures.endpoint import Endpoint, server_error
from coterie_fixtures.tiny_house import tiny_house
from coterie_llm import ModelProfile
from coterie_msgs.action import AskTeam
from coterie_msgs.msg import Observation, RequestJudgement, SemanticMap
from coterie_recordings import RecordedFrame
from coterie_recordings.mcap_writer import RecordingWriter
from coterie_ros import conversions
from coterie_ros.conversions.hardware import packed_color_to_msg
from coterie_ros.pictures import SHOW, SHOWN, Wanted, shown_as
from coterie_ros.qos import profile
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.node import BridgeNode
from openeqa_agent.node import OpenNode

pytestmark = [pytest.mark.ros, pytest.mark.quick]

BODY = Embodiment(name="dog", mobility="legs", radius=0.2, step_height=0.2)


def home(frame="map"):
    scene = SceneGraph(frame=frame)
    scene.add_room(Room("r", "office", "office"))
    box = Box((1.0, 1.0, 0.4), (1.2, 0.6, 0.8))
    thing = SceneObject("d1", LabelBelief.of("desk"), box, "r", observations=5)
    thing.properties["color"] = "brown"
    scene.add_object(thing)
    return scene


class Asker:
    """Publishes maps and asks; `mirror` makes a map of what a robot observes, as a mapper would."""

    def __init__(self, ros, **parameters) -> None:
        self.ros = ros
        self.node = ros.node("asker")
        self.maps = self.node.create_publisher(SemanticMap, "semantic_map", profile("latched"))
        self.agent = ros.add(OpenNode("open_questions", context=ros.context, parameters=parameters))
        ros.wait_active(self.agent)
        self.client = ActionClient(self.node, AskTeam, "ask_open")
        self.progress: list[AskTeam.Feedback] = []
        ros.wait_for_matched(self.client, self.maps)
        self.scene = SceneGraph()

    def show(self, scene) -> None:
        self.maps.publish(conversions.scene_to_msg(scene))
        self.ros.spin_until(lambda: self.agent._scene is not None, what="the map")

    def mirror(self, robot) -> None:
        def taken(message) -> None:
            seen = conversions.observation_from_msg(message)
            for found in seen.detections:
                if found.room is not None:
                    self.scene.add_room(Room(found.room.id, found.room.name, found.room.type))
                at = "_".join(f"{v:.0f}" for v in found.box.center)
                thing = SceneObject(
                    f"{found.label}_{at}", LabelBelief.of(found.label), found.box,
                    found.room.id if found.room else "", observations=8,
                )  # fmt: skip
                self.scene.add_object(thing)
            self.maps.publish(conversions.scene_to_msg(self.scene))

        self.heard = self.node.create_subscription(
            Observation, f"{robot}/observation", taken, profile("observations")
        )

    def ask(self, text, **request):
        handle = self.send(text, **request)
        return self.ros.result(handle.get_result_async(), 60.0).result

    def send(self, text, **request):
        goal = AskTeam.Goal(**{"explore": False, **request})
        goal.question.id = "q1"
        goal.question.text = text
        sent = self.client.send_goal_async(
            goal, feedback_callback=lambda m: self.progress.append(m.feedback)
        )
        return self.ros.result(sent)


def test_answers_from_the_latched_map(ros):
    asker = Asker(ros)
    guessed = asker.ask("What color is the desk?")
    assert guessed.success and guessed.open.guessed and "no map" in guessed.message
    asker.show(home())
    told = asker.ask("What color is the desk?")
    assert told.success and told.open.text == "brown" and not told.open.guessed
    assert told.open.objects == ["d1"] and told.open.question == "q1"
    assert told.open.category == "attribute_recognition" and not told.open.path
    nothing = asker.ask("  ")
    assert not nothing.success and "What color is the sofa?" in nothing.message
    alone = asker.ask("Where is the globe?", explore=True)
    assert alone.open.guessed and "'robot' is empty" in alone.message


def test_an_answer_that_is_not_sure_enough_is_withheld(ros):
    asker = Asker(ros, abstain_below=0.99)
    asker.show(home())
    told = asker.ask("What color is the desk?")
    assert not told.success and "0.99 is needed" in told.message


def test_frames_that_an_answer_names_are_shown_to_who_asks(ros, tmp_path):
    with RecordingWriter(tmp_path / "r.mcap") as writer:
        for k in range(3):
            frame, _ = view({"table": TABLE}, SIDES[k], time=float(k))
            color = np.full((ROWS, COLS, 3), (40 * k, 200, 30), np.uint8)
            writer.add(RecordedFrame(f"{k:06d}", dataclasses.replace(frame, color=color)))
    asker, shown = Asker(ros, recording=str(tmp_path / "r.mcap")), []
    asker.node.create_subscription(CompressedImage, SHOWN, shown.append, profile("messages"))
    out = asker.node.create_publisher(String, SHOW, profile("messages"))
    ros.wait_for_matched(out)
    out.publish(String(data=Wanted(id="a1", frames=("000009", "000002")).model_dump_json()))
    ros.spin_until(lambda: shown, what="the frame")
    assert [shown_as(one) for one in shown] == [("a1", "frame", 1, "")]
    pixels = conversions.color_from_msg(shown[0])
    assert np.abs(pixels.mean(axis=(0, 1)) - (80, 200, 30)).max() < 10


def seen_color(body) -> str:
    """What a model that sees says of the pictures it is sent: the color that is strongest."""
    (part,) = [p for p in body["messages"][-1]["content"] if p["type"] == "image_url"]
    data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
    means = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).mean(axis=(0, 1))
    return ("red", "green", "blue")[int(means.argmax())]


def test_what_a_map_does_not_hold_is_answered_from_a_kept_picture(ros):
    def look(body):
        if not any(isinstance(m["content"], list) for m in body["messages"]):
            return {"problem": "cannot say", "steps": []}  # reading, judging: no picture is there
        return {"reason": "it is in the picture", "answer": f"a {seen_color(body)} note",
                "confidence": 0.9, "objects": ["d1"], "frames": ["d1"]}  # fmt: skip

    with Endpoint(look) as endpoint:
        sees = ModelProfile(kind="openai", model="m", base_url=endpoint.url, max_retries=0)
        asker = Asker(ros, model_profile=sees.model_dump_json(), vision=True)
        out = asker.node.create_publisher(CompressedImage, SHOWN, profile("messages"))

        def show(message) -> None:  # as the mapper does, of the desk alone
            wanted = Wanted.model_validate_json(message.data)
            assert [one.label for one in wanted.things] == ["desk"]
            head = Header(frame_id=f"{wanted.id}/thing/0/ann")
            pixels = np.full((90, 120, 3), (30, 210, 40), np.uint8)
            out.publish(packed_color_to_msg(pixels, head))

        heard = asker.node.create_subscription(String, SHOW, show, profile("messages"))
        ros.wait_for_matched(heard, out)
        asker.show(home())
        told = asker.ask("What is stuck onto the desk's drawer?")
        assert told.success and told.open.text == "a green note", told.message
        assert told.open.decided_by == told.open.BY_MODEL and not told.open.guessed


def test_without_a_model_that_sees_it_says_that_it_would_need_one(ros):
    asker = Asker(ros)
    asker.show(home())
    told = asker.ask("What is written on the desk?")
    assert not told.success
    assert "I would need a model that sees to look at the desk" in told.message
    told = asker.ask("When was the desk last seen?")
    assert told.judgement.kind == RequestJudgement.UNDERSPECIFIED
    assert "did not understand" in told.judgement.text + told.message
    assert "model that sees" not in str(told)
    told = asker.ask("What is written on the globe?")
    assert told.success and told.judgement.kind == RequestJudgement.UNDERSPECIFIED
    assert "model that sees" not in told.open.text


def test_a_map_in_another_frame_is_not_taken(ros):
    asker = Asker(ros)
    complaints = []
    heard = asker.node.create_subscription(
        DiagnosticArray,
        "/diagnostics",
        lambda message: complaints.extend(status.message for status in message.status),
        10,
    )
    ros.wait_for_matched(heard)
    asker.show(home())
    asker.maps.publish(conversions.scene_to_msg(home("odom")))
    ros.spin_until(lambda: any("odom" in told for told in complaints), what="the complaint")
    assert asker.ask("Is there a desk?").open.text == "yes"


def test_an_endpoint_that_is_down_leaves_the_rules(ros):
    with Endpoint() as endpoint:
        endpoint.fail(*[server_error()] * 4)
        down = ModelProfile(kind="openai", model="m", base_url=endpoint.url, max_retries=0)
        asker = Asker(ros, model_profile=down.model_dump_json())
        asker.show(home())
        told = asker.ask("What color is the desk?")
    assert told.open.text == "brown" and told.open.decided_by == told.open.BY_RULE
    assert "500" in told.message


def start_bridge(ros, **parameters):
    robots = [{"name": "ann", "embodiment": BODY.model_dump(), "start": {"pose": {"x": 2, "y": 2}}}]
    world = EmbeddedWorld(tiny_house(), seed=3, noise=DetectorNoise.none(), threads=1)
    parameters["robots"] = json.dumps(robots)
    bridge = ros.add(BridgeNode(context=ros.context, world=world, parameters=parameters))
    ros.wait_active(bridge)
    return bridge


def test_a_question_that_is_taken_back_stops_the_robot(ros):
    bridge = start_bridge(ros, mode="real_time")
    asker = Asker(ros, robot="ann", map_wait=0.5)
    asker.mirror("ann")
    ros.spin_until(lambda: asker.agent._scene is not None, what="the first map")
    handle = asker.send("Where is the globe?", explore=True)
    ros.spin_until(lambda: bridge.world.state("ann").busy, what="ann to drive")
    told = asker.progress[-1]
    assert (
        (told.stage, told.robot) == (AskTeam.Feedback.EXPLORING, "ann")
        and told.place
        and told.reason
    )
    ros.result(handle.cancel_goal_async())
    end = ros.result(handle.get_result_async())
    assert end.status == GoalStatus.STATUS_CANCELED and not end.result.success
    assert bridge.world.state("ann").busy == ""  # it stands before the question has ended
    where = bridge.world.state("ann").pose.position
    ros.spin(0.3)
    assert bridge.world.state("ann").pose.position == where
    assert asker.ask("Which room is the globe in?").success  # and others can be asked


def test_goes_to_look_and_gives_up_on_a_robot_that_died(ros):
    bridge = start_bridge(ros)
    asker = Asker(ros, robot="ann", map_wait=1.0, robot_wait=1.0)
    asker.mirror("ann")
    ros.spin_until(lambda: asker.agent._scene is not None, what="the first map")
    near = asker.ask("Where is the globe?", explore=True, max_distance=0.1)
    assert near.open.guessed and len(near.open.path) == 1 and "limit" in near.message
    found = asker.ask("Which room is the bed in?", explore=True)
    assert found.open.text == "the bedroom" and not found.open.guessed, found.message
    assert len(found.open.path) > 1 and found.open.objects
    drives = [one for one in asker.progress if one.stage == AskTeam.Feedback.EXPLORING]
    assert drives[-1].max_distance == 40.0 and drives[0].distance == 0.0
    assert len(drives) == 1 or (drives[-1].distance > 0.0 and drives[-1].seen)
    ros.remove(bridge)
    lost = asker.ask("Where is the globe?", explore=True)
    assert lost.success and lost.open.guessed and "ann went 0.0 m" in lost.message
