"""Judgements of requests as messages."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from coterie_requests.ask_back import Judgement
from coterie_requests.ask_back.judgement import REQUEST_KINDS
from coterie_ros.conversions.checks import ConversionError
from coterie_ros.conversions.judgement import judgement_from_msg, judgement_to_msg


@pytest.mark.parametrize("kind", REQUEST_KINDS)
def test_a_judgement_comes_back_as_it_was(kind) -> None:
    told = Judgement(
        kind, text="2 fit", question="Which?", choices=("a", "b"), candidates=("x", "y"),
        missing=("upstairs",), slot="thing", evidence=("looked",), answer="a", settled=True,
    )  # fmt: skip
    assert judgement_from_msg(judgement_to_msg(told), "ask") == told


def test_nobody_judged_and_nonsense() -> None:
    message = judgement_to_msg(None)
    assert judgement_from_msg(message, "ask") is None
    message.kind = 77
    with pytest.raises(ConversionError, match="kind"):
        judgement_from_msg(message, "ask")
