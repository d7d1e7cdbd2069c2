"""Barrier, conductor and driver over real worlds, without ROS."""

from __future__ import annotations

import threading
import time

import pytest

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose
from coterie_core.skills import LookAround, NavigateTo, Outcome, Wait
from coterie_fixtures.tiny_house import tiny_house
from coterie_safety.guard import Guard
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.goal_scheduler import Goal, GoalScheduler
from habitat_bridge.lockstep_barrier import LockstepBarrier, Part
from habitat_bridge.sim_thread import SimThread
from habitat_bridge.simulator import Start

WHEELS = Embodiment(name="wheels", radius=0.2)
LEGS = Embodiment(name="legs", mobility="legs", radius=0.2, step_height=0.2)


def make(lockstep=True, bodies=None, **times):
    bodies = bodies or {"r1": WHEELS, "r2": LEGS}
    world = EmbeddedWorld(tiny_house(), seed=3, threads=1)
    starts = [(2.0, 2.0, 0.0), (6.0, 2.3, 0.0), (9.0, 2.0, 0.0)]
    for (name, body), spot in zip(bodies.items(), starts, strict=False):
        world.add_robot(name, body, Start(pose=Pose(spot)))
    warnings = []
    barrier = LockstepBarrier(bodies, warn=warnings.append, **times) if lockstep else None
    conductor = GoalScheduler(
        world, bodies, dict.fromkeys(bodies, Guard.of(world.truth())), barrier, SEEN.append
    )
    SEEN.clear()
    return world, conductor, warnings


SEEN = []  # observations of the world made last


class Ends(dict):
    """Results by goal id; `goal(...)` makes goals that report here."""

    def goal(self, id_, robot, skill):
        def end(result, state):
            assert id_ not in self, "a goal ended twice"
            self[id_] = (result, state)

        return Goal(id_, robot, skill, end)


def run(conductor, ends, *wanted, now=0.0, limit=2000):
    for _ in range(limit):
        if all(w in ends for w in wanted) or not conductor.ready(now):
            break
        conductor.step(0.1)
        conductor.conclude()


class TestBarrier:
    def test_waits_for_all_that_take_part(self):
        barrier = LockstepBarrier(["a", "b"])
        barrier.joins("a", 0.0)
        assert not barrier.open(["a"], 0.1)
        barrier.joins("b", 0.2)
        assert barrier.open(["a", "b"], 0.2)
        assert not barrier.open(["a"], 0.3)
        barrier.leaves("b")
        assert barrier.open(["a"], 0.4)

    def test_nobody_takes_part_time_stands_still(self):
        barrier = LockstepBarrier(["a"])
        assert not barrier.open([], 1000.0)

    def test_assembly_ends_without_those_who_do_not_come(self):
        warnings = []
        barrier = LockstepBarrier(["a", "b"], assembly_timeout=5.0, warn=warnings.append)
        barrier.joins("a", 10.0)
        assert not barrier.open(["a"], 14.9)
        assert barrier.open(["a"], 15.0)
        assert barrier.parts["b"] is Part.LEFT_OUT
        assert "b had no goal for 5 s" in warnings[0]
        # It is not waited for again when the next exploration starts, but may come back.
        barrier.leaves("a")
        barrier.joins("a", 20.0)
        assert barrier.open(["a"], 20.0)
        barrier.joins("b", 21.0)
        assert not barrier.open(["a"], 21.0)

    def test_one_who_thinks_too_long_is_left_out_and_comes_back(self):
        warnings = []
        barrier = LockstepBarrier(["a", "b"], timeout=60.0, warn=warnings.append)
        for robot in "ab":
            barrier.joins(robot, 0.0)
        assert barrier.open(["a", "b"], 100.0)
        assert not barrier.open(["a"], 159.0)
        assert barrier.open(["a"], 160.1)
        assert "b had no goal for 60 s" in warnings[0]
        barrier.joins("b", 200.0)
        assert not barrier.open(["a"], 200.0)


