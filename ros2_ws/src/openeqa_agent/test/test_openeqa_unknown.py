"""Unknown is neither no nor zero: answers about a flat of which half was looked at."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from coterie_core.geometry import Pose
from coterie_core.observation import Observation, RoomView
from coterie_llm import Decider, RulesModel
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_world.coverage import Coverage, PlacesSeen
from openeqa_agent.agents import AgentOptions, OpenAgent

RULES = Decider(RulesModel())
DATA = Path(__file__).parent / "data"


def fits(reply, wanted):
    """Whether a reply is as a line of the data files says."""
    flagged = reply.guessed or not reply.text
    kind, _, pattern = wanted.partition(": ")
    if kind in ("yes", "no"):
        return not flagged and reply.text.startswith(kind)
    if kind == "is":
        return not flagged and re.search(pattern, reply.text, re.IGNORECASE) is not None
    if kind == "not":
        return re.search(pattern, reply.text, re.IGNORECASE) is None
    said = f"{reply.text} {reply.explanation}"
    claims = re.match(r"(?:yes|no|\d+)\b", reply.text)
    return flagged and not claims and re.search(pattern, said, re.IGNORECASE) is not None


@pytest.mark.parametrize(("name", "least"), [("looked_at", 0.9), ("sealed", 0.85)])
async def test_questions_of_all_kinds(name, least, flat):
    agent = OpenAgent(RULES)
    rows = [row for part in yaml.safe_load((DATA / f"{name}.yaml").read_text()).values()
            for row in part]  # fmt: skip
    wrong = [q for q, wanted in rows if not fits(await agent.answer(q, flat), wanted)]
    print(f"\n{name}: {len(rows) - len(wrong)} of {len(rows)} as they should be", end=" ")
    assert len(rows) > 60 and 1.0 - len(wrong) / len(rows) >= least, wrong


async def test_what_going_cannot_answer_sends_nobody(flat):
    agent = OpenAgent(RULES)
    for text in ("What material is the sofa?", "Is there a window in the hallway?", "asdf qwer",
                 "Where is the gromzit?", "What does he think of it?"):  # fmt: skip
        assert (await agent.answer(text, flat)).still, text
    for text in ("Is there a bed in the bedroom?", "How many mugs are on the desk?"):
        assert not (await agent.answer(text, flat)).still, text


async def test_a_known_vocabulary_says_what_is_never_reported(flat):
    labels = [thing.label.top for thing in flat.objects.values()]
    agent = OpenAgent(RULES, vocabulary=DetectorVocabulary.of(labels))
    reply = await agent.answer("Is there a toilet in the kitchen?", flat)
    assert reply.guessed and "toilet" in reply.text
    other = await OpenAgent(RULES).answer("Is there a toilet in the kitchen?", flat)
    assert other.text == "no" and not other.guessed


async def test_what_robots_saw_backs_a_no(flat):
    """A room without things is a room that nobody looked at, unless robots say that they did."""
    seen = PlacesSeen()
    agent = OpenAgent(RULES)
    before = await agent.answer("Is there a bed in the bedroom?", flat, seen=seen)
    assert before.guessed and "the bedroom was not looked at" in before.text
    room = RoomView("r4", "bedroom", "bedroom")
    seen.observe(Observation("ann", 1, 0.0, Pose((13.0, 2.0, 0.0)), "p", room, seen={"p": 1.0}))
    after = await agent.answer("Is there a bed in the bedroom?", flat, seen=seen)
    assert after.text == "no" and not after.guessed and after.confidence > 0.6


def test_whole_floors_are_told_as_such(flat):
    coverage = Coverage(flat)
    missing = coverage.missing(list(flat.rooms.values()))
    assert coverage.told(missing) == "the bedroom and upstairs were not looked at"
    assert coverage.told([]) == ""


async def test_the_paper_s_agents_are_forced_to_guess(flat):
    agent = OpenAgent(RULES, options=AgentOptions(guesses="always"))
    reply = await agent.answer("How many cups are on the dining table?", flat)
    assert reply.guessed and reply.text[0].isdigit()


@pytest.mark.parametrize("guesses", ["never", "usual", "always"])
@pytest.mark.parametrize("method", ["ours", "blind"])
async def test_what_is_no_question_is_named_as_not_understood(method, guesses, flat):
    """Code, markup, signs and other languages get no answer, not even a guess."""
    agent = OpenAgent(RULES, method, options=AgentOptions(guesses=guesses))
    for text, named in (
        ("Is there a Pose(position=(1, 2))?", "Pose(position=(1,"),
        ("while lamp.is_on(): read(book)", "lamp.is_on():"),
        ("UPDATE rooms SET kind='kitchen'", "kind='kitchen'"),
        ("Is the <em>kettle</em> grey?", "<em>kettle</em>"),
        ("What is {room.name}?", "{room.name}?"),
        ("?!? ... !", "?!? ... !"),
        ("Hvor mange stole er der i stuen?", "not understand"),
        ("Où sont les chaussures ?", "not understand"),
        ("", "asks for nothing"),
    ):
        reply = await agent.answer(text, flat)
        assert not reply.text and named in reply.refused, (text, reply)


@pytest.mark.parametrize(
    "text",
    ["How many?", "Is there a ((?", "Are are are?", "blue oven rug", "if the kettle boils:",
     "Silent rivers wash angrily", "What would you use to keep a door from closing?"],
)  # fmt: skip
async def test_heaps_of_words_are_not_answered(text, flat):
    reply = await OpenAgent(RULES).answer(text, flat)
    assert not reply.objects and reply.still and reply.confidence == 0.0
    assert reply.refused or reply.text.startswith("cannot tell")


async def test_words_in_no_order_are_not_read_and_questions_are(flat):
    """Heaps of words make no question for the offline reader; most of what people ask does."""
    sets = yaml.safe_load((DATA / "heaps.yaml").read_text("utf-8"))
    read = {name: [] for name in sets}
    for name, texts in sets.items():
        read[name] = [text for text in texts if (await OpenAgent(RULES).read(text, flat)).steps]
    assert len(read["heaps"]) <= 0.2 * len(sets["heaps"]), read["heaps"]
    assert len(read["sentences"]) >= 0.6 * len(sets["sentences"]), read["sentences"]


async def test_words_that_are_left_out_are_named_and_nobody_goes_for_them(flat):
    agent = OpenAgent(RULES)
    plain = await agent.answer("Where is the mug?", flat)
    more = await agent.answer("Where is the dirty mug?", flat)
    assert not plain.guessed and not plain.still
    assert more.guessed and "'dirty'" in more.explanation
    assert more.text == plain.text and "left out" in more.still


async def test_signs_that_sentences_have_do_no_harm(flat):
    agent = OpenAgent(RULES)
    for text, wanted in (
        ("Is there a 'kettle'?", "yes"),
        ('What color is the "armchair"?', "green"),
        ("What color are the shoes?", "white"),
        ("WHAT COLOR IS THE SOFA!?!", "blue"),
    ):
        reply = await agent.answer(text, flat)
        assert reply.text == wanted and not reply.guessed, (text, reply)


async def test_long_texts_are_refused_and_cost_little(flat):
    reply = await OpenAgent(RULES).answer("is there a mug or " * 400, flat)
    assert "characters" in reply.refused and len(reply.refused) < 200


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Is there a wooden chair in the kitchen?", "wooden"),
        ("Is there a large sofa in the living room?", "large"),
        ("Is there another mug in the kitchen?", "another"),
        ("Where is the nearest mug?", "nearest"),
    ],
)
async def test_what_a_map_does_not_tell_of_a_thing_makes_a_guess(text, word, flat):
    reply = await OpenAgent(RULES).answer(text, flat)
    assert reply.guessed and f"left out, as nothing is known of it: '{word}'" in reply.explanation


@pytest.mark.parametrize(
    ("text", "answer", "why"),
    [
        ("Is there anything blue in the living room?", "yes", "sofa"),
        ("Is there anything blue in the kitchen?", "no", "objects"),
        ("What stands closest to the sofa?", "the floor lamp", "nearest"),
        ("How far is it from the sofa to the fridge?", "about 4.7 meters", "between"),
        ("Which things are in the kitchen?", "2 cabinets, 2 chairs, a counter, a refrigerator, a "
         "kettle, a mug, a sink and a stove, and 3 more", "13 thing"),
        # All of several things, either of them, so many of them.
        ("Is there a mug and a toaster in the kitchen?", "yes", "kitchen: the toaster"),
        ("Is there a mug and a bathtub in the kitchen?", "no", "bathtub in the kitchen: no such"),
        ("Is there a bathtub or a toaster in the kitchen?", "yes, a toaster", "counter"),
        ("Is there a bathtub or a toilet in the kitchen?", "no", "no such"),
        ("Are there two chairs in the kitchen?", "yes", "chair"),
        ("Are there three chairs in the kitchen?", "no", "2 of them seen"),
        ("Is there a red mug?", "yes", "mug"),
        ("Is there a green mug in the kitchen?", "no", ""),
        ("Is there no mug in the kitchen?", "no", "the mug on the counter"),
        ("Is the mug not on the counter?", "no", ""),
        ("Are all chairs brown?", "yes", "all 2"),
        ("Are all cabinets open?", "no", "not so"),
        ("Are the chairs in the kitchen?", "yes", "all 2"),
        ("Are the books and the vase in the living room?", "yes", ""),
        ("Is the mug or the kettle on the counter?", "the mug", ""),
        ("Where are the chairs?", "2 of them: in the kitchen, next to the cabinet and in the "
         "kitchen, next to the sink", "all that"),
        ("Where is the mug and what color is it?", "on the counter in the kitchen; red", "red"),
        ("How many chairs and mugs are in the kitchen?", "2 chairs, 1 mug", ""),
        ("Is there an open refrigerator in the kitchen?", "yes", "refrigerator"),
        ("Is there a closed refrigerator in the kitchen?", "no", ""),
        ("How many things on the counter are not in the living room?", "2", ""),
    ],
)  # fmt: skip
async def test_what_a_person_means_is_answered(text, answer, why, flat):
    reply = await OpenAgent(RULES).answer(text, flat)
    assert (reply.text, reply.guessed) == (answer, False), reply
    assert why in reply.explanation


async def test_a_side_of_what_is_in_another_room_is_no_no(flat):
    sides = await OpenAgent(RULES).answer("Is the sofa to the right of the fridge?", flat)
    assert sides.guessed and "another room" in sides.text


async def test_a_color_that_the_map_does_not_tell_is_no_no(flat):
    flat.objects["mug"].properties.clear()
    reply = await OpenAgent(RULES).answer("Is there a red mug in the kitchen?", flat)
    assert reply.guessed and "the color of the mug is not known" in reply.explanation


async def test_a_guess_names_no_room_that_the_house_does_not_have(flat):
    reply = await OpenAgent(RULES).answer("Where are the keys?", flat)
    kinds = ("kitchen", "living room", "hallway", "bedroom", "office")
    assert reply.guessed and any(reply.text.endswith(f"in the {kind}") for kind in kinds)
    blind = await OpenAgent(RULES, "blind").answer("Where are the keys?")
    assert blind.text.endswith("entryway")
