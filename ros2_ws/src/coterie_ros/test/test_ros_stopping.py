"""What a stop does to the work of agents: it ends, and what is done next is somebody's goal."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool

from coterie_core.skills import Outcome, SkillResult
from coterie_ros.agent_node import AgentNode
from coterie_ros.executors import make_executor, spin
from coterie_ros.main import wind_down
from coterie_ros.qos import profile
from coterie_ros.stopping import RobotStopped, StopServer, StopWatch

pytestmark = [pytest.mark.ros, pytest.mark.quick]

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


def work_of(node):
    """Skill after skill, as an agent sends them."""

    async def work():
        while True:
            result = await node.watch.carried_out(node.send)
            if not result.ok:
                return result
            await asyncio.sleep(0.01)

    return node.watch.pursue(work())


def test_a_stop_ends_what_is_in_work_even_where_it_is_released_at_once(agent):
    ros, node, tell = agent
    future = node.run(work_of(node))
    ros.spin_until(lambda: node.sent)
    tell(True)
    ros.spin_until(lambda: node.changes)
    tell(False)
    with pytest.raises(RobotStopped, match=r"stopped by somebody; release with .* ada"):
        ros.result(future)
    sent = len(node.sent)
    ros.spin(0.3)
    assert len(node.sent) == sent and node.changes == [True, False]


def test_what_a_skill_was_told_is_told_whichever_news_comes_first(agent):
    ros, node, tell = agent
    node.ends = [STOPPED]
    with pytest.raises(RobotStopped, match="stopped by anna"):
        ros.result(node.run(work_of(node)))
    tell(True)
    ros.spin_until(lambda: node.watch.stopped)
    sent = len(node.sent)
    with pytest.raises(RobotStopped, match="stopped by somebody"):
        ros.result(node.run(work_of(node)))
    assert len(node.sent) == sent


def test_other_failures_are_told_and_a_cancellation_reaches_the_work(agent):
    ros, node, _ = agent
    node.ends = [SkillResult(Outcome.BLOCKED, "a chair")]
    assert ros.result(node.run(work_of(node))).outcome is Outcome.BLOCKED
    future = node.run(work_of(node))
    ros.spin_until(lambda: len(node.sent) > 2)
    future.cancel()
    ros.spin_until(lambda: node.loop.running == 1)  # the diagnostics alone
    sent = len(node.sent)
    ros.spin(0.2)
    assert len(node.sent) == sent


BUSY = """
import time
from std_msgs.msg import String
from coterie_ros.agent_node import AgentNode
from coterie_ros.main import run_nodes
from coterie_ros.stopping import StopServer

class Busy(AgentNode):
    def on_start(self):
        StopServer(self, {"ada": ""}, "/stop", None, lambda reasons: None, lambda robot: None)
        self.create_subscription(String, "images", self.work, 10)

    def work(self, image):
        print("works", flush=True)
        time.sleep(300.0)

run_nodes(lambda options: Busy("busy", namespace="/ada", context=options.context), ["busy"])
"""


def test_a_stop_waits_for_no_other_callback_of_the_node(ros):
    child = ros.start_process([sys.executable, "-c", BUSY])
    node = ros.node("person")
    heard: list[bool] = []
    node.create_subscription(
        Bool, "/ada/stopped", lambda m: heard.append(m.data), profile("latched")
    )
    images = node.create_publisher(String, "/ada/images", 10)
    stop = node.create_publisher(String, "/stop", profile("messages"))
    call = node.create_client(SetBool, "/ada/stop")
    ros.wait_for_matched(images, stop, call)
    images.publish(String(data="an image"))
    ros.spin_until(lambda: "works" in child.output, what="the node to be busy")
    stop.publish(String(data="anna"))
    ros.spin_until(lambda: heard[-1:] == [True], what="the stop")
    assert ros.result(call.call_async(SetBool.Request(data=False))).message == "released"


class Mover(AgentNode):
    """Moves two robots; its log takes as long as a test wants."""

    def on_start(self) -> None:
        self.free, self.halted, self.released = threading.Event(), [], []
        self.stops = StopServer(
            self,
            {"ada": "ada/", "bob": "bob/"},
            "stop",
            None,
            self.halted.append,
            self.released.append,
            lambda robot, kind, body: self.free.wait(20.0) and "",
        )


def test_a_stop_does_not_wait_while_a_release_waits_for_the_disk(ros):
    node = ros.add(Mover("mover", context=ros.context))
    ros.wait_active(node)
    person = ros.node("person")
    stop = person.create_publisher(String, "bob/stop", profile("messages"))
    call = person.create_client(SetBool, "ada/stop")
    ros.wait_for_matched(stop, call)
    ros.result(call.call_async(SetBool.Request(data=True)))
    node.stops._disk.submit(node.stops._logged, "ada", "stop", {})
    try:
        answer = call.call_async(SetBool.Request(data=False))
        ros.spin_until(lambda: node.released == ["ada"], what="the release")
        before = len(node.halted)
        stop.publish(String(data="anna"))
        ros.spin_until(lambda: node.stops.refusal("bob"), what="the stop")
        assert list(node.halted[before]) == ["bob"] and not answer.done()
    finally:
        node.free.set()
    assert ros.result(answer).message == "released"


def test_a_stop_that_was_said_again_and_again_does_not_come_back_after_its_release(ros):
    """The node's own executor is busy meanwhile, and hears of all of it when that is over."""
    person, node = ros.node("person"), Mover("mover", context=ros.context)
    executor = make_executor(ros.context)
    executor.add_node(node)
    busy, over = threading.Event(), threading.Event()

    def run():
        spin(executor, ros.context, until=lambda: node.state_label == "active")
        node.free.set()
        spin(executor, ros.context, until=busy.is_set)
        over.wait(60.0)  # what runs in the executor takes long
        over.clear()
        spin(executor, ros.context, until=over.is_set)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        stop = person.create_publisher(String, "ada/stop", profile("messages"))
        call = person.create_client(SetBool, "ada/stop")
        ros.wait_for_matched(call)
        ros.wait_for_matched(stop, count=3)
        busy.set()
        for _ in range(3):
            stop.publish(String(data="anna"))
        ros.spin_until(
            lambda: len(node.halted) >= 3, what="the stops, by one subscription at least"
        )
        ros.spin(0.5)  # by the other one, too: best effort may lose some
        heard = len(node.halted)
        answer = ros.result(call.call_async(SetBool.Request(data=False)))
        assert answer.message == "released"
        over.set()
        ros.spin_until(lambda: not over.is_set())
        ros.spin(1.5)
        assert not node.stops.refusal("ada") and len(node.halted) == heard
    finally:
        over.set()
        thread.join()
        wind_down([node], executor, ros.context)
        node.destroy_node()
        executor.shutdown()


def test_each_press_halts_once_though_several_subscriptions_bring_it(ros):
    """To halt twice takes twice the time in which ten robots of one computer are to stand."""
    node, person = ros.add(Mover("mover", context=ros.context)), ros.node("person")
    ros.wait_active(node)
    node.free.set()
    stop = person.create_publisher(String, "ada/stop", profile("messages"))
    ros.wait_for_matched(stop, count=3)
    for presses in (1, 2, 3):
        stop.publish(String(data="anna"))
        ros.spin_until(lambda presses=presses: len(node.halted) >= presses, what="the stop")
        ros.spin(0.8)  # longer than the other subscriptions may take
        assert len(node.halted) == presses
