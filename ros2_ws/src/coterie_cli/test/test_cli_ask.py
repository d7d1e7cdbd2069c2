"""`./coterie ask` against a team over real rclpy: its progress, its answer, and Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from coterie_cli.ask import progress_text
from coterie_core.questions import Answer, Evidence, FinalAnswer, OpenAnswer, Vote
from coterie_msgs.action import AskTeam
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode

DRIVES = AskTeam.Feedback(
    stage=AskTeam.Feedback.EXPLORING,
    robot="zoe",
    place="p9",
    reason="lamps stand in studies",
    distance=3.25,
    max_distance=25.0,
    seen=["rug", "lamp"],
)


class Team(AgentNode):
    """A team that drives somewhere, and says when it was told to stop."""

    def on_setup(self, parameters) -> None:
        self.asked: list[str] = []
        self.answers = True
        self.stopped = False
        self.serve_action(AskTeam, "ask", self.answer)

    async def answer(self, goal):
        self.asked.append(goal.request.question.text)
        if "chair" in goal.request.question.text:  # in a room where nobody has been
            id_ = goal.request.question.id
            usual = Answer(id_, "zoe", True, 0.66, Evidence("prior_only", prior=0.66))
            final = FinalAnswer(id_, True, 0.66, "majority_vote", (Vote("zoe", True, 0.66, 1.0),))
            return AskTeam.Result(
                success=True,
                answer=conversions.final_answer_to_msg(final),
                answers=[conversions.answer_to_msg(usual)],
            )
        goal.feedback(DRIVES)
        if not self.answers:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0.5)  # a robot does not stop at once
                self.stopped = True
                return goal.cancel(AskTeam.Result(message="cancelled"))
        told = OpenAnswer(goal.request.question.id, "in the study", "object_localization", 0.9)
        if "heavier" in goal.request.question.text:
            told = OpenAnswer(goal.request.question.id, "cannot tell", guessed=True)
        message = conversions.open_answer_to_msg(told, frame="map")
        return AskTeam.Result(success=True, is_open=True, open=message)


def ask(ros, text):
    command = [sys.executable, "-m", "coterie_cli.cli", "ask", text]
    return ros.start_process([*command, "--domain", str(ros.domain), "--namespace", "/"])


@pytest.mark.ros
def test_progress_is_shown_and_ctrl_c_takes_the_question_back(ros):
    team = ros.add(Team("team", context=ros.context))
    ros.wait_active(team)
    process = ask(ros, "Where is the lamp?")
    ros.spin_until(lambda: process.exit_code is not None, 60.0, "the answer")
    assert process.exit_code == 0 and "in the study" in process.output
    assert "zoe drives to p9" in process.output and "3.2 m of at most 25 m" in process.output
    assert "rug, lamp" in process.output

    team.answers = False
    process = ask(ros, "Where is the lamp now?")
    ros.spin_until(lambda: "zoe drives" in process.output, 60.0, "the second question")
    process.send(signal.SIGINT)
    ros.spin_until(lambda: process.exit_code is not None, 60.0, "its end")
    assert team.stopped  # before the command ended
    assert process.exit_code == 130 and "taken back" in process.output
    assert team.asked == ["Where is the lamp?", "Where is the lamp now?"]


def test_every_stage_has_its_words() -> None:
    heard = AskTeam.Feedback(stage=AskTeam.Feedback.HEARING, robots=["a", "b"], expected=3)
    assert progress_text(heard) == "2 of 3 robots have answered"
    assert progress_text(AskTeam.Feedback(stage=AskTeam.Feedback.HEARING, expected=3)) == ""
    assert "map" in progress_text(AskTeam.Feedback(stage=AskTeam.Feedback.THINKING))
    assert progress_text(AskTeam.Feedback()) == ""
    assert "lamps stand in studies" in progress_text(DRIVES)
    hostile = AskTeam.Feedback(stage=AskTeam.Feedback.EXPLORING, robot="\x1b[2Jzoe")
    assert "\x1b" not in progress_text(hostile)


@pytest.mark.ros
def test_an_answer_that_no_robot_has_observed_is_called_a_guess(ros):
    team = ros.add(Team("team", context=ros.context))
    ros.wait_active(team)
    process = ask(ros, "Is there a chair in the kitchen?")
    ros.spin_until(lambda: process.exit_code is not None, 60.0, "the answer")
    assert process.exit_code == 3 and "A GUESS: YES" in process.output


@pytest.mark.ros
def test_that_nobody_can_tell_is_no_guess(ros):
    ros.wait_active(ros.add(Team("team", context=ros.context)))
    process = ask(ros, "Which bag is heavier?")
    ros.spin_until(lambda: process.exit_code is not None, 60.0, "the answer")
    assert process.exit_code == 4 and "nobody knows" in process.output
