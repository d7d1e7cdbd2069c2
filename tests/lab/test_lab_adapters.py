"""An adapter and the lab, which know each other only by the ecosystem's interfaces."""

from __future__ import annotations

import base64
import io
import json
import math
from dataclasses import replace

import pytest
from PIL import Image as PictureFile

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("moveit_msgs")

from coterie_core.skill_registry import SKILLS
from coterie_core.skills import Close, LookAround, NavigateTo, Open, Outcome, Pick, Place, Target
from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.lab_rig import TEAM, LabRig
from coterie_llm import ModelProfile
from coterie_safety.why.journal import JournalSettings, close_journal, open_journal

pytestmark = pytest.mark.ros

TURNED = TEAM.replace(
    "frames: {tf: tf}", "frames: {tf: tf}\n      in_team_map: {x: 2.0, y: -1.0, yaw: 1.2}"
)


@pytest.mark.parametrize("team", [TEAM, TURNED], ids=["same map", "own map"])
def test_a_robot_drives_in_the_teams_map_whatever_its_own_is_and_tells_what_it_sees(ros, team):
    rig = LabRig(ros, team)
    rig.wait_ready()
    first = rig.seen["slim"][-1]
    assert (
        math.dist(
            (first.pose.position.x, first.pose.position.y),
            rig.world.state("slim").pose.position[:2],
        )
        < 0.05
    )
    assert first.neighbours
    result = rig.end(NavigateTo(position=(6.0, 2.3, 0.0), yaw=0.5))
    assert result.ok, result.reason
    pose = rig.world.state("slim").pose
    assert math.dist(pose.position[:2], (6.0, 2.3)) <= 0.3 and abs(pose.yaw - 0.5) <= 0.3
    rig.seen["slim"].clear()
    assert rig.end(LookAround()).ok
    labels = {thing.label.top for thing in rig.world.truth().objects.values()}
    ros.spin_until(lambda: labels & {d.label for o in rig.seen["slim"] for d in o.detections})


def test_it_takes_a_mug_and_puts_it_into_another_place(ros):
    rig = LabRig(ros)
    rig.wait_ready()
    picked = rig.end(Pick(Target("mug", (0.5, 1.2, 0.95))))
    assert picked.ok, picked.reason
    assert rig.world.state("slim").holding == "o_mug"
    assert rig.end(LookAround()).ok  # where the mug is to stand may have been seen long ago
    put = rig.end(Place(Target("counter", (0.5, 1.5, 0.9))))
    assert put.ok, put.reason
    mug = rig.world.contents.things["o_mug"]
    assert mug.support == "o_counter"
    assert math.dist(mug.box.center[:2], (0.5, 1.5)) < 0.2


def test_it_opens_a_fridge_sees_what_is_in_it_shuts_it_and_takes_it_out(ros):
    rig = LabRig(ros, TEAM.replace("tip: hand_link", "tip: hand_link\n        handles: front"))
    rig.wait_ready()
    fridge = rig.world.contents.things["o_fridge"]
    meant = Target("refrigerator", fridge.box.center)
    assert rig.end(NavigateTo(position=(3.45, 2.7, 0.0), yaw=1.57)).ok
    assert rig.end(LookAround()).ok
    opened = rig.end(Open(meant))
    assert opened.ok, opened.reason
    assert fridge.is_open
    rig.wait(2.0)
    inside = [thing for thing in rig.world.contents if thing.container == "o_fridge"]
    assert {one.label.top for one in inside} & {d.label for d in rig.seen["slim"][-1].detections}
    shut = rig.end(Close(meant))
    assert shut.ok, shut.reason
    assert fridge.is_open is False
    assert rig.end(Open(meant)).ok and fridge.is_open
    assert rig.end(NavigateTo(position=(3.45, 2.87, 0.0), yaw=1.57)).ok  # its arm is short
    taken = rig.end(Pick(Target("milk", rig.world.contents.things["o_milk"].box.center)))
    assert taken.ok, taken.reason
    assert rig.world.state("slim").holding == "o_milk"


def test_an_arm_does_the_skills_of_another_package(ros, own_skills, monkeypatch):
    rig = LabRig(ros)
    rig.wait_ready()
    arm = rig.lab.plant.manipulators["slim"]
    postures = set()
    rig.node.create_timer(0.05, lambda: postures.add(tuple(arm.joints.values())))
    wiped = rig.end(own_skills.Wipe(Target("counter", (0.5, 1.3, 0.95))))
    assert wiped.ok, wiped.reason
    assert len(postures) > 3  # it stroked

    async def elsewhere(hand, skill):
        await hand.touch((5.0, 1.3, 0.95))

    astray = replace(own_skills.PRESS, by_arm=elsewhere)
    monkeypatch.setitem(SKILLS, "press", astray)
    strayed = rig.end(own_skills.Press(Target("mug", (0.5, 1.2, 0.95))))
    assert strayed.outcome is Outcome.REFUSED and "from its target" in strayed.reason
    monkeypatch.undo()
    high = rig.end(own_skills.Press(Target("light switch", (0.5, 1.3, 4.0))))
    assert high.outcome is Outcome.OUT_OF_REACH, high


COLORED = TEAM.replace(
    "info: head/depth/camera_info",
    "info: head/depth/camera_info\n            color: head/color/image_raw",
)


def test_what_the_hand_did_is_looked_at_by_a_model_that_sees_and_kept(ros, tmp_path):
    def look(body):
        task, picture = body["messages"][-1]["content"]
        assert "take the mug into its hand" in task["text"] and picture["type"] == "image_url"
        return {"reason": "the hand holds a can", "came_about": "no", "confidence": 0.95}

    open_journal(JournalSettings(tmp_path, 8.0, 1.0))
    try:
        with Endpoint(look) as endpoint:
            sees = ModelProfile(
                kind="openai", model="m", base_url=endpoint.url, max_retries=0, vision=True
            )
            rig = LabRig(ros, COLORED, model_profile=sees.model_dump_json())
            rig.wait_ready()
            ended = rig.end(Pick(Target("mug", (0.5, 1.2, 0.95))), timeout=180.0)
            assert ended.outcome is Outcome.HAND_FULL and "the hand holds a can" in ended.reason
            assert len(endpoint.received) == 1
    finally:
        close_journal()
    kept = [json.loads(line) for file in tmp_path.glob("*.jsonl") for line in file.open()]
    (check,) = [one["body"] for one in kept if one.get("kind") == "decision"]
    assert check["name"] == "adapter.check_outcome" and check["reply"]["came_about"] == "no"
    (picture,) = check["prompt"][-1]["pictures"]  # it can be looked at again
    assert max(PictureFile.open(io.BytesIO(base64.b64decode(picture))).size) == 256
