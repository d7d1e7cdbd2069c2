"""Sourcing the workspace where ROS is installed: its programs find the libraries in .venv."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HOOK = Path(__file__).resolve().parents[2] / "ros2_ws/src/coterie_core/hook/coterie_libraries.sh"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    root = tmp_path / "my clone"
    (root / ".venv" / "lib" / "python3.12" / "site-packages").mkdir(parents=True)
    (root / ".venv" / "coterie-stamp").touch()
    (root / "ros2_ws" / "install" / "coterie_core").mkdir(parents=True)
    return root


def python_path(clone: Path, before: str | None) -> str:
    environ = {
        "PATH": "/usr/bin:/bin",
        "COLCON_CURRENT_PREFIX": str(clone / "ros2_ws" / "install" / "coterie_core"),
    }
    if before is not None:
        environ["PYTHONPATH"] = before
    done = subprocess.run(
        ["sh", "-u", "-c", '. "$1"; . "$1"; printf %s "${PYTHONPATH-}"', "x", str(HOOK)],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_libraries_come_after_those_of_ros(clone: Path) -> None:
    site = clone.resolve() / ".venv/lib/python3.12/site-packages"
    assert python_path(clone, "/opt/ros/jazzy/x") == f"/opt/ros/jazzy/x:{site}"
    assert python_path(clone, None) == str(site)


def test_ros_from_wheels_needs_nothing(clone: Path) -> None:
    (clone / ".venv" / "share" / "rclpy").mkdir(parents=True)
    assert python_path(clone, None) == ""


def test_without_a_set_up_nothing_changes(clone: Path) -> None:
    (clone / ".venv" / "coterie-stamp").unlink()
    assert python_path(clone, "/a") == "/a"
