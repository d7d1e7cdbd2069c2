"""Sub-tasks, proposals, reflections and reports through messages."""

import pytest
from rclpy.serialization import deserialize_message, serialize_message

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
from coterie_msgs.msg import DiscussionTurn
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


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("kind", 0, "kind: expected one of 1 .go_to."),
        ("state", 9, "state"),
        ("has_receptacle", False, "place needs a receptacle"),
        ("enough", float("nan"), "enough"),
        ("id", "x" * 61, "id"),
    ],
)
def test_a_broken_sub_task_is_named(field, value, named):
    message = conversions.assignment_to_msg("task_1", 0, (PICK, PLACE))
    setattr(message.sub_tasks[1], field, value)
    with pytest.raises(ConversionError, match=rf"sub_tasks\[1\].*{named}"):
        conversions.assignment_from_msg(message)


def test_chances_come_one_per_region():
    search = SubTask(id="s", kind="search", object=MUG, looked={"walker": {"room_1:0": 0.25}})
    message = conversions.assignment_to_msg("task_1", 0, (search,))
    assert conversions.assignment_from_msg(message)[2] == (search,)
    message.sub_tasks[0].looked[0].miss_chances = []
    with pytest.raises(ConversionError, match=r"looked\[0\].miss_chances: expected one per region"):
        conversions.assignment_from_msg(message)


def test_unknown_dependency_and_repeated_id_are_refused():
    lone = conversions.assignment_to_msg("task_1", 0, (PLACE,))
    with pytest.raises(ConversionError, match="depends_on"):
        conversions.assignment_from_msg(lone)
    twice = conversions.assignment_to_msg("task_1", 0, (PICK, PICK))
    with pytest.raises(ConversionError, match="each id once"):
        conversions.assignment_from_msg(twice)


def test_a_round_of_discussion_comes_back_as_it_was():
    proposal = Proposal(
        task="task_1", words="tidy up", round=1, sub_tasks=(PICK, PLACE), sole=("pick_1",)
    )
    turn = conversions.proposal_to_msg(proposal, ["rover"])
    assert conversions.proposal_from_msg(turn) == proposal
    turn.sole = ["pick_9"]
    with pytest.raises(ConversionError, match="sole: expected ids of sub_tasks"):
        conversions.proposal_from_msg(turn)
    verdict = Verdict(sub_task="pick_1", feasible=False, obstacle=Obstacle.TOO_HIGH, reason="2 m")
    reflection = Reflection(
        task="task_1", round=1, robot="rover", agrees=False, verdicts=(verdict,)
    )
    answer = conversions.reflection_to_msg(reflection, "no: too high")
    assert conversions.reflection_from_msg(answer) == reflection
    answer.verdicts[0].obstacle = 99
    with pytest.raises(ConversionError, match=r"verdicts\[0\].obstacle"):
        conversions.reflection_from_msg(answer)
    answer.kind = DiscussionTurn.STATEMENT
    with pytest.raises(ConversionError, match="kind"):
        conversions.reflection_from_msg(answer)


def test_every_obstacle_has_its_number_in_the_message():
    told = [
        Verdict(sub_task="s", feasible=False, obstacle=one, time=2.5, source="rule")
        for one in Obstacle
    ]
    reflection = Reflection(task="t", robot="r", agrees=False, verdicts=tuple(told))
    message = conversions.reflection_to_msg(reflection)
    assert len({one.obstacle for one in message.verdicts}) == len(Obstacle)
    assert conversions.reflection_from_msg(message) == reflection


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
        looked={"mug": {"room_1:0": 0.5, "room_1:1": 0.125}, "cup": {}},
        offers=("s9",),
        put_down="a bowl, on the table",
    )
    assert conversions.report_from_msg(conversions.report_to_msg(report)) == report


FULL = SubTask(
    id="s1",
    kind="use",
    skill="wipe",
    object=Thing(label="cup", id="o1", position=(1.0, 2.0, 3.0), room="r1", sightings=3),
    receptacle=Thing(label="shelf", id="o2"),
    inside=False,
    rooms=("r1", "r2"),
    robot="rover",
    depends_on=("s0",),
    same_robot_as="s0",
    description="put it there",
    state=SubTaskState.RUNNING,
    reason="why",
    enough=0.25,
    looked={"walker": {"r1:0": 0.5}},
    seen=True,
)
VERDICT = Verdict(
    sub_task="s1",
    feasible=True,
    obstacle=Obstacle.OTHER,
    reason="so",
    time=1.5,
    source="model",
    disagreement="no",
)
REFLECTION = Reflection(
    task="t", round=2, robot="rover", agrees=True, verdicts=(VERDICT,), without_model="it was down"
)
REPORT = RobotReport(
    robot="rover",
    time=2.5,
    task="t",
    waiting=False,
    position=(1.0, 2.0, 0.0),
    room="r1",
    holding="cup",
    skill="Place",
    help="who?",
    offers=("s9",),
    sub_tasks=(FULL,),
    found=(FULL.object,),
    looked={"cup": {"r1:0": 0.5}},
    put_down="a bowl",
)


@pytest.mark.parametrize("value", [FULL, FULL.object, VERDICT, REFLECTION, REPORT])
def test_these_have_every_field(value):
    """Where a field is new, the messages have to carry it, too."""
    for name, field in type(value).model_fields.items():
        assert getattr(value, name) != field.get_default(), f"{type(value).__name__}.{name}"


def test_every_field_travels():
    sent = conversions.report_to_msg(REPORT), conversions.reflection_to_msg(REFLECTION)
    report, reflection = (
        deserialize_message(serialize_message(message), type(message)) for message in sent
    )
    assert conversions.report_from_msg(report) == REPORT
    assert conversions.reflection_from_msg(reflection) == REFLECTION
