"""Permits of a real robot over real rclpy: its adapter asks before its driver hears of a goal."""

from __future__ import annotations

import fcntl
import json

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("nav2_msgs")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient
from std_msgs.msg import String
from std_srvs.srv import Trigger

from coterie_core.skills import Outcome
from coterie_fixtures.nav2_base import Nav2Base
from coterie_msgs.action import Manipulate, NavigateTo
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.permit_client import PermitClient
from coterie_ros.qos import profile
from coterie_safety.ledger import Ledger, check, entries
from coterie_safety.permits import Decision, make_key, public_half
from coterie_safety.stop import latch_file
from robot_adapters.node import AdapterNode

pytestmark = [pytest.mark.ros, pytest.mark.quick]


class Person(AgentNode):
    """Whoever answers requests."""

    def __init__(self, key_file, **options) -> None:
        self.key_file = key_file
        super().__init__("person", **options)

    def on_start(self) -> None:
        self.permits = PermitClient(self, ["porter"], self.key_file)


class Rig:
    """A base, its adapter, a person with the key, and who sends goals."""

    def __init__(self, ros, folder, team, **parameters) -> None:
        self.ros, self.log = ros, folder / "log"
        key = make_key(folder / "permits.key")
        self.base = ros.add(Nav2Base(namespace="/porter", context=ros.context))
        given = {
            "permits": json.dumps({"team": team}) if team is not None else "",
            "limits": '{"team": {"area": "anywhere"}}',
            "log_directory": str(self.log),
            "permit_key": str(public_half(key)),
            "sensors.settle": 0.05,
            "navigation.look_on_arrival": False,
            **parameters,
        }
        self.adapter = ros.add(
            AdapterNode(namespace="/porter", context=ros.context, parameters=given)
        )
        self.person = ros.add(Person(key, context=ros.context))
        self.node = ros.node("sender")
        self.drive = ActionClient(self.node, NavigateTo, "/porter/navigate_to")
        self.act = ActionClient(self.node, Manipulate, "/porter/manipulate")
        self.stop = self.node.create_publisher(String, "/stop", profile("messages"))
        self.waits: list[str] = []
        ros.wait_active(self.adapter, self.person)
        ros.wait_for_matched(self.drive, self.act, self.stop)
        ros.spin_until(lambda: self.adapter.navigation.ready() == "" and self.adapter._step)

    def send(self, x: float, y: float, why: str = ""):
        goal = NavigateTo.Goal(why=why)
        goal.pose.header.frame_id = "map"
        goal.pose.pose.position = conversions.point_to_msg((x, y, 0.0))
        goal.pose.pose.orientation.w = 1.0
        return self.ros.result(
            self.drive.send_goal_async(
                goal, feedback_callback=lambda m: self.waits.append(m.feedback.waiting_for)
            )
        )

    def end(self, handle) -> tuple[Outcome, str]:
        result = self.ros.result(handle.get_result_async()).result.result
        return Outcome(result.outcome), result.reason

    def asked(self):
        permits = self.person.permits
        self.ros.spin_until(lambda: permits.waiting, what="a request")
        return next(iter(permits.waiting.values()))

    def answer(self, decision: Decision, **options) -> tuple[bool, str]:
        request = self.asked()
        work = self.person.permits.answer(request, decision, "anna@lab", **options)
        told = self.person.run(work)
        self.ros.spin_until(told.done, what="an answer")
        return told.result()

    @property
    def kinds(self) -> list[str]:
        assert check(self.log).fault == ""
        return [entry.kind for entry in entries(self.log)]


@pytest.fixture
def make_rig(ros, tmp_path):
    return lambda team, **parameters: Rig(ros, tmp_path, team, **parameters)


def test_asked_allowed_and_driven_and_a_standing_permit_asks_no_more(make_rig):
    rig = make_rig({"rules": [{"skills": ["navigate_to"], "answer": "ask"}]})
    goal = rig.send(2.0, 1.5, why="the post is to be fetched")
    assert rig.asked().goal.why == "the post is to be fetched"
    rig.ros.spin_until(lambda: rig.waits, what="feedback that it waits")
    assert "permits.rules[0] asks a person" in rig.waits[0]
    assert rig.base.pose.position[:2] == (1.0, 1.0)
    accepted, told = rig.answer(Decision.ALLOW, lasting=60.0)
    assert accepted and "goals alike for 60 s" in told
    assert rig.end(goal)[0] is Outcome.SUCCEEDED
    assert rig.end(rig.send(1.5, 1.5))[0] is Outcome.SUCCEEDED
    done = ["goal", "request", "permit", "result", "goal", "permit", "result"]
    rig.ros.spin_until(lambda: rig.kinds == done, what="the log of both goals")


