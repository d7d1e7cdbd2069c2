"""The leader's node over real rclpy, with robots made by hand: talk, work, cancel, restart."""

from __future__ import annotations

import json

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.quick]

pytest.importorskip("coterie_msgs")

from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from std_msgs.msg import Bool, String  # noqa: E402

from coterie_core.tasks import (  # noqa: E402
    Reflection,
    RobotReport,
    SubTaskState,
    Verdict,
)
from coterie_fixtures.endpoint import Endpoint, Says  # noqa: E402
from coterie_fixtures.two_floor_home import STARTS, small_house, small_team  # noqa: E402
from coterie_msgs.action import ExecuteTask  # noqa: E402
from coterie_msgs.msg import (  # noqa: E402
    Assignment,
    DiscussionTurn,
    RequestJudgement,
    RobotStatus,
    SemanticMap,
)
from coterie_msgs.srv import HandOver  # noqa: E402
from coterie_ros import conversions  # noqa: E402
from coterie_ros.conversions.tasks import (  # noqa: E402
    assignment_from_msg,
    proposal_from_msg,
    reflection_to_msg,
    report_to_msg,
)
from coterie_ros.qos import profile  # noqa: E402
from coterie_world.scene import SceneGraph  # noqa: E402
from emos_planner.leader.channel import TICK  # noqa: E402
from emos_planner.leader.leader import Leader  # noqa: E402
from emos_planner.leader.node import LeaderNode  # noqa: E402
from emos_planner.leader.progress import Change  # noqa: E402

DONE, PENDING, RUNNING = SubTaskState.DONE, SubTaskState.PENDING, SubTaskState.RUNNING
ABORTED, CANCELED, SUCCEEDED = 6, 5, 4
MUG_TO_COUNTER = "bring mug-1 to the kitchen counter"


class Hand:
    """A robot made by hand: agrees to all, does what it can begin with, at once."""

    def __init__(self, node, name, resume) -> None:
        self.name, self.node = name, node
        self.silent = self.lazy = False
        self.task, self.clock = "", 0.0
        self.mine: dict[str, object] = {}
        self.stopped = False
        self.turns = node.create_publisher(DiscussionTurn, "discussion", profile("messages"))
        self.status = node.create_publisher(RobotStatus, f"{name}/status", profile("latched"))
        self.resume = node.create_publisher(String, f"{name}/resume", profile("latched"))
        node.create_subscription(DiscussionTurn, "discussion", self.hear, profile("messages"))
        node.create_subscription(Assignment, "assignment", self.take, profile("latched"))
        self.held = node.create_publisher(Bool, f"{name}/stopped", profile("latched"))
        self.resume.publish(conversions.resume_to_msg(name, resume))
        self.tell()

    def halt(self, stopped: bool) -> None:
        """Stop it as a person does, or release it; it goes on reporting."""
        self.held.publish(Bool(data=stopped))

    def hear(self, turn) -> None:
        asked = turn.kind == DiscussionTurn.PROPOSE and self.name in turn.recipients
        if not asked or self.silent:
            return
        proposal = proposal_from_msg(turn)
        own = [one.id for one in proposal.sub_tasks if one.robot == self.name]
        answer = Reflection(
            task=proposal.task,
            round=proposal.round,
            robot=self.name,
            agrees=True,
            verdicts=tuple(Verdict(sub_task=id, feasible=True, time=1.0) for id in own),
        )
        self.turns.publish(reflection_to_msg(answer, "yes"))

    def take(self, message) -> None:
        task, _, sub_tasks = assignment_from_msg(message)
        self.stopped = not sub_tasks
        if task != self.task:
            self.mine = {}
        self.task = task
        done = {one.id for one in sub_tasks if one.state is DONE}
        done |= {id for id, one in self.mine.items() if one.state is DONE}
        own = [one for one in sub_tasks if one.robot == self.name]
        before = {id: one.state for id, one in self.mine.items()}
        self.mine = {one.id: self.mine.get(one.id, one) for one in own}
        for one in own:
            if set(one.depends_on) <= done and not self.lazy and not self.silent:
                self.mine[one.id] = one.model_copy(update={"state": DONE, "seen": True})
                done.add(one.id)
        if {id: one.state for id, one in self.mine.items()} != before:
            self.tell()

    def tell(self, **more) -> None:
        if not self.silent:
            report = RobotReport(
                robot=self.name,
                time=self.clock,
                task=self.task,
                position=STARTS[self.name],
                sub_tasks=tuple(self.mine.values()),
                **more,
            )
            self.status.publish(report_to_msg(report))


