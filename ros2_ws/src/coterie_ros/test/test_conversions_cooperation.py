"""Notes and goals of cooperating robots on the wire."""

from __future__ import annotations

import math
import random
from typing import get_args

import pytest

pytestmark = pytest.mark.ros

pytest.importorskip("coterie_msgs")

from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402

from coterie_core.cooperation import (  # noqa: E402
    Facts,
    Goal,
    Looked,
    Note,
    NoteKind,
    Sighting,
    SubGoal,
    Whereabouts,
)
from coterie_ros.conversions import ConversionError  # noqa: E402
from coterie_ros.conversions.cooperation import goal_from_msg, goal_to_msg  # noqa: E402
from coterie_ros.conversions.notes import note_from_msg, note_to_msg  # noqa: E402


def wired(message):
    """Return a message as another process gets it."""
    return deserialize_message(serialize_message(message), type(message))


class Draw(random.Random):
    """Random values of every kind that travels."""

    def word(self):
        return self.choice(["plate-1", "Küche 2", "a b", "x" * 200, "", "\n", "ON(a, b)"])

    def name(self):
        return self.word() or "n"

    def point(self):
        return tuple(self.choice([self.uniform(-50, 50), self.gauss(0, 1e-7), 0.0]) for _ in "xyz")

    def some(self, make, most=4):
        return tuple(make() for _ in range(self.randint(0, most)))

    def sighting(self):
        return Sighting(
            self.word(), self.word(), self.word(), self.word(),
            self.choice(["", "on", "in", "held"]), self.choice([None, self.point()]),
        )  # fmt: skip

    def note(self):
        facts = Facts(
            self.choice([None, Whereabouts(self.word(), self.point(), self.some(self.name))]),
            self.some(self.sighting), self.some(self.name), self.word(), self.word(), self.word(),
            self.word(), self.choice(["", "taken", "unknown"]), self.word(), self.word(),
        )  # fmt: skip
        return Note(
            self.name(), self.name(), self.choice(get_args(NoteKind)),
            self.word(), self.choice([None, Facts(), facts]), self.some(self.name),
            self.randint(0, 3000),
        )  # fmt: skip

    def goal(self, kind="household"):
        parts = [
            SubGoal(self.choice(["on", "in"]), self.name(), self.name(), self.randint(1, 5), "food")
            for _ in range(self.randint(1, 5))
        ]
        return Goal(self.word(), tuple(parts), kind)


@pytest.fixture
def draw():
    return Draw(7)


def test_notes_and_goals_survive_the_wire(draw):
    for _ in range(200):
        note, goal = draw.note(), draw.goal()
        assert note_from_msg(wired(note_to_msg(note))) == note
        assert goal_from_msg(goal.name, [wired(one) for one in goal_to_msg(goal)]) == goal


def test_every_field_of_facts_travels():
    facts = Facts(
        me=Whereabouts("r1", (1.0, 2.0, 0.0), ("cup-1",)),
        seen=(Sighting("cup-2", "cup", "r2", "table-1", "on", (1.0, 1.0, 0.0)),),
        searched=("r3",),
        heading="r4",
        item="cup-1",
        label="cup",
        place="table-1",
        answer="placed",
        subgoal="ON(cup, table)",
        reply_to="n0",
        looked=(Looked("r5", ("box-1",)),),
    )
    empty = Facts()
    for name in Facts.__slots__:
        assert getattr(facts, name) != getattr(empty, name), f"Facts.{name}: give it a value here"
    note = Note("n1", "Ada", "reply", "words", facts, ("Bob",), 3)
    assert note_from_msg(wired(note_to_msg(note))) == note


def test_a_note_may_carry_the_time_it_was_sent():
    message = note_to_msg(Note("n1", "Ada", "text", "hello", step=3), time=12.5)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (12, 500_000_000)
    assert note_from_msg(message).step == 12


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("text", "x" * 501, "text"),
        ("kind", 77, "kind"),
        ("id", "", "id"),
        ("sender", "", "sender"),
        ("facts.position.x", math.nan, "facts.position.x"),
        ("facts.seen.0.position.x", 1e300, r"facts.seen\[0\].position.x"),
        ("facts.seen.0.relation", 9, r"facts.seen\[0\].relation"),
        ("facts.searched", ["a"] * 101, r"facts.searched"),
        ("facts.looked.0.closed", [""], r"facts.looked\[0\].closed\[0\]"),
        ("facts.answer", 7, "facts.answer"),
        ("header.stamp.sec", -1, "header.stamp.sec"),
    ],
)
def test_bad_notes_are_refused_by_field(path, value, field):
    facts = Facts(
        me=Whereabouts("r1", (1.0, 2.0, 0.0), ()),
        seen=(Sighting("cup-1", "cup", "r1", position=(1.0, 2.0, 0.0)),),
        looked=(Looked("r1", ("box-1",)),),
    )
    message = note_to_msg(Note("n", "Ada", "text", "hello", facts))
    put(message, path, value)
    with pytest.raises(ConversionError, match=f"field {field}"):
        note_from_msg(message, "Ada/message")


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("0.count", 0, r"goal\[0\].count"),
        ("0.relation", 0, r"goal\[0\].relation"),
        ("0.relation", 3, r"goal\[0\].relation"),
        ("0.item", "", r"goal\[0\].item"),
    ],
)
def test_bad_goals_are_refused_by_field(draw, path, value, field):
    parts = goal_to_msg(draw.goal())
    put(parts, path, value)
    with pytest.raises(ConversionError, match=f"field {field}"):
        goal_from_msg("tidy up", parts)


def test_a_goal_of_nothing_is_refused():
    with pytest.raises(ConversionError, match="at least one predicate"):
        goal_from_msg("tidy up", [])


def put(message, path, value):
    """Set a field of a field, by its path."""
    *inner, last = path.split(".")
    for part in inner:
        message = message[int(part)] if part.isdigit() else getattr(message, part)
    setattr(message, last, value)
