"""What a robot looks like: primitives and meshes at rest, and nothing of what cannot be read."""

import numpy as np
import pytest

from coterie_core.urdf.tree import tree_of
from coterie_core.urdf.visual import surfaces

URDF = """
<robot name="r">
  <link name="base">
    <visual><origin xyz="0 0 0.5"/><geometry><box size="0.4 0.2 1"/></geometry></visual>
    <collision><geometry><sphere radius="3"/></geometry></collision>
  </link>
  <link name="arm"><collision><geometry><cylinder radius="0.1" length="1"/></geometry></collision>
  </link>
  <link name="head"><visual><geometry><mesh filename="{mesh}" scale="2 2 2"/></geometry></visual>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 1" rpy="0 1.5707963 0"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="neck" type="fixed"><parent link="base"/><child link="head"/>
    <origin xyz="0 0 2"/></joint>
</robot>
"""


def bounds(mesh: str, folder):
    parts = [part.bounds for part in surfaces(tree_of(URDF.format(mesh=mesh)), [folder])]
    return np.min(parts, axis=0)[0], np.max(parts, axis=0)[1]


def test_visual_shapes_stand_where_the_joints_put_them(tmp_path):
    (tmp_path / "head.obj").write_text("v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 0.1\nf 1 2 3\nf 1 2 4\n")
    low, high = bounds("head.obj", tmp_path)
    assert low == pytest.approx((-0.5, -0.1, 0.0), abs=1e-6)
    assert high == pytest.approx((0.5, 0.2, 2.2), abs=1e-6)


def test_what_cannot_be_read_is_left_out(tmp_path):
    (tmp_path.parent / "secret.obj").write_text("v 0 0 9\nv 1 0 9\nv 0 1 9\nf 1 2 3\n")
    for name in ("../secret.obj", "none.obj", "http://elsewhere.example/head.obj"):
        assert bounds(name, tmp_path)[1][2] < 1.2
    assert surfaces(tree_of('<robot name="r"><link name="base"/></robot>')) == []
