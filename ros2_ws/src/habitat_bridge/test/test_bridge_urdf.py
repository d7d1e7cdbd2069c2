"""Robot descriptions: well-formed trees with the sizes of the embodiment."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from coterie_core.embodiment import Arm, Camera, Embodiment
from habitat_bridge.robots import EMBODIMENTS
from habitat_bridge.urdf import urdf_of

TWO_EYES = Embodiment(
    name="two-eyed",
    radius=0.3,
    height=1.4,
    arm=Arm(reach=0.9, min_height=0.1, max_height=1.3),
    cameras=(Camera(pitch=0.3), Camera(name="rear", mount_forward=-0.2)),
)


@pytest.mark.parametrize("name", [*EMBODIMENTS, "two-eyed"])
def test_every_robot_is_one_tree_below_its_base(name):
    body = EMBODIMENTS.get(name, TWO_EYES)
    root = ElementTree.fromstring(urdf_of("r1", body))
    links = {link.get("name") for link in root.iter("link")}
    parents = {
        j.find("child").get("link"): j.find("parent").get("link") for j in root.iter("joint")
    }
    assert links - parents.keys() == {"base_link"}
    assert links == parents.keys() | {"base_link"}
    for camera in body.cameras:
        assert {f"{camera.name}_link", f"{camera.name}_optical_frame"} <= links
    assert ("hand_link" in links) == (body.arm is not None)


def test_sizes_are_those_of_the_embodiment():
    root = ElementTree.fromstring(urdf_of("r1", TWO_EYES))
    base = next(link for link in root.iter("link") if link.get("name") == "base_link")
    cylinder = base.find("collision/geometry/cylinder")
    assert float(cylinder.get("radius")) == 0.3 and float(cylinder.get("length")) == 1.4
    assert base.find("collision/origin").get("xyz") == "0 0 0.7"
    camera = next(j for j in root.iter("joint") if j.get("name") == "camera_link_joint")
    assert camera.find("origin").get("xyz") == "0 0 1.2"
    assert camera.find("origin").get("rpy") == "0 0.3 0"
    hand = next(j for j in root.iter("joint") if j.get("name") == "hand_link_joint")
    assert float(hand.find("limit").get("upper")) == 0.9


def test_a_urdf_parser_reads_it_and_the_optical_frame_looks_ahead_and_down():
    pinocchio = pytest.importorskip("pinocchio")
    import numpy as np

    model = pinocchio.buildModelFromXML(urdf_of("r1", TWO_EYES))
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, pinocchio.neutral(model))
    frame = data.oMf[model.getFrameId("camera_optical_frame")]
    ahead, right = frame.rotation[:, 2], frame.rotation[:, 0]
    assert ahead == pytest.approx([np.cos(0.3), 0.0, -np.sin(0.3)], abs=1e-6)
    assert right == pytest.approx([0.0, -1.0, 0.0], abs=1e-6)
    assert frame.translation == pytest.approx([0.0, 0.0, 1.2], abs=1e-6)