class Person:
    """Who gives tasks and looks on."""

    def __init__(self, ros, robots=("rover", "walker", "drone"), scene=None) -> None:
        self.ros = ros
        self.node = ros.node("person")
        self.client = ActionClient(self.node, ExecuteTask, "execute_task")
        self.stages: list[str] = []
        self.assignments: list[Assignment] = []
        self.turns: list[DiscussionTurn] = []
        self.node.create_subscription(
            Assignment, "assignment", self.assignments.append, profile("latched")
        )
        self.node.create_subscription(
            DiscussionTurn, "discussion", self.turns.append, profile("messages")
        )
        self.map = self.node.create_publisher(SemanticMap, "semantic_map", profile("latched"))
        self.map.publish(conversions.scene_to_msg(small_house() if scene is None else scene))
        team = small_team()
        self.robots = {name: Hand(self.node, name, team[name]) for name in robots}
        self.node.create_timer(0.3, lambda: [hand.tell() for hand in self.robots.values()])

    def give(self, words, max_time=0.0):
        self.ros.wait_for_matched(self.client)
        goal = ExecuteTask.Goal(task=words, max_time=conversions.duration_to_msg(max_time))
        sent = self.client.send_goal_async(
            goal, feedback_callback=lambda m: self.stages.append(m.feedback.stage)
        )
        return self.ros.result(sent)

    def end(self, handle):
        answer = self.ros.result(handle.get_result_async())
        return answer.status, answer.result


@pytest.fixture
def start(ros):
    def make(**parameters) -> LeaderNode:
        node = LeaderNode(
            "leader",
            context=ros.context,
            parameters={
                "robots": ["rover", "walker", "drone"],
                "reflect_timeout": 20.0,
                **parameters,
            },
        )
        ros.add(node)
        ros.wait_active(node)
        return node

    return make


def test_a_task_is_talked_over_done_and_told(ros, start, tmp_path) -> None:
    start(state_directory=str(tmp_path))
    person = Person(ros)
    status, result = person.end(person.give("Bring two mugs to the kitchen counter"))
    assert status == SUCCEEDED and result.success, result.message
    assert "mug-1" in result.message and "mug-2" in result.message
    assert all(one.state == 2 for one in result.assignment.sub_tasks)
    assert "discussion" in person.stages and "execution" in person.stages
    kinds = [turn.kind for turn in person.turns]
    assert kinds.count(DiscussionTurn.PROPOSE) == 1 and DiscussionTurn.ACCEPT in kinds
    talk = json.loads(next(tmp_path.glob("discussion_*.json")).read_text())
    assert talk["turns"][0]["speaker"] == "leader"
    assert not (tmp_path / "leader.json").exists()

    # What it does not understand it says, and goes on taking tasks.
    status, result = person.end(person.give("cook a dinner"))
    assert status == ABORTED and "cook" in result.message
    assert result.judgement.kind == RequestJudgement.UNDERSPECIFIED


@pytest.mark.parametrize(
    ("why", "ill"),
    [("no permit to take the mug: anna refused; permits.rules[0] asks a person", False),
     ("out_of_reach: too high", True)],
)  # fmt: skip
def test_a_persons_no_is_no_ill_health(ros, start, why, ill) -> None:
    node = start()
    node._told([Change("failed", f"rover could not take the mug: {why}", "rover")])
    assert node.diagnostics.status().level == (
        DiagnosticStatus.WARN if ill else DiagnosticStatus.OK
    )


def test_cancel_stops_all_and_a_second_goal_is_refused_with_the_reason(ros, start) -> None:
    start()
    person = Person(ros)
    for hand in person.robots.values():
        hand.lazy = True
    first = person.give("bring mug-1 to the kitchen counter")
    ros.spin_until(lambda: "execution" in person.stages, what="the execution to begin")
    status, result = person.end(person.give("go to the hall"))
    assert status == ABORTED and "busy with" in result.message
    ros.result(first.cancel_goal_async())
    status, result = person.end(first)
    assert status == CANCELED and not result.success
    ros.spin_until(
        lambda: all(hand.stopped for hand in person.robots.values()), what="robots to stop"
    )


