"""Turns of a debate to messages and back: whose turn it is, what was said, the last word."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_core.questions import Question
from coterie_msgs.msg import DiscussionTurn
from coterie_msgs.msg import Utterance as UtteranceMsg
from coterie_requests.debate import STATEMENT_LIMIT, Utterance
from coterie_ros.conversions.basics import header
from coterie_ros.conversions.checks import SENTENCE, Checks
from coterie_ros.conversions.talk import EVIDENCE_KINDS, EVIDENCE_NUMBERS, checked_turn

_MOST_UTTERANCES = 2000


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
        said=[
            UtteranceMsg(
                speaker=said.speaker,
                round=said.round,
                yes=said.yes,
                confidence=float(said.confidence),
                evidence=EVIDENCE_NUMBERS[said.evidence],
                text=said.text[:STATEMENT_LIMIT],
            )
            for said in conversation
        ],
    )


def conversation_from_msg(message: DiscussionTurn) -> tuple[Utterance, ...]:
    """Return the talk that a call to speak carries.

    Raises:
        ConversionError: An unknown enumerator, a number out of range, or far too much talk.
    """
    checks = Checks("discussion")
    return tuple(
        _utterance(one, checks.at(f"said[{k}]"))
        for k, one in enumerate(checks.items("said", message.said, _MOST_UTTERANCES))
    )


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
        evidence=EVIDENCE_NUMBERS[said.evidence],
    )


def utterance_from_msg(message: DiscussionTurn) -> Utterance:
    """Return what a robot said.

    Raises:
        ConversionError: An unknown ground, or a number out of range.
    """
    return _utterance(message, Checks("discussion"))


def checked_debate_turn(message: DiscussionTurn) -> DiscussionTurn:
    """Return a turn of a debate once its fields, and the talk that it carries, are checked.

    Raises:
        ConversionError: As `checked_turn`, `conversation_from_msg` and `utterance_from_msg` do.
    """
    checked_turn(message)
    conversation_from_msg(message)
    utterance_from_msg(message)
    return message


def _utterance(message: UtteranceMsg | DiscussionTurn, checks: Checks) -> Utterance:
    confidence = checks.number("confidence", message.confidence, 0.0, 1.0 + 1e-6)
    return Utterance(
        checks.text("speaker", message.speaker, empty=False),
        int(message.round),
        bool(message.yes),
        min(max(confidence, 0.5), 1.0),
        checks.choice("evidence", message.evidence, EVIDENCE_KINDS),
        checks.text("text", message.text, SENTENCE)[:STATEMENT_LIMIT],
    )
