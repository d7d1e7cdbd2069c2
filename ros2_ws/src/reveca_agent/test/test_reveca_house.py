"""The body in a house: what it perceives, forgets and finds again, and what actions become."""

import math
from dataclasses import replace

import pytest

from coterie_core.cooperation import (
    Close,
    Facts,
    Goal,
    GoTo,
    Grab,
    Note,
    Open,
    Put,
    Result,
    Sighting,
    Spot,
    Wait,
)
from coterie_core.geometry import Box, Pose
from coterie_core.skills import Close as CloseSkill
from coterie_core.skills import LookAround, NavigateTo, Outcome, Pick, Place, SkillResult
from coterie_core.skills import Open as OpenSkill
from coterie_core.tasks import SubTask
from coterie_fixtures.two_room_map import (
    KITCHEN,
    LIVING,
    SHAPE,
    Eyes,
    at_work,
    detected,
    furniture,
    two_rooms,
)
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from reveca_agent.agent import RevecaAgent
from reveca_agent.entries import Entry
from reveca_agent.house import (
    MISSES,
    MISSES_OF_OWN,
    MOST_LOST,
    HouseBody,
)
from reveca_agent.household_goal import household_goal, unfamiliar
from reveca_agent.memory import Memory
from reveca_agent.plans import Plan
from reveca_agent.room_search import LOOK_AGAIN
from reveca_agent.settings import Settings
from reveca_agent.skill_book import deliver

pytestmark = pytest.mark.quick

MUG = detected("mug", 2.0, 0.4, 0.9)
ON_TABLE = detected("mug", 6.5, 1.7, 0.75)
HIGH = detected("vase", 8.9, 2.0, 2.02)
GOAL = Goal.parse("tidy", ["ON(mug, table): 1"])
DONE = SkillResult(Outcome.SUCCEEDED, duration=1.0)
ALL = {"p1": 1.0, "p2": 1.0}


@pytest.fixture
def body():
    made = HouseBody("rover", two_rooms(), SHAPE)
    made.briefing(GOAL, ["rover", "slim"], max_time=100.0)
    return made


@pytest.fixture
def eyes(body):
    return Eyes(body)


def ids(percept):
    return {thing.id for thing in percept.things}


def items(body):
    return {o.id for o in body.map.scene.objects.values() if o.kind == "item"}


def scene_thing(id_):
    at = Box((2.0, 0.3, 0.95), (0.1, 0.1, 0.1))
    return SceneObject(id_, LabelBelief.of("mug"), at, "kitchen", support="counter-1")


def carry(body, item="rover-mug-1"):
    assert isinstance(body.motion(Grab(item)), SubTask)
    body.ended(Grab(item), DONE)


def put_away(body):
    """Let the body get rid of what it holds; return its steps."""
    steps = []
    body.executive.clearing.begin()
    while (step := body.executive.clear_hand()) is not None:
        steps.append(step.skill)
        if isinstance(step.skill, NavigateTo):
            yaw = step.skill.yaw or body.pose.yaw
            body.executive.pose = Pose(step.skill.position, yaw)
        body.put_away(step, DONE)
    return steps


# --- the map -------------------------------------------------------------------------------------


def test_a_map_without_outlines_still_has_rooms_and_ways(eyes):
    body = HouseBody("rover", two_rooms(outlines=False), SHAPE)
    assert body.map.ways.rooms["kitchen"].center in {(1.0, 2.0, 0.0), (3.0, 2.0, 0.0)}
    Eyes(body).see(MUG)
    assert body.percept().spot.room in body.map.ways.rooms
    assert body.motion(GoTo("living")).rooms == ("living",)


def test_a_map_without_any_room_is_refused():
    for scene in (SceneGraph(), two_rooms(outlines=False, places=False)):
        with pytest.raises(ValueError, match="prior_map: rooms or furniture"):
            HouseBody("rover", scene, SHAPE)


# --- percepts ------------------------------------------------------------------------------------


