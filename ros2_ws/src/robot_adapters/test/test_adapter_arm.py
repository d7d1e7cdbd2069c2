"""An adapter uses an arm through MoveIt, a trajectory controller and grippers."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("moveit_msgs")
pytest.importorskip("coterie_msgs")

from moveit_msgs.msg import CollisionObject, OrientationConstraint
from std_msgs.msg import String

from coterie_core.detections import BoxDetection
from coterie_core.geometry import Box
from coterie_core.skills import MoveArmTo, Open, Outcome, Pick, Place, Target
from coterie_fixtures.arm_rig import CUP, FOLLOW, GRIP, MOVE, ArmRig, point_of
from coterie_fixtures.arm_servers import ArmRobot
from coterie_fixtures.drawn_scenes import pitched, view
from coterie_ros import conversions
from coterie_world.perception.frame_join import Boxes
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from robot_adapters.codes import MOVEIT, TRAJECTORY

pytestmark = pytest.mark.ros


def test_moveit_picks_and_places_around_the_maps_boxes(ros):
    rig = ArmRig(ros)
    assert rig.do(Pick(CUP)) == (Outcome.SUCCEEDED, "", "cup")
    goals = [g.request for g in rig.arm.goals[MOVE]]
    assert {g.group_name for g in goals} == {"arm"} and all(g.start_state.is_diff for g in goals)
    before, at, after = (g.goal_constraints[0] for g in goals)
    grasp = at.position_constraints[0]
    assert grasp.header.frame_id == "base_link" and grasp.link_name == "palm"
    point = grasp.constraint_region.primitive_poses[0].position
    assert (point.x, point.y, point.z) == pytest.approx((0.6, 0.1, 0.55), abs=0.02)
    above = before.position_constraints[0].constraint_region.primitive_poses[0].position
    assert above.z == pytest.approx(0.55 + 0.12 + 0.05, abs=0.02)
    # From above: the palm's x axis down, free to turn about it.
    turn = at.orientation_constraints[0]
    o = turn.orientation
    down = 2.0 * (o.x * o.z - o.w * o.y)
    assert down == pytest.approx(-1.0, abs=1e-3)
    assert turn.absolute_x_axis_tolerance > 6.0 > 1.0 > turn.absolute_y_axis_tolerance
    assert turn.parameterization == OrientationConstraint.ROTATION_VECTOR
    assert not after.orientation_constraints
    # The table is an obstacle; the cup itself and a sofa far away are not.
    first = rig.arm.scenes[0].world.collision_objects
    assert [(one.id, one.operation) for one in first] == [("coterie/o2", CollisionObject.ADD)]
    assert first[0].primitive_poses[0].position.x == pytest.approx(0.8, abs=0.02)
    held = rig.arm.scenes[-1].robot_state.attached_collision_objects
    assert held[0].link_name == "palm" and held[0].object.operation == CollisionObject.ADD
    # It hangs on the hand as it stood, and not along the hand's axes; the fingers touch it.
    assert held[0].object.header.frame_id == "base_link"
    at = held[0].object.primitive_poses[0].position
    assert (at.x, at.y, at.z) == pytest.approx((0.6, 0.1, 0.55), abs=0.02)
    assert set(held[0].touch_links) >= {"palm", "left_finger", "right_finger"}
    outcome, _, holding = rig.do(Pick(CUP))
    assert outcome is Outcome.HAND_FULL and holding == "cup"
    table = Target("table", (1.7, 0.9, 0.4))
    assert rig.do(Place(table)) == (Outcome.SUCCEEDED, "", "")
    (again,) = rig.arm.scenes[-1].robot_state.attached_collision_objects
    assert again.object.header.frame_id == "palm", "where MoveIt has it, since the hand has moved"
    assert rig.put_at == [pytest.approx((1.7, 0.9, 0.5))]
    down = rig.arm.goals[MOVE][-2].request.goal_constraints[0].position_constraints[0]
    point = down.constraint_region.primitive_poses[0].position
    assert (point.x, point.y) == pytest.approx((0.7, -0.1), abs=0.02)
    assert point.z == pytest.approx(0.5 + 0.05 + 0.02, abs=0.02)
    assert rig.do(Place(table))[0] is Outcome.HAND_EMPTY


def sighted(rig, at, now):
    """Have the robot's own camera show the cup at a point of the map [m]."""
    observer = rig.adapter.sensors.observer
    cup = BoxDetection(at, (0.0, 0.0, 0.0, 1.0), (0.08, 0.08, 0.1), {"cup": 0.9})
    observer.add_boxes("head", Boxes((cup,), "map", now), now)
    observer.work(now)


def test_the_hand_goes_to_where_the_robot_itself_saw_the_thing_from_near(ros):
    rig = ArmRig(ros)
    now = rig.adapter.now() - 0.5
    sighted(rig, (1.68, 1.06, 0.56), now)
    assert rig.do(Pick(CUP)) == (Outcome.SUCCEEDED, "", "cup")
    assert point_of(rig.arm.goals[MOVE][1].request) == pytest.approx((0.68, 0.06, 0.56), abs=0.02)


