"""Batched forward kinematics against pinocchio, inverse kinematics, and workspaces held to both."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from scipy.ndimage import binary_fill_holes
from scipy.spatial.transform import Rotation

from coterie_core.kinematics.chain import Chain
from coterie_core.kinematics.inverse import Target, solve
from coterie_core.kinematics.sampling import postures
from coterie_core.urdf.reading import read_description
from coterie_core.urdf.tree import build_tree
from coterie_fixtures.exact_reach import Kinematics
from coterie_fixtures.urdfs import Urdf, diff_drive, on_table, telescope, with_arm
from robot_resume.builder import analyse, resume_of

ROVER = with_arm(diff_drive()).text()
TABLE = on_table().text()


def random_robot(seed: int) -> str:
    """Return a chain of twelve joints of all kinds, two of which follow others, turned anyhow."""
    rng = np.random.default_rng(seed)
    urdf = Urdf("any").link("link_0")
    kinds = ["revolute", "continuous", "prismatic", "fixed"]
    for k in range(12):
        kind = kinds[int(rng.integers(4))] if k not in (2, 7) else "revolute"
        axis = rng.normal(size=3)
        urdf.link(f"link_{k + 1}")
        urdf.joint(
            f"joint_{k}", kind, f"link_{k}", f"link_{k + 1}", rng.uniform(-0.3, 0.3, 3).tolist(),
            rpy=rng.uniform(-3, 3, 3).tolist(), axis=(axis / np.linalg.norm(axis)).tolist(),
            limit=(-1.2, 0.9),
            mimic=("joint_2", -0.7, 0.2) if k == 7 else None,
        )  # fmt: skip
    return urdf.text()


def by_pinocchio(text: str, chain: Chain, positions: np.ndarray, tip: str) -> np.ndarray:
    """Return the tip's points with the model that pinocchio itself reads from the URDF."""
    model = pin.buildModelFromXML(read_description(text).xml())
    data = model.createData()
    points = []
    for row in positions:
        q = pin.neutral(model)
        for step in chain.steps:
            value = row[step.column] * step.scale + step.shift
            joint = model.joints[model.getJointId(step.joint.name)]
            if joint.nq == 2:
                q[joint.idx_q : joint.idx_q + 2] = math.cos(value), math.sin(value)
            else:
                q[joint.idx_q] = value
        pin.framesForwardKinematics(model, data, q)
        points.append(data.oMf[model.getFrameId(tip)].translation.copy())
    return np.array(points)


@pytest.mark.parametrize("seed", range(6))
def test_many_postures_at_once_give_what_pinocchio_gives_for_each(seed):
    text = random_robot(seed)
    tree = build_tree(read_description(text))
    chain = Chain(tree, "link_12")
    assert all(joint.name != "joint_7" for joint in chain.joints)
    positions = postures(chain.lower, chain.upper, 60, seed)[:60]
    expected = by_pinocchio(text, chain, positions, "link_12")
    assert chain.points(positions) == pytest.approx(expected, abs=1e-9)
    moves = chain.jacobians(positions)
    assert moves.tips == pytest.approx(expected, abs=1e-9)
    poses = np.array([chain.pose(row) for row in positions])
    assert poses[:, :3, 3] == pytest.approx(expected, abs=1e-9)
    assert moves.rotations == pytest.approx(poses[:, :3, :3], abs=1e-9)
    small = 1e-6
    for column in range(chain.size):
        moved = positions.copy()
        moved[:, column] += small
        difference = (chain.points(moved) - expected) / small
        assert moves.linear[:, :, column] == pytest.approx(difference, abs=1e-4)
        turned = chain.jacobians(moved).rotations @ moves.rotations.transpose(0, 2, 1)
        angles = Rotation.from_matrix(turned).as_rotvec() / small
        assert moves.angular[:, :, column] == pytest.approx(angles, abs=1e-4)


