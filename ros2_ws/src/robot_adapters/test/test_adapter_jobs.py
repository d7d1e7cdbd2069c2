"""A robot does one skill at a time: the newest, whatever the older ones still wait for."""

from __future__ import annotations

import asyncio
import itertools
import math
from types import SimpleNamespace

import pytest

from coterie_core.skills import NavigateTo, Outcome, SkillRefused, SkillResult
from coterie_safety.guard import Guard, Limits, RobotLimits
from coterie_world.scene import Room, SceneGraph
from robot_adapters import job
from robot_adapters.job import Job, Jobs
from robot_adapters.permission import Permission, Permitted

pytestmark = pytest.mark.quick

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


def test_a_stop_while_a_goal_of_the_driver_is_taken_back_ends_what_waits_for_that():
    async def scenario():
        stand, taken_back = Stand(), asyncio.Event()
        stand.jobs._settled = taken_back.wait
        waits = stand.start("a")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        stand.jobs.end("stopped by anna")
        taken_back.set()
        assert await waits == (Outcome.CANCELLED, "stopped by anna")
        assert stand.log == []

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


def test_a_robot_that_was_stopped_before_its_turn_begins_nothing():
    async def scenario():
        stand = Stand()
        first = stand.start("a", 9.0)
        await asyncio.sleep(0.05)
        second = stand.start("b")
        await asyncio.sleep(0.05)
        stand.stopped = "stopped by anna"
        assert await asyncio.gather(first, second) == [NEWER, (Outcome.REFUSED, "stopped by anna")]
        assert stand.log == ["a begins", "a stands"]

    asyncio.run(scenario())


class Drive:
    """A drive over positions, one per look of the job, each after `step` of the node's time."""

    def __init__(self, way, strays, lost_after=math.inf, step=0.0):
        self.way, self.strays, self.lost_after, self.step = list(way), strays, lost_after, step
        self.at, self.time = None, 0.0

    def position(self):
        if self.way:
            self.at = self.way.pop(0)
        else:
            self.task.cancel()
        self.time += self.step
        return self.at

    async def run(self):
        self.task = asyncio.ensure_future(asyncio.sleep(600.0))
        done = Job(self.task, "NavigateTo")
        await done.track(
            self.position, self.strays, now=lambda: self.time, lost_after=self.lost_after
        )
        return done.outcome, done.reason

    def end(self, monkeypatch):
        monkeypatch.setattr(job, "_TRACK_PERIOD", 0.0)
        return asyncio.run(self.run())


def fenced(**limits):
    section = Limits.model_validate({"area": "anywhere", **limits})
    return Guard(None, {}, RobotLimits(team=section))


def along(*xs, step=0.1):
    """Return positions along x through some values [m], at y = 1."""
    way = []
    for a, b in itertools.pairwise(xs):
        count = round(abs(b - a) / step)
        way += [(a + k / count * (b - a), 1.0, 0.0) for k in range(count + 1)]
    return way


FREE = (Outcome.CANCELLED, "")
ZONE, NEXT = ([[x, 0], [x + 2, 0], [x + 2, 2], [x, 2]] for x in (0, 3))


@pytest.mark.parametrize(
    ("limits", "way", "until"),
    [
        ({"keep_out": [ZONE]}, along(-1.0, 1.0), 0.1),  # it comes in
        ({"keep_out": [ZONE]}, along(1.0, -1.0), None),  # it leaves
        ({"keep_out": [ZONE]}, along(1.0, -0.3, 1.0), 0.1),  # and comes back
        ({"keep_out": [ZONE, NEXT]}, along(1.0, 6.0), 3.1),  # into another
        ({"keep_out": [[[0, 0], [30, 0], [30, 9], [0, 9]]]}, along(0.05, 20.05), 0.65),
        ({"area": [[[-9, -9], [0, -9], [0, 9], [-9, 9]]]}, along(0.05, 20.05), 0.65),
        ({"area": [[[-9, -9], [0, -9], [0, 9], [-9, 9]]], "keep_out": [ZONE]}, along(-1, 1), 0.1),
        ({}, along(0.0, 9.0), None),
    ],
)
def test_a_robot_that_strays_is_stopped_and_one_that_leaves_is_not(monkeypatch, limits, way, until):
    drive = Drive(way, fenced(**limits).breaches)
    outcome, reason = drive.end(monkeypatch)
    if until is None:
        assert (outcome, reason) == FREE and not drive.way
        return
    assert outcome is Outcome.REFUSED and reason.startswith("stopped on its way: ("), reason
    assert drive.at[0] == pytest.approx(until, abs=0.101)


def test_what_is_told_in_words_may_be_left_for_half_a_metre(monkeypatch):
    drive = Drive(along(0.0, 3.0), lambda here: "in the pantry")
    assert drive.end(monkeypatch) == (Outcome.REFUSED, "stopped on its way: in the pantry")
    assert drive.at[0] == pytest.approx(0.6, abs=0.101)
    drive = Drive([(0.0, 1.0, 0.0)] * 100, lambda here: "in the pantry")
    assert drive.end(monkeypatch) == FREE


def test_a_map_that_loses_a_room_stops_the_goal_that_runs(monkeypatch):
    scene = SceneGraph()
    scene.add_room(Room("lab", "lab", "lab", "", [(5.0, 0.0), (9.0, 0.0), (9.0, 4.0)]))
    section = Limits.model_validate({"area": "anywhere", "keep_out": ["lab"]})
    guard = Guard(None, {}, RobotLimits(team=section), scene=scene)

    def breaches(here):
        if here is not None and here[0] > 1.0:
            guard.know(SceneGraph())
        return guard.breaches(here)

    drive = Drive(along(0.0, 3.0), breaches)
    outcome, reason = drive.end(monkeypatch)
    assert outcome is Outcome.REFUSED and "no outline of a room 'lab'" in reason
    assert drive.at[0] == pytest.approx(1.1, abs=0.101)


@pytest.mark.parametrize(("where", "ends"), [(fenced(keep_out=[ZONE]), True), (fenced(), False)])
def test_a_robot_that_loses_its_position_stands_where_there_are_fences(monkeypatch, where, ends):
    lost = [*along(3.0, 4.0), *[None] * 40]
    drive = Drive(lost, where.breaches, lost_after=2.0, step=0.1)
    outcome, reason = drive.end(monkeypatch)
    assert (outcome is Outcome.FAULT) == ends == ("nobody knows where the robot is" in reason)
    assert 15 <= len(drive.way) <= 20 if ends else not drive.way
    # A look that fails now and then is no loss.
    now_and_then = [None if k % 10 else (3.0, 1.0, 0.0) for k in range(200)]
    assert Drive(now_and_then, where.breaches, lost_after=2.0, step=0.1).end(monkeypatch) == FREE


def test_a_lost_position_counts_by_the_wall_clock_where_the_nodes_stands_still(monkeypatch):
    drive = Drive([None] * 1_000_000, fenced(keep_out=[ZONE]).breaches, lost_after=0.05)
    outcome, reason = drive.end(monkeypatch)
    assert outcome is Outcome.FAULT and "nobody knows" in reason