def test_the_first_percept_holds_all_furniture_and_later_ones_this_room(body, eyes):
    eyes.see(MUG)
    assert ids(body.percept()) == {"counter-1", "cabinet-1", "table-1", "shelf-1", "rover-mug-1"}
    assert ids(body.percept()) == {"counter-1", "cabinet-1", "rover-mug-1"}
    eyes.see(ON_TABLE, at=LIVING)
    assert ids(body.percept()) == {"table-1", "shelf-1"}, "one look does not tell that it is there"
    eyes.see(ON_TABLE, at=LIVING)
    assert ids(body.percept()) == {"table-1", "shelf-1", "rover-mug-2"}
    body.briefing(GOAL, ["rover"], max_time=10.0)
    assert "counter-1" in ids(body.percept()), "a new goal is told all again"


def test_things_lie_on_furniture_and_have_a_spot_in_reach(body, eyes):
    eyes.see(MUG)
    mug = next(t for t in body.percept().things if t.id == "rover-mug-1")
    assert (mug.label, mug.parent, mug.relation, mug.portable) == ("mug", "counter-1", "on", True)
    assert mug.spot.room == "kitchen"


def test_what_is_in_something_closed_is_hidden_until_it_is_open(body, eyes):
    body.map.set_open("cabinet-1", True)
    milk = detected("milk", 0.3, 3.5, 0.5)
    eyes.see(milk)
    assert "rover-milk-1" in ids(body.percept())
    body.ended(Close("cabinet-1"), DONE)
    for _ in range(3 * MISSES_OF_OWN):
        eyes.see(at=(0.6, 2.5, 0.0))
    assert "rover-milk-1" not in ids(body.percept())
    body.ended(Open("cabinet-1"), DONE)
    shown = {t.id: t for t in body.percept().things}
    assert shown["rover-milk-1"].relation == "in" and shown["cabinet-1"].is_open


def test_what_is_held_is_in_the_hand_and_not_among_the_things(body, eyes):
    eyes.see(MUG)
    carry(body)
    for _ in range(MISSES + 1):
        eyes.see()
    percept = body.percept()
    assert percept.hands == ("rover-mug-1",) and "rover-mug-1" not in ids(percept)
    assert "rover-mug-1" in items(body)


def test_large_things_and_unknown_ones_are_not_carried(body, eyes):
    eyes.see(detected("mug", 2.0, 0.4, 0.9, size=0.7), detected("", 1.0, 0.4, 0.9))
    assert all(t.kind != "item" for t in body.percept().things)


def look_through(body, room="kitchen"):
    """Let a robot look through a room; return the spots that it looked around from [m]."""
    looks = []
    while isinstance(one := body.motion(GoTo(room)), SubTask):
        step = body.executive.next_step(one)
        if step.effect != "act":
            body.search.ended(room)
            continue
        assert isinstance(step.skill, NavigateTo | LookAround), "it opens nothing"
        if isinstance(step.skill, NavigateTo):
            body.moved(step.skill.position, body.time + 1.0)
        else:
            looks.append(body.pose.position)
        body.stepped(GoTo(room), step, DONE)
    assert one == Result(True, True)
    return looks


def test_a_room_is_covered_when_enough_of_it_was_seen(body, eyes):
    eyes.see(MUG)
    assert body.percept().covered == ()
    assert 0 < len(look_through(body)) < 8
    assert body.percept().covered == ("kitchen",)
    eyes.see(at=LIVING)
    assert body.percept().covered == ()


def test_a_room_in_which_nothing_was_found_is_looked_through_from_nearer(body, eyes):
    """By its next visit more of it has to be seen than by the one before."""
    eyes.see(MUG)
    visits = []
    for _ in range(3):
        assert body.percept().covered == ()
        visits.append(look_through(body))
        assert body.percept().covered == ("kitchen",)
        eyes.see(at=LIVING)
        body.moved(LIVING, body.time + LOOK_AGAIN + 1.0)
        eyes.see(at=KITCHEN)
    assert len(visits[0]) < len(visits[-1])


def test_a_room_that_no_further_look_shows_more_of_is_left(body, eyes):
    eyes.see(MUG)
    body.motion(GoTo("kitchen"))
    body.search.ended("kitchen")
    assert body.motion(GoTo("kitchen")) == Result(True, True)
    assert body.percept().covered == ("kitchen",)
    eyes.see(at=LIVING)
    assert body.motion(GoTo("kitchen")).kind == "go_to", "it may be looked through anew there"


