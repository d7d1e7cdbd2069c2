"""A robot like Spot with its arm: its links and joints."""

from __future__ import annotations

from math import pi, radians

from coterie_description.robots.shared import NOTE, X, Y
from coterie_description.writing import Writer


def spot() -> Writer:
    """Spot with its arm: four legs of three joints, 6-DOF arm with a gripper, cameras in front.

    Published: 1.1 x 0.5 m, standing 0.52 m at the hips, hips +-45 deg, legs -91 to 50 deg, knees
    14 to 160 deg, steps of 0.3 m, 1.6 m/s, arm of 0.984 m with the maker's joint limits, gripper
    opening 0.175 m, colour camera in the gripper, stereo cameras in front that look down.
    """
    robot = Writer("spot_like", f"A robot like Spot with its arm.\n{NOTE}", (0.9, 0.75, 0.15))
    robot.link("base_link", 17.0)
    robot.shape("base_link", "box", (0.85, 0.22, 0.17))
    for end, x in (("front", 0.298), ("rear", -0.298)):
        for side, sign in (("left", 1.0), ("right", -1.0)):
            leg = f"{end}_{side}"
            robot.body(
                f"{leg}_hip",
                "base_link",
                (x, sign * 0.055, 0.0),
                kind="revolute",
                axis=X,
                limit=(radians(-45), radians(45)),
                velocity=10.0,
                mass=1.3,
                shape=("sphere", (0.055,), (0.0, sign * 0.06, 0.0)),
            )
            robot.body(
                f"{leg}_upper_leg",
                f"{leg}_hip_link",
                (0.0, sign * 0.111, 0.0),
                kind="revolute",
                axis=Y,
                limit=(radians(-50), radians(131)),
                velocity=10.0,
                mass=2.0,
                shape=("box", (0.06, 0.06, 0.3), (0.0, 0.0, -0.16)),
            )
            robot.body(
                f"{leg}_knee",
                f"{leg}_upper_leg_link",
                (0.0, 0.0, -0.32),
                kind="revolute",
                axis=Y,
                limit=(radians(-160), radians(-14)),
                velocity=10.0,
                mass=0.4,
                shape=("cylinder", (0.018, 0.32), (0.0, 0.0, -0.17)),
            )
            robot.body(
                f"{leg}_foot",
                f"{leg}_knee_link",
                (0.0, 0.0, -0.345),
                shape=("sphere", (0.025,), (0.0, 0.0, 0.0)),
            )
    robot.camera(
        "front_camera",
        "base_link",
        (0.43, 0.0, 0.03),
        (0.0, radians(22.0), 0.0),
        hfov=90.0,
        size=(640, 480),
        clip=(0.2, 4.0),
    )
    robot.body(
        "arm_sh0",
        "base_link",
        (0.292, 0.0, 0.188),
        kind="revolute",
        limit=(radians(-150), radians(180)),
        mass=2.0,
        shape=("cylinder", (0.06, 0.1), (0.0, 0.0, -0.04)),
    )
    # Zero is the stowed posture: folded onto the back, the hand ahead.
    robot.body(
        "arm_sh1",
        "arm_sh0_link",
        (0.0, 0.0, 0.0),
        rpy=(0.0, -pi, 0.0),
        kind="revolute",
        axis=Y,
        limit=(0.0, radians(210)),
        mass=2.0,
        shape=("box", (0.26, 0.06, 0.06), (0.19, 0.0, 0.0)),
    )
    robot.body(
        "arm_el0",
        "arm_sh1_link",
        (0.3385, 0.0, 0.0),
        rpy=(0.0, pi, 0.0),
        kind="revolute",
        axis=Y,
        limit=(radians(-180), 0.0),
        mass=0.9,
        shape=("box", (0.1, 0.055, 0.055), (0.06, 0.0, 0.06)),
    )
    robot.body(
        "arm_el1",
        "arm_el0_link",
        (0.15, 0.0, 0.06),
        kind="revolute",
        axis=X,
        limit=(radians(-160), radians(160)),
        mass=0.9,
        shape=("box", (0.22, 0.055, 0.055), (0.11, 0.0, 0.0)),
    )
    robot.body(
        "arm_wr0",
        "arm_el1_link",
        (0.253, 0.0, 0.0),
        kind="revolute",
        axis=Y,
        limit=(radians(-105), radians(105)),
        mass=0.8,
        shape=("box", (0.08, 0.05, 0.05), (0.03, 0.0, 0.0)),
    )
    robot.body(
        "arm_wr1",
        "arm_wr0_link",
        (0.08, 0.0, 0.0),
        kind="revolute",
        axis=X,
        limit=(radians(-165), radians(165)),
        mass=0.8,
        shape=("box", (0.08, 0.08, 0.07), (0.05, 0.0, 0.0)),
    )
    robot.body("arm_gripper", "arm_wr1_link", (0.1, 0.0, 0.0))
    robot.body(
        "arm_gripper_jaw",
        "arm_gripper_link",
        (0.0, 0.0, 0.02),
        kind="revolute",
        axis=Y,
        limit=(radians(-90), 0.0),
        mass=0.2,
        shape=("box", (0.1, 0.07, 0.015), (0.05, 0.0, 0.0)),
    )
    robot.body("arm_hand", "arm_gripper_link", (0.0625, 0.0, 0.0))
    robot.camera(
        "arm_camera",
        "arm_wr1_link",
        (0.09, 0.0, -0.03),
        hfov=60.2,
        size=(640, 480),
        clip=(0.1, 4.0),
    )
    return robot
