"""Percepts, actions, briefings and notes of cooperating robots on the wire."""

from __future__ import annotations

import math
import random
from typing import get_args

import pytest

pytestmark = pytest.mark.ros

pytest.importorskip("coterie_msgs")

from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402

from coterie_core.cooperation import (  # noqa: E402
    Briefing,
    Close,
    Facts,
    Gate,
    Goal,
    GoTo,
    Grab,
    HomeRoom,
    Looked,
    Note,
    NoteKind,
    Open,
    Percept,
    Put,
    Result,
    Send,
    Sighting,
    Spot,
    SubGoal,
    Teammate,
    Thing,
    Turn,
    Wait,
    Walkways,
    Whereabouts,
)
from coterie_ros.conversions import (  # noqa: E402
    ConversionError,
    PerceptReader,
    PerceptWriter,
    action_from_msg,
    action_to_msg,
    briefing_from_msg,
    briefing_to_msg,
    goal_from_msg,
    goal_to_msg,
    note_from_msg,
    note_to_msg,
)


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

    def spot(self):
        return Spot(self.name(), self.point())

    def some(self, make, most=4):
        return tuple(make() for _ in range(self.randint(0, most)))

    def thing(self):
        return Thing(
            self.name(), self.word(), self.choice(["item", "surface", "container"]), self.spot(),
            self.word(), self.choice(["", "on", "in", "held"]), self.choice([None, True, False]),
            self.random() < 0.5,
        )  # fmt: skip

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

    def action(self):
        return self.choice([
            Wait(self.word()), GoTo(self.name()), GoTo(self.word(), self.spot()),
            Grab(self.name()), Put(self.name(), self.name(), self.choice(["on", "in"])),
            Open(self.name()), Close(self.name()), Turn(self.choice([-15, 15])), Send(self.note()),
        ])  # fmt: skip

    def percept(self, view=None):
        mates = [
            Teammate(self.name(), self.spot(), self.some(self.thing), self.randint(0, 359))
            for _ in range(self.randint(0, 2))
        ]
        results = [None, Result(True, False), Result(False, False, "gone", self.word())]
        return Percept(
            self.randint(0, 10**6), self.spot(), self.some(self.name), self.some(self.thing), view,
            self.some(self.name), mates, list(self.some(self.note, 2)), self.choice(results),
            self.randint(0, 359), self.random() < 0.1,
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


def briefing(draw) -> Briefing:
    rooms = [
        HomeRoom(f"r{k}", draw.word(), draw.word(), draw.point(), draw.some(lambda: (1.5, 1 / 3)))
        for k in range(4)
    ]
    gates = [Gate(f"g{k}", f"r{k}", f"r{k + 1}", draw.point(), draw.point()) for k in range(3)]
    goal = draw.goal(draw.choice(["household", "transport"]))
    return Briefing(
        "Bob", ("Ada", "Bob"), goal, Walkways(rooms, gates), 2, 0.1, 1.2, 250, 500, 15, 3, 2**40
    )


def test_notes_and_actions_and_goals_survive_the_wire(draw):
    for _ in range(200):
        note, action, goal = draw.note(), draw.action(), draw.goal()
        assert note_from_msg(wired(note_to_msg(note))) == note
        assert action_from_msg(wired(action_to_msg(action))) == action
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


def test_angles_are_sent_in_radians_and_counted_in_degrees():
    assert action_to_msg(Turn(-15)).angle == pytest.approx(-math.pi / 12)
    for degrees in range(-360, 361):
        assert action_from_msg(wired(action_to_msg(Turn(degrees)))) == Turn(degrees)


def test_a_note_may_carry_the_time_it_was_sent():
    message = note_to_msg(Note("n1", "Ada", "text", "hello", step=3), time=12.5)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (12, 500_000_000)
    assert note_from_msg(message).step == 12


def test_briefings_survive_the_wire_and_distances_with_them(draw):
    for _ in range(20):
        sent = briefing(draw)
        got = briefing_from_msg(wired(briefing_to_msg(sent)))
        same = ("name", "team", "goal", "hands", "stride", "reach", "horizon", "turn", "seed")
        assert all(getattr(got, field) == getattr(sent, field) for field in same)
        assert list(got.ways.rooms.values()) == list(sent.ways.rooms.values())
        assert got.ways.gates == sent.ways.gates
        a, b = Spot("r0", draw.point()), Spot("r3", draw.point())
        assert got.ways.distance(a, b) == sent.ways.distance(a, b)
        assert got.ways.route(a, b) == sent.ways.route(a, b)


def as_fields(percept: Percept) -> tuple:
    return (
        percept.step, percept.spot, percept.hands, tuple(percept.things), percept.covered,
        list(percept.teammates), list(percept.notes), percept.result, percept.heading, percept.done,
    )  # fmt: skip


def test_percepts_survive_the_wire(draw):
    writer, reader = PerceptWriter(), PerceptReader()
    for k in range(200):
        sent = draw.percept(draw.choice([None, ("r1", k)]))
        got = reader.read(wired(writer.write(sent)))
        assert as_fields(got) == as_fields(sent)
        assert (got.view is None) == (sent.view is None)


def test_an_unchanged_view_is_sent_once_and_put_back():
    writer, reader = PerceptWriter(), PerceptReader()
    table = Thing("table-1", "table", "surface", Spot("r1", (1.0, 2.0, 0.0)))
    sent, got = [], []
    for view in (("r1", 0), ("r1", 0), ("r1", 1), ("r1", 0)):
        sent.append(wired(writer.write(Percept(1, table.spot, (), (table,), view))))
        got.append(reader.read(sent[-1]))
    assert [len(message.things) for message in sent] == [1, 0, 1, 1]
    assert got[0].view == got[1].view != got[2].view
    assert all(one.things == (table,) for one in got)
    assert len({id(one.things[0]) for one in got}) == 1  # as it was: the object that it was


def test_who_may_have_missed_a_percept_gets_everything():
    writer = PerceptWriter()
    table = Thing("table-1", "table", "surface", Spot("r1", (1.0, 2.0, 0.0)))
    percept = Percept(1, table.spot, (), (table,), "view")
    assert [len(writer.write(percept).things) for _ in range(2)] == [1, 0]
    writer.forget()
    assert len(writer.write(percept).things) == 1


def test_a_refused_percept_leaves_no_trace(draw):
    reader = PerceptReader()
    table = Thing("table-1", "table", "surface", Spot("r1", (1.0, 2.0, 0.0)))
    bad = PerceptWriter().write(Percept(1, table.spot, (), (table,), "view"))
    bad.reason, bad.has_result = "because", True
    with pytest.raises(ConversionError, match=r"percept\.reason"):
        reader.read(bad)
    bad.has_result, bad.things = False, []
    assert reader.read(bad).things == ()


def test_a_long_view_is_told_apart_by_a_short_key():
    writer = PerceptWriter()
    keys = [writer.write(Percept(1, Spot("r", (0.0, 0.0, 0.0)), view=view)).view
            for view in ("x" * 9999, "x" * 9998 + "y", "\x00")]  # fmt: skip
    assert len(set(keys)) == 3 and all(len(key) <= 200 for key in keys)


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("position.x", math.nan, "percept.position.x"),
        ("room", "", "percept.room"),
        ("view", "x" * 201, "percept.view"),
        ("heading", 6.3, "percept.heading"),
        ("hands", ["a"] * 101, "percept.hands"),
        ("covered", [""], r"percept.covered\[0\]"),
        ("reason", "because", "percept.reason"),
        ("things.0.id", "", r"percept.things\[0\].id"),
        ("things.0.kind", 3, r"percept.things\[0\].kind"),
        ("things.0.relation.value", 4, r"percept.things\[0\].relation.value"),
        ("things.0.opening", 3, r"percept.things\[0\].opening"),
        ("things.0.label", "x\x00", r"percept.things\[0\].label"),
        ("things.0.position.z", 1e9, r"percept.things\[0\].position.z"),
        ("mates.0.name", "", r"percept.mates\[0\].name"),
        ("mates.0.hands.0.kind", 9, r"percept.mates\[0\].hands\[0\].kind"),
        ("messages.0.text", "x" * 501, r"percept.messages\[0\].text"),
        ("messages.0.kind", 77, r"percept.messages\[0\].kind"),
        ("messages.0.sender", "", r"percept.messages\[0\].sender"),
        ("messages.0.facts.position.x", math.nan, r"messages\[0\].facts.position.x"),
        ("messages.0.facts.seen.0.position.x", 1e300, r"facts.seen\[0\].position.x"),
        ("messages.0.facts.seen.0.relation.value", 9, r"facts.seen\[0\].relation.value"),
        ("messages.0.facts.searched", ["a"] * 101, r"facts.searched"),
        ("messages.0.facts.looked.0.closed", [""], r"facts.looked\[0\].closed\[0\]"),
        ("messages.0.facts.answer", 7, r"messages\[0\].facts.answer"),
        ("messages.0.header.stamp.sec", -1, "header.stamp.sec"),
    ],
)  # fmt: skip
def test_bad_percepts_are_refused_by_field(path, value, field):
    spot = Spot("r1", (1.0, 2.0, 0.0))
    plate = Thing("plate-1", "plate", "item", spot)
    facts = Facts(
        me=Whereabouts("r1", spot.position, ()),
        seen=(Sighting("cup-1", "cup", "r1", position=spot.position),),
        looked=(Looked("r1", ("box-1",)),),
    )
    note = Note("n", "Ada", "text", "hello", facts)
    message = PerceptWriter().write(
        Percept(1, spot, (), (plate,), "v", (), (Teammate("Ada", spot, (plate,)),), (note,),
                Result(True, True))
    )  # fmt: skip
    put(message, path, value)
    with pytest.raises(ConversionError, match=field):
        PerceptReader().read(message, "Ada/act")


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("robot", "Zoe", "robot"),
        ("team", ["Ada", "Bob", "Ada"], "team"),
        ("kind", 5, "kind"),
        ("goal", [], "goal"),
        ("goal.0.count", 0, r"goal\[0\].count"),
        ("goal.0.relation.value", 0, r"goal\[0\].relation.value"),
        ("goal.0.relation.value", 3, r"goal\[0\].relation.value"),
        ("turn", 7.0, "turn"),
        ("goal.0.item", "", r"goal\[0\].item"),
        ("rooms", [], "rooms"),
        ("rooms.1.ref.id", "r0", r"rooms\[1\].ref.id"),
        ("rooms.0.center.y", math.inf, r"rooms\[0\].center.y"),
        ("gates.0.room_b", "cellar", r"gates\[0\].room_b"),
        ("gates.1.id", "g0", r"gates\[1\].id"),
        ("stride", 0.0, "stride"),
        ("reach", math.nan, "reach"),
        ("horizon", 0, "horizon"),
        ("limit", 501, "limit"),
        ("hands", 101, "hands"),
    ],
)
def test_bad_briefings_are_refused_by_field(draw, path, value, field):
    message = briefing_to_msg(briefing(draw))
    put(message, path, value)
    with pytest.raises(ConversionError, match=f"field {field}"):
        briefing_from_msg(message)


def test_a_map_too_large_to_work_out_is_refused(draw):
    message = briefing_to_msg(briefing(draw))
    message.gates = list(message.gates) * 200
    with pytest.raises(ConversionError, match=r"gates.*at most 500"):
        briefing_from_msg(message)


@pytest.mark.parametrize(
    ("action", "path", "value"),
    [
        (Wait(), "kind", 8),
        (Wait(), "text", "x" * 501),
        (Grab("a"), "item", ""),
        (Put("a", "b"), "relation.value", 0),
        (Put("a", "b"), "target", "x" * 201),
        (Turn(15), "angle", 12.6),
        (GoTo("a", Spot("r", (0.0, 0.0, 0.0))), "position.x", math.inf),
        (Send(Note("n", "Ada", "text", "hello")), "message.id", ""),
    ],
)
def test_bad_actions_are_refused_by_field(action, path, value):
    message = action_to_msg(action)
    put(message, path, value)
    with pytest.raises(ConversionError, match=f"act, field action.{path}"):
        action_from_msg(message)


def put(message, path, value):
    """Set a field of a field, by its path."""
    *inner, last = path.split(".")
    for part in inner:
        message = message[int(part)] if part.isdigit() else getattr(message, part)
    setattr(message, last, value)
