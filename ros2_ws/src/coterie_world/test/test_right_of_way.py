"""Requests for the way: what is none is refused, and who goes aside for whom and when."""

from __future__ import annotations

import asyncio
import itertools
import math

import numpy as np
import pytest

from coterie_core.skills import NavigateTo, Outcome, SkillResult, Wait
from coterie_world.free_space.free_cells import FreeCells
from coterie_world.free_space.yield_pose import MAX_YIELD_DISTANCE_M, yield_place, yield_pose
from coterie_world.right_of_way import (
    MAX_PATH_POINTS,
    MIN_YIELD_PERIOD_S,
    PASSING_GAP_M,
    REQUEST_WAIT_S,
    YIELD_WAIT_S,
    RightOfWay,
    YieldRequest,
    make_way,
)
from coterie_world.scene import Place, PlaceLink, SceneGraph

WAY = ((0.0, 1.0, 0.0), (4.0, 1.0, 0.0))
SPOT = (2.0, 2.0, 0.0)
OK = SkillResult(Outcome.SUCCEEDED)
BLOCKED = SkillResult(Outcome.BLOCKED, "slim stands in the way")
NOWHERE = SkillResult(Outcome.UNREACHABLE, "no path")


def asked(id="1", sender="slim", way=WAY, **changes):
    return YieldRequest(id, sender, way, 0.2, **changes)


def floor(width=80, height=40):
    """Free cells of a hall of 4 m x 2 m."""
    return FreeCells(np.ones((height, width), dtype=bool), (0.0, 0.0), 0.05, 0.0)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"way": ()}, "2 to 200 points, got 0"),
        ({"way": WAY[:1]}, "got 1"),
        ({"way": WAY[:1] * (MAX_PATH_POINTS + 1)}, "got 201"),
        ({"way": ((math.nan, 2.0, 0.0), WAY[1])}, "finite"),
        ({"way": ((0.0, 2.0, math.inf), WAY[1])}, "finite"),
        ({"radius": 0.0}, "more than 0"),
        ({"radius": -1.0}, "more than 0"),
        ({"radius": 30.0}, "up to 3 m"),
        ({"radius": math.nan}, "more than 0"),
    ],
)
def test_ways_that_are_none_are_refused(change, named):
    given = {"id": "m", "sender": "slim", "way": WAY, "radius": 0.2}
    assert "slim cannot get to (4.00, 1.00)" in YieldRequest(**given).text
    with pytest.raises(ValueError, match=named):
        YieldRequest(**{**given, **change})


def test_who_is_idle_goes_aside_once_for_one_request():
    robot = RightOfWay("rover")
    assert robot.go_aside(lambda *asked: SPOT, idle=True) is None
    for request in (asked(sender="rover"), asked("2", recipients=("drone",))):
        robot.hear(request, 1.0)
        assert robot.asked is None
    robot.hear(asked(), 1.0)
    drive = robot.go_aside(lambda *asked: SPOT, idle=True)
    assert drive is not None and drive.position == SPOT and drive.tolerance < PASSING_GAP_M
    assert robot.whom == "slim"
    robot.ended(OK)
    assert robot.whom == ""
    robot.hear(asked(), 2.0 * MIN_YIELD_PERIOD_S)
    robot.hear(asked("2"), 1.0 + MIN_YIELD_PERIOD_S / 2)
    assert robot.asked is None, "heard before, and too soon"
    robot.hear(asked("3"), 1.0 + MIN_YIELD_PERIOD_S)
    assert robot.asked is not None


def test_who_is_busy_goes_aside_only_if_it_is_blocked_by_one_whose_name_comes_first():
    for name, blocked, moves in (("rover", False, False), ("rover", True, False),
                                 ("tiago", True, True)):  # fmt: skip
        robot = RightOfWay(name)
        drive = NavigateTo(position=SPOT)
        ended = robot.blocked_drive(drive, BLOCKED if blocked else OK)
        assert ended == (drive if blocked else None)
        assert robot.blocked == int(blocked)
        robot.hear(asked(), 1.0)
        assert robot.blocked_drive(Wait(1.0), OK) is None and robot.asked is not None
        found = robot.go_aside(lambda *asked: SPOT, idle=False)
        assert (found is not None) is moves and (robot.asked is None) is moves