def test_a_hand_that_closed_on_nothing_reaches_again_where_the_thing_turns_out_to_be(ros):
    rig = ArmRig(ros)
    closed = []

    def grasp(goal):
        closed.append(goal)
        if len(closed) == 3:  # felt, opened, then closed at the place that the map has
            sighted(rig, (1.66, 1.1, 0.55), rig.adapter.now() - 0.5)
            return "miss"
        return None

    rig.arm.faults = {GRIP: grasp}
    assert rig.do(Pick(CUP)) == (Outcome.SUCCEEDED, "", "cup")
    points = [point_of(goal.request) for goal in rig.arm.goals[MOVE]]
    assert points[1] == pytest.approx((0.6, 0.1, 0.55), abs=0.02)
    assert points[4] == pytest.approx((0.66, 0.1, 0.55), abs=0.02)


@pytest.mark.parametrize(
    ("shown", "outcome", "holds"),
    [
        ((1.6, 1.1, 0.55), Outcome.HAND_FULL, "something"),  # it took the thing beside it
        ((1.6, 1.22, 0.55), Outcome.SUCCEEDED, "cup"),  # that is another cup
        (None, Outcome.SUCCEEDED, "cup"),
    ],
)
def test_what_is_still_seen_where_it_was_is_not_in_the_hand(ros, shown, outcome, holds):
    """A faucet was taken for the soap dispenser 0.13 m beside it, and said to be that (51261)."""
    rig = ArmRig(ros)
    sensors, closed = rig.adapter.sensors, []

    def detect():
        """A detector tells ten times a second what is where the cup was, and of a table."""
        now = rig.adapter.now()
        at = (1.6, 1.1, 0.55) if len(closed) < 4 else shown  # felt, opened, closed; aloft
        seen = [((1.8, 1.1, 0.25), (0.6, 0.8, 0.5), "table")]
        seen += [(at, (0.08, 0.08, 0.1), "cup")] if at is not None else []
        boxes = tuple(BoxDetection(c, (0.0, 0.0, 0.0, 1.0), e, {name: 0.9}) for c, e, name in seen)
        found = Boxes(boxes, "map", now)
        sensors.feed("boxes", 20, partial(sensors.observer.add_boxes, "head", found, now))

    ros.node().create_timer(0.1, detect)
    ros.spin_until(lambda: sensors.observer.objects.told(), what="what is seen")
    rig.arm.faults = {GRIP: lambda goal: closed.append(goal)}
    result = rig.do(Pick(CUP))
    assert len(closed) == 4
    assert (result[0], result[2]) == (outcome, holds), result[1]
    if outcome is Outcome.HAND_FULL:
        assert "the cup is still seen where it was" in result[1]


def test_every_code_of_moveit_has_its_outcome(ros):
    rig = ArmRig(ros)
    for number, code in MOVEIT.items():
        rig.arm.faults = {MOVE: number}
        outcome, reason, _ = rig.do(MoveArmTo((1.5, 1.0, 0.6)))
        assert outcome is code.outcome, (number, reason)
        assert f"{code.name} ({number}): as ordered" in reason and "move_action" in reason
    rig.arm.faults = {MOVE: 4711}
    outcome, reason, _ = rig.do(MoveArmTo((1.5, 1.0, 0.6)))
    assert outcome is Outcome.FAULT and "none of Jazzy's" in reason
    rig.arm.faults = {MOVE: "reject"}
    assert rig.do(MoveArmTo((1.5, 1.0, 0.6)))[0] is Outcome.FAULT
    rig.arm.faults = {"scene": "refuse"}
    outcome, reason, _ = rig.do(MoveArmTo((1.5, 1.0, 0.6)))
    assert outcome is Outcome.FAULT and "did not take the obstacles" in reason
    # What cannot be reached from above is tried from other sides.
    rig.arm.faults = {MOVE: -31}
    rig.arm.goals.clear()
    assert rig.do(Pick(CUP))[0] is Outcome.OUT_OF_REACH
    starts = {tuple(round(c, 3) for c in point_of(g.request)) for g in rig.arm.goals[MOVE]}
    assert len(starts) == len(rig.arm.goals[MOVE]) >= 3


FLOOR = ((-5.0, -5.0, -0.1), (5.0, 5.0, 0.0))