def test_a_teammate_is_in_view_while_in_the_same_room_and_lately_heard_of(body, eyes):
    eyes.see(MUG)
    body.teammate("slim", "kitchen", (1.0, 1.0, 0.0), "")
    body.teammate("rover", "kitchen", (1.0, 1.0, 0.0), "")
    body.teammate("ghost", "cellar", (1.0, 1.0, 0.0), "")
    assert [mate.name for mate in body.percept().teammates] == ["slim"]
    body.moved(KITCHEN, body.time + 60.0)
    assert not body.percept().teammates


# --- forgetting and finding again ----------------------------------------------------------------


def test_furniture_that_a_furnished_map_lacks_is_no_container(body, eyes):
    eyes.see(detected("fridge", 3.0, 2.0, 0.9))
    assert ids(body.percept()) == {"counter-1", "cabinet-1", "table-1", "shelf-1"}


def test_what_is_missed_often_is_forgotten_and_gets_its_name_back(body, eyes):
    eyes.see(MUG)
    for k in range(MISSES):
        assert items(body) == {"rover-mug-1"}, k
        eyes.see()
    assert not items(body)
    eyes.see(MUG)
    assert items(body) == {"rover-mug-1"}


@pytest.mark.parametrize(
    ("kind", "answer", "place", "stays"),
    [
        ("done", "placed", "table-1", False),
        ("reply", "taken", "", False),
        ("reply", "placed", "table-1", False),
        ("done", "placed", "counter-1", True),  # it lies there for oneself, too
        ("reply", "untouched", "", True),
        ("ask", "", "counter-1", True),
    ],
)
def test_what_another_one_took_away_is_off_the_map_until_it_is_seen_again(
    body, eyes, kind, answer, place, stays
):
    """What the map shows counts more than words: it was fetched from where it no longer lay."""
    eyes.see(MUG)
    body.percept()
    facts = Facts(item="rover-mug-1", label="mug", place=place, answer=answer)
    shown = body.percept([Note("slim-1", "slim", kind, "x", facts)])
    assert ("rover-mug-1" in ids(shown)) is stays
    eyes.see(MUG)  # they err, or lie
    assert "rover-mug-1" in ids(body.percept())


def test_what_is_in_the_own_hand_stays_there_whatever_is_said(body, eyes):
    eyes.see(MUG)
    carry(body)
    facts = Facts(item="rover-mug-1", label="mug", place="table-1", answer="placed")
    assert body.percept([Note("slim-1", "slim", "done", "x", facts)]).hands == ("rover-mug-1",)
    assert "rover-mug-1" in items(body)


def test_a_thing_in_view_now_and_then_stays(body, eyes):
    for _ in range(4):
        eyes.see(MUG)
        for _ in range(MISSES - 1):
            eyes.see()
    assert items(body) == {"rover-mug-1"}


def test_what_is_out_of_view_is_not_missed(body, eyes):
    eyes.see(MUG)
    for _ in range(MISSES + 1):
        eyes.see(at=(3.5, 3.5, 0.0))
        eyes.see(at=LIVING)
    assert items(body) == {"rover-mug-1"}


def test_what_one_put_somewhere_oneself_is_believed_longer(body, eyes):
    eyes.see(MUG)
    carry(body)
    eyes.see(at=LIVING)
    body.about_to_put()
    body.ended(Put("rover-mug-1", "table-1"), DONE)
    for _ in range(MISSES_OF_OWN - 1):
        eyes.see(at=LIVING)
    assert items(body) == {"rover-mug-1"}
    eyes.see(at=LIVING)
    assert not items(body)


def test_lost_names_and_stands_are_bounded(body, eyes):
    eyes.see()
    for k in range(MOST_LOST + 20):
        body.map.scene.add_object(scene_thing(f"rover-mug-{k}"))
        body.percept()
        body._forget(f"rover-mug-{k}")
    assert len(body._lost) <= MOST_LOST
    assert len(body.map._stands) <= 4 and not body._misses