def test_a_joint_that_is_followed_stops_where_its_follower_stops():
    urdf = Urdf("f").link("a").link("b").link("c")
    urdf.joint("j", "prismatic", "a", "b", axis=(1, 0, 0), limit=(0.0, 1.0))
    urdf.joint("k", "prismatic", "b", "c", axis=(1, 0, 0), limit=(0.0, 0.5), mimic=("j", 2.0, 0.1))
    chain = Chain(build_tree(read_description(urdf.text())), "c")
    assert (chain.lower[0], chain.upper[0]) == pytest.approx((0.0, 0.2))
    assert chain.points(chain.upper[None])[0] == pytest.approx([0.7, 0.0, 0.0])


def test_postures_fill_the_ranges_and_repeat_by_seed():
    lower, upper = np.array([-1.0, 0.0, 2.0]), np.array([1.0, 0.5, 2.0])
    first = postures(lower, upper, 1000, 3)
    assert np.array_equal(first, postures(lower, upper, 1000, 3))
    assert not np.array_equal(first, postures(lower, upper, 1000, 4))
    assert len(first) == 1000 + 8
    assert (first >= lower).all() and (first <= upper).all()
    counts, _ = np.histogram(first[:1000, 0], bins=20, range=(-1.0, 1.0))
    assert counts.min() > 40


def test_inverse_kinematics_finds_postures_within_the_limits():
    found = analyse(TABLE)
    chain = found.arms[0].chain
    starts = postures(chain.lower, chain.upper, 64, 0)
    goals = chain.points(postures(chain.lower, chain.upper, 64, 1)[:64])
    for goal in goals[:8]:
        solved = solve(chain, Target.point(goal), starts)
        best = solved.positions[int(solved.errors.argmin())]
        assert np.linalg.norm(chain.points(best[None])[0] - goal) < 1e-5
        assert (best >= chain.lower - 1e-12).all() and (best <= chain.upper + 1e-12).all()


@pytest.fixture(scope="module", params=["rover", "table", "telescope"])
def sampled(request):
    text = {"rover": ROVER, "table": TABLE, "telescope": telescope().text()}[request.param]
    return text, resume_of(text, samples=100_000)


def test_every_allowed_posture_lies_in_the_workspace(sampled):
    text, resume = sampled
    arm = analyse(text).arms[0]
    space = resume.manipulation.arms[0].workspace
    positions = postures(arm.chain.lower, arm.chain.upper, 8000, 99)
    positions = positions[arm.prober.allowed(positions)]
    points = arm.chain.points(positions)
    outside = [p for p in points if not space.contains(float(np.hypot(p[0], p[1])), float(p[2]))]
    assert len(points) > 1000
    assert len(outside) <= len(points) // 2000, outside[:5]


def test_every_cell_of_the_workspace_is_truly_reached(sampled):
    text, resume = sampled
    space = resume.manipulation.arms[0].workspace
    kinematics = Kinematics.of(text)
    cells = np.argwhere(space.grid())
    chosen = cells[np.random.default_rng(5).choice(len(cells), 25, replace=False)]
    for k, j in chosen:
        middle = ((j + 0.5) * space.cell, 0.0, space.bottom + (k + 0.5) * space.cell)
        assert kinematics.reaches(middle, turning=True, tolerance=space.cell * 0.75), middle