def before(ros, label, box, drawn=None, pitch=0.7, cup=None, beside=None):
    """Return a robot that holds the cup; its map has one piece of furniture, it sees `drawn`.

    With `cup`, the lengths of the cup's sides [m], the map has that as well; and with `beside`,
    label and box of another piece.
    """
    rig = ArmRig(ros, **{"arm.scene_radius": 0.0})
    scene = SceneGraph()
    scene.objects["o9"] = SceneObject("o9", LabelBelief.of(label), box, kind="furniture")
    if beside is not None:
        other, at = beside
        scene.objects["o8"] = SceneObject("o8", LabelBelief.of(other), at, kind="furniture")
    if cup is not None:
        at = Box((1.6, 1.1, 0.55), (*cup, 0.1))
        scene.objects["o1"] = SceneObject("o1", LabelBelief.of("cup"), at)
    rig.map.publish(conversions.scene_to_msg(scene, time=1.0))
    known = set(scene.objects)
    ros.spin_until(lambda: {one[0] for one in rig.adapter.sensors.objects(9.0)} == known)
    assert rig.do(Pick(CUP))[0] is Outcome.SUCCEEDED
    if drawn is not None:
        eye = pitched(1.0, 1.0, 1.2, 0.0, pitch)
        frame, _ = view({"floor": FLOOR, **drawn}, eye, time=rig.adapter.now())
        rig.adapter.sensors.observer.height_map.add(frame)
    return rig


@pytest.mark.parametrize(
    ("label", "box", "asked", "height"),
    [
        ("table", Box((1.7, 0.9, 0.25), (0.6, 0.8, 0.5)), 0.3, 0.5),
        ("sofa", Box((1.7, 0.9, 0.4), (0.8, 0.8, 0.8)), 0.45, 0.45),
        ("bookcase", Box((1.7, 0.9, 0.5), (0.4, 0.8, 1.0)), 0.62, 0.62),
    ],
)
def test_things_are_put_onto_seats_and_boards_and_not_onto_backs(ros, label, box, asked, height):
    rig = before(ros, label, box)
    assert rig.do(Place(Target(label, (1.7, 0.9, asked)))) == (Outcome.SUCCEEDED, "", "")
    down = point_of(rig.arm.goals[MOVE][-2].request)
    # Half of the small thing that is taken where no size is known, and 2 cm above the surface.
    assert down == pytest.approx((0.7, -0.1, height + 0.03 + 0.02), abs=0.01)


def test_of_two_pieces_of_a_kind_the_one_that_the_point_lies_in(ros):
    """The middle of a phantom is nearer to the point than that of the large table itself."""
    rig = ArmRig(ros, **{"arm.scene_radius": 0.0})
    scene = SceneGraph()
    for name, box in (
        ("o8", Box((1.5, 0.3, 0.2), (0.3, 0.1, 0.4))),
        ("o9", Box((1.9, 1.4, 0.25), (1.2, 1.2, 0.5))),
    ):
        scene.objects[name] = SceneObject(name, LabelBelief.of("table"), box, kind="furniture")
    rig.map.publish(conversions.scene_to_msg(scene, time=1.0))
    ros.spin_until(lambda: len(rig.adapter.sensors.objects(9.0)) == 2)
    assert rig.do(Pick(CUP))[0] is Outcome.SUCCEEDED
    assert rig.do(Place(Target("table", (1.5, 0.9, 0.3))))[0] is Outcome.SUCCEEDED
    assert rig.put_at == [pytest.approx((1.5, 0.9, 0.5))]


def test_nothing_is_let_go_over_the_floor_where_the_map_has_no_such_furniture(ros):
    rig = ArmRig(ros, **{"arm.scene_radius": 0.0})
    assert rig.do(Pick(CUP))[0] is Outcome.SUCCEEDED
    frame, _ = view({"floor": FLOOR}, pitched(1.0, 1.0, 1.2, 0.0, 0.7), time=rig.adapter.now())
    rig.adapter.sensors.observer.height_map.add(frame)
    outcome, reason, holding = rig.do(Place(Target("desk", (1.8, 1.0, 0.75))))
    assert (outcome, holding) == (Outcome.NOT_VISIBLE, "cup"), reason
    assert rig.do(Place(Target("floor", (1.8, 1.0, 0.0))))[0] is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    ("asked", "lies"),
    [
        ((1.75, 1.0, 1.1), None),  # before the shelf, in its box
        ((2.1, 1.0, 0.62), (2.1, 1.0, 0.55)),  # the board is a little lower than is usual
        ((1.9, 1.0, 0.62), (2.0, 1.0, 0.55)),  # and does not come so far forward
    ],
)
def test_things_are_put_onto_the_boards_that_are_seen_and_not_before_a_shelf(ros, asked, lies):
    drawn = {
        f"board#{k}": ((1.95, 0.55, high - 0.02), (2.35, 1.45, high))
        for k, high in enumerate((0.1, 0.55, 1.1))
    }
    rig = before(ros, "shelf", Box((2.0, 1.0, 0.55), (0.7, 0.9, 1.1)), drawn, pitch=0.5)
    outcome, reason, holding = rig.do(Place(Target("shelf", asked)))
    if lies is None:
        assert (outcome, holding, rig.put_at) == (Outcome.NOT_VISIBLE, "cup", []), reason
    else:
        assert outcome is Outcome.SUCCEEDED, reason
        assert rig.put_at == [pytest.approx(lies, abs=0.06)]


SOFA = Box((1.7, 1.0, 0.4), (0.5, 0.9, 0.8))
SEAT = {"seat#0": ((1.45, 0.55, 0.0), (1.95, 1.45, 0.45))}
BOARD = {"board#0": ((2.05, 0.55, 0.5), (2.45, 1.45, 0.55))}


