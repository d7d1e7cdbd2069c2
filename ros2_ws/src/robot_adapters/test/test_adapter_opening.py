"""An adapter's arm opens and closes furniture: where its front is, and what the hand feels."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("moveit_msgs")
pytest.importorskip("coterie_msgs")

from coterie_core.detections import BoxDetection
from coterie_core.geometry import Box
from coterie_core.skills import Close, Open, Outcome, Target
from coterie_fixtures.arm_rig import GRIP, MOVE, ArmRig, point_of
from coterie_fixtures.drawn_scenes import pitched, view
from coterie_ros import conversions
from coterie_world.perception.frame_join import Boxes
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from robot_adapters.backends.opening import Front, by_hand

CABINET = Box((1.9, 1.0, 0.5), (0.4, 0.8, 1.0))
DOOR = Target("cabinet", (1.9, 1.0, 0.5), "o5")


def rig_before(ros, box=CABINET, **parameters):
    """Return a robot at (1, 1) before a cabinet."""
    rig = ArmRig(ros, **{"arm.handles": "front", **parameters})
    scene = SceneGraph()
    scene.objects["o5"] = SceneObject("o5", LabelBelief.of("cabinet"), box, kind="furniture")
    rig.map.publish(conversions.scene_to_msg(scene, time=1.0))
    ros.spin_until(lambda: [one[0] for one in rig.adapter.sensors.objects(9.0)] == ["o5"])
    return rig


def handle_at(rig, x, slips=99):
    """Let the hand close on a handle at x of the map [m], which it holds so many times."""
    held = []

    def grip(goal):
        if goal.command.position > 0.01 or MOVE not in rig.arm.goals:
            return None if goal.command.position > 0.01 else "miss"
        there = abs(1.0 + point_of(rig.arm.goals[MOVE][-1].request)[0] - x) < 0.021 or held
        held.extend([True] * bool(there))
        return None if there and len(held) <= slips else "miss"

    rig.arm.faults = {GRIP: grip}


@pytest.mark.parametrize(
    ("here", "out", "width"),
    [((1.0, 1.2), (-1.0, 0.0), 0.8), ((1.8, 2.0), (0.0, 1.0), 0.4), ((3.0, 1.0), (1.0, 0.0), 0.8)],
)
def test_the_front_is_the_side_toward_the_robot(here, out, width):
    front = Front.toward(CABINET, (*here, 0.0))
    assert front.out[:2] == pytest.approx(out, abs=1e-9) and front.width == width
    turned = Box(CABINET.center, CABINET.size, math.pi / 6.0)
    front = Front.toward(turned, (1.0, 0.5, 0.0))
    assert math.atan2(front.out[1], front.out[0]) == pytest.approx(math.pi / 6.0 - math.pi)
    spot = by_hand(front, (1.0, 0.5, 0.0))[0]
    at = front.at(spot, 0.1)
    assert front.before(at) == pytest.approx(0.1) and front.aside(at) == pytest.approx(spot[0])


@pytest.mark.ros
def test_a_handle_is_felt_for_taken_and_pulled_straight(ros):
    rig = rig_before(ros)
    handle_at(rig, 1.66)
    outcome, reason, holding = rig.do(Open(DOOR))
    assert (outcome, reason, holding) == (Outcome.SUCCEEDED, "pulled by 0.15 m", "")
    x = [1.0 + point_of(goal.request)[0] for goal in rig.arm.goals[MOVE]]
    # From 27 cm before the front at 1.7 nearer in steps, out by three pieces, and away.
    steps = [1.43 + 0.04 * k for k in range(7)]
    assert x[:-4] == pytest.approx(steps[: len(x) - 4], abs=0.02)
    held = x[-5]
    assert abs(held - 1.66) < 0.03
    assert x[-4:] == pytest.approx([held - d for d in (0.05, 0.1, 0.15, 0.27)], abs=0.02)
    assert {round(point_of(goal.request)[1], 1) for goal in rig.arm.goals[MOVE]} == {0.0}


@pytest.mark.ros
def test_depth_tells_where_the_front_is_that_a_box_has_wrong(ros):
    rig = rig_before(ros, box=Box((1.9, 1.0, 0.5), (0.7, 0.8, 1.0)))  # its front is 0.15 m too far
    eye = pitched(1.0, 1.0, 1.2, 0.0, 0.6)
    frame, _ = view({"cabinet": ((1.7, 0.6, 0.0), (2.1, 1.4, 1.0))}, eye, time=rig.adapter.now())
    rig.adapter.sensors.observer.height_map.add(frame)
    handle_at(rig, 1.66)
    assert rig.do(Open(DOOR))[:2] == (Outcome.SUCCEEDED, "pulled by 0.15 m")
    x = [1.0 + point_of(goal.request)[0] for goal in rig.arm.goals[MOVE]]
    assert x[0] == pytest.approx(1.28, abs=0.03), "before where the box has an open front"
    assert pytest.approx(x[-5], abs=0.03) == 1.66


@pytest.mark.ros
def test_what_the_map_calls_something_else_is_opened_where_it_stands(ros):
    rig = rig_before(ros)
    handle_at(rig, 1.66)
    assert rig.do(Open(Target("refrigerator", (1.9, 1.1, 0.6))))[0] is Outcome.SUCCEEDED


@pytest.mark.ros
def test_what_stands_open_is_found_or_the_arm_begins_nearer(
    ros,
):
    rig = rig_before(ros)
    handle_at(rig, 1.55)
    assert rig.do(Open(DOOR))[:2] == (Outcome.SUCCEEDED, "pulled by 0.15 m")
    rig.arm.goals.clear()
    handle_at(rig, 1.66)
    far = {MOVE: lambda goal: -31 if point_of(goal.request)[0] < 0.5 else None}
    rig.arm.faults = {**rig.arm.faults, **far}
    assert rig.do(Open(DOOR))[0] is Outcome.SUCCEEDED
    x = [1.0 + point_of(goal.request)[0] for goal in rig.arm.goals[MOVE]]
    assert x[:5] == pytest.approx([1.43] * 4 + [1.58], abs=0.02), "four heights, then nearer"


@pytest.mark.ros
def test_what_is_open_is_pushed_shut(ros):
    rig = rig_before(ros)
    handle_at(rig, 1.55)
    assert rig.do(Close(DOOR))[:2] == (Outcome.SUCCEEDED, "pushed by 0.15 m")
    x = [1.0 + point_of(goal.request)[0] for goal in rig.arm.goals[MOVE]]
    assert x[0] == pytest.approx(1.43, abs=0.02) and max(x) == pytest.approx(1.70, abs=0.02)


@pytest.mark.ros
def test_nothing_counts_as_open_that_was_not_pulled_to_the_end(ros):
    rig = rig_before(ros)
    handle_at(rig, 1.66, slips=1)
    outcome, reason, _ = rig.do(Open(DOOR))
    assert outcome is Outcome.HAND_EMPTY and "the handle slipped" in reason
    rig.arm.goals.clear()
    handle_at(rig, 1.9)  # it is nowhere at the front
    outcome, reason, _ = rig.do(Open(DOOR))
    assert outcome is Outcome.HAND_EMPTY and "closed on nothing at the front" in reason
    rig.arm.goals.clear()
    handle_at(rig, 1.66)
    grip, moves = rig.arm.faults[GRIP], rig.arm.goals
    stuck = {GRIP: grip, MOVE: lambda goal: -12 if len(moves[MOVE]) > 7 else None}
    rig.arm.faults = stuck
    outcome, reason, _ = rig.do(Open(DOOR))
    assert outcome is Outcome.HAND_EMPTY and "pulled by 0.00 m: the arm got no farther" in reason


@pytest.mark.ros
def test_a_robot_that_is_to_see_handles_opens_nothing_without_one(ros):
    rig = rig_before(ros, **{"arm.handles": "seen"})
    outcome, reason, _ = rig.do(Open(DOOR))
    assert outcome is Outcome.NOT_VISIBLE and "a detector has to name it" in reason
    assert MOVE not in rig.arm.goals
    now = rig.adapter.now() - 0.5
    knob = BoxDetection((1.68, 1.2, 0.8), (0.0, 0.0, 0.0, 1.0), (0.03, 0.03, 0.1), {"handle": 0.9})
    for k in range(2):
        rig.adapter.sensors.observer.add_boxes("head", Boxes((knob,), "map", now + 0.1 * k), now)
        rig.adapter.sensors.observer.work(now + 0.1 * k)
    handle_at(rig, 1.66)
    assert rig.do(Open(DOOR))[:2] == (Outcome.SUCCEEDED, "pulled by 0.15 m")
    assert point_of(rig.arm.goals[MOVE][0].request)[1:] == pytest.approx((0.2, 0.8), abs=0.02)


@pytest.mark.ros
def test_a_handle_that_was_held_as_a_stop_came_is_let_go_first(ros):
    rig = rig_before(ros)
    handle_at(rig, 1.66)
    grip, moves = rig.arm.faults[GRIP], rig.arm.goals
    rig.arm.faults = {GRIP: grip, MOVE: lambda goal: "hang" if len(moves[MOVE]) > 8 else None}
    handle = ros.result(rig.client.send_goal_async(conversions.manipulate_to_msg(Open(DOOR))))
    ros.spin_until(lambda: len(moves.get(MOVE, ())) > 8)
    ros.result(handle.cancel_goal_async())
    assert ros.result(handle.get_result_async()).result.result.outcome == Outcome.CANCELLED
    moves[MOVE].clear()
    moves[GRIP].clear()
    handle_at(rig, 1.66)
    assert rig.do(Open(DOOR))[0] is Outcome.SUCCEEDED
    assert moves[GRIP][0].command.position > 0.01, "let go before it does anything else"


@pytest.mark.ros
def test_an_arm_that_is_not_set_up_for_it_says_how(ros):
    rig = rig_before(ros, **{"arm.handles": "none"})
    outcome, reason, _ = rig.do(Open(DOOR))
    assert outcome is Outcome.UNSUPPORTED and "arm.handles" in reason


@pytest.mark.ros
def test_what_nobody_knows_there_is_not_opened(ros):
    rig = rig_before(ros)
    outcome, reason, _ = rig.do(Open(Target("cabinet", (5.0, 5.0, 0.5))))
    assert outcome is Outcome.UNKNOWN_TARGET and "look at it first" in reason
