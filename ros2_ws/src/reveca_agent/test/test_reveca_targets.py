"""Where things belong: baskets, stools, shelves found on the way, and what is taken for them."""

import asyncio
import math
from dataclasses import replace

import pytest

from coterie_core.cooperation import Goal, GoTo, Grab, Put, Spot
from coterie_core.embodiment import Camera
from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection
from coterie_core.skills import LookAround, NavigateTo, Outcome, Pick, SkillResult
from coterie_fixtures.two_room_map import SHAPE, Eyes, at_work, detected, two_rooms
from coterie_world.scene import LabelBelief, SceneObject
from reveca_agent.agent import RevecaAgent
from reveca_agent.house import MISSES, HouseBody
from reveca_agent.parameters import shape_of
from reveca_agent.plans import Plan
from reveca_agent.working import Work

DONE = SkillResult(Outcome.SUCCEEDED, duration=1.0)
HIDDEN = SkillResult(Outcome.NOT_VISIBLE, "hidden from here", duration=1.0)
SPONGE = detected("sponge", 2.0, 0.4, 0.9)
AHEAD = Camera(hfov=math.radians(90), mount_height=1.2, pitch=0.2)


def seen(label, center, size, score=0.9):
    return Detection(label, score, Box(center, size), scores={label: score})


BASKET = seen("basket", (2.6, 2.0, 0.13), (0.3, 0.4, 0.26))


def body_for(*subgoals, shape=SHAPE):
    """Return a body in rooms of which nobody knows the furniture, its agent, and its eyes."""
    scene = two_rooms()
    scene.objects.clear()
    body = HouseBody("rover", scene, shape)
    agent = RevecaAgent("rover")
    agent.begin(body.briefing(Goal.parse("tidy", list(subgoals)), ["rover"], max_time=100.0))
    return body, agent, Eyes(body)


def told(body):
    return {thing.id: thing for thing in body.percept().things}


def put(body, item, target):
    body.ended(Grab(item), DONE)
    body.about_to_put()
    body.ended(Put(item, target), SkillResult(Outcome.SUCCEEDED, duration=1.0))


def test_what_lies_in_a_basket_that_the_goal_names_is_where_it_belongs():
    body, agent, eyes = body_for("ON(sponge, basket): 1")
    eyes.see(SPONGE, BASKET)
    agent.observe(body.percept())
    put(body, "rover-sponge-1", "rover-basket-1")
    eyes.see(BASKET, detected("sponge", 2.6, 2.0, 0.03))
    percept = body.percept()
    (sponge,) = (thing for thing in percept.things if thing.label == "sponge")
    assert (sponge.parent, sponge.relation) == ("rover-basket-1", "on")
    agent.observe(percept)
    assert not any(agent.memory.needs().values())


def test_what_lies_on_an_item_that_no_goal_names_lies_on_the_furniture_below():
    board = seen("cutting board", (2.0, 0.4, 0.91), (0.4, 0.3, 0.02))
    counter = seen("counter", (2.0, 0.3, 0.45), (2.0, 0.6, 0.9))
    for named in ("counter", "cutting board"):
        body, _, eyes = body_for(f"ON(sponge, {named}): 1")
        eyes.see(counter, board, detected("sponge", 2.0, 0.4, 0.92))
        eyes.see(counter, board, detected("sponge", 2.0, 0.4, 0.92))
        body.map.scene.objects["rover-sponge-1"].support = "rover-cutting-board-1"
        assert told(body)["rover-sponge-1"].parent == f"rover-{named.replace(' ', '-')}-1"


@pytest.mark.parametrize(("low", "parent"), [(0.12, ""), (0.75, "rover-table-1")])
def test_what_is_too_low_for_a_table_is_not_on_it_though_it_lies_in_its_box(low, parent):
    """Keys in a dishwasher were in the box of a table, too wide: a goal counted as met (51233)."""
    body, _, eyes = body_for("ON(sponge, table): 1")
    table, sponge = (
        seen("table", (2.6, 2.0, 0.38), (0.8, 0.8, 0.76)),
        detected("sponge", 2.6, 2, low),
    )
    for _ in range(2):
        eyes.see(table, sponge)
    assert told(body)["rover-sponge-1"].parent == parent


