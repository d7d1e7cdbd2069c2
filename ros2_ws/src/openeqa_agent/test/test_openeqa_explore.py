"""Exploration for open questions: frontiers, where the answer is likely, and when to stop."""

import asyncio
import random
from dataclasses import replace

import pytest

from coterie_core.geometry import Box, Pose
from coterie_core.observation import Observation, PlaceView, RoomView
from coterie_core.skills import NavigateTo, Outcome, SkillResult
from coterie_fixtures.open_questions import asked
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject
from openeqa_agent.explore import Explorer, ExplorerOptions
from openeqa_agent.looking import Walk, go_and_look
from openeqa_agent.places import Wanted
from openeqa_agent.understood import OpenQuestion

HALL = RoomView("hall", "hallway", "hallway")
KITCHEN = RoomView("kitchen", "kitchen", "kitchen")
BEDROOM = RoomView("bed", "bedroom", "bedroom")
BATH = RoomView("bath", "bathroom", "bathroom")
ROOMS = {"h": HALL, "k": KITCHEN, "b": BEDROOM, "w": BATH, "k2": KITCHEN}
WAYS = {("h", "k"): 1.5, ("h", "b"): 2.0, ("h", "w"): 3.0, ("k", "k2"): 2.5}


def observation(place, seen=None, told=True):
    """What is perceived at a place of a hallway with three rooms."""
    views = []
    for (a, b), length in WAYS.items():
        if place in (a, b):
            other = b if place == a else a
            views.append(
                PlaceView(other, (length, 0.0, 0.0), length, ROOMS[other] if told else None)
            )
    return Observation(
        "r", 0, 0.0, Pose((0.0, 0.0, 0.0), 0.0), place, ROOMS[place], (), tuple(views),
        {place: 1.0, **(seen or {})},
    )  # fmt: skip


def graph(*things):
    """A map: (label, room view, looks)."""
    made = SceneGraph()
    for room in (HALL, KITCHEN, BEDROOM, BATH):
        made.add_room(Room(room.id, room.name, room.type))
    for k, (label, room, looks) in enumerate(things):
        box = Box((5.0 + k, 5.0, 0.4), (0.5, 0.5, 0.8))
        made.add_object(
            SceneObject(f"o{k}", LabelBelief.of(label), box, room.id, observations=looks)
        )
    return made


def next_place(explorer):
    skill = asyncio.run(explorer.next_skill())
    return skill.place if skill else None


def test_frontiers_are_taken_by_distance_whatever_is_asked():
    explorer = Explorer(asked("Where is the toilet?"), "frontier")
    explorer.observe(observation("h"), graph(("toilet", BATH, 9)))
    assert next_place(explorer) == "k" and "nearest" in explorer.reason
    explorer.observe(observation("k", {"h": 0.7, "k2": 0.9}))
    assert next_place(explorer) == "b"  # k2 is nearer, but was seen


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Where is the toilet?", "w"),
        ("What color is the bed?", "b"),
        ("Is the refrigerator open or closed?", "k"),
        ("How many towels are in the bathroom?", "w"),
        ("What can I use to brush my teeth?", "w"),
    ],
)
def test_ours_goes_where_the_answer_is_likely(question, place):
    explorer = Explorer(asked(question))
    explorer.observe(observation("h"), graph())
    assert next_place(explorer) == place


def test_it_stops_once_the_map_answers_and_not_on_a_single_look():
    explorer = Explorer(asked("Which room is the toilet in?"))
    explorer.observe(observation("h"), graph(("toilet", BATH, 1)))
    assert explorer.answer() is None
    reply = explorer.answer(graph(("toilet", BATH, 5)))
    assert reply is not None and "bathroom" in reply.text
    assert next_place(explorer) is None and explorer.stopped == "the map answers the question"


def test_a_thing_where_none_would_be_takes_more_looks():
    explorer = Explorer(asked("Which room is the refrigerator in?"))
    explorer.observe(observation("h"))
    assert explorer.answer(graph(("refrigerator", KITCHEN, 3))) is not None
    assert explorer.answer(graph(("refrigerator", BEDROOM, 3))) is None
    assert explorer.answer(graph(("refrigerator", BEDROOM, 8))) is not None


def test_a_count_is_believed_when_all_of_the_room_was_seen():
    explorer = Explorer(asked("How many chairs are in the kitchen?"))
    scene = graph(("chair", KITCHEN, 9), ("chair", KITCHEN, 9))
    explorer.observe(observation("h"), scene)
    assert explorer.answer() is None
    explorer.observe(observation("k"), scene)
    assert explorer.answer() is None  # k2 was not seen yet
    explorer.observe(observation("k2"), scene)
    reply = explorer.answer()
    assert reply is not None and reply.text.startswith("2")


def test_that_there_is_none_is_not_believed_at_once():
    explorer = Explorer(asked("Is there a kettle in the kitchen?"))
    explorer.observe(observation("h"), graph(("chair", KITCHEN, 9)))
    assert explorer.answer() is None and next_place(explorer) == "k"


