"""A robot like Stretch RE1: its links and joints."""

from __future__ import annotations

from math import pi

from coterie_description.robots.shared import NOTE, SIDEWAYS, Y
from coterie_description.writing import Writer


def stretch() -> Writer:
    """Stretch RE1: mast with a lift of 1.1 m, arm of four telescoping segments, wrist and gripper.

    Published: footprint 0.33 x 0.34 m, 1.41 m high, lift 1.1 m, arm 0.52 m, wrist yaw, head with
    pan and tilt that carries a depth camera on its side, 23 kg, 1.5 kg in the hand, 0.3 m/s.
    The arm points to the robot's right.
    """
    robot = Writer("stretch_like", f"A robot like Stretch RE1.\n{NOTE}", (0.25, 0.28, 0.32))
    robot.link("base_link", 14.0)
    robot.shape("base_link", "box", (0.33, 0.3, 0.12), (-0.1, 0.0, 0.095))
    for side, y in (("left", 0.1575), ("right", -0.1575)):
        wheel = ("cylinder", (0.0508, 0.025), (0.0, 0.0, 0.0))
        robot.body(
            f"{side}_wheel",
            "base_link",
            (0.0, y, 0.0508),
            shape=wheel,
            kind="continuous",
            axis=Y,
            velocity=5.9,
            turned=SIDEWAYS,
            mass=0.5,
        )
    robot.body(
        "caster", "base_link", (-0.23, 0.0, 0.025), shape=("sphere", (0.025,), (0.0, 0.0, 0.0))
    )
    robot.body(
        "mast",
        "base_link",
        (-0.07, 0.13, 0.155),
        mass=1.8,
        shape=("box", (0.065, 0.065, 1.2), (0.0, 0.0, 0.6)),
    )
    robot.body(
        "lift",
        "mast_link",
        (0.0, 0.0, -0.085),
        kind="prismatic",
        limit=(0.0, 1.1),
        velocity=0.15,
        mass=2.1,
        shape=("box", (0.1, 0.1, 0.1), (-0.085, 0.0, 0.02)),
    )
    # The arm's fixed tube lies behind the mast; its segments slide to the right out of it.
    robot.body(
        "arm",
        "lift_link",
        (-0.085, -0.06, 0.02),
        mass=0.8,
        shape=("box", (0.06, 0.3, 0.07), (0.0, -0.07, 0.0)),
    )
    previous = "arm_link"
    for k in range(4):
        robot.body(
            f"arm_segment_{4 - k}",
            previous,
            (0.0, -0.23 if k == 0 else -0.013, 0.0),
            kind="prismatic",
            axis=(0.0, -1.0, 0.0),
            limit=(0.0, 0.13),
            velocity=0.15,
            mass=0.2,
            mimic="" if k == 0 else "arm_segment_4_joint",
            shape=("box", (0.05 - 0.004 * k, 0.012, 0.06 - 0.004 * k), (0.0, 0.0, 0.0)),
        )
        previous = f"arm_segment_{4 - k}_link"
    robot.body(
        "wrist_yaw",
        previous,
        (0.05, 0.02, -0.02),
        rpy=(0.0, 0.0, -pi / 2.0),
        kind="revolute",
        limit=(-1.39, 4.42),
        mass=0.2,
        shape=("cylinder", (0.025, 0.06), (0.0, 0.0, 0.0)),
    )
    robot.body(
        "gripper",
        "wrist_yaw_link",
        (0.02, 0.0, -0.03),
        mass=0.3,
        shape=("box", (0.09, 0.06, 0.05), (0.06, 0.0, 0.0)),
    )
    robot.body("grasp_center", "gripper_link", (0.21, 0.0, 0.0))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        robot.body(
            f"gripper_{side}_finger",
            "gripper_link",
            (0.1, sign * 0.03, 0.0),
            kind="revolute",
            axis=(0.0, 0.0, sign),
            limit=(-0.35, 0.35),
            shape=("box", (0.1, 0.012, 0.02), (0.05, 0.0, 0.0)),
        )
    robot.body(
        "head_pan",
        "mast_link",
        (0.0, 0.0, 1.205),
        kind="revolute",
        limit=(-4.04, 1.73),
        shape=("cylinder", (0.03, 0.04), (0.0, 0.0, 0.02)),
    )
    robot.body(
        "head_tilt",
        "head_pan_link",
        (0.02, 0.0, 0.025),
        kind="revolute",
        axis=Y,
        limit=(-0.47, 2.02),
        shape=("box", (0.04, 0.06, 0.02), (0.0, 0.0, 0.0)),
    )
    robot.camera(
        "head_camera",
        "head_tilt_link",
        (0.03, 0.0, 0.0),
        hfov=42.5,
        size=(720, 1280),
        clip=(0.28, 5.0),
    )
    return robot
