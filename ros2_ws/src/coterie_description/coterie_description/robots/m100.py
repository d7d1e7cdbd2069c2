"""A drone like the Matrice 100: its links and joints."""

from __future__ import annotations

from math import pi, radians

from coterie_description.robots.shared import NOTE, Y
from coterie_description.writing import Writer


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
