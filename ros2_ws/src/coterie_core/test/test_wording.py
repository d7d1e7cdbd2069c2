"""Names as sentences say them."""

from __future__ import annotations

import pytest

from coterie_core.wording import spoken

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Brought: drone-mug-1", "Brought: drone's mug 1"),
        ("put red-drone-coffee-table-12 there", "put red-drone's coffee table 12 there"),
        ("counter-2, xdrone-mug-1, drone-mug-1-b", "counter-2, xdrone-mug-1, drone-mug-1-b"),
    ],
)
def test_ids_that_robots_gave_are_said_as_people_say_them(text, told):
    assert spoken(text, ["drone", "red-drone", ""]) == told
    assert spoken(text, []) == text
