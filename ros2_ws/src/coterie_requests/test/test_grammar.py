"""One grammar reads what people say: commands, questions, descriptions, and what it refuses."""

from __future__ import annotations

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_fixtures.two_floor_home import small_house
from coterie_requests import grammar
from coterie_requests.grammar import Door, read, read_place, read_thing
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import Room

NAMES = Vocabulary.of(small_house(), ("rover", "walker", "drone"))

READ: dict[Door, dict[str, str]] = {
    "do": {
        "Please bring the mugs and the plates to the kitchen counter.":
            "bring, all mugs and all plates, to the kitchen counter",
        "Open the dishwasher, put the bowls inside and close it again":
            "open, the dishwasher; then bring, all bowls, to: in the dishwasher; then close, the "
            "dishwasher",
        "Bring all mugs except the red one to the kitchen":
            "bring, all mugs except the red mug, to the kitchen",
        "Put one plate on the table and the rest in the cabinet":
            "bring, plate, to: on the table; bring, all rest plates, to: in the cabinet",
        "Fetch me the mug that is not broken and put it in the sink":
            "bring, the mug except broken mug, to: in the sink",
        "Bring the mug to the kitchen and the book to the office":
            "bring, the mug, to the kitchen; bring, the book, to the office",
        "bring the mug and the one on the desk to the table":
            "bring, the mug and the mug on the desk, to the table",
        "walker, fetch me a book from upstairs and lay it onto the sofa in the living room":
            "walker: bring, book from upstairs, to: on the sofa in the living room",
        "Let rover close the fridge and walker open the door":
            "rover: close, the fridge; walker: open, the door",
        "Let rover take the mug and walker put it on the table":
            "rover: take, the mug; walker: bring, the mug, to: on the table",
        "First open the window, then bring the mug to the kitchen":
            "open, the window; then bring, the mug, to the kitchen",
        "Put the cup that is next to the laptop into the sink":
            "bring, the cup near the laptop, to: in the sink",
        "Bring three plates or bowls to the table": "bring, 3 plates or 3 bowls, to the table",
        "put the books from the shelf on the bed":
            "bring, all books from the shelf, to: on the bed",
        "Put the cushion that is on the floor on the sofa":
            "bring, the cushion on the floor, to: on the sofa",
        "Bring my keys here": "bring, the keys, to me",
        "Take the two books from the desk to the shelf, but not the blue one":
            "bring, 2 books from the desk except the blue book, to the shelf",
        "Bring all mugs to the kitchen except the red one":
            "bring, all mugs except the red mug, to the kitchen",
        "I can't find my phone": "find, the phone",
        "Search the kitchen for the remote": "find, the remote in the kitchen",
        "search the house for my phone": "find, the phone",
        "Quickly, bring a towel to the kitchen":
            "bring, towel, to the kitchen; left aside: 'quickly'",
        "Put the mug on the table or the desk": "bring, the mug, to: on the table or the desk",
        "Put the mug on the table and the plates that are on the bed on the desk":
            "bring, the mug, to: on the table; bring, all plates on the bed, to: on the desk",
        "Bring all mugs except the one on the desk to the sink":
            "bring, all mugs except the mug on the desk, to the sink",
        "Put all the books but the red ones on the shelf, then close it":
            "bring, all books except all red books, to: on the shelf; then close, the shelf",
        "Find my keys and bring them to the hallway":
            "find, the keys; then bring, the keys, to the hallway",
        "Bring a mug to the kitchen counter and find the keys":
            "bring, mug, to the kitchen counter; find, the keys",
        "See if the laptop is on the bed": "check, the laptop on the bed",
    },
    "ask": {
        "Are the lights turned on in the hall?": "state, on, all lights in the hall",
        "Where is the plaid blanket?": "where, the plaid blanket",
        "Are all cabinet drawers closed?": "state, closed, all cabinet drawers",
        "What is between the two beds?": "what, all things between 2 beds",
        "I want to check my outfit, how can I do this?":
            "used for, all things to check my outfit",
        "Where can I relax and watch TV?": "used for, place, all things to relax and watch tv",
        "What can I sit on and where is the mug?":
            "used for, all things to sit on; where, the mug",
        "What type of table is in the kitchen?": "attribute, type, table in the kitchen",
        "I need to dry my hands, what can I use?": "used for, all things to dry my hands",
        "Any towels left in the bathroom?": "is there, towel in the bathroom",
        "Do we have any bananas left?": "is there, banana",
        "Is there a mug and a plate?": "is there, mug and plate",
        "Is there a mug or a glass in the hall?": "is there, mug in the hall or glass in the hall",
        "Are there two mugs?": "is there, 2 mugs",
        "Is there a desk in bedroom 7?": "is there, desk in bedroom 7",
        "Is there no dirty plate?": "is there, not, all dirty plates",
        "Is there a mug in the room?": "is there, mug; left aside: 'in the room'",
        "Is there no mug?": "is there, not, all mugs",
        "Isn't there a mug?": "is there, mug",
        "Is there anything blue in the bedroom?": "is there, all blue things in the bedroom",
        "How many plates does the kitchen have?": "how many, all plates in the kitchen",
        "Is the mug on the desk or on the table?":
            "relation, of on the desk or on the table, (relation, the mug on the desk) or "
            "(relation, the mug on the table)",
        "Is the mug not on the desk?": "relation, not, the mug on the desk",
        "How far is it from the bed to the piano?": "size, far, the bed and the piano",
        "What stands closest to the piano?": "what, nearest thing to the piano",
        "Is the desk taller than the bed?": "size, taller, the desk and the bed",
        "What is the large red object on the desk in the office?":
            "what, the large red thing on the desk in the office",
        "Is the rug in the hallway grey or blue?":
            "color, grey, the rug in the hallway, of grey or blue",
        "Is the vase beautiful?": "state, beautiful, the vase",
        "Where can I sit?": "used for, place, all things to sit",
    },
    "find": {
        "the most attractive vase": "find, the most attractive vase",
        "something to drink from": "find, thing to drink from",
        "the second largest table": "find, the largest number 2 table",
        "the nightstand furthest away from the lamp":
            "find, the farthest nightstand from the lamp",
        "a desk with a lamp on it": "find, desk with lamp",
        "all red mugs that are not in the kitchen": "find, all red mugs not in the kitchen",
        "a thing that hangs on a wall but is not a picture":
            "find, thing on wall except picture",
        "something to drink from that is not on the dining table":
            "find, thing to drink from not on the dining table",
        "What can I sit on that is near a book?": "used for, all things to sit on near book",
        "something that emits sound but is not the tv":
            "find, thing that emits sound except the tv",
        "Where can I leave the dirty dishes?":
            "used for, place, all things to leave the dirty dishes",
        "I need the book that is on a table": "find, the book on table",
        "a seat that is neither a sofa nor an office chair":
            "find, seat except sofa except office chair",
        "something that gives light without being electric":
            "find, thing that gives light except electric thing",
        "a desk that does not have a monitor on it": "find, desk not with monitor",
        "somewhere to sit as far from the radio as possible":
            "find, farthest thing from the radio somewhere to sit",
        "I am tired, where can I sit?": "find, all things i am tired , where can i sit",
    },
}  # fmt: skip
REFUSED = {
    "Bring the heavier of the two bags to the garage": "spelling",
    "Collect the dirty plates in the kitchen sink": "ambiguous",
    "Leave one plate on the kitchen table and take the other one to the dining room": "word",
    "Bring all mugs to the sink and leave the plates where they are": "word",
    "Take the trash out": "word",
    "Bring at most two mugs to the kitchen": "word",
    "Bring most of the mugs to the kitchen": "word",
    "Bring all books to the shelf but don't touch the vase": "negation",
    "Before you go to the hallway, close the fridge": "verb",
    "There's a mug on the sofa that belongs in the kitchen": "word",
    "Bring the plaid blanket to the kitchen": "word",
    "Do not go upstairs": "negation",
    "Take the mug because it is dirty and put it in the sink": "word",
    "Are there exactly two mugs?": "word",
    "Bring the plates and no bowls to the kitchen": "nothing",
    "Take the plates out of the dishwasher and put them in the cabinet, then close both": "pronoun",
    "stop everything": "verb",
    "If it rains, close the windows": "spelling",
    "Close the windows when it rains": "word",
    "Bring it to the kitchen": "pronoun",
    "Bring the botle to the table": "spelling",
    "Wash the dishes": "verb",
    "Räum die Küche auf": "verb",
    "What is not in the kitchen but usually is?": "word",
    "The mug is on the table": "word",
    "find mug[0]": "word",
    "?": "empty",
    "bring the mug to the kitchen " * 40: "too_long",
}


