"""Permits of simulated robots over real rclpy: asked, allowed, refused, unanswered, stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient
from std_msgs.msg import String

from coterie_core.embodiment import Embodiment
from coterie_core.skills import Outcome
from coterie_fixtures.tiny_house import tiny_house
from coterie_msgs.action import NavigateTo
from coterie_msgs.srv import AnswerPermit
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.permit_client import PermitClient
from coterie_ros.qos import profile
from coterie_safety.ledger import Ledger, check, entries
from coterie_safety.permits import Decision, Permits, RobotPermits, make_key, public_half
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.node import BridgeNode

pytestmark = pytest.mark.ros

STARTS = {"r1": (2.0, 2.0, 0.0), "r2": (6.0, 2.3, 0.0)}
NEAR = {"r1": (2.4, 2.2, 0.0), "r2": (6.4, 2.3, 0.0)}
ASK_R1 = {"rules": [{"robots": ["r1"], "answer": "ask"}], "otherwise": "allow"}


class Person(AgentNode):
    """Whoever answers requests."""

    def __init__(self, key_file: Path, **options) -> None:
        self.key_file = key_file
        super().__init__("person", **options)

    def on_start(self) -> None:
        self.permits = PermitClient(self, list(STARTS), self.key_file)


class Lab:
    """A bridge with two robots, a person with the key, and who sends goals."""

    def __init__(self, ros, folder: Path, policy, mode: str) -> None:
        self.ros, self.log = ros, folder / "log"
        self.key = make_key(folder / "permits.key")
        self.waits: dict[str, list[str]] = {robot: [] for robot in STARTS}
        body = Embodiment(name="cart", radius=0.2, linear_speed=0.5)
        specs = [
            {
                "name": name,
                "embodiment": body.model_dump(),
                "start": {"pose": dict(zip("xyz", at, strict=True))},
                "permits": RobotPermits(team=Permits.model_validate(policy), name=name).model_dump(
                    mode="json", exclude_defaults=True
                ),
            }
            for name, at in STARTS.items()
        ]
        self.bridge = BridgeNode(
            context=ros.context,
            world=EmbeddedWorld(tiny_house(), seed=3, threads=1, look_on_arrival=False),
            parameters={
                "robots": json.dumps(specs),
                "mode": mode,
                "assembly_timeout": 0.2,
                "barrier_timeout": 1.0,
                "log_directory": str(self.log),
                "permit_key": str(public_half(self.key)),
            },
        )
        ros.add(self.bridge)
        self.person = ros.add(Person(self.key, context=ros.context))
        self.node = ros.node("sender")
        self.go = {r: ActionClient(self.node, NavigateTo, f"{r}/navigate_to") for r in STARTS}
        self.stop = self.node.create_publisher(String, "stop", profile("messages"))
        ros.wait_active(self.bridge, self.person)
        ros.wait_for_matched(*self.go.values(), self.stop)

    def send(self, robot: str, why: str = ""):
        goal = NavigateTo.Goal(why=why)
        goal.pose.header.frame_id = "map"
        goal.pose.pose.position = conversions.point_to_msg(NEAR[robot])
        heard = self.waits[robot]
        handle = self.ros.result(
            self.go[robot].send_goal_async(
                goal, feedback_callback=lambda m: heard.append(m.feedback.waiting_for)
            )
        )
        return handle.get_result_async()

    def asked(self):
        permits = self.person.permits
        self.ros.spin_until(lambda: permits.waiting, what="a request")
        return next(iter(permits.waiting.values()))

    def answer(self, decision: Decision, reason: str = "") -> tuple[bool, str]:
        request = self.asked()
        told = self.person.run(self.person.permits.answer(request, decision, "anna@lab", reason))
        self.ros.spin_until(told.done, what="an answer")
        return told.result()

    def end(self, future) -> tuple[Outcome, str]:
        result = self.ros.result(future).result.result
        return Outcome(result.outcome), result.reason

    def kinds(self, robot: str) -> list[str]:
        assert check(self.log).fault == ""
        return [entry.kind for entry in entries(self.log) if entry.robot == robot]


@pytest.fixture
def make_lab(ros, tmp_path):
    return lambda policy=ASK_R1, mode="real_time": Lab(ros, tmp_path, policy, mode)


@pytest.mark.parametrize("mode", ["real_time", "lockstep"])
def test_asked_and_allowed_it_drives_and_the_other_did_not_wait(make_lab, mode):
    lab = make_lab(mode=mode)
    first = lab.send("r1", why="to fetch\nthe plates")
    request = lab.asked()
    assert request.goal.why == "to fetch the plates" and request.rule == "permits.rules[0]"
    assert lab.end(lab.send("r2"))[0] is Outcome.SUCCEEDED
    assert not first.done()
    lab.ros.spin_until(lambda: lab.waits["r1"], what="feedback that it waits")
    assert "permits.rules[0] asks a person" in lab.waits["r1"][0]
    accepted, told = lab.answer(Decision.ALLOW)
    assert accepted and told.startswith("allowed: r1: drive to")
    assert lab.end(first)[0] is Outcome.SUCCEEDED
    lab.ros.spin_until(lambda: not lab.person.permits.waiting, what="an empty list")
    # A result is logged once it is told.
    lab.ros.spin_until(lambda: "result" in lab.kinds("r1"), what="the result in the log")
    assert lab.kinds("r1") == ["goal", "request", "permit", "result"]
    assert lab.kinds("r2") == ["goal", "permit", "result"]


def test_refused_it_stays_and_nobody_is_asked_again(make_lab):
    lab = make_lab()
    first = lab.send("r1")
    accepted, _ = lab.answer(Decision.REFUSE, "the floor is wet")
    assert accepted
    outcome, reason = lab.end(first)
    assert outcome is Outcome.REFUSED and "anna@lab refused: the floor is wet" in reason
    outcome, reason = lab.end(lab.send("r1"))
    assert outcome is Outcome.REFUSED and "nobody is asked again" in reason


@pytest.mark.parametrize("mode", ["real_time", "lockstep"])
def test_nobody_answers(make_lab, mode):
    lab = make_lab({**ASK_R1, "wait": 0.5}, mode)
    outcome, reason = lab.end(lab.send("r1"))
    assert outcome is Outcome.REFUSED
    assert "nobody answered in 0.5 s; permits.rules[0] asks a person" in reason


def test_a_stop_and_a_cancel_end_what_waits(make_lab):
    lab = make_lab()
    first = lab.send("r1")
    request = lab.asked()
    lab.stop.publish(String(data="anna: smoke"))
    outcome, reason = lab.end(first)
    assert outcome is Outcome.CANCELLED and reason.startswith("stopped by anna: smoke")
    lab.ros.spin_until(lambda: not lab.person.permits.waiting, what="an empty list")
    told = lab.person.run(lab.person.permits.answer(request, Decision.ALLOW, "anna"))
    lab.ros.spin_until(told.done)
    assert told.result()[0] is False and "no such request" in told.result()[1]
    lab.ros.spin_until(lambda: "stop" in lab.kinds("r1"), what="the stop in the log")


def test_who_has_no_key_grants_nothing(make_lab):
    """A node that takes part in the graph reads the request, and can call the service."""
    lab = make_lab()
    first = lab.send("r1")
    request = lab.asked()
    client = lab.node.create_client(AnswerPermit, "r1/answer_permit")
    lab.ros.wait_for_matched(client)
    for signature in ("", request.goal.digest, "f" * 64, "x" * 1000):
        forged = AnswerPermit.Request(
            request=request.id,
            goal=request.goal.digest,
            decision=AnswerPermit.Request.ALLOW,
            by="the owner",
            until=conversions.time_to_msg(request.until + 100.0),
            standing=True,
            signature=signature,
        )
        response = lab.ros.result(client.call_async(forged))
        assert not response.accepted
    unset = lab.ros.result(client.call_async(AnswerPermit.Request(request=request.id)))
    assert not unset.accepted and "decision" in unset.message
    assert lab.asked().id == request.id and not first.done()


def test_what_the_policy_refuses_is_refused_at_once(make_lab):
    lab = make_lab(
        {
            "rules": [
                {"rooms": ["nowhere at all"], "answer": "ask"},
                {"skills": ["navigate_to"], "answer": "refuse"},
            ]
        }
    )
    outcome, reason = lab.end(lab.send("r1"))
    assert outcome is Outcome.REFUSED and "permits.rules[1] refuses it" in reason


def test_a_log_that_cannot_be_written_lets_nothing_begin(make_lab, monkeypatch):
    lab = make_lab()

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(Ledger, "write", full)
    outcome, reason = lab.end(lab.send("r2"))
    assert outcome is Outcome.REFUSED and "it cannot be logged: no space left" in reason
