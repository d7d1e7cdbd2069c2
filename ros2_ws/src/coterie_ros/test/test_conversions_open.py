"""Answers to open questions on the wire."""

from __future__ import annotations

import math

import pytest

pytestmark = pytest.mark.ros

pytest.importorskip("coterie_msgs")

from coterie_core.questions import OpenAnswer  # noqa: E402
from coterie_ros.conversions import (  # noqa: E402
    ConversionError,
    open_answer_from_msg,
    open_answer_to_msg,
)

ANSWER = OpenAnswer(
    "q1",
    "on the table in the kitchen",
    "object_localization",
    0.75,
    True,
    ("object_1", "object_2"),
    ("frame 3",),
    ((1.0, 2.0, 0.0), (2.5, 2.0, 0.0)),
    "ours",
    "model",
    "the model was slow",
    "seen twice",
)


def test_an_answer_survives_the_wire() -> None:
    assert open_answer_from_msg(open_answer_to_msg(ANSWER, time=3.0, frame="map")) == ANSWER


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", ""),
        ("confidence", math.nan),
        ("confidence", 1.5),
        ("decided_by", 7),
        ("explanation", "x" * 5000),
        ("objects", ["id"] * 20_000),
    ],
)
def test_nonsense_is_refused_by_field(field, value) -> None:
    message = open_answer_to_msg(ANSWER, frame="map")
    setattr(message, field, value)
    with pytest.raises(ConversionError, match=field):
        open_answer_from_msg(message)
