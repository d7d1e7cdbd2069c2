"""Limits and stops in simulation: paths, straying, halted robots, who waits for whom."""

from __future__ import annotations

from typing import Any

import pytest

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose
from coterie_core.skills import NavigateTo, Outcome, SkillResult, Wait
from coterie_fixtures.tiny_house import tiny_house
from coterie_safety.guard import Guard, Limits, RobotLimits
from habitat_bridge.embedded.body import Velocity
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.goal_scheduler import Goal, GoalScheduler
from habitat_bridge.lockstep_barrier import LockstepBarrier
from habitat_bridge.roster import RobotSpec, read_roster
from habitat_bridge.simulator import Start

BODY = Embodiment(name="wheels", radius=0.2)
STRIP = [[4.8, -5.0], [5.2, -5.0], [5.2, 9.0], [4.8, 9.0]]
"""Across the whole floor, between (2, 2) and (7, 2.3)."""
THERE = NavigateTo(position=(7.0, 2.3, 0.0))


class Run:
    """A world with robots r1 at (2, 2) and r2 at (6, 2.3), and how their goals ended."""

    def __init__(self, limits: dict[str, Any] | None = None, lockstep: bool = False) -> None:
        self.world = EmbeddedWorld(tiny_house(), seed=3, threads=1)
        self.bodies = {"r1": BODY, "r2": BODY}
        for name, spot in (("r1", (2.0, 2.0, 0.0)), ("r2", (6.0, 2.3, 0.0))):
            self.world.add_robot(name, BODY, Start(pose=Pose(spot)))
        section = RobotLimits(team=Limits.model_validate(limits or {}))
        guards = dict.fromkeys(self.bodies, Guard.of(self.world.truth(), section))
        self.warnings: list[str] = []
        barrier = LockstepBarrier(self.bodies, warn=self.warnings.append) if lockstep else None
        self.scheduler = GoalScheduler(self.world, self.bodies, guards, barrier)
        self.ends: dict[str, SkillResult] = {}

    def submit(self, id_: str, robot: str, skill: Any, now: float = 0.0) -> None:
        self.scheduler.submit(
            Goal(id_, robot, skill, lambda result, state: self.ends.update({id_: result})), now
        )

    def go(self, *wanted: str, ticks: int = 600) -> None:
        for _ in range(ticks):
            if wanted and all(id_ in self.ends for id_ in wanted):
                return
            self.scheduler.step(0.1)
            self.scheduler.conclude()


def test_a_path_through_a_zone_is_refused_before_the_robot_moves():
    run = Run({"keep_out": [STRIP]})
    run.submit("g", "r1", THERE)
    assert run.ends["g"].outcome is Outcome.REFUSED
    assert "on the path is in a zone that robots keep out of (limits.keep_out[0])" in (
        run.ends["g"].reason
    )
    run.go(ticks=5)
    assert run.world.state("r1").pose.position == (2.0, 2.0, 0.0)
    free = Run()
    free.submit("g", "r1", NavigateTo(position=(7.5, 2.3, 0.0)))
    assert free.world.path("r1")[0] == (2.0, 2.0, 0.0)
    assert free.world.path("r2") == ()


def test_a_robot_that_strays_on_a_path_planned_anew_is_stopped():
    run = Run({"keep_out": [STRIP]})
    run.submit("g", "r1", NavigateTo(position=(3.0, 1.5, 0.0)))
    # As after a replan around somebody: the way now leads through the zone.
    run.world.start_skill("r1", THERE)
    run.go("g")
    assert run.ends["g"].outcome is Outcome.REFUSED
    assert "stopped on its way" in run.ends["g"].reason
    x = run.world.state("r1").pose.position[0]
    run.go(ticks=10)
    assert run.world.state("r1").pose.position[0] == x < 5.2


def test_a_robot_that_leaves_one_zone_on_a_path_planned_anew_is_stopped_at_the_next():
    home = [[1.5, 1.5], [2.5, 1.5], [2.5, 2.5], [1.5, 2.5]]
    run = Run({"keep_out": [home, STRIP]})
    run.submit("g", "r1", NavigateTo(position=(3.5, 1.5, 0.0)))
    run.world.start_skill("r1", THERE)
    run.go("g")
    assert "stopped on its way" in run.ends["g"].reason and "keep_out[1]" in run.ends["g"].reason
    run = Run({"keep_out": [[[1, 1], [9, 1], [9, 5], [1, 5]]]})
    run.submit("g", "r1", NavigateTo(position=(2.0, 0.6, 0.0)))
    run.world.start_skill("r1", THERE)  # once through all of it
    run.go("g")
    assert "stopped on its way" in run.ends["g"].reason
    assert run.world.state("r1").pose.position[0] < 4.0