def test_a_person_hands_a_sub_task_over(ros, start, tmp_path) -> None:
    start(state_directory=str(tmp_path))
    person = Person(ros)
    client = person.node.create_client(HandOver, "hand_over")
    assert client.wait_for_service(20.0)

    def wish(**fields) -> HandOver.Response:
        return ros.result(client.call_async(HandOver.Request(by="ann", **fields)))

    assert "no robot works on a task" in wish(sub_task="pick-2", robot="walker").message
    for hand in person.robots.values():
        hand.lazy = True
    handle = person.give("bring mug-1 to the kitchen counter")
    ros.spin_until(lambda: "execution" in person.stages, what="the execution to begin")
    told = wish(sub_task="pick-2", robot="drone")
    assert not told.success and "drone cannot pick up mug-1" in told.message
    assert "task-0 is over" in wish(task="task-0", sub_task="pick-2", robot="walker").message
    told = wish(sub_task="pick-2", robot="walker", reason="rover's arm creaks")
    assert told.success and list(told.sub_tasks) == ["pick-2", "place-3"], told.message
    ros.spin_until(
        lambda: (
            {"pick-2", "place-3"} <= person.robots["walker"].mine.keys()
            and "pick-2" not in person.robots["rover"].mine
        ),
        what="the robots to hear of it",
    )
    kept = json.loads((tmp_path / "leader.json").read_text())["state"]["graph"]["sub_tasks"]
    assert {one["robot"] for one in kept.values() if one["id"] in told.sub_tasks} == {"walker"}
    talk = next(tmp_path.glob("discussion_*.json")).read_text()
    assert "ann handed pick-2" in talk and "rover's arm creaks" in talk
    for hand in person.robots.values():
        hand.lazy = False
        hand.take(person.assignments[-1])
    status, result = person.end(handle)
    assert status == SUCCEEDED and "ann handed pick-2" in result.message, result.message
    assert {o.robot for o in result.assignment.sub_tasks if "place" in o.id} == {"walker"}


def test_a_silent_robot_is_left_out_and_a_dead_one_is_replaced(ros, start) -> None:
    start(reflect_timeout=3.0, heartbeat_timeout=4.0)
    person = Person(ros)
    words = "bring mug-1 to the kitchen counter"
    for hand in person.robots.values():
        hand.lazy = True
    handle = person.give(words)
    ros.spin_until(lambda: "execution" in person.stages, what="the execution to begin")
    chosen = next(one.robot for one in person.assignments[-1].sub_tasks if "pick" in one.id)
    person.robots[chosen].silent = True
    for hand in person.robots.values():
        hand.lazy = False
    status, result = person.end(handle)
    assert status == SUCCEEDED, result.message
    robots = {one.robot for one in result.assignment.sub_tasks if "place" in one.id}
    assert chosen not in robots


def test_a_stopped_robot_is_replaced_and_with_all_stopped_the_task_waits(ros, start) -> None:
    start(rejoin_grace=1.0)
    person = Person(ros)
    for hand in person.robots.values():
        hand.lazy = True
    handle = person.give("bring mug-1 to the kitchen counter")

    def doer() -> str:
        return next(one.robot for one in person.assignments[-1].sub_tasks if "pick" in one.id)

    ros.spin_until(lambda: "execution" in person.stages, what="the execution to begin")
    first = doer()
    person.robots[first].halt(True)
    ros.spin_until(lambda: doer() not in ("", first), what="another robot to get the work")
    for hand in person.robots.values():
        hand.halt(True)
    ros.spin(3.0)  # longer than a dead robot would be waited for
    assert not handle.get_result_async().done() and person.stages[-1] == "execution"
    for hand in person.robots.values():
        hand.lazy = False
    person.robots[first].halt(False)
    status, result = person.end(handle)
    assert status == SUCCEEDED, result.message
    assert {o.robot for o in result.assignment.sub_tasks if "place" in o.id} == {first}

    person.robots[first].halt(True)
    status, result = person.end(person.give("go to the hall"))
    assert status == ABORTED
    assert "no robot can work" in result.message and "./coterie release" in result.message
    assert not result.assignment.sub_tasks  # those of the task before are not this one's


@pytest.fixture
def restart(ros, start, tmp_path):
    """Give a task, kill the leader, and start it again: it goes on with what it wrote."""

    def make(words, before=lambda: None, **parameters):
        leader = start(state_directory=str(tmp_path))
        person = Person(ros)
        for hand in person.robots.values():
            hand.lazy = True
        person.give(words)
        ros.spin_until(lambda: (tmp_path / "leader.json").exists(), what="a state")
        ros.spin_until(lambda: person.assignments, what="an assignment")
        kept = (tmp_path / "leader.json").read_bytes()
        ros.remove(leader)
        # As if it had been killed: what it wrote last is still there.
        (tmp_path / "leader.json").write_bytes(kept)
        task = person.assignments[-1].task
        person.assignments.clear()
        before()
        return start(state_directory=str(tmp_path), **parameters), person, task

    return make


def works(person):
    for hand in person.robots.values():
        hand.lazy = False
        hand.take(person.assignments[-1])


