"""What the team's map tells of rooms that a robot never visited."""

from __future__ import annotations

import pytest

from coterie_core.answer_table import AnswerTable
from coterie_core.confidence import load_confidence
from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation, PlaceView, RoomView
from coterie_core.questions import Answer, FinalAnswer, LabelledQuestion, Question, is_guess
from coterie_llm import decide_by_rule
from coterie_requests.ask_back import judged_answers
from coterie_requests.common_sense import HouseholdSense
from coterie_world.permanence import DAY_S
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject, Sighting
from coterie_world.team_memory import TeamMemory
from mele_explorer.answer_presence import AnswerPresence
from mele_explorer.answering import Answerer
from mele_explorer.memory import Memory
from mele_explorer.team_map import Held, held_text

ATTIC, GARAGE = RoomView("r1", "attic", "attic"), RoomView("r2", "garage", "garage")


def explorer(robot: str, things: int, *, seen: float | None = None, now: float = 0.0) -> Answerer:
    """Return a robot that stood in the garage, and whose map holds trumpets in the attic."""
    scene = SceneGraph()
    for view in (GARAGE, ATTIC):
        scene.add_room(Room(view.id, view.name, view.type))
    for k in range(things):
        sighting = Sighting(seen, "tug") if seen is not None else None
        box = Box((float(k), 0.0, 0.5), (0.1, 0.1, 0.1))
        scene.add_object(
            SceneObject(f"t{k}", LabelBelief.of("trumpet"), box, ATTIC.id, last_seen=sighting)
        )
    answerer = Answerer(Memory(robot), HouseholdSense())
    answerer.team = TeamMemory()
    answerer.team.adopt(scene)
    answerer.team.time = now
    look(answerer, GARAGE, 0)
    return answerer


def look(answerer: Answerer, room: RoomView, step: int, *trumpets: float) -> None:
    seen = tuple(
        Detection("trumpet", 0.9, Box((x, 0.0, 0.5), (0.1, 0.1, 0.1)), room) for x in trumpets
    )
    pose = Pose((0.0, float(step), 0.0))
    answerer.memory.update(
        Observation(
            answerer.memory.robot, step, float(step), pose, room.id, room, seen, (), {room.id: 1.0}
        )
    )


def ask(answerer: Answerer, room: str = "attic", label: str = "trumpet") -> Answer:
    return answerer.answer_by_rule(Question("q", label, room))


def p_of_team(*robots: str) -> float:
    """Return P(yes) of a team whose robots all share a map with two trumpets."""
    answers = [ask(explorer(robot, 2)) for robot in robots]
    asked = LabelledQuestion(Question("q", "trumpet", "attic"), True, "")
    return float(load_confidence().team_p(AnswerTable.of("h", robots, [asked], answers))[0])


def test_the_map_counts_for_a_robot_that_was_never_there_and_is_named_as_the_source() -> None:
    bare, told = ask(explorer("ada", 0)), ask(explorer("ada", 2))
    assert not bare.yes
    assert told.yes and told.confidence > 0.9
    assert told.evidence.kind == "prior_only", "it has not seen any itself"
    assert told.evidence.sightings == 0 and not told.evidence.objects
    assert told.explanation == (
        "never been in that room, but the team's map holds 2 there, as known beforehand"
    )
    aged = ask(explorer("ada", 1, seen=60.0, now=660.0))
    assert "last seen by tug 10 min ago" in aged.explanation
    assert aged.evidence.age == pytest.approx(600.0)

    # What another robot has seen is no guess; what nobody has seen since it was given is one.
    for answer, guess in ((aged, False), (told, True)):
        final = FinalAnswer("q", True, 0.9, "any", ())
        assert is_guess(final, [answer]) is guess
        assert judged_answers(Question("q", "trumpet", "attic"), [answer]).clear is not guess
    assert aged.evidence.objects == ("t0",)


