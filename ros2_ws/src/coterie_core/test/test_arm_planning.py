"""Ways of an arm among boxes: free of collisions, around what is in between, or refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from coterie_core.geometry import Box
from coterie_core.kinematics.arm import Arm, NoArm, OutOfReach
from coterie_core.kinematics.planning import Blocked, find_way
from coterie_core.kinematics.space import HELD, ArmSpaces
from coterie_core.urdf.tree import tree_of
from coterie_fixtures.urdfs import Urdf

PILLAR = Box((0.55, 0.0, 0.6), (0.1, 0.1, 1.2))
LEFT, RIGHT = (0.45, 0.45, 0.5), (0.45, -0.45, 0.5)


def robot(shapes: bool = True) -> Urdf:
    """Return an arm of five joints on a block, its parts as boxes or without any shape."""
    urdf = Urdf("r").link("base_link", "box", (0.3, 0.3, 0.3), (0, 0, 0.15))
    before, at = "base_link", (0.0, 0.0, 0.35)
    for k, (axis, length) in enumerate(
        [("z", 0.0), ("y", 0.35), ("y", 0.35), ("y", 0.1), ("x", 0.0)]
    ):
        name = f"part_{k}"
        box = ("box", (length, 0.05, 0.05), (length / 2.0, 0, 0)) if shapes and length else ()
        urdf.link(name, *box)
        turns = tuple(float(axis == each) for each in "xyz")
        urdf.joint(f"j{k}", "revolute", before, name, at, axis=turns, limit=(-2.6, 2.6))
        before, at = name, (length, 0.0, 0.0)
    return urdf.link("tool0").joint("flange", "fixed", before, "tool0", (0.05, 0, 0))


def checked(space, start, way) -> None:
    """Hold every posture between those of a way against pinocchio's shapes, finer than planned."""
    rows = [start, *way]
    for a, b in itertools.pairwise(rows):
        for share in np.linspace(0.0, 1.0, 97):
            assert space.touching(a + share * (b - a)) is None


@pytest.fixture(scope="module")
def arm() -> Arm:
    return Arm(tree_of(robot().text()), "base_link")


def posture(arm: Arm, point, space) -> np.ndarray:
    rows = [arm.chain.row(found) for found in arm.reach(point, arm.rest)]
    return next(row for row in rows if space.touching(row) is None)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_pillar_in_between_is_passed(arm, seed):
    space = ArmSpaces(arm).among({}, [("pillar", PILLAR)])
    start, goal = posture(arm, RIGHT, space), posture(arm, LEFT, space)
    _, met = space.way(start, goal)
    assert met is not None and "pillar" in met
    way = find_way(space, start, [goal], seed=seed)
    assert len(way) > 1 and np.array_equal(way[-1], goal)
    checked(space, start, way)
    empty = ArmSpaces(arm).among({})
    assert len(find_way(empty, start, [goal], seed=seed)) == 1


def test_an_end_inside_of_something_is_refused_by_name(arm):
    crate = Box(LEFT, (0.3, 0.3, 0.3))
    space = ArmSpaces(arm).among({}, [("crate", crate)])
    ends = [arm.chain.row(found) for found in arm.reach(LEFT, arm.rest)]
    with pytest.raises(Blocked, match="would hit crate"):
        find_way(space, arm.chain.row({}), ends)


def test_what_encloses_the_arm_keeps_it_in(arm):
    walls = [
        ("wall", Box((0.55, 0.0, 0.5), (0.8, 0.06, 2.4))),
        ("wall", Box((-0.55, 0.0, 0.5), (0.8, 0.06, 2.4))),
        ("wall", Box((0.0, 0.0, 1.3), (1.8, 0.06, 1.4))),
    ]
    space = ArmSpaces(arm).among({}, walls)
    start, goal = posture(arm, RIGHT, space), posture(arm, LEFT, space)
    with pytest.raises(Blocked, match="would hit wall on the way, and no way around was found"):
        find_way(space, start, [goal])


def test_parts_without_shapes_are_bones_and_the_floor_counts():
    bare = Arm(tree_of(robot(shapes=False).text()), "base_link")
    spaces = ArmSpaces(bare)
    start = bare.chain.row({})
    assert spaces.among({}, [("shelf", Box((0.5, 0.0, 0.35), (0.1, 0.6, 0.02)))]).touching(start)
    assert spaces.among({}).touching(start) is None
    down = bare.chain.row({"j1": 1.0})
    hit = spaces.among({}).touching(down)
    assert hit is not None and "stands on" in hit[1]


def test_an_arm_that_leans_on_something_may_leave_it_and_what_it_holds_counts(arm):
    start = arm.chain.row({"j1": -0.4})
    leaning = ("table", Box((*arm.chain.points(start[None])[0, :2], 0.2), (0.3, 0.6, 0.85)))
    space = ArmSpaces(arm).among({}, [leaning])
    assert space.touching(start) is not None
    up = arm.chain.row({"j1": -1.2})
    assert len(find_way(space, start, [up])) == 1
    with pytest.raises(Blocked):
        find_way(space, start, [arm.chain.row({"j1": -0.3})])
    above = Box((*arm.chain.points(up[None])[0, :2], 1.25), (0.2, 0.2, 0.1))
    assert ArmSpaces(arm).among({}, [("lamp", above)]).touching(up) is None
    held = Box((0.0, 0.0, 0.0), (0.3, 0.3, 0.5))
    hit = ArmSpaces(arm).among({}, [("lamp", above)], held).touching(up)
    assert hit == (HELD, "lamp")


def test_joints_that_turned_several_times_count_as_they_stand():
    wheel = robot()
    for joint in wheel.root.iter("joint"):
        if joint.get("name") == "j0":
            joint.set("type", "continuous")
    arm = Arm(tree_of(wheel.text()), "base_link")
    assert arm.chain.row({"j0": 7.0})[0] == pytest.approx(7.0 - 2.0 * np.pi)
    with pytest.raises(OutOfReach, match="stays"):
        arm.reach((3.0, 0.0, 0.5), arm.rest)


def test_robots_whose_arm_cannot_be_told_are_refused():
    legs = Urdf("dog").link("base_link", "box", (0.5, 0.3, 0.1))
    for name in "abcd":
        before = "base_link"
        for k in range(3):
            legs.link(f"{name}{k}").joint(
                f"{name}_j{k}", "revolute", before, f"{name}{k}", (0.2, 0, 0), limit=(-1, 1)
            )
            before = f"{name}{k}"
    with pytest.raises(NoArm, match="name the link that grasps"):
        Arm(tree_of(legs.text()), "base_link")
    assert Arm(tree_of(legs.text()), "base_link", "b2").names == ("b_j0", "b_j1", "b_j2")
