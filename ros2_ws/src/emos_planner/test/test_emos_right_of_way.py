"""Making way: who is blocked asks, an idle robot in the way goes aside, and nobody else moves."""

from __future__ import annotations

import asyncio
import itertools
import math
from types import SimpleNamespace

import pytest

from coterie_core.geometry import Pose, Vec3
from coterie_core.observation import Observation
from coterie_core.skills import NavigateTo, Outcome, SkillResult, Wait
from coterie_core.tasks import SubTask, Thing
from coterie_execution.yield_behavior import aside_of
from coterie_fixtures.two_floor_home import UP, body, small_house, small_team
from coterie_llm import Decider, RulesModel
from coterie_world.free_space.yield_pose import MAX_YIELD_DISTANCE_M
from coterie_world.right_of_way import MIN_YIELD_PERIOD_S, PASSING_GAP_M, YIELD_WAIT_S, YieldRequest
from coterie_world.team_map import TeamMap
from emos_planner.robot.agent import RobotAgent

DOOR: Vec3 = (8.0, 2.0, 0.0)
"""Between hall and living room of the small house [m]; 0.9 m wide."""
WAY: tuple[Vec3, ...] = ((6.5, 2.0, 0.0), DOOR, (10.0, 2.0, 0.0))
OK = SkillResult(Outcome.SUCCEEDED)
BLOCKED = SkillResult(Outcome.BLOCKED, "walker stands in the way")
NEED = 0.2 + 0.2 + PASSING_GAP_M
"""Least distance from the way of a robot of the small team to the middle of another one [m]."""


def agent_of(robot="rover", at=DOOR, resume=None, house=None):
    made = RobotAgent(
        robot,
        resume or small_team()[robot],
        Decider(RulesModel()),
        TeamMap(house or small_house(), robot),
    )
    stands(made, at)
    return made


def stands(agent, at, step=0):
    agent.observe(Observation(agent.robot, step, float(step), Pose(at), "", None))


def asked(id="walker-t-1", sender="walker", way=WAY, **changes):
    return YieldRequest(id=id, sender=sender, way=way, radius=0.2, **changes)


def chosen(agent):
    return asyncio.run(agent.next_skill())


def off(spot, way=WAY):
    """Return how far a spot is from a way that goes along x or y [m]."""

    def piece(a, b):
        share = [min(max(s, min(p, q)), max(p, q)) for s, p, q in zip(spot, a, b, strict=True)]
        return math.dist(spot[:2], share[:2])

    return min(piece(a, b) for a, b in itertools.pairwise(way))


@pytest.mark.parametrize("at", [DOOR, (9.0, 2.0, 0.0), (10.0, 2.3, 0.0)])
def test_an_idle_robot_in_the_way_goes_aside_and_ends_off_it(at):
    agent = agent_of(at=at)
    agent.receive(asked())
    skill = chosen(agent)
    assert isinstance(skill, NavigateTo) and skill.position is not None
    assert off(skill.position) > NEED and skill.tolerance < PASSING_GAP_M
    assert math.dist(skill.position, at) < 1.5, "it goes no farther than it has to"
    assert agent.why == "makes way for walker"
    agent.skill_ended(skill, OK)
    stands(agent, skill.position, step=1)
    assert agent.why == "" and agent.outbox() == [] and chosen(agent) is None
    agent.receive(asked("walker-t-2"), now=MIN_YIELD_PERIOD_S + 1.0)
    assert chosen(agent) is None, "it is off the way"


def test_where_no_way_led_to_the_spot_it_goes_at_once_to_where_it_has_driven():
    agent = agent_of(at=(9.0, 3.6, 0.0))
    for step in range(1, 9):  # down to the way, past a map that may be rough
        stands(agent, (9.0, 3.6 - 0.2 * step, 0.0), step)
    agent.receive(asked())
    first = chosen(agent)
    agent.skill_ended(first, SkillResult(Outcome.UNREACHABLE, "the goal is occupied"))
    second = chosen(agent)
    assert isinstance(second, NavigateTo) and agent.why == "makes way for walker"
    assert math.dist(second.position[:2], first.position[:2]) > 0.4
    assert abs(second.position[0] - 9.0) < 0.15 and off(second.position) > NEED
    for _ in range(2):
        agent.skill_ended(second, SkillResult(Outcome.UNREACHABLE, "the goal is occupied"))
        second = chosen(agent)
        assert isinstance(second, NavigateTo)
    agent.skill_ended(second, SkillResult(Outcome.UNREACHABLE, "the goal is occupied"))
    assert chosen(agent) is None, "it has tried often enough"


def test_it_goes_aside_the_same_way_each_time():
    spots = set()
    for _ in range(2):
        agent = agent_of()
        agent.receive(asked())
        spots.add(chosen(agent).position)
    assert len(spots) == 1