def test_what_is_rather_something_else_is_said_to_be_so() -> None:
    """It was told as "2 there", whatever the map took it for rather."""
    doubtful = [Held("a", 0.3, 50.0, "tug"), Held("b", 0.2, None, "")]
    told = held_text(doubtful, 60.0)
    assert told.startswith("the team's map holds 2 there that may be one (44% that any is), last")
    assert "holds one there, last seen by bob" in held_text(
        [*doubtful, Held("c", 0.9, 40.0, "bob")], 60
    )


def test_age_takes_certainty_away() -> None:
    fresh = ask(explorer("ada", 1, seen=0.0, now=60.0))
    old = ask(explorer("ada", 1, seen=0.0, now=5 * DAY_S))
    assert fresh.p_yes > old.p_yes > ask(explorer("ada", 0)).p_yes


def test_the_map_counts_once_however_many_robots_share_it() -> None:
    alone = p_of_team("r0")
    assert alone > 0.9
    assert p_of_team(*(f"r{k}" for k in range(12))) == pytest.approx(alone)


def test_who_looked_and_found_none_is_less_sure_than_the_map() -> None:
    never, looked = explorer("ada", 1), explorer("ada", 1)
    for step in range(1, 6):
        look(looked, ATTIC, step)
    answer = ask(looked)
    assert answer.evidence.kind == "not_there"
    assert ask(never).p_yes > answer.p_yes > 0.0
    assert "the team's map holds one there" in answer.explanation


def test_what_the_robot_saw_itself_is_its_own_and_not_counted_again() -> None:
    plain, told = explorer("ada", 0), explorer("ada", 1)
    for answerer in (plain, told):
        look(answerer, ATTIC, 1, 0.0)
    assert ask(told).evidence.kind == "seen"
    assert ask(told).p_yes == pytest.approx(max(ask(plain).p_yes, ask(told).evidence.prior))
    assert "map" not in ask(told).explanation


def test_whole_house_and_words_that_no_detector_reports() -> None:
    answerer = explorer("ada", 1)
    assert ask(answerer, "").yes
    assert ask(explorer("ada", 0), "attic", "zorbomat").evidence.kind == "nothing"
    assert answerer.team is not None
    next(iter(answerer.team.graph.objects.values())).label = LabelBelief.of("zorbomat")
    odd = ask(answerer, "attic", "zorbomat")
    assert odd.yes and odd.evidence.kind == "prior_only"


def test_a_house_is_known_whole_by_who_was_at_every_place() -> None:
    answerer = Answerer(Memory("ada"), HouseholdSense())
    next_door = PlaceView("p-attic", (2.0, 0.0, 0.0), 2.0, ATTIC)
    for step, (place, room, neighbours) in enumerate(
        [("p-garage", GARAGE, (next_door,)), ("p-attic", ATTIC, ())]
    ):
        seen = {"p-garage": 1.0, "p-attic": 1.0}  # one look shows both places well
        pose = Pose((0.0, float(step), 0.0))
        answerer.memory.update(
            Observation("ada", step, float(step), pose, place, room, (), neighbours, seen)
        )
        told = ask(answerer, "kitchen", "mug")
        assert (told.evidence.kind == "nothing") is (step == 1), told.explanation
    assert "this house has no room 'kitchen'" in told.explanation


def test_what_somebody_carries_is_not_there_and_only_own_reports_are_no_map() -> None:
    answerer = explorer("ada", 1)
    assert answerer.team is not None
    next(iter(answerer.team.beliefs.values())).held_by = "tug"
    assert not ask(answerer).yes
    alone = explorer("ada", 1)
    assert alone.team is not None
    alone.team.sources.clear()
    assert not ask(alone).yes


def test_a_model_hears_of_the_map_as_what_others_tell() -> None:
    state = explorer("ada", 2).assess(Question("q", "trumpet", "attic"))
    text = "".join(message.text for message in AnswerPresence().prompt(state))
    assert "told by others" in text and "the team's map holds 2 there" in text
    assert decide_by_rule(AnswerPresence(), state).reply.answer == "yes"