# --- what is put down ----------------------------------------------------------------------------


def test_what_appears_where_one_puts_a_thing_is_that_thing(body, eyes):
    eyes.see(MUG)
    carry(body)
    eyes.see(at=LIVING)
    body.about_to_put()
    eyes.see(detected("mug", 6.9, 2.3, 0.75), at=LIVING)  # before the hand says that it let go
    assert len(items(body)) == 2
    body.ended(Put("rover-mug-1", "table-1"), DONE)
    assert items(body) == {"rover-mug-1"}
    eyes.see(detected("mug", 6.9, 2.3, 0.75), at=LIVING)
    mug = body.map.scene.objects["rover-mug-1"]
    assert items(body) == {"rover-mug-1"} and mug.support == "table-1"
    assert math.dist(mug.box.center[:2], (6.9, 2.3)) < 1e-6


def test_what_stood_there_before_is_another_thing(body, eyes):
    eyes.see(MUG)
    carry(body)
    eyes.see(ON_TABLE, at=LIVING)  # seen on the way there
    body.about_to_put()
    put = body.map.scene.objects["rover-mug-1"]
    eyes.see(ON_TABLE, detected("mug", 6.1, 2.2, 0.75), at=LIVING)
    body.ended(Put("rover-mug-1", "table-1"), DONE)
    assert items(body) == {"rover-mug-1", "rover-mug-2"}
    assert math.dist(put.box.center[:2], (6.1, 2.2)) < 1e-6


def test_a_hand_that_was_empty_holds_nothing(body, eyes):
    eyes.see(MUG)
    carry(body)
    body.ended(Put("rover-mug-1", "table-1"), SkillResult(Outcome.HAND_EMPTY, "empty"))
    assert body.holding == ""
    assert body.percept().result == Result(False, False, "not_holding", "empty")


def test_what_a_robot_did_is_told_to_the_team_with_rooms(body, eyes):
    eyes.see(MUG)
    carry(body)
    body.about_to_put()
    body.ended(Put("rover-mug-1", "table-1"), DONE)
    body.ended(Open("cabinet-1"), DONE)
    body.ended(Open("cabinet-1"), SkillResult(Outcome.BLOCKED, "no"))
    told = [(e.kind, e.object, e.label, e.from_room, e.to_room, e.holder) for e in body.events]
    assert told == [
        ("picked", "rover-mug-1", "mug", "kitchen", "", ""),
        ("placed", "rover-mug-1", "mug", "", "living", "table-1"),
        ("opened", "cabinet-1", "cabinet", "kitchen", "", ""),
    ]


def test_what_nobody_wants_any_more_is_told_where_it_was_put_down(body, eyes):
    eyes.see(MUG)
    carry(body)
    eyes.see(at=LIVING)
    put_away(body)
    mug = body.map.scene.objects["rover-mug-1"]
    assert body.holding == "" and (mug.room, mug.support) == ("living", "table-1")
    told = body.events[-1]
    assert (told.kind, told.object, told.to_room, told.holder) == (
        "placed", "rover-mug-1", "living", "table-1",
    )  # fmt: skip


def test_where_no_table_is_near_it_lies_on_the_floor(eyes, body):
    for thing in list(body.map.scene.objects.values()):
        thing.receptacles = []
    eyes.see(MUG)
    carry(body)
    eyes.see(at=LIVING)
    put_away(body)
    told = body.events[-1]
    assert (told.kind, told.to_room, told.holder) == ("placed", "living", "")
    assert math.dist(told.position[:2], LIVING[:2]) < 1.0 and told.position[2] < 0.1


# --- actions -------------------------------------------------------------------------------------


def test_actions_become_skills_on_things_of_the_map(body, eyes):
    eyes.see(MUG)
    grab = at_work(body, Grab("rover-mug-1")).skill
    assert isinstance(grab, Pick) and grab.target.instance == "rover-mug-1"
    assert isinstance(at_work(body, Open("cabinet-1")).skill, OpenSkill)
    body.map.set_open("cabinet-1", True)
    assert isinstance(at_work(body, Close("cabinet-1")).skill, CloseSkill)
    assert body.motion(Wait()) == Result(True, True)
    walk = at_work(body, GoTo("table-1"), go=False).skill
    assert isinstance(walk, NavigateTo) and walk.yaw is not None
    carry(body)
    put = at_work(body, Put("rover-mug-1", "table-1")).skill
    assert isinstance(put, Place)
    assert put.receptacle.instance == "table-1"
    assert body.map.scene.objects["table-1"].box.contains(put.receptacle.position, 0.01)


