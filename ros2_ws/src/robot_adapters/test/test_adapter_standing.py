"""A stop that the base does not obey is told; jumps of localization and braking are not."""

from __future__ import annotations

import asyncio

import pytest

from coterie_core.geometry import Pose
from robot_adapters.standing import Standing


def told(positions, *, period=0.2, begin=0):
    """Return what is told of a robot that is stopped from the position `begin` on, and when."""
    standing = Standing()
    return [
        (round(k * period, 1), text)
        for k, position in enumerate(positions)
        if (text := standing.look(k >= begin, position, k * period))
    ]


def along(speed, seconds, start=0.0):
    return [(start + speed * 0.2 * k, 1.0, 0.0) for k in range(int(seconds / 0.2))]


def test_a_base_that_drives_on_is_told_once_with_its_speed():
    ((when, text),) = told(along(0.4, 6.0), begin=5)
    assert "moves at 0.40 m/s" in text and "emergency stop" in text
    assert when <= 1.0 + 1.0 + 1.0


@pytest.mark.parametrize(
    "positions",
    [
        [*along(0.5, 0.9), *[(0.45, 1.0, 0.0)] * 30],  # it brakes
        [(0.0, 1.0, 0.0)] * 10 + [(0.7, 1.2, 0.0)] * 20,  # localization jumps
        [(0.002 * (k % 2), 1.0, 0.0) for k in range(40)],  # and is not exact
        [None] * 30,
        [position if k % 3 else None for k, position in enumerate(along(0.4, 6.0))],
    ],
)
def test_what_tells_no_motion_is_not_told(positions):
    assert told(positions) == []


def test_a_release_lets_it_move_and_the_next_stop_counts_anew():
    standing = Standing()
    track = along(0.4, 12.0)
    texts = [standing.look(not 20 <= k < 30, at, 0.2 * k) for k, at in enumerate(track)]
    assert sum(bool(text) for text in texts) == 2 and not any(texts[20:36])


@pytest.mark.ros
def test_a_base_that_takes_the_cancel_and_drives_on_is_told_by_its_adapter(ros):
    pytest.importorskip("nav2_msgs")
    from coterie_fixtures.adapter_rig import AdapterRig

    rig = AdapterRig(ros)

    async def drive_on():
        for _ in range(200):
            x, y, z = rig.base.pose.position
            rig.base.pose = Pose((x + 0.02, y, z), 0.0)
            await asyncio.sleep(0.05)

    def told():
        return "use its emergency stop" in rig.adapter.diagnostics.status().message

    rig.adapter.stops._stop(["porter"], "Ada", "test")
    ros.spin(2.5)
    assert not told()
    rig.base.run(drive_on())
    ros.spin_until(told, what="that it moves")
