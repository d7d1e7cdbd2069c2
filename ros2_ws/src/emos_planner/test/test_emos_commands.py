"""Requests as commands: what robots do for them, and what is refused."""

from __future__ import annotations

import pytest

from coterie_fixtures.two_floor_home import small_house
from coterie_requests.request import ALL, Place, Request, Step, Thing
from coterie_requests.understanding import NotUnderstood
from coterie_requests.understanding.phrases import Phrase
from coterie_requests.understanding.vocabulary import Vocabulary
from emos_planner.leader.commands import MAX_COMMANDS, wants_of
from emos_planner.leader.task_graph import Want

NAMES = Vocabulary.of(small_house(), ("rover", "walker"))
MUG, MUGS, KEYS = Thing(name="mug"), Thing(name="mug", amount=ALL), Thing(name="keys")
FRIDGE = Thing(name="fridge", definite=True)
COUNTER = Place(relation="on", things=(Thing(name="kitchen counter", definite=True),))
TABLE = Place(relation="on", things=(Thing(name="table", definite=True),))
EITHER = Thing(name="mug", either=(Thing(name="bowl"),))
TO_ME = Place(relation="near", things=(Thing(name="me"),))


def at(name: str, relation: str = "in", **fields: object) -> Place:
    return Place(relation=relation, things=(Thing(name=name, **fields),))  # type: ignore[arg-type]


def read(*steps: Step) -> list[Want]:
    return wants_of(Request(words="as said", steps=steps), NAMES)


def said(command: Want) -> tuple[str, ...]:
    """A command in short: whether it waits, robot, kind, object, target."""

    def name(phrase: Phrase | None) -> str:
        return phrase.label or phrase.room or phrase.floor or phrase.noun if phrase else ""

    who = command.robot or ("everybody" if command.everybody else "")
    parts = ("then" if command.then else "", who, command.kind, name(command.phrase))
    return tuple(part for part in (*parts, name(command.target)) if part)


def bring(*things: Thing, to: Place | None = COUNTER, **fields: object) -> Step:
    return Step(act="bring", things=things, to=to, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([bring(MUGS, KEYS)], [("bring", "mug", "counter"), ("bring", "keys", "counter")]),
        ([bring(MUG, robot="Rover")], [("rover", "bring", "mug", "counter")]),
        ([Step(act="go", things=(Thing(name="hall"),), robot="everybody")],
         [("everybody", "go", "hall")]),
        ([Step(act="go", to=at("hall"))], [("go", "hall")]),
        ([Step(act="find", things=(KEYS,)), bring(KEYS, then=True)],
         [("find", "keys"), ("then", "bring", "keys", "counter")]),
        # A room is seen by going there.
        ([Step(act="look", things=(Thing(name="kitchen"),))], [("go", "kitchen")]),
        # Questions that looking answers.
        ([Step(act="where", things=(KEYS,))], [("find", "keys")]),
        ([Step(act="is_there", things=(MUG,), negated=True)], [("check", "mug")]),
        ([Step(act="relation", things=(Thing(name="mug", places=(TABLE,)),))],
         [("check", "mug")]),
        # The room of a person says where that is.
        ([bring(MUG, to=at("wife", places=(at("bedroom"),)))], [("bring", "mug", "bedroom")]),
        ([Step(act="go", things=(Thing(name="wife", places=(at("bedroom"),)),))],
         [("go", "bedroom")]),
        ([Step(act="find", things=(KEYS,)), Step(act="open", things=(FRIDGE,))],
         [("find", "keys"), ("open", "refrigerator")]),
    ],
)  # fmt: skip
def test_steps_become_commands(steps, expected) -> None:
    assert [said(command) for command in read(*steps)] == expected


@pytest.mark.parametrize(
    ("steps", "kind", "told"),
    [
        ([bring(MUG, to=None)], "target", "For example the counter"),
        ([bring(MUG, to=TO_ME)], "person", "where you are"),
        ([bring(MUG, to=at("grandma"))], "person", "'grandma' is"),
        ([bring(MUG, to=at("bed", "under"))], "target", "not 'under'"),
        ([bring(MUG, to=Place(things=TABLE.things, negated=True))], "target", "say where to"),
        ([bring(MUG, to=at("table", amount=ALL))], "target", "several places"),
        ([bring(MUG, to=at("blorp"))], "place", "Where is that"),
        ([bring(MUG, to=at("walker"))], "place", "Where is that"),
        ([bring(Thing(name="kitchen"))], "object", "stays where it is"),
        ([bring()], "object", "say what to bring"),
        ([Step(act="find", things=(Thing(name="wife"),))], "person", "nothing to find"),
        ([Step(act="find", things=(Thing(use="to qwzr with"),))], "word", "qwzr"),
        ([Step(act="go", things=(Thing(name="blorp"),))], "place", "blorp"),
        ([bring(MUG, robot="marvin")], "robot", "the team has rover, walker"),
        ([bring(MUG, robot="rovr")], "robot", "did you mean 'rover'"),
        ([bring(MUG, negated=True)], "negation", "only what they are told"),
        ([Step(act="how_many", things=(MUGS,))], "verb", "./coterie ask"),
        ([Step(act="state", things=(FRIDGE,), attribute="open")], "verb", "./coterie ask"),
        ([Step(act="check", things=(FRIDGE,), attribute="open")], "verb", "./coterie ask"),
        ([Step(act="is_there", things=(Thing(name="bathroom"),))], "verb", "./coterie ask"),
        ([Step(act="find", things=(MUG,), to=TABLE)], "target", "on the table"),
        ([Step(act="find", things=(KEYS,)), bring(MUG, to=None)], "target", "say where to"),
        ([Step(act="take", things=(MUG,), to=TABLE)], "target", "on the table"),
        ([bring(MUG, EITHER)], "ambiguous", "which one: mug or bowl"),
        ([Step(act="open", things=(EITHER,))], "ambiguous", "which one: mug or bowl"),
        ([bring(MUG, to=Place(relation="on", things=(EITHER,)))], "ambiguous", "Which one"),
        ([Step(act="find", things=(MUG,))] * (MAX_COMMANDS + 1), "too_long", "61 wishes"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(steps, kind, told) -> None:
    with pytest.raises(NotUnderstood) as error:
        read(*steps)
    assert error.value.problem.kind == kind
    assert told in str(error.value)


def test_the_other_one_is_not_the_one_that_was_spoken_of() -> None:
    red = Thing(name="mug", color="red")
    for choice in ("other", "another", "rest"):
        _, other = read(bring(red), bring(Thing(name="mug", choice=choice), to=TABLE))
        assert [phrase.color for phrase in other.phrase.excluded] == ["red"]
    _, keys = read(bring(red), bring(Thing(name="keys", choice="other"), to=TABLE))
    assert not keys.phrase.excluded


def test_which_of_several_places_is_asked() -> None:
    either = Place(relation="on", things=(Thing(name="table"), Thing(name="desk")))
    with pytest.raises(NotUnderstood) as error:
        read(bring(MUG, to=either))
    assert error.value.problem.kind == "ambiguous"
    assert error.value.problem.suggestions == ("table", "desk")


def test_any_of_several_things_is_looked_for() -> None:
    (command,) = read(Step(act="find", things=(EITHER,)))
    assert command.phrase.labels == ("mug", "bowl")
