"""Python packages in the install tree: what colcon would have put there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import link_packages

SETUP = """\
from setuptools import find_packages, setup

setup(
    name="robot_talk",
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/robot_talk"]),
        ("share/robot_talk", ["package.xml"]),
        ("share/robot_talk/launch", ["launch/talk.launch.py"]),
        ("share/robot_talk/hook", ["hook/greeting.sh"]),
    ],
    entry_points={"console_scripts": ["talk_node = robot_talk.node:main"]},
)
"""
FILES = {
    "setup.py": SETUP,
    "setup.cfg": "[develop]\nscript_dir=$base/lib/robot_talk\n",
    "package.xml": "<package format='3'><name>robot_talk</name><version>0.1.0</version>"
    "<description>x</description><maintainer email='a@b.c'>x</maintainer><license>x</license>"
    "<exec_depend>rclpy</exec_depend><depend>std_msgs</depend>"
    "<export><build_type>ament_python</build_type></export></package>",
    "colcon.pkg": '{"hooks": ["share/robot_talk/hook/greeting.sh"]}',
    "resource/robot_talk": "",
    "launch/talk.launch.py": "x = 1\n",
    "hook/greeting.sh": 'export GREETING="hello from $COLCON_CURRENT_PREFIX"\n',
    "robot_talk/__init__.py": "",
    "robot_talk/node.py": "import sys\n\n\ndef main():\n    print('talks', sys.argv[1:])\n"
    "    return 3\n",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "my work" / "src"
    for name, text in FILES.items():
        file = folder / "robot_talk" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.fixture
def install(source: Path) -> Path:
    folder = source.parent / "install"
    link_packages.link_package(source / "robot_talk", folder)
    return folder


def test_program_runs_with_the_modules_of_the_source(install: Path, source: Path) -> None:
    program = install / "robot_talk" / "lib" / "robot_talk" / "talk_node"
    (source / "robot_talk" / "robot_talk" / "node.py").write_text(
        "def main():\n    print('edited')\n    return 4\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(install / "modules")}
    # The kernel takes no blank in the first line's path; the interpreter's own has none.
    done = subprocess.run([program], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "edited\n"), done.stderr


def test_sourcing_sets_paths_once_and_runs_hooks(install: Path) -> None:
    script = install / "robot_talk" / "share" / "robot_talk" / "package.sh"
    done = subprocess.run(
        ["sh", "-u", "-c",
         '. "$1"; . "$1"; echo "$AMENT_PREFIX_PATH"; echo "$PYTHONPATH"; echo "$GREETING"', "x",
         str(script)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": "/before"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    prefix = install / "robot_talk"
    assert done.stdout.splitlines() == [
        str(prefix), f"{install / 'modules'}:/before", f"hello from {prefix}",
    ]  # fmt: skip


def test_linking_again_forgets_what_is_gone(install: Path, source: Path) -> None:
    setup = source / "robot_talk" / "setup.py"
    setup.write_text(SETUP.replace("talk_node", "say_node"))
    link_packages.link_package(source / "robot_talk", install)
    programs = [path.name for path in (install / "robot_talk" / "lib" / "robot_talk").iterdir()]
    assert programs == ["say_node"]


@pytest.mark.slow
def test_same_files_and_environment_as_by_colcon(source: Path, install: Path) -> None:
    beside = Path(sys.executable).parent / "colcon"
    colcon = str(beside) if beside.exists() else shutil.which("colcon")
    if colcon is None:
        pytest.skip("colcon is not installed")
    workspace = source.parent
    ours = shell(install)
    theirs_folder = workspace / "theirs"
    subprocess.run(
        [colcon, "--log-base", str(workspace / "log"), "build", "--symlink-install",
         "--base-paths", "src", "--install-base", str(theirs_folder)],
        cwd=workspace, check=True, capture_output=True,
    )  # fmt: skip
    prefix = install / "robot_talk"
    for path in sorted(prefix.rglob("*")):
        if path.name in ("package.dsv", "package.sh") or path.is_dir():
            continue
        twin = theirs_folder / path.relative_to(install)
        assert twin.exists(), f"colcon makes no {path.relative_to(prefix)}"
        assert os.access(path, os.X_OK) == os.access(twin, os.X_OK)
    theirs = shell(theirs_folder)
    assert theirs["GREETING"] == ours["GREETING"].replace("/install/", "/theirs/")
    # colcon's own tree of set-up files takes our package in.
    shutil.rmtree(theirs_folder / "robot_talk")
    shutil.copytree(install / "robot_talk", theirs_folder / "robot_talk", symlinks=True)
    command = [str(theirs_folder / "robot_talk" / "lib" / "robot_talk" / "talk_node"), "now"]
    environ = sourced(theirs_folder / "local_setup.sh")
    assert "hello from" in environ["GREETING"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "talks ['now']\n"), done.stderr


def shell(install: Path) -> dict[str, str]:
    return sourced(install / "robot_talk" / "share" / "robot_talk" / "package.sh")


def sourced(script: Path) -> dict[str, str]:
    done = subprocess.run(
        ["bash", "-c", 'cd "$(dirname "$1")"; . "$1" >&2; env -0', "x", str(script)],
        env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(item.split("=", 1) for item in done.stdout.split("\0") if "=" in item)
