"""The robots of coterie_description: what their URDFs say is what their makers publish."""

import math
from pathlib import Path

import pytest

from emos_planner.resume.builder import resume_of

FOLDER = Path(__file__).resolve().parents[2] / "coterie_description/coterie_description/urdf"


@pytest.fixture(scope="module")
def robots():
    files = sorted(FOLDER.glob("*.urdf"))
    return {file.stem: resume_of(file, samples=20_000) for file in files}


def test_bodies(robots):
    kinds = {name: resume.mobility.kind for name, resume in robots.items()}
    assert kinds == {"fetch": "wheels", "stretch": "wheels", "spot": "legs", "m100": "air"}
    stairs = {name for name, resume in robots.items() if resume.mobility.climbs_stairs}
    assert stairs == {"spot", "m100"}
    assert robots["fetch"].mobility.height == pytest.approx(1.10, abs=0.05)
    assert robots["stretch"].mobility.height == pytest.approx(1.41, abs=0.05)
    assert robots["stretch"].mobility.radius < 0.35 and robots["m100"].mobility.radius < 0.55


def test_arms(robots):
    fetch, stretch, spot = (
        robots[name].manipulation.arms[0] for name in ("fetch", "stretch", "spot")
    )
    assert not robots["m100"].manipulation.arms
    assert fetch.workspace.max_height > 1.9 > spot.workspace.max_height > 1.5
    assert stretch.workspace.max_height < 1.4
    assert sum(joint.type == "prismatic" for joint in stretch.joints) >= 2
    assert fetch.workspace.contains(0.8, 1.6) and not stretch.workspace.contains(0.8, 1.6)
    assert all(arm.gripper is not None for arm in (fetch, stretch, spot))


def test_cameras(robots):
    heights = {name: max(c.heights[1] for c in r.perception.cameras if c.mount != "arm")
               for name, r in robots.items()}  # fmt: skip
    assert heights["spot"] < 0.7 < heights["fetch"] < 1.6
    (camera,) = robots["stretch"].perception.cameras
    assert camera.hfov == pytest.approx(math.radians(69), abs=0.01)
    assert all("depth" in c.channels for r in robots.values() for c in r.perception.cameras)
