"""Who waits while a robot is stopped: skills are held, and done anew after the release."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from std_msgs.msg import Bool

from coterie_core.skills import Outcome, SkillResult
from coterie_ros.agent_node import AgentNode
from coterie_ros.qos import profile
from coterie_ros.stopping import StopWatch

pytestmark = pytest.mark.ros

STOPPED = SkillResult(Outcome.CANCELLED, "stopped by anna; release with ./coterie release ada")
DONE = SkillResult(Outcome.SUCCEEDED)


class Agent(AgentNode):
    """Has one skill carried out at a time; its robot ends as `ends` says."""

    def on_start(self) -> None:
        self.sent: list[int] = []
        self.ends: list[SkillResult] = []
        self.changes: list[bool] = []
        self.watch = StopWatch(self, "ada/stopped", self.changes.append)

    async def send(self) -> SkillResult:
        self.sent.append(len(self.sent))
        return self.ends.pop(0) if self.ends else DONE


@pytest.fixture
def agent(ros):
    node = ros.add(Agent("agent", context=ros.context))
    ros.wait_active(node)
    out = ros.node().create_publisher(Bool, "ada/stopped", profile("latched"))
    return ros, node, lambda value: out.publish(Bool(data=value))


def test_a_skill_waits_for_the_release(agent):
    ros, node, tell = agent
    tell(True)
    ros.spin_until(lambda: node.watch.stopped)
    future = node.run(node.watch.carried_out(node.send))
    ros.spin(0.3)
    assert not node.sent
    tell(False)
    assert ros.result(future) is DONE
    assert (node.sent, node.changes) == ([0], [True, False])


def test_a_skill_that_a_stop_ended_is_done_anew_whichever_news_comes_first(agent):
    ros, node, tell = agent
    node.ends = [STOPPED, STOPPED]  # the results come before the topic does
    future = node.run(node.watch.carried_out(node.send))
    ros.spin_until(lambda: node.sent)
    tell(True)
    ros.spin_until(lambda: node.watch.stopped)
    ros.spin(0.5)
    held = len(node.sent)
    ros.spin(0.5)
    assert len(node.sent) == held <= 3
    tell(False)
    assert ros.result(future) is DONE


def test_other_failures_are_told_at_once_and_cancelling_ends_the_wait(agent):
    ros, node, tell = agent
    node.ends = [SkillResult(Outcome.BLOCKED, "a chair")]
    assert ros.result(node.run(node.watch.carried_out(node.send))).outcome is Outcome.BLOCKED
    tell(True)
    ros.spin_until(lambda: node.watch.stopped)
    future = node.run(node.watch.carried_out(node.send))
    future.cancel()
    ros.spin_until(lambda: node.loop.running == 1)  # the diagnostics alone
    assert len(node.sent) == 1