@pytest.mark.parametrize(
    ("label", "size"), [("laundry basket", (0.4, 0.35, 0.55)), ("stool", (0.36, 0.36, 0.48))]
)
def test_a_place_that_the_goal_names_is_told_though_things_are_hardly_put_there(label, size):
    thing = seen(label, (2.6, 2.0, size[2] / 2.0), size)
    name = f"rover-{label.replace(' ', '-')}-1"
    body, _, eyes = body_for(f"ON(sponge, {label}): 1")
    eyes.see(thing)
    assert name in told(body)
    body, _, eyes = body_for("ON(sponge, table): 1")
    eyes.see(thing)
    assert name not in told(body)


def test_what_was_taken_for_a_target_in_passing_is_not_told_beside_a_clear_one():
    passing = seen("stove", (1.0, 3.6, 0.45), (0.6, 0.6, 0.9), score=0.3)
    clear = seen("stove", (2.6, 0.4, 0.45), (0.6, 0.6, 0.9))
    body, _, eyes = body_for("ON(pot, stove): 1")
    eyes.see(passing)
    assert "rover-stove-1" in told(body), "where there is no other, it counts"
    for _ in range(10):
        eyes.see(clear)
    assert {id_ for id_ in told(body) if "stove" in id_} == {"rover-stove-2"}


def test_a_place_that_is_not_there_twice_is_left_alone():
    body, agent, eyes = body_for("ON(sponge, stove): 1")
    eyes.see(SPONGE, seen("stove", (2.6, 2.0, 0.45), (0.6, 0.6, 0.9)))
    agent.observe(body.percept())
    body.ended(Grab("rover-sponge-1"), DONE)
    agent.observe(body.percept())
    gone = SkillResult(Outcome.UNKNOWN_TARGET, "no stove there", duration=1.0)
    for _ in range(2):
        agent.plan = Plan("deliver", "rover-stove-1", ("rover-sponge-1",), agent.memory.step)
        agent._action = Put("rover-sponge-1", "rover-stove-1")
        body.ended(agent._action, gone)
        eyes.see(seen("stove", (2.6, 2.0, 0.45), (0.6, 0.6, 0.9)))
        agent.observe(body.percept())
        agent._judge_result()
    assert agent.memory.blocked("rover-stove-1")


def test_onto_a_shelf_things_go_where_the_hand_gets():
    body, _, eyes = body_for("ON(sponge, shelf): 1", shape=replace(SHAPE, high=1.2))
    eyes.see(SPONGE, seen("shelf", (2.6, 2.0, 0.85), (0.4, 1.0, 1.7)))
    body.ended(Grab("rover-sponge-1"), DONE)
    step = at_work(body, Put("rover-sponge-1", "rover-shelf-1"))
    assert 0.2 <= step.skill.receptacle.position[2] <= 1.2


STAND = seen("tv stand", (2.6, 2.0, 0.37), (0.5, 1.4, 0.74))


@pytest.mark.parametrize(
    ("is_open", "by_hand", "relation"),
    [(False, False, "on"), (True, False, "in"), (True, True, "on")],
)
def test_what_shows_on_a_closed_stand_is_not_in_it(is_open, by_hand, relation):
    """The box ends at the television, and things on the stand lie lower."""
    body, _, eyes = body_for("ON(toy, tv stand): 1")
    toy = detected("toy", 2.6, 2.0, 0.48)
    if by_hand:
        eyes.see(STAND, detected("toy", 1.0, 2.0, 0.0))
        put(body, "rover-toy-1", "rover-tv-stand-1")
        x, y, _ = body.map.thing("rover-toy-1").box.center
        toy = detected("toy", x, y, 0.6)
    body.map.set_open("rover-tv-stand-1", is_open)
    eyes.see(STAND, toy)
    body.map.set_open("rover-tv-stand-1", is_open)
    eyes.see(STAND, toy)
    assert told(body)["rover-toy-1"].relation == relation