def test_only_an_idle_robot_that_stands_in_the_way_moves():
    holds = agent_of()
    holds.holding = "mug-1"
    elsewhere = agent_of(at=(9.0, 3.0, 0.0))
    upstairs = agent_of(at=(6.0, 2.0, UP))
    post = body("rover")
    post = post.model_copy(
        update={"mobility": post.mobility.model_copy(update={"kind": "fixed", "linear_speed": 0.0})}
    )
    fixed = agent_of(resume=post)
    for agent in (holds, elsewhere, upstairs, fixed):
        agent.receive(asked())
        assert chosen(agent) is None
    for message in (asked(sender="rover"), asked(recipients=("drone",))):
        agent = agent_of()
        agent.receive(message)
        assert chosen(agent) is None


def test_work_goes_before_making_way():
    agent = agent_of()
    agent.receive(asked())
    mug = Thing(label="mug", id="mug-1", position=(10.2, 3.5, 0.8), room="living")
    agent.assign("t", "get the mug", (SubTask(id="p", kind="pick", object=mug, robot="rover"),))
    skill = chosen(agent)
    assert agent.why == "get the mug"
    agent.receive(asked("walker-t-2"))  # in the middle of its own drive
    agent.skill_ended(skill, OK)
    agent.assign("t", "", ())
    assert chosen(agent) is None, "what was asked in the middle of its work is past"


def test_who_waits_for_the_work_of_another_one_makes_way():
    agent = agent_of()
    mug = Thing(label="mug", id="mug-1", position=(10.2, 3.5, 0.8), room="living")
    first = SubTask(id="a", kind="pick", object=mug, robot="walker")
    mine = SubTask(id="b", kind="pick", object=mug, robot="rover", depends_on=("a",))
    agent.assign("t", "", (first, mine))
    agent.receive(asked())
    assert isinstance(chosen(agent), NavigateTo)


def test_the_same_message_and_one_at_once_after_it_move_nobody():
    agent = agent_of()
    agent.receive(asked(), now=10.0)
    agent.skill_ended(chosen(agent), OK)
    agent.receive(asked(), now=10.0 + 2 * MIN_YIELD_PERIOD_S)
    assert chosen(agent) is None, "heard before"
    agent.receive(asked("walker-t-2"), now=10.0 + MIN_YIELD_PERIOD_S / 2)
    assert chosen(agent) is None
    agent.receive(asked("walker-t-3"), now=10.0 + MIN_YIELD_PERIOD_S)
    assert chosen(agent) is not None


def test_where_it_did_not_get_to_it_goes_no_more():
    agent = agent_of()
    spots = []
    for k in range(3):
        agent.receive(asked(str(k)), now=k * MIN_YIELD_PERIOD_S)
        skill = chosen(agent)
        spots.append(skill.position)
        agent.skill_ended(skill, SkillResult(Outcome.UNREACHABLE, "no path"))
    assert all(math.dist(a, b) > 0.4 for a, b in itertools.combinations(spots, 2))
    assert agent.outbox() == [], "who makes way asks for none"


def test_who_is_blocked_asks_once_a_drive_with_the_way_of_its_tools():
    agent = agent_of("walker", at=(5.0, 1.0, 0.0))
    go = NavigateTo.near((10.0, 1.0, 0.0))
    agent.skill_ended(go, BLOCKED)
    (message,) = agent.outbox()
    assert isinstance(message, YieldRequest)
    assert message.recipients == () and message.radius == 0.2
    assert message.way[0] == (5.0, 1.0, 0.0) and message.way[-1] == go.position
    assert off(DOOR, message.way) < 0.5, "it leads through the door"
    agent.skill_ended(Wait(1.0), OK)
    agent.skill_ended(go, SkillResult(Outcome.UNREACHABLE, "no path"))
    agent.skill_ended(NavigateTo(place="nowhere"), BLOCKED)
    assert agent.outbox() == []
    agent.skill_ended(NavigateTo(place="living-2"), BLOCKED)
    assert agent.outbox()[0].way[-1] == (10.5, 2.0, 0.0)


