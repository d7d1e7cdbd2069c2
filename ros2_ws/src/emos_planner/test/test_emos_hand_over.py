"""A person has another robot do a sub-task: what goes along, what is against it, what is kept."""

from __future__ import annotations

import pytest

from coterie_core.tasks import Obstacle, Reflection, RobotReport, SubTaskState, Verdict
from coterie_execution.geometry.toolbox import Toolbox
from coterie_fixtures.two_floor_home import STARTS, small_house, small_team
from coterie_safety.why import JournalSettings, belong, close_journal, explain, open_journal
from emos_planner.leader.hand_over import Wish
from emos_planner.leader.leader import Leader, rules_decider
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.state_file import load_state, save_state

PENDING, RUNNING = SubTaskState.PENDING, SubTaskState.RUNNING
DONE, FAILED = SubTaskState.DONE, SubTaskState.FAILED
MUG = "bring mug-1 to the kitchen counter"  # the drone looks, rover picks and places


class Robots:
    """Agree to everything, but for those in `refuses`."""

    def __init__(self) -> None:
        self.refuses: dict[str, str] = {}
        self.asked: list[tuple[str, ...]] = []
        self.meanwhile = lambda: None

    async def reflect(self, robots, proposal, deadline):
        self.asked.append(tuple(robots))
        self.meanwhile()
        return {robot: self._answer(robot, proposal) for robot in robots}

    def _answer(self, robot, proposal) -> Reflection:
        no = self.refuses.get(robot, "")
        verdicts = tuple(
            Verdict(
                sub_task=one.id,
                feasible=not no,
                obstacle=Obstacle.OTHER if no else None,
                reason=no,
            )
            for one in proposal.sub_tasks
            if one.robot == robot
        )
        return Reflection(
            task=proposal.task, round=proposal.round, robot=robot, agrees=not no, verdicts=verdicts
        )


@pytest.fixture(scope="module")
def tools():
    return Toolbox(small_house(), small_team())


@pytest.fixture
def make(tools):
    async def begin(words=MUG, **options) -> tuple[Leader, Robots]:
        robots = Robots()
        leader = Leader(
            rules_decider(),
            small_house(),
            small_team(),
            options=LeaderOptions(**options),
            channel=robots,
            toolbox_factory=lambda scene, resumes: tools.with_scene(scene, resumes),
            clock=lambda: 0.0,
        )
        await leader.discuss("t", words, STARTS)
        return leader, robots

    return begin


def who(leader) -> dict[str, tuple[str, SubTaskState]]:
    return {one.id: (one.robot, one.state) for one in leader.assignment}


def tell(leader, id, state, *, holding="", reason="") -> None:
    """Have the robot of a sub-task report how far it is."""
    mine = next(one for one in leader.assignment if one.id == id)
    told = mine.model_copy(update={"state": state, "reason": reason, "seen": state is DONE})
    leader.update(RobotReport(robot=mine.robot, task="t", sub_tasks=(told,), holding=holding))


async def test_what_goes_together_goes_over_together_and_begins_anew(make) -> None:
    leader, robots = await make()
    tell(leader, "detect-1", DONE)
    tell(leader, "pick-2", RUNNING)
    done = await leader.hand_over(Wish("place-3", "walker", "ann", "rover's arm creaks"), STARTS)
    assert done.done and done.sub_tasks == ("pick-2", "place-3"), done.message
    assert robots.asked[-1] == ("walker",), "the robot is asked, and nobody else"
    assert who(leader)["pick-2"] == who(leader)["place-3"] == ("walker", PENDING)
    assert not leader.must_replan
    said = leader.progress.transcript.turns[-1].text
    assert all(part in said for part in ("ann", "pick-2", "place-3", "from rover", "arm creaks"))
    assert said in leader.notes, "it is told with the result"

    # Who did it before has no say any longer; who does it now finishes the task.
    before = next(o for o in leader.assignment if o.id == "pick-2").model_copy(
        update={"robot": "rover", "state": DONE}
    )
    leader.update(RobotReport(robot="rover", task="t", sub_tasks=(before,)))
    assert who(leader)["pick-2"] == ("walker", PENDING)
    tell(leader, "pick-2", DONE, holding="mug")
    tell(leader, "place-3", DONE)
    assert leader.progress.finished and leader.progress.outcome().success


async def test_a_hand_over_outlives_the_leader(make, tmp_path) -> None:
    leader, _ = await make()
    assert (await leader.hand_over(Wish("pick-2", "walker", "ann"), STARTS)).done
    save_state(leader.state(), leader.scene, tmp_path / "leader.json")
    other, _ = await make("go to the hall")
    other.restore(load_state(tmp_path / "leader.json"))
    assert who(other)["pick-2"][0] == who(other)["place-3"][0] == "walker"
    assert any("ann handed pick-2" in text for text in other.notes)
    back = await other.hand_over(Wish("pick-2", "rover"), STARTS)
    assert back.done and who(other)["place-3"][0] == "rover"


