"""Which goals a fault strikes: counted from when it was told, at the start or later."""

from __future__ import annotations

from habitat_bridge.lab.faults import Faults, parse_fault


def struck(faults, count, begin, robot="rover"):
    return [faults.strike(robot, "navigate", begin + k) is not None for k in range(count)]


def test_the_nth_goal_is_counted_from_when_the_fault_was_told():
    faults = Faults([parse_fault("navigate_aborted:nth=2")])
    assert struck(faults, 3, 0.0) == [False, True, False]
    faults.add([parse_fault("navigate_aborted:robot=rover,nth=1")], 3.0)
    assert struck(faults, 3, 3.0) == [True, False, False]
    faults.add([parse_fault("navigate_aborted:nth=2")], 6.0)
    assert struck(faults, 2, 6.0, "slim") == [False, True]  # its own second one
    assert struck(faults, 3, 8.0) == [False, True, False]
    faults.clear()
    faults.add([parse_fault("navigate_aborted:nth=1")], 11.0)
    assert struck(faults, 2, 11.0) == [True, False]
