"""What a body can do where names, meshes and versions mislead."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from coterie_core.kinematics.collision import _convex
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.reading import read_description
from coterie_core.urdf.tree import build_tree
from coterie_fixtures.urdfs import Urdf, diff_drive, with_arm
from robot_resume.builder import resume_of
from robot_resume.overrides import overrides_for, skeleton_digest


def resume(urdf: Urdf, **options):
    return resume_of(urdf.text(), samples=500, **options)


def _dae(unit: float, points: str) -> str:
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="{unit}" name="u"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="12">{points}</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 1 2 0 1 3 0 2 3 1 2 3</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene>
</COLLADA>"""


def test_collada_meshes_count_with_their_unit(tmp_path):
    (tmp_path / "mast.dae").write_text(_dae(0.01, "-5 0 0  5 0 0  0 5 0  0 0 120"))
    urdf = diff_drive().link("mast").joint("m", "fixed", "base_link", "mast", (0, 0, 0.1))
    urdf.add_mesh("mast", "mast.dae")
    file = tmp_path / "r.urdf"
    file.write_text(urdf.text())
    found = resume_of(file, samples=500)
    bare = resume(diff_drive())
    floor = bare.mobility.height  # of the body without the mast
    assert floor < 0.5
    assert found.mobility.height == pytest.approx(1.2 + 0.1, abs=0.12)
    assert not any("meshes not read" in warning for warning in found.warnings)


def test_why_a_mesh_was_not_read_is_said(tmp_path):
    urdf = diff_drive().link("a").joint("x", "fixed", "base_link", "a", (0, 0, 0.1))
    urdf.add_mesh("a", "package://elsewhere/shell.dae")
    file = tmp_path / "r.urdf"
    file.write_text(urdf.text())
    (note,) = [w for w in resume_of(file, samples=500).warnings if "meshes not read" in w]
    assert "shell.dae is missing" in note


def test_a_robot_is_not_lower_than_its_own_camera():
    urdf = diff_drive()
    low = resume(urdf).mobility.height
    urdf.link("camera_link")
    urdf.joint("cam", "fixed", "base_link", "camera_link", (0, 0, 1.3))
    found = resume(urdf)
    assert found.perception.cameras[0].height > low
    assert found.mobility.height >= found.perception.cameras[0].height
    if found.mobility.height > low + 0.5:
        assert any(
            "camera" in text for text in (found.mobility.evidence["height"], *found.warnings)
        )


@pytest.mark.parametrize("name", ["camera_aruco_tag_link", "apriltag_camera", "camera_marker"])
def test_a_marker_is_no_camera(name):
    urdf = diff_drive().link(name).joint("t", "fixed", "base_link", name, (0.1, 0, 0.3))
    assert not resume(urdf).perception.cameras


def _virtual(limit: float) -> Urdf:
    urdf = Urdf("gliding").link("world").link("x").link("y").link("z")
    urdf.joint("px", "prismatic", "world", "x", axis=(1, 0, 0), limit=(-limit, limit))
    urdf.joint("py", "prismatic", "x", "y", axis=(0, 1, 0), limit=(-limit, limit))
    urdf.joint("pz", "continuous", "y", "z")
    urdf.link("base_link", "box", (0.4, 0.4, 0.3), (0, 0, 0.15))
    return urdf.joint("b", "fixed", "z", "base_link")


def test_a_virtual_base_without_an_end_places_the_robot_and_is_no_reach():
    found = resume(_virtual(999999.0))
    assert found.mobility.kind == "wheels" and found.mobility.radius < 0.5
    assert any("unbounded" in warning for warning in found.warnings)


def test_a_slide_without_an_end_elsewhere_is_refused():
    urdf = (
        diff_drive()
        .link("sled")
        .joint("sled_joint", "prismatic", "base_link", "sled", axis=(1, 0, 0), limit=(-5e5, 5e5))
    )
    with pytest.raises(UrdfError, match=r'"sled_joint": slides farther than 200 m'):
        resume(urdf)


def test_sizes_and_places_of_no_robot_are_not_taken():
    found = resume(diff_drive().shape("base_link", "box", (1e5, 1, 1)))
    assert found.mobility.radius < 1.0
    assert any("not within 0 to 200 m" in warning for warning in found.warnings)
    far = diff_drive().link("moon").joint("m", "fixed", "base_link", "moon", (1e6, 0, 0))
    with pytest.raises(UrdfError, match="farther than 200 m"):
        resume(far)


def test_more_joints_than_a_robot_has_are_refused_and_endless_chains_left_out():
    urdf = Urdf("snake").link("s0", "box", (0.1, 0.1, 0.1))
    for k in range(600):
        urdf.link(f"s{k + 1}")
        urdf.joint(f"j{k}", "revolute", f"s{k}", f"s{k + 1}", (0.01, 0, 0), limit=(-1, 1))
        if k == 119:
            (note,) = [w for w in resume(urdf).warnings if "left out" in w]
            assert "120 moving joints" in note
    with pytest.raises(UrdfError, match="more than 500 joints that move"):
        resume(urdf)


def test_a_cone_with_many_corners_is_a_solid():
    """Its tip has more neighbors than coal takes."""
    angles = np.linspace(0.0, 2.0 * math.pi, 400, endpoint=False)
    rim = np.column_stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)])
    solid = _convex(np.vstack([rim, [[0.0, 0.0, 1.0]]]))
    assert solid is not None
    solid.computeLocalAABB()
    assert solid.aabb_radius > 0.9


