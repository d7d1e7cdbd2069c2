"""Asking back: five kinds of unclear requests, what backs a denial, and what an answer settles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from coterie_core.geometry import Box, Pose
from coterie_core.observation import Observation, RoomView
from coterie_fixtures.endpoint import Endpoint
from coterie_llm import Decider, ModelProfile, RulesModel, build_decider
from coterie_requests.ask_back import Person, RequestState, settle, without
from coterie_requests.ask_back.rule import judged
from coterie_requests.asking import WordsAnswer, WordsQuestion
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_requests.grammar import read
from coterie_requests.taste import is_taste
from coterie_requests.understanding import NotUnderstood, Problem
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.coverage import SEEN_WELL_RECALL, Coverage, PlacesSeen, recall
from coterie_world.scene import Floor, LabelBelief, Place, Room, SceneGraph, SceneObject, Sighting

pytestmark = pytest.mark.quick

RULES = Decider(RulesModel())
ROOMS = ("study", "kitchen", "bedroom 1", "bedroom 2")
LABELS = ("desk", "table", "vase", "bowl", "laptop", "guitar", "bed", "blanket", "sofa")


def thing(id_: str, room: str, x: float, kind: str = "item", **more: Any) -> SceneObject:
    label = id_.rpartition("-")[0]
    box = Box((x, 0.0, 0.8), (0.2, 0.2, 0.2))
    return SceneObject(id_, LabelBelief({label: 1.0}), box, room, kind, observations=3, **more)


@pytest.fixture
def home() -> SceneGraph:
    """A ground floor with two vases, one bowl, and upstairs two bedrooms."""
    scene = SceneGraph()
    scene.add_floor(Floor("f0", 0, 0.0))
    scene.add_floor(Floor("f1", 1, 3.0))
    for k, name in enumerate(ROOMS):
        scene.add_room(Room(f"r{k}", name, name.rstrip(" 12"), "f0" if k < 2 else "f1"))
        scene.add_place(Place(f"p{k}", (4.0 * k, 0.0, 0.0), f"r{k}"))
    for one in (
        thing("desk-1", "r0", 0.0, "furniture"),
        thing("table-1", "r1", 4.0, "furniture"),
        thing("vase-1", "r0", 0.1, support="desk-1"),
        thing("vase-2", "r1", 4.1, support="table-1"),
        thing("bowl-1", "r1", 4.4, support="table-1"),
    ):
        scene.add_object(one)
    return scene


def looked(scene: SceneGraph, rooms: Sequence[int]) -> Coverage:
    """Coverage where robots stood in some rooms and saw all of them."""
    seen = PlacesSeen()
    for step, k in enumerate(rooms):
        room = RoomView(f"r{k}", ROOMS[k], "")
        place = f"p{k}"
        seen.observe(
            Observation("ann", step, 0.0, Pose((4.0 * k, 0, 0)), place, room, seen={place: 1.0})
        )
    return Coverage(scene, seen, given=True)


def state(
    words: str, scene: SceneGraph, command: Any = "ask", rooms: Sequence[int] = (0, 1, 2, 3)
) -> RequestState:
    told = RequestState(
        words, command, scene, looked(scene, rooms), DetectorVocabulary.of(LABELS), ("ann",)
    )
    return read_state(told)


def read_state(told: RequestState) -> RequestState:
    """The state as `settle` reads it by the grammar."""
    try:
        return replace(told, request=read(told.words, told.names, told.command))
    except NotUnderstood as error:
        return replace(told, problem=error.problem)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("What color is the vase?", "ambiguous"),
        ("What color is the vase in the study?", "clear"),
        ("What color is the bowl?", "clear"),
        ("How large is the bowl?", "clear"),
        ("How long is the guitar?", "false_premise"),
        ("How many vases are there?", "clear"),
        ("Is there a guitar in the study?", "clear"),
        ("Is the bowl on the desk?", "clear"),
        ("Where is the guitar?", "false_premise"),
        ("What is next to the vase in bedroom 2?", "false_premise"),
        ("How many bowls are there in the sauna?", "false_premise"),
        ("Is the guitar in the study?", "false_premise"),
        ("Is the vase on the desk?", "ambiguous"),
        ("Is it open?", "underspecified"),
        ("How far is it from the bowl to the desk?", "clear"),
        ("How large is it?", "underspecified"),
        ("Where is the prettiest vase?", "subjective"),
    ],
)
def test_questions_about_a_house_that_was_seen_altogether(
    words: str, kind: str, home: SceneGraph
) -> None:
    told = judged(state(words, home))
    assert told.kind == kind, told
    assert bool(told.text) == (kind != "clear")


def test_nothing_is_denied_from_absence_alone(home: SceneGraph) -> None:
    unseen = judged(state("Where is the guitar?", home, rooms=(0, 1)))
    assert (unseen.kind, unseen.missing) == ("not_seen_yet", ("upstairs",))
    assert unseen.question == ""
    seen = judged(state("Where is the guitar?", home))
    assert seen.kind == "false_premise" and len(seen.evidence) == 3
    given = replace(state("Where is the guitar?", home), coverage=None)  # nobody has looked
    assert judged(given).kind == "not_seen_yet"
    door = state("Where is the guitar?", home)
    assert door.coverage is not None
    door.coverage.closed = False  # somebody saw a place that leads farther
    assert judged(door).kind == "not_seen_yet"


def test_small_things_need_more_looks_than_large_ones(home: SceneGraph) -> None:
    assert recall("sofa") > 0.95 > 0.8 > recall("keys") > 0.0
    assert recall("plate") < recall("cushion")  # plates are kept in cupboards
    assert recall("yodelgrub") == SEEN_WELL_RECALL
    everywhere, rooms = looked(home, (0, 1, 2, 3)), list(home.rooms.values())
    one = next(room for room in rooms if room.type == "bedroom")
    sure = {label: everywhere.absence(label, [one]) for label in ("wardrobe", "phone")}
    assert sure["wardrobe"] > sure["phone"]  # as likely there, and hardly overlooked


def test_what_is_easily_missed_is_not_said_to_be_looked_over_badly(home: SceneGraph) -> None:
    asked = state("What color is the alarm clock?", home)
    told = judged(replace(asked, vocabulary=DetectorVocabulary.of([*LABELS, "alarm clock"])))
    assert told.kind == "not_seen_yet" and "easily missed" in told.text


@pytest.mark.parametrize("words", ["Go to the sauna", "How many bowls are there in the cellar?"])
def test_a_room_that_only_holds_the_same_is_another_room(words: str, home: SceneGraph) -> None:
    home.add_room(Room("r9", "bathroom", "bathroom", "f0"))
    home.add_room(Room("r10", "garage", "garage", "f0"))
    told = judged(replace(state(words, home), rooms_given=True))
    assert told.kind == "false_premise" and "the map has no" in told.text
    home.add_room(Room("r11", "spa/sauna", "bathroom", "f0"))
    home.add_room(Room("r12", "old cellar", "garage", "f0"))
    assert judged(replace(state(words, home), rooms_given=True)).kind != "false_premise"


def test_what_no_detector_reports_is_not_denied(home: SceneGraph) -> None:
    told = judged(state("What color is the piano?", home))
    assert told.kind == "not_seen_yet" and "piano" in told.text


def test_what_is_denied_in_a_room_may_be_told_of_elsewhere(home: SceneGraph) -> None:
    told = judged(state("the bowl in bedroom 1", home, "find"))
    assert told.kind == "false_premise" and "on the table in the kitchen" in told.text


async def answered(words: str, scene: SceneGraph, command: Any, says: str) -> Any:
    asked: list[WordsQuestion] = []
    given = replace(state(words, scene, command), request=None, problem=None)
    settled = await settle(given, RULES, person_who(says, asked))
    assert len(asked) <= 1
    return settled


def person_who(says: str, asked: list[WordsQuestion]) -> Person:
    async def person(question: WordsQuestion) -> WordsAnswer:
        asked.append(question)
        return WordsAnswer(says, "" if says else "nobody is there to answer")

    return person


@pytest.mark.parametrize(
    "says",
    [
        "2",
        "the vase on the table in the kitchen",
        "the kitchen one",
        "vase-2",
        "in the kitchen",
        "kitchen",
        "on the table",
        "the second one",
        "the one next to the bowl",
    ],
)
async def test_an_answer_picks_one(says: str, home: SceneGraph) -> None:
    told = await answered("What color is the vase?", home, "ask", says)
    assert (told.go_on, told.chosen, told.left_out) == (True, "vase-2", ("vase-1",))
    assert told.judgement.kind == "ambiguous" and told.judgement.answer == says
    assert told.request.told() == on_map(home, "What color is vase-2?", "ask")
    assert set(without(home, told.left_out).objects) == {*home.objects} - {"vase-1"}


def on_map(home: SceneGraph, words: str, command: Any) -> str:
    """What a request is, in plain words."""
    return read(words, Vocabulary.of(home), command).told()


@pytest.mark.parametrize("says", ["", "the purple one", "never mind", "vase", "the third one"])
async def test_no_answer_or_one_that_tells_nothing_guesses_nothing(
    says: str, home: SceneGraph
) -> None:
    told = await answered("What color is the vase?", home, "ask", says)
    assert not told.go_on and told.chosen == "" and told.judgement.kind == "ambiguous"
    assert "Which vase do you mean?" in told.judgement.line


@pytest.mark.parametrize(
    ("command", "weight", "given"),
    [("ask", 0.6, False), ("do", 0.6, False), ("do", 20.0, False), ("do", 0.6, True)],
)
async def test_what_a_detector_saw_in_passing_is_not_asked_about(
    command: str, weight: float, given: bool, home: SceneGraph
) -> None:
    home.objects["vase-1"].label.weights = {"vase": weight, "lamp": 0.1}
    home.objects["vase-1"].last_seen = Sighting(1.0, "ada") if not given else None
    home.objects["vase-2"].label.weights = {"vase": 65.0, "jar": 3.0}
    words = {"ask": "What color is the vase?", "do": "Bring the vase to the study"}[command]
    told = await answered(words, home, command, "")
    assert told.judgement.kind == "ambiguous"
    if weight > 6.5 or given:
        assert not told.go_on and told.chosen == ""
        return
    assert (told.go_on, told.chosen, told.left_out) == (True, "vase-2", ("vase-1",))
    assert "is taken, which was seen far better" in told.judgement.line
    assert told.request.told() == on_map(home, words.replace("the vase", "vase-2"), command)


async def test_a_sliver_of_such_a_thing_is_not_asked_about(home: SceneGraph) -> None:
    """A "dresser" four centimeters high on a table, told nearly as clearly as the real one."""
    for k, (size, weight) in enumerate([((1.1, 0.5, 0.9), 40.0), ((0.8, 0.4, 0.04), 8.0)]):
        one = thing(f"dresser-{k}", "kitchen", 3.0 + k, "furniture", last_seen=Sighting(1.0, "ada"))
        one.box, one.label = replace(one.box, size=size), LabelBelief({"dresser": weight})
        home.add_object(one)
    told = await answered("Open the dresser", home, "do", "")
    assert (told.go_on, told.chosen) == (True, "dresser-0")


async def test_any_will_do_and_all_are_answers(home: SceneGraph) -> None:
    assert (await answered("the vase", home, "find", "any of them")).chosen == "vase-1"
    both = await answered("the vase", home, "find", "both")
    assert both.go_on and both.left_out == () and both.request.steps[0].things[0].amount == 0


@pytest.mark.parametrize(
    ("command", "words", "says", "then"),
    [
        ("ask", "What color is it?", "bowl", "What color is the bowl?"),
        ("ask", "Where is that one?", "the vase in the study", "Where is the vase in the study?"),
        ("ask", "What color is it?", "Where is the laptop?", "Where is the laptop?"),
        ("do", "Bring it to the study", "the bowl", "Bring the bowl to the study"),
        ("do", "Collect the bowls on the desk", "1", "Bring the bowls onto the desk"),
        ("do", "Collect the bowls on the desk", "2", "Collect the bowls from the desk"),
    ],
)
async def test_an_answer_completes_a_request(
    command: str, words: str, says: str, then: str, home: SceneGraph
) -> None:
    told = await answered(words, home, command, says)
    assert told.go_on and told.request.told() == on_map(home, then, command)


@pytest.mark.parametrize("says", ["the study", "study", "to the study", "into the study"])
async def test_an_answer_says_where_to(says: str, home: SceneGraph) -> None:
    """Who carries out tasks finds that a place is missing in what was read."""
    owed = replace(state("Bring the bowl", home, "do"), problem=Problem("target", "say where to"))
    told = await settle(owed, RULES, person_who(says, []))
    assert (
        told.judgement.kind == "underspecified" and told.request.steps[0].to.thing.name == "study"
    )
    none = await settle(owed, RULES, person_who(r"C:\\1", []))
    assert not none.go_on


@pytest.mark.parametrize("says", [r"C:\1", r"the \g<0> one", "{}[0]", "x" * 3000])
async def test_odd_answers_settle_nothing(says: str, home: SceneGraph) -> None:
    for words in ("What color is the vase?", "What color is it?", "Bring the guitar to the study"):
        command = "do" if words.startswith("Bring") else "ask"
        assert not (await answered(words, home, command, says)).go_on


async def test_words_that_no_answer_completes_are_refused(home: SceneGraph) -> None:
    with pytest.raises(NotUnderstood, match="yodelgrub"):
        await answered("Where is the yodelgrub?", home, "ask", "the bowl")


async def test_it_makes_no_difference_which_one(home: SceneGraph) -> None:
    asked = state("What color is the vase?", home)
    told = await settle(asked, RULES, None, cleared=lambda judgement: True)
    assert told.go_on and told.judgement.clear


async def test_a_model_reads_words_and_the_answer_in_another_language(home: SceneGraph) -> None:
    said = ["What color is the vase?", "What color is the vase in the kitchen?"]
    replies = ({"reason": "its color", "kind": "clear", "say": [one]} for one in said)
    asked: list[WordsQuestion] = []
    unread = replace(state("Welche Farbe hat die Vase?", home), problem=None)
    with Endpoint(lambda request: next(replies)) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m")
        decider = build_decider(profile, who="team")
        told = await settle(unread, decider, person_who("die in der Küche", asked))
        await decider.aclose()
    assert len(asked[0].choices) == 2 and told.go_on and told.judgement.kind == "ambiguous"
    assert told.request.told() == on_map(home, "What color is the vase in the kitchen?", "ask")
    assert told.request.words == "Welche Farbe hat die Vase?"


async def test_a_models_reading_of_an_answer_that_leaves_it_open_settles_nothing(
    home: SceneGraph,
) -> None:
    again = {"reason": "its color", "kind": "clear", "say": ["What color is the vase?"]}
    with Endpoint(lambda request: again) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m")
        decider = build_decider(profile, who="team")
        asked = state("What color is the vase?", home)
        told = await settle(asked, decider, person_who("weiß nicht", []))
        await decider.aclose()
    assert not told.go_on and told.judgement.kind == "ambiguous"


@pytest.mark.parametrize("word", ["ugly", "loveliest", "coziest", "nicer", "best-looking", "best"])
def test_words_of_taste(word: str) -> None:
    assert is_taste(word)


@pytest.mark.parametrize(("word", "use"), [("largest", ""), ("soft", ""), ("best", "to cut bread")])
def test_words_of_no_taste(word: str, use: str) -> None:
    assert not is_taste(word, use)


async def test_of_several_ugly_things_one_is_chosen(home: SceneGraph) -> None:
    told = await answered("Bring the ugly vase to the study", home, "do", "2")
    assert told.judgement.kind == "subjective"
    assert told.request.told() == on_map(home, "Bring vase-2 to the study", "do")
    one = await answered("Bring the ugly bowl to the study", home, "do", "")
    assert one.judgement.clear  # there is one bowl


def test_what_is_left_out_has_to_be_there(home: SceneGraph) -> None:
    told = judged(state("Bring all vases except the guitar to the study", home, "do"))
    assert told.kind == "false_premise" and "guitar" in told.text
    assert judged(state("Bring all vases except the bowl to the study", home, "do")).clear


async def test_a_task_goes_on_with_the_name_of_what_was_meant(home: SceneGraph) -> None:
    told = await answered("Take the vase", home, "do", "2")
    assert told.request.words == "Take vase-2"
    assert told.request.told() == on_map(home, "Take vase-2", "do")
    room = await answered("Go to the bedroom", home, "do", "bedroom 2")
    assert room.request.told() == on_map(home, "Go to bedroom 2", "do")
    none = await answered("Go to the sauna", home, "do", "the study")
    assert none.request.told() == on_map(home, "Go to the study", "do")
    assert none.judgement.kind == "false_premise"


async def test_a_chosen_thing_is_asked_about_where_it_was_asked_to_be(home: SceneGraph) -> None:
    told = await answered("Is the vase on the desk?", home, "ask", "2")
    assert told.request.told() == "relation, vase 2 on the desk"


@pytest.mark.parametrize(
    ("seen", "last", "kind", "go_on"),
    [
        (0.3, 0.3, "not_seen_yet", True),
        (0.9, 0.4, "false_premise", True),
        (0.9, 0.9, "false_premise", False),
    ],
)
async def test_where_nobody_answers_robots_look_unless_all_rooms_were_looked_over(
    home: SceneGraph, seen: float, last: float, kind: str, go_on: bool
) -> None:
    """Many things seen through a door are not the room."""
    for room in home.rooms.values():
        for k in range(12):
            home.add_object(thing(f"{room.id}-{k}", room.id, 0.1 * k))
    places = PlacesSeen()
    for k, room in enumerate(ROOMS):
        view = RoomView(f"r{k}", room, "")
        at = Pose((4.0 * k, 0, 0))
        share = last if room == ROOMS[-1] else seen
        places.observe(Observation("ann", k, 0.0, at, f"p{k}", view, seen={f"p{k}": share}))
    asked = state("Bring the guitar to the study", home, "do")
    asked = replace(asked, coverage=Coverage(home, places, given=True))
    told = await settle(asked, RULES)
    assert told.judgement.kind == kind and told.go_on is go_on
    question = replace(state("Where is the guitar?", home), coverage=asked.coverage)
    assert judged(question).kind == kind


async def test_robots_look_all_the_same_where_the_person_says_so(home: SceneGraph) -> None:
    yes = await answered("Bring the guitar to the study", home, "do", "yes")
    no = await answered("Bring the guitar to the study", home, "do", "no")
    assert (yes.go_on, no.go_on) == (True, False)
