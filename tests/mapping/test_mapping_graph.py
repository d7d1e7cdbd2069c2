"""Bridge and mapper over ROS: a robot drives through a house, and the map is that house."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient

from coterie_core.embodiment import Camera, Embodiment
from coterie_core.skills import NavigateTo as GoTo
from coterie_fixtures.map_score import compare
from coterie_fixtures.tiny_house import tiny_house
from coterie_msgs.action import NavigateTo
from coterie_msgs.msg import SemanticMap
from coterie_ros import conversions
from coterie_ros.qos import profile
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.node import BridgeNode
from semantic_mapper.node import MapperNode

pytestmark = pytest.mark.ros

CAMERA = Camera(width=256, height=192, hfov=math.radians(80), mount_height=1.2, pitch=0.35)
BODY = Embodiment(name="r1", radius=0.2, linear_speed=2.0, angular_speed=3.0, cameras=(CAMERA,))
WAY = [(2.0, 2.0, 0.5), (2.0, 2.0, 3.0), (2.0, 2.0, -2.0), (6.0, 1.5, 0.0), (6.0, 1.5, 3.0)]


def test_the_map_is_the_house(ros):
    world = EmbeddedWorld(
        tiny_house(), seed=3, noise=DetectorNoise.low(), look_on_arrival=False, threads=1
    )
    truth = world.truth()
    start = {"pose": {"x": 2.0, "y": 2.0}}
    robots = [{"name": "r1", "embodiment": BODY.model_dump(), "start": start}]
    bridge = BridgeNode(
        context=ros.context,
        world=world,
        parameters={
            "robots": json.dumps(robots),
            "pace": 4.0,
            "prior_map": "rooms",
            "prior_topic": "prior_map",
        },
    )
    mapper = MapperNode(
        "mapper",
        context=ros.context,
        parameters={"robots": ["r1"], "publish_period": 0.2, "prior_patience": 10.0, "queue": 100},
    )
    for node in (bridge, mapper):
        ros.add(node)
    ros.wait_active(bridge, mapper)
    client, maps = ros.node(), []
    client.create_subscription(SemanticMap, "semantic_map", maps.append, profile("latched"))
    go = ActionClient(client, NavigateTo, "r1/navigate_to")
    ros.wait_for_matched(go)
    ros.spin_until(lambda: mapper.worker.done)
    for x, y, yaw in WAY:
        goal = conversions.navigate_to_msg(GoTo.near((x, y, 0.0), yaw))
        handle = ros.result(go.send_goal_async(goal))
        ended = ros.result(handle.get_result_async())
        assert ended.result.result.outcome == ended.result.result.SUCCEEDED
    assert mapper.worker.done >= 10
    ros.spin_until(
        lambda: not mapper.worker.waiting and mapper._published == mapper.builder.version
    )
    ros.spin_until(lambda: maps and len(maps[-1].objects) >= 5)
    scene = conversions.scene_from_msg(maps[-1])
    assert scene.rooms.keys() == truth.rooms.keys()
    assert mapper.diagnostics.counter("dropped_no_transform") == 0
    hidden = {t.id for t in truth.objects.values() if t.is_open is False}
    below = [
        t.id
        for t in truth.objects.values()
        if t.box.top < 2.6 and t.container not in hidden and t.room in ("r_kitchen", "r_living")
    ]
    score = compare(scene, truth, below)
    assert score["precision"] >= 0.8
    assert score["recall"] >= 0.6
    assert score["labels"] >= 0.8
    assert score["rooms"] >= 0.9