def test_what_it_went_to_it_handles_from_there(body, eyes):
    """To go to a thing is to begin what the hand does next: it drives there once."""
    eyes.see(ON_TABLE, at=LIVING)
    assert isinstance(at_work(body, GoTo("rover-mug-1")).skill, Pick)
    assert isinstance(at_work(body, Grab("rover-mug-1"), go=False).skill, Pick)


def test_a_thing_is_put_where_there_is_room_for_it(body, eyes):
    """Only one end of a sofa was free, and the hand did not get there from the other."""
    eyes.see(MUG)
    carry(body)
    # What lies on the table leaves room at its right end only.
    cushions = [detected("cushion", 6.2 + 0.3 * k, 2.0, 0.75, 0.3) for k in range(2)]
    wide = [replace(c, box=Box(c.box.center, (0.3, 0.8, 0.15))) for c in cushions]
    eyes.see(*wide, at=LIVING)
    put = at_work(body, Put("rover-mug-1", "table-1")).skill
    x, y, _ = put.receptacle.position
    assert 6.7 < x <= 7.0 and 1.6 <= y <= 2.4
    assert math.dist(body.pose.position[:2], (x, y)) < 1.0
    body.ended(Put("rover-mug-1", "table-1"), replace(DONE, put_at=put.receptacle.position))
    assert body.map.scene.objects["rover-mug-1"].box.contains(put.receptacle.position, 0.06)


def test_where_the_hand_was_too_short_it_goes_to_another_side(body, eyes):
    eyes.see(ON_TABLE, at=LIVING)
    grab = Grab("rover-mug-1")
    step = at_work(body, grab)
    before = body.pose.position
    body.stepped(grab, step, SkillResult(Outcome.OUT_OF_REACH, "0.08 m short", 1.0))
    again = at_work(body, grab)
    assert isinstance(again.skill, Pick) and math.dist(before, body.pose.position) > 0.3


def test_a_thing_is_put_where_the_robot_saw_that_the_table_bears_it(body, eyes):
    eyes.see(MUG)
    carry(body)
    put, bears = Put("rover-mug-1", "table-1"), (7.8, 2.3, 0.74)
    step = at_work(body, put)
    assert step.skill.receptacle.position != bears
    short = SkillResult(Outcome.OUT_OF_REACH, "go nearer to that", bears_at=bears)
    body.stepped(put, step, short)
    again = at_work(body, put).skill
    assert again.receptacle.position == bears
    assert math.dist(body.pose.position[:2], bears[:2]) < 1.0


def test_on_a_dresser_is_not_in_it():
    """ON(mug, dresser) was never met: what lay on one that opens was told to be in it."""
    bare = two_rooms()
    for id_ in list(bare.objects):
        del bare.objects[id_]
    goal = Goal.parse("tidy", ["ON(mug, dresser): 1", "IN(plate, refrigerator): 1"])
    body, agent = HouseBody("rover", bare, SHAPE), RevecaAgent("rover")
    agent.begin(body.briefing(goal, ["rover"], max_time=100.0))
    dresser = detected("dresser", 2.0, 0.4, 0.0, 0.9)
    fridge = detected("refrigerator", 0.5, 0.4, 0.0, 1.6)
    eyes = Eyes(body)
    eyes.see(dresser, fridge)
    body.map.set_open("rover-refrigerator-1", True)
    on_dresser, _ = goal.subgoals
    for left in (1, 0):  # a look in passing may show what is not there
        eyes.see(dresser, fridge, detected("mug", 2.0, 0.4, 0.9), detected("plate", 2.3, 0.4, 0.9))
        agent.observe(body.percept())
        assert agent.memory.needs()[on_dresser] == left
    things = {thing.label: thing for thing in body.percept().things}
    assert things["mug"].relation == "on"

    def put(item, target):
        plan = Plan("deliver", things[target].id, (things[item].id,), 0)
        body.holding = things[item].id
        agent.memory.hands = (things[item].id,)
        return deliver(plan, agent.memory, lambda spot: True)

    assert put("mug", "dresser").relation == "on", "and nothing is opened for it"
    plate = put("plate", "refrigerator")
    assert plate.relation == "in"
    height = at_work(body, plate).skill.receptacle.position[2]
    assert 0.1 < height < 1.5, "between the bottom and the top, not on the top"


