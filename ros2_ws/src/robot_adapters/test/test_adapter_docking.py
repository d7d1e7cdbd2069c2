"""A robot docks when it is asked to or its battery is low, and only where limits allow it."""

from __future__ import annotations

import asyncio
import itertools
import math

import pytest

from coterie_core.skills import NavigateTo, Outcome, SkillRefused, SkillResult
from robot_adapters.battery import Battery
from robot_adapters.docking import Docking
from robot_adapters.settings_motion import BatterySettings

CHARGING, DISCHARGING, NOT_CHARGING, FULL = 1, 2, 3, 4


class Stand:
    """Docking with a base, a battery and a clock that tests set; it counts what it is told."""

    def __init__(self, dock="home"):
        self.battery = Battery()
        self.time = 0.0
        self.end = SkillResult(Outcome.SUCCEEDED)
        self.refused = ""
        self.drives: list[str] = []
        self.problems: list[str] = []
        self.docking = Docking(
            self.battery,
            dock,
            self,
            allow=self.allow,
            permit=self.permit,
            run=self.run,
            problem=self.problems.append,
            now=lambda: self.time,
        )

    def allow(self):
        if self.refused:
            raise SkillRefused(Outcome.REFUSED, self.refused)

    async def permit(self):
        return None

    async def run(self, what, work, permitted):
        return await work()

    async def dock(self):
        self.drives.append("in")
        return self.end

    async def undock(self):
        self.drives.append("out")
        return self.end

    def hear(self, charge, status=DISCHARGING):
        self.docking.heard(self.battery.update(charge, status))

    def tick(self, busy="", after=1.0):
        self.time += after
        asyncio.run(self.docking.tick(busy))


def test_a_low_battery_is_remembered_until_nothing_runs():
    stand = Stand()
    stand.hear(0.1)
    for _ in range(5):
        stand.tick("NavigateTo")
    assert not stand.drives
    stand.hear(0.09)
    stand.tick()
    assert stand.drives == ["in"] and stand.docking.docked
    stand.tick(after=1000.0)
    assert stand.drives == ["in"]


def test_a_docking_that_fails_is_tried_again_with_longer_and_longer_pauses():
    stand = Stand()
    stand.end = SkillResult(Outcome.BLOCKED, "a chair")
    stand.hear(0.1)
    tries = []
    for _ in range(4000):
        before = len(stand.drives)
        stand.tick()
        if len(stand.drives) > before:
            tries.append(stand.time)
    pauses = [round(b - a) for a, b in itertools.pairwise(tries)]
    assert pauses == [30, 60, 120, 240, 480, *[600] * 5]
    assert set(stand.problems) == {"docking: a chair"}
    # Somebody carried it to a socket.
    stand.hear(0.5)
    stand.tick(after=1000.0)
    assert len(stand.drives) == len(tries)


def test_what_must_not_be_driven_is_not_and_a_stop_ends_the_wish():
    stand = Stand()
    stand.refused = "not now"
    stand.hear(0.1)
    stand.tick()
    assert not stand.drives and stand.problems == ["docking: not now"]
    stand.docking.forget()
    stand.refused = ""
    stand.tick(after=1000.0)
    assert not stand.drives
    assert asyncio.run(stand.docking.dock()).ok and stand.drives == ["in"]


def test_a_driver_that_sends_percent_does_so_at_one_percent_too():
    battery = Battery()
    lows = [battery.update(charge) for charge in (40.0, 14.0, 1.0, 0.4)]
    assert lows == [False, True, False, False] and battery.low and battery.charge == 0.004
    # A little more than full is no percent.
    battery = Battery()
    assert not battery.update(1.02) and battery.charge == 1.0
    assert not battery.update(0.9) and battery.charge == 0.9
    assert not battery.update(820.0) and battery.told == "unknown"


