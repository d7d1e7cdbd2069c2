"""Nodes of a team that ask: no model where its word can change nothing, robots, the person."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.ros

pytest.importorskip("coterie_msgs")

from std_msgs.msg import String  # noqa: E402

from coterie_core.tasks import Proposal, SubTask, Thing  # noqa: E402
from coterie_fixtures.endpoint import Endpoint, Says  # noqa: E402
from coterie_fixtures.two_floor_home import small_house, small_team  # noqa: E402
from coterie_llm import ModelProfile  # noqa: E402
from coterie_msgs.msg import Assignment, DiscussionTurn, SemanticMap  # noqa: E402
from coterie_msgs.srv import AskInWords  # noqa: E402
from coterie_requests.asking import WordsAnswer  # noqa: E402
from coterie_ros import conversions  # noqa: E402
from coterie_ros.agent_node import AgentNode  # noqa: E402
from coterie_ros.asking import PERSON, serve_words  # noqa: E402
from coterie_ros.conversions.tasks import (  # noqa: E402
    assignment_to_msg,
    proposal_to_msg,
    reflection_from_msg,
)
from coterie_ros.qos import profile  # noqa: E402
from emos_planner.robot.node import RobotNode  # noqa: E402


def model_profile(endpoint, **more) -> str:
    return json.dumps(
        ModelProfile(
            kind="openai", base_url=endpoint.url, model="m", max_retries=0, **more
        ).model_dump(mode="json", exclude_defaults=True)
    )


class Beside:
    """The rest of a team: publishes map and resumes, hears the discussion."""

    def __init__(self, ros) -> None:
        self.ros, self.node = ros, ros.node("beside")
        self.turns: list[DiscussionTurn] = []
        self.node.create_subscription(
            DiscussionTurn, "discussion", self.turns.append, profile("messages")
        )
        self.out = self.node.create_publisher(DiscussionTurn, "discussion", profile("messages"))
        self.map = self.node.create_publisher(SemanticMap, "semantic_map", profile("latched"))
        self.map.publish(conversions.scene_to_msg(small_house()))

    def publish_resume(self, name) -> None:
        self.resume = self.node.create_publisher(String, f"{name}/resume", profile("latched"))
        self.resume.publish(conversions.resume_to_msg(name, small_team()[name]))

    def answers(self):
        said = (DiscussionTurn.ACCEPT, DiscussionTurn.REJECT)
        return [reflection_from_msg(turn) for turn in self.turns if turn.kind in said]


def robot_node(ros, name, endpoint):
    node = ros.add(
        RobotNode(
            "robot",
            namespace=f"/{name}",
            context=ros.context,
            parameters={"robots": [name, "walker"], "model_profile": model_profile(endpoint)},
        )
    )
    ros.wait_active(node)
    return node


MUG = Thing(label="mug", id="mug-1", position=(10.2, 3.5, 0.8), room="living")
LOOK = SubTask(id="see", kind="detect", object=MUG, robot="rover", description="look at the mug")
GO = SubTask(id="go", kind="go_to", rooms=("living",), robot="rover", description="go there")


def test_a_robots_model_is_not_asked_for_what_nobody_else_could_take(ros) -> None:
    with Endpoint(lambda request: Says("{}")) as endpoint:
        beside = Beside(ros)
        robot_node(ros, "rover", endpoint)
        beside.publish_resume("rover")
        for round_, sole in enumerate((("see", "go"), ("see",))):
            proposal = Proposal(
                task="t", words="look at mug-1", round=round_, sub_tasks=(LOOK, GO), sole=sole
            )
            ros.wait_for_matched(beside.out, count=2)
            beside.out.publish(proposal_to_msg(proposal, ["rover"]))
            ros.spin_until(lambda n=round_: len(beside.answers()) > n, what="an answer")
            if not round_:
                assert not endpoint.received, "its word could change nothing"
        texts = [received.text for received in endpoint.received]
    assert texts and all('"id": "see"' not in text for text in texts)


def test_a_goal_is_for_the_words_of_its_own_task(ros) -> None:
    """A person permits goals by these: an assignment may come before the task's proposal."""
    with Endpoint(lambda request: Says("{}")) as endpoint:
        beside = Beside(ros)
        node = robot_node(ros, "rover", endpoint)
        beside.publish_resume("rover")
        assign = beside.node.create_publisher(Assignment, "assignment", profile("latched"))
        ros.wait_for_matched(beside.out, count=2)
        ros.wait_for_matched(assign)
        for task, words in (("t", "look at mug-1"), ("u", "go to the living room")):
            assign.publish(assignment_to_msg(task, 0, []))
            ros.spin_until(
                lambda task=task: node.agent is not None and node.agent.task == task,
                what="the assignment",
            )
            assert node.agent.words == ""
            proposal = Proposal(task=task, words=words, sub_tasks=(LOOK, GO), sole=("see", "go"))
            beside.out.publish(proposal_to_msg(proposal, ["rover"]))
            ros.spin_until(lambda words=words: node.agent.words == words, what="the words")


