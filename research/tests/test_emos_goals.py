"""Sub-goals that hold and that do not, from geometry and what robots have detected."""

from __future__ import annotations

import pytest

from coterie_core.embodiment import Arm, Embodiment
from coterie_core.geometry import Box, Pose
from coterie_core.resume import Resume
from coterie_core.tasks import Predicate, Thing
from coterie_world.scene import AgentState, LabelBelief, Receptacle, SceneGraph, SceneObject
from research.bench.emos.predicates import holds

pytestmark = pytest.mark.quick


@pytest.fixture
def scene() -> SceneGraph:
    scene = SceneGraph()
    top = Receptacle("table-1/top", Box((2.0, 2.0, 0.7), (1.0, 1.0, 0.0)))
    table = Box((2.0, 2.0, 0.35), (1.0, 1.0, 0.7))
    scene.add_object(
        SceneObject("table-1", LabelBelief.of("table"), table, "r", "furniture", receptacles=[top])
    )
    mug = Box((2.0, 2.0, 0.75), (0.1, 0.1, 0.1))
    scene.add_object(SceneObject("mug-1", LabelBelief.of("mug"), mug, "r", support="table-1"))
    scene.agents["a"] = AgentState("a", Pose((3.6, 2.0, 0.0)))
    scene.agents["b"] = AgentState("b", Pose((9.0, 9.0, 0.0)))
    return scene


def goal(name: str, robot: str = "", object_id: str = "mug-1") -> Predicate:
    return Predicate(
        name=name, robot=robot,
        object=Thing(label="mug", id=object_id), receptacle=Thing(label="table", id="table-1"),
    )  # fmt: skip


def test_robots_are_at_things_within_a_metre_and_a_half(scene):
    assert not holds(goal("robot_at_object"), scene)  # 1.55 m from the mug
    assert holds(goal("robot_at_receptacle"), scene)  # 1.1 m from the table's edge
    scene.agents["a"].pose = Pose((3.5, 2.0, 0.0))
    assert holds(goal("robot_at_object"), scene)
    assert holds(goal("robot_at_object", "a"), scene)
    assert not holds(goal("robot_at_object", "b"), scene)
    scene.agents["a"].pose = Pose((3.5, 2.0, 2.8))  # upstairs
    assert not holds(goal("robot_at_object"), scene)


def test_a_hand_that_reaches_is_there(scene):
    body = Embodiment(name="a", arm=Arm(reach=1.8))
    assert holds(goal("robot_at_object"), scene, resumes={"a": Resume.of_embodiment(body)})


def test_things_rest_on_receptacles(scene):
    mug = scene.objects["mug-1"]
    assert holds(goal("object_at_receptacle"), scene)
    assert holds(goal("object_at_receptacle", object_id=""), scene)
    scene.agents["a"].holding = "mug-1"
    assert not holds(goal("object_at_receptacle"), scene)
    scene.agents["a"].holding = ""
    mug.support = ""
    assert holds(goal("object_at_receptacle"), scene)  # by geometry
    mug.box = Box((2.0, 2.0, 1.2), (0.1, 0.1, 0.1))
    assert not holds(goal("object_at_receptacle"), scene)
    mug.box = Box((2.0, 2.6, 0.75), (0.1, 0.1, 0.1))
    assert not holds(goal("object_at_receptacle"), scene)


def test_things_on_a_tray_on_the_table_are_on_the_table(scene):
    tray = Box((2.0, 2.0, 0.72), (0.4, 0.4, 0.04))
    scene.add_object(SceneObject("tray-1", LabelBelief.of("tray"), tray, "r", support="table-1"))
    scene.objects["mug-1"].support = "tray-1"
    assert holds(goal("object_at_receptacle"), scene)


def test_detections_count_by_id_or_label(scene):
    seen = goal("robot_detect_object")
    assert not holds(seen, scene)
    assert holds(seen, scene, detections={"a": ["mug-1"]})
    assert not holds(seen, scene, detections={"a": ["mug"], "b": []})
    any_mug = goal("robot_detect_object", "b", object_id="")
    assert holds(any_mug, scene, detections={"b": ["mug"]})
    assert holds(any_mug, scene, detections={"b": ["mug-1"]})
    assert not holds(any_mug, scene, detections={"a": ["mug-1"]})
