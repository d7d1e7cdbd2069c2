"""Asking a team without moving a robot: whoever the team thinks with reads the question."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from cam_aggregator.node import AggregatorNode
from coterie_bringup.team_client import Operator, TeamAnswer
from coterie_core.questions import Answer, Evidence, Question
from coterie_fixtures.endpoint import Endpoint
from coterie_msgs.msg import Answer as AnswerMsg
from coterie_msgs.msg import Question as QuestionMsg
from coterie_ros import conversions
from coterie_ros.clients import NoAnswer
from coterie_ros.qos import profile

pytestmark = pytest.mark.ros

ROBOTS = ("ann", "bob")


def test_a_search_in_a_team_without_a_planner_says_what_is_missing(ros):
    operator = ros.add(Operator(ROBOTS, context=ros.context))
    ros.wait_active(operator)
    with pytest.raises(NoAnswer, match=r"it .* hangs .* has no object planner: give"):
        ros.result(operator.run(operator.find("a mug", 3, 0.5)))


def test_the_teams_model_reads_a_question_that_may_move_nobody(ros):
    node = ros.node()
    out = {r: node.create_publisher(AnswerMsg, f"{r}/answer", profile("answers")) for r in ROBOTS}
    asked = []

    def hear(message):
        asked.append(message.object)
        for robot in ROBOTS:
            answer = Answer(message.id, robot, True, 0.9, Evidence("seen", sightings=2))
            out[robot].publish(conversions.answer_to_msg(answer))

    node.create_subscription(QuestionMsg, "question", hear, profile("questions"))
    read = {"reason": "is there a mug", "kind": "clear", "say": ["Is there a mug?"]}
    with Endpoint(lambda request: read) as endpoint:
        model = {"kind": "openai", "base_url": endpoint.url, "model": "m", "attempts": 1}
        parameters = {"robots": list(ROBOTS), "deadline": 20.0, "model_profile": json.dumps(model)}
        aggregator = AggregatorNode("aggregator", context=ros.context, parameters=parameters)
        operator = Operator(ROBOTS, context=ros.context)
        ros.add(aggregator), ros.add(operator)
        ros.wait_active(aggregator, operator)
        ros.wait_for_matched(*out.values())
        question = Question("q1", "", "", "Gibt es hier eine Tasse?")
        told = ros.result(operator.run(operator.ask(question, 60.0, explore=False)), 90.0)
    assert isinstance(told, TeamAnswer), told
    assert told.final.yes and asked == ["mug"]
