"""A sub-task without a permit: given back at once, and given on only where the policy differs."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest

from coterie_core.geometry import Box, Pose
from coterie_core.observation import Observation
from coterie_core.skills import NavigateTo, Outcome, SkillResult
from coterie_core.tasks import SubTask, SubTaskState, Thing
from coterie_fixtures.two_floor_home import STARTS, small_house, small_team
from coterie_llm import Decider, RulesModel
from coterie_safety.permits import Permits, RobotPermits
from coterie_world.scene import Floor, LabelBelief, Room, SceneGraph, SceneObject
from coterie_world.team_map import TeamMap
from emos_planner.leader.outcome import outcome_of
from emos_planner.leader.progress import no_better
from emos_planner.robot.agent import RobotAgent

MUG = Thing(label="mug", id="mug-1", position=(10.2, 3.5, 0.8), room="living")
NOON = datetime(2026, 3, 9, 12, 0)
NO = "no permit to take the knife in kitchen: anna refused; permits.rules[0] asks"


def house() -> SceneGraph:
    scene = SceneGraph()
    scene.add_floor(Floor("ground", 0, 0.0, 2.6))
    outline = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)]
    scene.add_room(Room("r1", "kitchen", "kitchen", "ground", outline))
    box = Box((2.0, 2.0, 0.8), (0.2, 0.05, 0.05))
    scene.add_object(SceneObject("o1", LabelBelief.of("knife"), box, "r1"))
    return scene


def failed(reason: str = NO) -> SubTask:
    return SubTask(
        id="s1",
        kind="pick",
        object=Thing(label="knife", id="o1"),
        robot="ada",
        state=SubTaskState.FAILED,
        reason=reason,
    )


def policies(team, **own) -> dict[str, RobotPermits]:
    return {
        name: RobotPermits(
            team=Permits.model_validate(team),
            robot=Permits.model_validate(own.get(name, {})),
            name=name,
            real=True,
        )
        for name in ("ada", "bert", "carl")
    }


@pytest.mark.parametrize(
    ("team", "own", "expected"),
    [
        # A person who said no to one is not asked for another.
        ({"otherwise": "ask"}, {}, {"bert", "carl"}),
        # Whose policy allows it may.
        (
            {"rules": [{"robots": "bert", "answer": "allow"}], "otherwise": "ask"},
            {},
            {"carl"},
        ),
        ({"otherwise": "allow"}, {"ada": "refuse", "carl": "ask"}, set()),
        ({"rules": [{"objects": "knife", "answer": "refuse"}], "otherwise": "allow"}, {},
         {"bert", "carl"}),
        # By what the leader knows of policies it was allowed: nothing is known of others.
        ({"otherwise": "allow"}, {}, set()),
        # To get there is asked for in any case; what was refused is the picking.
        (
            {"rules": [{"skills": "navigate_to", "answer": "allow"},
                       {"rooms": "kitchen", "robots": "carl", "answer": "allow"}],
             "otherwise": "ask"},
            {},
            {"bert"},
        ),
    ],
)  # fmt: skip
def test_who_gets_what_another_got_no_permit_for(team, own, expected):
    found = no_better(policies(team, **own), failed(), house(), NOON)
    assert found == expected


def test_other_failures_and_unknown_policies_forbid_nobody():
    assert no_better(policies("ask"), failed("out_of_reach: too high"), house(), NOON) == set()
    assert no_better({}, failed(), house(), NOON) == set()


@pytest.mark.parametrize("refused", ["NavigateTo", "Pick"])
def test_a_robot_gives_back_at_once_what_it_gets_no_permit_for(refused):
    """Whether on the way or at the thing: it does not try from other sides, nor ask once more."""
    agent = RobotAgent(
        "rover", small_team()["rover"], Decider(RulesModel()), TeamMap(small_house(), "rover")
    )
    here = STARTS["rover"]
    agent.observe(Observation("rover", 0, 0.0, Pose(here), "", None))
    agent.assign("t", "take the mug", [SubTask(id="s1", kind="pick", object=MUG, robot="rover")])

    async def work(here) -> list[str]:
        tried = []
        for step in range(1, 20):
            skill = await agent.next_skill()
            if skill is None:
                break
            tried.append(type(skill).__name__)
            no = tried[-1] == refused
            result = SkillResult(Outcome.REFUSED if no else Outcome.SUCCEEDED, NO if no else "")
            if isinstance(skill, NavigateTo) and result.ok:
                here = skill.position
            agent.skill_ended(skill, result)
            agent.observe(Observation("rover", step, float(step), Pose(here), "", None))
        return tried

    tried = asyncio.run(work(here))
    assert tried.count(refused) == 1 and tried[-1] == refused
    (one,) = agent.report().sub_tasks
    assert one.state is SubTaskState.FAILED and "no permit to take the knife" in one.reason


def test_the_message_of_a_task_tells_one_reason_once():
    subs = [failed(), failed().model_copy(update={"id": "s2", "description": "put the knife away"})]
    subs[0] = subs[0].model_copy(update={"description": "take the knife"})
    told = outcome_of((), subs, {}).message
    assert told == f"0 of 2 sub-tasks done. Left: take the knife, put the knife away: {NO}"