def test_where_yielding_by_name_does_not_help_the_first_one_goes_too_and_lets_the_other_pass():
    robot, drive = RightOfWay("anna"), NavigateTo(position=SPOT)
    robot.hear(asked("0"), 0.0)
    for _ in range(2):
        assert robot.go_aside(lambda *asked: SPOT, idle=False) is None
        assert robot.blocked_drive(drive, BLOCKED) == drive and not robot.listens
        assert robot.blocked_drive(drive, NOWHERE) is None
    assert robot.go_aside(lambda *asked: SPOT, idle=False) is not None
    robot.ended(OK)
    assert robot.lets_pass and robot.blocked == 0
    robot.lets_pass = False
    robot.ended(OK)
    assert not robot.lets_pass, "that was its wait"
    robot.hear(asked("4"), 9 * MIN_YIELD_PERIOD_S)
    robot.go_aside(lambda *asked: SPOT, idle=True)
    robot.ended(OK)
    assert not robot.lets_pass, "who has nothing to do need not wait"


def test_who_is_blocked_on_its_way_aside_asks_for_that_if_it_has_work():
    """Both would stand before one another for good: one waits, the other is not asked."""
    for idle in (False, True):
        robot = RightOfWay("slim")
        robot.blocked_drive(NavigateTo(position=SPOT), BLOCKED)
        robot.hear(asked(sender="rover"), 1.0)
        assert robot.go_aside(lambda *asked: SPOT, idle=idle) is not None
        assert robot.ended(BLOCKED) is not idle, "of idle robots one does not chase the other"
        assert robot.blocked == int(idle), "who has asked for its way aside stays until it is free"
        assert robot.ended(OK) is False


def test_what_was_asked_before_its_own_drive_is_past():
    robot = RightOfWay("rover")
    robot.hear(asked(), 1.0)
    assert robot.blocked_drive(NavigateTo(position=SPOT), OK) is None and robot.asked is None


def test_where_no_way_led_it_goes_elsewhere_and_gives_up_in_the_end():
    robot, tried = RightOfWay("rover"), []

    def find(request, closed, through):
        tried.append(tuple(closed))
        return (float(len(tried)), 0.0, 0.0)

    robot.hear(asked(), 1.0)
    while robot.go_aside(find, idle=True) is not None:
        robot.ended(NOWHERE)
    assert [len(closed) for closed in tried] == [0, 1, 2, 3]
    robot.hear(asked("2"), 1.0 + MIN_YIELD_PERIOD_S)
    robot.go_aside(find, idle=True)
    robot.ended(None)
    assert robot.whom == "" and robot.asked is None, "who was stopped on the way tries no more"


def test_an_own_request_names_a_way_of_so_many_points():
    request = RightOfWay("rover").request(WAY * MAX_PATH_POINTS, 0.3, 12.5)
    assert (request.sender, request.radius, len(request.way)) == ("rover", 0.3, MAX_PATH_POINTS)
    assert request.id != RightOfWay("rover").request(WAY, 0.3, 13.0).id


def aside(here, cells=None, way=WAY, **changes):
    return yield_pose(cells or floor(), here, 0.2, asked(way=way), list(itertools.pairwise(way)),
                      **changes)  # fmt: skip


def test_the_spot_is_off_the_way_and_near():
    hall = floor()
    hall.free[:15, 15:] = hall.free[25:, 15:] = False  # room for one, and for two at its end
    spot = aside((2.0, 1.1, 0.0))
    assert spot is not None and 0.52 < abs(spot[1] - 1.0) < 0.7
    assert aside((2.0, 1.8, 0.0)) is None, "it stands in nobody's way"
    assert aside((9.0, 9.0, 0.0)) is None, "nowhere near a floor"
    assert aside((2.0, 1.1, 0.0), closed=[spot])[:2] != spot[:2]
    for off in (0.3, 0.4, 0.45):  # it touches the other one, and does not go past it
        met = aside((2.0, 1.0, 0.0), hall, ((2.0 + off, 1.0, 0.0), (0.0, 1.0, 0.0)))
        assert met is not None and met[0] < 1.0, (off, met)
    narrow = floor(height=20)
    assert aside((2.0, 0.5, 0.0), narrow, ((0.0, 0.5, 0.0), (4.0, 0.5, 0.0))) is None
    assert MAX_YIELD_DISTANCE_M > 4.0