def test_a_look_around_is_saved_where_nothing_is_to_be_seen():
    explorer = Explorer(asked("Where is the toilet?"))
    explorer.observe(observation("h"), graph(), around=False)
    assert not explorer.look_here()  # all rooms beside are known, and no toilet is in a hallway
    explorer.observe(observation("w"), graph(), around=False)
    assert explorer.look_here()
    explorer.observe(observation("w"), graph(), around=True)
    assert not explorer.look_here()


def test_unknown_rooms_are_worth_a_look():
    explorer = Explorer(asked("Where is the toilet?"))
    explorer.observe(observation("h", told=False), graph(), around=False)
    assert explorer.look_here()


def test_a_place_that_cannot_be_reached_is_left_alone():
    explorer = Explorer(asked("Where is the toilet?"))
    explorer.observe(observation("h"), graph())
    assert next_place(explorer) == "w"
    explorer.skill_ended(NavigateTo(place="w"), SkillResult(Outcome.UNREACHABLE, "no way"))
    assert next_place(explorer) != "w"


@pytest.mark.parametrize("kind", ["frontier", "question"])
@pytest.mark.parametrize(
    "question",
    ["", "Where is the piano?", "Is there something to sit on?", "How many chairs are there?"],
)
def test_every_exploration_ends(kind, question):
    """In houses drawn at random, also where it never looks around, or never arrives."""
    for seed in range(6):
        dice = random.Random(f"{kind}/{question}/{seed}")
        names = [f"p{k}" for k in range(8)]
        ways = {}
        for k in range(1, 8):
            ways[names[dice.randrange(k)], names[k]] = dice.uniform(0.5, 4.0)
        rooms = {n: dice.choice((HALL, KITCHEN, BEDROOM, BATH, None)) for n in names}

        def at(place, dice=dice, ways=ways, rooms=rooms):
            views = tuple(
                PlaceView(b if place == a else a, (0.0, 0.0, 0.0), length, rooms[b])
                for (a, b), length in ways.items()
                if place in (a, b)
            )
            seen = {n: dice.random() for n in rooms if dice.random() < 0.3}
            return Observation(
                "r", 0, 0.0, Pose((0.0, 0.0, 0.0), 0.0), place, rooms[place], (), views, seen
            )

        explorer = Explorer(asked(question) if question else OpenQuestion(""), kind)
        place, moves = "p0", 0
        while moves < 60:
            explorer.observe(at(place), graph(), around=dice.random() < 0.5)
            if explorer.look_here() and dice.random() < 0.8:
                explorer.observe(at(place), graph(), around=True)
            skill = asyncio.run(explorer.next_skill())
            if skill is None:
                break
            moves += 1
            if dice.random() < 0.2:
                explorer.skill_ended(skill, SkillResult(Outcome.BLOCKED, "in the way"))
            else:
                place = skill.place
        assert explorer.stopped


def test_limits_and_mistakes_are_told():
    explorer = Explorer(asked("Where is the piano?"), options=ExplorerOptions(hops=0))
    with pytest.raises(RuntimeError, match="observe"):
        asyncio.run(explorer.next_skill())
    explorer.observe(observation("h"))
    assert next_place(explorer) is None and explorer.stopped == "limit of 0 places"
    with pytest.raises(ValueError, match="frontier"):
        Explorer(asked("Where is the piano?"), "random")


def test_what_must_be_seen():
    assert Wanted.of(asked("What is on the desk in the office?")).room == "office"
    assert frozenset({"desk"}) in Wanted.of(asked("What is on the desk?")).things
    assert "sofa" in next(iter(Wanted.of(asked("Where can I sit?")).things))


class Driven:
    """A robot in the hallway's house, which another one blocks on its first drives."""

    def __init__(self, blocked) -> None:
        self.blocked, self.place, self.step, self.ways = blocked, "h", 0, []

    async def observation(self, after):
        return replace(observation(self.place, told=False), step=self.step)

    async def go(self, skill):
        if self.blocked:
            self.blocked -= 1
            return SkillResult(Outcome.BLOCKED, "bob stands in the way")
        self.place, self.step = skill.place, self.step + 1
        return SkillResult(Outcome.SUCCEEDED, distance=1.0)

    def ask_way(self, way):
        self.ways.append(list(way))

    async def scene(self):
        return graph()


def test_who_is_blocked_asks_for_the_way_that_it_wants_to_go_and_goes_on():
    robot, walk = Driven(blocked=2), Walk()
    question = asked("Where is the globe?")
    asyncio.run(go_and_look(question, robot, walk, max_distance=40.0))
    # Nothing is known of the rooms but where they are: from the hall's place to theirs.
    assert [way[0] for way in robot.ways] == 2 * [(0.0, 0.0, 0.0)]
    assert all(len(way) == 2 and way[1][0] in WAYS.values() for way in robot.ways)
    assert walk.hops > 2 and walk.travelled > 0.0
    free, walked = Driven(blocked=0), Walk()
    asyncio.run(go_and_look(question, free, walked, max_distance=40.0))
    assert free.ways == []


def test_without_a_place_nothing_is_said_to_be_seen():
    class Lost(Driven):
        async def observation(self, after):
            return replace(observation("h", told=False), place="", neighbours=())

    walk = Walk()
    asyncio.run(go_and_look(asked("Where is the globe?"), Lost(0), walk, max_distance=40.0))
    assert "no place" in walk.stopped and not walk.hops
