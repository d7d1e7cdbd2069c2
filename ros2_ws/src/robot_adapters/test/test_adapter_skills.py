"""A robot whose own node serves coterie_msgs' actions, in its own map."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient

from coterie_core.embodiment import Arm, Embodiment
from coterie_core.geometry import Pose
from coterie_core.skills import NavigateTo, Open, Outcome, Place, SkillResult, Target
from coterie_fixtures.nav2_base import Nav2Base
from coterie_msgs.action import Manipulate
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_safety.permits import make_key, public_half
from robot_adapters.node import AdapterNode

pytestmark = pytest.mark.ros


class Driver(AgentNode):
    """A maker's own node: it jumps to where it is told, and opens what it is told."""

    def __init__(self, base, **options):
        super().__init__("driver", **options)
        self.base, self.asked = base, []
        self.end = SkillResult(Outcome.SUCCEEDED)

    def on_setup(self, parameters):
        self.serve_action(NavigateToAction, "driver/navigate_to", self.drive)
        self.serve_action(Manipulate, "driver/manipulate", self.act)

    async def drive(self, goal):
        skill = conversions.navigate_from_msg(goal.request)
        self.asked.append(skill)
        if self.end.ok:
            self.base.pose = Pose(skill.position, skill.yaw or 0.0)
        message = conversions.navigate_result_to_msg(self.end, self.base.pose, (0.0, 0.0))
        return goal.succeed(message) if self.end.ok else goal.abort(message)

    async def act(self, goal):
        self.asked.append(conversions.manipulate_from_msg(goal.request))
        message = Manipulate.Result(
            result=conversions.skill_result_to_msg(self.end), holding="drawer"
        )
        return goal.succeed(message) if self.end.ok else goal.abort(message)


def test_its_own_node_does_the_skills_in_its_own_map(ros):
    base = ros.add(Nav2Base(namespace="/porter", context=ros.context))
    driver = ros.add(Driver(base, namespace="/porter", context=ros.context))
    body = Embodiment(name="porter", arm=Arm(reach=1.2, max_height=1.5)).model_dump_json()
    adapter = ros.add(
        AdapterNode(
            namespace="/porter",
            context=ros.context,
            parameters={
                "permits": '{"team": {"otherwise": "allow"}}',
                "limits": '{"team": {"area": "anywhere"}}',
                "embodiment": body,
                "navigation.backend": "skills",
                "arm.backend": "skills",
                "arm.tip": "gripper_link",
                "sensors.settle": 0.0,
                "in_team_map": json.dumps({"x": 10.0, "y": 0.0, "yaw": math.pi / 2.0}),
            },
        )
    )
    node = ros.node()
    drive = ActionClient(node, NavigateToAction, "/porter/navigate_to")
    act = ActionClient(node, Manipulate, "/porter/manipulate")
    ros.spin_until(lambda: drive.server_is_ready() and act.server_is_ready())
    ros.spin_until(lambda: adapter.navigation.ready() == "" and adapter._step)

    def run(client, goal):
        handle = ros.result(client.send_goal_async(goal))
        result = ros.result(handle.get_result_async()).result
        return Outcome(result.result.outcome), result.result.reason, result

    goal = conversions.navigate_to_msg(NavigateTo(position=(8.0, 3.0, 0.0), yaw=math.pi))
    outcome, reason, result = run(drive, goal)
    assert outcome is Outcome.SUCCEEDED, reason
    # (8, 3) of the team's map is (3, 2) of its own, which is turned by a quarter.
    assert driver.asked[0].position == pytest.approx((3.0, 2.0, 0.0), abs=1e-6)
    assert driver.asked[0].yaw == pytest.approx(math.pi / 2.0)
    assert result.pose.pose.position.x == pytest.approx(8.0, abs=0.01)
    outcome, reason, result = run(
        act, conversions.manipulate_to_msg(Open(Target("drawer", (8.0, 4.0, 0.5))))
    )
    assert outcome is Outcome.SUCCEEDED and result.holding == "drawer"
    grasped = adapter.sensors.observer.own_arm.arm.grasped
    assert grasped is not None and grasped.link == "gripper_link"
    assert driver.asked[-1].target.position == pytest.approx((4.0, 2.0, 0.5), abs=1e-6)
    driver.end = SkillResult(Outcome.SUCCEEDED, put_at=(4.1, 2.0, 0.5))
    place = conversions.manipulate_to_msg(Place(Target("shelf", (8.0, 4.0, 0.5))))
    _, _, result = run(act, place)
    told = conversions.skill_result_from_msg(result.result)
    assert told.put_at == pytest.approx((8.0, 4.1, 0.5), abs=1e-6)
    driver.end = SkillResult(Outcome.CLOSED, "it is locked")
    outcome, reason, _ = run(
        act, conversions.manipulate_to_msg(Open(Target("drawer", (8.0, 4.0, 0.5))))
    )
    assert outcome is Outcome.CLOSED and reason == "driver/manipulate: it is locked"
    outcome, reason, _ = run(drive, goal)
    assert outcome is Outcome.CLOSED and "driver/navigate_to: it is locked" in reason


