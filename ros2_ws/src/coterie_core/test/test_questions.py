"""How stated confidence is told."""

from __future__ import annotations

import pytest

from coterie_core.questions import percent


@pytest.mark.parametrize(
    ("confidence", "told"),
    [(1.0, ">99 %"), (0.996, ">99 %"), (0.994, "99 %"), (0.5, "50 %"), (0.004, "<1 %")],
)
def test_nearly_certain_is_not_called_certain(confidence: float, told: str) -> None:
    assert percent(confidence) == told
