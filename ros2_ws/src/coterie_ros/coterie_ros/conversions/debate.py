"""Turns of a debate to messages and back: whose turn it is, what was said, the last word."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from pydantic import TypeAdapter, ValidationError

from coterie_core.debate import STATEMENT_LIMIT, Utterance
from coterie_core.plain_data import schema_problems
from coterie_core.questions import Question
from coterie_msgs.msg import DiscussionTurn
from coterie_ros.conversions.basics import header
from coterie_ros.conversions.checks import ConversionError

_MOST_UTTERANCES = 2000


@cache
def _talk() -> TypeAdapter[tuple[Utterance, ...]]:
    return TypeAdapter(tuple[Utterance, ...])


def call_to_speak(
    question: Question,
    robot: str,
    turn: int,
    conversation: Sequence[Utterance],
    *,
    final: bool,
    time: float = 0.0,
) -> DiscussionTurn:
    """Return the moderator's message that it is a robot's turn, with all that was said so far.

    The talk travels with the call, because statements come on other writers and may be later.
    """
    return DiscussionTurn(
        header=header(time, ""),
        topic=question.id,
        speaker="aggregator",
        recipients=[robot],
        round=turn,
        kind=DiscussionTurn.PROPOSE,
        yes=final,
        text="your last word" if final else "your turn",
        data=_talk().dump_json(tuple(conversation)).decode(),
    )


def conversation_from_msg(message: DiscussionTurn) -> tuple[Utterance, ...]:
    """Return the talk that a call to speak carries.

    Raises:
        ConversionError: It is no list of utterances, or far too long.
    """
    try:
        talk = _talk().validate_json(message.data or "[]")
    except ValidationError as error:
        raise ConversionError(
            "discussion", "data", "the talk so far as JSON", schema_problems(error)
        ) from None
    if len(talk) > _MOST_UTTERANCES:
        raise ConversionError(
            "discussion", "data", f"at most {_MOST_UTTERANCES} utterances", f"{len(talk)}"
        )
    return talk


def utterance_to_msg(
    said: Utterance, question: str, *, final: bool, time: float = 0.0
) -> DiscussionTurn:
    """Return what a robot said as a message."""
    return DiscussionTurn(
        header=header(time, ""),
        topic=question,
        speaker=said.speaker,
        round=said.round,
        kind=DiscussionTurn.FINAL if final else DiscussionTurn.STATEMENT,
        yes=said.yes,
        confidence=float(said.confidence),
        text=said.text[:STATEMENT_LIMIT],
        data=_talk().dump_json((said,)).decode(),
    )


def utterance_from_msg(message: DiscussionTurn) -> Utterance:
    """Return what a robot said; the message's own fields go before those in its JSON.

    Raises:
        ConversionError: It carries no utterance.
    """
    talk = conversation_from_msg(message)
    if len(talk) != 1:
        raise ConversionError("discussion", "data", "one utterance as JSON", f"{len(talk)}")
    return Utterance(
        message.speaker,
        message.round,
        bool(message.yes),
        min(max(float(message.confidence), 0.5), 1.0),
        talk[0].evidence,
        message.text[:STATEMENT_LIMIT],
    )