@pytest.mark.parametrize(("door", "words"), [(d, words) for d in READ for words in READ[d]])
def test_a_sentence_is_read_as_meant(door: Door, words: str) -> None:
    assert read(words, NAMES, door).told() == READ[door][words]


@pytest.mark.parametrize(
    "words",
    [
        "something to sit on near the plimsoll",
        "something to sit on but no plimsoll",
        "I am tired and want to sit near the plimsoll",
        "I want to sit on ab12",
    ],
)
def test_a_use_swallows_no_place_no_exclusion_and_no_odd_word(words: str) -> None:
    with pytest.raises(NotUnderstood):
        read(words, NAMES, "find")


@pytest.mark.parametrize("words", REFUSED)
def test_what_no_field_holds_is_refused_or_asked_back(words: str) -> None:
    with pytest.raises(NotUnderstood) as refused:
        read(words, NAMES, "do")
    assert refused.value.problem.kind == REFUSED[words]


def test_a_refusal_says_up_to_where_words_were_understood() -> None:
    with pytest.raises(NotUnderstood, match="from 'three' on"):
        read("Bring two of the three chairs into the living room", NAMES)
    with pytest.raises(NotUnderstood, match="open or close") as refused:
        read("Turn the lamp off", NAMES)
    assert not refused.value.problem.suggestions  # "urn" is no word for "turn"


