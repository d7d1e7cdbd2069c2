"""The two tools that make an environment of ROS wheels usable, and the one that locks versions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import lock_requirements
import relocate_cmake_exports
import write_setup_files
from bootstrap import installer

EXPORT = """\
set_target_properties(x PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
 "${_IMPORT_PREFIX}/include;/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include;\
/opt/python/cp311-cp311/include/python3.11")
"""


def test_relocation_replaces_both_directories() -> None:
    text = relocate_cmake_exports.relocate_text(EXPORT, "/usr/include/python3.11", "/venv/np")
    assert '"${_IMPORT_PREFIX}/include;/venv/np;/usr/include/python3.11")' in text


@pytest.mark.parametrize("tag", ["cp310", "cp312"])
def test_relocation_knows_every_python(tag: str) -> None:
    export = EXPORT.replace("cp311", tag).replace("3.11", f"3.{tag[3:]}")
    text = relocate_cmake_exports.relocate_text(export, "/include", "/numpy")
    assert "/opt/python" not in text


def test_relocation_takes_paths_literally() -> None:
    text = relocate_cmake_exports.relocate_text(EXPORT, r"/odd\1", "/numpy")
    assert r"/odd\1" in text


def test_relocating_twice_changes_nothing(tmp_path: Path) -> None:
    export = tmp_path / "share" / "x" / "cmake" / "export.cmake"
    export.parent.mkdir(parents=True)
    export.write_text(EXPORT)
    other = export.with_name("other.cmake")
    other.write_text("set(x 1)\n")
    assert relocate_cmake_exports.relocate_prefix(tmp_path, "/p", "/n") == [export]
    assert relocate_cmake_exports.relocate_prefix(tmp_path, "/p", "/n") == []
    assert other.read_text() == "set(x 1)\n"


def test_relocation_leaves_an_installers_cache_alone(tmp_path: Path) -> None:
    cached = tmp_path / "cache" / "export.cmake"
    export = tmp_path / "share" / "x" / "cmake" / "export.cmake"
    for folder in (cached.parent, export.parent):
        folder.mkdir(parents=True)
    cached.write_text(EXPORT)
    export.hardlink_to(cached)
    relocate_cmake_exports.relocate_prefix(tmp_path, "/p", "/n")
    assert "/opt/python" not in export.read_text()
    assert cached.read_text() == EXPORT


def test_relocation_replaces_paths_of_another_environment() -> None:
    elsewhere = relocate_cmake_exports.relocate_text(
        EXPORT, "/gone/include/python3.11", "/gone/lib/python3.11/site-packages/numpy/_core/include"
    )
    text = relocate_cmake_exports.relocate_text(elsewhere, "/p", "/n")
    assert '"${_IMPORT_PREFIX}/include;/n;/p")' in text


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment with two folders of bundled libraries, in a path with a blank and a quote."""
    folder = tmp_path / "it's a venv"
    for name in ("ros_rcl.libs", "ros_abc.libs", "numpy.libs"):
        (folder / "site" / name).mkdir(parents=True)
    return folder


def sourced(shell: list[str], script: str, prefix: Path) -> list[str]:
    done = subprocess.run(
        [*shell, "-c", script, "x", str(prefix / "setup.sh")],
        env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/already"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", [["sh"], ["bash"], ["bash", "-u"]])
def test_sourcing_sets_the_paths_once(prefix: Path, shell: list[str]) -> None:
    write_setup_files.write(prefix, prefix / "site")
    lines = sourced(
        shell,
        '. "$1"; . "$1"; echo "$LD_LIBRARY_PATH"; echo "$AMENT_PREFIX_PATH"; echo "$PATH"; '
        'echo "$ROS_DISTRO $_ROS_WHEELS_BOOTSTRAP_COMPLETE"',
        prefix,
    )
    libraries = [f"{prefix}/lib", f"{prefix}/site/ros_abc.libs", f"{prefix}/site/ros_rcl.libs"]
    assert lines == [
        ":".join([*libraries, "/already"]),
        str(prefix),
        f"{prefix}/bin:/usr/bin:/bin",
        "jazzy 1",
    ]


def test_sourcing_a_moved_environment_says_so(prefix: Path) -> None:
    file = write_setup_files.write(prefix, prefix / "site")[0]
    moved = prefix.rename(prefix.with_name("moved"))
    done = subprocess.run(
        ["sh", "-c", '. "$1"', "x", str(moved / file.name)], capture_output=True, text=True
    )
    assert "./coterie setup" in done.stderr


def test_lock_file_marks_what_differs() -> None:
    lines = lock_requirements.merge(
        {
            "3.10": {"same": "1", "older": "1", "backport": "9"},
            "3.11": {"same": "1", "older": "2"},
            "3.12": {"same": "1", "older": "2"},
        }
    )
    assert lines == [
        'backport==9 ; python_version == "3.10"',
        'older==1 ; python_version == "3.10"',
        'older==2 ; python_version >= "3.11"',
        "same==1",
    ]


def test_pins_are_read_without_those_of_ros() -> None:
    text = (
        "# why\nros-rclpy==7.1.6\nTyping_Extensions==1\nhttpx[cli]==2 ; python_version < '3.11'\n"
    )
    assert lock_requirements.pins(text) == {"typing-extensions": "1", "httpx": "2"}


def test_every_requirement_is_pinned_exactly() -> None:
    folder = Path(__file__).resolve().parents[2] / "requirements"
    for file in folder.rglob("*.txt"):
        if file.name == "unused.txt":
            continue
        for line in file.read_text().splitlines():
            if line and not line.startswith("#"):
                assert "==" in line.partition(";")[0], f"{file.name}: {line} has no exact version"


def test_groups_agree_on_every_version() -> None:
    """What one group installs, no other group changes, on any Python."""
    from packaging.requirements import Requirement

    folder = Path(__file__).resolve().parents[2] / "requirements"
    groups = [*lock_requirements.groups(folder), "ros"]
    unused = {line.strip() for line in (folder / "unused.txt").read_text().splitlines()}
    for python in ("3.10", "3.11", "3.12"):
        seen: dict[str, tuple[str, str]] = {}
        for group in groups:
            for line in installer.requirement_lines(folder, [group], wheels=True):
                asked = Requirement(line)
                if asked.marker and not asked.marker.evaluate({"python_version": python}):
                    continue
                name = installer.canonical(asked.name)
                assert name not in unused, f"{group}: {name} is in unused.txt"
                before, other = seen.setdefault(name, (str(asked.specifier), group))
                assert str(asked.specifier) == before, (
                    f"Python {python}: {name} in {group}, {other}"
                )
        assert len(seen) > 200
