"""Policy of permits: first rule that is for a goal, stricter of team and robot, refuse unsaid."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from coterie_core.geometry import Box
from coterie_core.skills import LookAround, MoveArmTo, NavigateTo, Open, Pick, Target
from coterie_core.skills import Place as Put
from coterie_safety.permits import PermitGoal, Permits, RobotPermits, Surroundings
from coterie_safety.permits.goal_scope import is_thing
from coterie_safety.permits.policy import STRICTNESS, PermitRule
from coterie_world.scene import Floor, LabelBelief, Place, PlaceLink, Room, SceneGraph, SceneObject

MONDAY_NOON = datetime(2026, 3, 9, 12, 0)


def flat() -> SceneGraph:
    """Return three rooms in a row, 4 m x 4 m each, with a place in each and a knife in the last."""
    scene = SceneGraph()
    scene.add_floor(Floor("ground", 0, 0.0, 2.6))
    for k, (name, kind) in enumerate(
        [("hall", "hallway"), ("study 1", "study"), ("study", "study")]
    ):
        x = 4.0 * k
        outline = [(x, 0.0), (x + 4.0, 0.0), (x + 4.0, 4.0), (x, 4.0)]
        scene.add_room(Room(f"r{k}", name, kind, "ground", outline))
        scene.add_place(Place(f"p{k}", (x + 2.0, 2.0, 0.0), f"r{k}", "ground"))
    for k in (0, 1):
        scene.add_link(PlaceLink(f"p{k}", f"p{k + 1}", 4.0))
    box = Box((10.0, 2.0, 0.8), (0.2, 0.05, 0.05))
    scene.add_object(SceneObject("o1", LabelBelief.of("knife"), box, "r2"))
    return scene


AROUND = Surroundings(flat())
HALL, FAR = (2.0, 2.0, 0.0), (10.0, 2.0, 0.0)


def goal(skill="drive", robot="rover", speed=0.4, here=HALL, **options) -> PermitGoal:
    if skill == "drive":
        skill = NavigateTo(position=FAR)
    return AROUND.goal(robot, skill, here, speed, **options)


def pick(label: str, at=(2.0, 1.0, 0.8)) -> PermitGoal:
    return goal(Pick(Target(label, at)))


def said(team, asked: PermitGoal, robot=None, real=False, now=MONDAY_NOON):
    """Return (answer, place) of the policies of a team and of a robot."""
    permits = RobotPermits(
        team=Permits.model_validate(team),
        robot=Permits.model_validate(robot or {}),
        name="rover",
        real=real,
    )
    verdict = permits.decide(asked, AROUND, now)
    return verdict.answer, verdict.where


def test_a_real_robot_that_nothing_is_said_about_is_refused_and_told_what_to_write():
    answer, where = said({}, goal(), real=True)
    assert answer == "refuse" and "permits: {" in where
    assert said({}, goal())[0] == "allow"
    only_own = said({}, goal(), robot={"otherwise": "allow"}, real=True)
    assert only_own[0] == "refuse", "a robot's own section cannot give"


@pytest.mark.parametrize(
    ("rule", "asked", "holds"),
    [
        ({"robots": "rover"}, goal(), True),
        ({"robots": ["slim"]}, goal(), False),
        ({"skills": "navigate_to"}, goal(), True),
        ({"skills": ["pick", "dock"]}, goal("dock"), True),
        ({"skills": "pick"}, goal(LookAround()), False),
        ({"faster_than": 0.5}, goal(speed=0.5), False),
        ({"faster_than": 0.5}, goal(speed=0.6), True),
        ({"not_faster_than": 0.5}, goal(speed=0.5), True),
        ({"not_faster_than": 0.5}, goal(speed=float("nan")), False),
        ({"hours": "mon 08:00-13:00"}, goal(), True),
        ({"hours": "tue 08:00-13:00"}, goal(), False),
        ({"objects": "knife"}, goal(), False),
    ],
)
@pytest.mark.parametrize("answer", ["allow", "ask", "refuse"])
def test_what_a_rule_is_for(rule, asked, holds, answer):
    one = PermitRule.model_validate({"answer": answer, **rule})
    assert one.holds(asked, AROUND, MONDAY_NOON) is holds


@pytest.mark.parametrize(
    ("rooms", "asked", "allows", "refuses"),
    [
        # The way leads from the hall over study 1 to the study.
        (["study"], goal(), False, True),
        (["hall", "study 1", "study"], goal(), True, True),
        (["hallway"], goal(), False, True),
        (["study"], goal(here=FAR), True, True),
        (["r2"], goal(here=FAR), True, True),
        (["hall"], goal(here=FAR), False, False),
        (["study 1"], goal(MoveArmTo((6.0, 1.0, 1.0))), True, True),
        # By its exact name a room is allowed, by its kind another one is refused, too.
        (["study"], goal(LookAround(), here=(6.0, 2.0, 0.0)), False, True),
        # Where nobody knows the room, only what the map has can be ruled out.
        (["hall"], goal(MoveArmTo((50.0, 50.0, 1.0))), False, False),
        (["cellar"], goal(MoveArmTo((50.0, 50.0, 1.0))), False, True),
        (["cellar"], goal(here=FAR), False, False),
        (["hall"], goal("dock"), False, False),
        (["cellar"], goal("dock"), False, True),
        (["cellar"], goal(here=None), False, True),
    ],
)
def test_rooms_of_target_and_way(rooms, asked, allows, refuses):
    for answer, holds in (("allow", allows), ("ask", refuses), ("refuse", refuses)):
        rule = PermitRule(answer=answer, rooms=tuple(rooms))
        assert rule.holds(asked, AROUND, MONDAY_NOON) is holds, answer


@pytest.mark.parametrize(
    ("label", "name", "exactly", "loosely"),
    [
        ("knife", "knife", True, True),
        ("Knives", "knife", True, True),
        ("bread knife holder", "knife", False, True),
        ("toy knife", "knife", False, True),
        ("knife", "toy knife", False, False),
        ("coffee table", "tabletops", True, True),
        ("mug", "knife", False, False),
        ("bookshelf", "bookcase", False, True),
        ("bookcase", "bookshelf", False, False),
        ("oak bookcase", "bookcase", False, True),
        ("zorblax", "zorblax", True, True),
        ("blue zorblax", "zorblax", False, True),
    ],
)
def test_what_a_thing_counts_as(label, name, exactly, loosely):
    assert is_thing(label, name) is exactly
    assert is_thing(label, name, loosely=True) is loosely


def test_a_thing_counts_by_what_the_map_has_there_too():
    """A model that calls a knife a mug gets no further."""
    renamed = pick("mug", at=(10.05, 2.0, 0.8))
    assert set(renamed.objects) == {"mug", "knife"}
    mugs = {
        "rules": [{"skills": "pick", "objects": "mug", "answer": "allow"}],
        "otherwise": "refuse",
    }
    assert said(mugs, pick("mug"))[0] == "allow"
    assert said(mugs, renamed)[0] == "refuse"
    knives = {"rules": [{"objects": "knife", "answer": "refuse"}]}
    assert said(knives, renamed)[0] == "refuse"


def test_a_thing_is_as_large_as_its_box_and_not_what_it_stands_on():
    scene = flat()
    for id_, label, centre, size, kind in (
        ("o2", "shears", (6.0, 1.0, 0.8), (1.0, 0.1, 0.1), "item"),
        ("o3", "table", (6.4, 1.0, 0.4), (2.0, 1.0, 0.75), "furniture"),
        ("o4", "mug", (5.3, 1.0, 0.8), (0.1, 0.1, 0.1), "item"),
        ("o5", "cupboard", (6.45, 1.0, 0.8), (1.0, 1.0, 1.0), "furniture"),
    ):
        scene.add_object(SceneObject(id_, LabelBelief.of(label), Box(centre, size), "r1", kind))
    around = Surroundings(scene)
    assert around.labels(Target("cloth", (6.45, 1.0, 0.8))) == ("cloth", "shears")
    assert around.labels(Target("cloth", (5.5, 1.0, 0.85))) == ("cloth", "shears")
    assert around.labels(Target("cloth", (5.42, 1.0, 0.8))) == ("cloth", "mug", "shears")
    assert around.labels(Target("cloth", (7.3, 1.0, 0.8))) == ("cloth", "table")
    assert around.labels(Target("cloth", (7.3, 1.0, 1.5))) == ("cloth",)


def test_what_a_robot_holds_is_touched_where_it_puts_it():
    put = goal(Put(Target("shelf", (2.0, 1.0, 1.0))), holding="knife")
    assert put.objects == ("shelf", "knife")
    assert said({"rules": [{"objects": "knife", "answer": "ask"}]}, put)[0] == "ask"


def test_the_first_rule_decides_and_the_place_is_told():
    rules = [
        {"skills": "pick", "objects": "mug", "answer": "allow"},
        {"skills": "pick", "answer": "ask"},
        {"skills": "open", "answer": "refuse"},
    ]
    team = {"rules": rules, "otherwise": "allow"}
    assert said(team, pick("mug")) == ("allow", "permits.rules[0]")
    assert said(team, pick("vase")) == ("ask", "permits.rules[1]")
    opened = goal(Open(Target("fridge", (2.0, 1.0, 1.0))))
    assert said(team, opened) == ("refuse", "permits.rules[2]")
    assert said(team, goal()) == ("allow", "permits.otherwise")
    own = {"rules": [{"skills": "pick", "answer": "refuse"}]}
    assert said(team, pick("mug"), own) == ("refuse", "robots.rover.permits.rules[0]")
    assert said("ask", goal()) == ("ask", "permits.otherwise")


NAMES = st.lists(st.sampled_from(["hall", "study", "study 1", "cellar"]), max_size=2)
RULES = st.builds(
    PermitRule,
    answer=st.sampled_from(["allow", "ask", "refuse"]),
    skills=st.lists(st.sampled_from(["navigate_to", "pick", "dock"]), max_size=2),
    rooms=NAMES,
    objects=st.lists(st.sampled_from(["knife", "mug", "tabletops"]), max_size=2),
    faster_than=st.sampled_from([None, 0.3, 0.5]),
    not_faster_than=st.sampled_from([None, 0.3, 0.5]),
    hours=st.sampled_from([(), ("mon 10:00-14:00",), ("tue 10:00-14:00",)]),
)
SECTIONS = st.builds(
    Permits,
    rules=st.lists(RULES, max_size=4),
    otherwise=st.sampled_from([None, "allow", "ask", "refuse"]),
)
GOALS = st.sampled_from(
    [goal(), goal(here=None), goal(here=FAR, speed=0.6), goal("dock"), pick("mug"),
     pick("mug", at=(10.0, 2.0, 0.8)), goal(LookAround()), goal(robot="slim")]
)  # fmt: skip


def strictness(team, own, asked, real) -> int:
    permits = RobotPermits(team=team, robot=own, name="rover", real=real)
    return STRICTNESS[permits.decide(asked, AROUND, MONDAY_NOON).answer]


@settings(max_examples=200, deadline=None)
@given(team=SECTIONS, own=SECTIONS, rule=RULES, asked=GOALS, real=st.booleans(), data=st.data())
def test_what_takes_away_never_gives(team, own, rule, asked, real, data):
    """A robot's own section, one more refusal, and an allowance for less never widen a policy."""
    before = strictness(team, own, asked, real)
    assert before >= strictness(team, Permits(), asked, real)
    k = data.draw(st.integers(0, len(team.rules)))
    refusal = rule.model_copy(update={"answer": "refuse"})
    more = team.model_copy(update={"rules": (*team.rules[:k], refusal, *team.rules[k:])})
    assert strictness(more, own, asked, real) >= before
    allowed = [i for i, one in enumerate(team.rules) if one.answer == "allow"]
    if allowed:
        i = data.draw(st.sampled_from(allowed))
        lower = data.draw(
            st.sampled_from([{"not_faster_than": 0.3}, {"skills": ("open",)}, {"rooms": ("hall",)}])
        )
        if not (set(lower) == {"rooms"} and team.rules[i].rooms) and not (
            set(lower) == {"not_faster_than"} and team.rules[i].not_faster_than == 0.3
        ):
            less = team.rules[i].model_copy(update=lower)
            if set(lower) != {"skills"} or not team.rules[i].skills:
                narrowed = (*team.rules[:i], less, *team.rules[i + 1 :])
                after = strictness(team.model_copy(update={"rules": narrowed}), own, asked, real)
                assert after >= before


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"rules": [{"skills": ["pickup"], "answer": "ask"}]}, "did you mean 'pick'"),
        ({"rules": [{"skills": ["detect"], "answer": "ask"}]}, "needs no permit"),
        ({"rules": [{"answer": "maybe"}]}, "allow"),
        ({"rules": [{"skills": ["pick"]}]}, "answer"),
        ({"rules": [{"answer": "ask", "hours": "noon"}]}, "window of time"),
        ({"rules": [{"answer": "ask", "rooms": " "}]}, "empty"),
        ("perhaps", "otherwise"),
    ],
)
def test_mistakes_are_told(section, expected):
    with pytest.raises(ValidationError, match=expected):
        Permits.model_validate(section)