@pytest.mark.parametrize(("sender", "moves"), [("anna", True), ("walker", False)])
def test_of_two_blocked_robots_one_makes_way(sender, moves):
    agent = agent_of(at=(7.4, 2.0, 0.0))
    mug = Thing(label="mug", id="mug-1", position=(10.2, 3.5, 0.8), room="living")
    agent.assign("t", "get it", (SubTask(id="p", kind="pick", object=mug, robot="rover"),))
    drive = chosen(agent)
    agent.skill_ended(drive, BLOCKED)
    wait = chosen(agent)
    assert isinstance(wait, Wait)
    agent.receive(asked(sender=sender, way=((8.5, 2.0, 0.0), DOOR, (5.0, 2.0, 0.0))))
    agent.skill_ended(wait, OK)
    skill = chosen(agent)
    assert (agent.why == f"makes way for {sender}") is moves
    if moves:
        agent.skill_ended(skill, OK)
        assert isinstance(agent.share.in_work().attempts[-1].skill, Wait), (
            "it is no try of its work"
        )
        lets_pass = chosen(agent)
        assert lets_pass == Wait(YIELD_WAIT_S)
        agent.skill_ended(lets_pass, OK)
        assert chosen(agent) != lets_pass and len(agent.share.in_work().attempts) == 2
    assert agent.why == "get it"


def test_it_goes_rather_where_the_other_one_does_not_shut_it_in():
    """The kitchen is a dead end: with somebody in its door nobody gets out."""
    agent = agent_of(at=(4.0, 2.0, 0.0))
    tools = agent.tools.toolbox()
    to_door = ((7.0, 2.0, 0.0), (3.9, 2.0, 0.0))
    spot = aside_of(tools, "rover", (4.0, 2.0, 0.0), asked(way=to_door))
    assert spot is not None and spot[0] > 4.2 and off(spot, to_door) > NEED
    in_door = ((4.3, 2.0, 0.0), (4.05, 2.0, 0.0))
    other = aside_of(tools, "rover", (3.7, 2.0, 0.0), asked(way=in_door))
    assert other is not None and other[0] < 4.0, "it does not go through who asks"


def test_where_there_is_no_spot_it_stays():
    agent = agent_of()
    tools = agent.tools.toolbox()
    wide = ((-50.0, 2.0, 0.0), (50.0, 2.0, 0.0))

    def spot(way, radius):
        return aside_of(tools, "rover", DOOR, YieldRequest("1", "walker", way, radius))

    assert spot(wide, 3.0) is None
    assert spot(((0.0, 0.0, UP), (1.0, 0.0, UP)), 0.2) is None
    far = spot(wide, 0.9)
    assert far is not None and math.dist(far, DOOR) < MAX_YIELD_DISTANCE_M


def test_who_is_shut_in_asks_the_other_one_to_let_it_out():
    """That one fills the only door of the living room, and wants all of it."""
    agent = agent_of(at=(9.0, 2.0, 0.0))
    wants = ((8.0, 2.0, 0.0), (11.9, 2.0, 0.0))
    agent.receive(YieldRequest("walker-t-1", "walker", wants, 1.6))
    skill = chosen(agent)
    assert isinstance(skill, NavigateTo) and skill.position[0] < 8.0
    (message,) = agent.outbox()
    assert message.out and message.way[-1] == pytest.approx(skill.position, abs=0.1)
    agent.skill_ended(skill, BLOCKED)
    assert agent.outbox() == [] and chosen(agent) == skill and len(agent.outbox()) == 1


def test_two_idle_robots_do_not_chase_one_another():
    first, second = agent_of(at=(8.5, 2.0, 0.0)), agent_of("drone", at=(9.2, 2.0, 0.0))
    for agent in (first, second):
        agent.receive(asked())
        skill = chosen(agent)
        agent.skill_ended(skill, BLOCKED)  # by the other one
    assert first.outbox() == [] and second.outbox() == []
    assert chosen(first) is None and chosen(second) is None


def test_a_search_behind_who_stands_in_the_door_gets_through_once_that_makes_way():
    """Every view is in the living room, and `rover` stands idle in its only door."""
    house = small_house(items=False)
    looks, post = agent_of("walker", at=(6.0, 2.0, 0.0), house=house), agent_of(house=house)
    search = SubTask(
        id="s", kind="search", object=Thing(label="mug"), rooms=("living",), robot="walker"
    )
    looks.assign("t", "find all mugs", (search,))
    in_door, blocked, seen = SimpleNamespace(yes=True), 0, []
    for step in range(1, 60):
        skill = chosen(looks)
        if skill is None:
            break
        here, result = looks.report().position, OK
        if isinstance(skill, NavigateTo):
            x = skill.position[0]
            result = BLOCKED if in_door.yes and (here[0] < 8.0) != (x < 8.0) else OK
            here = skill.position if result.ok else here
            blocked += not result.ok
        looks.skill_ended(skill, result)
        stands(looks, here, step)
        seen.append(type(skill).__name__)
        for said in looks.outbox():
            post.receive(said, float(step))
        if (aside := chosen(post)) is not None:
            post.skill_ended(aside, OK)
            stands(post, aside.position, step)
            in_door.yes = math.dist(aside.position[:2], (8.0, 2.0)) < NEED
    assert looks.waiting and blocked == 1, seen
