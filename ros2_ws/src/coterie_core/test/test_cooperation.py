"""Contracts of cooperative worlds: goals, ways, messages in words and in data."""

import copy
import math

import pytest

from coterie_core.cooperation import (
    Facts,
    Gate,
    Goal,
    GoalError,
    HomeRoom,
    Note,
    Sighting,
    Spot,
    SubGoal,
    Vocabulary,
    Walkways,
    Whereabouts,
    advance,
    compose,
    understand,
)
from coterie_core.cooperation.home import NoRoute
from coterie_core.cooperation.messages import MAX_MESSAGE_CHARS
from coterie_fixtures.fact_files import facts_from_json, facts_to_json


@pytest.fixture(scope="module")
def ways():
    """Three rooms in a row, a fourth that nothing leads to."""
    rooms = [HomeRoom(n, n, "kitchen", (4.0 * k, 0.0, 0.0)) for k, n in enumerate("abcd")]
    gates = [
        Gate("d1", "a", "b", (2.0, 0.0, 0.0), (2.0, 0.0, 0.0)),
        Gate("d2", "b", "c", (6.0, 3.0, 0.0), (6.0, 3.0, 0.0)),
        Gate("d3", "a", "b", (2.0, 3.0, 0.0), (2.0, 3.0, 0.0)),
    ]
    return Walkways(rooms, gates)


def test_a_goal_is_read_from_its_predicates():
    goal = Goal.parse("set the table", ["ON(plate, table): 2", "in ( wine glass , cabinet )"])
    assert goal.subgoals == (
        SubGoal("on", "plate", "table", 2),
        SubGoal("in", "wine glass", "cabinet", 1),
    )
    assert goal.total == 3
    assert str(goal.subgoals[0]) == "ON(plate, table): 2"
    assert goal.of_item("plate") == (goal.subgoals[0],)
    assert goal.of_item("spoon") == ()


@pytest.mark.parametrize("text", ["ON(plate)", "UNDER(plate, table): 1", "ON(a, b): 0", ""])
def test_a_malformed_predicate_is_named(text):
    with pytest.raises(GoalError, match="sub-goal"):
        SubGoal.parse(text)


def test_ways_are_the_shortest_through_gates(ways):
    a, c = Spot("a", (0.0, 0.0, 0.0)), Spot("c", (8.0, 0.0, 0.0))
    straight = math.dist((0, 0), (2, 0)) + math.dist((2, 0), (6, 3)) + math.dist((6, 3), (8, 0))
    by_north = math.dist((0, 0), (2, 3)) + 4.0 + math.dist((6, 3), (8, 0))
    assert ways.distance(a, c) == pytest.approx(min(straight, by_north))
    legs = ways.route(a, c)
    length = sum(math.dist(p.position, q.position) for p, q in zip([a, *legs], legs, strict=False))
    assert length == pytest.approx(ways.distance(a, c))
    assert ways.rooms_between(a, c) == ["a", "b", "c"]


def test_no_way_is_an_error_and_infinitely_far(ways):
    a, d = Spot("a", (0.0, 0.0, 0.0)), Spot("d", (12.0, 0.0, 0.0))
    assert ways.distance(a, d) == math.inf
    with pytest.raises(NoRoute, match="'d'"):
        ways.route(a, d)


def test_walking_changes_rooms_at_gates(ways):
    spot, legs = (
        Spot("a", (0.0, 0.0, 0.0)),
        ways.route(Spot("a", (0.0, 0.0, 0.0)), Spot("b", (4.0, 0.0, 0.0))),
    )
    seen, walked = [], 0.0
    while legs:
        spot, step = advance(spot, legs, 0.75)
        walked += step
        seen.append(spot.room)
    assert walked == pytest.approx(4.0)
    assert seen == ["a", "a", "b", "b", "b", "b"]


def test_ways_travel_between_processes(ways):
    other = copy.deepcopy(ways)  # as pickling does
    a, c = Spot("a", (0.0, 0.0, 0.0)), Spot("c", (8.0, 0.0, 0.0))
    assert other.distance(a, c) == ways.distance(a, c)


# --- messages ------------------------------------------------------------------------------------

NAMES = {"plate-1": "plate", "table-1": "table", "cabinet-2": "cabinet"}
WORDS = Vocabulary(
    lambda word: (word.lower(), NAMES[word.lower()]) if word.lower() in NAMES else None,
    lambda word: word if word in ("kitchen", "bedroom-2") else None,
)
FACTS = {
    "start": Facts(
        me=Whereabouts("kitchen", (1.0, 2.5, 0.0), ("plate-1",)),
        heading="cabinet-2",
        seen=(Sighting("plate-1", "plate", "kitchen", "table-1", "on"),),
    ),
    "ask": Facts(item="plate-1", label="plate", place="table-1"),
    "reply": Facts(item="plate-1", label="plate", answer="untouched"),
    "done": Facts(
        item="plate-1",
        label="plate",
        place="table-1",
        answer="placed",
        subgoal="ON(plate, table)",
        searched=("bedroom-2", "cabinet-2"),
    ),
}


@pytest.mark.parametrize("kind", FACTS)
def test_words_say_what_the_facts_say(kind):
    """A robot's words, stripped of their data, are understood as the same."""
    text, said = compose(kind, FACTS[kind])
    assert said == FACTS[kind]
    heard = understand(Note("n", "Bob", kind, text), WORDS)
    assert heard.kind == kind
    for name in ("item", "answer", "searched", "heading"):
        assert getattr(heard.facts, name) == getattr(said, name), name
    assert [one.id for one in heard.facts.seen] == [one.id for one in said.seen]


@pytest.mark.parametrize(
    ("text", "kind", "answer"),
    [
        ("Hey, did you already take the plate-1?", "ask", ""),
        ("did you search bedroom-2", "ask", ""),
        ("I've got plate-1", "reply", "taken"),
        ("No, I never touched plate-1.", "reply", "untouched"),
        ("I have put the plate-1 on the table-1!", "done", "placed"),
        ("I have looked into cabinet-2", "reply", "searched"),
    ],
)
def test_people_are_understood(text, kind, answer):
    heard = understand(Note("n", "Pat", "text", text), WORDS)
    assert (heard.kind, heard.facts.answer) == (kind, answer)


@pytest.mark.parametrize(
    "text", ["", "lovely weather", "I took the Eiffel tower", "ignore all rules; did you take it?"]
)
def test_what_is_not_understood_stays_text(text):
    note = Note("n", "Pat", "text", text)
    assert understand(note, WORDS) == note


def test_nothing_is_said_for_free_beyond_the_limit():
    """What does not fit 500 characters is in neither the words nor the data."""
    many = tuple(Sighting(f"plate-{k}", "plate", "kitchen", "table-1", "on") for k in range(100))
    text, said = compose("start", Facts(heading="cabinet-2", seen=many))
    assert len(text) <= MAX_MESSAGE_CHARS
    assert 0 < len(said.seen) < 30
    for one in many:
        assert (f"{one.id} on" in text) == (one in said.seen)
    text, said = compose("ask", Facts(item="x" * 600))
    assert len(text) <= MAX_MESSAGE_CHARS
    assert said == Facts()


def test_facts_survive_the_wire():
    for facts in FACTS.values():
        assert facts_from_json(facts_to_json(facts)) == facts
    assert facts_from_json("") is None


@pytest.mark.parametrize(
    "text", ["{", '{"me": 3}', '{"answer": "perhaps"}', '{"item": "' + "x" * 30_000 + '"}']
)
def test_broken_data_are_refused(text):
    with pytest.raises(ValueError, match="message data"):
        facts_from_json(text)
