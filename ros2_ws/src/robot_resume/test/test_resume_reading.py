"""URDFs as they come: broken, partial, xacro-style, hostile, huge."""

from __future__ import annotations

import math

import pytest

from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.reading import read_description
from coterie_core.urdf.tree import build_tree
from coterie_fixtures.urdfs import Urdf, diff_drive, on_table, replaced, with_arm
from robot_resume.builder import resume_of

pytestmark = pytest.mark.quick

ARM = on_table().text()
TWO = '<link name="a"/><link name="b"/>'
JOINT = '<joint name="j" type="{}"><parent link="a"/><child link="b"/>{}</joint>'


def robot(body: str) -> str:
    return f'<robot name="r">{body}</robot>'


BOMB = (
    '<!DOCTYPE robot [<!ENTITY a0 "aaaaaaaaaa">'
    + "".join(f"<!ENTITY a{k} '" + f"&a{k - 1};" * 10 + "'>" for k in range(1, 10))
    + ']><robot name="&a9;"><link name="l"/></robot>'
)
FILE = (
    '<!DOCTYPE robot [<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    '<robot name="r"><link name="&f;"/></robot>'
)

BROKEN = {
    "empty": ("  ", "empty", "URDF"),
    "not xml": ("<robot", "not well-formed", "check_urdf"),
    "binary": (b"\x00\x01<robot/>", "not well-formed", "check_urdf"),
    "sdf": ('<sdf version="1.7"/>', "<sdf>, expected <robot>", "convert"),
    "mujoco": ('<mujoco model="m"/>', "<mujoco>", "convert"),
    "bomb": (BOMB, "entity", "DOCTYPE"),
    "reads a file": (FILE, "entity", "DOCTYPE"),
    "no links": (robot('<material name="m"/>'), "no link", "xacro FILE"),
    "nameless link": (robot("<link/>"), "without a name", "name it"),
    "twice": (robot('<link name="a"/><link name="a"/>'), "twice", "rename"),
    "two roots": (robot(TWO), "2 links without a parent", "fixed joint"),
    "no type": (robot(TWO + JOINT.format("hinge", "")), "type 'hinge'", "correct"),
    "unknown parent": (
        robot('<link name="b"/>' + JOINT.format("fixed", "")), "parent link 'a'", "<link name=",
    ),
    "no parent element": (
        robot(TWO + '<joint name="j" type="fixed"><child link="b"/></joint>'), "parent", "add",
    ),
    "circle": (
        robot(TWO + JOINT.format("fixed", "")
              + '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint>'),
        "circle", "remove",
    ),
    "circle beside the root": (
        robot(TWO + '<link name="root"/>' + JOINT.format("fixed", "")
              + '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint>'),
        "circle through", "remove",
    ),
    "two parents": (
        robot(TWO + '<link name="c"/>' + JOINT.format("fixed", "")
              + '<joint name="k" type="fixed"><parent link="c"/><child link="b"/></joint>'),
        "two parents", "another child",
    ),
    "nan limit": (
        robot(TWO + JOINT.format("revolute", '<limit lower="nan" upper="1"/>')),
        "finite number, not 'nan'", "correct",
    ),
    "reversed limits": (
        robot(TWO + JOINT.format("revolute", '<limit lower="1" upper="-1"/>')),
        "lower 1 is above upper -1", "swap",
    ),
    "slides without limits": (
        robot(TWO + JOINT.format("prismatic", "")), "without limits", "<limit",
    ),
    "zero axis": (
        robot(TWO + JOINT.format("continuous", '<axis xyz="0 0 0"/>')),
        "axis is 0 0 0", "direction",
    ),
    "word for a number": (
        robot(TWO + JOINT.format("fixed", '<origin xyz="0 zero 0"/>')),
        "3 finite numbers, not '0 zero 0'", "correct",
    ),
    "undefined number": (
        robot(TWO + JOINT.format("fixed", '<origin xyz="0 ${width} 0"/>')), "3 finite", "correct",
    ),
    "include": (
        '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro">'
        '<xacro:include filename="arm.xacro"/></robot>',
        "came as text", "xacro FILE > robot.urdf",
    ),
    "call": (robot('<link name="a"/><xacro:leg side="l"/>'), "leg", "xacro FILE"),
    "not arithmetic": (
        robot('<xacro:property name="p" value="${__import__(\'os\').getcwd()}"/>'
              '<link name="l${p}"/>'),
        "xacro refuses it", "xacro FILE",
    ),
    "itself": (
        robot('<xacro:property name="p" value="${p}"/><link name="l${p}"/>'), "circular", "xacro",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_refused_with_the_reason_and_the_remedy(name):
    text, problem, remedy = BROKEN[name]
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(UrdfError) as caught:
        resume_of(data, samples=100)
    assert problem in str(caught.value)
    assert remedy in caught.value.remedy


def test_the_error_names_the_file_and_the_element(tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text(BROKEN["reversed limits"][0])
    with pytest.raises(UrdfError, match=r'^bad.urdf: joint "j": limits reversed.*; swap them'):
        resume_of(path)
    path.write_text(BROKEN["two roots"][0])
    with pytest.raises(UrdfError, match=r"^bad.urdf: robot: 2 links"):
        resume_of(str(path))
    with pytest.raises(UrdfError, match="cannot be read"):
        resume_of(tmp_path / "none.urdf")
    with pytest.raises(UrdfError, match="cannot be read"):
        resume_of(tmp_path)


def test_what_can_be_mended_is_mended_and_said():
    text = replaced(ARM, r'<limit effort="10" velocity="1.0" lower="-2.5" upper="2.5" ?/>', "")
    text = replaced(text, r'<box size="[^"]*" ?/>', '<capsule radius="1" length="2"/>')
    text = replaced(text, r'<axis xyz="0.0 0.0 1.0" ?/>', '<axis xyz="0 0 2"/>')
    text = replaced(
        text, "</robot>", '<gazebo reference="nowhere"><sensor name="s"/></gazebo></robot>'
    )
    warnings = " | ".join(resume_of(text, samples=500).warnings)
    assert "no limits, taken as turning freely" in warnings
    assert "<capsule> is not a box, cylinder, sphere or mesh" in warnings
    assert "axis of length 2 made a unit vector" in warnings
    assert "gazebo sensor 's' on unknown link 'nowhere'" in warnings


def test_a_joint_that_follows_nothing_or_itself_moves_by_itself():
    urdf = with_arm(diff_drive())
    text = replaced(
        urdf.text(), r'(<joint name="arm_joint_2".*?)</joint>',
        lambda m: m.group(1) + '<mimic joint="nobody"/></joint>',
    )  # fmt: skip
    found = resume_of(text, samples=500)
    assert len(found.manipulation.arms[0].joints) == 6
    assert any("mimic of unknown joint 'nobody'" in warning for warning in found.warnings)
    a, b = (JOINT.replace('"j"', f'"{n}"').replace('"a"', f'"{p}"').replace('"b"', f'"{c}"')
            for n, p, c in (("p", "a", "b"), ("q", "b", "c")))  # fmt: skip
    circle = robot(
        TWO + '<link name="c"/>'
        + a.format("revolute", '<limit lower="0" upper="1"/><mimic joint="q"/>')
        + b.format("revolute", '<limit lower="0" upper="1"/><mimic joint="p"/>')
    )  # fmt: skip
    assert any("in a circle" in warning for warning in read_description(circle).warnings)


def test_variables_that_the_file_defines_are_worked_out():
    text = """<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro">
      <xacro:arg name="prefix" default="left_"/>
      <xacro:property name="prefix" value="$(arg prefix)"/>
      <xacro:property name="half" value="${(1 + 2*0.5) / 4}"/>
      <xacro:property name="big" value="true"/>
      <xacro:property name="squared" value="${half**2}"/>
      <link name="${prefix}base"/><link name="${prefix}tip"/>
      <xacro:if value="${half == 0.5 and big}"><link name="extra"/>
        <joint name="e" type="fixed"><parent link="left_base"/><child link="extra"/></joint>
      </xacro:if>
      <xacro:unless value="${big}"><link name="never"/></xacro:unless>
      <joint name="j" type="revolute"><parent link="${prefix}base"/><child link="${prefix}tip"/>
        <origin xyz="${-half} 0 ${sin(radians(30)) + squared}" rpy="0 0 ${pi/2}"/>
        <limit lower="${-pi}" upper="${2*half}"/></joint>
      </robot>"""
    tree = build_tree(read_description(text))
    assert set(tree.links) == {"left_base", "left_tip", "extra"}
    joint = tree.joints["j"]
    assert joint.origin[:3, 3] == pytest.approx([-0.5, 0.0, 0.75])
    assert (joint.lower, joint.upper) == pytest.approx((-math.pi, 1.0))


def test_a_prefix_without_a_value_is_taken_as_none_and_said():
    text = diff_drive().text().replace('"left_wheel', '"${ns}left_wheel')
    description = read_description(text)
    assert "left_wheel" in {link.get("name") for link in description.root.findall("link")}
    assert any("'ns'" in warning and "xacro FILE" in warning for warning in description.warnings)


def test_nesting_and_size_are_limited(monkeypatch):
    deep = "<robot>" + "<a>" * 100 + "</a>" * 100 + "</robot>"
    with pytest.raises(UrdfError, match="nested deeper"):
        read_description(deep)
    monkeypatch.setattr("coterie_core.urdf.reading.MAX_BYTES", 1000)
    with pytest.raises(UrdfError, match="larger than"):
        read_description(ARM)


def test_thousands_of_links_are_no_problem():
    urdf = diff_drive()
    parent = "base_link"
    for k in range(3000):
        urdf.link(f"part_{k}").joint(f"fix_{k}", "fixed", parent, f"part_{k}", (0, 0, 1e-4))
        parent = f"part_{k}" if k % 10 else "base_link"
    found = resume_of(urdf.text(), samples=100)
    assert found.mobility.kind == "wheels"
    assert found.mobility.height == pytest.approx(0.27, abs=0.01)


def test_a_long_chain_of_joints_does_not_exhaust_the_stack():
    urdf = Urdf("snake").link("s0")
    for k in range(1500):
        urdf.link(f"s{k + 1}")
        urdf.joint(f"j{k}", "fixed" if k % 100 else "revolute", f"s{k}", f"s{k + 1}", (0.01, 0, 0),
                   limit=(-1, 1))  # fmt: skip
    tree = build_tree(read_description(urdf.text()))
    assert len(tree.chain("s1500")) == 1500


def test_meshes_are_read_below_the_folder_only(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "robot" / "meshes").mkdir(parents=True)
    (tmp_path / "pkg" / "arm_description").mkdir(parents=True)
    trimesh.creation.box(extents=(0.6, 0.4, 0.2)).export(tmp_path / "robot" / "meshes" / "body.stl")
    trimesh.creation.box(extents=(2.0, 2.0, 2.0)).export(tmp_path / "outside.stl")
    trimesh.creation.icosphere(radius=500.0).export(
        tmp_path / "pkg" / "arm_description" / "big.stl"
    )
    (tmp_path / "robot" / "meshes" / "broken.obj").write_bytes(b"\x00\xff" * 20)
    (tmp_path / "robot" / "meshes" / "link.stl").symlink_to(tmp_path / "outside.stl")
    names = {
        "body": "meshes/body.stl", "out": "../outside.stl", "abs": str(tmp_path / "outside.stl"),
        "net": "http://example.org/x.stl", "gone": "package://nobody/meshes/x.stl",
        "bad": "meshes/broken.obj", "sym": "meshes/link.stl",
    }  # fmt: skip
    urdf = diff_drive()
    for name, file in names.items():
        urdf.link(name).joint(f"{name}_joint", "fixed", "base_link", name, (0, 0, 0.2))
        urdf.add_mesh(name, file)
    urdf.link("head").joint("head_joint", "fixed", "base_link", "head", (0, 0, 0.6))
    urdf.add_mesh("head", "package://arm_description/big.stl", 0.0001)
    path = tmp_path / "robot" / "r.urdf"
    path.write_text(urdf.text())
    found = resume_of(path, packages=[tmp_path / "pkg"])
    assert found.mobility.radius < 0.5
    assert found.mobility.height == pytest.approx(0.65, abs=0.005)
    missing = next(warning for warning in found.warnings if "meshes not read" in warning)
    for name in set(names) - {"body"}:
        assert name in missing
    assert "body" not in missing.split(":")[1]
