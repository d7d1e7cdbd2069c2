"""Robots of every kind, with telling names and without any: what carries them, what they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coterie_core.kinematics.sampling import postures
from coterie_fixtures.urdfs import (
    Urdf,
    diff_drive,
    humanoid,
    legged,
    multirotor,
    on_table,
    telescope,
    tracked,
    turned,
    with_arm,
    without_names,
)
from robot_resume.builder import analyse, resume_of

BOTH = pytest.mark.parametrize("named", [True, False], ids=["named", "nameless"])


def resume(urdf, named=True, samples=2_000):
    text = urdf if isinstance(urdf, str) else urdf.text()
    return resume_of(text if named else without_names(text), samples=samples)


def wheel(urdf, name, parent, at, radius=0.1, **joint):
    urdf.link(name, "cylinder", (radius, 0.05), rpy=(math.pi / 2, 0, 0))
    return urdf.joint(f"{name}_joint", "continuous", parent, name, at, axis=(0, 1, 0), **joint)


def four_wheels(steered=False):
    urdf = Urdf("cart").link("base_link", "box", (0.8, 0.4, 0.2), (0, 0, 0.2))
    for name, x, y in (
        ("fl", 0.3, 0.25),
        ("fr", 0.3, -0.25),
        ("bl", -0.3, 0.25),
        ("br", -0.3, -0.25),
    ):
        parent, at = "base_link", (x, y, 0.1)
        if steered:
            urdf.link(f"{name}_rotation").joint(
                f"{name}_rotation_joint", "continuous", "base_link", f"{name}_rotation", at
            )
            parent, at = f"{name}_rotation", (0, 0, 0)
        wheel(urdf, f"{name}_wheel", parent, at)
    return urdf


def mecanum():
    urdf = four_wheels()
    for name in ("fl", "fr", "bl", "br"):
        for k in range(5):
            angle = 2.0 * math.pi * k / 5.0
            urdf.link(f"{name}_roller_{k}", "sphere", (0.015,))
            urdf.joint(
                f"{name}_roller_{k}_joint", "continuous", f"{name}_wheel", f"{name}_roller_{k}",
                (0.09 * math.cos(angle), 0, 0.09 * math.sin(angle)), axis=(0.7, 0.7, 0),
            )  # fmt: skip
    return urdf


def three_omni_wheels():
    urdf = Urdf("disc").link("base_link", "cylinder", (0.2, 0.1), (0, 0, 0.1))
    for k in range(3):
        angle = 2.0 * math.pi * k / 3.0
        urdf.link(f"wheel_{k}", "cylinder", (0.04, 0.02))
        urdf.joint(f"wheel_{k}_joint", "continuous", "base_link", f"wheel_{k}",
                   (0.18 * math.cos(angle), 0.18 * math.sin(angle), 0.04),
                   rpy=(0, math.pi / 2, angle))  # fmt: skip
    return urdf


def virtual_base():
    urdf = (
        Urdf("slider")
        .link("odom")
        .link("along")
        .link("across")
        .link("body", "box", (0.4, 0.4, 0.9), (0, 0, 0.45))
    )
    urdf.joint("x", "prismatic", "odom", "along", axis=(1, 0, 0), limit=(-10, 10))
    urdf.joint("y", "prismatic", "along", "across", axis=(0, 1, 0), limit=(-10, 10))
    urdf.joint("yaw", "continuous", "across", "body")
    return with_arm(urdf, "body", 0.9)


def two_arms_on_a_pillar():
    urdf = Urdf("pillar").link("base_link", "box", (0.3, 0.5, 1.0), (0, 0, 0.5))
    return with_arm(with_arm(urdf, tag="left_", y=0.25, height=1), tag="right_", y=-0.25, height=1)


def rooted(urdf, kind):
    root = analyse(urdf.text()).scene.tree.root
    return urdf.link("world").joint("to_world", kind, "world", root)


KINDS = {
    "two wheels and a ball": (diff_drive(), "wheels", 0),
    "wheels and an arm": (with_arm(diff_drive()), "wheels", 1),
    "four wheels": (four_wheels(), "wheels", 0),
    "four steered wheels": (four_wheels(steered=True), "wheels", 0),
    "mecanum wheels with rollers": (mecanum(), "wheels", 0),
    "three omni wheels": (three_omni_wheels(), "wheels", 0),
    "planar root": (rooted(diff_drive(), "planar"), "wheels", 0),
    "sliding root": (virtual_base(), "wheels", 1),
    "telescope": (telescope(), "wheels", 1),
    "tracks": (tracked(flippers=False), "tracks", 0),
    "tracks and flippers": (tracked(), "tracks", 0),
    "four legs": (legged(4), "legs", 0),
    "six legs": (legged(6), "legs", 0),
    "four legs and an arm": (with_arm(legged(4), "trunk", 0.1), "legs", 1),
    "four legs, floating": (rooted(legged(4), "floating"), "legs", 0),
    "two legs, two arms, a head": (humanoid(), "legs", 2),
    "four rotors": (multirotor(4), "air", 0),
    "six rotors": (multirotor(6), "air", 0),
    "on a table": (on_table(), "fixed", 1),
    "on a table, no tool": (on_table(tool=False), "fixed", 1),
    "two arms": (two_arms_on_a_pillar(), "fixed", 2),
}


@BOTH
@pytest.mark.parametrize("name", KINDS)
def test_the_kind_and_the_arms_are_found(name, named):
    urdf, kind, arms = KINDS[name]
    text = urdf.text()
    found = analyse(text if named else without_names(text))
    assert found.stance.mobility.kind == kind, found.stance.mobility.evidence
    assert len(found.arms) == arms
    assert found.stance.mobility.evidence["kind"]


@pytest.mark.parametrize("name", ["wheels and an arm", "four rotors", "on a table, no tool"])
def test_the_resume_gives_a_body_that_worlds_take(name):
    urdf, kind, arms = KINDS[name]
    body = resume(urdf).embodiment()
    assert body.mobility == kind and (body.arm is not None) == (arms > 0)


@pytest.mark.parametrize(
    ("urdf", "kind"),
    [
        (multirotor(spinning=False), "air"),
        (Urdf("quadrotor").link("base_link", "box", (0.4, 0.4, 0.1)), "air"),
        (Urdf("r").link("base").add_mesh("base", "package://x/crazyflie.dae"), "air"),
        (Urdf("iris_depth_camera").link("base_link", "box", (0.4, 0.4, 0.1)), "air"),
        (Urdf("sensor_head").link("camera_link", "box", (0.1, 0.1, 0.1)), "fixed"),
        (
            Urdf("toy").link("base").link("left_wheel").link("right_wheel")
            .joint("l", "fixed", "base", "left_wheel", (0, 0.1, 0.05))
            .joint("r", "fixed", "base", "right_wheel", (0, -0.1, 0.05)),
            "wheels",
        ),
    ],
)  # fmt: skip
def test_where_no_joint_tells_the_names_do(urdf, kind):
    found = resume(urdf)
    assert found.mobility.kind == kind
    assert "name" in found.mobility.evidence["kind"] or kind == "fixed"


@BOTH
def test_numbers_of_a_rover(named):
    body = resume(diff_drive(radius=0.1), named).mobility
    assert body.radius == pytest.approx(math.hypot(0.25, 0.15), abs=0.001)
    assert body.height == pytest.approx(0.27, abs=0.001)
    assert body.step_height == pytest.approx(0.0293, abs=0.001)
    assert not body.climbs_stairs
    assert body.linear_speed == pytest.approx(10.0 * 0.1)
    xs, ys = zip(*body.footprint, strict=True)
    assert (min(xs), max(xs), min(ys), max(ys)) == pytest.approx((-0.25, 0.25, -0.22, 0.22))


def same_robot(first, second):
    """Check that two analyses agree on the body and on where the hand gets (radius, height)."""
    bodies = [found.stance.mobility for found in (first, second)]
    assert bodies[0].height == pytest.approx(bodies[1].height, abs=0.001)
    assert bodies[0].radius == pytest.approx(bodies[1].radius, abs=0.001)
    chains = [found.arms[0].chain for found in (first, second)]
    values = postures(chains[0].lower, chains[0].upper, 50, 0)
    a, b = (chain.points(values) for chain in chains)
    assert a[:, 2] == pytest.approx(b[:, 2], abs=1e-6)
    assert np.hypot(a[:, 0], a[:, 1]) == pytest.approx(np.hypot(b[:, 0], b[:, 1]), abs=1e-6)


@BOTH
@pytest.mark.parametrize("lift", [0.1, -0.05])
def test_the_floor_is_below_the_wheels_wherever_base_link_is(lift, named):
    texts = [with_arm(diff_drive(lift=x), height=0.3 - x).text() for x in (lift, 0.0)]
    same_robot(*(analyse(text if named else without_names(text)) for text in texts))


@BOTH
@pytest.mark.parametrize("rpy", [(-math.pi / 2, 0, 0), (0, 0, math.pi / 2), (math.pi / 2, 0, 1.0)])
def test_a_robot_hung_in_a_turned_root_stands_up(rpy, named):
    text = with_arm(diff_drive()).text()
    texts = [text, turned(text, rpy)]
    first, second = (analyse(each if named else without_names(each)) for each in texts)
    assert second.stance.mobility.kind == "wheels"
    same_robot(first, second)


def test_a_model_with_y_up_stands_up_by_its_wheels():
    urdf = Urdf("y").link("base", "box", (0.5, 0.2, 0.3), (0, 0.17, 0))
    urdf.link("tower", "box", (0.1, 1.0, 0.1)).joint("t", "fixed", "base", "tower", (0, 0.7, 0))
    for name, z in (("a", 0.2), ("b", -0.2)):
        urdf.link(name, "cylinder", (0.1, 0.04))
        urdf.joint(f"{name}_joint", "continuous", "base", name, (0, 0.1, z))
    body = resume(urdf).mobility
    assert body.kind == "wheels"
    assert body.height == pytest.approx(1.2, abs=0.001)
    assert "stood up so that y is up" in body.evidence["frame"]


def test_a_model_that_looks_along_y_is_turned_ahead():
    urdf = Urdf("s").link("base", "box", (0.3, 0.5, 0.2), (0, 0, 0.17))
    for name, x in (("a", 0.2), ("b", -0.2)):
        urdf.link(name, "cylinder", (0.1, 0.04), rpy=(0, math.pi / 2, 0))
        urdf.joint(f"{name}_joint", "continuous", "base", name, (x, 0, 0.1), axis=(1, 0, 0))
    urdf.link("cam_optical_frame")
    urdf.joint(
        "c", "fixed", "base", "cam_optical_frame", (0, -0.2, 0.3), rpy=(-math.pi / 2, 0, math.pi)
    )
    found = resume(urdf)
    camera = found.perception.cameras[0]
    assert camera.forward == pytest.approx(0.2, abs=0.001)
    assert camera.yaws == pytest.approx((0.0, 0.0), abs=0.001)
    assert "turned so that x is ahead" in found.mobility.evidence["frame"]


@BOTH
def test_legs_stand_on_their_feet_and_lift_them(named):
    body = resume(legged(4, thigh=0.3, shank=0.3), named).mobility
    # The hip stands at three quarters of the leg, which its knee lets stretch to 0.597 m (and the
    # ball below the ankle); the body's top is 0.075 m higher.
    assert 0.40 < body.height - 0.075 < 0.52
    assert 0.15 <= body.step_height <= 0.3
    assert body.climbs_stairs
    low = resume(legged(4, thigh=0.12, shank=0.12), named).mobility
    assert low.step_height < 0.15 and not low.climbs_stairs


def test_a_biped_stands_nearly_straight():
    found = resume(humanoid())
    assert found.mobility.height == pytest.approx(1.6, abs=0.06)
    camera = found.perception.cameras[0]
    assert camera.mount == "movable"
    assert camera.pitches == pytest.approx((-0.5, 0.8), abs=0.001)
    names = [arm.name for arm in found.manipulation.arms]
    assert names == ["left_arm", "right_arm"]
    assert all(arm.joints[0].name == "waist" for arm in found.manipulation.arms)


def test_flippers_raise_the_step_of_tracks():
    plain, flippers = resume(tracked(flippers=False)), resume(tracked())
    assert plain.mobility.step_height == pytest.approx(0.08)
    assert flippers.mobility.step_height > 0.15
    assert flippers.mobility.climbs_stairs and not plain.mobility.climbs_stairs


def test_flyers_hover_and_have_no_step():
    body = resume(multirotor()).mobility
    assert body.step_height is None and body.climbs_stairs
    assert body.flight_height == 1.5 and "assumed" in body.evidence["flight_height"]
    assert body.radius == pytest.approx(0.3, abs=0.01)


def test_a_telescope_reaches_as_far_as_its_tubes_and_as_high_as_its_lift():
    arm = resume(telescope(), samples=5_000).manipulation.arms[0]
    assert [joint.name for joint in arm.joints] == ["lift_joint", "tube_0_joint"]
    assert {joint.type for joint in arm.joints} == {"prismatic"}
    space = arm.workspace
    # 0.1 m to the tubes, 0.1 m to the gripper, three tubes of 0.2 m that move together.
    assert space.reach == pytest.approx(0.8, abs=0.021)
    assert space.contains(0.79, 0.9) and not space.contains(0.15, 0.9)
    assert (space.min_height, space.max_height) == pytest.approx((0.27, 1.27), abs=0.021)
    assert space.grid()[2:-2, 11:39].all()


def test_grippers_open_as_far_as_their_fingers_move():
    arm = resume(with_arm(diff_drive())).manipulation.arms[0]
    assert arm.gripper is not None
    assert arm.gripper.opening == pytest.approx(0.08)
    assert arm.gripper.joints == ("left_finger_joint", "right_finger_joint")
    assert arm.tip_link == "palm"
    coupled = telescope()
    for side in ("left", "right"):
        coupled.link(f"{side}_tip").joint(
            f"{side}_tip_joint", "fixed", f"{side}_finger", f"{side}_tip", (0.1, 0, 0)
        )
    opening = resume(coupled).manipulation.arms[0].gripper.opening
    assert opening == pytest.approx(0.04 + 2 * 0.1 * math.sin(0.3), abs=0.005)


def test_a_body_without_meshes_is_as_large_as_its_inertia():
    urdf = Urdf("drone").link("body").add_mesh("body", "package://gone/body.dae")
    link = urdf.root.find("link")
    mass, x, y, z = 3.0, 0.5, 0.4, 0.1
    moments = {"ixx": y * y + z * z, "iyy": x * x + z * z, "izz": x * x + y * y}
    text = "".join(f' {key}="{mass * value / 12}"' for key, value in moments.items())
    urdf.root.remove(link)
    urdf.add(
        f'<link name="body"><inertial><mass value="{mass}"/>'
        f'<inertia ixy="0" ixz="0" iyz="0"{text}/></inertial>'
        '<collision><geometry><mesh filename="gone.dae"/></geometry></collision></link>'
    )
    found = resume(urdf)
    assert found.mobility.radius == pytest.approx(math.hypot(0.25, 0.2), abs=0.001)
    assert "same inertia" in found.mobility.evidence["radius"]
    assert any("meshes not read" in warning for warning in found.warnings)


def test_a_robot_without_any_shape_is_understood_by_its_joints():
    urdf = humanoid()
    for link in urdf.root.findall("link"):
        for shape in link.findall("collision"):
            link.remove(shape)
    found = resume(urdf)
    assert found.mobility.kind == "legs"
    assert len(found.manipulation.arms) == 2
    assert any("self-collision not checked" in warning for warning in found.warnings)
    assert 1.2 < found.mobility.height < 1.7


def test_fingers_beside_a_drive_wheel_and_a_tool_frame():
    urdf = with_arm(diff_drive(), gripper=False)
    urdf.link("hand_link").joint("hand_joint", "fixed", "arm_5", "hand_link", (0.04, 0, 0))
    urdf.link("screw").joint("gripper", "continuous", "hand_link", "screw", axis=(1, 0, 0))
    urdf.link("fingers_link").joint("bar", "fixed", "hand_link", "fingers_link", (0.02, 0, 0))
    for side, y in (("left", 1), ("right", -1)):
        urdf.link(f"{side}_finger_link").joint(
            f"{side}_finger", "prismatic", "fingers_link", f"{side}_finger_link", axis=(0, y, 0),
            limit=(0.015, 0.037), mimic=("left_finger", 1.0, 0.0) if y < 0 else None,
        )  # fmt: skip
    urdf.link("ee_gripper_link")
    urdf.joint("ee", "fixed", "fingers_link", "ee_gripper_link", (0.03, 0, 0))
    (arm,) = resume(urdf).manipulation.arms
    assert (len(arm.joints), arm.tip_link) == (6, "ee_gripper_link")
    assert arm.gripper is not None
    assert arm.gripper.opening == pytest.approx(0.044)
    assert arm.gripper.joints == ("left_finger", "right_finger")


def test_a_torso_that_follows_the_arm_carries_a_head_and_no_arm():
    urdf = diff_drive().link("arm_lift_link").link("torso", "box", (0.1, 0.1, 0.3))
    urdf.joint("arm_lift", "prismatic", "base_link", "arm_lift_link", (0, 0.1, 0.3), limit=(0, 0.6))
    urdf.joint("torso_lift", "prismatic", "base_link", "torso", (0, 0, 0.7), limit=(0, 0.3),
               mimic=("arm_lift", 0.5, 0.0))  # fmt: skip
    urdf.link("head").joint("head_pan", "revolute", "torso", "head", (0, 0, 0.2), limit=(-1, 1))
    urdf.link("head_rgb_frame").joint(
        "c", "fixed", "head", "head_rgb_frame", (0.1, 0, 0), rpy=(-math.pi / 2, 0, -math.pi / 2)
    )
    with_arm(urdf, "arm_lift_link", 0.0)
    found = resume(urdf)
    (arm,) = found.manipulation.arms
    assert arm.joints[0].name == "arm_lift" and len(arm.joints) == 7
    (camera,) = found.perception.cameras
    assert camera.mount == "movable"
    assert camera.heights == pytest.approx((0.9, 1.2), abs=0.001)
    assert (camera.pitch, camera.yaws) == (0.0, pytest.approx((-1.0, 1.0), abs=0.001))


def test_motors_named_rotor_do_not_make_a_walker_fly_nor_a_rail_a_crawler():
    walker = legged(4)
    for k in range(4):
        walker.link(f"hip_rotor_{k}").joint(f"r{k}", "fixed", "trunk", f"hip_rotor_{k}")
    assert analyse(walker.text()).drive.kind == "legs"
    rail = Urdf("rail").link("world").link("cart")
    rail.joint("track_joint", "prismatic", "world", "cart", axis=(0, 1, 0), limit=(-2, 2))
    found = analyse(with_arm(rail, "cart", 0.3).text())
    assert found.drive.kind == "fixed"
    assert found.arms[0].chain.joints[0].name == "track_joint"


def test_legs_whose_joints_turn_without_end_are_no_wheels():
    """Small quadrupeds have limits of many turns, and no shapes where meshes are not at hand."""
    parts = ['<link name="base_link"><inertial><mass value="1"/><inertia ixx="0.01" ixy="0" '
             'ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>']  # fmt: skip
    limit = '<limit lower="-10" upper="10" effort="1" velocity="1"/>'
    for leg, x, y in (("FL", 0.2, 0.1), ("FR", 0.2, -0.1), ("HL", -0.2, 0.1), ("HR", -0.2, -0.1)):
        parent = "base_link"
        for joint, axis, xyz in (
            ("HAA", "1 0 0", f"{x} {y} 0"),
            ("HFE", "0 1 0", "0 0.015 0"),
            ("KFE", "0 1 0", "0 0 -0.16"),
        ):
            child = f"{leg}_{joint}_LINK"
            parts.append(
                f'<link name="{child}"/><joint name="{leg}_{joint}" type="revolute">'
                f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
                f'<axis xyz="{axis}"/>{limit}</joint>'
            )
            parent = child
        parts.append(
            f'<link name="{leg}_FOOT"/><joint name="{leg}_ANKLE" type="fixed">'
            f'<parent link="{parent}"/><child link="{leg}_FOOT"/><origin xyz="0 0 -0.16"/></joint>'
        )
    resume = resume_of(f'<robot name="small">{"".join(parts)}</robot>', samples=1000)
    assert resume.mobility.kind == "legs"


def test_a_flying_robot_with_an_arm_flies():
    text = (
        '<robot name="flying_arm"><link name="base"><collision><geometry><box size="0.3 0.3 0.1"/>'
        "</geometry></collision></link>"
    )
    parent = "base"
    for k in range(5):
        text += (
            f'<link name="l{k}"/><joint name="j{k}" type="revolute"><parent link="{parent}"/>'
            f'<child link="l{k}"/><origin xyz="0 0 -0.08"/><axis xyz="0 1 0"/>'
            '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        )
        parent = f"l{k}"
    resume = resume_of(text + "</robot>", samples=1000)
    assert resume.mobility.kind == "air" and resume.manipulation.arms


# -- what looks like another kind ---------------------------------------------------------------


def steered_only(lift=-0.1):
    """Wheels whose axles the model leaves out: each part turns about its upright axis alone."""
    urdf = Urdf("cart").link("base_link", "box", (0.7, 0.4, 0.2))
    for name, x, y in (("fl", 1, 1), ("fr", 1, -1), ("bl", -1, 1), ("br", -1, -1)):
        urdf.link(f"{name}_link", "sphere", (0.1,), (0, 0, lift))
        urdf.joint(f"{name}_joint", "continuous", "base_link", f"{name}_link",
                   (0.25 * x, 0.2 * y, lift))  # fmt: skip
    return urdf


@BOTH
def test_what_turns_below_the_robot_holds_nothing_up_in_the_air(named):
    body = resume(steered_only(), named).mobility
    assert body.kind == "wheels" and not body.climbs_stairs
    found = resume(steered_only(), named)
    assert any("mobility.kind" in told for told in found.warnings)
    assert resume(steered_only(lift=0.1), named).mobility.kind == "air", "above it, it does"


def boat(tag, axis=(1, 0, 0), at=-0.4, hull=-0.1):
    urdf = Urdf(tag or "r").link("base_link", "box", (2.0, 1.0, 0.3), (0, 0, hull + 0.15))
    for side, y in (("left", 0.4), ("right", -0.4)):
        name = f"{side}_{tag or 'part'}"
        urdf.link(name, "cylinder", (0.1, 0.05), rpy=(0, math.pi / 2, 0))
        urdf.joint(f"{name}_joint", "continuous", "base_link", name, (-1.0, y, at), axis=axis)
    return urdf


@pytest.mark.parametrize(
    "urdf",
    [
        boat("propeller"),
        boat("thruster", at=0.1),
        boat("usv_engine"),
        boat(""),
        boat("rotor", at=0.0),
        boat("thruster", axis=(0, 0, 1)),
        Urdf("rescue_boat").link("base_link", "box", (2.0, 1.0, 0.4)),
    ],
)
def test_what_is_none_of_the_kinds_is_called_none_of_them(urdf):
    found = resume(urdf)
    assert found.mobility.kind == "fixed" and not found.mobility.climbs_stairs
    assert any("mobility.kind" in told for told in found.warnings)


def belted(radius=0.07):
    """Two rows of wheels, some in the middle above the floor, as belts run about them."""
    urdf = Urdf("hauler").link("base_link", "box", (0.9, 0.4, 0.2), (0, 0, 0.3))
    for side, y in (("left", 0.35), ("right", -0.35)):
        for k, (x, z) in enumerate(((0.44, 0.2), (0.3, radius), (-0.3, radius), (-0.44, 0.2))):
            wheel(urdf, f"{side}_{k}_wheel", "base_link", (x, y, z), radius)
    return urdf


@BOTH
def test_wheels_that_touch_no_floor_carry_a_belt(named):
    body = resume(belted(), named).mobility
    assert body.kind == "tracks" and body.step_height > 0.1
    assert "belt" in body.evidence["kind"]
