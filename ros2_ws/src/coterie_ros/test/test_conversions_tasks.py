"""Sub-tasks, proposals, reflections and reports through messages."""

import pytest

from coterie_core.tasks import (
    Obstacle,
    Proposal,
    Reflection,
    RobotReport,
    SubTask,
    SubTaskState,
    Thing,
    Verdict,
)
from coterie_ros import conversions
from coterie_ros.conversions import ConversionError

MUG = Thing(label="mug", id="object_7", position=(1.0, 2.0, 0.8), room="room_1")
PICK = SubTask(id="pick_1", kind="pick", object=MUG, robot="rover", description="pick the mug")
PLACE = SubTask(
    id="place_1",
    kind="place",
    object=MUG,
    receptacle=Thing(label="table"),
    robot="rover",
    depends_on=("pick_1",),
    same_robot_as="pick_1",
    state=SubTaskState.FAILED,
    reason="the table is full",
)


def test_an_assignment_comes_back_as_it_was():
    message = conversions.assignment_to_msg("task_1", 2, (PICK, PLACE), time=3.5)
    assert conversions.assignment_from_msg(message) == ("task_1", 2, (PICK, PLACE))


def test_plain_fields_and_json_must_agree():
    message = conversions.assignment_to_msg("task_1", 0, (PICK, PLACE))
    message.sub_tasks[1].robot = "walker"
    with pytest.raises(ConversionError, match=r"sub_tasks\[1\].*robot.*'rover'"):
        conversions.assignment_from_msg(message)


def test_unknown_dependency_and_repeated_id_are_refused():
    lone = conversions.assignment_to_msg("task_1", 0, (PLACE,))
    with pytest.raises(ConversionError, match="depends_on"):
        conversions.assignment_from_msg(lone)
    twice = conversions.assignment_to_msg("task_1", 0, (PICK, PICK))
    with pytest.raises(ConversionError, match="each id once"):
        conversions.assignment_from_msg(twice)


def test_a_round_of_discussion_comes_back_as_it_was():
    proposal = Proposal(task="task_1", words="tidy up", round=1, sub_tasks=(PICK, PLACE))
    turn = conversions.proposal_to_msg(proposal, ["rover"])
    assert conversions.proposal_from_msg(turn) == proposal
    verdict = Verdict(sub_task="pick_1", feasible=False, obstacle=Obstacle.TOO_HIGH, reason="2 m")
    reflection = Reflection(
        task="task_1", round=1, robot="rover", agrees=False, verdicts=(verdict,)
    )
    answer = conversions.reflection_to_msg(reflection, "no: too high")
    assert conversions.reflection_from_msg(answer) == reflection
    answer.speaker = "walker"
    with pytest.raises(ConversionError, match="rover"):
        conversions.reflection_from_msg(answer)


@pytest.mark.parametrize("data", ["", "{", "[]", '{"task": 7}', '{"task": "x"}'])
def test_broken_json_is_refused(data):
    turn = conversions.proposal_to_msg(
        Proposal(task="task_1", words="tidy up", sub_tasks=(PICK,)), ["rover"]
    )
    turn.data = data
    with pytest.raises(ConversionError, match="data"):
        conversions.proposal_from_msg(turn)


def test_a_report_comes_back_as_it_was():
    report = RobotReport(
        robot="rover",
        time=4.0,
        task="task_1",
        waiting=False,
        position=(1.0, 2.0, 0.0),
        holding="mug",
        skill="Place",
        sub_tasks=(PICK, PLACE),
        found=(MUG,),
    )
    assert conversions.report_from_msg(conversions.report_to_msg(report)) == report