def test_what_was_put_into_a_stand_is_in_it_open_or_closed():
    body, _, eyes = body_for("IN(toy, tv stand): 1")
    eyes.see(STAND, detected("toy", 1.0, 2.0, 0.0))
    body.map.set_open("rover-tv-stand-1", True)
    body.ended(Grab("rover-toy-1"), DONE)
    action = Put("rover-toy-1", "rover-tv-stand-1", "in")
    body.ended(action, SkillResult(Outcome.SUCCEEDED, duration=1.0, put_at=(2.6, 2.0, 0.2)))
    eyes.see(STAND, detected("toy", 2.6, 2.0, 0.2))
    assert told(body)["rover-toy-1"].relation == "in"
    body.map.set_open("rover-tv-stand-1", False)
    assert "rover-toy-1" not in told(body), "it is hidden"


def before_boards(label, high, hand):
    """Return a robot that brings a sponge to boards on its camera's map; its hand gets so high."""
    scene = two_rooms()
    scene.objects.clear()
    box = Box((2.6, 2.0, high / 2.0), (0.4, 1.0, high))
    scene.add_object(SceneObject("object_6", LabelBelief.of(label), box, "kitchen", "furniture"))
    body = HouseBody("rover", scene, replace(SHAPE, high=hand))
    body.briefing(Goal.parse("tidy", [f"ON(sponge, {label}): 1"]), ["rover"], max_time=100.0)
    return body


def test_what_a_camera_s_map_has_is_for_what_such_furniture_is_for():
    body = before_boards("bookcase", 1.7, hand=1.2)
    Eyes(body).see(SPONGE)
    assert told(body)["object_6"].kind == "surface"
    body.ended(Grab("rover-sponge-1"), DONE)
    step = at_work(body, Put("rover-sponge-1", "object_6"))
    assert step.skill.receptacle.position[2] <= 1.2


@pytest.mark.parametrize(("tall", "lowest"), [(0.02, 1.1), (0.3, 0.0)])
def test_a_tall_thing_goes_onto_a_board_that_the_hand_gets_to_with_it(tall, lowest):
    """A glass was to stand on top of a shelf 1.13 m high; the hand gets to 1.15 m (51242)."""
    body = before_boards("shelf", 1.13, hand=1.15)
    Eyes(body).see(seen("sponge", (2.0, 1.0, 0.2), (0.08, 0.08, tall)))
    body.ended(Grab("rover-sponge-1"), DONE)
    step = at_work(body, Put("rover-sponge-1", "object_6"))
    assert lowest < step.skill.receptacle.position[2] + tall / 2.0 <= 1.15


def test_what_lies_before_a_sofa_is_not_on_it_once_the_team_s_map_tells_how_deep_it_is():
    body, _, eyes = body_for("ON(sponge, sofa): 1")
    sponge = detected("sponge", 2.0, 2.0, 0.42)
    rough = seen("sofa", (2.0, 1.4, 0.4), (2.0, 1.8, 0.8))  # a look took in what is before it
    eyes.see(rough, sponge)
    eyes.see(rough, sponge)
    assert told(body)["rover-sponge-1"].parent == "rover-sofa-1"
    before = told(body)["rover-sofa-1"].spot
    sofa = seen("sofa", (2.0, 0.95, 0.4), (2.0, 0.9, 0.8))
    eyes.see(replace(sofa, fused=True))
    assert told(body)["rover-sponge-1"].parent == ""
    found = body.map.thing("rover-sofa-1")
    assert found.box == sofa.box
    assert told(body)["rover-sofa-1"].spot != before
    eyes.see(replace(seen("sofa", (2.0, 0.96, 0.4), (2.0, 0.9, 0.8)), fused=True))
    assert found.box == sofa.box  # a centimeter changes no plan