@pytest.mark.parametrize(
    ("drawn", "known", "lies"),
    [
        (SEAT, True, None),  # the shelf is not in view from here
        (SEAT | BOARD, True, (2.1, 1.0, 0.55)),
        (SEAT, False, (1.88, 1.0, 0.45)),  # what no map has cannot be told from a board
    ],
)
def test_nothing_for_a_shelf_is_put_onto_the_sofa_that_its_box_takes_in(ros, drawn, known, lies):
    beside = ("sofa", SOFA) if known else None
    box = Box((2.0, 1.0, 0.9), (0.9, 0.9, 1.8))
    rig = before(ros, "shelf", box, drawn, pitch=0.5, beside=beside)
    outcome, reason, holding = rig.do(Place(Target("shelf", (1.9, 1.0, 0.5))))
    if lies is None:
        assert (outcome, holding, rig.put_at) == (Outcome.NOT_VISIBLE, "cup", []), reason
        assert "the sofa is level where the shelf was expected at (1.90, 1.00)" in reason
    else:
        assert outcome is Outcome.SUCCEEDED, reason
        assert rig.put_at == [pytest.approx(lies, abs=0.07)]


COFFEE_TABLE = {"table#0": ((1.45, 0.55, 0.0), (1.85, 1.45, 0.46))}
FAR_SEAT = {"seat#0": ((1.95, 0.55, 0.0), (2.45, 1.45, 0.45))}


@pytest.mark.parametrize(
    ("drawn", "lies"),
    [
        (COFFEE_TABLE, None),  # the seat is not in view from here
        (COFFEE_TABLE | FAR_SEAT, (2.0, 1.0, 0.45)),
    ],
)
def test_nothing_for_a_sofa_is_put_onto_the_coffee_table_that_its_box_takes_in(ros, drawn, lies):
    """They are of one height and form no row for all that."""
    beside = ("coffee table", Box((1.65, 1.0, 0.23), (0.4, 0.9, 0.46)))
    box = Box((1.95, 1.0, 0.4), (1.1, 0.9, 0.8))
    rig = before(ros, "sofa", box, drawn, pitch=0.5, beside=beside)
    outcome, reason, _ = rig.do(Place(Target("sofa", (1.75, 1.0, 0.45))))
    if lies is None:
        assert (outcome, rig.put_at) == (Outcome.NOT_VISIBLE, []), reason
        assert "the coffee table is level where the sofa was expected" in reason
    else:
        assert outcome is Outcome.SUCCEEDED, reason
        assert rig.put_at == [pytest.approx(lies, abs=0.12)]


def test_nothing_for_an_island_is_put_onto_the_lower_table_beside_it(ros):
    """By the map's boxes they form a row: that of the table takes in what stands on it."""
    drawn = {
        "table#0": ((1.5, 0.6, 0.0), (2.2, 1.4, 0.74)),
        "top#0": ((2.3, 0.6, 0.0), (2.8, 1.4, 0.9)),
    }
    box = Box((2.15, 1.0, 0.45), (1.3, 0.8, 0.9))
    beside = ("table", Box((1.85, 1.0, 0.42), (0.7, 0.8, 0.84)))
    rig = before(ros, "kitchen island", box, drawn, pitch=0.4, beside=beside)
    outcome, reason, holding = rig.do(Place(Target("kitchen island", (1.7, 1.0, 0.9))))
    assert (outcome, holding, rig.put_at) == (Outcome.OUT_OF_REACH, "cup", []), reason
    (x, _, z) = rig.bears_at[0]
    assert x > 2.3 and z == pytest.approx(0.9, abs=0.02), (x, z)


def test_nothing_is_put_onto_a_stool_that_a_counters_box_takes_in(ros):
    drawn = {"stool#0": ((1.5, 0.8, 0.0), (1.8, 1.2, 0.6))}
    rig = before(ros, "counter", Box((1.9, 1.0, 0.45), (0.9, 1.2, 0.9)), drawn)
    outcome, reason, holding = rig.do(Place(Target("counter", (1.65, 1.0, 0.9))))
    assert (outcome, holding, rig.put_at) == (Outcome.NOT_VISIBLE, "cup", []), reason


def test_where_the_hand_gets_to_nothing_that_bears_the_robot_tells_where_something_does(ros):
    """A table with a hole on the near side, as a tv stand is where the television stands."""
    drawn = {"far#0": ((2.3, 0.7, 0.0), (2.8, 1.3, 0.7))}
    rig = before(ros, "table", Box((2.0, 1.0, 0.35), (1.6, 0.6, 0.7)), drawn, pitch=0.4)
    outcome, reason, holding = rig.do(Place(Target("table", (1.5, 1.0, 0.7))))
    assert (outcome, holding, rig.put_at) == (Outcome.OUT_OF_REACH, "cup", []), reason
    (x, y, z) = rig.bears_at[0]
    assert 2.3 < x < 2.5 and 0.7 < y < 1.3 and z == pytest.approx(0.7, abs=0.02), (x, y, z)


