"""A whole team in lockstep in the embedded world: it does the task, also when a robot dies."""

from __future__ import annotations

import pytest

from coterie_core.geometry import Pose
from coterie_core.skills import Outcome, Pick, SkillRefused
from coterie_fixtures.emos_team import run_team
from coterie_fixtures.tiny_house import tiny_house
from coterie_fixtures.two_floor_home import body
from coterie_world.team_map import TeamMap
from emos_planner.leader.leader import Leader, rules_decider
from emos_planner.leader.options import LeaderOptions
from emos_planner.robot.agent import RobotAgent
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.simulator import Start

WORDS = "bring the mug to the coffee table"
SPOTS = {"ann": (2.0, 2.0, 0.0), "bob": (9.0, 2.5, 0.0)}


class Stubborn(EmbeddedWorld):
    """A world in which nobody ever grasps anything."""

    def start_skill(self, robot, skill) -> None:
        if isinstance(skill, Pick):
            raise SkillRefused(Outcome.FAULT, "the gripper is jammed")
        super().start_skill(robot, skill)


@pytest.fixture
def team():
    made = []

    def make(kind=EmbeddedWorld, items=True, **options):
        world = kind(tiny_house(), seed=3, noise=DetectorNoise.none(), threads=1, track_ids=True)
        made.append(world)
        resumes = {name: body(name, "legs", arm=(0.0, 1.5), eye=1.0) for name in SPOTS}
        for name, spot in SPOTS.items():
            world.add_robot(name, resumes[name].embodiment(), Start(pose=Pose(spot)))
        scene = world.truth()
        scene.agents = {}
        if not items:
            scene.objects = {k: o for k, o in scene.objects.items() if o.kind != "item"}
        agents = {
            name: RobotAgent(name, resumes[name], rules_decider(name), TeamMap(scene, name))
            for name in SPOTS
        }
        leader = Leader(rules_decider(), scene, resumes, options=LeaderOptions(**options))
        return world, leader, agents

    yield make
    for world in made:
        world.close()


async def test_a_team_does_its_task(team) -> None:
    world, leader, agents = team()
    run = await run_team(world, leader, agents, WORDS)
    assert run.success, run.outcome.message
    assert world.truth().objects["o_mug"].support == "o_table"
    assert sum(run.skills.values()) >= 3 and len(run.trails["ann"]) >= 1
    assert any("did: put" in event.text for event in run.events)


async def test_what_is_not_known_is_found_first(team) -> None:
    world, leader, agents = team(items=False)
    run = await run_team(world, leader, agents, WORDS)
    assert run.success, run.outcome.message
    assert run.replans >= 1
    assert world.truth().objects["o_mug"].support == "o_table"


async def test_a_robot_that_dies_is_replaced(team) -> None:
    world, leader, agents = team(heartbeat_timeout=5.0, rejoin_grace=5.0)
    killed = []

    def kill(step: int) -> None:
        busy = next(o.robot for o in leader.assignment if o.kind == "pick")
        if not killed and step > 2:
            killed.append(busy)
            del agents[busy]

    run = await run_team(world, leader, agents, WORDS, on_step=kill)
    assert run.success, run.outcome.message
    assert killed and all(o.robot not in killed for o in run.assignment if o.kind == "place")
    assert any("silent" in event.text for event in run.events)


async def test_a_skill_that_always_fails_ends_the_task_with_the_reason(team) -> None:
    world, leader, agents = team(kind=Stubborn)
    run = await run_team(world, leader, agents, WORDS, max_steps=4000)
    assert not run.success and run.steps < 4000
    assert "jammed" in run.outcome.message
