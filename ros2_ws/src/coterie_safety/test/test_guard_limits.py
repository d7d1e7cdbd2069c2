"""Limits of a team file: what they refuse, on the way, too, and that they only narrow."""

from __future__ import annotations

import itertools
from datetime import datetime

import pytest
import shapely
from pydantic import ValidationError

from coterie_core.embodiment import Arm, Embodiment
from coterie_core.geometry import Box
from coterie_core.skills import (
    Detect,
    LookAround,
    MoveArmTo,
    NavigateTo,
    Outcome,
    Pick,
    SkillRefused,
    Target,
    Wait,
)
from coterie_safety.guard import Fences, Guard, Limits, RobotLimits
from coterie_safety.guard.windows import TimeWindow
from coterie_world.scene import Floor, LabelBelief, Room, SceneGraph, SceneObject

pytestmark = pytest.mark.quick

BODY = Embodiment(name="body", arm=Arm())
L_SHAPE = [[0, 0], [10, 0], [10, 2], [2, 2], [2, 10], [0, 10]]
TUESDAY_NOON = datetime(2026, 3, 10, 12, 0)


def house() -> SceneGraph:
    """Return two storeys, 10 m x 4 m: study and lab below, a second study above."""
    scene = SceneGraph()
    for k, name in enumerate(("ground", "upstairs")):
        scene.add_floor(Floor(name, k, 3.0 * k, 2.6))
    outlines = {"r1": (0, 0, 5, 4), "r2": (5, 0, 10, 4), "r3": (0, 0, 10, 4)}
    for key, name, kind, floor in (
        ("r1", "study 1", "study", "ground"),
        ("r2", "lab", "lab", "ground"),
        ("r3", "study 2", "study", "upstairs"),
    ):
        x, y, u, v = outlines[key]
        scene.add_room(Room(key, name, kind, floor, [(x, y), (u, y), (u, v), (x, v)]))
    kettle = SceneObject(
        "o1", LabelBelief.of("kettle"), Box((1.0, 1.0, 0.9), (0.2, 0.2, 0.3)), "r1"
    )
    kettle.properties["mass"] = "1.4"
    scene.add_object(kettle)
    return scene


def guard(
    team: dict | None = None,
    robot: dict | None = None,
    scene: SceneGraph | None = None,
    at: datetime = TUESDAY_NOON,
) -> Guard:
    """Return the guard of a real robot: nothing but its limits says where it may be."""
    limits = RobotLimits(
        team=Limits.model_validate(team or {}),
        robot=Limits.model_validate(robot or {}),
        name="ada",
    )
    return Guard(None, {"p1": (1.0, 1.0, 0.0)}, limits, scene=scene, clock=lambda: at)


def refusal(checked: Guard, skill: object) -> str:
    with pytest.raises(SkillRefused) as caught:
        checked.check(skill, BODY)
    assert caught.value.result.outcome is Outcome.REFUSED
    return caught.value.result.reason


def go(x: float, y: float, z: float = 0.0) -> NavigateTo:
    return NavigateTo(position=(x, y, z))