def test_what_is_a_room_here_stands_on_no_furniture():
    """A closet is a room and, elsewhere, a wardrobe."""
    home = small_house()
    home.add_room(
        Room("r9", "closet", "closet", next(iter(home.floors)), [(9, 9), (11, 9), (9, 11)])
    )
    with pytest.raises(NotUnderstood, match="several places"):
        read("Put the mug into the closet on the sofa", Vocabulary.of(home))
    (step,) = read("Put the mug in the closet on the sofa", Vocabulary.of(home)).steps
    assert step.things[0].places[0].told() == "in the closet"
    assert step.to is not None and step.to.told() == "on the sofa"
    (step,) = read("Put the mug on the sofa in the closet", Vocabulary.of(home)).steps
    assert step.to is not None and step.to.thing.places[0].thing.name == "closet"


def test_phrases_alone_are_read_by_the_same_grammar() -> None:
    thing = read_thing("the two red mugs on the table in the kitchen", NAMES)
    assert (thing.name, thing.color, thing.amount, thing.definite) == ("mug", "red", 2, True)
    assert thing.places[0].told() == "on the table in the kitchen"
    assert read_place("on the kitchen counter", NAMES).told() == "on the kitchen counter"
    with pytest.raises(NotUnderstood, match="xqzzt"):
        read_thing("the xqzzt", NAMES)


SOME = st.sampled_from(
    ("bring", "the", "all", "red", "mug", "mugs", "to", "kitchen", "and", "or", "not", "on", "it",
     "table", "put", "is", "there", "where", ",", ".", "how", "many", "except", "in", "rover")
)  # fmt: skip


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.text(max_size=60) | st.lists(SOME, max_size=12).map(" ".join))
def test_any_text_is_read_or_refused(words: str) -> None:
    for door in READ:
        try:
            request = read(words, NAMES, door)
        except NotUnderstood:
            continue
        assert request.words == words and all(step.things or step.options for step in request.steps)


def test_the_kept_grammar_is_that_of_the_text() -> None:
    kept, text = grammar._parser(), lark.Lark(grammar._grammar()[0], start=list(grammar._STARTS))

    def parts(parser: lark.Lark) -> list[object]:
        rules = [(r.origin, r.expansion, r.order, r.alias, vars(r.options)) for r in parser.rules]
        terminals = [(t.name, t.pattern.to_regexp(), t.priority) for t in parser.terminals]
        return [rules, terminals, [*map(str, parser.ignore_tokens)]]

    same = parts(kept) == parts(text)
    assert same  # a difference of thousands of rules would take minutes to be shown