def test_onto_a_sofa_things_go_onto_its_seat():
    body, _, eyes = body_for("ON(sponge, sofa): 1")
    eyes.see(SPONGE, seen("sofa", (2.6, 2.2, 0.4), (0.9, 2.0, 0.8)))
    body.ended(Grab("rover-sponge-1"), DONE)
    step = at_work(body, Put("rover-sponge-1", "rover-sofa-1"))
    assert step.skill.receptacle.position[2] == pytest.approx(0.45)


@pytest.mark.parametrize(
    ("at", "yaw", "forgotten"),
    [
        ((0.8, 2.0, 0.0), 0.0, True),  # ahead, 1.8 m away
        ((0.8, 2.0, 0.0), math.pi, False),  # behind
        ((2.2, 2.0, 0.0), 0.0, False),  # below the image
    ],
)
def test_only_what_a_camera_shows_is_missed(at, yaw, forgotten):
    body, _, eyes = body_for("ON(sponge, basket): 1", shape=replace(SHAPE, cameras=(AHEAD,)))
    eyes.see(BASKET)
    for _ in range(MISSES):
        eyes.see(at=at, yaw=yaw)
    assert ("rover-basket-1" not in told(body)) is forgotten


def test_a_hidden_thing_is_reached_for_from_another_side():
    low = detected("sponge", 2.5, 2.5, 0.3)
    body, _, eyes = body_for("ON(sponge, table): 1")
    eyes.see(low, at=(0.8, 2.5, 0.0))
    grab = Grab("rover-sponge-1")
    step, before = at_work(body, grab), body.pose.position
    body.stepped(grab, step, HIDDEN)
    assert isinstance(at_work(body, grab).skill, Pick)
    assert math.dist(body.pose.position, before) > 0.3


@pytest.mark.parametrize(
    ("item", "onto", "size", "looks"),
    [
        ("sponge", "table", (0.1, 0.1, 0.1), True),
        ("toothbrush", "table", (0.02, 0.2, 0.03), False),  # detectors miss it
        ("tissue box", "table", (0.2, 0.03, 0.01), True),  # a camera boxed a sliver of it
        ("sponge", "shelf", (0.1, 0.1, 0.1), False),  # boards hide it
        ("sponge", "basket", (0.1, 0.1, 0.1), False),
    ],
)
def test_what_was_put_down_is_looked_at_where_it_would_be_seen(item, onto, size, looks):
    body, _, eyes = body_for(f"ON({item}, {onto}): 1", shape=replace(SHAPE, cameras=(AHEAD,)))
    name = f"rover-{item.replace(' ', '-')}-1"
    place = seen(onto, (2.6, 2.0, 0.4), (0.5, 0.6, 0.8))
    eyes.see(seen(item, (2.0, 0.4, 0.95), size), place, at=(1.6, 2.0, 0.0))
    put(body, name, f"rover-{onto}-1")
    assert bool(body.to_be_seen(name)) is looks
    eyes.see(at=(1.6, 2.0, 0.0), yaw=math.pi)
    assert not body.to_be_seen(name), "it is behind the robot"


def test_to_what_only_others_have_told_of_a_robot_goes_where_they_stood():
    body, _, eyes = body_for("ON(sponge, table): 1")
    eyes.see()
    there = Spot("living", (6.5, 1.2, 0.0))
    way = at_work(body, GoTo("slim-table-1", there), go=False).skill
    assert isinstance(way, NavigateTo) and math.dist(way.position, there.position) < 1.0
    eyes.see(seen("table", (6.5, 2.0, 0.375), (1.0, 0.8, 0.75)), at=there.position)
    drive = at_work(body, GoTo("rover-table-1", there), go=False).skill
    (x, y, _), table = drive.position, (6.5, 2.0)
    faces = math.atan2(table[1] - y, table[0] - x)
    assert drive.yaw == pytest.approx(faces), "what it knows itself it faces"