class TestWhere:
    def test_a_real_robot_without_an_area_does_not_move_and_says_what_to_write(self):
        bare = guard({"speed": 0.5})
        for skill in (go(1, 1), LookAround(), MoveArmTo((1, 1, 1)), NavigateTo(place="p1")):
            assert "limits: {area: [[x, y]" in refusal(bare, skill)
        bare.check(Wait(1.0), BODY)
        bare.check(Detect(), BODY)
        # Storeys without polygons say nothing about where on them.
        assert "no area is allowed" in refusal(guard({"floors": [{"z": [0, 3]}]}), go(1, 1))
        guard({"area": "anywhere"}).check(go(900, 1), BODY)

    def test_an_area_that_is_not_convex(self):
        fenced = guard({"area": L_SHAPE})
        fenced.check(go(9, 1), BODY)
        fenced.check(go(1, 9), BODY)
        assert "(5.00, 5.00, 0.00) is outside the allowed area (limits.area)" in refusal(
            fenced, go(5, 5)
        )

    def test_the_robots_own_limits_narrow_the_teams_and_never_widen_them(self):
        both = guard({"area": L_SHAPE}, {"area": [[0, 0], [30, 0], [30, 30]]})
        both.check(go(5, 1), BODY)
        assert "(limits.area)" in refusal(both, go(20, 5))
        assert "(robots.ada.limits.area)" in refusal(both, go(1, 9))
        assert "limits.area" in refusal(guard({"area": L_SHAPE}, {"area": "anywhere"}), go(50, 50))
        assert both.limits.says_where

    def test_floors_by_name_and_by_height_each_with_an_area_of_its_own(self):
        floors = [{"name": "ground", "area": [[0, 0], [5, 0], [5, 4], [0, 4]]}]
        floors += [{"z": [3.0, 5.6], "area": [[5, 0], [10, 0], [10, 4], [5, 4]]}]
        checked = guard({"floors": floors}, scene=house())
        checked.check(go(1, 1, 0.0), BODY)
        checked.check(go(8, 1, 3.0), BODY)
        for spot in ((8, 1, 0.0), (1, 1, 3.0), (1, 1, 9.0)):
            assert "limits.floors" in refusal(checked, go(*spot))

    def test_keep_out_by_room_kind_name_and_polygon(self):
        by_kind = guard({"area": "anywhere", "keep_out": ["Study"]}, scene=house())
        assert "'Study' that robots keep out of (limits.keep_out[0])" in refusal(by_kind, go(1, 1))
        assert "keep_out[0]" in refusal(by_kind, go(8, 1, 3.0))
        by_kind.check(go(8, 1, 0.0), BODY)
        by_name = guard({"area": "anywhere"}, {"keep_out": ["study 2"]}, scene=house())
        by_name.check(go(1, 1), BODY)
        assert "robots.ada.limits.keep_out[0]" in refusal(by_name, go(1, 1, 3.0))
        stairs = {"polygon": [[4, 0], [5, 0], [5, 1]], "z": [-1, 1]}
        zone = guard({"area": "anywhere", "keep_out": [[[8, 0], [9, 0], [9, 1]], stairs]})
        assert "keep_out[0]" in refusal(zone, go(8.9, 0.5))
        assert "keep_out[1]" in refusal(zone, MoveArmTo((4.9, 0.5, 0.5)))
        zone.check(MoveArmTo((4.9, 0.5, 1.5)), BODY)

    def test_a_name_that_no_map_knows_keeps_the_robot_where_it_is(self):
        checked = guard({"area": "anywhere", "keep_out": ["pantry"]})
        assert "no outline of a room 'pantry' (rooms: none yet)" in refusal(checked, go(1, 1))
        checked.know(house())
        assert "rooms: study 1, lab, study 2" in refusal(checked, go(1, 1))
        known = house()
        known.add_room(Room("r9", "pantry", "pantry", "ground", [(20, 0), (22, 0), (22, 2)]))
        checked.know(known)
        checked.check(go(1, 1), BODY)
        assert "keep_out[0]" in refusal(checked, go(21.8, 1))
        with pytest.raises(ValueError, match=r"limits.keep_out\[0\]: the map has no outline"):
            Guard.of(house(), checked.limits)


class TestPath:
    def test_a_way_through_a_room_that_robots_keep_out_of_is_refused(self):
        checked = guard({"area": "anywhere", "keep_out": ["lab"]}, scene=house())
        checked.check(go(12, 1), BODY)  # beyond the lab: the goal alone is fine
        with pytest.raises(SkillRefused, match=r"\(5\.\d\d, 1\.00, 0\.00\) on the path is in the"):
            checked.check_path([(1, 1, 0), (12, 1, 0)])
        checked.check_path([(1, 1, 0), (1, 5, 0), (12, 5, 0), (12, 1, 0)])
        checked.check_path([(1, 1, 3), (12, 1, 3)])  # one floor up
        assert "no points" in checked.path_trouble([])

    def test_a_way_out_of_the_area_between_two_allowed_ends(self):
        with pytest.raises(SkillRefused, match=r"limits.area"):
            guard({"area": L_SHAPE}).check_path([(9, 1, 0), (1, 9, 0)])

    def test_who_stands_where_it_must_not_may_leave_and_not_come_back(self):
        checked = guard({"area": "anywhere", "keep_out": ["lab"]}, scene=house())
        checked.check_path([(8, 1, 0), (1, 1, 0)])
        with pytest.raises(SkillRefused):
            checked.check_path([(8, 1, 0), (8, 6, 0), (1, 6, 0), (6, 1, 0)])
        with pytest.raises(SkillRefused):
            checked.check_path([(8, 1, 0), (6, 1, 0)])
        assert "keep_out" in checked.strays((8, 1, 0))
        assert checked.strays((1, 1, 0)) == ""


