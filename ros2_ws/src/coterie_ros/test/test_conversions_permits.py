"""Requests for permits and answers over the wire: nothing is lost, and a signature still holds."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rclpy.serialization import deserialize_message, serialize_message

from coterie_core.skills import NavigateTo, Wait
from coterie_msgs.msg import PermitRequests
from coterie_msgs.srv import AnswerPermit
from coterie_ros import conversions
from coterie_ros.conversions.checks import ConversionError
from coterie_ros.conversions.permits import (
    answer_from_msg,
    answer_to_msg,
    requests_from_msg,
    requests_to_msg,
    standing_from_msg,
)
from coterie_safety.permits import (
    Decision,
    Permit,
    PermitGoal,
    PermitRequest,
    SignedAnswer,
    answered,
    revoked,
)

pytestmark = pytest.mark.quick

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key()
STRANGERS = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()
GOAL = PermitGoal(
    "rover", "pick", "take the mug in kitchen", "tea", ("r1",), False, ("mug",), 0.5, "d" * 64
)
REQUEST = PermitRequest("a" * 32, GOAL, ("kitchen",), "permits.rules[2]", 1.7e9, 1.7e9 + 60.25)


def wire(message):
    return deserialize_message(serialize_message(message), type(message))


def test_requests_come_over_whole_with_rooms_by_name():
    (back,) = requests_from_msg(wire(requests_to_msg("rover", (REQUEST,))), "rover/permit_requests")
    assert back == replace(REQUEST, goal=replace(GOAL, rooms=("kitchen",)))
    assert back.text == REQUEST.text and back.shown == REQUEST.shown
    assert requests_from_msg(PermitRequests(robot="rover"), "t") == ()


@pytest.mark.parametrize("speed", [0.1, 1.0 / 3.0, math.inf])
def test_what_is_shown_is_the_same_over_the_wire(speed):
    request = replace(REQUEST, goal=replace(GOAL, speed=speed, action="a goal's id"))
    (back,) = requests_from_msg(wire(requests_to_msg("rover", (request,))), "t")
    assert back.shown == request.shown != REQUEST.shown and back.text == request.text


def test_standing_permits_come_over_whole_and_are_revoked_over_the_wire():
    goal = replace(GOAL, rooms=("kitchen",), why="", strays=True)
    permit = Permit("b" * 32, goal, "anna", 1.7e9 + 600.5, standing=True, rooms=("kitchen",))
    message = wire(requests_to_msg("rover", (), (permit,)))
    (back,) = standing_from_msg(message, "rover/permit_requests")
    assert back == permit and back.shown == permit.shown and "a room that nobody knows" in back.text
    assert requests_from_msg(message, "t") == ()
    answer = revoked(back, "anna@lab", "guests", key=KEY)
    told = answer_from_msg(wire(answer_to_msg(answer)), "rover/answer_permit")
    assert told == answer and told.signed_with(PUBLIC) and told.decision is Decision.REVOKE
    assert not replace(told, decision=Decision.ALLOW).signed_with(PUBLIC)
    message.standing[0].by = "x" * 201
    with pytest.raises(ConversionError, match=r"standing\[0\].by"):
        standing_from_msg(message, "t")


@pytest.mark.parametrize("lasting", [0.0, 90.125])
@pytest.mark.parametrize("decision", [Decision.ALLOW, Decision.REFUSE])
@pytest.mark.parametrize("now", [1.7e9 + k / 7.0 for k in range(8)])
def test_a_signature_holds_over_the_wire(decision, lasting, now):
    answer = answered(REQUEST, decision, "anna@lab", "so it is", lasting=lasting, now=now, key=KEY)
    back = answer_from_msg(wire(answer_to_msg(answer)), "rover/answer_permit")
    assert back.signed_with(PUBLIC) and not back.signed_with(STRANGERS)
    assert back.standing is (decision is Decision.ALLOW and lasting > 0.0)
    assert not replace(back, standing=not back.standing).signed_with(PUBLIC)


@pytest.mark.parametrize(
    ("field", "value"),
    [("decision", 0), ("decision", 7), ("by", "x" * 201), ("signature", "f" * 129)],
)
def test_what_cannot_be_an_answer_is_refused_by_field(field, value):
    message = answer_to_msg(SignedAnswer("a", "b", "c", Decision.ALLOW, "anna"))
    setattr(message, field, value)
    with pytest.raises(ConversionError, match=field):
        answer_from_msg(message, "rover/answer_permit")
    assert AnswerPermit.Request().decision == AnswerPermit.Request.UNSET


def test_requests_that_are_too_long_are_refused():
    message = requests_to_msg("rover", (REQUEST,))
    message.waiting[0].why = "x" * 201
    with pytest.raises(ConversionError, match=r"waiting\[0\].why"):
        requests_from_msg(message, "rover/permit_requests")


def test_what_a_goal_is_for_is_one_line_of_bounded_words():
    goal = conversions.with_why(conversions.navigate_to_msg(NavigateTo(place="p1")), "to\nlook")
    assert conversions.why_from_msg(wire(goal)) == "to look"
    act = conversions.with_why(conversions.manipulate_to_msg(Wait(1.0)), "x" * 5000)
    assert len(conversions.why_from_msg(wire(act))) == 200
    assert conversions.why_from_msg(conversions.manipulate_to_msg(Wait(1.0))) == ""
