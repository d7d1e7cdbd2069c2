"""Requests for permits, and answers to them, to messages and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from coterie_msgs.msg import PermitRequest as PermitRequestMsg
from coterie_msgs.msg import PermitRequests
from coterie_msgs.srv import AnswerPermit
from coterie_ros.conversions.basics import stamp_from_msg, time_to_msg
from coterie_ros.conversions.checks import Checks
from coterie_safety.permits import Decision, Permit, PermitGoal, PermitRequest, SignedAnswer
from coterie_safety.stop import MAX_TEXT

_DIGEST, _SIGNATURE = 64, 128
_MOST = 1000
_DECISIONS = {int(one): one for one in Decision}


def requests_to_msg(
    robot: str, waiting: Sequence[PermitRequest], standing: Sequence[Permit] = ()
) -> PermitRequests:
    """Return the requests of a robot that wait, and its standing permits, as a message.

    Args:
        robot: Name of the robot.
        waiting: The requests.
        standing: The permits.
    """
    return PermitRequests(
        robot=robot,
        waiting=[
            _to_msg(one, why=one.goal.why, rule=one.rule, asked=time_to_msg(one.asked))
            for one in waiting
        ],
        standing=[_to_msg(one, by=one.by) for one in standing],
    )


def _to_msg(one: PermitRequest | Permit, **more: Any) -> PermitRequestMsg:
    return PermitRequestMsg(
        id=one.id,
        robot=one.goal.robot,
        goal=one.goal.digest,
        skill=one.goal.skill,
        what=one.goal.what,
        rooms=list(one.rooms),
        objects=list(one.goal.objects),
        strays=one.goal.strays,
        speed=float(one.goal.speed),
        until=time_to_msg(one.until),
        **more,
    )


def requests_from_msg(message: PermitRequests, topic: str) -> tuple[PermitRequest, ...]:
    """Return the requests of a message; the rooms of their goals are names, not ids.

    Raises:
        ConversionError: A text or list that is too long, or no speed.
    """
    checks = Checks(topic)
    return tuple(
        _request(one, checks.at(f"waiting[{k}]"))
        for k, one in enumerate(checks.items("waiting", message.waiting, _MOST))
    )


def standing_from_msg(message: PermitRequests, topic: str) -> tuple[Permit, ...]:
    """Return the standing permits of a message; the rooms of their goals are names, not ids.

    Raises:
        ConversionError: A text or list that is too long, or no speed.
    """
    checks = Checks(topic)
    return tuple(
        _standing(one, checks.at(f"standing[{k}]"))
        for k, one in enumerate(checks.items("standing", message.standing, _MOST))
    )


def _standing(message: PermitRequestMsg, checks: Checks) -> Permit:
    goal = _goal(message, checks)
    return Permit(
        checks.text("id", message.id, _DIGEST, empty=False),
        goal,
        checks.text("by", message.by, MAX_TEXT),
        stamp_from_msg(message.until, checks, "until"),
        standing=True,
        rooms=goal.rooms,
    )


def _goal(message: PermitRequestMsg, checks: Checks) -> PermitGoal:
    def texts(field: str) -> tuple[str, ...]:
        items = checks.items(field, getattr(message, field), _MOST)
        return tuple(checks.text(f"{field}[{k}]", str(t), MAX_TEXT) for k, t in enumerate(items))

    return PermitGoal(
        robot=checks.text("robot", message.robot, empty=False),
        skill=checks.text("skill", message.skill, empty=False),
        what=checks.text("what", message.what, 2 * MAX_TEXT),
        why=checks.text("why", message.why, MAX_TEXT),
        rooms=texts("rooms"),
        objects=texts("objects"),
        speed=math.inf
        if math.isinf(message.speed) and message.speed > 0.0
        else checks.number("speed", message.speed, 0.0),
        digest=checks.text("goal", message.goal, _DIGEST, empty=False),
        strays=bool(message.strays),
    )


def _request(message: PermitRequestMsg, checks: Checks) -> PermitRequest:
    goal = _goal(message, checks)
    return PermitRequest(
        checks.text("id", message.id, _DIGEST, empty=False),
        goal,
        goal.rooms,
        checks.text("rule", message.rule, MAX_TEXT),
        stamp_from_msg(message.asked, checks, "asked"),
        stamp_from_msg(message.until, checks, "until"),
    )


def answer_to_msg(answer: SignedAnswer) -> AnswerPermit.Request:
    """Return a signed answer as a request of the service."""
    return AnswerPermit.Request(
        request=answer.request,
        goal=answer.goal,
        shown=answer.shown,
        decision=int(answer.decision),
        by=answer.by,
        reason=answer.reason,
        until=time_to_msg(answer.until),
        standing=answer.standing,
        signature=answer.signature,
    )


def answer_from_msg(message: AnswerPermit.Request, service: str) -> SignedAnswer:
    """Return the signed answer of a request; whether the signature is right is not looked at.

    Raises:
        ConversionError: No decision, or a text that is too long.
    """
    checks = Checks(service)
    return SignedAnswer(
        request=checks.text("request", message.request, _DIGEST),
        goal=checks.text("goal", message.goal, _DIGEST),
        shown=checks.text("shown", message.shown, _DIGEST),
        decision=checks.choice("decision", message.decision, _DECISIONS),
        by=checks.text("by", message.by, MAX_TEXT),
        reason=checks.text("reason", message.reason, MAX_TEXT),
        until=stamp_from_msg(message.until, checks, "until"),
        standing=bool(message.standing),
        signature=checks.text("signature", message.signature, _SIGNATURE),
    )
