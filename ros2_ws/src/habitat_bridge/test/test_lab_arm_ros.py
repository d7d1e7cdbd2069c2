"""MoveIt, the trajectory controller and the gripper of the lab over real rclpy."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("moveit_msgs")

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory, GripperCommand
from geometry_msgs.msg import Pose as PoseMsg
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import (
    AttachedCollisionObject,
    BoundingVolume,
    CollisionObject,
    Constraints,
    JointConstraint,
    MoveItErrorCodes,
    PlanningScene,
    PositionConstraint,
    RobotState,
)
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene
from shape_msgs.msg import SolidPrimitive
from trajectory_msgs.msg import JointTrajectoryPoint

from coterie_core.embodiment import Arm, Camera, Embodiment
from coterie_core.geometry import yaw_to_quaternion
from coterie_core.transforms import matrix
from coterie_fixtures.lab_clients import ActionUser
from coterie_fixtures.tiny_house import tiny_house
from coterie_ros import conversions
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.lab.faults import parse_fault
from habitat_bridge.lab.node import LabNode
from habitat_bridge.lab.planning_scene import LabPlanningScene

pytestmark = pytest.mark.ros

CART = Embodiment(
    name="cart", radius=0.2, cameras=(Camera(name="head", width=64, height=48),), arm=Arm()
)
MUG = (0.5, 1.2, 0.95)  # on the kitchen counter
BOWL = (0.45, 2.2, 0.94)


def start_lab(ros, faults=(), start=(1.15, 1.3), **fields):
    spec = {
        "name": "r1",
        "embodiment": CART.model_dump(),
        "start": {"pose": {"x": start[0], "y": start[1]}},
        **fields,
    }
    node = LabNode(
        context=ros.context,
        world=EmbeddedWorld(tiny_house(), seed=3, threads=1, look_on_arrival=False),
        parameters={"robots": json.dumps([spec]), "pace": 10.0, "faults": json.dumps(list(faults))},
    )
    ros.add(node)
    ros.wait_active(node)
    return node


def reach(point, frame="map", link="hand_link"):
    region = BoundingVolume(
        primitives=[SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.01])],
        primitive_poses=[PoseMsg(position=conversions.point_to_msg(point))],
    )
    position = PositionConstraint(link_name=link, constraint_region=region, weight=1.0)
    position.header.frame_id = frame
    goal = MoveGroup.Goal()
    goal.request.group_name = "arm"
    goal.request.goal_constraints = [Constraints(position_constraints=[position])]
    return goal


def grip(gap):
    goal = GripperCommand.Goal()
    goal.command.position, goal.command.max_effort = gap, 20.0
    return goal


class ArmUser:
    def __init__(self, ros):
        node = ros.node("client")
        self.arm = ActionUser(ros, node, MoveGroup, "r1/move_action")
        self.hand = ActionUser(ros, node, GripperCommand, "r1/gripper_controller/gripper_cmd")

    def code(self, goal):
        end = self.arm.end(goal)
        good = end.status == GoalStatus.STATUS_SUCCEEDED
        assert good == (end.result.error_code.val == MoveItErrorCodes.SUCCESS)
        return end.result.error_code.val


def test_a_gripper_takes_what_is_between_its_fingers_and_puts_it_on_what_is_below(ros):
    lab = start_lab(ros)
    user = ArmUser(ros)
    things = lab.plant.world.contents.things
    assert user.code(reach(MUG)) == MoveItErrorCodes.SUCCESS
    assert lab.plant.hand("r1") == pytest.approx(MUG, abs=0.01)
    closed = user.hand.end(grip(0.0)).result
    assert closed.stalled and closed.position == pytest.approx(0.09)
    assert lab.plant.world.state("r1").holding == "o_mug"
    assert user.code(reach((0.5, 1.6, 1.0))) == MoveItErrorCodes.SUCCESS
    opened = user.hand.end(grip(0.2)).result
    assert opened.reached_goal and not opened.stalled
    mug = things["o_mug"]
    assert mug.support == "o_counter" and mug.box.bottom == pytest.approx(0.9, abs=0.01)
    assert mug.box.center[:2] == pytest.approx((0.5, 1.6), abs=0.06)
    assert not lab.plant.world.state("r1").holding


def test_a_gripper_that_closes_on_nothing_or_over_the_floor_says_so(ros):
    lab = start_lab(ros)
    user = ArmUser(ros)
    assert user.code(reach((0.5, 1.5, 1.1))) == MoveItErrorCodes.SUCCESS
    closed = user.hand.end(grip(0.0)).result
    assert closed.reached_goal and not closed.stalled and closed.position == 0.0
    user.hand.end(grip(0.2))
    assert user.code(reach(MUG)) == MoveItErrorCodes.SUCCESS
    assert user.hand.end(grip(0.0)).result.stalled
    assert user.code(reach((0.6, 0.0, 0.4), frame="base_link")) == MoveItErrorCodes.SUCCESS
    user.hand.end(grip(0.2))
    mug = lab.plant.world.contents.things["o_mug"]
    assert mug.support == "" and mug.box.bottom == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize(
    ("goal", "code"),
    [
        (reach((9.0, 2.0, 1.0)), MoveItErrorCodes.NO_IK_SOLUTION),
        (reach(MUG, frame="moon"), MoveItErrorCodes.FRAME_TRANSFORM_FAILURE),
        (reach(MUG, link="nose"), MoveItErrorCodes.INVALID_LINK_NAME),
        (MoveGroup.Goal(), MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS),
    ],
)
def test_moveit_fails_with_its_codes(ros, goal, code):
    start_lab(ros)
    assert ArmUser(ros).code(goal) == code


def test_moveit_that_plans_several_times_says_only_that_it_failed(ros):
    start_lab(ros)
    goal = reach((9.0, 2.0, 1.0))
    goal.request.num_planning_attempts = 3
    assert ArmUser(ros).code(goal) == MoveItErrorCodes.FAILURE


def test_objects_of_the_planning_scene_are_not_reached_into(ros):
    start_lab(ros)
    user = ArmUser(ros)
    client = ros.node("scene").create_client(ApplyPlanningScene, "r1/apply_planning_scene")
    ros.wait_for_matched(client)
    crate = CollisionObject(id="crate", operation=CollisionObject.ADD)
    crate.header.frame_id = "map"
    crate.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.4, 0.4, 0.4])]
    crate.primitive_poses = [PoseMsg(position=conversions.point_to_msg(MUG))]

    def apply(*objects, allowed=()):
        scene = PlanningScene(is_diff=True)
        scene.world.collision_objects = list(objects)
        scene.allowed_collision_matrix.default_entry_names = list(allowed)
        scene.allowed_collision_matrix.default_entry_values = [True] * len(allowed)
        assert ros.result(client.call_async(ApplyPlanningScene.Request(scene=scene))).success

    apply(crate)
    assert user.code(reach(MUG)) == MoveItErrorCodes.GOAL_IN_COLLISION
    apply(allowed=["crate"])
    assert user.code(reach(MUG)) == MoveItErrorCodes.SUCCESS


def test_a_planning_scene_keeps_what_is_attached_and_refuses_to_remove_what_it_has_not(ros):
    lab = start_lab(ros)
    node = ros.node("scene")
    change = node.create_client(ApplyPlanningScene, "r1/apply_planning_scene")
    ask = node.create_client(GetPlanningScene, "r1/get_planning_scene")
    ros.wait_for_matched(change)
    ros.wait_for_matched(ask)

    def thing(name, operation):
        one = CollisionObject(id=name, operation=operation)
        one.header.frame_id = "hand_link"
        one.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.1, 0.1, 0.1])]
        one.primitive_poses = [PoseMsg()]
        return one

    def apply(world=(), held=()):
        scene = PlanningScene(is_diff=True)
        scene.robot_state.is_diff = True
        scene.world.collision_objects = list(world)
        scene.robot_state.attached_collision_objects = [
            AttachedCollisionObject(link_name="hand_link", object=one) for one in held
        ]
        return ros.result(change.call_async(ApplyPlanningScene.Request(scene=scene))).success

    def told():
        scene = ros.result(ask.call_async(GetPlanningScene.Request())).scene
        held = scene.robot_state.attached_collision_objects
        return {o.id for o in scene.world.collision_objects}, {o.object.id for o in held}

    add, remove = CollisionObject.ADD, CollisionObject.REMOVE
    assert apply([thing("crate", add), thing("mug", add)])
    assert apply(held=[thing("mug", add)]) and told() == ({"crate"}, {"mug"})
    assert not apply([thing("chair", remove), thing("stool", add)])
    assert told() == ({"crate", "stool"}, {"mug"})
    assert apply(held=[thing("mug", remove)]) and told() == ({"crate", "stool", "mug"}, set())
    assert apply(held=[thing("mug", add)])
    # MoveIt that was started again knows nothing of it.
    lab.faults.add([parse_fault("arm_dies")], lab.plant.world.time)
    ros.spin_until(lambda: told() == (set(), set()))


def test_what_hangs_on_the_hand_is_told_where_it_is_on_that_and_moves_with_it():
    down = yaw_to_quaternion(0.7)
    frames = {
        "base_link": matrix((2.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)),
        "hand_link": matrix((2.6, 1.0, 0.9), down),
    }
    scene = LabPlanningScene(frames.__getitem__)
    one = CollisionObject(id="bottle", operation=CollisionObject.ADD)
    one.header.frame_id = "base_link"
    one.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.07, 0.07, 0.3])]
    one.primitive_poses = [PoseMsg(position=conversions.point_to_msg((0.6, 0.0, 0.8)))]

    def hang(held):
        held = AttachedCollisionObject(link_name="hand_link", object=held)
        hanging = RobotState(attached_collision_objects=[held])
        scene.apply(PlanningScene(is_diff=True, robot_state=hanging))

    hang(one)
    (told,) = scene.parts(0).robot_state.attached_collision_objects
    assert told.object.header.frame_id == "hand_link"
    assert one.header.frame_id == "base_link", "who sent it keeps it as it was"
    frames["hand_link"] = matrix((3.0, 1.5, 0.9), down)
    hang(CollisionObject(id="bottle", operation=CollisionObject.REMOVE))
    assert scene.objects["bottle"].center == pytest.approx((3.0, 1.5, 0.8))
    assert scene.objects["bottle"].yaw == pytest.approx(0.0)


def test_a_handle_that_is_pulled_opens_its_container_and_pushed_closes_it(ros):
    lab = start_lab(ros, start=(2.5, 3.2))
    user = ArmUser(ros)
    fridge = lab.plant.world.contents.things["o_fridge"]
    assert fridge.is_open is False
    y = fridge.box.center[1]
    low, _ = fridge.box.axis_aligned()
    front = (low[0] - 0.04, y, 1.0)
    assert user.code(reach(front)) == MoveItErrorCodes.SUCCESS
    assert user.hand.end(grip(0.0)).result.stalled
    assert user.code(reach((front[0] - 0.2, y, 1.0))) == MoveItErrorCodes.SUCCESS
    assert fridge.is_open is True
    assert user.code(reach(front)) == MoveItErrorCodes.SUCCESS
    assert fridge.is_open is False
    user.hand.end(grip(0.2))
    assert user.code(reach((front[0] - 0.2, y, 1.0))) == MoveItErrorCodes.SUCCESS
    assert fridge.is_open is False


def test_joint_goals_and_trajectories_move_the_joints_and_refuse_others(ros):
    lab = start_lab(ros)
    user = ArmUser(ros)
    goal = MoveGroup.Goal()
    goal.request.group_name = "arm"
    constraint = JointConstraint(joint_name="arm_link_joint", position=0.7, weight=1.0)
    goal.request.goal_constraints = [Constraints(joint_constraints=[constraint])]
    assert user.code(goal) == MoveItErrorCodes.SUCCESS
    assert lab.plant.manipulators["r1"].joints["arm_link_joint"] == pytest.approx(0.7)
    follow = ActionUser(
        ros, ros.node("jtc"), FollowJointTrajectory, "r1/arm_controller/follow_joint_trajectory"
    )
    trajectory = FollowJointTrajectory.Goal()
    trajectory.trajectory.joint_names = ["arm_link_joint", "hand_link_joint"]
    trajectory.trajectory.points = [
        JointTrajectoryPoint(positions=[0.5, 0.4], time_from_start=conversions.duration_to_msg(1.0))
    ]
    end = follow.end(trajectory)
    assert end.result.error_code == FollowJointTrajectory.Result.SUCCESSFUL
    assert lab.plant.manipulators["r1"].joints["hand_link_joint"] == pytest.approx(0.4)
    trajectory.trajectory.joint_names = ["nose", "tail"]
    assert not follow.send(trajectory)[0].accepted
