"""What the set-up finds out about a machine, and how it refuses one."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from bootstrap import machine
from bootstrap.errors import SetupError


def program(folder: Path, name: str, text: str = "exit 0") -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IEXEC)


@pytest.fixture
def complete(tmp_path: Path) -> dict[str, object]:
    """The arguments that describe a machine on which nothing is missing."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("g++", "make"):
        program(programs, name)
    program(programs, "cmake", "echo cmake version 3.25.1")
    headers = tmp_path / "include"
    headers.mkdir()
    (headers / "Python.h").touch()
    return {
        "path": str(programs),
        "python_headers": headers,
        "has_ensurepip": True,
        "loadable": lambda library: True,
    }


def missing(arguments: dict[str, object]) -> list[str]:
    return [need.package for need in machine.missing_system_packages(**arguments)]  # type: ignore[arg-type]


def test_complete_machine_lacks_nothing(complete: dict[str, object]) -> None:
    assert missing(complete) == []


def test_bare_machine_lacks_everything(tmp_path: Path) -> None:
    packages = missing(
        {
            "path": str(tmp_path),
            "python_headers": tmp_path,
            "has_ensurepip": False,
            "loadable": lambda library: False,
        }
    )
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert packages == [
        "g++", "make", "cmake", f"{python}-dev", f"{python}-venv",
        "libusb-1.0-0", "libgl1", "libegl1", "libgomp1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "enough"),
    [
        ("cmake version 3.22.1", True),
        ("cmake version 4.1.0", True),
        ("cmake version 3.16.3", False),
        ("broken", False),
    ],
)
def test_cmake_must_be_new_enough(
    complete: dict[str, object], tmp_path: Path, answer: str, enough: bool
) -> None:
    program(tmp_path / "bin", "cmake", f"echo {answer}")
    assert ("cmake" not in missing(complete)) is enough


def test_each_missing_thing_is_named_alone(complete: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "bin" / "g++").unlink()
    assert missing(complete) == ["g++"]
    complete["loadable"] = lambda library: library != "libGL.so.1"
    assert missing(complete) == ["g++", "libgl1"]


def test_refusal_shows_the_line_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    needs = [machine.Need("make", "make"), machine.Need("libGL.so.1", "libgl1")]
    text = machine.refuse_missing(needs).render()
    assert "sudo apt-get install -y --no-install-recommends make libgl1" in text
    assert "libGL.so.1" in text


def test_installing_can_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert machine.may_install({}) == []
    assert machine.may_install({"COTERIE_NO_APT": "1"}) is None


def test_no_apt_no_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert machine.may_install({}) is None


def test_sudo_that_asks_for_a_password_is_no_right(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path, "apt-get")
    program(tmp_path, "sudo", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert machine.may_install({}) is None
    program(tmp_path, "sudo", "exit 0")
    assert machine.may_install({}) == ["sudo", "-n"]


@pytest.mark.parametrize("version", [(3, 9), (3, 13), (2, 7)])
def test_other_pythons_are_refused(version: tuple[int, int]) -> None:
    with pytest.raises(SetupError, match=rf"3\.10, 3\.11 or 3\.12.*{version[0]}\.{version[1]}"):
        machine.check_python(version)


def test_pypy_is_refused() -> None:
    with pytest.raises(SetupError, match="pypy"):
        machine.check_python((3, 11), "pypy")


@pytest.mark.parametrize("version", machine.SUPPORTED_PYTHONS)
def test_supported_pythons_pass(version: tuple[int, int]) -> None:
    machine.check_python(version)


@pytest.mark.parametrize(
    ("system", "architecture", "libc", "reason"),
    [
        ("Linux", "aarch64", "glibc 2.39", "aarch64"),
        ("Darwin", "x86_64", "", "Darwin"),
        ("Linux", "x86_64", "", "another C library"),
        ("Linux", "x86_64", "glibc 2.27", "glibc 2.27"),
    ],
)
def test_machines_without_wheels_are_sent_elsewhere(
    system: str, architecture: str, libc: str, reason: str
) -> None:
    with pytest.raises(SetupError, match=reason) as caught:
        machine.check_platform(system, architecture, libc)
    assert "ros:jazzy" in caught.value.render()


@pytest.mark.parametrize("libc", ["glibc 2.28", "glibc 2.36", "glibc 3.0"])
def test_wheel_machines_pass(libc: str) -> None:
    machine.check_platform("Linux", "x86_64", libc)


def test_full_disk_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=10**9)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(SetupError, match=r"1\.0 GB are free"):
        machine.check_disk(tmp_path)


def test_error_shows_the_end_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "pip.log"
    log.write_text("\n".join(f"line {i}" for i in range(100)))
    text = SetupError("it failed", "do this", log=log).render(tail_lines=3)
    assert "line 99" in text
    assert "line 96" not in text
    assert str(log) in text
    assert "do this" in text
