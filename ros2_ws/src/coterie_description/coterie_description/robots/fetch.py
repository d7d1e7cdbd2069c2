"""A robot like Fetch: its links and joints."""

from __future__ import annotations

from coterie_description.robots.shared import ALONG_X, NOTE, SIDEWAYS, X, Y
from coterie_description.writing import Writer


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
