"""The token bucket: what is slow passes, a flood is cut to the rate."""

from __future__ import annotations

import pytest

from coterie_core.rate import Rate


@pytest.mark.parametrize(("sent", "passed"), [(10.0, 100), (29.0, 290), (600.0, 302)])
def test_a_stream_passes_up_to_the_rate(sent: float, passed: int) -> None:
    now = 0.0
    rate = Rate(30.0, burst=2, clock=lambda: now)
    count = 0
    for k in range(int(10.0 * sent)):
        now = k / sent
        count += rate.passes()
    assert count == pytest.approx(passed, abs=2)
