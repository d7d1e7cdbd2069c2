"""The aggregator node over real rclpy: late, doubled, missing and forged answers; training."""

from __future__ import annotations

import asyncio

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.quick]

pytest.importorskip("coterie_msgs")

from action_msgs.msg import GoalStatus  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from cam_aggregator.node import AggregatorNode  # noqa: E402
from coterie_core.answer_table import AnswerTable  # noqa: E402
from coterie_core.questions import Answer, Evidence, OpenAnswer, Question  # noqa: E402
from coterie_msgs.action import AskTeam  # noqa: E402
from coterie_msgs.msg import Answer as AnswerMsg  # noqa: E402
from coterie_msgs.msg import FinalAnswer as FinalAnswerMsg  # noqa: E402
from coterie_msgs.msg import Label  # noqa: E402
from coterie_msgs.msg import Question as QuestionMsg  # noqa: E402
from coterie_ros import conversions  # noqa: E402
from coterie_ros.agent_node import AgentNode  # noqa: E402
from coterie_ros.conversions.judgement import judgement_from_msg  # noqa: E402
from coterie_ros.qos import profile  # noqa: E402

ROBOTS = ["ann", "bob", "cid"]


class Team:
    """A test's side of the conversation: asks, answers for the robots, hears the end."""

    def __init__(self, ros, robots=ROBOTS) -> None:
        self.ros = ros
        self.node = ros.node("team")
        self.questions = self.node.create_publisher(QuestionMsg, "question", profile("questions"))
        self.labels = self.node.create_publisher(Label, "label", profile("answers"))
        self.answers = {
            robot: self.node.create_publisher(AnswerMsg, f"{robot}/answer", profile("answers"))
            for robot in robots
        }
        self.heard: list[FinalAnswerMsg] = []
        self.finals = self.node.create_subscription(
            FinalAnswerMsg, "final_answer", self.heard.append, profile("answers")
        )

    def ready(self) -> None:
        self.ros.wait_for_matched(self.questions, self.labels, self.finals, *self.answers.values())

    def ask(
        self, name: str, thing: str = "mug", room: str = "kitchen", deadline: float = 0
    ) -> None:
        question = Question(name, thing, room)
        self.questions.publish(conversions.question_to_msg(question, deadline=deadline))

    def answer(self, robot: str, question: str, yes: bool, confidence: float = 0.8) -> None:
        answer = Answer(question, robot, yes, confidence, Evidence("seen" if yes else "not_there"))
        self.answers[robot].publish(conversions.answer_to_msg(answer))

    def wait_final(self, question: str) -> FinalAnswerMsg:
        self.ros.spin_until(
            lambda: any(f.question == question for f in self.heard), what=f"answer to {question}"
        )
        return next(f for f in reversed(self.heard) if f.question == question)


@pytest.fixture
def start(ros):
    def make(**parameters) -> AggregatorNode:
        node = AggregatorNode(
            "aggregator",
            context=ros.context,
            parameters={"robots": ROBOTS, "deadline": 60.0, **parameters},
        )
        ros.add(node)
        ros.wait_active(node)
        return node

    return make


def test_a_team_answers_as_soon_as_all_have_answered(ros, start) -> None:
    start()
    team = Team(ros)
    team.ready()
    team.ask("q1")
    team.answer("ann", "q1", True)
    team.answer("bob", "q1", True)
    ros.spin(0.3)
    assert team.heard == []
    team.answer("cid", "q1", False)
    final = team.wait_final("q1")
    assert final.answer == FinalAnswerMsg.YES and final.method == "majority_vote"
    assert {(v.robot, v.yes) for v in final.votes} == {("ann", True), ("bob", True), ("cid", False)}
    assert not final.missing and final.object == "mug" and final.room == "kitchen"


def test_the_deadline_ends_the_wait_and_names_who_was_missing(ros, start) -> None:
    start()
    team = Team(ros)
    team.ready()
    team.ask("q1", deadline=2.0)
    team.answer("bob", "q1", False)
    final = team.wait_final("q1")
    assert final.answer == FinalAnswerMsg.NO
    assert sorted(final.missing) == ["ann", "cid"]
    team.answer("ann", "q1", True)  # late: changes nothing
    ros.spin(0.3)
    assert len(team.heard) == 1