class TestWhat:
    def test_payload(self):
        checked = guard({"area": "anywhere", "payload": 1.0, "masses": {"mug": 0.3}}, scene=house())
        here = (1.0, 1.1, 0.9)
        assert "'kettle' weighs 1.40 kg, and limits.payload allows 1 kg" in refusal(
            checked, Pick(Target("kettle", here))
        )
        beside = (2.0, 1.1, 0.9)
        checked.check(Pick(Target("mug", beside)), BODY)
        unknown = refusal(checked, Pick(Target("crate", beside)))
        assert "the mass of 'crate' is not known" in unknown and "unknown_mass: allow" in unknown
        # A kettle elsewhere is another one.
        assert "not known" in refusal(checked, Pick(Target("kettle", (8.0, 1.0, 0.9))))

    def test_an_instance_counts_only_where_it_is_what_the_target_says(self):
        scene = house()
        for id_, label, x, mass in (
            ("spoon", "spoon", 8.0, "0.05"),
            ("small", "kettle", 1.6, "0.5"),
            ("other", "kettle", 8.0, "0.1"),
        ):
            box = Box((x, 1.0, 0.9), (0.2, 0.2, 0.3))
            scene.add_object(SceneObject(id_, LabelBelief.of(label), box, "r1"))
            scene.objects[id_].properties["mass"] = mass
        checked = guard({"area": "anywhere", "payload": 1.0}, scene=scene)
        for instance in ("spoon", "other", "nobody", "", "o1"):
            kettle = Pick(Target("kettle", (1.6, 1.0, 0.9), instance))
            assert "'kettle' weighs 1.40 kg" in refusal(checked, kettle), instance
        checked.check(Pick(Target("kettle", (1.6, 1.0, 0.9), "small")), BODY)

    @pytest.mark.parametrize("instance", ["", "o1", "o2", "none"])
    def test_what_lies_there_counts_under_whatever_label_it_is_asked_for(self, instance):
        scene = house()
        box = Box((1.6, 1.0, 0.9), (0.2, 0.02, 0.02))
        scene.add_object(SceneObject("o2", LabelBelief.of("spoon"), box, "r1"))
        limits = {"area": "anywhere", "payload": 1.0, "masses": {"spoon": 0.05}}
        checked = guard(limits, scene=scene)
        why = refusal(checked, Pick(Target("spoon", (1.0, 1.0, 0.9), instance)))
        assert "'kettle' weighs 1.40 kg" in why
        checked.check(Pick(Target("spoon", (1.6, 1.0, 0.9), instance)), BODY)

    def test_what_lies_in_a_heavy_thing_is_not_as_heavy(self):
        scene = house()
        box = Box((1.0, 1.0, 0.9), (0.1, 0.02, 0.02))
        scene.add_object(SceneObject("o2", LabelBelief.of("spoon"), box, "r1"))
        limits = {"area": "anywhere", "payload": 1.0, "masses": {"spoon": 0.05}}
        guard(limits, scene=scene).check(Pick(Target("spoon", (1.0, 1.0, 0.9))), BODY)

    def test_a_mass_that_is_unknown_hides_none_that_is_too_large(self):
        scene = house()
        box = Box((1.2, 1.0, 0.9), (0.2, 0.2, 0.3))
        scene.add_object(SceneObject("o2", LabelBelief.of("kettle"), box, "r1"))
        kettle = Pick(Target("kettle", (1.2, 1.0, 0.9)))
        anywhere = {"area": "anywhere", "payload": 1.0}
        assert "is not known" in refusal(guard(anywhere, scene=scene), kettle)
        allows = guard({**anywhere, "unknown_mass": "allow"}, scene=scene)
        assert "weighs 1.40 kg" in refusal(allows, kettle)

    def test_who_may_say_that_an_unknown_mass_is_fine(self):
        crate = Pick(Target("crate", (1.0, 1.0, 0.9)))
        anywhere = {"area": "anywhere", "payload": 1.0}
        guard({**anywhere, "unknown_mass": "allow"}).check(crate, BODY)
        refusal(guard(anywhere, {"unknown_mass": "allow"}), crate)  # it would widen the team's
        refusal(guard({**anywhere, "unknown_mass": "allow"}, {"unknown_mass": "refuse"}), crate)

    def test_the_lowest_speed_holds_for_limits_and_bodies(self):
        both = guard({"speed": 0.5}, {"speed": 0.3})
        assert both.speed == 0.3
        assert both.limits.body(BODY).linear_speed == 0.3
        assert guard({"speed": 5.0}).limits.body(BODY) == BODY
        assert guard().speed is None

    def test_skills_that_are_allowed(self):
        looks = guard({"area": "anywhere", "skills": ["navigate_to", "look_around"]})
        looks.check(go(1, 1), BODY)
        assert "Pick is not among the allowed skills" in refusal(
            looks, Pick(Target("mug", (1, 1, 1)))
        )
        narrowed = guard(
            {"area": "anywhere", "skills": ["navigate_to"]}, {"skills": ["pick", "navigate_to"]}
        )
        assert "(limits.skills)" in refusal(narrowed, Pick(Target("mug", (1, 1, 1))))
        assert "(none)" in refusal(guard({"skills": []}), Wait(1.0))

    def test_docking_is_refused_by_default_and_by_skills_hours_and_body(self):
        anywhere = {"area": "anywhere"}
        guard(anywhere).check_docking(BODY)
        guard({**anywhere, "skills": ["navigate_to", "dock"]}).check_docking(BODY)
        for limits, words in (
            ({}, "dock: no area is allowed"),
            ({**anywhere, "keep_out": ["study"]}, "limits.keep_out[0]: the map has no outline"),
            ({**anywhere, "skills": []}, "dock is not among the allowed skills (none)"),
            ({**anywhere, "skills": ["navigate_to"]}, "(limits.skills)"),
            ({**anywhere, "hours": "sat 10:00-12:00"}, "(limits.hours)"),
        ):
            with pytest.raises(SkillRefused) as caught:
                guard(limits).check_docking(BODY)
            assert caught.value.result.outcome is Outcome.REFUSED
            assert words in caught.value.result.reason
        with pytest.raises(SkillRefused) as caught:
            guard(anywhere).check_docking(Embodiment(name="post", mobility="fixed"))
        assert caught.value.result.outcome is Outcome.UNSUPPORTED

    def test_hours(self):
        shift = {"area": "anywhere", "hours": ["mon-fri 22:00-06:00", "sat 10:00-12:00"]}
        guard(shift, at=datetime(2026, 3, 10, 23, 0)).check(go(1, 1), BODY)
        guard(shift, at=datetime(2026, 3, 14, 5, 59)).check(go(1, 1), BODY)  # Friday's night
        late = refusal(guard(shift, at=datetime(2026, 3, 14, 6, 0)), go(1, 1))
        assert "it is Sat 06:00" in late and "(limits.hours)" in late