def test_nothing_is_put_by_guess_onto_what_could_be_looked_at(ros):
    """The camera looks beside the table, which is lower than the camera."""
    box = Box((1.7, 0.9, 0.35), (0.6, 0.8, 0.7))
    rig = before(ros, "table", box, drawn={}, pitch=-0.4)
    outcome, reason, holding = rig.do(Place(Target("table", (1.7, 0.9, 0.7))))
    assert (outcome, holding) == (Outcome.NOT_VISIBLE, "cup"), reason
    assert "was not in view from here" in reason
    # A camera that is lower than the table will never see its top.
    low = Box((1.7, 0.9, 0.55), (0.6, 0.8, 1.1))
    scene = SceneGraph()
    scene.objects["o9"] = SceneObject("o9", LabelBelief.of("table"), low, kind="furniture")
    rig.map.publish(conversions.scene_to_msg(scene, time=2.0))
    ros.spin_until(lambda: [one[2].size[2] for one in rig.adapter.sensors.objects(9.0)] == [1.1])
    assert rig.do(Place(Target("table", (1.7, 0.9, 1.1))))[0] is Outcome.SUCCEEDED


def test_a_seat_is_so_high_above_the_floor_and_not_above_its_box(ros):
    """An armchair's box ended above the floor: its seat was expected at up to 0.72 m (51181)."""
    strip = {"seat#0": ((1.78, 0.7, 0.0), (1.88, 1.3, 0.43))}  # too narrow to be seen as level
    rig = before(ros, "armchair", Box((1.85, 1.0, 0.6), (0.8, 0.9, 0.6)), strip)
    outcome, reason, _ = rig.do(Place(Target("armchair", (1.83, 1.0, 0.75))))
    assert outcome is Outcome.SUCCEEDED, reason


def test_things_are_put_onto_a_seat_and_not_onto_its_arm(ros):
    """The arm is level, hardly higher, and nearer to what was meant than all that is in view."""
    drawn = {
        "seat#0": ((1.5, 0.7, 0.0), (2.1, 1.3, 0.43)),
        "arm#0": ((1.5, 0.55, 0.0), (2.2, 0.7, 0.52)),
    }
    rig = before(ros, "armchair", Box((1.9, 1.0, 0.4), (0.8, 0.9, 0.8)), drawn)
    assert rig.do(Place(Target("armchair", (1.8, 0.66, 0.45))))[0] is Outcome.SUCCEEDED
    (x, y, z) = rig.put_at[0]
    assert 0.7 < y < 1.3 and z == pytest.approx(0.43, abs=0.02), (x, y, z)


def test_nothing_is_let_go_where_the_robot_sees_that_nothing_bears_it(ros):
    """What is taken for a table is a slope."""
    drawn = {
        f"part#{k}": ((1.5, 0.7 + 0.05 * k, 0.0), (2.1, 0.75 + 0.05 * k, 0.1 + 0.05 * k))
        for k in range(12)
    }
    rig = before(ros, "table", Box((1.8, 1.0, 0.4), (0.7, 0.4, 0.8)), drawn)
    moves = len(rig.arm.goals[MOVE])
    outcome, reason, holding = rig.do(Place(Target("table", (1.7, 0.95, 0.8))))
    assert (outcome, holding, rig.put_at) == (Outcome.NOT_VISIBLE, "cup", []), reason
    assert "0.80 m were expected; look at it from another side" in reason
    assert len(rig.arm.goals[MOVE]) == moves, "the hand did not move"


def tub(near, far):
    """Return a bathtub across the robot's way, between two depths x [m], and its floor."""
    rim, low, high = 0.09, 0.12, 0.56
    return {
        "near#0": ((near, 0.2, 0.0), (near + rim, 1.8, high)),
        "far#0": ((far - rim, 0.2, 0.0), (far, 1.8, high)),
        "left#0": ((near, 0.2, 0.0), (far, 0.2 + rim, high)),
        "right#0": ((near, 1.8 - rim, 0.0), (far, 1.8, high)),
        "bottom#0": ((near, 0.2, 0.0), (far, 1.8, low)),
    }


@pytest.mark.parametrize(
    ("near", "outcome"), [(1.45, Outcome.OUT_OF_REACH), (1.75, Outcome.NOT_VISIBLE)]
)
def test_nothing_is_let_go_over_the_floor_that_a_tubs_box_takes_in(ros, near, outcome):
    """The box is 0.25 m too deep; from farther away the tub's own rim hides its bottom."""
    far, front = near + 0.7, near - 0.25
    box = Box(((front + far) / 2.0, 1.0, 0.28), (far - front, 1.6, 0.56))
    rig = before(ros, "bathtub", box, tub(near, far), pitch=0.9)
    moves = len(rig.arm.goals[MOVE])
    got, reason, holding = rig.do(Place(Target("bathtub", (front + 0.1, 1.0, 0.12))))
    assert (got, holding, len(rig.arm.goals[MOVE])) == (outcome, "cup", moves), reason
    if outcome is Outcome.OUT_OF_REACH:
        x, _, z = rig.bears_at[0]
        assert near + 0.09 < x < far - 0.09 and z == pytest.approx(0.12, abs=0.03)
    else:
        assert "the floor is in view" in reason


