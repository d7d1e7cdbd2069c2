"""Links of a description at rest, and a clock that never goes back."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie_core.embodiment import Arm, Embodiment
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.tree import tree_of
from habitat_bridge.clock_file import ClockFile
from habitat_bridge.links import posed_links
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.urdf import urdf_of

LEGGED = """<robot name="x">
  <link name="base_footprint"/><link name="base_link"/><link name="mast"/><link name="eye"/>
  <joint name="a" type="fixed"><parent link="base_footprint"/><child link="base_link"/>
    <origin xyz="0 0 0.2" rpy="0 0 1.5707963267948966"/></joint>
  <joint name="b" type="prismatic"><parent link="base_link"/><child link="mast"/>
    <origin xyz="1 0 0"/><axis xyz="0 0 2"/><limit lower="0.5" upper="1" effort="1" velocity="1"/>
  </joint>
  <joint name="c" type="revolute"><parent link="mast"/><child link="eye"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="-0.5" effort="1" velocity="1"/></joint>
</robot>"""


def test_a_footprint_hangs_below_the_base_and_joints_rest_within_their_limits() -> None:
    links = {
        child: (parent, at, turn) for parent, child, at, turn in posed_links(tree_of(LEGGED), {})
    }
    assert set(links) == {"base_footprint", "mast", "eye"}
    parent, at, turn = links["base_footprint"]
    assert parent == "base_link" and at == pytest.approx((0.0, 0.0, -0.2))
    assert 2.0 * math.atan2(turn[2], turn[3]) == pytest.approx(-math.pi / 2)
    assert links["mast"][1] == pytest.approx((1.0, 0.0, 0.5))
    assert 2.0 * math.atan2(links["eye"][2][2], links["eye"][2][3]) == pytest.approx(-0.5)


def test_they_are_where_pinocchio_puts_them() -> None:
    pinocchio = pytest.importorskip("pinocchio")
    description = pytest.importorskip("coterie_description")
    for file in sorted((Path(description.__file__).parent / "urdf").glob("*.urdf")):
        model = pinocchio.buildModelFromUrdf(str(file))
        data = model.createData()
        rest = np.clip(pinocchio.neutral(model), model.lowerPositionLimit, model.upperPositionLimit)
        pinocchio.framesForwardKinematics(model, data, rest)
        base = data.oMf[model.getFrameId("base_link")]
        poses = {"base_link": np.eye(4)}
        for parent, child, at, turn in posed_links(tree_of(file.read_text()), {}):
            poses[child] = (
                poses[parent] @ pinocchio.XYZQUATToSE3(np.array([*at, *turn])).homogeneous
            )
            there = (base.inverse() * data.oMf[model.getFrameId(child)]).homogeneous
            assert poses[child] == pytest.approx(there, abs=1e-6), (file.name, child)


@pytest.mark.parametrize("body", [*EMBODIMENTS.values(), Embodiment(name="a", arm=Arm())])
def test_every_link_of_our_own_descriptions_has_a_frame(body: Embodiment) -> None:
    urdf = urdf_of("rover", body)
    links = {child for _, child, _, _ in posed_links(tree_of(urdf), {})} | {"base_link"}
    assert urdf.count("<link name=") == len(links)


@settings(max_examples=80, deadline=None, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(st.integers(0, len(LEGGED)), st.integers(0, 60), st.sampled_from(
    ["", "\0", "<", "nan", "1e999", "1 2", "&x;", "base_link", "x" * 9000, 'link="eye"']
))  # fmt: skip
def test_broken_descriptions_are_refused_in_one_line(at: int, length: int, piece: str) -> None:
    text = LEGGED[:at] + piece + LEGGED[at + length :]
    try:
        posed_links(tree_of(text), {})
    except UrdfError as error:
        assert len(str(error)) < 2000 and "\n" not in str(error)


def test_a_circle_of_links_is_refused() -> None:
    circle = LEGGED.replace('<parent link="base_footprint"/>', '<parent link="eye"/>')
    with pytest.raises(UrdfError, match="two parents") as error:
        tree_of(circle.replace('child link="eye"', 'child link="mast"'))
    assert len(str(error.value)) < 300


def test_time_begins_after_all_that_was_announced(tmp_path: Path) -> None:
    assert ClockFile(None).start == 0.0
    first = ClockFile(tmp_path / "world")
    assert first.start == 0.0
    for k in range(2000):
        first.announce(0.1 * k)
    second = ClockFile(tmp_path / "world")
    assert second.start > 199.9
    second.announce(second.start + 0.1)
    assert ClockFile(tmp_path / "world").start > second.start
    for text in ("nan", "-5", "1e300", "soon", "\0"):
        (tmp_path / "world" / "clock").write_text(text)
        assert ClockFile(tmp_path / "world").start == 0.0