@pytest.mark.parametrize(
    ("text", "problem"),
    [("8-20", "HH:MM"), ("08:00-08:00", "empty"), ("25:00-26:00", "time of day"),
     ("mo 08:00-09:00", "unknown day 'mo'"), ("08:61-09:00", "time of day")],
)  # fmt: skip
def test_windows_that_are_none(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        TimeWindow.parse(text)


def test_days_may_wrap_around_the_week() -> None:
    window = TimeWindow.parse("sat-mon 00:00-24:00")
    assert [window.contains(datetime(2026, 3, day, 23, 59)) for day in range(9, 16)] == [
        True, False, False, False, False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"area": [[0, 0], [1, 1]]}, "at least 3 corners"),
        ({"area": [[0, 0], [1, 1], [1, 0], [0, 1]]}, "self-intersection"),
        ({"area": [[0, 0], [1, 0], [2, 0]]}, "no polygon"),
        ({"floors": [{}]}, "name of a floor"),
        ({"floors": [{"z": [3, 1]}]}, "lowest, highest"),
        ({"keep_out": [{"room": "lab", "polygon": [[0, 0], [1, 0], [1, 1]]}]}, "a room or a"),
        ({"skills": ["pik"]}, "did you mean 'pick'"),
        ({"speed": 0}, "greater than 0"),
        ({"hours": "always"}, "window of time"),
        ({"fence": []}, "fence"),
    ],
)
def test_sections_that_are_wrong(section: dict, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Limits.model_validate(section)


def test_limits_go_through_a_parameter() -> None:
    limits = guard(
        {"area": L_SHAPE, "floors": ["ground"], "keep_out": ["lab"], "hours": "08:00-20:00"},
        {"speed": 0.2, "skills": []},
    ).limits
    assert RobotLimits.from_json(limits.to_json()) == limits
    assert RobotLimits.from_json("") == RobotLimits()
    with pytest.raises(ValueError, match=r"limits: .*speed"):
        RobotLimits.from_json('{"team": {"speed": -1}}')


def test_fences_tell_what_the_guard_enforces() -> None:
    """Points that the outlines allow are those that the guard does, also over the wire."""
    checked = guard(
        {"area": [L_SHAPE, [[8, 2], [10, 2], [10, 4], [8, 4]]], "floors": ["ground"]},
        {"keep_out": ["study", {"polygon": [[6, 0], [7, 0], [7, 1], [6, 1]], "z": [-1, 1]}]},
        house(),
    )
    told = Fences.from_json(checked.fences().to_json(), "rover/fences")
    assert told == checked.fences() and not told.trouble
    assert [(f.keep_out, f.where, f.name) for f in told.fences] == [
        (False, "limits.area", ""),
        (False, "limits.floors", ""),
        (True, "robots.ada.limits.keep_out[0]", "study"),
        (True, "robots.ada.limits.keep_out[1]", ""),
    ]
    assert len(told.fences[2].pieces) == 2  # a kind of room: one below, one above

    def holds(piece, x: float, y: float, z: float) -> bool:
        if piece.z is not None and not piece.z[0] <= z <= piece.z[1]:
            return False
        return not piece.rings or shapely.Polygon(piece.rings[0], piece.rings[1:]).contains(
            shapely.Point(x, y)
        )

    seen = set()
    for x, y, z in itertools.product((-0.5, 0.6, 3.1, 5.6, 6.5, 9.2), (0.5, 1.5, 3.1), (0.0, 3.1)):
        allowed = all(
            fence.keep_out != any(holds(piece, x, y, z) for piece in fence.pieces)
            for fence in told.fences
        )
        assert allowed == (not checked.strays((x, y, z))), (x, y, z)
        seen.add(allowed)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("team", "trouble"),
    [({}, "no area is allowed"), ({"area": "anywhere", "floors": ["attic"]}, "no floor 'attic'")],
)
def test_fences_tell_why_a_robot_must_not_move_at_all(team: dict, trouble: str) -> None:
    checked = guard(team, scene=house())
    assert trouble in checked.fences().trouble
    assert checked.fences().trouble in refusal(checked, go(1.0, 1.0))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "rover/fences"),
        ('{"fences": [{"keep_out": true}]}', "where"),
        ('{"fences": [{"keep_out": true, "where": "", "pieces": [{"rings": [[[0, 0]]]}]}]}', "3"),
        ('{"trouble": "' + "x" * 1_000_000 + '"}', "at most"),
    ],
)
def test_fences_that_cannot_be_read(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"rover/fences.*{problem}|{problem}"):
        Fences.from_json(text, "rover/fences")