def test_what_may_lie_at_its_feet_it_looks_at_from_where_its_camera_shows_it():
    """A basket that another one saw was not found."""
    body, _, eyes = body_for("ON(sponge, basket): 1", shape=replace(SHAPE, cameras=(AHEAD,)))
    eyes.see()
    there = Spot("living", (6.5, 1.2, 0.0))
    view = body.motions.view_of(there)
    assert math.dist(view.position, there.position) > 1.0
    assert AHEAD.shows(Pose(view.position, view.yaw), (6.5, 1.2, 0.1))


class Driver:
    """Carries out what it is told to; a look shows what is there.

    `fails` are outcomes of the first tries of a skill, by its name.
    """

    def __init__(self, eyes, *there, **fails):
        self.eyes, self.there, self.fails = eyes, there, fails
        self.skills, self.goals = [], []

    async def skill(self, skill):
        name = type(skill).__name__
        self.skills.append(name)
        if isinstance(skill, LookAround):
            self.eyes.see(*self.there)
        if isinstance(skill, NavigateTo):
            self.goals.append(skill.position)
            if skill.yaw is not None:
                self.eyes.see(*self.there, at=skill.position, yaw=skill.yaw)
        left = self.fails.get(name)
        return SkillResult(left.pop(0) if left else Outcome.SUCCEEDED, duration=1.0)

    def ask_way(self, request):
        raise AssertionError("nothing is in the way")

    def heard(self):
        return ()

    def speak(self, note):
        """Nobody listens."""

    async def noted(self):
        await asyncio.Event().wait()  # nobody says anything


class EndsAt(Driver):
    """Is always at one point [m], wherever it is to drive."""

    def __init__(self, eyes, ends):
        super().__init__(eyes)
        self.ends = ends

    async def skill(self, skill):
        result = await super().skill(skill)
        self.eyes.see(at=self.ends)
        return result


@pytest.mark.parametrize("there", [True, False])
async def test_what_only_another_one_has_seen_is_looked_for_before_it_counts_as_gone(there):
    body, agent, eyes = body_for("ON(sponge, table): 1")
    eyes.see()
    body.names.expect("slim-sponge-1", "sponge", "kitchen")
    driver = Driver(eyes, *([detected("sponge", 2.5, 2.0, 0.3)] if there else []))
    await Work(agent, body, driver)._carry_out(Grab("slim-sponge-1"))
    result = body.percept().result
    if there:
        assert driver.skills == ["LookAround", "NavigateTo", "Pick"] and result.ok
        assert body.holding == "slim-sponge-1"
    else:
        assert (
            driver.skills == ["LookAround", "NavigateTo", "LookAround", "Wait"]
            and result.reason == "gone"
        )


async def test_what_nobody_knows_to_be_in_the_hand_goes_down_first():
    """Its fingers had closed on the front of a cabinet; it could grasp nothing (51214)."""
    body, agent, eyes = body_for("ON(sponge, table): 1")
    eyes.see(SPONGE)
    driver = Driver(eyes, Pick=[Outcome.HAND_FULL])
    await Work(agent, body, driver)._carry_out(Grab("rover-sponge-1"))
    assert [skill for skill in driver.skills if skill != "NavigateTo"] == ["Pick", "Place", "Pick"]
    assert body.holding == "rover-sponge-1"


@pytest.mark.parametrize("views", [True, False])
async def test_what_is_to_bear_a_thing_is_looked_at_from_farther_off(views):
    """All sides of a stove were tried in vain from near by (51162, in the lab)."""
    camera = AHEAD if views else AHEAD.model_copy(update={"pitch": -1.2})
    body, agent, eyes = body_for("ON(sponge, table): 1", shape=replace(SHAPE, cameras=(camera,)))
    table = seen("table", (2.6, 2.0, 0.375), (0.8, 0.8, 0.75))
    eyes.see(table, SPONGE)
    body.ended(Grab("rover-sponge-1"), DONE)
    driver = Driver(eyes, table, Place=[Outcome.NOT_VISIBLE])
    await Work(agent, body, driver)._carry_out(Put("rover-sponge-1", "rover-table-1"))
    assert body.percept().result.ok
    if views:
        # Afterwards it looks for the sponge, which no look shows here.
        assert driver.skills[:5] == ["NavigateTo", "Place", "NavigateTo", "NavigateTo", "Place"]
        stand, view, again = driver.goals[:3]
        at = body.map.thing("rover-table-1").box.center
        assert again == stand and math.dist(view[:2], at[:2]) > SHAPE.reach
    else:  # another side may show it
        assert driver.skills == ["NavigateTo", "Place", "NavigateTo", "Place"]
        assert driver.goals[0] != driver.goals[1]