class TestLockstep:
    def test_a_goal_that_was_on_its_way_when_its_robot_left_holds_up_nobody(self):
        world, conductor, _ = make()
        ends = Ends()
        for robot in ("r1", "r2"):
            conductor.takes_part(robot, True, 0.0)
        conductor.takes_part("r2", False, 0.0)
        conductor.submit(ends.goal("late", "r2", Wait(5.0)), 0.1)  # sent before, comes after
        conductor.submit(ends.goal("g1", "r1", Wait(1.0)), 0.1)
        assert conductor.cancel("late")
        conductor.takes_part("r1", False, 0.2)
        conductor.takes_part("r1", True, 0.2)
        run(conductor, ends, "g1", now=6.0)
        assert ends["g1"][0].ok and world.time < 2.0

    def test_a_goal_of_somebody_else_is_done_though_its_robot_asks_for_no_time(self):
        _, conductor, _ = make()
        ends = Ends()
        conductor.submit(ends.goal("look", "r1", Wait(1.0)), 0.0)
        conductor.takes_part("r1", False, 0.1)  # its agent says so again and again
        run(conductor, ends, "look", now=6.0)
        assert ends["look"][0].ok

    def test_time_stands_still_until_both_have_a_goal(self):
        world, conductor, _ = make()
        ends = Ends()
        conductor.submit(ends.goal("g1", "r1", Wait(1.0)), 0.0)
        assert not conductor.ready(0.1) and world.time == 0.0
        conductor.submit(ends.goal("g2", "r2", Wait(2.0)), 0.2)
        run(conductor, ends, "g1")
        assert ends["g1"][0].outcome is Outcome.SUCCEEDED
        assert world.time == pytest.approx(1.0)
        assert [o.robot for o in SEEN] == ["r1"]
        assert not conductor.ready(0.3)

    def test_order_of_sending_does_not_matter(self):
        def play(order):
            world, conductor, _ = make()
            ends = Ends()
            for turn in range(3):
                skills = {
                    "r1": NavigateTo(position=(3.0 - turn, 1.0 + turn, 0.0)),
                    "r2": NavigateTo(position=(6.0 + turn, 2.3, 0.0)),
                }
                for robot in order:
                    conductor.submit(ends.goal(f"{robot}{turn}", robot, skills[robot]), 0.0)
                wanted = [f"{robot}{turn}" for robot in order]
                # Who ends first waits for the other: it has no new goal, so give it one.
                for k in range(500):
                    if all(w in ends for w in wanted):
                        break
                    if not conductor.ready(0.0):
                        for robot in order:
                            if f"{robot}{turn}" in ends:
                                conductor.submit(
                                    ends.goal(f"{robot}{turn}w{k}", robot, Wait(0.1)), 0.0
                                )
                        continue
                    conductor.step(0.1)
                    conductor.conclude()
            return list(SEEN), world.time

        assert play(["r1", "r2"]) == play(["r2", "r1"])

    def test_refused_by_the_guard_at_once_and_by_the_world_when_time_would_move(self):
        world, conductor, _ = make()
        ends = Ends()
        conductor.submit(ends.goal("far", "r1", NavigateTo(position=(99.0, 0.0, 0.0))), 0.0)
        result, _ = ends["far"]
        assert result.outcome is Outcome.REFUSED and "outside the house" in result.reason
        upstairs = NavigateTo(position=(8.0, 2.0, 2.8))
        conductor.submit(ends.goal("up", "r1", upstairs), 0.0)
        conductor.submit(ends.goal("up2", "r2", upstairs), 0.0)
        assert not conductor.ready(0.0)
        result, state = ends["up"]
        assert result.outcome is Outcome.UNREACHABLE and "stairs" in result.reason
        assert state.pose == world.state("r1").pose
        assert "up2" not in ends
        # Whoever waits for what a robot perceives after a goal waits after refused ones, too.
        assert [(o.robot, o.step) for o in SEEN] == [("r1", 0), ("r1", 1)]

    def test_cancel_ends_at_once_although_time_stands_still(self):
        _, conductor, _ = make()
        ends = Ends()
        conductor.submit(ends.goal("g1", "r1", Wait(1.0)), 0.0)
        assert conductor.cancel("g1")
        assert ends["g1"][0].outcome is Outcome.CANCELLED
        assert not conductor.cancel("g1")

    def test_unknown_robot_is_refused_by_name(self):
        _, conductor, _ = make()
        ends = Ends()
        conductor.submit(ends.goal("g", "r9", Wait(1.0)), 0.0)
        result, _ = ends["g"]
        assert result.outcome is Outcome.REFUSED
        assert "no robot 'r9'; robots here: r1, r2" in result.reason


