"""The wheel of the command line, installed beside nothing of this repository."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import build_wheel
from coterie_fixtures.ros_harness import patience

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder with an environment that has the wheel, and the libraries of this one."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder / "env", symlinks=True)
    (packages,) = (folder / "env" / "lib").glob("python3*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    # Those of this environment have ROS among them.
    (packages / "rclpy.py").write_text("raise ModuleNotFoundError('no rclpy', name='rclpy')")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(folder / "env" / "bin" / "python"), "install",
         "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)],
        check=True,
    )  # fmt: skip
    return folder


def coterie(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "COLUMNS": "200"}
    return subprocess.run(
        [str(folder / "env" / "bin" / "coterie"), *words],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
        timeout=patience(120.0),
    )  # fmt: skip


def test_it_needs_what_is_pinned_and_brings_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (file,) = (name for name in names if name.endswith("METADATA"))
        told = Parser().parsestr(archive.read(file).decode())
    needed = [line.split(";")[0].strip() for line in told.get_all("Requires-Dist", [])]
    wanted = [g for name in ("run", *build_wheel.EXTRAS) for g in build_wheel.requirements(name)]
    assert sorted(needed) == sorted(line.split(";")[0].strip() for line in wanted)
    assert sorted(told.get_all("Provides-Extra", [])) == sorted(build_wheel.EXTRAS)
    assert {"coterie/__init__.py", "coterie/py.typed"} <= set(names)
    assert not [name for name in names if "/test/" in name or name.startswith("coterie_msgs")]


def test_commands_without_ros_work_from_an_empty_folder(folder: Path) -> None:
    house = coterie(folder, "house", "--seed", "77", "--out", "house")
    assert house.returncode == 0, house.stderr
    assert (folder / "house" / "house_77.truth.json").is_file()
    check = coterie(folder, "team", "check", "demo")
    assert check.returncode == 0, check.stderr
    assert f"{folder}/env/" in check.stdout.replace("\n", "")  # the wheel's file, not the clone's


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("up", "demo"), "a workspace with Coterie's packages is sourced"),
        (("permits", "--domain", "7"), "a workspace with Coterie's packages is sourced"),
        (("setup",), "there is no clone of Coterie here"),
        (("log", "verify"), "no log of any team"),
    ],
)
def test_what_needs_more_says_so(folder: Path, words: tuple[str, ...], told: str) -> None:
    done = coterie(folder, *words)
    assert done.returncode == 2
    assert told in done.stderr and "Traceback" not in done.stderr