@pytest.mark.parametrize(("ends", "there"), [((4.3, 2.5, 0.0), False), ((3.6, 2.5, 0.0), True)])
async def test_who_ends_behind_a_wall_is_not_there(ends, there):
    """It was near enough for the drive, in the next room: it went there for minutes (51193)."""
    body, agent, eyes = body_for("ON(sponge, table): 1")
    eyes.see(SPONGE)

    driver = EndsAt(eyes, ends)
    spot = Spot("kitchen", (3.7, 2.5, 0.0))
    await Work(agent, body, driver)._carry_out(GoTo("rover-sponge-1", spot))
    result = body.percept().result
    assert (result.ok, result.reason) == ((True, "") if there else (False, "no_way"))
    assert (body.spot == spot) is there
    assert there or len(driver.goals) > 1, "it tries other spots"


async def test_where_a_hand_closed_on_nothing_the_thing_is_looked_at_again():
    body, agent, eyes = body_for("ON(sponge, table): 1", shape=replace(SHAPE, cameras=(AHEAD,)))
    eyes.see(SPONGE, at=(2.0, 1.5, 0.0), yaw=-math.pi / 2.0)
    driver = Driver(eyes, Pick=[Outcome.HAND_EMPTY])
    await Work(agent, body, driver)._carry_out(Grab("rover-sponge-1"))
    assert driver.skills == ["NavigateTo", "Pick", "NavigateTo", "NavigateTo", "Pick"]
    assert body.holding == "rover-sponge-1"


def test_a_wrong_camera_is_named():
    class Given(dict):
        def json(self, name):
            return [{"mount_height": -3.0}] if name == "cameras" else None

    with pytest.raises(ValueError, match=r"'cameras': .*mount_height"):
        shape_of(Given())


def test_a_camera_shows_what_lies_in_its_image():
    body = Pose((1.0, 1.0, 0.0), math.pi / 2.0)
    assert AHEAD.shows(body, (1.0, 3.0, 1.0))
    assert AHEAD.shows(body, (0.1, 2.0, 1.0)) and not AHEAD.shows(body, (-0.3, 2.0, 1.0))
    assert not AHEAD.shows(body, (1.0, -1.0, 1.0)), "behind"
    assert not AHEAD.shows(body, (1.0, 1.4, 0.0)), "at its feet"
    assert not AHEAD.shows(body, (1.0, 9.2, 0.0)), "too far"
    lower = AHEAD.model_copy(update={"pitch": 1.2})
    assert lower.shows(body, (1.0, 1.4, 0.0)) and not lower.shows(body, (1.0, 4.0, 2.0))


@pytest.mark.parametrize(("again", "stays"), [(0, False), (3, True)])
def test_a_part_of_a_counter_that_was_called_a_stove_once_is_none(again, stays):
    """Keys were put onto the counter for the stove, which stood beside it (51246)."""
    body, _, eyes = body_for("ON(sponge, stove): 1")
    counter = seen("counter", (2.0, 0.3, 0.45), (2.0, 0.6, 0.9))
    stove = seen("stove", (2.4, 0.35, 0.45), (0.6, 0.5, 0.9))
    eyes.see(stove)
    for _ in range(10 + MISSES):
        eyes.see(counter, SPONGE)
        if again:  # an oven below a worktop is seen there again and again
            eyes.see(counter, stove, SPONGE)
    assert ("rover-stove-1" in told(body)) is stays
    assert body.map.thing("rover-sponge-1").support in ("rover-counter-1", "rover-stove-1")