def test_refused_and_unanswered_it_stays(make_rig):
    rig = make_rig({"otherwise": "ask", "wait": 1.0})
    goal = rig.send(2.0, 1.5)
    assert rig.answer(Decision.REFUSE, reason="not now")[0]
    outcome, reason = rig.end(goal)
    assert outcome is Outcome.REFUSED and "anna@lab refused: not now" in reason
    look = Manipulate.Goal(skill=Manipulate.Goal.LOOK_AROUND)
    outcome, reason = rig.end(rig.ros.result(rig.act.send_goal_async(look)))
    assert outcome is Outcome.REFUSED
    assert "nobody answered in 1 s; permits.otherwise asks a person" in reason
    assert rig.base.pose.position[:2] == (1.0, 1.0)


def test_a_newer_goal_a_cancel_and_a_stop_end_what_waits(make_rig):
    rig = make_rig("ask")
    first = rig.send(2.0, 1.5)
    request = rig.asked()
    second = rig.send(5.0, 1.5)
    assert rig.end(first) == (Outcome.CANCELLED, "a newer goal took its place")
    rig.ros.spin_until(lambda: rig.person.permits.waiting.keys() - {request.id})
    rig.ros.result(second.cancel_goal_async())
    assert rig.end(second)[0] is Outcome.CANCELLED
    rig.ros.spin_until(lambda: not rig.person.permits.waiting, what="an empty list")
    third = rig.send(2.0, 1.5)
    rig.asked()
    rig.stop.publish(String(data="anna: smoke"))
    outcome, reason = rig.end(third)
    assert outcome is Outcome.CANCELLED and reason.startswith("stopped by anna: smoke")
    assert rig.base.pose.position[:2] == (1.0, 1.0)
    rig.ros.spin_until(lambda: rig.kinds.count("result") == 3, what="the log of the results")


def test_who_holds_the_log_holds_neither_the_loop_nor_a_stop(make_rig, tmp_path, monkeypatch):
    monkeypatch.setattr("coterie_safety.ledger._WRITER_TIMEOUT_S", 600.0)
    begun, write = [], Ledger.write
    monkeypatch.setattr(
        Ledger, "write", lambda self, kind, *more: begun.append(kind) or write(self, kind, *more)
    )
    latch = latch_file(tmp_path, "porter")
    rig = make_rig("allow", stop_directory=str(tmp_path))
    rig.log.mkdir()
    with (rig.log / "lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        goal = rig.send(2.0, 1.5).get_result_async()
        wait = Manipulate.Goal(skill=Manipulate.Goal.WAIT)
        for _ in range(2):  # what needs no permit is done meanwhile
            assert rig.end(rig.ros.result(rig.act.send_goal_async(wait)))[0] is Outcome.SUCCEEDED
        assert not goal.done()
        for by in ("anna", "ben"):
            rig.stop.publish(String(data=f"{by}: smoke"))
            rig.ros.spin_until(
                lambda by=by: latch.exists() and by in latch.read_text(),
                what="the stop on the disk",
            )
            rig.ros.spin_until(lambda: "stop" in begun, what="a stop that is to be logged")
            rig.adapter.stops.latches["porter"].release()
    rig.ros.result(goal)
    rig.adapter.stops.latches["porter"].release()  # each stop is heard more than once
    monkeypatch.setattr("coterie_safety.ledger._WRITER_TIMEOUT_S", 0.05)
    with (rig.log / "lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        outcome, reason = rig.end(rig.send(2.0, 1.5))
    assert outcome is Outcome.REFUSED and "cannot be logged" in reason and "holds the log" in reason


def test_a_real_robot_that_nothing_is_said_about_refuses_also_to_dock(make_rig):
    rig = make_rig(None)
    outcome, reason = rig.end(rig.send(2.0, 1.5))
    assert outcome is Outcome.REFUSED and "permits: nothing allows it; write" in reason
    dock = rig.node.create_client(Trigger, "/porter/dock")
    rig.ros.wait_for_matched(dock)
    told = rig.ros.result(dock.call_async(Trigger.Request()))
    assert not told.success and "no permit to drive to its dock" in told.message
    wait = Manipulate.Goal(skill=Manipulate.Goal.WAIT)
    assert rig.end(rig.ros.result(rig.act.send_goal_async(wait)))[0] is Outcome.SUCCEEDED