def _arm(last: str, child: str, kind: str, limit: tuple[float, float] | None) -> Urdf:
    urdf = with_arm(diff_drive(), gripper=False)
    urdf.link(child, "box", (0.08, 0.02, 0.02), (0.04, 0, 0))
    return urdf.joint(last, kind, "arm_5", child, (0.05, 0, 0), axis=(0, 0, 1), limit=limit)


def test_the_jaw_of_a_small_arm_is_no_joint_of_the_arm():
    plain = len(resume(with_arm(diff_drive(), gripper=False)).manipulation.arms[0].joints)
    (arm,) = resume(_arm("gripper", "moving_part", "revolute", (-0.17, 1.75))).manipulation.arms
    assert arm.gripper is not None and arm.gripper.joints == ("gripper",)
    assert len(arm.joints) == plain


def test_a_wrist_that_carries_a_gripper_is_a_joint_of_the_arm():
    plain = len(resume(with_arm(diff_drive(), gripper=False)).manipulation.arms[0].joints)
    wrist = _arm("wrist_roll", "left_gripper", "revolute", (-1.0, 1.0))
    (arm,) = resume(wrist).manipulation.arms
    assert len(arm.joints) == plain + 1 and arm.gripper is None
    turning = _arm("joint_7", "gripper_link", "revolute", (-2.9, 2.9))
    assert len(resume(turning).manipulation.arms[0].joints) == plain + 1


def test_a_forearm_without_a_hand_ends_where_its_shape_ends():
    short = with_arm(diff_drive(), gripper=False)
    long = with_arm(diff_drive(), gripper=False)
    long.shape("arm_5", "box", (0.3, 0.03, 0.03), (0.15, 0, 0))
    reach = [resume(u).manipulation.arms[0].workspace.reach for u in (short, long)]
    assert reach[1] > reach[0] + 0.2


def test_an_arm_on_nothing_known_is_not_cut_at_its_mount():
    arm = Urdf("bench").link("base", "cylinder", (0.06, 0.1), (0, 0, 0.05))
    parent = "base"
    for k in range(4):
        axis = (0, 0, 1) if k == 0 else (0, 1, 0)
        arm.link(f"l{k}", "box", (0.04, 0.04, 0.2), (0, 0, 0.1))
        arm.joint(f"j{k}", "revolute", parent, f"l{k}", (0, 0, 0.1 if k == 0 else 0.2),
                  axis=axis, limit=(-2.6, 2.6))  # fmt: skip
        parent = f"l{k}"
    found = resume(arm)
    assert found.mobility.kind == "fixed"
    assert found.manipulation.arms[0].workspace.min_height < -0.05
    assert "not cut" in found.mobility.evidence["floor"]
    assert any("taken as fixed" in warning for warning in found.warnings)


def test_values_of_another_version_are_left_out_and_it_is_said(tmp_path):
    mine, next_one = diff_drive(), diff_drive()
    next_one.link("nav_camera_link").joint(
        "nav", "fixed", "base_link", "nav_camera_link", (0.1, 0, 0.3)
    )
    name = mine.root.get("name")
    digest = skeleton_digest(build_tree(read_description(mine.text())))
    (tmp_path / "one.yaml").write_text(
        f"urdf: [{name}]\nversions: {{MK1: {digest}}}\nmobility: {{linear_speed: 0.77}}\n"
    )
    stated = overrides_for(name, tmp_path)
    assert resume(mine, overrides=stated).mobility.linear_speed == 0.77
    other = resume(next_one, overrides=stated)
    assert other.mobility.linear_speed != 0.77
    assert any("one.yaml holds values of MK1" in warning for warning in other.warnings)


def test_the_shipped_values_of_stretch_name_their_version():
    folder = Path(__file__).resolve().parents[4] / "config" / "robots"
    stated = overrides_for("stretch", folder)
    assert stated is not None and "RE1V0" in stated.versions


def test_of_parts_that_are_equally_high_the_first_is_named():
    urdf = Urdf("arm").link("base_link", "box", (0.3, 0.3, 0.2))
    before = "base_link"
    for k in range(6):
        height = 0.5 if k == 0 else 0.0
        urdf.link(f"part_{k}").joint(f"j{k}", "revolute", before, f"part_{k}", (0.2, 0.0, height))
        before = f"part_{k}"
    found = resume(urdf).mobility
    assert found.height == pytest.approx(0.6) and "top of part_0 " in found.evidence["height"]


@pytest.mark.parametrize("pointer", [False, True])
def test_meshes_of_the_urdfs_own_package_are_found(tmp_path, pointer):
    """As makers lay them out: package.xml above the folder of the URDF, named otherwise."""
    trimesh = pytest.importorskip("trimesh")
    own = tmp_path / "R1"
    for folder in ("urdf", "meshes"):
        (own / folder).mkdir(parents=True)
    (own / "package.xml").write_text("<package><name>r1_description</name></package>")
    body = own / "meshes" / "body.stl"
    trimesh.creation.box(extents=(0.4, 0.4, 1.2)).export(body)
    if pointer:
        body.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    urdf = diff_drive().link("a").joint("x", "fixed", "base_link", "a", (0, 0, 0.6))
    urdf.add_mesh("a", "package://r1_description/meshes/body.stl")
    urdf.link("b").joint("y", "fixed", "base_link", "b", (0, 0, 0.1))
    urdf.add_mesh("b", "package://arm_description/meshes/body.stl", 3.0)
    file = own / "urdf" / "r.urdf"
    file.write_text(urdf.text())
    found = resume_of(file, samples=500)
    (note,) = [w for w in found.warnings if "meshes not read" in w]
    assert "package arm_description" in note and "--package" in note
    if pointer:
        assert "git lfs pull" in note
    else:
        assert found.mobility.height == pytest.approx(1.2, abs=0.01)