@pytest.mark.parametrize(
    ("unit", "said", "told"),
    [
        ("auto", [(1.0, 0)], "1 % or 100 %"),
        ("auto", [(1.0, CHARGING), (1.0, DISCHARGING)], "1 % or 100 %"),
        ("auto", [(1.0, FULL)], "100 %"),
        ("auto", [(0.99, 0), (1.0, 0)], "100 %"),
        ("auto", [(1.02, 0), (1.0, 0)], "100 %"),
        ("auto", [(1.0, 0), (2.0, 0)], "2 %"),
        ("auto", [(55.0, 0), (1.0, 0)], "1 %"),
        ("auto", [(0.0, 0)], "0 %"),
        ("percent", [(1.0, 0)], "1 %"),
        ("percent", [(0.5, 0)], "0 %"),
        ("fraction", [(1.0, 0)], "100 %"),
        ("fraction", [(55.0, 0)], "unknown"),
    ],
)
def test_one_is_full_only_where_the_driver_sends_fractions(unit, said, told):
    battery = Battery(BatterySettings(unit=unit))
    for charge, status in said:
        battery.update(charge, status)
    assert battery.told == told
    fine = told in ("100 %", "unknown")
    assert (not battery.trouble) == fine
    assert ("battery.unit" in battery.trouble) == (told == "1 % or 100 %")


def test_a_battery_that_says_nothing_is_trouble_where_somebody_is_to_speak():
    time, expected = [100.0], [True]
    options = {"now": lambda: time[0], "expected": lambda: expected[0]}
    mute, unnamed = Battery(topic="battery_state", **options), Battery(**options)
    time[0] += 59.0
    assert not mute.trouble
    time[0] += 2.0
    assert "has come on battery_state for 61 s" in mute.trouble and not unnamed.trouble
    mute.update(math.nan, CHARGING)  # that is no charge
    assert mute.trouble
    expected[0] = False  # no driver is there, and none was named
    assert not mute.trouble
    mute.update(0.8)
    time[0] += 61.0  # it fell silent
    assert "for 61 s" in mute.trouble
    mute.update(0.8)
    assert not mute.trouble


def test_a_robot_that_charges_when_its_adapter_starts_leaves_its_dock():
    stand = Stand()
    stand.hear(0.1, CHARGING)
    assert stand.docking.docked
    stand.tick()
    assert not stand.drives
    stand.hear(1.0, FULL)
    stand.hear(0.99, NOT_CHARGING)
    assert asyncio.run(stand.docking.leave()).ok and stand.drives == ["out"]
    # It still says full on its way.
    stand.hear(0.99, FULL)
    assert asyncio.run(stand.docking.leave()).ok and stand.drives == ["out"]
    stand.hear(0.5, DISCHARGING)
    stand.hear(0.5, CHARGING)
    stand.end = SkillResult(Outcome.FAULT, "no plugin")
    left = asyncio.run(stand.docking.leave())
    assert left.outcome is Outcome.FAULT and "since its battery charges" in left.reason
    stand.hear(0.5, DISCHARGING)  # a person took it out
    assert not stand.docking.docked


def test_a_dock_that_a_robot_drove_into_holds_it_also_without_power():
    stand = Stand()
    stand.hear(0.5, DISCHARGING)
    assert asyncio.run(stand.docking.dock()).ok
    stand.hear(0.5, CHARGING)
    stand.hear(0.5, DISCHARGING)
    assert stand.docking.docked


def test_a_robot_without_a_dock_is_never_docked():
    stand = Stand(dock="")
    stand.hear(0.1, CHARGING)
    stand.tick()
    assert not stand.docking.docked and not stand.drives
    assert asyncio.run(stand.docking.leave()).ok and not stand.drives


# -- over rclpy ------------------------------------------------------------------------------------


@pytest.fixture
def make_rig(ros):
    pytest.importorskip("nav2_msgs")
    pytest.importorskip("coterie_msgs")
    from coterie_fixtures.adapter_rig import AdapterRig

    return lambda **parameters: AdapterRig(ros, **{"navigation.dock": "home", **parameters})