def test_a_policy_goes_to_a_node_and_back():
    permits = RobotPermits(
        team=Permits.model_validate({"rules": [{"answer": "ask", "rooms": ["hall"]}]}),
        name="rover",
        real=True,
    )
    assert RobotPermits.from_json(permits.to_json()) == permits
    assert RobotPermits.from_json("", real=True).real
    with pytest.raises(ValueError, match="parameter 'permits': team"):
        RobotPermits.from_json('{"team": {"rules": 3}}', "parameter 'permits'")


def test_the_digest_is_of_exactly_the_goal():
    one = goal(Pick(Target("mug", (2.0, 1.0, 0.8))))
    same = goal(Pick(Target("mug", (2.0, 1.0, 0.8))), why="because")
    assert one.digest == same.digest
    others = [
        goal(Pick(Target("mug", (2.0, 1.0, 0.8000001)))),
        goal(Pick(Target("mug", (2.0, 1.0, 0.8), "i7"))),
        goal(Open(Target("mug", (2.0, 1.0, 0.8)))),
        goal(Pick(Target("mug", (2.0, 1.0, 0.8))), robot="slim"),
        goal(Pick(Target("mug", (2.0, 1.0, 0.8))), speed=0.5),
        goal(NavigateTo(place="p1"), spot=(1.0, 1.0, 0.0)),
        goal(NavigateTo(place="p1"), spot=(1.0, 1.1, 0.0)),
    ]
    assert len({one.digest, *(other.digest for other in others)}) == 8
    assert replace(one, what="").digest == one.digest
