"""The executive: what its trees offer step by step, drawn, told and exported."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from py_trees import display

from coterie_core.embodiment import Arm, Embodiment
from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation
from coterie_core.resume import Resume
from coterie_core.skills import Detect, NavigateTo, Open, Outcome, Pick, Place, SkillResult
from coterie_core.tasks import Obstacle, SubTask, Thing
from coterie_execution.behavior_tree import to_xml
from coterie_execution.executive import TRIES, Executive
from coterie_execution.options import Purpose
from coterie_execution.own_tools import OwnTools
from coterie_execution.trees import trees
from coterie_fixtures.two_room_map import KITCHEN, two_rooms
from coterie_world.scene import LabelBelief, SceneObject
from coterie_world.team_map import TeamMap

pytestmark = pytest.mark.quick

BODY = Embodiment(name="rover", radius=0.2, arm=Arm(reach=0.8, max_height=1.5))
DONE = SkillResult(Outcome.SUCCEEDED, duration=1.0)


def failed(outcome):
    return SkillResult(outcome, "why", duration=1.0)


@pytest.fixture
def rover():
    """An executive in the kitchen, with a mug on the counter and milk in the closed cabinet."""
    known = TeamMap(two_rooms(), "rover")
    for id_, at, holder in (
        ("mug-1", (2.0, 0.4, 0.95), {"support": "counter-1"}),
        ("milk-1", (0.4, 3.4, 0.55), {"container": "cabinet-1"}),
    ):
        label = LabelBelief.of(id_.removesuffix("-1"))
        thing = SceneObject(id_, label, Box(at, (0.1, 0.1, 0.1)), "kitchen", **holder)
        known.scene.add_object(thing)
    made = Executive("rover", OwnTools("rover", Resume.of_embodiment(BODY), known))
    made.pose = Pose(KITCHEN)
    return made


def fetch(name="mug"):
    return SubTask(id=f"fetch {name}", kind="pick", object=Thing(label=name, id=f"{name}-1"))


def put(name="mug"):
    thing, onto = Thing(label=name, id=f"{name}-1"), Thing(label="table", id="table-1")
    return SubTask(id="put", kind="place", object=thing, receptacle=onto)


def go_on(rover, one, result=DONE):
    """Do the next step with a result; return it."""
    step = rover.next_step(one)
    if isinstance(step.skill, NavigateTo) and result.ok:
        rover.pose = Pose(step.skill.position, step.skill.yaw or 0.0)
    rover.ended(step, result)
    return step


def test_it_drives_there_and_takes_it(rover):
    assert isinstance(go_on(rover, fetch()).skill, NavigateTo)
    assert isinstance(go_on(rover, fetch()).skill, Pick)
    assert rover.next_step(fetch()).effect == "done"


@pytest.mark.parametrize("turned", [DONE, failed(Outcome.BLOCKED)])
def test_it_faces_what_its_hand_is_to_take(rover, turned):
    """No arm turns its base: who stands there with its back to it turns first, and only once."""
    go_on(rover, fetch())
    at = rover.pose
    rover.pose = Pose(at.position, at.yaw + 2.0)
    turn = go_on(rover, fetch(), turned)
    assert turn.step.purpose is Purpose.TURN and turn.skill.position == at.position
    assert turn.skill.yaw == pytest.approx(at.yaw, abs=0.1)
    assert isinstance(rover.next_step(fetch()).skill, Pick)


def test_what_is_closed_is_opened_first(rover):
    assert isinstance(go_on(rover, fetch("milk")).skill, NavigateTo)
    door = go_on(rover, fetch("milk"))
    assert isinstance(door.skill, Open) and door.step.purpose is Purpose.OPEN_FIRST
    assert door.step.about == "cabinet-1"
    rover.map.set_open("cabinet-1", True)
    assert isinstance(rover.next_step(fetch("milk")).skill, Pick)


def test_what_was_put_down_is_looked_at(rover):
    rover.holding = "mug-1"
    rover.map.take("mug-1")
    assert isinstance(go_on(rover, put()).skill, NavigateTo)
    assert isinstance(go_on(rover, put()).skill, Place)
    rover.holding = ""
    rover.map.put("mug-1", "table-1", (6.5, 2.0, 0.75))
    assert go_on(rover, put()).skill == Detect("mug")
    assert rover.next_step(put()).effect == "act", "a mug that is seen may be another one"
    x, y, z = rover.map.thing("mug-1").box.center
    mug = Detection("mug", 0.9, Box((x + 0.1, y, z), (0.1, 0.1, 0.1)))
    rover.map.observe(Observation("rover", 1, 1.0, rover.pose, "", None, (mug,)))
    assert go_on(rover, put()).step.purpose is Purpose.CONFIRMED


@pytest.mark.parametrize(
    ("outcome", "purpose"),
    [
        (Outcome.OUT_OF_REACH, Purpose.OTHER_SIDE),
        (Outcome.NOT_VISIBLE, Purpose.OTHER_SIDE),
        (Outcome.HAND_FULL, Purpose.EMPTY_HAND),
        (Outcome.BLOCKED, Purpose.WAIT),
        (Outcome.FAULT, Purpose.DO),
    ],
)
def test_each_failure_has_its_remedy(rover, outcome, purpose):
    go_on(rover, fetch())
    go_on(rover, fetch(), failed(outcome))
    if outcome is Outcome.HAND_FULL:
        assert go_on(rover, fetch()).step.purpose is Purpose.TURN, "the floor is free beside it"
    assert rover.next_step(fetch()).step.purpose is purpose


def test_tries_are_bounded_and_end_with_the_typed_reason(rover):
    go_on(rover, fetch())
    for _ in range(TRIES):
        step = go_on(rover, fetch(), failed(Outcome.OUT_OF_REACH))
        if step.effect == "give up":
            break
    assert step.effect == "give up" and step.obstacle in (Obstacle.TOO_FAR_IN, Obstacle.NO_PATH)
    assert isinstance(rover.next_step(fetch()).skill, (NavigateTo, Pick)), "it may begin anew"


def test_what_no_body_gets_to_is_given_back_untried(rover):
    rover.map.scene.objects["mug-1"].box = Box((2.0, 0.4, 2.3), (0.1, 0.1, 0.1))
    rover.map.version += 1
    end = rover.next_step(fetch())
    assert end.effect == "give up" and end.obstacle is Obstacle.TOO_HIGH


def test_a_step_tells_which_nodes_of_the_tree_it_comes_from(rover):
    assert rover.next_step(fetch()).path.split(" > ")[:2] == ["pick", "without waiting"]
    assert rover.next_step(fetch()).path.endswith("by hand > go to base pose")


def test_the_tree_is_drawn_with_the_way_that_the_last_tick_took(rover):
    root = rover.trees["pick"].root
    before = display.unicode_tree(root, show_status=True)
    rover.next_step(fetch())
    lines = display.unicode_tree(root, show_status=True).splitlines()
    assert lines != before.splitlines()
    going = next(line for line in lines if "go to base pose" in line)
    assert going.endswith("[*]"), "it runs"
    doing = next(line for line in lines if "do it" in line)
    assert doing.endswith("[-]"), "it was not come to"


def test_all_trees_are_exported_as_xml_for_behaviortree_cpp():
    made = trees()
    root = ElementTree.fromstring(to_xml(made))
    assert root.tag == "root" and root.get("BTCPP_format") == "4"
    assert [tree.get("ID") for tree in root] == sorted(made)
    tags = {node.tag for tree in root for node in tree.iter()}
    assert tags == {
        "BehaviorTree", "ReactiveFallback", "ReactiveSequence", "Condition", "Action",
    }  # fmt: skip
    for tree in root:
        (top,) = tree
        nodes = list(top.iter())
        assert len(nodes) == len(list(made[tree.get("ID")].root.iterate()))
        assert all(node.get("ID") for node in nodes if node.tag in ("Condition", "Action"))