def asked(rig):
    from std_srvs.srv import Trigger

    dock = rig.node.create_client(Trigger, "/porter/dock")
    rig.ros.wait_for_matched(dock)
    answer = rig.ros.result(dock.call_async(Trigger.Request()))
    return answer.success, answer.message


@pytest.mark.ros
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"limits": ""}, "no area is allowed"),
        ({"limits": '{"team": {"area": "anywhere", "skills": []}}'}, "(limits.skills)"),
        ({"team_nodes": "leader", "cut_off": 0.1}, "cut off from the team"),
    ],
)
def test_docking_asks_the_guard_and_the_link_to_the_team(make_rig, parameters, words):
    rig = make_rig(**parameters)
    rig.ros.spin_until(lambda: words[0] == "(" or "no area" in words or rig.adapter.link.trouble)
    done, reason = asked(rig)
    assert not done and words in reason
    rig.ros.spin_until(lambda: (rig.base.say_battery(0.1), rig.adapter.battery.low)[1])
    told = rig.adapter.diagnostics
    rig.ros.spin_until(lambda: words in str(told.status()), what="a refusal of its own docking")
    assert "dock_robot" not in rig.base.goals


@pytest.mark.ros
def test_a_stopped_robot_does_not_dock_and_its_release_moves_nothing(make_rig):
    from std_msgs.msg import String
    from std_srvs.srv import SetBool

    rig = make_rig()
    stop = rig.node.create_publisher(String, "/stop", 10)
    rig.ros.wait_for_matched(stop)
    stop.publish(String(data="Ada: smoke"))
    rig.ros.spin_until(lambda: rig.adapter.stops.refusal("porter"))
    done, reason = asked(rig)
    assert not done and reason.startswith("stopped by Ada")
    rig.ros.spin_until(lambda: (rig.base.say_battery(0.1), rig.adapter.battery.low)[1])
    release = rig.node.create_client(SetBool, "/porter/stop")
    rig.ros.wait_for_matched(release)
    assert rig.ros.result(release.call_async(SetBool.Request(data=False))).success
    ticks = []
    rig.adapter.every(0.5, lambda: ticks.append(1))
    rig.ros.spin_until(lambda: len(ticks) > 5)
    assert "dock_robot" not in rig.base.goals
    assert asked(rig) == (True, "")


@pytest.mark.ros
def test_a_robot_whose_battery_gets_low_on_a_drive_docks_after_it(make_rig):
    from coterie_ros import conversions

    rig = make_rig()
    rig.base.faults = {"navigate_to_pose": "slow"}
    skill = NavigateTo(position=(2.5, 1.0, 0.0))
    handle = rig.send(rig.drive, conversions.navigate_to_msg(skill))
    rig.ros.spin_until(lambda: rig.base.pose.position[0] > 1.1)
    rig.ros.spin_until(lambda: (rig.base.say_battery(0.1), rig.adapter.battery.low)[1])
    assert "dock_robot" not in rig.base.goals
    _, result = rig.finish(handle)
    assert Outcome(result.result.outcome) is Outcome.SUCCEEDED, result.result.reason
    rig.ros.spin_until(lambda: rig.adapter.docking.docked)
    assert len(rig.base.goals["dock_robot"]) == 1


@pytest.mark.ros
def test_an_adapter_that_starts_in_the_dock_lets_nav2_undock_before_it_drives(make_rig):
    rig = make_rig()
    said = lambda: rig.base.say_battery(0.8, CHARGING)  # noqa: E731
    rig.ros.spin_until(lambda: (said(), rig.adapter.docking.docked)[1])
    _, result = rig.go(2.0, 1.0)
    assert Outcome(result.result.outcome) is Outcome.SUCCEEDED, result.result.reason
    assert len(rig.base.goals["undock_robot"]) == 1