AGAINST = (
    ("pick-9", "walker", "no such sub-task; those that are not done: detect-1, pick-2, place-3"),
    ("pick-2", "hal", "no such robot takes part; those that do: drone, rover, walker"),
    ("pick-2", "rover", "rover does it already"),
    ("place-3", "drone", "drone cannot pick up mug-1"),
)


@pytest.mark.parametrize(("id", "robot", "reason"), AGAINST)
async def test_what_is_against_it_is_told_and_nothing_changes(make, id, robot, reason) -> None:
    leader, robots = await make()
    before = leader.assignment
    asked = len(robots.asked)
    refused = await leader.hand_over(Wish(id, robot), STARTS)
    assert not refused.done and reason in refused.message
    assert leader.assignment == before and len(robots.asked) == asked
    assert refused.message.startswith(f"{id} is not handed over to {robot}")


async def test_the_way_counts_as_much_as_the_arm(make) -> None:
    leader, _ = await make("bring mug-2 to the kitchen counter")  # upstairs
    refused = await leader.hand_over(Wish("pick-2", "rover"), STARTS)
    assert "rover cannot pick up mug-2" in refused.message
    assert who(leader)["pick-2"][0] == "walker"


async def test_a_thing_in_a_hand_stays_there(make) -> None:
    leader, _ = await make()
    tell(leader, "detect-1", DONE)
    tell(leader, "pick-2", RUNNING, holding="mug")  # picked up, but not said to be done yet
    early = await leader.hand_over(Wish("pick-2", "walker"), STARTS)
    assert "rover holds mug and keeps it" in early.message
    tell(leader, "pick-2", DONE, holding="mug")
    late = await leader.hand_over(Wish("place-3", "walker"), STARTS)
    assert "rover holds mug and keeps it" in late.message
    assert "rover has done it" in (await leader.hand_over(Wish("pick-2", "walker"), STARTS)).message


async def test_who_is_stopped_silent_or_away_is_not_given_work(make) -> None:
    leader, _ = await make(heartbeat_timeout=5.0)
    leader.take_stop("walker", True)
    there = {r: at for r, at in STARTS.items() if r != "walker"}
    wish = Wish("pick-2", "walker")
    assert "./coterie release walker" in (await leader.hand_over(wish, there)).message
    leader.take_stop("walker", False)
    assert "walker is not there" in (await leader.hand_over(wish, there)).message
    leader.progress.heartbeats.dead.add("walker")
    assert "walker is silent" in (await leader.hand_over(wish, STARTS)).message
    leader.update(RobotReport(robot="walker", task="t"))
    assert (await leader.hand_over(wish, STARTS)).done


async def test_the_robot_has_the_last_word_and_reports_meanwhile_count(make) -> None:
    leader, robots = await make()
    robots.refuses["walker"] = "my gripper is off"
    refused = await leader.hand_over(Wish("pick-2", "walker", "ann"), STARTS)
    assert "it refused: walker: my gripper is off" in refused.message
    assert "ann wanted" in leader.progress.transcript.turns[-1].text
    robots.refuses.clear()
    robots.meanwhile = lambda: tell(leader, "pick-2", DONE, holding="mug")
    late = await leader.hand_over(Wish("pick-2", "walker"), STARTS)
    assert "rover has done it" in late.message and who(leader)["pick-2"] == ("rover", DONE)


async def test_whom_the_task_names_keeps_it(make) -> None:
    leader, _ = await make("Rover, go to the hall")
    refused = await leader.hand_over(Wish("go_to-1", "walker"), STARTS)
    assert "the task asks rover for it by name" in refused.message


async def test_what_was_given_up_may_be_tried_again(make) -> None:
    leader, _ = await make(reassign_limit=0)
    tell(leader, "detect-1", DONE)
    tell(leader, "pick-2", FAILED, reason="a chair was in the way")
    await leader.replan(STARTS)
    assert leader.progress.given_up and leader.progress.given_up["pick-2"]
    again = await leader.hand_over(Wish("pick-2", "rover", reason="moved the chair"), STARTS)
    assert again.done and who(leader)["place-3"] == ("rover", PENDING)
    assert not leader.progress.given_up and not leader.progress.finished


async def test_why_tells_who_wanted_it(make, tmp_path) -> None:
    open_journal(JournalSettings(str(tmp_path / "why"), 8.0, 1.0), "leader node/x")
    try:
        leader, _ = await make()
        await leader.hand_over(Wish("pick-2", "walker", "ann", "rover's arm creaks"), STARTS)
    finally:
        close_journal()
        belong()
    steps = explain("pick-2", tmp_path / "why").steps
    told = [text.strip() for step in steps for text in step.details]
    assert "not rover: ann handed it over to walker: rover's arm creaks" in told