def test_things_go_into_a_tub_where_its_bottom_is_seen(ros):
    box = Box((1.8, 1.0, 0.28), (0.7, 1.6, 0.56))
    rig = before(ros, "bathtub", box, tub(1.45, 2.15), pitch=0.9)
    assert rig.do(Place(Target("bathtub", (1.8, 1.0, 0.12))))[0] is Outcome.SUCCEEDED
    assert 1.54 < rig.put_at[0][0] < 2.06


@pytest.mark.parametrize("there", [True, False])
def test_nothing_is_let_go_where_no_basket_stands(ros, there):
    """A bowl was let go onto the floor 0.7 m beside a basket, where a look had shown it (51244)."""
    x = 1.45 if there else 2.4
    drawn = {"basket#0": ((x, 0.8, 0.0), (x + 0.3, 1.2, 0.25))}
    rig = before(ros, "basket", Box((1.6, 1.0, 0.125), (0.3, 0.4, 0.25)), drawn, pitch=0.9)
    outcome, reason, _ = rig.do(Place(Target("basket", (1.6, 1.0, 0.1))))
    assert outcome is (Outcome.SUCCEEDED if there else Outcome.NOT_VISIBLE), reason
    assert len(rig.put_at) == there


def test_what_the_rim_hides_of_a_tub_is_within_it(ros):
    """The near rim hides all of the bottom of a narrow tub from a hand's distance."""
    box = Box((1.7, 1.0, 0.28), (0.5, 1.6, 0.56))
    rig = before(ros, "bathtub", box, tub(1.45, 1.95), pitch=0.9)
    outcome, reason, _ = rig.do(Place(Target("bathtub", (1.7, 1.0, 0.12))))
    assert outcome is Outcome.SUCCEEDED, reason
    assert 1.54 < rig.put_at[0][0] < 1.86


def test_nothing_is_let_go_by_guess_over_a_tub_that_could_be_looked_into(ros):
    """A tablet was let go 0.25 m before a tub, whose box was too large (51239)."""
    box = Box((1.8, 1.0, 0.28), (0.7, 1.6, 0.56))
    rig = before(ros, "bathtub", box, tub(1.45, 2.15), pitch=-0.4)
    outcome, reason, holding = rig.do(Place(Target("bathtub", (1.6, 1.0, 0.12))))
    assert (outcome, holding, rig.put_at) == (Outcome.NOT_VISIBLE, "cup", []), reason
    assert "nothing is in view" in reason


def test_a_shelf_over_a_thing_lets_the_hand_come_from_the_side_and_back_the_same_way(ros):
    rig = ArmRig(ros)
    rig.arm.faults = {MOVE: lambda goal: -12 if point_of(goal.request)[2] > 0.62 else None}
    assert rig.do(Pick(CUP)) == (Outcome.SUCCEEDED, "", "cup")
    points = [point_of(goal.request) for goal in rig.arm.goals[MOVE]]
    above, start, at, up, back = points
    assert above[2] > 0.62 and up[2] > 0.62
    assert start == back and math.dist(start, at) == pytest.approx(0.12, abs=1e-3)
    assert start[2] <= 0.62
    # And a shelf's board is set down on with less room above.
    assert rig.do(Place(Target("table", (1.7, 0.9, 0.4)))) == (Outcome.SUCCEEDED, "", "")
    assert max(point_of(goal.request)[2] for goal in rig.arm.goals[MOVE][-2:]) <= 0.62


def test_a_move_group_that_comes_back_is_told_the_scene_anew(ros):
    rig = ArmRig(ros)
    assert rig.do(Pick(CUP))[0] is Outcome.SUCCEEDED
    assert rig.arm.world == {"coterie/o2"} and rig.arm.attached == {"coterie_held"}
    ros.remove(rig.arm)
    ros.spin_until(lambda: rig.adapter.arm.ready() != "")
    assert rig.do(MoveArmTo((1.5, 1.0, 0.6)))[0] is Outcome.FAULT
    rig.arm = ros.add(ArmRobot(namespace="/porter", context=ros.context))
    rig.arm.full = True  # the hand has held on
    ros.spin_until(lambda: rig.adapter.arm.ready() == "")
    assert rig.do(MoveArmTo((1.5, 1.0, 0.6))) == (Outcome.SUCCEEDED, "", "cup")
    assert rig.arm.attached == {"coterie_held"}
    assert rig.do(Place(Target("table", (1.7, 0.9, 0.4)))) == (Outcome.SUCCEEDED, "", "")
    rig.arm.full = False
    assert rig.do(MoveArmTo((1.5, 1.0, 0.6)))[0] is Outcome.SUCCEEDED
    assert not rig.arm.attached and "coterie_held" not in rig.arm.world