class TestRealTime:
    def test_newer_goal_takes_the_olders_place(self):
        _, conductor, _ = make(lockstep=False)
        ends = Ends()
        conductor.submit(ends.goal("old", "r1", Wait(100.0)), 0.0)
        conductor.step(0.1)
        conductor.conclude()
        conductor.submit(ends.goal("new", "r1", Wait(0.2)), 0.0)
        assert ends["old"][0].outcome is Outcome.CANCELLED
        assert "newer goal" in ends["old"][0].reason
        run(conductor, ends, "new")
        assert ends["new"][0].ok

    def test_cancelled_on_the_way_it_perceives_where_it_stands(self):
        world, conductor, _ = make(lockstep=False)
        ends = Ends()
        goal = ends.goal("go", "r1", NavigateTo(position=(3.0, 1.0, 0.0)))
        conductor.submit(goal, 0.0)
        conductor.step(0.5)
        conductor.cancel("go")
        (observation,) = SEEN
        assert observation.pose == world.state("r1").pose != Pose((2.0, 2.0, 0.0))
        assert ends["go"][0].outcome is Outcome.CANCELLED
        conductor.step(0.5)
        conductor.conclude()
        assert world.state("r1").pose == observation.pose

    def test_steps_count_a_robots_own_observations(self):
        _, conductor, _ = make(lockstep=False)
        assert [conductor.perceive("r1").step for _ in range(3)] == [0, 1, 2]
        assert conductor.perceive("r2").step == 0


class Log:
    def __init__(self):
        self.steps, self.errors = [], []
        self.moved = threading.Event()

    def stepped(self, step):
        self.steps.append(step)
        self.moved.set()

    def idle(self):
        pass

    def failed(self, error):
        self.errors.append(error)
        self.moved.set()


def test_driver_keeps_real_time_and_ends():
    world, conductor, _ = make(lockstep=False)
    log = Log()
    driver = SimThread(conductor, log, lockstep=False, dt=0.02)
    driver.start()
    begin = time.monotonic()
    while len(log.steps) < 10:
        assert log.moved.wait(10.0)
        log.moved.clear()
    elapsed = time.monotonic() - begin
    assert driver.stop()
    # Late ticks make simulated time fall behind the wall clock, never run ahead of it.
    assert elapsed + 0.04 >= 10 * 0.02
    assert world.time == pytest.approx(driver.timing.ticks * 0.02)


def test_driver_counts_late_ticks_and_does_not_race_to_catch_up():
    _, conductor, _ = make(lockstep=False)

    class Slow(Log):
        def stepped(self, step):
            time.sleep(0.05)
            super().stepped(step)

    log = Slow()
    driver = SimThread(conductor, log, lockstep=False, dt=0.01)
    begin = time.monotonic()
    driver.start()
    while len(log.steps) < 5:
        assert log.moved.wait(10.0)
        log.moved.clear()
    driver.stop()
    elapsed = time.monotonic() - begin
    assert driver.timing.late >= 4
    assert driver.timing.ticks <= elapsed / 0.05 + 1


def test_driver_in_lockstep_waits_for_goals_and_runs_them():
    world, conductor, _ = make(bodies={"r1": WHEELS})
    log, ends = Log(), Ends()
    driver = SimThread(conductor, log, lockstep=True, dt=0.1)
    driver.start()
    assert not log.moved.wait(0.3) and world.time == 0.0
    driver.post(lambda: conductor.submit(ends.goal("g", "r1", LookAround()), time.monotonic()))
    deadline = time.monotonic() + 30.0
    while "g" not in ends and time.monotonic() < deadline:
        log.moved.wait(0.1)
    driver.stop()
    assert ends["g"][0].ok and world.time > 1.0


def test_driver_reports_a_world_that_fails_and_ends_the_goals():
    world, conductor, _ = make(bodies={"r1": WHEELS}, lockstep=False)
    log, ends = Log(), Ends()
    driver = SimThread(conductor, log, lockstep=False, dt=0.01)
    driver.post(lambda: conductor.submit(ends.goal("g", "r1", Wait(50.0)), time.monotonic()))
    # A robot that is gone without the conductor knowing is a fault of the world.
    driver.post(lambda: world.remove_robot("r1"))
    driver.post(lambda: conductor.perceive("r1"))
    driver.start()
    driver.join(10.0)
    assert not driver.is_alive()
    assert "r1" in str(log.errors[0])
    assert ends["g"][0].outcome is Outcome.FAULT
