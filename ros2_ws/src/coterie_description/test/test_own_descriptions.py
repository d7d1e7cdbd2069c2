"""The URDFs of coterie_description: loadable, as large as published."""

from __future__ import annotations

import pytest

from coterie_description import ROBOTS, overrides_path, urdf_path

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("name", ROBOTS)
def test_urdf_parser_and_pinocchio_load_them(name: str) -> None:
    urdf = pytest.importorskip("urdf_parser_py.urdf")
    pinocchio = pytest.importorskip("pinocchio")
    assert overrides_path(name).is_file()
    robot = urdf.URDF.from_xml_file(str(urdf_path(name)))
    model = pinocchio.buildModelFromUrdf(str(urdf_path(name)))
    moving = [joint for joint in robot.joints if joint.type != "fixed"]
    assert model.njoints - 1 == len(moving)
    assert any(link.name.endswith("_optical_frame") for link in robot.links)
    assert all(joint.limit is not None for joint in moving)


def test_an_unknown_robot_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(KeyError, match="did you mean 'stretch'"):
        urdf_path("strech")


def test_telescope_and_lift_have_the_published_travel() -> None:
    urdf = pytest.importorskip("urdf_parser_py.urdf")
    robot = urdf.URDF.from_xml_file(str(urdf_path("stretch")))
    joints = {joint.name: joint for joint in robot.joints}
    segments = [joint for name, joint in joints.items() if name.startswith("arm_segment")]
    assert sum(joint.limit.upper for joint in segments) == pytest.approx(0.52)
    assert sum(joint.mimic is not None for joint in segments) == len(segments) - 1
    assert joints["lift_joint"].limit.upper == pytest.approx(1.1)
    fetch = urdf.URDF.from_xml_file(str(urdf_path("fetch")))
    lift = next(joint for joint in fetch.joints if joint.name == "torso_lift_joint")
    assert lift.limit.upper == pytest.approx(0.386)
