"""The explorer node over real rclpy, with the real bridge and the embedded house behind it."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip("coterie_msgs")

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose
from coterie_core.observation import Observation
from coterie_core.questions import Question
from coterie_fixtures.endpoint import Endpoint, Hang
from coterie_fixtures.tiny_house import tiny_house
from coterie_llm import ModelProfile
from coterie_msgs.action import Explore
from coterie_msgs.msg import Answer, TeamMessage
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_msgs.msg import Question as QuestionMsg
from coterie_msgs.srv import Ask, GetSemanticMap
from coterie_ros import conversions
from coterie_ros.qos import profile
from coterie_world.right_of_way import PASSING_GAP_M, YieldRequest
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.node import BridgeNode
from mele_explorer.node import ExplorerNode

pytestmark = pytest.mark.ros

BODY = Embodiment(name="dog", mobility="legs", radius=0.2, step_height=0.2)
STARTS = {"ann": (2.0, 2.0, 0.0), "bob": (9.0, 1.0, 0.0)}


class Site:
    """A bridge with the tiny house, explorers for some robots, and a client."""

    def __init__(self, ros, robots=("ann",), *, bridge=None, **parameters) -> None:
        self.ros = ros
        specs = [
            {
                "name": name,
                "embodiment": BODY.model_dump(),
                "start": {"pose": dict(zip("xyz", STARTS[name], strict=True))},
            }
            for name in robots
        ]
        world = EmbeddedWorld(tiny_house(), seed=3, noise=DetectorNoise.none(), threads=1)
        self.bridge = ros.add(
            BridgeNode(
                context=ros.context,
                world=world,
                parameters={"robots": json.dumps(specs), **(bridge or {})},
            )
        )
        ros.wait_active(self.bridge)
        self.explorers = {name: self.explorer(name, **parameters) for name in robots}
        self.node = ros.node("client")
        self.questions = self.node.create_publisher(QuestionMsg, "question", profile("questions"))
        self.answers: list[Answer] = []
        self.actions, self.ask_clients = {}, {}
        for name in robots:
            heard = self.node.create_subscription(
                Answer, f"{name}/answer", self.answers.append, profile("answers")
            )
            self.actions[name] = ActionClient(self.node, Explore, f"{name}/explore")
            self.ask_clients[name] = self.node.create_client(Ask, f"{name}/ask")
            ros.wait_for_matched(self.actions[name], self.ask_clients[name], heard)
        ros.wait_for_matched(self.questions, count=len(robots))

    def explorer(self, name, **parameters) -> ExplorerNode:
        node = ExplorerNode(
            "explorer",
            namespace=f"/{name}",
            context=self.ros.context,
            parameters={"robots": list(STARTS), **parameters},
        )
        self.ros.add(node)
        self.ros.wait_active(node)
        return node

    def explore(self, name, **limits):
        self.feedback = []
        goal = self.actions[name].send_goal_async(
            Explore.Goal(**limits), feedback_callback=lambda m: self.feedback.append(m.feedback)
        )
        return self.ros.result(goal)

    def explored(self, name, **limits):
        handle = self.explore(name, **limits)
        assert handle.accepted
        return self.ros.result(handle.get_result_async(), 120.0)

    def ask(self, name, **question):
        request = Ask.Request()
        for key, value in {"id": "q", **question}.items():
            setattr(request.question, key, value)
        return self.ros.result(self.ask_clients[name].call_async(request))


@pytest.mark.quick
def test_explores_with_feedback_and_answers_from_memory(ros) -> None:
    site = Site(ros)
    end = site.explored("ann", max_steps=6)
    assert end.status == GoalStatus.STATUS_SUCCEEDED and end.result.success
    result = end.result
    assert 0 < result.steps <= 6 and result.objects > 3 and result.rooms >= 2
    assert 0.0 < result.coverage <= 1.0 and result.distance > 1.0
    ros.spin_until(lambda: len(site.feedback) == result.steps)
    assert site.feedback[0].place and site.feedback[-1].steps == result.steps
    told = site.ask("ann", object="refrigerator", room="kitchen")
    assert told.success and told.answer.yes and told.answer.confidence > 0.8
    assert told.answer.evidence == told.answer.SEEN
    memory = ros.result(
        site.node.create_client(GetSemanticMap, "ann/memory").call_async(GetSemanticMap.Request())
    )
    known = conversions.scene_from_msg(memory.map)
    assert set(told.answer.objects) <= set(known.objects) and known.places


def test_two_robots_explore_at_once_and_answer_one_question(ros) -> None:
    site = Site(ros, ("ann", "bob"))
    goals = [site.explore(name, max_steps=3).get_result_async() for name in ("ann", "bob")]
    for goal in goals:
        assert ros.result(goal, 120.0).result.success
    question = Question("q7", "sofa", "living room")
    site.questions.publish(conversions.question_to_msg(question))
    ros.spin_until(lambda: len(site.answers) == 2)
    assert {(a.robot, a.question) for a in site.answers} == {("ann", "q7"), ("bob", "q7")}


def test_an_idle_explorer_makes_way_for_who_asks_in_its_own_name(ros) -> None:
    site = Site(ros, bridge={"mode": "real_time", "pace": 4.0})
    explorer, world = site.explorers["ann"], site.bridge.world
    voice = site.node.create_publisher(TeamMessage, "bob/message", profile("messages"))
    ros.wait_for_matched(voice)
    ros.spin_until(lambda: len(explorer.memory.graph.places) > 2, what="places to go to")
    before = world.state("ann").pose.position
    way = ((before[0] + 1.5, *before[1:]), before)

    def say(id_, sender="bob", **changes) -> None:
        message = conversions.yield_request_to_msg(YieldRequest(id_, sender, way, 0.2), 1.0)
        for name, value in changes.items():
            setattr(message, name, value)
        voice.publish(message)

    say("1", sender="carl")
    ros.spin_until(lambda: explorer.diagnostics.counter("forged_messages"), what="the forgery")
    say("2", kind=TeamMessage.TEXT)
    say("3", way_radius=0.0)
    ros.spin(0.5)
    assert world.state("ann").pose.position == before
    say("4")

    def off() -> bool:
        return math.dist(world.state("ann").pose.position[:2], before[:2]) > 0.4 + PASSING_GAP_M

    ros.spin_until(off, timeout=60.0, what="ann to go aside")
    assert explorer.diagnostics.counter("forged_messages") == 1


def test_cancel_stops_the_robot_and_tells_what_was_reached(ros) -> None:
    site = Site(ros, bridge={"mode": "real_time"})
    handle = site.explore("ann", max_steps=50)
    result = handle.get_result_async()
    ros.spin_until(lambda: site.feedback)
    ros.result(handle.cancel_goal_async())
    end = ros.result(result)
    assert end.status == GoalStatus.STATUS_CANCELED
    assert not end.result.success and end.result.reason == "cancelled"
    ros.spin_until(lambda: site.bridge.world.state("ann").busy == "")
    assert site.explored("ann", max_steps=1).result.steps == 1


@pytest.mark.parametrize("limits", [{}, {"coverage": 1.5}, {"max_time": Duration(sec=-1)}])
def test_goals_without_sensible_limits_are_rejected(ros, limits) -> None:
    assert not Site(ros).explore("ann", **limits).accepted


def test_a_second_exploration_at_the_same_time_is_rejected(ros) -> None:
    site = Site(ros, bridge={"mode": "real_time"})
    first = site.explore("ann", max_steps=50)
    assert first.accepted and not site.explore("ann", max_steps=1).accepted
    ros.result(first.cancel_goal_async())


def test_without_a_bridge_exploring_fails_with_the_reason(ros, monkeypatch) -> None:
    monkeypatch.setattr("coterie_ros.observations.TIMEOUT_S", 0.5)
    node = ExplorerNode("explorer", namespace="/ann", context=ros.context)
    ros.add(node)
    ros.wait_active(node)
    client = ActionClient(ros.node(), Explore, "ann/explore")
    ros.wait_for_matched(client)
    handle = ros.result(client.send_goal_async(Explore.Goal(max_steps=1)))
    end = ros.result(handle.get_result_async())
    assert end.status == GoalStatus.STATUS_ABORTED
    assert "no observation on /ann/observation" in end.result.reason


def test_a_robot_whose_map_has_not_come_does_not_claim_to_have_seen_all(ros, monkeypatch) -> None:
    monkeypatch.setattr("coterie_ros.observations.TIMEOUT_S", 0.5)
    node = ros.add(ExplorerNode("explorer", namespace="/ann", context=ros.context))
    ros.wait_active(node)
    other = ros.node()
    client = ActionClient(other, Explore, "ann/explore")
    driver = other.create_publisher(ObservationMsg, "ann/observation", profile("observations"))
    ros.wait_for_matched(client, driver)
    pose = Pose((1.0, 1.0, 0.0), 0.0)
    blind = Observation(robot="ann", step=0, time=1.0, pose=pose, place="", room=None)
    driver.publish(conversions.observation_to_msg(blind))
    ros.spin_until(lambda: node.memory.revision > 0, what="the observation")
    handle = ros.result(client.send_goal_async(Explore.Goal(max_steps=4)))
    end = ros.result(handle.get_result_async())
    assert end.status == GoalStatus.STATUS_ABORTED and not end.result.success
    assert "no place" in end.result.reason and not node.memory.graph.places


def test_sentences_are_understood_and_nonsense_is_refused(ros) -> None:
    site = Site(ros)
    told = site.ask("ann", text="Is there a refrigerator in the kitchen?")
    assert told.success and told.answer.yes
    refused = site.ask("ann", text="Is there a gloomph?")
    assert not refused.success and "gloomph" in refused.message
    more = site.ask("ann", text="Is there a red mug in the kitchen?")
    assert not more.success and "ask, for example" in more.message


def test_a_malicious_robot_says_the_opposite(ros) -> None:
    site = Site(ros, ("ann", "bob"))
    site.ros.remove(site.explorers["bob"])
    site.explorer("bob", malicious=True)
    ros.wait_for_matched(site.ask_clients["bob"])
    truth = site.explorers["ann"].answerer.answer_by_rule(Question("q", "toilet", "kitchen"))
    assert not truth.yes
    assert site.ask("bob", object="toilet", room="kitchen").answer.yes


def test_memory_survives_a_restart_and_a_broken_file_is_set_aside(ros, tmp_path) -> None:
    site = Site(ros, state_directory=str(tmp_path))
    site.explored("ann", max_steps=3)
    seen = len(site.explorers["ann"].memory.graph.objects)
    ros.remove(site.explorers.pop("ann"))
    again = site.explorer("ann", state_directory=str(tmp_path))
    assert len(again.memory.graph.objects) >= seen > 0
    ros.remove(again)
    (tmp_path / "ann.memory.json").write_text('{"format": "no')
    fresh = site.explorer("ann", state_directory=str(tmp_path))
    assert (tmp_path / "ann.memory.broken").exists()
    assert "set aside" in fresh.diagnostics.status().message


def test_a_model_that_hangs_blocks_nothing_and_the_rule_says_so(ros) -> None:
    with Endpoint() as endpoint:
        endpoint.fail(*[Hang()] * 50)
        settings = ModelProfile(
            kind="openai", base_url=endpoint.url, model="m", timeout_s=600.0, max_retries=0
        )
        site = Site(ros, model_profile=settings.model_dump_json())
        question = Question("q1", "sofa", "living room")
        site.questions.publish(conversions.question_to_msg(question))
        ros.spin_until(lambda: endpoint.received)
        # While the model thinks, the node still serves.
        memory = site.node.create_client(GetSemanticMap, "ann/memory")
        ros.wait_for_matched(memory)
        assert ros.result(memory.call_async(GetSemanticMap.Request())).success
        assert endpoint.running and not site.answers
        endpoint.stop()
        ros.spin_until(lambda: site.answers)
    assert site.answers[0].decided_by == Answer.BY_RULE and site.answers[0].reason


def test_a_slow_model_does_not_cost_the_answer_of_a_question_with_a_deadline(ros) -> None:
    with Endpoint() as endpoint:
        endpoint.fail(*[Hang()] * 50)
        patient = ModelProfile(
            kind="openai", base_url=endpoint.url, model="m", timeout_s=600.0, max_retries=0
        )
        site = Site(ros, model_profile=patient.model_dump_json())
        asked = conversions.question_to_msg(Question("q1", "sofa", "living room"))
        asked.deadline = Duration(sec=5)
        site.questions.publish(asked)
        ros.spin_until(lambda: site.answers)
        assert endpoint.received
    assert site.answers[0].decided_by == Answer.BY_RULE
    assert "no reply within" in site.answers[0].reason


def test_a_model_decides_and_a_wrong_place_is_asked_again(ros) -> None:
    def reply(request):
        text = json.dumps(request["messages"])
        if "yes or no" in text.lower():
            return json.dumps({"answer": "yes", "confidence": 0.77, "reason": "so I think"})
        return json.dumps({"place": "the moon", "reason": "why not"})

    with Endpoint(responder=reply) as endpoint:
        settings = ModelProfile(kind="openai", base_url=endpoint.url, model="m")
        site = Site(ros, model_profile=settings.model_dump_json())
        end = site.explored("ann", max_steps=1)
        assert end.result.success and end.result.steps == 1
        assert len(endpoint.received) == 2  # asked again once, then the rule
        told = site.ask("ann", object="piano", room="kitchen")
        assert told.answer.decided_by == Answer.BY_MODEL
        assert told.answer.confidence == pytest.approx(0.77)


def test_robots_debate_over_topics_and_the_one_that_saw_it_wins(ros) -> None:
    from cam_aggregator.node import AggregatorNode
    from coterie_msgs.msg import DiscussionTurn, FinalAnswer

    site = Site(ros, ("ann", "bob"))  # ann stands in the kitchen, bob far from it
    aggregator = AggregatorNode(
        "aggregator",
        context=ros.context,
        parameters={"robots": ["ann", "bob"], "method": "debate", "turn_timeout": 60.0},
    )
    ros.add(aggregator)
    ros.wait_active(aggregator)
    finals: list[FinalAnswer] = []
    turns: list[DiscussionTurn] = []
    site.node.create_subscription(FinalAnswer, "final_answer", finals.append, profile("answers"))
    site.node.create_subscription(DiscussionTurn, "discussion", turns.append, profile("messages"))
    discussion = [aggregator._discussion, *(e._discussion for e in site.explorers.values())]
    ros.wait_for_matched(*discussion, count=4)
    ros.wait_for_matched(site.questions, count=3)
    site.questions.publish(conversions.question_to_msg(Question("q", "microwave", "kitchen")))
    ros.spin_until(lambda: finals)
    assert finals[0].method == "debate" and not finals[0].missing
    said = [(t.speaker, t.round) for t in turns if t.kind == DiscussionTurn.STATEMENT]
    assert said == [("ann", 0), ("bob", 0), ("ann", 1), ("bob", 1)]
    assert sorted(t.speaker for t in turns if t.kind == DiscussionTurn.FINAL) == ["ann", "bob"]
    by_robot = {vote.robot: vote.yes for vote in finals[0].votes}
    assert by_robot["ann"] == by_robot["bob"]