def test_a_leader_that_dies_goes_on_from_its_state(ros, restart) -> None:
    _, person, task = restart(MUG_TO_COUNTER)
    ros.spin_until(lambda: person.assignments, what="the assignment again")
    works(person)
    status, result = person.end(person.give(MUG_TO_COUNTER))
    assert status == SUCCEEDED and result.assignment.task == task, result.message


def test_the_time_of_a_cancelled_resumed_task_does_not_end_the_next(ros, restart) -> None:
    leader, person, task = restart(MUG_TO_COUNTER, max_time=50.0)
    ros.spin_until(lambda: person.assignments, what="the assignment again")
    first, second = person.give(MUG_TO_COUNTER), person.give(MUG_TO_COUNTER)
    ros.result(first.cancel_goal_async())
    assert person.end(first)[0] == CANCELED
    # Who follows the same task is told, too.
    assert person.end(second)[1].outcome == ExecuteTask.Result.CANCELLED
    handle = person.give("bring mug-2 to the kitchen counter", max_time=600.0)
    ros.spin_until(lambda: person.assignments[-1].task not in ("", task), what="the next task")
    for hand in person.robots.values():
        hand.clock = 100.0
    ros.spin_until(lambda: leader.team.world_time() == 100.0, what="the old task's time to pass")
    ros.spin(4 * TICK)
    assert person.assignments[-1].sub_tasks, "the next task's robots were stopped"
    works(person)
    status, result = person.end(handle)
    assert status == SUCCEEDED, result.message


def test_who_repeats_a_task_after_one_that_was_resumed_does_not_get_that_ones_result(
    ros, restart
) -> None:
    _, person, task = restart(MUG_TO_COUNTER)
    ros.spin_until(lambda: person.assignments, what="the assignment again")
    followed = person.give(MUG_TO_COUNTER)
    works(person)
    assert person.end(followed)[0] == SUCCEEDED
    for hand in person.robots.values():
        hand.lazy = True
    running = person.give(MUG_TO_COUNTER)
    ros.spin_until(lambda: person.assignments[-1].task not in ("", task), what="the task anew")
    status, result = person.end(person.give(MUG_TO_COUNTER))
    assert status == ABORTED and "busy with" in result.message
    works(person)
    assert person.end(running)[0] == SUCCEEDED


def test_an_error_after_a_restart_leaves_the_leader_free(ros, restart, monkeypatch) -> None:
    def breaks(self, kept):
        raise RuntimeError("as a bug does")

    _, person, _ = restart(MUG_TO_COUNTER, lambda: monkeypatch.setattr(Leader, "restore", breaks))
    followed = person.give(MUG_TO_COUNTER)
    status, result = person.end(followed)
    assert status == ABORTED and "internal error" in result.message, result.message
    for hand in person.robots.values():
        hand.lazy = False
    status, result = person.end(person.give(MUG_TO_COUNTER))
    assert status == SUCCEEDED, result.message


def test_the_leader_tells_robots_what_nobody_else_could_take(ros, start) -> None:
    with Endpoint(lambda request: Says("{}")) as endpoint:
        model = {"kind": "openai", "base_url": endpoint.url, "model": "m", "attempts": 1}
        start(model_profile=json.dumps(model))
        person = Person(ros)
        _, result = person.end(person.give("bring mug-1 to the bed"))
    proposals = [
        proposal_from_msg(turn) for turn in person.turns if turn.kind == DiscussionTurn.PROPOSE
    ]
    assert result.success, result.message
    hands = {s.id for s in proposals[0].sub_tasks if s.kind in ("pick", "place")}
    assert set(proposals[0].sole) == hands, "the bed is upstairs: legs with a hand get to it"


def test_a_task_waits_for_rooms_that_come_after_the_map(ros, start) -> None:
    leader = start()
    house = small_house()
    person = Person(ros, scene=SceneGraph())
    handle = person.give("bring mug-1 to the kitchen counter")
    ros.spin_until(
        lambda: leader._has_map and len(leader.team.there()) == 3,
        what="the map without rooms, and the robots",
    )
    ros.spin(0.5)  # a leader that does not wait has refused the task by then
    person.map.publish(conversions.scene_to_msg(house))
    status, result = person.end(handle)
    assert status == SUCCEEDED, result.message


def test_without_rooms_a_task_ends_with_what_is_missing(ros, start) -> None:
    start(map_timeout=1.0)
    person = Person(ros, scene=SceneGraph())
    status, result = person.end(person.give("bring mug-1 to the kitchen counter"))
    assert status == ABORTED and "the map shows no rooms 1 s after" in result.message
    assert result.judgement.kind == RequestJudgement.UNSET
