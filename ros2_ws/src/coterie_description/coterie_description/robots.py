"""The four robots: their links and joints, from published dimensions. Writes urdf/*.urdf.

`python -m coterie_description.robots` writes the files anew; a test tells when they are out of
date. Lengths [m], angles [rad], x ahead, z up. Sources: README.md of this package.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, radians

from coterie_description import FOLDER
from coterie_description.writing import Writer

NOTE = """
Written by the Coterie project from published dimensions; plain shapes only, nothing taken from
the maker's own description. Licence: Apache-2.0. SPDX-License-Identifier: Apache-2.0
Made by coterie_description.robots: change it there.
"""
SIDEWAYS = (pi / 2.0, 0.0, 0.0)
ALONG_X = (0.0, pi / 2.0, 0.0)
Y = (0.0, 1.0, 0.0)
X = (1.0, 0.0, 0.0)


def fetch() -> Writer:
    """Fetch: differential drive, torso lift of 0.386 m, 7-DOF arm, head with pan and tilt.

    Published: 1.096 to 1.491 m high, base 0.508 x 0.559 m, arm of 0.94 m, joint limits and frame
    offsets of the maker's manual, 1.0 m/s, payload 6 kg, gripper opening 0.1 m.
    """
    robot = Writer("fetch_like", f"A robot like Fetch.\n{NOTE}", (0.85, 0.85, 0.88))
    robot.link("base_link", 60.0)
    robot.shape("base_link", "cylinder", (0.28, 0.3), (0.0, 0.0, 0.205))
    for side, y in (("l", 0.1875), ("r", -0.1875)):
        wheel = ("cylinder", (0.0613, 0.05), (0.0, 0.0, 0.0))
        robot.body(
            f"{side}_wheel",
            "base_link",
            (0.0, y, 0.0613),
            shape=wheel,
            kind="continuous",
            axis=Y,
            velocity=16.3,
            turned=SIDEWAYS,
            mass=2.0,
        )
    robot.body(
        "torso_lift",
        "base_link",
        (-0.087, 0.0, 0.378),
        kind="prismatic",
        limit=(0.0, 0.386),
        velocity=0.1,
        mass=13.0,
        shape=("box", (0.19, 0.24, 0.55), (-0.03, 0.0, 0.28)),
    )
    robot.body(
        "head_pan",
        "torso_lift_link",
        (0.053, 0.0, 0.603),
        kind="revolute",
        limit=(-1.57, 1.57),
        shape=("cylinder", (0.09, 0.06), (0.03, 0.0, 0.03)),
    )
    robot.body(
        "head_tilt",
        "head_pan_link",
        (0.1425, 0.0, 0.058),
        kind="revolute",
        axis=Y,
        limit=(-0.76, 1.45),
        shape=("box", (0.12, 0.2, 0.08), (-0.02, 0.0, 0.015)),
    )
    robot.camera(
        "head_camera",
        "head_tilt_link",
        (0.055, 0.0, 0.0225),
        hfov=54.0,
        size=(640, 480),
        clip=(0.35, 5.0),
    )
    torso = "torso_lift_link"
    robot.body(
        "shoulder_pan",
        torso,
        (0.1195, 0.0, 0.3486),
        kind="revolute",
        limit=(-1.6056, 1.6056),
        shape=("cylinder", (0.06, 0.12), (0.03, 0.0, 0.03)),
        mass=2.6,
    )
    robot.body(
        "shoulder_lift",
        "shoulder_pan_link",
        (0.117, 0.0, 0.06),
        kind="revolute",
        axis=Y,
        limit=(-1.221, 1.518),
        shape=("cylinder", (0.055, 0.17), (0.105, 0.0, 0.0)),
        turned=ALONG_X,
        mass=2.7,
    )
    robot.body(
        "upperarm_roll",
        "shoulder_lift_link",
        (0.219, 0.0, 0.0),
        kind="continuous",
        axis=X,
        shape=("cylinder", (0.055, 0.1), (0.055, 0.0, 0.0)),
        turned=ALONG_X,
        mass=2.3,
    )
    robot.body(
        "elbow_flex",
        "upperarm_roll_link",
        (0.133, 0.0, 0.0),
        kind="revolute",
        axis=Y,
        limit=(-2.251, 2.251),
        shape=("cylinder", (0.052, 0.15), (0.095, 0.0, 0.0)),
        turned=ALONG_X,
        mass=2.1,
    )
    robot.body(
        "forearm_roll",
        "elbow_flex_link",
        (0.197, 0.0, 0.0),
        kind="continuous",
        axis=X,
        shape=("cylinder", (0.05, 0.09), (0.05, 0.0, 0.0)),
        turned=ALONG_X,
        mass=1.7,
    )
    robot.body(
        "wrist_flex",
        "forearm_roll_link",
        (0.1245, 0.0, 0.0),
        kind="revolute",
        axis=Y,
        limit=(-2.16, 2.16),
        shape=("cylinder", (0.05, 0.1), (0.065, 0.0, 0.0)),
        turned=ALONG_X,
        mass=1.7,
    )
    robot.body(
        "wrist_roll",
        "wrist_flex_link",
        (0.1385, 0.0, 0.0),
        kind="continuous",
        axis=X,
        shape=("cylinder", (0.045, 0.05), (0.03, 0.0, 0.0)),
        turned=ALONG_X,
        mass=0.1,
    )
    robot.body(
        "gripper",
        "wrist_roll_link",
        (0.1665, 0.0, 0.0),
        mass=1.5,
        shape=("box", (0.06, 0.125, 0.07), (-0.07, 0.0, 0.0)),
    )
    for side, sign in (("l", 1.0), ("r", -1.0)):
        robot.body(
            f"{side}_gripper_finger",
            "gripper_link",
            (0.0, sign * 0.008, 0.0),
            kind="prismatic",
            axis=(0.0, sign, 0.0),
            limit=(0.0, 0.05),
            shape=("box", (0.06, 0.012, 0.026), (-0.01, 0.0, 0.0)),
        )
    return robot


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


def m100(scale: float = 1.0) -> Writer:
    """Matrice 100: four rotors on arms of a frame of 0.65 m, a camera on a gimbal.

    Published: diagonal wheelbase 0.65 m, rotors of 13 inch, 2.36 kg; gimbal camera Zenmuse X3 with
    94 deg, tilt -90 to 30 deg; the depth camera below it is a RealSense D435.

    Args:
        scale: Factor of all lengths.
    """
    name = "m100_like" if scale == 1.0 else "m100_like_indoor"
    about = "A drone like the Matrice 100" + ("." if scale == 1.0 else f", {scale:g} of its size.")
    robot = Writer(name, f"{about}\n{NOTE}", (0.2, 0.2, 0.22), scale)
    robot.link("base_link", 1.6)
    robot.shape("base_link", "box", (0.26, 0.16, 0.12))
    away = 0.65 / 2.0 / 2.0**0.5
    for end, x in (("front", away), ("rear", -away)):
        for side, y in (("left", away), ("right", -away)):
            turned = (0.0, pi / 2.0, pi / 4.0 if x * y > 0 else -pi / 4.0)
            arm = (x * 0.65, y * 0.65, 0.0)
            robot.shape("base_link", "cylinder", (0.0115, 0.26), arm, turned)
            robot.body(
                f"{end}_{side}_rotor",
                "base_link",
                (x, y, 0.05),
                kind="continuous",
                velocity=600.0,
                mass=0.12,
                shape=("cylinder", (0.165, 0.01), (0.0, 0.0, 0.0)),
            )
            robot.body(
                f"{end}_{side}_skid",
                "base_link",
                (0.6 * x, 0.6 * y, -0.12),
                shape=("cylinder", (0.01, 0.16), (0.0, 0.0, 0.0)),
            )
    robot.body(
        "gimbal_yaw",
        "base_link",
        (0.14, 0.0, -0.05),
        kind="revolute",
        limit=(radians(-170), radians(170)),
        velocity=2.0,
        mass=0.1,
        shape=("cylinder", (0.025, 0.03), (0.0, 0.0, 0.0)),
    )
    robot.body(
        "gimbal_pitch",
        "gimbal_yaw_link",
        (0.0, 0.0, -0.045),
        kind="revolute",
        axis=Y,
        limit=(radians(-30), radians(90)),
        velocity=2.0,
        mass=0.12,
        shape=("box", (0.05, 0.06, 0.05), (0.0, 0.0, 0.0)),
    )
    robot.camera(
        "gimbal_camera",
        "gimbal_pitch_link",
        (0.03, 0.0, 0.0),
        hfov=84.0,
        size=(640, 480),
        clip=(0.2, 6.0),
    )
    return robot


ROBOTS: dict[str, Callable[[], Writer]] = {
    "fetch": fetch,
    "stretch": stretch,
    "spot": spot,
    "m100": m100,
    "m100_indoor": lambda: m100(0.5),
}


def main() -> None:
    """Write all files."""
    for name, make in ROBOTS.items():
        (FOLDER / f"{name}.urdf").write_text(make().text(), encoding="utf-8")


if __name__ == "__main__":
    main()
