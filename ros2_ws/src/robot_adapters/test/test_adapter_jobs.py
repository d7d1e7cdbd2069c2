"""A robot does one skill at a time: the newest, whatever the older ones still wait for."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from coterie_core.skills import NavigateTo, Outcome, SkillRefused, SkillResult
from robot_adapters.job import Jobs
from robot_adapters.permission import Permission, Permitted

NEWER = (Outcome.CANCELLED, "a newer goal took its place")


class Gate:
    """Gives every goal its permit, and notes whose paths it was asked for."""

    def __init__(self):
        self.checked: list[str] = []

    def begin(self, permit, goal, skill, spot):
        pass

    def ended(self, goal, result):
        return ""

    def check_path(self, goal, points):
        self.checked.append(goal.name)


class Stand:
    """Jobs of a robot whose server takes a while to cancel."""

    def __init__(self, brakes=0.3):
        self.gate, self.stopped, self.brakes = Gate(), "", brakes
        self.log: list[str] = []
        self.permission = Permission(self.gate, "porter", lambda call: call(), self.log.append)
        self.jobs = Jobs(
            self.permission,
            settled=self.settled,
            position=lambda: None,
            strays=lambda here: "",
            now=lambda: 0.0,
            report=lambda *told: self.log.append(str(told)),
        )

    async def settled(self):
        pass

    def allow(self):
        if self.stopped:
            raise SkillRefused(Outcome.REFUSED, self.stopped)

    async def run(self, name, duration=0.0):
        async def work():
            self.log.append(f"{name} begins")
            try:
                await asyncio.sleep(duration)
                self.permission.check_path([(0.0, 0.0, 0.0)])
            except asyncio.CancelledError:
                await asyncio.sleep(self.brakes)
                self.log.append(f"{name} stands")
                raise
            return SkillResult(Outcome.SUCCEEDED)

        permitted = Permitted(SimpleNamespace(name=name), None, NavigateTo(place="x"), None)
        result = await self.jobs.run(name, work, permitted, self.allow)
        return result.outcome, result.reason

    def start(self, name, duration=0.0):
        return asyncio.create_task(self.run(name, duration))


def test_the_newest_goal_is_the_next_and_the_robot_stands_before_it_begins():
    async def scenario():
        stand = Stand()
        tasks = [stand.start("a", 9.0)]
        await asyncio.sleep(0.05)
        tasks += [stand.start("b", 9.0), stand.start("c")]
        assert await asyncio.gather(*tasks) == [NEWER, NEWER, (Outcome.SUCCEEDED, "")]
        assert stand.log == ["a begins", "a stands", "c begins"]

    asyncio.run(scenario())


def test_a_goal_cancelled_while_it_waits_leaves_the_permit_of_the_one_that_runs():
    async def scenario():
        stand = Stand(brakes=0.0)
        runs = stand.start("a", 0.1)
        await asyncio.sleep(0.05)
        waits = Permitted(SimpleNamespace(name="b"), None, NavigateTo(place="x"), None)
        stand.permission.ended(waits, SkillResult(Outcome.CANCELLED, "cancelled"))
        stand.permission.ended(None, SkillResult(Outcome.CANCELLED, "cancelled"))
        assert await runs == (Outcome.SUCCEEDED, "")
        assert stand.gate.checked == ["a"]
        stand.permission.check_path([(0.0, 0.0, 0.0)])
        assert stand.gate.checked == ["a"]  # it ended, and its permit with it

    asyncio.run(scenario())


def test_a_stop_ends_what_waits_though_a_release_follows_before_its_turn():
    async def scenario():
        stand = Stand()
        tasks = [stand.start("a", 9.0)]
        await asyncio.sleep(0.05)
        tasks.append(stand.start("b"))
        await asyncio.sleep(0.05)
        stand.jobs.end("stopped by anna")
        ends = await asyncio.gather(*tasks)
        assert ends == [NEWER, (Outcome.CANCELLED, "stopped by anna")]
        assert stand.log == ["a begins", "a stands"]

    asyncio.run(scenario())


def test_a_cancel_while_a_goal_of_the_driver_is_taken_back_is_not_lost():
    goals = pytest.importorskip("robot_adapters.backends.goals")

    class Client:
        async def run(self, goal, **options):
            try:
                await asyncio.sleep(9.0)
            finally:
                await asyncio.sleep(0.2)

    async def watch():
        return SkillResult(Outcome.TIMED_OUT, "no progress")

    async def scenario():
        action = object.__new__(goals.RobotAction)
        action.name, action._timeout, action._client = "drive", 1.0, Client()
        action._node = SimpleNamespace(now=lambda: 0.0)
        task = asyncio.create_task(action.run(None, timeout=9.0, watch=watch))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