# -- asking the person and robots ------------------------------------------------------------------


def told(request) -> list[str]:
    return [m["content"] for m in request["messages"] if m["role"] == "tool"]


def call(name, **arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"id": "c", "type": "function", "function": function}]}


def verdicts(reason):
    no = {"reason": reason, "feasible": False, "obstacle": "other"}
    return {"reason": reason, "verdicts": [{"sub_task": id, **no} for id in ("see", "go")]}


@pytest.mark.parametrize("there", [True, False], ids=["a person", "nobody"])
def test_a_robots_model_asks_the_person_who_gave_the_task(ros, there) -> None:
    asked = []

    async def person(question):
        asked.append(question)
        return WordsAnswer("no, that mug is broken")

    def responder(request):
        said = told(request)
        if not said:
            return call("ask_person", question="May I look at the mug?", choices=["yes", "no"])
        return verdicts(said[0][:250])

    with Endpoint(responder) as endpoint:
        beside = Beside(ros)
        if there:
            home = AgentNode("person", context=ros.context, light=True)
            serve_words(ros.add(home), PERSON, person)
            ros.wait_active(home)
        robot_node(ros, "rover", endpoint)
        beside.publish_resume("rover")
        ros.wait_for_matched(beside.out, count=2)
        proposal = Proposal(task="t", words="look at mug-1", sub_tasks=(LOOK, GO))
        beside.out.publish(proposal_to_msg(proposal, ["rover"]))
        ros.spin_until(beside.answers, what="an answer")
    (answer,) = beside.answers()
    expected = "that mug is broken" if there else "nobody is there to answer"
    assert all(expected in v.reason for v in answer.verdicts), answer
    assert [(q.asker, q.task, q.choices) for q in asked] == [("rover", "t", ("yes", "no"))] * there


def test_a_robot_is_asked_what_it_knows(ros) -> None:
    with Endpoint(lambda request: Says("{}")) as endpoint:
        beside = Beside(ros)
        robot_node(ros, "rover", endpoint)
        client = beside.node.create_client(AskInWords, "rover/ask_in_words")
        ros.wait_for_matched(client)
        within = conversions.duration_to_msg(20.0)
        request = AskInWords.Request(asker="walker", question="Where are the keys?", within=within)
        assert "not ready" in ros.result(client.call_async(request)).reason
        beside.publish_resume("rover")
        ros.spin_until(
            lambda: ros.result(client.call_async(request)).answered, what="the robot to be ready"
        )
        answer = ros.result(client.call_async(request))
        assert "keys-1: keys; room kitchen" in answer.text.replace(", ", "; ")
        assert "mug-1" not in answer.text and "hand empty" in answer.text
        request.question = ""
        answer = ros.result(client.call_async(request))
        assert not answer.answered and "field question: expected a text" in answer.reason
        assert not endpoint.received, "it tells what it knows without a model"