def test_who_did_not_get_past_the_other_one_goes_away_from_it():
    """Its rough map shows room beside the other one; that was none."""
    cells = floor()
    cells.free[:12] = cells.free[28:] = False
    cells.free[:, 38:60] = cells.free[28:, :10] = True  # a bay behind the other one, and a nook
    here, way = (1.5, 1.0, 0.0), ((1.9, 1.0, 0.0), (0.0, 1.0, 0.0))
    past = aside(here, cells, way)
    assert past[0] > way[0][0]
    away = aside(here, cells, way, closed=[past])
    assert away[0] < 0.5 and away[1] > 1.4
    cells.free[28:, :10] = False
    assert aside(here, cells, way, closed=[past])[0] > way[0][0], "there is no other"


def test_who_is_shut_in_gets_out_to_where_the_other_one_comes_back_past_it():
    cells = floor()
    cells.free[:16, :40] = cells.free[24:, :40] = False  # a lane, and a hall behind its mouth
    here, way = (0.8, 1.0, 0.0), ((1.4, 1.0, 0.0), (0.0, 1.0, 0.0))
    assert aside(here, cells, way) is None
    spot = aside(here, cells, way, through=True)
    assert spot[0] > 2.0 and abs(spot[1] - 1.0) > 0.3, "not in the lane's mouth, either"
    cells.free[:, 38:] = False
    cells.free[:16] = cells.free[24:] = False
    assert aside(here, cells, way, through=True) is None, "there is no room"


def test_who_is_shut_in_asks_to_be_let_out_and_tries_again_until_it_is():
    robot, done, ways = RightOfWay("slim"), [], []
    results = [BLOCKED, BLOCKED, OK]

    async def carry_out(skill):
        done.append(skill)
        return results[len(done) - 1] if len(done) <= 3 else BLOCKED

    def ask(drive):
        ways.append(robot.request((SPOT, drive.position), 0.2, float(len(ways))))

    def go(idle):
        def out(request, closed, through):
            return SPOT if through else None

        return asyncio.run(make_way(robot, out, carry_out, ask, idle))

    robot.hear(asked(sender="rover"), 1.0)
    assert go(idle=True) is True and len(done) == len(ways) == 3
    assert all(one.out for one in ways) and not robot.shut_in
    assert not robot.request(WAY, 0.2, 9.0).out, "that is for work of its own"
    robot.hear(asked("2", sender="rover"), 1.0 + MIN_YIELD_PERIOD_S)
    assert go(idle=True) is True and len(ways) == 7, "it tries so often, and no more"
    robot.blocked_drive(NavigateTo(position=SPOT), BLOCKED)
    robot.hear(asked("3", sender="rover"), 1.0 + 2 * MIN_YIELD_PERIOD_S)
    assert go(idle=False) is False and len(ways) == 7, "who has work asks for that"


def test_who_finds_no_way_out_asks_for_its_own_work_afterwards():
    robot, nowhere = RightOfWay("slim"), lambda *asked: None
    robot.hear(asked(sender="rover"), 1.0)
    assert robot.go_aside(nowhere, idle=True) is None
    robot.blocked_drive(NavigateTo(position=SPOT), BLOCKED)
    assert not robot.request(WAY, 0.2, 2.0).out


def test_who_is_shut_in_is_let_out_at_once_whatever_its_name():
    for out in (False, True):
        robot = RightOfWay("anna")
        robot.blocked_drive(NavigateTo(position=SPOT), BLOCKED)
        robot.hear(asked(sender="zoe", out=out), 1.0)
        assert bool(robot.go_aside(lambda *asked: SPOT, idle=False)) is out


def places(**at):
    """Places that are all linked to `here`, and to no other one."""
    scene = SceneGraph()
    for name, position in at.items():
        scene.add_place(Place(name, position))
    for name in at:
        if name != "here":
            scene.add_link(PlaceLink("here", name, math.dist(at["here"], at[name])))
    return scene


HALL = {"here": (2.0, 1.0, 0.0), "past": (2.0, 3.0, 0.0), "nook": (3.0, 2.2, 0.0)}