def test_a_robot_that_is_driven_comes_out_of_a_zone_and_no_farther_into_it():
    out, inward = (
        [[1, 1], [2.5, 1], [2.5, 3], [1, 3]],
        [[1.8, 1], [4, 1], [4, 3], [1.8, 3]],
    )
    for zone, comes in ((out, True), (inward, False)):
        run = Run({"keep_out": [zone]})
        begin = run.world.state("r1").pose.position[0]
        for _ in range(60):
            run.world.hardware.drive("r1", Velocity(ahead=0.3))
            run.world.tick(0.1)
        assert (run.world.state("r1").pose.position[0] > begin + 0.5) == comes


def test_a_halted_robot_ends_its_goal_refuses_others_and_goes_on_when_released():
    run = Run()
    run.submit("g", "r1", THERE)
    run.go(ticks=10)
    run.scheduler.halt({"r1": "stopped by anna"})
    state = run.world.state("r1")
    assert state.linear == (0.0, 0.0, 0.0) and state.angular == 0.0
    assert run.ends["g"] == SkillResult(Outcome.CANCELLED, "stopped by anna")
    run.submit("again", "r1", THERE)
    assert run.ends["again"] == SkillResult(Outcome.REFUSED, "stopped by anna")
    run.submit("other", "r2", NavigateTo(position=(7.0, 2.3, 0.0)))
    run.go("other")
    assert run.ends["other"].ok
    assert run.world.state("r1").pose == state.pose
    run.scheduler.release("r1")
    run.submit("after", "r1", NavigateTo(position=(3.0, 1.5, 0.0)))
    run.go("after")
    assert run.ends["after"].ok


def test_a_halted_robot_does_not_make_way():
    def play(halted: bool) -> Pose:
        run = Run()
        # r2 stands on r1's only way.
        run.world.remove_robot("r2")
        path = Run()
        path.submit("g", "r1", THERE)
        middle = path.world.path("r1")
        spot = middle[len(middle) // 2]
        run.world.add_robot("r2", BODY, Start(pose=Pose(spot)))
        if halted:
            run.scheduler.halt({"r2": "stopped"})
        before = run.world.state("r2").pose
        run.submit("g", "r1", NavigateTo(position=spot, tolerance=0.0))
        run.go("g")
        return before if run.world.state("r2").pose == before else run.world.state("r2").pose

    assert play(halted=True).position != play(halted=False).position


@pytest.mark.parametrize("fenced", [False, True])
def test_a_robot_makes_way_and_is_driven_only_where_it_may_be(fenced):
    """r2 may be in a small square only; without limits it leaves it, for r1 and for a driver."""
    square = [[5.8, 2.1], [6.2, 2.1], [6.2, 2.5], [5.8, 2.5]]
    run = Run({"area": [square]} if fenced else {})
    run.world.start_skill("r1", NavigateTo(position=(6.0, 2.3, 0.0)))
    left = False
    for _ in range(300):
        run.world.tick(0.1)
        x, y, _ = run.world.state("r2").pose.position
        left |= not (5.8 <= x <= 6.2 and 2.1 <= y <= 2.5)
    assert left != fenced
    run.world.remove_robot("r1")
    for _ in range(60):
        run.world.hardware.drive("r2", Velocity(ahead=0.3))
        run.world.tick(0.1)
    assert (run.world.state("r2").pose.position[0] <= 6.2) == fenced


def test_in_lockstep_nobody_waits_for_a_halted_robot():
    run = Run(lockstep=True)
    run.submit("g1", "r1", Wait(5.0))
    run.submit("g2", "r2", Wait(1.0))
    run.scheduler.halt({"r1": "stopped"})
    run.scheduler.takes_part("r1", True, 0.0)  # it asks for work, which it cannot do
    assert run.scheduler.ready(0.0)
    run.go("g2")
    assert run.ends["g2"].ok
    run.scheduler.release("r1")
    run.submit("g3", "r2", Wait(1.0))
    run.submit("g4", "r1", Wait(1.0), now=1.0)
    assert run.scheduler.ready(1.0)


def test_the_roster_caps_the_speed_and_names_what_is_wrong():
    robot = {"name": "r1", "embodiment": "wheels", "limits": {"team": {"speed": 0.1}}}
    (spec,) = read_roster([robot], RobotSpec)
    assert spec.body.linear_speed == 0.1 < spec.embodiment.linear_speed
    with pytest.raises(ValueError, match="speed"):
        read_roster([{**robot, "limits": {"team": {"speed": "fast"}}}], RobotSpec)
