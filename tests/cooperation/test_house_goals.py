"""Robots do shared goals in the embedded house, free of ROS; the world itself is the judge."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

import pytest

from coterie_core.cooperation import Facts, Goal, Note, Sighting
from coterie_core.household import load_household
from coterie_core.skills import NavigateTo, Open, Outcome, Pick, Place, SkillResult, Wait
from coterie_core.waiting import in_time
from coterie_fixtures.house_team import HouseTeam, in_place
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.prior import prior_map

TIDY = Goal.parse("tidy", ["ON(plate, table): 2", "ON(bottle, counter): 2"])
TWO = {"rover": "wheels", "slim": "slim"}
WALL = 300.0
"""That a goal of a few seconds of computing may take on a busy machine [s]."""


@pytest.fixture(scope="module")
def house():
    return generate_house(7, floors=1)


@pytest.fixture
def team(house):
    """Makes a team in a new world of house 7."""

    def make(robots=None, gets_through=lambda note, name: True, seed=7):
        world = EmbeddedWorld(house, seed=seed, noise=DetectorNoise.normal(), threads=1)
        known = prior_map(world.truth(), "furniture")
        return HouseTeam(world, known, robots or TWO, gets_through)

    return make


def done(world, goal):
    found = in_place(world, goal)
    return all(found[str(one)] >= one.count for one in goal.subgoals)


async def run(team, goal, max_time=1200.0, **options):
    return await in_time(team.run(goal, max_time, **options), WALL)


async def test_two_robots_do_a_goal_and_the_world_agrees(team):
    two = team()
    assert not done(two.world, TIDY)
    assert await run(two, TIDY) == {"rover": "met", "slim": "met"}
    assert done(two.world, TIDY), in_place(two.world, TIDY)
    assert all(work.distance > 1.0 for work in two.works.values()), "both had a share"
    assert all(len(note.text) <= 500 for note in two.said)
    assert not any(driver.body.holding for driver in two.drivers.values())


async def test_what_fell_is_seen_not_to_be_there_and_brought_again(team):
    """The hand says that it let go; the camera says where it is not."""
    one = team({"rover": "wheels"})
    driver, things = one.drivers["rover"], one.world.contents
    carry_out, fallen = driver.skill, []

    async def clumsy(skill):
        held = one.world.body("rover").holding
        result = await carry_out(skill)
        if isinstance(skill, Place) and result.ok and not fallen:
            fallen.append(held)
            thing = things.things[held]
            here = one.world.body("rover").pose  # it rolls away behind the robot
            x = here.position[0] - 0.6 * math.cos(here.yaw)
            y = here.position[1] - 0.6 * math.sin(here.yaw)
            floor = replace(thing.box, center=(x, y, thing.box.size[2] / 2.0))
            things.put(held, floor, thing.room)
        return result

    driver.skill = clumsy
    goal = Goal.parse("tidy", ["ON(plate, sofa): 1"])
    assert not done(one.world, goal)
    assert await run(one, goal) == {"rover": "met"}
    assert fallen and done(one.world, goal), in_place(one.world, goal)


async def test_what_another_goal_left_in_the_hand_is_put_down_first(team):
    """A full hand fetches nothing."""
    one = team({"rover": "wheels"})
    driver = one.drivers["rover"]
    carry_out = driver.skill

    async def full(skill):
        if isinstance(skill, Place):
            await carry_out(Wait(1.0))
            return SkillResult(Outcome.BLOCKED, "there is no free spot")
        return await carry_out(skill)

    driver.skill = full
    assert await run(one, Goal.parse("tidy", ["ON(bottle, sofa): 1"]), 90.0) == {
        "rover": "out of time"
    }
    assert driver.body.holding
    driver.skill = carry_out
    goal = Goal.parse("tidy", ["ON(plate, sofa): 1"])
    assert await run(one, goal) == {"rover": "met"}
    assert done(one.world, goal)


async def test_one_robot_alone_does_it_too(team):
    one = team({"rover": "wheels"})
    assert await run(one, TIDY) == {"rover": "met"}
    assert done(one.world, TIDY) and not one.said


async def test_three_robots_do_a_goal(team):
    three = team({**TWO, "third": "wheels"})
    ended = await run(three, TIDY)
    assert set(ended.values()) == {"met"} and done(three.world, TIDY)


async def test_the_same_seed_gives_the_same_twice(team):
    ways = []
    for _ in range(2):
        two = team()
        await run(two, TIDY)
        ways.append(
            (two.world.time, two.said, {n: (w.distance, w.decisions) for n, w in two.works.items()})
        )
    assert ways[0] == ways[1]


async def test_without_any_message_it_is_still_done(team):
    two = team(gets_through=lambda note, name: False)
    ended = await run(two, TIDY, max_time=2400.0)
    assert done(two.world, TIDY), in_place(two.world, TIDY)
    assert "met" in ended.values()


async def test_where_one_is_taken_out_the_other_finishes(team):
    two = team()

    def fault():
        if two.world.time > 20.0 and "slim" not in two.ended:
            two.take_out("slim")

    ended = await run(two, TIDY, max_time=2400.0, each=fault)
    assert ended == {"rover": "met", "slim": "taken out"}
    assert done(two.world, TIDY) or two.drivers["slim"].body.holding


async def test_who_hears_on_the_way_that_all_is_done_stops(team):
    goal = Goal.parse("plates", ["ON(plate, table): 2"])
    alone = team({"slim": "slim"})
    driver, moves = alone.drivers["slim"], []
    skill = driver.skill

    async def seen(one):
        moves.append((one, alone.world.time))
        return await skill(one)

    driver.skill = seen
    told = []

    def tell():
        walking = moves and isinstance(moves[-1][0], NavigateTo)
        if walking and alone.world.time > moves[-1][1] + 0.3 and not told:
            told.append(alone.world.time)
            table = next(
                thing
                for thing in driver.body.map.scene.objects.values()
                if load_household().canonical(thing.label.top) == "table"
            )
            facts = Facts(
                item="mate-plate-1",
                label="plate",
                place=table.id,
                answer="placed",
                subgoal="ON(plate, table)",
                seen=(Sighting("mate-plate-2", "plate", table.room, table.id, "on"),),
            )
            alone.say(Note("mate-1", "mate", "done", "Done.", facts))

    ended = await run(alone, goal, each=tell, people=("mate",))
    assert ended == {"slim": "met"} and told
    assert alone.world.time < told[0] + 10.0
    assert not driver.body.holding


async def test_a_goal_that_cannot_be_done_ends_out_of_time(team):
    two = team()
    ended = await run(two, Goal.parse("x", ["ON(unicorn, counter): 1"]), max_time=200.0)
    assert set(ended.values()) == {"out of time"}
    assert two.world.time < 260.0
    assert all(work.decisions < 400 for work in two.works.values())


async def test_a_target_that_the_house_lacks_ends_out_of_time(team):
    two = team()
    ended = await run(two, Goal.parse("x", ["IN(plate, submarine): 1"]), max_time=200.0)
    assert set(ended.values()) == {"out of time"}


async def test_a_hand_that_always_slips_ends_out_of_time(team):
    two = team()
    for driver in two.drivers.values():
        skill = driver.skill

        async def slips(one, skill=skill):
            if isinstance(one, Pick):
                await asyncio.sleep(0)
                return SkillResult(Outcome.REFUSED, "slipped")
            return await skill(one)

        driver.skill = slips
    ended = await run(two, TIDY, max_time=150.0)
    assert set(ended.values()) == {"out of time"}
    assert all(work.decisions < 400 for work in two.works.values())


async def test_hands_that_open_nothing_leave_containers_alone_after_one_try(team):
    """Arms of MoveIt open nothing: each robot finds out once, and claims nothing of the inside."""
    two = team()
    tries = dict.fromkeys(two.drivers, 0)
    for name, driver in two.drivers.items():
        skill = driver.skill

        async def cannot_open(one, skill=skill, name=name):
            if isinstance(one, Open):
                tries[name] += 1
                await asyncio.sleep(0)
                return SkillResult(Outcome.UNSUPPORTED, "this arm opens nothing")
            return await skill(one)

        driver.skill = cannot_open
    # Nothing of the kind is anywhere, so that they would look into everything.
    ended = await run(two, Goal.parse("x", ["ON(unicorn, table): 1"]), max_time=300.0)
    assert set(ended.values()) == {"out of time"}
    assert sum(tries.values()) > 0 and max(tries.values()) == 1
    assert any(work.agent.memory.closed for work in two.works.values())
    told = [note.facts.searched for note in two.said if note.facts is not None]
    shut = {id_ for work in two.works.values() for id_ in work.agent.memory.closed}
    assert not shut & {place for places in told for place in places}


async def test_a_persons_question_is_answered(team):
    two = team()
    asked = []

    def ask():
        if two.world.time > 60.0 and not asked:
            asked.append(True)
            two.say(Note("anna-1", "anna", "text", "Did you take the plate?"))

    await run(two, TIDY, each=ask, people=("anna",))
    replies = [note for note in two.said if note.kind == "reply" and "anna" in note.to]
    assert replies and all(note.facts.reply_to == "anna-1" for note in replies)


async def test_what_one_robot_cannot_put_where_it_belongs_another_one_brings(team):
    """It is laid aside, and the other one is told where; not carried about until time is up."""
    two = team()
    driver = two.drivers["rover"]
    carry_out, refused = driver.skill, []

    async def low(skill):
        if isinstance(skill, Place) and skill.receptacle.label == "sofa":
            refused.append(skill)
            await carry_out(Wait(1.0))
            return SkillResult(Outcome.OUT_OF_REACH, "the hand does not get there", duration=1.0)
        return await carry_out(skill)

    driver.skill = low
    goal = Goal.parse("tidy", ["ON(bottle, sofa): 2"])
    await run(two, goal)
    assert refused and done(two.world, goal), in_place(two.world, goal)
    assert not driver.body.holding
