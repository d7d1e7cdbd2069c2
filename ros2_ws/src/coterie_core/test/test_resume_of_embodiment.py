"""A robot without a URDF has a resume all the same, and gets its body back from it."""

from __future__ import annotations

import math

import pytest

from coterie_core.embodiment import Arm, Camera, Embodiment
from coterie_core.resume import Resume
from coterie_core.workspace import Workspace

BODY = Embodiment(
    name="porter",
    mobility="wheels",
    radius=0.31,
    height=1.4,
    step_height=0.03,
    linear_speed=0.8,
    angular_speed=1.2,
    cameras=(Camera(name="front", mount_height=1.1, pitch=0.4, hfov=1.2, width=320, height=240),),
    arm=Arm(reach=0.9, min_height=0.1, max_height=1.3, payload=2.0),
)


def test_the_body_comes_back_with_its_cylinder_as_workspace():
    resume = Resume.of_embodiment(BODY)
    again = Resume.from_json(resume.to_json()).embodiment()
    assert again.model_copy(update={"arm": None}) == BODY.model_copy(update={"arm": None})
    assert again.arm is not None
    assert again.arm.payload == 2.0
    assert again.arm.reach == pytest.approx(0.9, abs=0.011)
    for radius, height in [(0.0, 0.11), (0.89, 1.29), (0.5, 0.7)]:
        assert again.arm.reaches(radius, height)
    for radius, height in [(0.91, 0.7), (0.5, 0.09), (0.5, 1.31)]:
        assert not again.arm.reaches(radius, height)


def test_it_says_where_the_numbers_are_from_and_knows_the_field_of_view():
    resume = Resume.of_embodiment(BODY)
    assert set(resume.mobility.evidence.values()) >= {"from the embodiment"}
    camera = resume.perception.cameras[0]
    assert camera.vfov == pytest.approx(2 * math.atan(math.tan(0.6) * 240 / 320))
    assert camera.heights == (1.1, 1.1)
    assert resume.manipulation.evidence["arms"] == "from the embodiment"


def test_a_workspace_is_kept_and_no_arm_stays_no_arm():
    space = Workspace(cell=0.05, bottom=0.2, rows=(((4, 9),), ((3, 5), (8, 8))))
    arm = Arm(reach=0.5, max_height=0.3, workspace=space)
    resume = Resume.of_embodiment(BODY.model_copy(update={"arm": arm}))
    assert resume.manipulation.arms[0].workspace == space
    bare = Resume.of_embodiment(BODY.model_copy(update={"arm": None}))
    assert bare.manipulation.arms == ()
    assert bare.embodiment().arm is None


def test_a_flyer_and_a_climber_stay_what_they_are():
    for kind, step in (("air", 0.0), ("legs", 0.2), ("legs", 0.1)):
        body = Embodiment(name="x", mobility=kind, step_height=step, flight_height=1.5, arm=None)
        resume = Resume.of_embodiment(body)
        assert resume.mobility.climbs_stairs == body.climbs_stairs
        assert resume.embodiment() == body