def test_what_lies_outside_of_the_workspace_is_not_reached(sampled):
    text, resume = sampled
    space = resume.manipulation.arms[0].workspace
    grid = binary_fill_holes(space.grid())
    kinematics = Kinematics.of(text)
    border = [
        (k, j + 2)
        for k, row in enumerate(grid)
        for j in [int(np.flatnonzero(row).max(initial=-3))]
        if j >= 0
    ]
    for k, j in border[:: max(len(border) // 8, 1)]:
        point = ((j + 0.5) * space.cell, 0.0, space.bottom + (k + 0.5) * space.cell)
        assert not kinematics.reaches(point, turning=True, tolerance=0.002), point


def test_extremes_are_found_within_a_cell(sampled):
    text, resume = sampled
    arm, space = analyse(text).arms[0], resume.manipulation.arms[0].workspace
    starts = postures(arm.chain.lower, arm.chain.upper, 256, 7)
    up = solve(arm.chain, Target(np.array([[0.3, 5.0]]), ring=True), starts, steps=200).positions
    up = up[arm.prober.allowed(up)]
    highest = float(arm.chain.points(up)[:, 2].max())
    assert space.max_height >= highest - 1e-9
    assert space.max_height <= highest + 2.0 * space.cell


def test_the_hand_reaches_a_point_with_the_posture_it_names():
    kinematics = Kinematics.of(ROVER)
    chain = kinematics.chain()
    point = (0.0, 0.55, 0.4)
    posture = kinematics.posture(point, turning=False)
    assert posture is not None
    values = np.array([[posture[joint.name] for joint in chain.joints]])
    assert chain.points(values)[0] == pytest.approx(point, abs=0.002)
    assert kinematics.reaches((-0.6, 0.0, 0.4))
    assert not kinematics.reaches((3.0, 0.0, 0.4))
    assert not kinematics.reaches((0.5, 0.0, -0.1))
    with pytest.raises(KeyError, match="no arm 'third', only arm"):
        kinematics.reaches(point, "third")
    with pytest.raises(ValueError, match="3 finite numbers"):
        kinematics.reaches((math.nan, 0.0, 0.0))


def test_a_fixed_arm_keeps_the_bearings_it_covers():
    space = resume_of(TABLE, samples=20_000).manipulation.arms[0].workspace
    covered = sum(high - low for low, high in space.bearings)
    assert 2.0 < covered < 2.0 * math.pi
    kinematics = Kinematics.of(TABLE)
    assert kinematics.reaches((0.75, 0.0, 0.9))
    assert not kinematics.reaches((-0.75, 0.0, 0.9))
    assert kinematics.reaches((-0.75, 0.0, 0.9), turning=True)
    turning = resume_of(ROVER, samples=2_000).manipulation.arms[0].workspace
    assert turning.bearings == ((-math.pi, math.pi),)


def test_postures_in_which_the_robot_hits_itself_are_left_out():
    free = with_arm(diff_drive(), height=0.3)
    blocked = with_arm(diff_drive(), height=0.3).shape(
        "base_link", "box", (2.0, 2.0, 0.1), (0.1, 0, 0.75)
    )
    wide, narrow = (
        resume_of(urdf.text(), samples=20_000).manipulation.arms[0] for urdf in (free, blocked)
    )
    assert wide.self_collision and narrow.self_collision
    # The roof ends at a height of 0.7 m and is wider than the arm is long.
    assert wide.workspace.max_height > 1.0
    assert 0.6 < narrow.workspace.max_height < 0.71
    assert max(z for _, _, z in narrow.workspace.hull) < 0.7
    arm = analyse(blocked.text()).arms[0]
    values = postures(arm.chain.lower, arm.chain.upper, 4000, 0)
    above = arm.chain.points(values)[:, 2] > 0.72
    assert above.any()
    assert not arm.prober.allowed(values[above]).any()


def test_the_same_seed_gives_the_same_bytes_and_another_one_the_same_reach():
    first = resume_of(ROVER, samples=5_000, seed=1).to_json()
    assert first == resume_of(ROVER, samples=5_000, seed=1).to_json()
    a, b = (resume_of(ROVER, samples=50_000, seed=s).manipulation.arms[0].workspace for s in (1, 2))
    assert a.reach == pytest.approx(b.reach, abs=a.cell + 1e-9)
    assert a.max_height == pytest.approx(b.max_height, abs=a.cell + 1e-9)
    different = np.mean(a.grid()[:50, :40] != b.grid()[:50, :40])
    assert different < 0.02
