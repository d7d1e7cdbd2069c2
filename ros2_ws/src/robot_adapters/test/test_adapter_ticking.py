"""Simulated time that stands still is told, once, and that it goes on; a busy process is not."""

from __future__ import annotations

import pytest

from robot_adapters.ticking import Ticking


def told(times, period=1.0):
    """Return what is told of simulated times, one a period [s], and when."""
    ticking = Ticking("/clock")
    return [
        (k * period, text)
        for k, now in enumerate(times)
        if (text := ticking.look(now, 100.0 + k * period))
    ]


def test_a_clock_that_stops_is_told_once_and_that_it_goes_on():
    times = [1.0, 2.0, *[3.0] * 10, 3.5, 4.0, *[4.1] * 7]
    first, again, second = told(times)
    assert first == (
        7.0,
        "/clock says nothing for 5 s: is the simulator paused, or did it end? Nothing goes on "
        "until it does",
    )
    assert again == (12.0, "/clock goes on again after 10 s")
    assert second[0] == 19.0


def test_a_clock_that_never_came_is_told_as_that():
    first, again = told([0.0] * 8 + [100.0, 101.0])
    assert first[0] == 5.0 and "no /clock has come for 5 s: does the simulator run?" in first[1]
    assert again == (8.0, "/clock goes on again after 8 s")


@pytest.mark.parametrize(
    ("times", "period"),
    [
        ([0.001 * k for k in range(60)], 1.0),  # a slow simulation
        ([1.0, 1.0, 1.0, 1.0, 2.0] * 5, 1.0),  # in steps
        ([9.0, 9.5, *[0.0] * 4, 0.1, 0.2], 1.0),  # one that began anew
        ([1.0, 1.0, 1.0, 30.0], 10.0),  # this process was held up
    ],
)
def test_time_that_goes_on_is_not_told(times, period):
    assert told(times, period) == []


def test_what_lasts_is_told_with_its_time_as_long_as_it_lasts():
    ticking = Ticking("/lab/clock")
    for k in range(31):
        ticking.look(7.0, float(k))
    assert ticking.trouble.startswith("/lab/clock says nothing for 30 s")
    ticking.look(8.0, 31.0)
    assert ticking.trouble == ""


@pytest.mark.ros
def test_an_adapter_in_simulated_time_tells_that_its_clock_stopped(ros):
    pytest.importorskip("nav2_msgs")
    from rosgraph_msgs.msg import Clock

    from coterie_ros import conversions
    from coterie_ros.qos import profile
    from robot_adapters.node import AdapterNode

    given = {"use_sim_time": True, "navigation.backend": "none"}
    adapter = ros.add(AdapterNode(namespace="/porter", context=ros.context, parameters=given))
    other = ros.add(
        AdapterNode(
            namespace="/walker", context=ros.context, parameters={"navigation.backend": "none"}
        )
    )
    clock = ros.node().create_publisher(Clock, "/clock", profile("clock"))

    def says(part, node=adapter):
        return any(part in v.value for v in node.diagnostics.status().values)

    ros.spin_until(lambda: says("no /clock has come for"), what="that no clock came")
    now = 10.0

    def tick():
        nonlocal now
        now += 0.01
        clock.publish(Clock(clock=conversions.time_to_msg(now)))
        return says("/clock goes on again after")

    ros.spin_until(tick, what="that the clock goes on")
    ros.spin_until(lambda: says("/clock says nothing for"), what="that the clock stopped")
    assert not says("/clock", other)
