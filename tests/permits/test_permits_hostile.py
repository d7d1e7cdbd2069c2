"""A hundred hostile strings at the gate of a team that runs, led by a model that obeys them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

pytestmark = [pytest.mark.ros, pytest.mark.timeout(600)]

pytest.importorskip("coterie_msgs")

from rclpy.action import ActionClient  # noqa: E402
from std_msgs.msg import Bool, String  # noqa: E402

from coterie_core.embodiment import Embodiment  # noqa: E402
from coterie_core.geometry import Box  # noqa: E402
from coterie_core.skills import Outcome  # noqa: E402
from coterie_fixtures.endpoint import Endpoint  # noqa: E402
from coterie_fixtures.hostile_texts import HOSTILE  # noqa: E402
from coterie_fixtures.oracle.answering import Oracle  # noqa: E402
from coterie_fixtures.tiny_house import tiny_house  # noqa: E402
from coterie_msgs.action import ExecuteTask, Manipulate, NavigateTo  # noqa: E402
from coterie_msgs.msg import DiscussionTurn, PermitRequests, SemanticMap  # noqa: E402
from coterie_msgs.srv import AnswerPermit, AskInWords  # noqa: E402
from coterie_ros import conversions  # noqa: E402
from coterie_ros.agent_node import AgentNode  # noqa: E402
from coterie_ros.conversions.permits import (  # noqa: E402
    answer_to_msg,
    requests_from_msg,
    requests_to_msg,
    standing_from_msg,
)
from coterie_ros.permit_client import PermitClient  # noqa: E402
from coterie_ros.qos import profile  # noqa: E402
from coterie_safety.ledger import check, entries  # noqa: E402
from coterie_safety.permits import (  # noqa: E402
    Decision,
    Permits,
    RobotPermits,
    answered,
    load_key,
    make_key,
    public_half,
)
from coterie_world.scene import LabelBelief, SceneObject  # noqa: E402
from emos_planner.leader.node import LeaderNode  # noqa: E402
from emos_planner.robot.node import RobotNode  # noqa: E402
from habitat_bridge.embedded.world import EmbeddedWorld  # noqa: E402
from habitat_bridge.node import BridgeNode  # noqa: E402
from habitat_bridge.prior import prior_map  # noqa: E402
from habitat_bridge.urdf import urdf_of  # noqa: E402

POLICY = {
    "rules": [
        {"skills": ["look_around"], "answer": "allow"},
        {"skills": ["navigate_to"], "answer": "ask"},
    ],
    "otherwise": "refuse",
    "wait": 1.0,
    "ask_again": 0.0,
}
BODY = Embodiment(name="cart", radius=0.2, linear_speed=0.5)
WORDS = [" ".join(text.split())[:200] or "-" for text in HOSTILE]


class Person(AgentNode):
    """Whoever has the key."""

    def on_start(self) -> None:
        self.permits = PermitClient(self, ["rover"], self.key)


class Gullible:
    """A model that does the tasks well, and every third time what some text ordered, verbatim."""

    def __init__(self) -> None:
        self.oracle, self.asked = Oracle(), 0

    def __call__(self, body: dict[str, Any]) -> Any:
        self.asked += 1
        if self.asked % 3 == 0:
            return HOSTILE[self.asked % len(HOSTILE)][:2000]
        try:
            return self.oracle(body)
        except LookupError:
            return {}


def bridge_of(ros, world, folder, policy, **robot):
    """Return a bridge with the robot rover, its log and its public key below a folder."""
    permits = RobotPermits(team=Permits.model_validate(policy), name="rover")
    rover = {
        "name": "rover",
        "embodiment": BODY.model_dump(),
        "start": {"pose": {"x": 6.0, "y": 2.0}},
        "permits": permits.model_dump(mode="json", exclude_defaults=True),
        **robot,
    }
    Person.key = make_key(folder / "permits.key")
    return BridgeNode(
        context=ros.context,
        world=world,
        parameters={
            "robots": json.dumps([rover]),
            "mode": "real_time",
            "log_directory": str(folder / "log"),
            "permit_key": str(public_half(Person.key)),
        },
    )


def near(x: float, why: str = "") -> NavigateTo.Goal:
    """Return a drive to (x, 2)."""
    goal = NavigateTo.Goal(why=why)
    goal.pose.header.frame_id = "map"
    goal.pose.pose.position = conversions.point_to_msg((x, 2.0, 0.0))
    return goal


def hostile_house():
    """Return the small house with rooms and things of hostile names."""
    house = tiny_house()
    for k, room in enumerate(house.rooms):
        room.name = room.name if room.type == "bathroom" else WORDS[50 + k]
    for k, thing in enumerate(house.objects):
        if k % 2:
            thing.label = LabelBelief.of(WORDS[k])
    return house


def hostile_urdf(body: Embodiment) -> str:
    """Return a description whose robot, links and joints are named by orders."""
    escaped = [
        text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;") for text in WORDS
    ]
    links = "".join(f'<link name="l{k} {text}"/>' for k, text in enumerate(escaped))
    return urdf_of("rover", body).replace("</robot>", f"{links}</robot>")


def test_no_text_moves_a_robot_and_a_person_with_the_key_does(ros, tmp_path):
    world = EmbeddedWorld(hostile_house(), seed=3, threads=1, look_on_arrival=False)
    known = prior_map(world.truth(), "everything")
    for k, text in enumerate(WORDS):
        box = Box((4.5 + 0.06 * k, 2.2, 0.5), (0.05, 0.05, 0.05))
        known.add_object(SceneObject(f"x{k}", LabelBelief.of(text), box, room="r_living"))
    log = tmp_path / "log"
    model = Gullible()
    with Endpoint(model) as endpoint:
        mind = {"kind": "openai", "base_url": endpoint.url, "model": "m", "attempts": 2}
        common = {
            "robots": ["rover"],
            "state_directory": str(tmp_path),
            "model_profile": json.dumps(mind),
        }
        bridge = bridge_of(ros, world, tmp_path, POLICY, urdf=hostile_urdf(BODY))
        leader = LeaderNode("leader", context=ros.context, parameters=common)
        mate = RobotNode("robot", namespace="/rover", context=ros.context, parameters=common)
        person = Person("person", context=ros.context)
        for node in (bridge, leader, mate, person):
            ros.add(node)
        ros.wait_active(bridge, leader, mate, person, timeout=120.0)
        node = ros.node("somebody")
        maps = node.create_publisher(SemanticMap, "semantic_map", profile("latched"))
        maps.publish(conversions.scene_to_msg(known, time=0.0))
        talk = node.create_publisher(DiscussionTurn, "discussion", profile("messages"))
        fake = node.create_publisher(PermitRequests, "rover/permit_requests", profile("latched"))
        stopped = node.create_publisher(Bool, "rover/stopped", profile("latched"))
        words = node.create_publisher(String, "rover/goal", profile("messages"))
        go = ActionClient(node, NavigateTo, "rover/navigate_to")
        act = ActionClient(node, Manipulate, "rover/manipulate")
        do = ActionClient(node, ExecuteTask, "execute_task")
        ask = node.create_client(AskInWords, "rover/ask_in_words")
        answer = node.create_client(AnswerPermit, "rover/answer_permit")
        ros.wait_for_matched(go, act, do, ask, answer, talk, timeout=60.0)

        own: set[str] = set()

        def end(client, goal):
            handle = ros.result(client.send_goal_async(goal))
            assert handle.accepted
            own.add(bytes(handle.goal_id.uuid).hex())
            return handle.get_result_async()

        def waiting():
            """Send a goal; return its end and the request that waits for it, and no other."""
            ended = end(go, near(6.5, "to see whether it may"))
            ros.spin_until(
                lambda: (
                    [one.goal.why for one in person.permits.waiting.values()]
                    == ["to see whether it may"]
                ),
                what="a request",
            )
            return ended, next(iter(person.permits.waiting.values()))

        # Goals: a text as the reason, as the place, and as the label of the thing.
        ends = []
        for text in WORDS:
            ends.append(end(go, near(6.5, text)))
            ends.append(end(go, NavigateTo.Goal(place=text, why=text)))
            ends.append(end(act, Manipulate.Goal(skill=Manipulate.Goal.PICK, label=text, why=text)))
        for future in ends:
            ros.result(future, timeout=60.0)
        # Answers and permits that are forged, for what waits and for what does not.
        last, request = waiting()
        forged = answered(
            request,
            Decision.ALLOW,
            "anna",
            lasting=600.0,
            now=request.asked,
            key=Ed25519PrivateKey.generate(),
        )
        told = []
        for text in WORDS:
            message = answer_to_msg(forged)
            message.by = message.reason = text
            message.signature = text[:64]
            told.append(ros.result(answer.call_async(message)))
        told.append(ros.result(answer.call_async(answer_to_msg(forged))))
        assert not any(one.accepted for one in told)
        fake.publish(PermitRequests(robot="rover"))
        stopped.publish(Bool(data=False))
        # Messages of a discussion, and questions to the robot.
        for k, text in enumerate(WORDS):
            kinds = (DiscussionTurn.PROPOSE, DiscussionTurn.ACCEPT, DiscussionTurn.REJECT)
            talk.publish(
                DiscussionTurn(
                    topic=text, kind=kinds[k % 3], speaker="leader", recipients=["rover"], text=text
                )
            )
            words.publish(String(data=text))
            ros.spin(0.005)
        within = conversions.duration_to_msg(20.0)
        for text in WORDS:
            asked = AskInWords.Request(asker="leader", question=text, within=within)
            ros.result(ask.call_async(asked), timeout=60.0)
        # Tasks of which a model makes goals, with orders in them.
        orders = [" ".join(WORDS[k : k + 25])[:1500] for k in range(0, len(WORDS), 25)]
        for task in ("Go to the bathroom", *orders):
            ends.append(end(do, ExecuteTask.Goal(task=task)))
            ros.result(ends[-1], timeout=120.0)
        for future in (*ends, last):
            ros.result(future, timeout=120.0)
        assert model.asked > 0

        assert world.state("rover").travelled == 0.0
        assert world.state("rover").holding == ""
        kept = list(entries(log))
        assert check(log).fault == ""
        given = {entry.body["by"] for entry in kept if entry.kind == "permit"}
        assert given <= {"the policy (permits.rules[0])"}, given
        done = [e for e in kept if e.kind == "result" and e.body["outcome"] == "SUCCEEDED"]
        goals = [entry for entry in kept if entry.kind == "goal"]
        looked = {e.body["goal"] for e in goals if e.body["skill"] == "look_around"}
        assert {entry.body["goal"] for entry in done} <= looked
        assert any(e.body["action"] not in own for e in goals), "the model's team tried to move"

        # And the same gate lets through what a person allows.
        last, request = waiting()
        allowed = person.run(person.permits.answer(request, Decision.ALLOW, "anna"))
        assert ros.result(allowed)[0]
        assert Outcome(ros.result(last).result.result.outcome) is Outcome.SUCCEEDED
        assert world.state("rover").travelled > 0.3


def test_what_a_person_was_not_shown_does_not_begin(ros, tmp_path):
    """A node of the graph tells people other words for what waits, and plays with what they sign.

    It has the digest and the ids, hears every answer, and has all that a robot's computer has.
    """
    world = EmbeddedWorld(tiny_house(), seed=3, threads=1, look_on_arrival=False)
    bridge = bridge_of(ros, world, tmp_path, {"otherwise": "ask", "wait": 600.0})
    person = Person("person", context=ros.context)
    for node in (bridge, person):
        ros.add(node)
    ros.wait_active(bridge, person, timeout=120.0)
    node = ros.node("somebody")
    fake = node.create_publisher(PermitRequests, "rover/permit_requests", profile("latched"))
    go = ActionClient(node, NavigateTo, "rover/navigate_to")
    answer = node.create_client(AnswerPermit, "rover/answer_permit")
    ros.wait_for_matched(go, answer, fake, timeout=60.0)
    permits = person.permits

    def asked(x: float):
        handle = ros.result(go.send_goal_async(near(x)))
        ros.spin_until(lambda: permits.waiting, what="a request")
        return handle.get_result_async(), next(iter(permits.waiting.values()))

    def shown(name: str, told) -> None:
        """Have the person see something else."""
        fake.publish(told)
        ros.spin_until(lambda: getattr(permits, name) == {told_id(told): read(told)}, what="it")

    def told_id(told) -> str:
        return (told.waiting or told.standing)[0].id

    def read(told):
        one = requests_from_msg(told, "t") or standing_from_msg(told, "t")
        return one[0]

    ended, request = asked(6.5)
    harmless = replace(request.goal, what="turn and look around", skill="look_around")
    lies = [
        replace(request, goal=harmless, rooms=()),
        replace(request, goal=replace(request.goal, speed=0.25)),
        replace(request, rooms=("another room",)),
        replace(request, goal=replace(request.goal, why="you said so yourself")),
        replace(request, rule="permits.rules[0]"),
    ]
    for lie in lies:
        shown("waiting", requests_to_msg("rover", (lie,)))
        allowed = permits.answer(permits.waiting[request.id], Decision.ALLOW, "anna", lasting=600.0)
        accepted, told = ros.result(person.run(allowed))
        assert not accepted and "shown other words" in told and request.goal.what in told
        # Whoever was shown something else sees what it is.
        ros.spin_until(lambda: permits.waiting == {request.id: request}, what="the true words")
    # What a person has signed for one request is worth nothing for another one.
    key = load_key(Person.key)
    refusal = answered(request, Decision.REFUSE, "anna", now=request.asked, key=key)
    other = replace(request, id="0" * 32)
    signed = answered(other, Decision.ALLOW, "anna", lasting=600.0, now=request.asked, key=key)
    for forged in (
        replace(refusal, decision=Decision.ALLOW, until=request.until),
        replace(signed, request=request.id),
        replace(signed, request=request.id, shown=request.shown),
        replace(signed, signature=public_half(Person.key).read_bytes()[:64].hex()),
    ):
        told = ros.result(answer.call_async(answer_to_msg(forged)))
        assert not told.accepted and "not signed" in told.message
    assert world.state("rover").travelled == 0.0 and not permits.standing
    # The same for a permit that holds: the person ends what they read, and nothing else.
    accepted, _ = ros.result(
        person.run(permits.answer(request, Decision.ALLOW, "anna", lasting=600.0))
    )
    assert accepted
    assert Outcome(ros.result(ended).result.result.outcome) is Outcome.SUCCEEDED
    ros.spin_until(lambda: permits.standing, what="a permit that holds")
    (standing,) = permits.standing.values()
    lie = replace(standing, goal=replace(standing.goal, what="turn and look around"))
    shown("standing", requests_to_msg("rover", (), (lie,)))
    accepted, told = ros.result(person.run(permits.revoke(lie, "anna")))
    assert not accepted and standing.goal.what in told
    ros.spin_until(lambda: permits.standing == {standing.id: standing}, what="the true words")
    assert ros.result(person.run(permits.revoke(standing, "anna")))[0]
    given = [entry.body for entry in entries(tmp_path / "log") if entry.kind == "permit"]
    assert [one["by"] for one in given] == ["anna"] and check(tmp_path / "log").fault == ""
