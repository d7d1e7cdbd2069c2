"""Robots written for xacro: macros, includes and packages, in a process that may read no more."""

from __future__ import annotations

import pytest

from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.reading import read_description
from coterie_core.urdf.tree import build_tree
from robot_resume.builder import resume_of

NS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
WHEELS = f"""<robot {NS}>
  <xacro:macro name="wheel" params="side y *shape">
    <link name="${{side}}_wheel"><visual><xacro:insert_block name="shape"/></visual>
      <collision><xacro:insert_block name="shape"/></collision></link>
    <joint name="${{side}}_wheel_joint" type="continuous">
      <parent link="base_link"/><child link="${{side}}_wheel"/>
      <origin xyz="0 ${{y}} ${{radius}}" rpy="${{-pi/2}} 0 0"/><axis xyz="0 0 1"/></joint>
  </xacro:macro>
</robot>"""
MAIN = f"""<robot name="cart" {NS}>
  <xacro:include filename="$(find cart_parts)/urdf/wheel.xacro"/>
  <xacro:property name="sizes" value="${{xacro.load_yaml('$(find cart_parts)/sizes.yaml')}}"/>
  <xacro:property name="radius" value="${{sizes['radius']}}"/>
  <link name="base_link"><collision><origin xyz="0 0 0.2"/>
    <geometry><box size="0.5 0.3 0.2"/></geometry></collision></link>
  <xacro:wheel side="left" y="0.2"><geometry><cylinder radius="${{radius}}" length="0.04"/>
    </geometry></xacro:wheel>
  <xacro:wheel side="right" y="-0.2"><geometry><cylinder radius="${{radius}}" length="0.04"/>
    </geometry></xacro:wheel>
</robot>"""


@pytest.fixture
def cart(tmp_path):
    """A robot of two packages, as makers lay them out."""
    own, parts = tmp_path / "src" / "cart_description", tmp_path / "src" / "cart_parts"
    (parts / "urdf").mkdir(parents=True)
    (own / "urdf").mkdir(parents=True)
    for folder in (own, parts):
        (folder / "package.xml").write_text(f"<package><name>{folder.name}</name></package>")
    (parts / "urdf" / "wheel.xacro").write_text(WHEELS)
    (parts / "sizes.yaml").write_text("radius: 0.08\n")
    file = own / "urdf" / "cart.urdf.xacro"
    file.write_text(MAIN)
    return file


def test_macros_includes_and_yaml_of_packages_are_expanded(cart):
    resume = resume_of(cart, packages=[cart.parents[2]], samples=100)
    assert resume.mobility.kind == "wheels"
    assert resume.mobility.step_height == pytest.approx(0.08 * (1 - 0.5**0.5), abs=0.001)
    assert resume.mobility.height == pytest.approx(0.3, abs=0.01)


def test_a_package_that_is_not_known_is_named_with_the_remedy(cart):
    with pytest.raises(UrdfError, match=r"find cart_parts.*--package"):
        read_description(cart)


def test_includes_relative_to_the_file_need_nothing(cart, tmp_path):
    (cart.parent / "wheel.xacro").write_text(WHEELS)
    sizes = next(line for line in MAIN.splitlines(keepends=True) if "load_yaml" in line)
    text = MAIN.replace("$(find cart_parts)/urdf/", "").replace(sizes, "")
    cart.write_text(text.replace("${sizes['radius']}", "0.1"))
    assert set(build_tree(read_description(cart)).links) >= {"left_wheel", "right_wheel"}


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        ("""<link name="${xacro.load_yaml('SECRET')}"/>""", "outside of the folders"),
        ("""<xacro:include filename="SECRET"/>""", "outside of the folders|multiple root|syntax"),
        ("""<link name="$(env HOME)"/>""", "HOME"),
        ("""<link name="${().__class__.__bases__}"/>""", "__"),
        ("""<link name="${'x' * 10**10}"/>""", "xacro"),
        ("""<link name="${9**9**9}"/>""", "xacro"),
    ],
)  # fmt: skip
def test_a_document_reads_and_runs_nothing_else(tmp_path, monkeypatch, inside, told):
    secret = tmp_path / "elsewhere" / "secret.yaml"
    secret.parent.mkdir()
    secret.write_text("token-1234")
    folder = tmp_path / "robot"
    folder.mkdir()
    file = folder / "robot.xacro"
    file.write_text(f'<robot name="r" {NS}>{inside.replace("SECRET", str(secret))}</robot>')
    monkeypatch.setattr("coterie_core.urdf.xacro.TIMEOUT_S", 3.0)
    with pytest.raises(UrdfError, match=told) as caught:
        read_description(file)
    assert "token-1234" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_macro_that_calls_itself_ends(tmp_path):
    file = tmp_path / "robot.xacro"
    file.write_text(
        f'<robot name="r" {NS}><xacro:macro name="m" params="n"><xacro:m n="${{n + 1}}"/>'
        f'</xacro:macro><xacro:m n="0"/></robot>'
    )
    with pytest.raises(UrdfError, match="xacro"):
        read_description(file)


def test_xacro_by_another_prefix_is_expanded_too():
    text = (
        '<robot name="r" xmlns:x="http://www.ros.org/wiki/xacro"><x:macro name="part" params="s">'
        '<link name="${s}_link"/></x:macro><x:part s="only"/></robot>'
    )
    assert set(build_tree(read_description(text)).links) == {"only_link"}


VARIANT = f"""<robot name="r" {NS}>
  <xacro:arg name="arm" default="false"/><xacro:arg name="size" default="0.5"/>
  <link name="base_link"/>
  <xacro:if value="$(arg arm)"><link name="arm_link"/></xacro:if>
  <xacro:if value="$(arg DEBUG)"><link name="debug_link"/></xacro:if>
</robot>"""


def test_arguments_are_given_and_those_at_their_defaults_told(tmp_path):
    file = tmp_path / "robot.xacro"
    file.write_text(VARIANT)
    with pytest.raises(UrdfError, match=r"argument.*DEBUG.*--arg DEBUG:="):
        read_description(file)
    file.write_text(VARIANT.replace('name="arm_link"/>', 'name="$(arg tag)arm_link"/>'))
    given = read_description(file, arguments={"DEBUG": "false", "arm": "true"})
    assert {link.get("name") for link in given.root.iter("link")} == {"base_link", "arm_link"}
    told = " | ".join(given.warnings)
    assert "size:=0.5" in told and "--arg" in told and "arm:=" not in told
    assert "'tag'" in told and "--arg tag:=" in told, "what has no default is taken as empty"
    with pytest.raises(UrdfError, match=r"no argument 'arms'.*arm, size"):
        read_description(file, arguments={"DEBUG": "false", "arms": "true"})


def test_a_plain_urdf_takes_no_arguments():
    with pytest.raises(UrdfError, match="no argument 'arm'"):
        read_description('<robot name="r"><link name="base"/></robot>', arguments={"arm": "true"})


def test_a_refusal_says_it_once(cart):
    with pytest.raises(UrdfError) as caught:
        read_description(cart)
    assert str(caught.value).count("cart_parts") == 1 and "NotAllowed" not in str(caught.value)
