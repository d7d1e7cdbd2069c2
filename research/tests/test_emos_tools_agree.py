"""What EMOS's tools say of a body is what the embedded world then lets it do."""

from __future__ import annotations

import pytest

from research.bench.emos.tool_agreement import Tally, agreement, table


@pytest.fixture(scope="module")
def tally() -> Tally:
    return agreement((33,), 12)


def test_tools_are_right_nearly_always(tally):
    asked = sum(tally.yes.values()) + sum(tally.no.values())
    assert asked > 120 and sum(tally.no.values()) > 10, table(tally)
    assert tally.share() >= 0.97, "\n".join([table(tally), *tally.notes])


@pytest.mark.parametrize("kind", ["pick", "place", "go_to"])
def test_what_they_say_can_be_done_is_done(tally, kind):
    said = sum(n for (k, _), n in tally.yes.items() if k == kind)
    wrong = sum(n for (k, _), n in tally.false_yes.items() if k == kind)
    assert said > 15
    assert wrong <= 0.03 * said, "\n".join(tally.notes)
