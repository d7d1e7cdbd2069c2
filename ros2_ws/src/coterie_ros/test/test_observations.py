"""Which observations of a robot count, and who waits for them."""

from __future__ import annotations

import asyncio

from coterie_core.geometry import Pose
from coterie_core.observation import Observation
from coterie_ros import observations
from coterie_ros.observations import Observations


def seen(step: int, time: float, robot: str = "rover", place: str = "a") -> Observation:
    return Observation(
        robot=robot, step=step, time=time, pose=Pose((0.0, 0.0, 0.0), 0.0), place=place, room=None
    )


async def test_repeats_and_those_of_others_do_not_count():
    said: list[str] = []
    stream = Observations("rover", "/home/rover/observation", said.append)
    assert stream.latest is None
    assert stream.take(seen(3, 1.5))
    assert not stream.take(seen(3, 1.5))
    assert not stream.take(seen(4, 2.0, "drone"))
    assert stream.latest.step == 3 and len(said) == 1 and "'drone'" in said[0]
    assert stream.take(seen(0, 0.0))
    assert stream.latest.step == 0
    # Its adapter alone may have been started again: the world went on.
    assert stream.take(seen(0, 7.0))
    for told in said[1:]:
        assert told.startswith("rover's observations count from 0 again: its adapter (or the sim")
    assert len(said) == 3


async def test_who_waits_gets_the_newer_one_or_none_in_time(monkeypatch):
    stream = Observations("rover", "/home/rover/observation", lambda text: None)
    stream.take(seen(3, 1.5))
    known = await stream.after(None)
    assert known is stream.latest
    for newer in (seen(4, 2.0), seen(0, 0.5)):  # the second came after a restart
        waiting = asyncio.ensure_future(stream.after(known))
        await asyncio.sleep(0)
        assert stream.take(newer) and not stream.take(newer)
        known = await waiting
        assert known is newer
    monkeypatch.setattr(observations, "TIMEOUT_S", 0.01)
    assert await stream.after(known) is None
    assert "/home/rover/observation" in stream.missing


async def test_who_needs_a_place_waits_until_the_robots_map_has_come(monkeypatch):
    stream = Observations("rover", "/home/rover/observation", lambda text: None)
    stream.take(seen(0, 0.5, place=""))
    waiting = asyncio.ensure_future(stream.after(None, placed=True))
    await asyncio.sleep(0)
    assert await stream.after(None) is stream.latest  # who needs none does not wait
    stream.take(seen(1, 1.0, place=""))
    stream.take(seen(2, 1.5))
    assert (await waiting).step == 2
    monkeypatch.setattr(observations, "TIMEOUT_S", 0.01)
    stream.take(seen(3, 2.0, place=""))
    assert await stream.after(None, placed=True) is None
    assert "no place" in stream.missing and "map" in stream.missing
