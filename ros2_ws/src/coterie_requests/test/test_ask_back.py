"""Asking back: five kinds of unclear requests, what backs a denial, and what an answer settles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from coterie_core.geometry import Box, Pose
from coterie_core.observation import Observation, RoomView
from coterie_fixtures.endpoint import Endpoint
from coterie_llm import CheckFailed, Decider, ModelProfile, RulesModel, build_decider
from coterie_requests.ask_back import RequestState, settle, without
from coterie_requests.ask_back.decision import JudgeRequest, RequestReply
from coterie_requests.ask_back.judgement import Judgement
from coterie_requests.ask_back.reading import subjective_terms
from coterie_requests.ask_back.rule import judged, with_answer
from coterie_requests.asking import WordsAnswer, WordsQuestion
from coterie_requests.detector_vocabulary import DetectorVocabulary
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
    return RequestState(
        words, command, scene, looked(scene, rooms), DetectorVocabulary.of(LABELS), ("ann",)
    )


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
        ("How many bowls are there in the observatory?", "false_premise"),
        ("Is it heavy?", "underspecified"),
        ("How far is it from the bowl to the desk?", "clear"),
        ("Is it far from the bowl to the desk?", "clear"),
        ("How heavy is it?", "underspecified"),
        ("Which of the vases is the prettiest?", "subjective"),
        ("What is the best vase for tall flowers?", "ambiguous"),
        ("Where is the yodelgrub?", "clear"),  # no word: the answerer says so
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
    given = RequestState("Where is the guitar?", "ask", home)  # a map, and nobody has looked
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
    asked = RequestState(
        "What color is the alarm clock?", "ask", home, looked(home, (0, 1, 2, 3)),
        DetectorVocabulary.of([*LABELS, "alarm clock"]),
    )  # fmt: skip
    told = judged(asked)
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

    async def person(question: WordsQuestion) -> WordsAnswer:
        asked.append(question)
        return WordsAnswer(says, "" if says else "nobody is there to answer")

    settled = await settle(state(words, scene, command), RULES, person)
    assert len(asked) <= 1
    return settled


@pytest.mark.parametrize(
    "says", ["2", "the vase on the table in the kitchen", "the kitchen one", "vase-2"]
)
async def test_an_answer_picks_one(says: str, home: SceneGraph) -> None:
    told = await answered("What color is the vase?", home, "ask", says)
    assert (told.go_on, told.chosen, told.left_out) == (True, "vase-2", ("vase-1",))
    assert told.judgement.kind == "ambiguous" and told.judgement.answer == says
    assert set(without(home, told.left_out).objects) == {*home.objects} - {"vase-1"}


@pytest.mark.parametrize(
    ("words", "before"),
    [
        ("How many are there?", Judgement("underspecified", slot="object")),
        ("Bring it to the study", Judgement("underspecified")),
        ("Is there a vase in the loft?", Judgement("false_premise", slot="room", said="loft")),
    ],
)
@pytest.mark.parametrize("says", [r"C:\1", r"the \g<0> one"])
def test_an_answer_is_put_into_a_request_as_it_stands(
    words: str, before: Judgement, says: str, home: SceneGraph
) -> None:
    asked = replace(state(words, home), answer=says)
    assert says in with_answer(asked, before).words


@pytest.mark.parametrize("says", ["", "the purple one", "never mind", "vase"])
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
    assert told.words == (words.replace("the vase", "vase-2") if command == "do" else words)


async def test_a_sliver_of_such_a_thing_is_not_asked_about(home: SceneGraph) -> None:
    """An "oven" four centimeters high on a table, told nearly as clearly as the real one."""
    for k, (size, weight) in enumerate([((0.6, 0.6, 0.85), 40.0), ((0.8, 0.4, 0.04), 8.0)]):
        oven = thing(f"oven-{k}", "kitchen", 3.0 + k, "furniture", last_seen=Sighting(1.0, "ada"))
        oven.box, oven.label = replace(oven.box, size=size), LabelBelief({"oven": weight})
        home.add_object(oven)
    told = await answered("Bring the bowl to the oven", home, "do", "")
    assert (told.go_on, told.chosen) == (True, "oven-0")


async def test_any_will_do_and_all_are_answers(home: SceneGraph) -> None:
    assert (await answered("the vase", home, "find", "any of them")).chosen == "vase-1"
    both = await answered("the vase", home, "find", "both")
    assert both.go_on and both.left_out == ()


@pytest.mark.parametrize(
    ("words", "says", "then"),
    [
        ("What color is it?", "bowl", "What color is the bowl"),
        ("Where is that one?", "the vase in the study", "Where is the vase in the study"),
        ("What color is it?", "Where is the laptop?", "Where is the laptop"),
    ],
)
async def test_an_answer_completes_a_request(
    words: str, says: str, then: str, home: SceneGraph
) -> None:
    told = await answered(words, home, "ask", says)
    assert told.go_on and told.words == then


async def test_it_makes_no_difference_which_one(home: SceneGraph) -> None:
    asked = state("What color is the vase?", home)
    told = await settle(asked, RULES, None, cleared=lambda judgement: True)
    assert told.go_on and told.judgement.clear


async def test_a_model_reads_words_in_another_language(home: SceneGraph) -> None:
    replies = iter(
        [
            {
                "reason": "zwei Vasen",
                "kind": "ambiguous",
                "candidates": ["vase-1", "vase-2"],
                "question": "Welche Vase?",
            },
            {"reason": "die in der Küche", "kind": "clear", "candidates": ["vase-2"]},
        ]
    )
    asked: list[WordsQuestion] = []

    async def person(question: WordsQuestion) -> WordsAnswer:
        asked.append(question)
        return WordsAnswer("die in der Küche")

    with Endpoint(lambda request: next(replies)) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m")
        decider = build_decider(profile, who="team")
        told = await settle(state("Welche Farbe hat die Vase?", home), decider, person)
        await decider.aclose()
    assert "Welche Vase?" in asked[0].text and len(asked[0].choices) == 2
    assert told.go_on and told.left_out == ("vase-1",) and told.judgement.decided_by == "model"


@pytest.mark.parametrize(
    ("reply", "rooms", "problem"),
    [
        ({"kind": "false_premise"}, (0, 1), "not_seen_yet"),
        ({"kind": "ambiguous", "candidates": ["vase-1"], "question": "?"}, (0,), "two candidates"),
        ({"kind": "ambiguous", "candidates": ["vase-1", "vase-9"]}, (0,), "vase-9"),
        ({"kind": "underspecified"}, (0,), "question"),
        ({"kind": "not_seen_yet", "missing": ["r0"]}, (0,), "were looked at"),
        ({"kind": "subjective", "question": "vase-1"}, (0,), "name on the map"),
        ({"kind": "subjective", "reason": "It is so. It is so. It is"}, (0,), "said twice"),
    ],
)
def test_a_models_judgement_is_checked(
    reply: dict[str, Any], rooms: Sequence[int], problem: str, home: SceneGraph
) -> None:
    asked = state("Where is the laptop?", home, rooms=rooms)
    with pytest.raises(CheckFailed, match=problem):
        JudgeRequest().check(asked, RequestReply(**({"reason": ""} | reply)))


@pytest.mark.parametrize("words", ["What color is the vase?", "Where is the guitar?", "find it"])
def test_the_rules_reply_passes_the_check(words: str, home: SceneGraph) -> None:
    asked = state(words, home)
    JudgeRequest().check(asked, JudgeRequest().rule(asked))


def test_words_of_taste() -> None:
    assert subjective_terms("which sofa is the loveliest") == ("loveliest",)
    assert subjective_terms("would you say that this is nice") != ()
    for plain in ("the largest sofa", "the best knife to cut bread", "a soft cushion"):
        assert subjective_terms(plain) == (), plain


async def test_a_task_goes_on_with_the_name_of_what_was_meant(home: SceneGraph) -> None:
    told = await answered("Fetch the vase", home, "do", "2")
    assert told.go_on and told.words == "Fetch vase-2"
    room = await answered("Go to the bedroom", home, "do", "bedroom 2")
    assert room.words == "Go to bedroom 2"
    none = await answered("Go to the observatory", home, "do", "the study")
    assert none.words == "Go to the study" and none.judgement.kind == "false_premise"


@pytest.mark.parametrize(
    ("seen", "kind", "go_on"),
    [(0.3, "not_seen_yet", True), (0.48, "false_premise", True), (0.9, "false_premise", False)],
)
async def test_where_nobody_answers_robots_look_unless_all_rooms_were_looked_over(
    home: SceneGraph, seen: float, kind: str, go_on: bool
) -> None:
    """Many things seen through a door are not the room."""
    for room in home.rooms.values():
        for k in range(12):
            home.add_object(thing(f"{room.id}-{k}", room.id, 0.1 * k))
    places = PlacesSeen()
    for k, room in enumerate(ROOMS):
        view = RoomView(f"r{k}", room, "")
        at = Pose((4.0 * k, 0, 0))
        places.observe(Observation("ann", k, 0.0, at, f"p{k}", view, seen={f"p{k}": seen}))
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
