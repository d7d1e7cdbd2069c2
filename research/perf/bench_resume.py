"""A resume's speed: forward kinematics of many postures at once, and whole resumes.

.venv/bin/python -m pytest research/perf/bench_resume.py --benchmark-only -s

The ratio is measured in the same run against what the obvious loop does: pinocchio's forward
kinematics once per posture.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from coterie_core.kinematics.sampling import postures
from coterie_core.urdf.reading import read_description
from coterie_fixtures.urdfs import diff_drive, with_arm
from robot_resume.builder import analyse, resume_of

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "urdf"
SAMPLES = 100_000
LOOP = 5_000
MADE_UP = with_arm(diff_drive()).text()


def urdfs() -> dict[str, str | Path]:
    found: dict[str, str | Path] = {"made-up rover": MADE_UP}
    found |= {
        path.stem: path
        for path in sorted(FOLDER.glob("*.urdf"))
        if path.stem != "common_properties"
    }
    return found


def loop(text: str | Path, count: int) -> tuple[np.ndarray, float]:
    """Return hand points by one call of pinocchio per posture, and the time of the loop [s]."""
    arm = analyse(text).arms[0]
    model = pin.buildModelFromXML(read_description(text).xml())
    data = model.createData()
    frame = model.getFrameId(arm.tip)
    values = postures(arm.chain.lower, arm.chain.upper, count, 0)[:count]
    joints = [model.joints[model.getJointId(step.joint.name)] for step in arm.chain.steps]
    points = np.empty((count, 3))
    begin = time.perf_counter()
    for k, row in enumerate(values):
        q = pin.neutral(model)
        for step, joint in zip(arm.chain.steps, joints, strict=True):
            value = row[step.column] * step.scale + step.shift
            if joint.nq == 2:
                q[joint.idx_q] = math.cos(value)
                q[joint.idx_q + 1] = math.sin(value)
            else:
                q[joint.idx_q] = value
        pin.forwardKinematics(model, data, q)
        pin.updateFramePlacement(model, data, frame)
        points[k] = data.oMf[frame].act(arm.offset)
    return points, time.perf_counter() - begin


@pytest.mark.parametrize(
    "name", [name for name in urdfs() if "dji" not in name and "turtle" not in name]
)
def test_forward_kinematics(benchmark, name: str) -> None:
    source = urdfs()[name]
    chain = analyse(source).arms[0].chain
    values = postures(chain.lower, chain.upper, SAMPLES, 0)[:SAMPLES]
    points = benchmark(chain.points, values)
    looped, seconds = loop(source, LOOP)
    # The loop's points are in the root's frame, which is the base frame but for the floor's height.
    apart = points[:LOOP] - looped
    assert np.abs(apart - apart.mean(axis=0)).max() < 1e-6
    many = benchmark.stats.stats.median / SAMPLES
    ratio = seconds / LOOP / many
    benchmark.extra_info["ratio"] = ratio
    print(
        f"\n{name}: {1e6 * many:.2f} us per posture at once, {1e6 * seconds / LOOP:.1f} us in a "
        f"loop over pinocchio: {ratio:.0f} times"
    )


@pytest.mark.parametrize("name", list(urdfs()))
def test_whole_resume(benchmark, name: str) -> None:
    source = urdfs()[name]
    resume = benchmark.pedantic(resume_of, (source,), rounds=3, warmup_rounds=1)
    print(f"\n{name}: {benchmark.stats.stats.median:.2f} s, {len(resume.to_json()) / 1024:.0f} kB")