def test_who_knows_places_only_goes_to_the_nearest_one_off_the_way():
    scene = places(**HALL, door=(3.5, 1.1, 0.0))
    here = (2.1, 1.1, 0.0)
    assert yield_place(scene, "here", here, 0.25, asked()) == HALL["nook"]
    assert yield_place(scene, "here", here, 0.25, asked(), [HALL["nook"]]) == HALL["past"]
    tried = list(HALL.values())[1:]
    ahead = yield_place(scene, "here", here, 0.25, asked(), tried)
    assert ahead == (3.5, 1.1, 0.0), "from there it sees more"
    at_end = yield_place(scene, "door", ahead, 0.25, asked(), tried)
    assert at_end is None, "it goes no farther, and not back"
    far = asked(way=((0.0, 0.0, 3.0), (4.0, 0.0, 3.0)))
    assert yield_place(scene, "here", here, 0.25, far) is None, "that is upstairs"
    assert yield_place(scene, "here", (2.0, 1.7, 0.0), 0.25, asked()) is None, "it is off the way"
    assert yield_place(scene, "elsewhere", here, 0.25, asked()) is None


def test_no_place_aside_lies_behind_the_robot_that_asks():
    behind = places(here=(2.0, 1.0, 0.0), behind=(-2.0, 1.0, 0.0), far=(3.0, 4.0, 0.0))
    way = ((1.0, 1.0, 0.0), (4.0, 1.0, 0.0))
    assert yield_place(behind, "here", (2.0, 1.0, 0.0), 0.25, asked(way=way)) == (3.0, 4.0, 0.0)
    between = (1.6, 1.0, 0.0)  # it has come nearer than to its place
    assert yield_place(behind, "here", between, 0.25, asked(way=way)) == (3.0, 4.0, 0.0)
    del behind.links["here"]["far"], behind.links["far"]["here"]
    assert yield_place(behind, "here", between, 0.25, asked(way=way)) is None


def test_making_way_ends_where_nothing_is_left_to_try_and_waits_where_there_is_work():
    robot, done, ways = RightOfWay("slim"), [], []
    results = [BLOCKED, OK, OK]

    async def carry_out(skill):
        done.append(skill)
        return results[len(done) - 1]

    def go(idle):
        return asyncio.run(make_way(robot, lambda *asked: SPOT, carry_out, ways.append, idle))

    assert go(idle=True) is False and not done
    robot.blocked_drive(NavigateTo(position=SPOT), BLOCKED)
    robot.hear(asked(sender="rover"), 1.0)
    assert go(idle=False) is True and ways == done == [NavigateTo(position=SPOT, tolerance=0.1)]
    robot.blocked_drive(NavigateTo(position=SPOT), BLOCKED)
    robot.hear(asked("2", sender="rover"), 1.0 + MIN_YIELD_PERIOD_S)
    assert go(idle=False) is True and done[2:] == [Wait(YIELD_WAIT_S)] and len(ways) == 1


def test_who_waits_aside_and_is_asked_again_goes_farther():
    """The other one has changed its mind, and comes along where this one waits."""
    robot, done = RightOfWay("slim"), []

    async def carry_out(skill):
        done.append(skill)
        if skill == Wait(YIELD_WAIT_S) and len(done) == 2:
            robot.hear(asked("2", sender="rover"), 1.0 + MIN_YIELD_PERIOD_S)
        return OK

    robot.blocked_drive(NavigateTo(position=SPOT), BLOCKED)
    robot.hear(asked(sender="rover"), 1.0)
    spot = NavigateTo(position=SPOT, tolerance=0.1)
    assert asyncio.run(make_way(robot, lambda *asked: SPOT, carry_out, lambda drive: None, False))
    assert done == [spot, Wait(YIELD_WAIT_S), spot, Wait(YIELD_WAIT_S)]


def test_of_two_that_are_blocked_at_once_each_waits_for_the_request_of_the_other_one():
    robot, done = RightOfWay("slim"), []

    async def carry_out(skill):
        done.append(skill)
        if isinstance(skill, Wait):  # it comes meanwhile
            robot.hear(asked(sender="rover"), 1.0)
        return OK

    def go(idle):
        return asyncio.run(
            make_way(robot, lambda *asked: SPOT, carry_out, lambda drive: None, idle)
        )

    robot.blocked_drive(NavigateTo(position=SPOT), BLOCKED)
    assert robot.listens and go(idle=False) is True
    assert done[0] == Wait(REQUEST_WAIT_S) and isinstance(done[1], NavigateTo)
    assert not robot.listens
    robot.blocked_drive(NavigateTo(position=SPOT), BLOCKED)
    robot.blocked_drive(NavigateTo(position=SPOT), OK)
    assert not robot.listens, "it got on"