def test_a_scene_that_somebody_cleared_does_not_end_the_arms_work(ros):
    rig = ArmRig(ros)
    assert rig.do(MoveArmTo((1.5, 1.0, 0.6)))[0] is Outcome.SUCCEEDED
    assert rig.arm.world == {"coterie/o1", "coterie/o2"}
    rig.arm.world = {"crate"}
    assert rig.do(Pick(CUP)) == (Outcome.SUCCEEDED, "", "cup")  # removes the cup from the scene
    assert rig.arm.world == {"crate", "coterie/o2"}


def test_what_an_older_adapter_left_in_the_scene_goes(ros):
    rig = ArmRig(ros)
    rig.arm.world = {"coterie/o77", "crate"}
    rig.arm.attached = {"coterie_held", "tool"}
    assert rig.do(MoveArmTo((1.5, 1.0, 0.6)))[0] is Outcome.SUCCEEDED
    assert rig.arm.world == {"coterie/o1", "coterie/o2", "crate"}
    assert rig.arm.attached == {"tool"}


def test_a_thing_that_lies_there_is_put_down_also_where_the_hand_does_not_get_away(ros):
    rig = ArmRig(ros)
    assert rig.do(Pick(CUP))[0] is Outcome.SUCCEEDED
    moves = []

    def after_two(goal):
        moves.append(goal)
        return -31 if len(moves) > 2 else None

    rig.arm.faults = {MOVE: after_two}
    outcome, reason, holding = rig.do(Place(Target("table", (1.7, 0.9, 0.4))))
    assert outcome is Outcome.SUCCEEDED and holding == ""
    assert reason.startswith("put down, but the hand did not get away from it: ")
    assert "NO_IK_SOLUTION" in reason and len(moves) == 5
    rig.arm.faults = {}
    assert rig.do(Pick(CUP)) == (Outcome.SUCCEEDED, "", "cup")


def test_what_a_hand_held_before_its_adapter_started_is_not_dropped(ros):
    rig = ArmRig(ros)
    rig.arm.full = True
    opened = []
    rig.arm.faults = {GRIP: lambda goal: opened.append(goal.command.position > 0.01)}
    outcome, reason, holding = rig.do(Pick(CUP))
    assert outcome is Outcome.HAND_FULL and holding == "something"
    assert "put it down first" in reason and opened == [False]
    assert rig.do(MoveArmTo((1.5, 1.0, 0.6)))[0] is Outcome.SUCCEEDED
    assert rig.arm.attached == {"coterie_held"}
    assert rig.do(Place(Target("table", (1.7, 0.9, 0.4)))) == (Outcome.SUCCEEDED, "", "")
    assert rig.do(Pick(CUP)) == (Outcome.SUCCEEDED, "", "cup")


def test_what_the_fingers_closed_on_as_a_stop_came_is_not_dropped(ros):
    """The hand was full and the adapter did not know: the next pick opened it in the air."""
    rig = ArmRig(ros)
    shut = []

    def grasp(goal):
        if goal.command.position < 0.01:
            shut.append(goal)
        return "hang" if len(shut) == 2 else None  # felt first, then closed on the cup

    rig.arm.faults = {GRIP: grasp}
    handle = ros.result(rig.client.send_goal_async(conversions.manipulate_to_msg(Pick(CUP))))
    ros.spin_until(lambda: len(shut) == 2)
    ros.result(handle.cancel_goal_async())
    assert ros.result(handle.get_result_async()).result.holding == ""
    opened = []
    rig.arm.faults = {GRIP: lambda goal: opened.append(goal.command.position > 0.01)}
    outcome, _, holding = rig.do(Pick(CUP))
    assert (outcome, holding) == (Outcome.HAND_FULL, "something") and opened == [False]


def test_arms_that_hang_are_given_up(ros):
    rig = ArmRig(ros, **{"arm.timeout": 1.0})
    rig.arm.faults = {MOVE: "hang"}
    outcome, reason, _ = rig.do(MoveArmTo((1.5, 1.0, 0.6)))
    assert outcome is Outcome.TIMED_OUT and "move_action" in reason


@pytest.mark.parametrize("kind", ["gripper_command", "parallel_gripper"])
def test_grippers_say_what_they_hold(ros, kind):
    action = GRIP if kind == "gripper_command" else "parallel/gripper_cmd"
    rig = ArmRig(
        ros,
        **{
            "arm.gripper.backend": kind,
            "arm.gripper.action": action,
            "arm.gripper.joint": "left",
        },
    )
    rig.arm.faults = {action: "miss"}
    outcome, reason, holding = rig.do(Pick(CUP))
    assert outcome is Outcome.HAND_EMPTY and holding == ""
    assert "closed on nothing: position 0.0000, effort 0.0, reached" in reason
    rig.arm.faults = {action: "slip"}
    outcome, reason, holding = rig.do(Pick(CUP))
    assert outcome is Outcome.HAND_EMPTY and "cup slipped" in reason and holding == ""
    rig.arm.faults = {action: "strict"}  # a controller that aborts when something stops it
    assert rig.do(Pick(CUP)) == (Outcome.SUCCEEDED, "", "cup")
    rig.arm.faults = {action: "reject"}
    outcome, reason, holding = rig.do(Place(Target("table", (1.7, 0.9, 0.4))))
    assert outcome is Outcome.FAULT and "rejected" in reason and holding == "cup"


