"""Fences hold: whoever starts beyond one, whatever the map forgets, and however it is drawn."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from coterie_safety.guard import Guard, Limits, RobotLimits
from coterie_safety.guard.leaving import Leaving
from coterie_world.scene import Floor, Room, SceneGraph
from coterie_world.scene.outlines import enclosed, outline_trouble

pytestmark = pytest.mark.quick

STRIP = [[5.2, 0], [25, 0], [25, 5], [5.2, 5]]
BOW_TIE = [(0, 0), (4, 4), (4, 0), (0, 4)]


def square(x: float, y: float, size: float) -> list[list[float]]:
    return [[x, y], [x + size, y], [x + size, y + size], [x, y + size]]


def guard(scene: SceneGraph | None = None, **limits) -> Guard:
    section = Limits.model_validate({"area": "anywhere", **limits})
    return Guard(None, {}, RobotLimits(team=section), scene=scene)


def house(*rooms: Room, **floors: float) -> SceneGraph:
    scene = SceneGraph()
    for k, (name, height) in enumerate(floors.items()):
        scene.add_floor(Floor(name, k, height, 2.6))
    for room in rooms:
        scene.add_room(room)
    return scene


def room(id_: str, outline, floor: str = "", kind: str = "") -> Room:
    return Room(id_, id_, kind, floor, [(float(x), float(y)) for x, y in outline])


class TestWhoStandsBeyondAFence:
    def test_a_robot_just_outside_its_area_may_not_cross_what_lies_beyond(self):
        fenced = guard(area=square(0, 0, 5), keep_out=[STRIP])
        there = [(5.05, 2, 0), (24.85, 2, 0), (24.85, 3, 0), (4, 3, 0)]
        assert "limits.keep_out[0]" in fenced.path_trouble(there)
        assert fenced.path_trouble([(5.05, 2, 0), (4, 2, 0)]) == ""

    @pytest.mark.parametrize("first", [5.21, 5.3])
    def test_a_pose_that_is_off_by_a_little_opens_no_zone(self, first):
        fenced = guard(keep_out=[STRIP])
        assert "limits.keep_out[0]" in fenced.path_trouble([(first, 2, 0), (26, 2, 0)])
        assert fenced.path_trouble([(first, 2, 0), (4, 2, 0)]) == ""

    def test_a_way_beside_an_area_is_not_a_way_into_it(self):
        fenced = guard(area=square(0, 0, 30))
        beside = [(31, 0.5, 0), (31, 29, 0), (29, 29, 0)]
        assert "limits.area" in fenced.path_trouble(beside)
        assert "limits.area" in fenced.path_trouble([(30.05, 1, 0), (45, 1, 0), (29, 1, 0)])
        assert fenced.path_trouble([(31, 0.5, 0), (31, 1.5, 0), (29, 1.5, 0)]) == ""

    def test_leaving_one_zone_opens_no_other(self):
        fenced = guard(keep_out=[square(0, 0, 2), square(3, 0, 2)])
        assert fenced.path_trouble([(1, 1, 0), (2.5, 1, 0)]) == ""
        assert "keep_out[1]" in fenced.path_trouble([(1, 1, 0), (4, 1, 0), (6, 1, 0)])

    def test_each_of_two_zones_that_overlap_is_left_for_good(self):
        fenced = guard(keep_out=[square(0, 0, 2), [[1, 0], [4, 0], [4, 2], [1, 2]]])
        assert fenced.path_trouble([(1.5, 1, 0), (1.5, 2.5, 0)]) == ""
        back = [(1.9, 1, 0), (2.1, 1, 0), (1.9, 1, 0), (1.9, 2.5, 0)]
        assert "keep_out[0]" in fenced.path_trouble(back)

    def test_a_path_that_never_leaves_is_refused_where_it_begins(self):
        fenced = guard(keep_out=[STRIP])
        assert "(8.00, 2.00, 0.00) on the path" in fenced.path_trouble([(8, 2, 0), (8, 1, 0)])

    def test_who_is_accepted_comes_only_nearer_to_the_way_out(self):
        dice = random.Random(4)
        zones = [square(2, 2, 3), square(6, 2, 3), square(4, 4, 3)]
        fenced = guard(area=square(0, 0, 10), keep_out=zones)
        accepted = 0
        for _ in range(600):
            points = [(dice.uniform(-1, 11), dice.uniform(-1, 11), 0.0) for _ in range(3)]
            if fenced.path_trouble(points):
                continue
            accepted += 1
            begun = {one.where: one.away for one in fenced.breaches(points[0])}
            for a, b in itertools.pairwise(points):
                for k in range(101):
                    here = tuple(p + k / 100 * (q - p) for p, q in zip(a, b, strict=True))
                    for one in fenced.breaches(here):
                        far = math.dist(here, points[0])
                        assert one.away <= begun[one.where] + 0.1 or far <= 0.5
        assert accepted > 20

    def test_a_robot_that_stands_there_in_noise_is_left_alone_until_it_was_in(self):
        dice, fenced, leaving = random.Random(1), guard(area=square(0, 0, 5)), Leaving()

        def trouble(x: float) -> str:
            here = (x, 2.0, 0.0)
            return leaving.trouble(here, fenced.breaches(here))

        assert not any(trouble(5.2 + dice.uniform(-0.05, 0.05)) for _ in range(500))
        assert not trouble(4.9)
        assert "limits.area" in trouble(5.01)

    def test_a_step_by_step_drive_leads_out_and_not_further_in(self):
        fenced = guard(keep_out=[STRIP, square(0, 0, 2)])
        assert fenced.step_trouble((6, 2, 0), (5.99, 2, 0)) == ""
        assert "keep_out[0]" in fenced.step_trouble((6, 2, 0), (6.01, 2, 0))
        assert "keep_out[0]" in fenced.step_trouble((5.19, 2, 0), (5.21, 2, 0))
        assert "keep_out[1]" in fenced.step_trouble((2.01, 1, 0), (1.99, 1, 0))


class TestOutlines:
    @pytest.mark.parametrize("spot", [(0.5, 2, 0), (3.5, 2, 0)])
    def test_a_room_whose_outline_crosses_itself_is_kept_out_on_both_sides(self, spot):
        fenced = guard(house(room("lab", BOW_TIE)), keep_out=["lab"])
        assert "limits.keep_out[0]" in fenced.strays(spot)
        assert not fenced.strays((2, 0.5, 0))

    def test_what_an_outline_goes_around_twice_is_no_hole(self):
        star = [(3 * math.sin(a), 3 * math.cos(a)) for a in (0.0, 2.513, 5.027, 1.257, 3.770)]
        fenced = guard(house(room("lab", star)), keep_out=["lab"])
        assert fenced.strays((0, 0, 0))

    def test_an_outline_around_nothing_is_unknown(self):
        fenced = guard(house(room("lab", [(0, 0), (1, 0), (2, 0)])), keep_out=["lab"])
        assert "no outline of a room 'lab'" in fenced.strays((9, 9, 0))

    def test_an_allowed_zone_whose_outline_crosses_itself_is_unknown(self):
        section = Limits.model_construct(area=(tuple(BOW_TIE),))
        fenced = Guard(None, {}, RobotLimits.model_construct(team=section, robot=Limits(), name=""))
        assert fenced.strays((0.5, 2, 0))
        assert "self-intersection" in fenced.fences().trouble

    def test_which_outlines_are_none(self):
        touches = [(0, 0), (2, 0), (2, 2), (3, 2), (3, 3), (2, 2), (0, 2)]
        for fine in ([], square(0, 0, 2), touches):
            assert outline_trouble(fine) == ""
        assert "crosses itself: self-intersection" in outline_trouble(BOW_TIE)
        assert "around nothing" in outline_trouble([(0, 0), (1, 0), (2, 0)])
        assert "2 corners" in outline_trouble([(0, 0), (1, 0)])
        assert enclosed(BOW_TIE).area == 8.0


class TestTheMapForgets:
    LAB, HALL = room("lab", square(5, 0, 5)), room("hall", square(0, 0, 5))

    def test_a_room_that_it_loses_stays_shut_and_holds_up_goals_and_paths(self):
        fenced = guard(house(self.LAB, self.HALL), keep_out=["lab"])
        assert not fenced.strays((1, 1, 0)) and not fenced.path_trouble([(1, 1, 0), (2, 1, 0)])
        fenced.know(SceneGraph())
        assert "is in the room 'lab'" in fenced.strays((6, 1, 0))
        for where in (fenced.strays((1, 1, 0)), fenced.path_trouble([(1, 1, 0), (2, 1, 0)])):
            assert "the map has no outline of a room 'lab'" in where
        assert fenced.fences().fences[0].pieces  # a map still shows it
        fenced.know(house(self.LAB, self.HALL))
        assert not fenced.strays((1, 1, 0))

    def test_one_of_two_rooms_of_a_kind_that_it_loses_stays_shut(self):
        a, b = room("a", square(0, 0, 2), kind="study"), room("b", square(4, 0, 2), kind="study")
        fenced = guard(house(a, b), keep_out=["study"])
        fenced.know(house(a))
        assert fenced.strays((5, 1, 0)) and fenced.strays((1, 1, 0))
        assert not fenced.strays((3, 1, 0))
        # It is there, and a person says that it is none.
        fenced.know(house(a, room("b", square(4, 0, 2), kind="bedroom")))
        assert not fenced.strays((5, 1, 0))

    def test_a_room_that_nobody_has_seen_yet_holds_up_the_goal_that_runs(self):
        assert "no outline of a room 'lab'" in guard(keep_out=["lab"]).strays((1, 1, 0))


class TestStoreys:
    def test_a_pose_without_height_is_on_the_lowest_storey_that_is_known(self):
        fenced = guard(house(room("lab", square(0, 0, 4), "up"), up=3.0), keep_out=["lab"])
        assert fenced.strays((1, 1, 0))

    def test_storeys_leave_no_gap_and_are_no_matter_for_each_other(self):
        rooms = room("attic", square(0, 0, 4), "up"), room("cellar", square(6, 0, 4), "down")
        fenced = guard(house(*rooms, down=0.0, up=3.0), keep_out=["attic", "cellar"])
        low = [z for z in (-9.0, -0.4, 0.0, 2.5, 2.65, 2.75, 3.0, 9.0) if fenced.strays((7, 1, z))]
        high = [z for z in (-9.0, -0.4, 0.0, 2.4, 2.65, 2.75, 3.0, 9.0) if fenced.strays((1, 1, z))]
        assert low == [-9.0, -0.4, 0.0, 2.5, 2.65] and high == [2.75, 3.0, 9.0]

    def test_another_room_of_the_id_of_one_that_is_lost_does_not_open_that(self):
        a, b = (room(id_, square(x, 0, 2), kind="study") for id_, x in (("a", 0), ("b", 4)))
        fenced = guard(house(a, b), keep_out=["study"])
        fenced.know(house(b, room("a", square(9, 0, 2), kind="hall")))
        assert fenced.strays((1, 1, 0)) and not fenced.strays((10, 1, 0))


class TestEdges:
    @pytest.mark.parametrize("zones", [
        [square(0, 0, 2), square(2, 0, 2)],  # the way leads along where they touch
        [[[2, 0], [2.02, 0], [2.02, 2], [2, 2]]],
    ], ids=["that touch", "that is narrow"])  # fmt: skip
    def test_nothing_leads_between_zones_that_touch_or_along_one(self, zones):
        along = [(2, -1, 0), (2, 3, 0)]
        assert "keep_out" in guard(keep_out=zones).path_trouble(along)
        rooms = [room(f"r{k}", zone, kind="study") for k, zone in enumerate(zones)]
        assert "study" in guard(house(*rooms), keep_out=["study"]).path_trouble(along)

    @pytest.mark.parametrize("begin", [-1.0 - 0.002 * k for k in range(25)])
    def test_no_step_of_a_path_passes_over_a_narrow_zone(self, begin):
        narrow = guard(keep_out=[[[0, 0], [9, 0], [9, 0.01], [0, 0.01]]])
        assert narrow.path_trouble([(5, begin, 0), (5, 1, 0)])

    @pytest.mark.parametrize("height", [-0.2, -0.001, 0.0, 2.4])
    def test_a_height_that_is_a_little_off_is_on_the_zones_floor(self, height):
        zone = guard(keep_out=[{"polygon": square(0, 0, 2), "z": [0, 2.5]}])
        assert zone.strays((1, 1, height))
        assert zone.path_trouble([(-1, 1, height), (3, 1, height)])

    @pytest.mark.parametrize("place", [
        (math.nan, math.nan, 0.0), (1.0, 1.0, math.nan), (math.inf, 0.0, 0.0),
    ])  # fmt: skip
    def test_a_position_that_is_none_is_not_known(self, place):
        fenced = guard(keep_out=[STRIP])
        assert "nobody knows where" in fenced.strays(place)
        assert "a point that is none" in fenced.path_trouble([(1, 1, 0), place, (2, 1, 0)])


class TestWhatIsNoPath:
    HERE, THERE = (1.0, 1.0, 0.0), (9.0, 1.0, 0.0)

    def test_what_does_not_tell_the_way_from_the_robot_to_the_goal_is_refused(self):
        fenced = guard(keep_out=[square(4, 0, 2)])
        around = [(1, 1.2, 0), (1, 4, 0), (9, 4, 0), (9, 1.1, 0)]
        assert fenced.path_trouble(around, self.HERE, self.THERE) == ""
        for points, words in (
            ([], "no points"),
            ([self.THERE], "begins at (9.00, 1.00, 0.00), 8.00 m from the robot"),
            ([self.HERE], "ends at (1.00, 1.00, 0.00), 8.00 m from the goal"),
            (around[1:], "begins at"),
            (around[:-1], "ends at"),
            ([(math.nan, 1, 0), self.THERE], "begins at"),
        ):
            assert words in fenced.path_trouble(points, self.HERE, self.THERE)
        assert "one point" in fenced.path_trouble([self.THERE])
        assert "no points" in guard().path_trouble([], self.HERE, self.THERE)
        assert fenced.path_trouble([self.HERE], self.HERE, (1.2, 1.0, 0.0)) == ""

    def test_the_robot_and_the_goal_belong_to_the_path(self):
        fenced = guard(keep_out=[[[1.2, 0], [1.3, 0], [1.3, 3], [1.2, 3]]])
        beyond = [(1.4, 1, 0), (9, 1, 0)]
        assert fenced.path_trouble(beyond) == ""
        assert "limits.keep_out[0]" in fenced.path_trouble(beyond, self.HERE, self.THERE)

    def test_a_robot_of_which_nobody_knows_where_it_is_breaks_fences_only_where_there_are_any(self):
        assert "nobody knows where the robot is" in guard(keep_out=[STRIP]).strays(None)
        assert guard().strays(None) == ""


@pytest.mark.parametrize("name", ["bedroom 1", "bedroom"])
def test_a_room_that_gets_the_name_of_its_kind_does_not_open_the_others(name):
    first = Room("r1", name, "bedroom", "", [(0, 0), (4, 0), (4, 4), (0, 4)])
    other = Room("r2", "bedroom 2", "bedroom", "", [(5, 0), (9, 0), (9, 4), (5, 4)])
    fences = guard(house(first, other), keep_out=["bedroom"])
    assert fences.strays((2.0, 2.0, 0.0)) and fences.strays((6.0, 2.0, 0.0))
    assert not fences.strays((4.5, 2.0, 0.0))
