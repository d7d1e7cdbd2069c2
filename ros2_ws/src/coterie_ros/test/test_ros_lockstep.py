"""An agent behind its services: what callers may do wrong, and what the agent may."""

from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.ros

pytest.importorskip("coterie_msgs")

from coterie_core.cooperation import (  # noqa: E402
    Briefing,
    Goal,
    HomeRoom,
    Percept,
    Spot,
    Wait,
    Walkways,
)
from coterie_msgs.srv import Act, BeginEpisode  # noqa: E402
from coterie_ros.agent_node import AgentNode  # noqa: E402
from coterie_ros.clients import ServiceClient  # noqa: E402
from coterie_ros.conversions import PerceptWriter, action_from_msg, briefing_to_msg  # noqa: E402
from coterie_ros.lockstep import LockstepServer  # noqa: E402

HALL = Spot("hall", (0.0, 0.0, 0.0))


class Counter:
    """Says how often it was asked; does what its notes tell it to do wrong."""

    def __init__(self, name):
        self.name = name
        self.begun = self.asked = 0
        self.thinking = False

    def begin(self, briefing):
        if briefing.horizon == 13:
            raise RuntimeError("unlucky")
        self.begun, self.asked = self.begun + 1, 0

    def observe(self, percept):
        self.asked += 1
        self.heading = percept.heading

    async def act(self):
        if self.heading == 13:
            raise RuntimeError("unlucky")
        if self.heading == 99:
            self.thinking = True
            await asyncio.sleep(60.0)
        return Wait(str(self.asked))

    def receive(self, note):
        pass


class CounterNode(AgentNode):
    def on_start(self):
        self.counter = Counter("Ada")
        self.server = LockstepServer(self, self.counter)


class Caller(AgentNode):
    def on_start(self):
        self.begins = ServiceClient(self, BeginEpisode, "Ada/begin_episode")
        self.acts = ServiceClient(self, Act, "Ada/act")

    def begin(self, name="Ada", **changes):
        goal = Goal.parse("tidy", ["ON(plate, table)"])
        ways = Walkways([HomeRoom("hall", "hall", "hall", HALL.position)], [])
        request = briefing_to_msg(Briefing(name, (name,), goal, ways, **changes))
        return self.run(self.begins.call(request))

    def act(self, step, heading=0):
        percept = PerceptWriter().write(Percept(step, HALL, heading=heading))
        return self.run(self.acts.call(Act.Request(percept=percept)))


@pytest.fixture
def both(ros):
    node = ros.add(CounterNode("agent", namespace="/Ada", context=ros.context, light=True))
    caller = ros.add(Caller("caller", context=ros.context, light=True))
    ros.wait_active(node, caller)
    return node, caller


def told(answer):
    return action_from_msg(answer.action).reason if answer.success else answer.message


def test_what_goes_wrong_is_said_and_the_node_lives(ros, both):
    node, caller = both
    assert "call begin_episode" in told(ros.result(caller.act(0)))
    assert "expected 'Ada'" in told(ros.result(caller.begin("Bob")))
    assert "field stride" in told(ros.result(caller.begin(stride=-1.0)))
    assert ros.result(caller.begin()).success
    assert told(ros.result(caller.act(0))) == "1"
    assert told(ros.result(caller.act(0))) == "1"  # the same question: the same answer
    assert told(ros.result(caller.act(4))) == "2"
    assert "expected at least 4" in told(ros.result(caller.act(3)))
    assert "percept.heading" in told(ros.result(caller.act(5, heading=1000)))
    assert "RuntimeError: unlucky" in told(ros.result(caller.act(5, heading=13)))
    assert told(ros.result(caller.act(5))) == "4"  # it had observed what it could not act on
    assert "RuntimeError: unlucky" in told(ros.result(caller.begin(horizon=13)))
    assert "call begin_episode" in told(ros.result(caller.act(6)))
    assert ros.result(caller.begin()).success
    assert told(ros.result(caller.act(0))) == "1"  # another episode counts from the start
    assert node.state_label == "active" and node.server.episodes == 2


def test_a_new_episode_ends_a_decision_that_takes_long(ros, both):
    node, caller = both
    ros.result(caller.begin())
    slow = caller.act(0, heading=99)
    ros.spin_until(lambda: node.counter.thinking, what="the agent to think")
    assert ros.result(caller.begin()).success
    assert "another episode began" in told(ros.result(slow))
    assert told(ros.result(caller.act(0))) == "1"