def test_what_lies_on_furniture_found_on_the_way_takes_up_room():
    """The box of a sofa ends with its back, and cushions lie lower."""
    bare = two_rooms()
    for id_ in list(bare.objects):
        del bare.objects[id_]
    body = HouseBody("rover", bare, SHAPE)
    sofa = detected("sofa", 6.5, 3.0, 0.0, 0.8)
    cushion = detected("cushion", 6.2, 3.0, 0.45, 0.3)
    Eyes(body).see(
        MUG,
        replace(sofa, box=Box((6.5, 3.0, 0.4), (1.8, 0.8, 0.8))),
        replace(cushion, box=Box((6.0, 3.0, 0.5), (0.8, 0.7, 0.1))),
        detected("plate", 7.2, 3.2, 0.45),
    )
    carry(body)
    put = at_work(body, Put("rover-mug-1", "rover-sofa-1")).skill
    assert put.receptacle.position[0] > 6.4
    told = {thing.label: thing for thing in body.percept().things}
    assert (told["plate"].parent, told["plate"].relation) == ("rover-sofa-1", "on")


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Grab("nothing"), "gone"),
        (Grab("counter-1"), None),
        (Put("rover-mug-1", "table-1"), "not_holding"),
        (Open("nothing"), "unknown_target"),
        (GoTo("nowhere"), "unknown_target"),
        (GoTo("nowhere", Spot("cellar", (0.0, 0.0, 0.0))), "unknown_target"),
    ],
)
def test_what_cannot_be_done_says_why_and_moves_nothing(body, eyes, action, reason):
    eyes.see(MUG)
    result = body.motion(action)
    if reason is not None:
        assert isinstance(result, Result) and not result.ok
        assert result.reason == reason and result.text


def given_up(body, action):
    """Return what the agent hears of an action that its body rules out."""
    end = at_work(body, action)
    assert end.effect == "give up"
    body.gave_up(action, end, None)
    return body.percept().result


def test_what_is_too_high_is_left_alone(body, eyes):
    eyes.see(HIGH, at=LIVING)
    result = given_up(body, Grab("rover-vase-1"))
    assert not result.ok and result.reason == "too_far"
    assert "2.07 m above the floor" in result.text and "1.50 m" in result.text


def test_without_floor_to_stand_on_nothing_moves(eyes):
    scene = two_rooms()
    scene.add_object(furniture("bar", "counter", "living", (6.5, 3.0, 0.45), (5.0, 3.2, 0.9)))
    body = HouseBody("rover", scene, SHAPE)
    Eyes(body).see(detected("mug", 6.5, 3.9, 0.9), at=(5.0, 0.7, 0.0))
    result = given_up(body, Grab("rover-mug-1"))
    assert not result.ok and result.reason in ("no_way", "too_far")


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome.UNREACHABLE, "no_way"),
        (Outcome.OUT_OF_REACH, "too_far"),
        (Outcome.HAND_FULL, "hands_full"),
        (Outcome.UNKNOWN_TARGET, "gone"),
        (Outcome.FAULT, ""),
        (Outcome.CANCELLED, ""),
    ],
)
def test_outcomes_become_reasons(body, eyes, outcome, reason):
    eyes.see(MUG)
    body.ended(Grab("rover-mug-1"), SkillResult(outcome, "why"))
    assert body.percept().result == Result(False, False, reason, "why")
    assert ("rover-mug-1" in items(body)) is (outcome is not Outcome.UNKNOWN_TARGET)