def test_a_class_from_a_file_of_the_users_makes_the_answers(
    ros, start, tmp_path, monkeypatch
) -> None:
    (tmp_path / "lone_votes.py").write_text(
        "from cam_aggregator.base import Aggregator\n"
        "class AnyYes(Aggregator):\n"
        "    name = 'any_yes'\n"
        "    def p_yes(self, table):\n"
        "        return (table.answers & table.present).any(axis=1).astype(float)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    start(method="lone_votes:AnyYes")
    team = Team(ros)
    team.ready()
    team.ask("q1")
    for robot in ROBOTS:
        team.answer(robot, "q1", robot == ROBOTS[0])
    final = team.wait_final("q1")
    assert (final.answer, final.method) == (FinalAnswerMsg.YES, "any_yes")


def test_nobody_answers_means_abstain_not_silence(ros, start) -> None:
    start()
    team = Team(ros)
    team.ready()
    team.ask("q1", deadline=0.3)
    final = team.wait_final("q1")
    assert final.answer == FinalAnswerMsg.UNKNOWN and len(final.missing) == 3


def test_doubled_answers_count_once_and_the_last_counts(ros, start) -> None:
    node = start()
    team = Team(ros)
    team.ready()
    team.ask("q1")
    for yes in (True, True, True, False):
        team.answer("ann", "q1", yes)
    # Other topics may overtake this one.
    ros.spin_until(lambda: (e := node.collector.get("q1")) and len(e.answers) == 4)
    team.answer("bob", "q1", True)
    team.answer("cid", "q1", False)
    final = team.wait_final("q1")
    assert final.answer == FinalAnswerMsg.NO and len(final.votes) == 3


def test_bad_messages_are_dropped_and_reported_not_fatal(ros, start) -> None:
    node = start()
    team = Team(ros)
    team.ready()
    team.ask("q1")
    broken = conversions.answer_to_msg(Answer("q1", "ann", True, 0.9, Evidence("seen")))
    broken.confidence = float("nan")
    team.answers["ann"].publish(broken)
    team.answer("bob", "q1", True)
    team.answer("cid", "q1", True)
    ros.spin_until(lambda: node.diagnostics.counter("ann/answer.invalid") == 1)
    team.answer("ann", "q1", True)
    assert team.wait_final("q1").answer == FinalAnswerMsg.YES


def test_a_robot_cannot_speak_for_another(ros, start) -> None:
    start()
    team = Team(ros)
    team.ready()
    team.ask("q1", deadline=3.0)
    forged = conversions.answer_to_msg(Answer("q1", "bob", False, 1.0, Evidence("not_there")))
    team.answers["ann"].publish(forged)
    team.answer("cid", "q1", True)
    final = team.wait_final("q1")
    assert sorted(final.missing) == ["ann", "bob"] and final.answer == FinalAnswerMsg.YES


class Client:
    """Asks by the action `ask`, and keeps what is said of the progress."""

    def __init__(self, ros, node) -> None:
        self.ros = ros
        self.progress: list[AskTeam.Feedback] = []
        self.client = ActionClient(node, AskTeam, "ask")
        ros.wait_for_matched(self.client)

    def send(self, text: str):
        goal = AskTeam.Goal()
        goal.question.text = text
        sent = self.client.send_goal_async(
            goal, feedback_callback=lambda m: self.progress.append(m.feedback)
        )
        return self.ros.result(sent)

    def ask(self, text: str):
        return self.ros.result(self.send(text).get_result_async()).result


def test_ask_waits_for_the_answer_and_tells_who_has_answered(ros, start) -> None:
    start()
    team = Team(ros)
    team.ready()
    seen: list[QuestionMsg] = []
    team.node.create_subscription(QuestionMsg, "question", seen.append, profile("questions"))
    client = Client(ros, team.node)
    future = client.send("Is there a mug in the kitchen?").get_result_async()
    ros.spin_until(lambda: seen)
    assert (seen[0].object, seen[0].room) == ("mug", "kitchen")
    team.answer(ROBOTS[0], seen[0].id, True, 0.9)
    ros.spin_until(lambda: client.progress and client.progress[-1].robots)
    told = client.progress[-1]
    assert (told.stage, told.expected) == (AskTeam.Feedback.HEARING, len(ROBOTS))
    assert list(told.robots) == [ROBOTS[0]]
    for robot in ROBOTS[1:]:
        team.answer(robot, seen[0].id, True, 0.9)
    response = ros.result(future).result
    assert response.success and response.answer.answer == FinalAnswerMsg.YES
    assert {answer.robot for answer in response.answers} == set(ROBOTS)


class Knower(AgentNode):
    """The other end of `ask_open`."""

    def on_setup(self, parameters) -> None:
        self.asked: list[AskTeam.Goal] = []
        self.silent = self.cancelled = False
        self.serve_action(AskTeam, "ask_open", self.answer)

    async def answer(self, goal):
        self.asked.append(goal.request)
        exploring = AskTeam.Feedback.EXPLORING
        goal.feedback(AskTeam.Feedback(stage=exploring, robot="r1", distance=2.5))
        if self.silent:
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled = goal.cancelled
        answer = OpenAnswer(goal.request.question.id, "grey", "attribute_recognition", 0.8)
        told = conversions.open_answer_to_msg(answer, frame="map")
        return AskTeam.Result(success=True, is_open=True, open=told)


def test_who_may_not_explore_is_answered_from_the_map_alone(ros, start) -> None:
    start()
    knower = ros.add(Knower("knower", context=ros.context))
    ros.wait_active(knower)
    client = Client(ros, ros.node("asker"))
    ros.spin_until(lambda: client.ask("What color is the sofa?").success)
    assert knower.asked[-1].explore
    goal = AskTeam.Goal(explore=False)
    goal.question.text = "What color is the sofa?"
    handle = ros.result(client.client.send_goal_async(goal))
    assert ros.result(handle.get_result_async()).result.success
    assert not knower.asked[-1].explore


def test_open_questions_go_to_who_knows_the_map(ros, start) -> None:
    start()
    knower = ros.add(Knower("knower", context=ros.context))
    ros.wait_active(knower)
    node = ros.node("asker")
    client = Client(ros, node)
    text = ""
    for text in ("What colour is the sofa?", "How many chairs are in the kitchen?"):
        response = client.ask(text)
        assert response.success and response.is_open and response.open.text == "grey"
        assert knower.asked[-1].question.text == text and knower.asked[-1].explore
        assert response.open.question == knower.asked[-1].question.id != ""
        ros.spin_until(lambda: client.progress, what="feedback")
        told = client.progress.pop()
        assert (told.stage, told.robot, told.distance) == (AskTeam.Feedback.EXPLORING, "r1", 2.5)
    # A question that is taken back is taken back there, too.
    knower.silent = True
    handle = client.send(text)
    ros.spin_until(lambda: len(knower.asked) == 3)
    ros.result(handle.cancel_goal_async())
    assert ros.result(handle.get_result_async()).status == GoalStatus.STATUS_CANCELED
    assert knower.cancelled
    # It is started again in the middle of its work: its successor knows of no question.
    future = client.send(text).get_result_async()
    ros.spin_until(lambda: len(knower.asked) == 4)
    ros.wait_active(ros.add(Knower("successor", context=ros.context)))
    ros.lose(knower)
    response = ros.result(future, 60.0).result
    assert not response.success and response.is_open
    assert "started again" in response.message or "gone" in response.message


def test_an_open_question_that_nobody_answers_is_told_so(ros, start) -> None:
    start()
    node = ros.node("asker")
    response = Client(ros, node).ask("What colour is the sofa?")
    assert not response.success and "open_questions" in response.message


def test_a_question_that_is_not_understood_is_asked_back(ros, start) -> None:
    start()
    response = Client(ros, ros.node("asker")).ask("What color is it?")
    assert response.success and response.is_open and response.open.guessed
    told = judgement_from_msg(response.judgement, "ask")
    assert told.kind == "underspecified" and not told.proceeds
    assert told.question in response.open.text == told.line.replace(". Asked back:", ".")


def test_ask_says_what_it_did_not_understand(ros, start) -> None:
    start()
    response = Client(ros, ros.node("asker")).ask("")
    assert not response.success and "sentence" in response.message


def test_labels_train_the_learned_model_which_a_restart_finds_again(ros, start, tmp_path) -> None:
    settings = {"method": "cam_plus", "model_directory": str(tmp_path), "house": "h1"}
    node = start(**settings)
    team = Team(ros)
    team.ready()
    client = team.node.create_client(Trigger, "train")
    ros.wait_for_matched(client)
    response = ros.result(client.call_async(Trigger.Request()))
    assert not response.success and "label" in response.message
    things = ["mug", "plant", "sofa", "bed", "towel", "books"]
    rooms = ["kitchen", "bedroom", "bathroom", "office", "hallway"]
    truths = {}
    for i, thing in enumerate(things):
        for j, room in enumerate(rooms):
            name = f"{thing}-{room}"
            truths[name] = (i + j) % 2 == 0
            team.ask(name, thing, room)
            for robot in ROBOTS:
                lies = robot == "cid"
                team.answer(robot, name, truths[name] != lies, 0.9)
    for name, truth in truths.items():
        team.labels.publish(conversions.label_to_msg(name, truth, "test"))
    ros.spin_until(lambda: len({f.question for f in team.heard}) == len(truths))
    ros.spin_until(lambda: node._figures()["labels"] == len(truths))
    assert "not trained" in team.heard[0].explanation
    response = ros.result(client.call_async(Trigger.Request()))
    assert response.success, response.message
    ros.remove(node)
    team.heard.clear()
    start(**settings)
    ros.wait_for_matched(team.questions)
    ros.spin_until(lambda: len({f.question for f in team.heard}) == len(truths))
    team.ask("new", "lamp", "kitchen")
    for robot in ROBOTS:
        team.answer(robot, "new", robot != "cid", 0.9)
    final = team.wait_final("new")
    assert final.method == "cam_plus" and "not trained" not in final.explanation
    team.labels.publish(conversions.label_to_msg("new", True, "test"))
    kept = lambda: AnswerTable.from_json((tmp_path / "answers.json").read_text())  # noqa: E731
    ros.spin_until(lambda: "new" in kept().questions)
    assert dict(zip(kept().questions, kept().truth, strict=True)) == truths | {"new": True}
    response = ros.result(client.call_async(Trigger.Request()))
    assert f"on {len(truths) + 1} labelled questions" in response.message  # of both runs


def test_a_restart_in_the_middle_of_a_question_loses_nothing(ros, start) -> None:
    first = start()
    team = Team(ros)
    team.ready()
    team.ask("q1")
    team.answer("ann", "q1", True)
    team.answer("bob", "q1", True)
    ros.spin_until(lambda: (e := first.collector.get("q1")) and len(e.answers) == 2)
    ros.remove(first)
    start()
    team.ready()
    team.answer("cid", "q1", False)
    final = team.wait_final("q1")
    assert final.answer == FinalAnswerMsg.YES and len(final.votes) == 3


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"robots": []}, "robots"),
        ({"method": "majorty_vote"}, "did you mean 'majority_vote'"),
        ({"deadline": -1.0}, "out of range"),
    ],
)
def test_bad_parameters_are_named(ros, parameters, words) -> None:
    try:
        node = AggregatorNode(
            "aggregator",
            context=ros.context,
            parameters={"robots": ROBOTS, **parameters},
        )
    except ValueError as error:
        assert words in str(error)
        return
    ros.add(node)
    ros.spin_until(lambda: node.failure)
    assert words in node.failure


