"""Cooperating robots make way in the embedded house, in which nobody moves without a goal."""

from __future__ import annotations

import math

import pytest

from coterie_core.cooperation import Goal
from coterie_core.geometry import Box, Pose
from coterie_core.skills import NavigateTo
from coterie_core.waiting import in_time
from coterie_fixtures.house_team import HouseTeam, in_place
from coterie_fixtures.tiny_house import thing, tiny_house
from coterie_world.right_of_way import YIELD_TOLERANCE_M
from coterie_world.scene import Receptacle
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.prior import prior_map
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.simulator import Start
from reveca_agent.household_goal import household_goal

pytestmark = pytest.mark.quick

DOOR = (4.0, 2.0, 0.0)
"""Between kitchen and living room [m]: the only way there."""
MUG = Goal.parse("tidy", ["ON(mug, coffee table): 1"])
SWAP = Goal.parse("swap", ["ON(mug, coffee table): 1", "ON(book, kitchen counter): 1"])


TOY = Goal.parse("tidy", ["ON(toy, coffee table): 1"])
LANE = [
    thing("a", "cabinet", "r_living", (9.8, 0.825), 0.0, (2.4, 1.65, 1.0), "furniture"),
    thing("b", "cabinet", "r_living", (9.8, 2.7), 0.0, (2.4, 0.7, 1.0), "furniture"),
    thing("stool", "stool", "r_living", (10.7, 2.0), 0.0, (0.3, 0.3, 0.4), "furniture",
          receptacles=[Receptacle("seat", Box((10.7, 2.0, 0.4), (0.3, 0.3, 0.0)), False)]),
    thing("toy", "toy", "r_living", (10.7, 2.0), 0.4, (0.1, 0.1, 0.1), support="stool"),
]  # fmt: skip
"""A lane of 0.7 m between cabinets, from x = 8.6 m to a wall at its end, where a toy is."""


@pytest.fixture
def team():
    """Makes `slim` in the kitchen, and `other` in its only door."""

    def make(extra=(), second="other", **starts):
        house = tiny_house(list(extra))
        world = EmbeddedWorld(house, seed=3, noise=DetectorNoise.none(), threads=1)
        world.steps_aside = False
        for name, at in {"slim": (1.15, 1.3, 0.0), "other": DOOR, **starts}.items():
            name = second if name == "other" else name
            body = EMBODIMENTS["slim"].model_copy(update={"name": name})
            world.add_robot(name, body, Start(pose=Pose(at)))
        known = prior_map(world.truth(), "furniture")
        return HouseTeam(world, known, {"slim": "slim", second: "slim"})

    return make


async def run(team, goal, **options):
    return await in_time(team.run(goal, 600.0, **options), 120.0)


def done(team, goal):
    return set(in_place(team.world, household_goal(goal)).values()) == {1}


def asides(team):
    """Drives to make way, by robot: they end nearer to their spots than others."""
    return [
        deed.robot
        for deed in team.deeds
        if isinstance(deed.skill, NavigateTo) and deed.skill.tolerance == YIELD_TOLERANCE_M
    ]


async def test_an_idle_robot_in_the_only_door_makes_way(team):
    two = team()
    assert await run(two, MUG, idle=("other",)) == {"slim": "met"} and done(two, MUG)
    assert [request.sender for request in two.asked] == ["slim"]
    assert asides(two) == ["other"]
    assert math.dist(two.world.state("other").pose.position, DOOR) > 0.3


@pytest.mark.parametrize("idle", ["other", "zoe"])
async def test_an_idle_robot_at_the_end_of_a_lane_asks_to_be_let_out(team, idle):
    """It stayed there, and the other one before it until time was up."""
    two = team(LANE, idle, slim=(8.2, 2.3, 0.0), other=(9.6, 2.0, 0.0))
    assert await run(two, TOY, idle=(idle,)) == {"slim": "met"} and done(two, TOY)
    assert {request.sender for request in two.asked} == {"slim", idle}
    assert set(asides(two)) == {"slim", idle}
    assert two.world.state(idle).pose.position[0] < 8.6, "it is out of the lane"
    assert two.world.time < 200.0


async def test_where_nobody_hears_the_request_the_door_stays_closed(team):
    two = team()
    two.ask_way = two.asked.append
    assert await run(two, MUG, idle=("other",)) == {"slim": "out of time"}
    assert len(two.asked) > 2 and not done(two, MUG)
    assert two.world.state("other").travelled == 0.0


async def test_of_two_at_work_that_block_one_another_one_makes_way(team):
    """One brings a mug through the door, the other one a book the other way."""
    two = team(slim=(2.0, 2.0, 0.0), other=(6.6, 2.9, 0.0))
    assert await run(two, SWAP) == {"slim": "met", "other": "met"} and done(two, SWAP)
    assert {request.sender for request in two.asked} == {"slim", "other"}
    assert len(two.asked) <= 4 and set(asides(two)) == {"slim"}, "other goes first, by name"
    assert two.world.time < 150.0, "nobody looks for what the other one has brought"