def test_a_thing_that_something_closed_keeps_goes_into_it(body, eyes):
    body.map.set_open("cabinet-1", True)
    eyes.see(detected("milk", 0.3, 3.5, 0.5))
    body.ended(Grab("rover-milk-1"), SkillResult(Outcome.CLOSED, "closed"))
    percept = body.percept()
    assert "rover-milk-1" not in ids(percept)
    assert next(t for t in percept.things if t.id == "cabinet-1").is_open is False


def test_what_nobody_wants_any_more_is_put_on_the_nearest_surface(body, eyes):
    assert body.executive.clear_hand() is None
    eyes.see(MUG)
    carry(body)
    assert put_away(body)[-1].receptacle.instance == "counter-1"
    assert not body.holding


@pytest.mark.parametrize("yaw", [0.0, math.pi, 2.0])
def test_without_furniture_it_is_put_down_ahead_of_the_robot(yaw):
    bare = HouseBody("rover", two_rooms(), SHAPE)
    bare.map.scene.objects.clear()
    eyes = Eyes(bare)
    eyes.see(MUG)
    carry(bare)
    eyes.see(at=LIVING, yaw=yaw)
    (down,) = put_away(bare)
    ahead = (LIVING[0] + 0.4 * math.cos(yaw), LIVING[1] + 0.4 * math.sin(yaw), LIVING[2])
    assert down.receptacle.position == pytest.approx(ahead)


def test_before_a_wall_it_turns_and_puts_it_down_where_there_is_room():
    bare = HouseBody("rover", two_rooms(), SHAPE)
    bare.map.scene.objects.clear()
    eyes = Eyes(bare)
    eyes.see(MUG)
    carry(bare)
    here = (LIVING[0], 0.35, 0.0)
    eyes.see(at=here, yaw=-math.pi / 2)
    turn, down = put_away(bare)
    at = down.receptacle.position
    assert turn.position == here and at[1] > SHAPE.radius
    assert turn.yaw == pytest.approx(math.atan2(at[1] - here[1], at[0] - here[0]))


# --- steps, restarts -----------------------------------------------------------------------------


def test_steps_count_from_the_goal_on(body, eyes):
    eyes.see(MUG)
    body.moved(KITCHEN, 7.5)
    body.briefing(GOAL, ["rover"], max_time=10.0)
    assert body.step == 0 and body.step_at(3.0) == 0
    body.moved(KITCHEN, 12.0)
    assert (body.step, body.since_begin, body.step_at(9.6), body.step_at(99.0)) == (4, 4.5, 2, 4)


def memory_of(body, held=""):
    memory = Memory(Settings(), "rover", GOAL)
    body.briefing(GOAL, ["rover"], max_time=100.0)
    for thing in body.percept().things:
        if thing.kind != "item" or thing.spot.room == body.spot.room:
            memory.put(Entry(thing, 1))
    memory.hands = (held,) if held else ()
    return memory


def test_a_new_goal_begins_with_what_is_known_of_other_rooms(body, eyes):
    eyes.see(MUG)
    for _ in range(2):
        eyes.see(ON_TABLE, at=LIVING)
    body.briefing(GOAL, ["rover"], max_time=100.0)
    assert {t.spot.room for t in body.percept().things if t.kind == "item"} == {"kitchen", "living"}
    assert {t.spot.room for t in body.percept().things} == {"living"}


def test_after_a_restart_things_have_the_names_that_they_had(body, eyes):
    second = detected("mug", 1.2, 0.3, 0.9)
    eyes.see(MUG)
    eyes.see(MUG, second)
    eyes.see(MUG, second, ON_TABLE, at=LIVING)
    body.moved(KITCHEN, 4.0)
    memory = memory_of(body)
    new = HouseBody("rover", two_rooms(), SHAPE)
    seen = Eyes(new)
    seen.see(ON_TABLE, at=LIVING)
    assert items(new) == {"rover-mug-1"}, "named anew before it knew better"
    new.take_over(memory, "", 0.5)
    seen.see(ON_TABLE, at=LIVING)
    name = next(iter(items(new)))
    assert name not in memory.scene
    seen.see(MUG, second)
    assert items(new) == {"rover-mug-1", "rover-mug-2", name}