def test_a_stored_model_of_another_house_is_refused_with_the_reason(ros, start, tmp_path) -> None:
    (tmp_path / "cam_plus").mkdir()
    (tmp_path / "cam_plus" / "manifest.json").write_text("{}")
    node = AggregatorNode(
        "aggregator",
        context=ros.context,
        parameters={
            "robots": ROBOTS,
            "method": "cam_plus",
            "model_directory": str(tmp_path),
            "house": "h2",
        },
    )
    ros.add(node)
    ros.spin_until(lambda: node.failure)
    assert "manifest.json" in node.failure and "train" in node.failure


def test_robots_of_another_team_count_for_nothing_in_a_trained_model(ros, start) -> None:
    start(method="xgboost")
    team = Team(ros)
    team.ready()
    client = team.node.create_client(Trigger, "train")
    ros.wait_for_matched(client)
    for k in range(12):
        team.ask(f"q{k}", f"thing {k}", "kitchen")
        for robot in ROBOTS:
            team.answer(robot, f"q{k}", k % 2 == 0)
        team.labels.publish(conversions.label_to_msg(f"q{k}", k % 2 == 0, "test"))
    ros.spin_until(lambda: len({f.question for f in team.heard}) == 12)
    assert ros.result(client.call_async(Trigger.Request())).success
    team.ask("late", "thing 3", "kitchen", deadline=2.0)
    team.answer("ann", "late", True)
    final = team.wait_final("late")
    assert final.method == "xgboost" and sorted(final.missing) == ["bob", "cid"]