def test_a_trajectory_controller_brings_the_hand_there_and_its_codes_are_named(ros):
    rig = ArmRig(ros, **{"arm.backend": "trajectory"})
    outcome, reason, _ = rig.do(MoveArmTo((1.5, 1.2, 0.6)))
    assert outcome is Outcome.SUCCEEDED, reason
    arm = rig.adapter.arm._mover._arm
    assert arm.pose(rig.arm.joints)[:3, 3] == pytest.approx((0.5, 0.2, 0.6), abs=0.01)
    sent = rig.arm.goals[FOLLOW][-1].trajectory
    assert tuple(sent.joint_names) == ("pan", "lift", "elbow", "turn")
    assert sent.points[-1].time_from_start.sec + sent.points[-1].time_from_start.nanosec > 0
    assert sent.header.stamp.sec == 0
    outcome, reason, _ = rig.do(MoveArmTo((3.9, 1.0, 0.6)))
    assert outcome is Outcome.OUT_OF_REACH and "m away" in reason
    for number, code in TRAJECTORY.items():
        rig.arm.faults = {FOLLOW: number}
        outcome, reason, _ = rig.do(MoveArmTo((1.5, 1.0 + 0.01 * number, 0.6)))
        assert outcome is code.outcome and f"{code.name} ({number}): as ordered" in reason
    rig.arm.faults = {}
    assert rig.do(Pick(CUP)) == (Outcome.SUCCEEDED, "", "cup")


def test_a_trajectory_goes_around_what_the_map_shows_or_nothing_moves(ros):
    rig = ArmRig(ros, **{"arm.backend": "trajectory"})
    arm, mover = rig.arm, rig.adapter.arm._mover
    outcome, reason, _ = rig.do(MoveArmTo((1.8, 1.1, 0.3)))
    assert outcome is Outcome.BLOCKED and reason[:-1].endswith("would hit o"), reason
    assert FOLLOW not in arm.goals
    assert rig.do(MoveArmTo((1.45, 0.5, 0.7)))[0] is Outcome.SUCCEEDED
    pillar = Box((1.5, 1.0, 0.6), (0.1, 0.1, 1.2))
    scene = SceneGraph()
    scene.objects["o7"] = SceneObject("o7", LabelBelief.of("pillar"), pillar)
    rig.map.publish(conversions.scene_to_msg(scene, time=0.0))
    ros.spin_until(lambda: "o7" in [name for name, *_ in rig.adapter.sensors.objects(9.0)])
    start = dict(arm.joints)
    outcome, reason, _ = rig.do(MoveArmTo((1.45, 1.5, 0.7)))
    assert outcome is Outcome.SUCCEEDED, reason
    sent = arm.goals[FOLLOW][-1].trajectory
    chain = mover._arm.chain
    rows = [chain.row(start)] + [np.array(point.positions) for point in sent.points]
    assert len(rows) > 2
    space = mover._spaces.among({}, [("o7", Box((0.5, 0.0, 0.6), (0.08, 0.08, 1.19)))])
    assert all(space.way(a, b)[1] is None for a, b in itertools.pairwise(rows))
    assert space.way(rows[0], rows[-1])[1] is not None
    times = [conversions.time_from_msg(point.time_from_start) for point in sent.points]
    assert times == sorted(times) and times[0] > 0.0


def test_what_no_arm_here_does_is_said(ros):
    rig = ArmRig(ros, **{"arm.gripper.backend": "none"})
    outcome, reason, _ = rig.do(Open(Target("table", (1.8, 1.1, 0.4))))
    assert outcome is Outcome.UNSUPPORTED and "arm.backend: skills" in reason
    outcome, reason, _ = rig.do(Pick(CUP))
    assert outcome is Outcome.UNSUPPORTED and "arm.gripper.backend" in reason
    assert math.isfinite(rig.adapter.battery.settings.low)


def test_a_stop_ends_a_motion_of_the_arm(ros):
    rig = ArmRig(ros)
    rig.arm.faults = {MOVE: "hang"}
    goal = conversions.manipulate_to_msg(MoveArmTo((1.5, 1.0, 0.6)))
    handle = ros.result(rig.client.send_goal_async(goal))
    ros.spin_until(lambda: rig.arm.goals.get(MOVE))
    events: list[str] = []
    heard = rig.arm.create_subscription(
        String, "trajectory_execution_event", lambda m: events.append(m.data), 10
    )
    ros.wait_for_matched(heard)
    rig.adapter.stops._stop(["porter"], "Ada", "test")
    ros.spin_until(lambda: "stop" in events, what="MoveIt's own stop")
    result = ros.result(handle.get_result_async()).result
    assert Outcome(result.result.outcome) is Outcome.CANCELLED
    assert result.result.reason.startswith("stopped by Ada")