def test_a_person_reads_that_its_own_node_decides_how_fast_it_drives(ros, tmp_path):
    """coterie_msgs' actions carry no speed: `limits.speed` holds for no such robot."""
    base = ros.add(Nav2Base(namespace="/porter", context=ros.context))
    ros.add(Driver(base, namespace="/porter", context=ros.context))
    asks = {"skills": "navigate_to", "not_faster_than": 0.3, "answer": "allow"}
    adapter = ros.add(
        AdapterNode(
            namespace="/porter",
            context=ros.context,
            parameters={
                "permits": json.dumps({"team": {"rules": [asks], "otherwise": "ask"}}),
                "permit_key": str(public_half(make_key(tmp_path / "permits.key"))),
                "limits": '{"team": {"area": "anywhere", "speed": 0.3}}',
                "navigation.backend": "skills",
                "sensors.settle": 0.0,
            },
        )
    )
    drive = ActionClient(ros.node(), NavigateToAction, "/porter/navigate_to")
    ros.spin_until(lambda: drive.server_is_ready() and adapter._step)
    goal = conversions.navigate_to_msg(NavigateTo(position=(2.0, 1.5, 0.0)))
    ros.result(drive.send_goal_async(goal))
    ros.spin_until(lambda: adapter.gate.waiting, what="a request")
    (request,) = adapter.gate.waiting
    assert "at a speed that its own node decides" in request.text and "m/s" not in request.text


@pytest.mark.parametrize("map_topic", ["map", ""], ids=["with a map", "without"])
def test_its_own_node_is_not_sent_through_what_is_kept_out(ros, map_topic):
    base = ros.add(Nav2Base(namespace="/porter", context=ros.context))
    driver = ros.add(Driver(base, namespace="/porter", context=ros.context))
    x, y, _ = base.pose.position
    fence = {
        "polygon": [[x + 0.6, y - 0.3], [x + 1.2, y - 0.3], [x + 1.2, y + 0.3], [x + 0.6, y + 0.3]]
    }
    adapter = ros.add(
        AdapterNode(
            namespace="/porter",
            context=ros.context,
            parameters={
                "permits": '{"team": {"otherwise": "allow"}}',
                "limits": json.dumps({"team": {"area": "anywhere", "keep_out": [fence]}}),
                "navigation.backend": "skills",
                "sensors.settle": 0.0,
                "sensors.map": map_topic,
            },
        )
    )
    drive = ActionClient(ros.node(), NavigateToAction, "/porter/navigate_to")
    ros.spin_until(lambda: drive.server_is_ready() and adapter._step)
    if map_topic:
        ros.spin_until(lambda: adapter.sensors.space_at(base.pose.position) is not None)

    def outcome(to):
        goal = conversions.navigate_to_msg(NavigateTo(position=(*to, 0.0)))
        handle = ros.result(drive.send_goal_async(goal))
        result = ros.result(handle.get_result_async()).result.result
        return Outcome(result.outcome), result.reason

    ended, reason = outcome((x + 2.0, y))  # the fence lies across the way
    assert ended is Outcome.REFUSED and not driver.asked, reason
    assert "keep_out" in reason
    ended, reason = outcome((x, y + 0.5))
    assert ended is (Outcome.SUCCEEDED if map_topic else Outcome.REFUSED), reason
    assert any(isinstance(one, NavigateTo) for one in driver.asked) is bool(map_topic)
