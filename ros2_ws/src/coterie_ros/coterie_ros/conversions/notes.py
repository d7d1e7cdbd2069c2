"""What cooperating robots say to one another, to messages and back."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_core.cooperation import Facts, Looked, Note, NoteKind, Whereabouts
from coterie_core.cooperation.messages import Answer, Lying, Sighting
from coterie_msgs.msg import LookedRoom, SeenThing, TeamFacts, TeamMessage
from coterie_ros.conversions.basics import header, point_from_msg, point_to_msg
from coterie_ros.conversions.checks import Checks
from coterie_ros.conversions.talk import MESSAGE_LIMIT

MOST_NAMES = 100
"""Most robots of a team, things in hands, sub-goals, things that a message tells of."""

_KINDS: dict[int, NoteKind] = {
    TeamMessage.TEXT: "text",
    TeamMessage.START: "start",
    TeamMessage.VALIDATION_REQUEST: "ask",
    TeamMessage.VALIDATION_REPLY: "reply",
    TeamMessage.SUBGOAL_DONE: "done",
    TeamMessage.HELP: "text",
    TeamMessage.OFFER: "text",
    TeamMessage.WAY: "way",
}
_KIND_NUMBERS: dict[NoteKind, int] = {
    "text": TeamMessage.TEXT,
    "start": TeamMessage.START,
    "ask": TeamMessage.VALIDATION_REQUEST,
    "reply": TeamMessage.VALIDATION_REPLY,
    "done": TeamMessage.SUBGOAL_DONE,
    "way": TeamMessage.WAY,
}
_LYING: dict[int, Lying] = {
    SeenThing.NONE: "",
    SeenThing.ON: "on",
    SeenThing.IN: "in",
    SeenThing.HELD: "held",
}
_LYING_NUMBERS = {relation: number for number, relation in _LYING.items()}
_ANSWERS: dict[int, Answer] = {
    TeamFacts.NO_ANSWER: "",
    TeamFacts.TAKEN: "taken",
    TeamFacts.PLACED: "placed",
    TeamFacts.SEARCHED: "searched",
    TeamFacts.LOOKED: "looked",
    TeamFacts.UNTOUCHED: "untouched",
    TeamFacts.UNKNOWN: "unknown",
}
_ANSWER_NUMBERS = {answer: number for number, answer in _ANSWERS.items()}


def names_from_msg(
    checks: Checks, field: str, values: Sequence[str], limit: int = MOST_NAMES
) -> tuple[str, ...]:
    """Return a list of names.

    Raises:
        ConversionError: Too many, or one that is empty or too long.
    """
    return tuple(
        checks.text(f"{field}[{k}]", value, empty=False)
        for k, value in enumerate(checks.items(field, values, limit))
    )


def note_to_msg(note: Note, time: float = 0.0) -> TeamMessage:
    """Return a note as a message.

    Args:
        note: The note.
        time: When it is sent [s]; 0: `note.step`, as whole seconds.
    """
    return TeamMessage(
        header=header(time or float(note.step), ""),
        id=note.id,
        sender=note.sender,
        recipients=list(note.to),
        kind=_KIND_NUMBERS[note.kind],
        text=note.text,
        has_facts=note.facts is not None,
        facts=TeamFacts() if note.facts is None else _facts_to_msg(note.facts),
    )


def note_from_msg(message: TeamMessage, topic: str = "message") -> Note:
    """Return a note; `step` is the stamp in whole seconds. Words about help count as text.

    Raises:
        ConversionError: No id or sender, more than 500 characters, an unknown enumerator, a name
            that is empty or too long, a position that is not finite.
    """
    checks = Checks(topic)
    return Note(
        id=checks.text("id", message.id, empty=False),
        sender=checks.text("sender", message.sender, empty=False),
        kind=checks.choice("kind", message.kind, _KINDS),
        text=checks.text("text", message.text, MESSAGE_LIMIT),
        facts=_facts_from_msg(message.facts, checks.at("facts")) if message.has_facts else None,
        to=names_from_msg(checks, "recipients", message.recipients),
        step=int(checks.number("header.stamp.sec", message.header.stamp.sec, 0)),
    )


def _facts_to_msg(facts: Facts) -> TeamFacts:
    message = TeamFacts(
        seen=[_seen_to_msg(one) for one in facts.seen],
        searched=list(facts.searched),
        looked=[LookedRoom(room=one.room, closed=list(one.closed)) for one in facts.looked],
        next=facts.heading,
        item=facts.item,
        label=facts.label,
        place=facts.place,
        answer=_ANSWER_NUMBERS[facts.answer],
        subgoal=facts.subgoal,
        reply_to=facts.reply_to,
    )
    if facts.me is not None:
        message.has_sender_state, message.room = True, facts.me.room
        message.position, message.hands = point_to_msg(facts.me.position), list(facts.me.hands)
    return message


def _facts_from_msg(message: TeamFacts, checks: Checks) -> Facts:
    me = None
    if message.has_sender_state:
        me = Whereabouts(
            checks.text("room", message.room),
            point_from_msg(message.position, checks),
            names_from_msg(checks, "hands", message.hands),
        )
    looked = enumerate(checks.items("looked", message.looked, MOST_NAMES))
    return Facts(
        me=me,
        seen=tuple(
            _seen_from_msg(one, checks.at(f"seen[{k}]"))
            for k, one in enumerate(checks.items("seen", message.seen, MOST_NAMES))
        ),
        searched=names_from_msg(checks, "searched", message.searched),
        heading=checks.text("next", message.next),
        item=checks.text("item", message.item),
        label=checks.text("label", message.label),
        place=checks.text("place", message.place),
        answer=checks.choice("answer", message.answer, _ANSWERS),
        subgoal=checks.text("subgoal", message.subgoal),
        reply_to=checks.text("reply_to", message.reply_to),
        looked=tuple(
            Looked(
                checks.at(f"looked[{k}]").text("room", one.room),
                names_from_msg(checks.at(f"looked[{k}]"), "closed", one.closed),
            )
            for k, one in looked
        ),
    )


def _seen_to_msg(seen: Sighting) -> SeenThing:
    message = SeenThing(
        id=seen.id,
        label=seen.label,
        room=seen.room,
        parent=seen.parent,
        relation=_LYING_NUMBERS[seen.relation],
    )
    if seen.position is not None:
        message.has_position, message.position = True, point_to_msg(seen.position)
    return message


def _seen_from_msg(message: SeenThing, checks: Checks) -> Sighting:
    return Sighting(
        id=checks.text("id", message.id),
        label=checks.text("label", message.label),
        room=checks.text("room", message.room),
        parent=checks.text("parent", message.parent),
        relation=checks.choice("relation", message.relation, _LYING),
        position=point_from_msg(message.position, checks) if message.has_position else None,
    )