def test_after_a_restart_the_hand_still_holds_what_it_held(body, eyes):
    eyes.see(MUG)
    memory = memory_of(body)
    new = HouseBody("rover", two_rooms(), SHAPE)
    Eyes(new).see(at=LIVING)
    new.take_over(memory, "rover-mug-1", 0.5)
    assert new.percept().hands == ("rover-mug-1",) and new.begun == 0.5
    assert isinstance(new.motion(Put("rover-mug-1", "table-1")), SubTask)
    new.ended(Put("rover-mug-1", "table-1"), DONE)
    assert new.map.scene.objects["rover-mug-1"].support == "table-1"


@pytest.mark.parametrize("begun", [math.nan, math.inf, -math.inf, 1e9])
def test_odd_times_in_a_kept_memory_do_no_harm(body, eyes, begun):
    eyes.see(MUG)
    body.take_over(Memory(Settings(), "rover", GOAL), "", begun)
    assert body.step == 0 and body.since_begin == 0.0


# --- labels and notes ----------------------------------------------------------------------------


def test_goals_may_use_any_synonym():
    goal = household_goal(Goal.parse("x", ["ON(dining tables, teapot): 1", "IN(Zorp, fridge): 2"]))
    assert goal.subgoals[0].item == "table"
    assert goal.subgoals[1].target == "refrigerator"
    assert goal.subgoals[1].count == 2 and goal.subgoals[1].relation == "in"


def test_names_that_no_household_has_are_told_with_the_nearest():
    assert unfamiliar(Goal.parse("x", ["ON(dining tables, rover-shelf-2): 1"])) == []
    wrong = unfamiliar(Goal.parse("x", ["ON(mug, cuonter): 1", "ON(zorp, cuonter): 1"]))
    assert len(wrong) == 2
    assert "'cuonter'" in wrong[0] and "do you mean 'counter'?" in wrong[0]
    assert "'zorp'" in wrong[1] and "do you mean" not in wrong[1]


def test_in_a_basket_is_on_it_as_maps_have_it():
    goal = household_goal(Goal.parse("x", ["IN(toy, hamper): 1", "IN(mug, refrigerator): 1"]))
    assert [str(one) for one in goal.subgoals] == [
        "ON(toy, laundry basket): 1",
        "IN(mug, refrigerator): 1",
    ]


@pytest.mark.parametrize("label", ["\x00", "a" * 3000, "☃ ☃", "; DROP", "../../etc", "   "])
def test_odd_labels_are_things_like_others(body, eyes, label):
    eyes.see(detected(label, 2.0, 0.4, 0.9), MUG)
    eyes.see(detected(label, 2.0, 0.4, 0.9), MUG)
    percept = body.percept([Note("s-1", "slim", "start", label, Facts(item=label, label=label))])
    assert "rover-mug-1" in ids(percept)
    assert all(len(t.id) < 80 for t in percept.things)
    assert len(items(body)) <= 2


def test_a_note_about_an_unknown_room_does_no_harm(body, eyes):
    eyes.see(MUG)
    seen = (Sighting("slim-mug-1", "mug", "cellar"), Sighting("", "", ""))
    percept = body.percept([Note("s-1", "slim", "start", "x", Facts(seen=seen))])
    assert len(percept.notes) == 1 and ids(percept) >= {"rover-mug-1"}


def test_furniture_that_no_map_told_of_is_for_what_such_furniture_is_for():
    bare = two_rooms()
    for id_ in list(bare.objects):
        del bare.objects[id_]
    body = HouseBody("rover", bare, SHAPE)
    Eyes(body).see(
        detected("counter", 2.0, 0.4, 0.0, 0.9),
        detected("refrigerator", 0.5, 0.4, 0.0, 0.7),
        detected("mug", 2.0, 0.4, 0.9),
    )
    things = {thing.label: thing for thing in body.percept().things}
    assert things["counter"].kind == "surface"
    assert things["refrigerator"].kind == "container" and things["refrigerator"].is_open is False
    assert (things["mug"].parent, things["mug"].relation) == (things["counter"].id, "on")
