"""Is this machine one that Coterie can be set up on, and which system packages does it lack?"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bootstrap.errors import SetupError

SUPPORTED_PYTHONS = ((3, 10), (3, 11), (3, 12))
#: The wheels of ROS are built for manylinux_2_28.
OLDEST_GLIBC = (2, 28)
OLDEST_CMAKE = (3, 22)
#: Free space that a set-up from scratch needs [bytes]: environment, build and pip's unpacking.
DISK_NEEDED = 4 * 10**9

_ELSEWHERE = (
    "where there are no wheels, use an installed ROS 2 Jazzy (/opt/ros/jazzy) or a container of "
    "ros:jazzy; see docs/INSTALL.md"
)


@dataclass(frozen=True)
class Need:
    """Something the system must provide.

    Attributes:
        what: What is missing, for people.
        package: The Debian and Ubuntu package that brings it; the names are the same on Debian 12,
            Ubuntu 22.04 and Ubuntu 24.04.
    """

    what: str
    package: str


def check_python(version: tuple[int, int], implementation: str = "cpython") -> None:
    """Refuse an interpreter that has no wheels.

    Raises:
        SetupError: It is not CPython 3.10, 3.11 or 3.12.
    """
    if implementation != "cpython" or version not in SUPPORTED_PYTHONS:
        found = f"{implementation} {version[0]}.{version[1]}"
        raise SetupError(
            f"expected CPython 3.10, 3.11 or 3.12, got {found}",
            "choose another one: COTERIE_PYTHON=/path/to/python3.12 ./coterie setup",
        )


def check_platform(system: str, architecture: str, libc: str) -> None:
    """Refuse a machine for which no ROS wheels exist.

    Args:
        system: As ``platform.system()`` says, e.g. ``Linux``.
        architecture: As ``platform.machine()`` says, e.g. ``x86_64``.
        libc: As ``os.confstr("CS_GNU_LIBC_VERSION")`` says, e.g. ``glibc 2.36``; empty on musl.

    Raises:
        SetupError: It is not 64-bit x86 Linux with glibc 2.28 or newer.
    """
    if system != "Linux" or architecture not in ("x86_64", "AMD64"):
        raise SetupError(
            f"the wheels of ROS exist for x86-64 Linux, this is {architecture} {system}", _ELSEWHERE
        )
    match = re.fullmatch(r"glibc (\d+)\.(\d+).*", libc)
    if match is None:
        raise SetupError(
            "the wheels of ROS need glibc, this system has another C library", _ELSEWHERE
        )
    if (int(match[1]), int(match[2])) < OLDEST_GLIBC:
        raise SetupError(f"the wheels of ROS need glibc 2.28 or newer, this is {libc}", _ELSEWHERE)


def check_this_machine(*, wheels: bool) -> None:
    """Check the running interpreter and, where ROS comes from wheels, the platform."""
    check_python(sys.version_info[:2], sys.implementation.name)
    if wheels:
        try:
            libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
        except (ValueError, OSError):
            libc = ""
        check_platform(platform.system(), platform.machine(), libc)


def check_disk(root: Path) -> None:
    """Refuse to fill the disk.

    Raises:
        SetupError: Less than ``DISK_NEEDED`` bytes are free below ``root``.
    """
    free = shutil.disk_usage(root).free
    if free < DISK_NEEDED:
        raise SetupError(
            f"the set-up needs {DISK_NEEDED / 1e9:.0f} GB in {root}, {free / 1e9:.1f} GB are free",
            "free some space (pip cache purge helps), or clone to another disk",
        )


def _loadable(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _cmake_version(path: str | None) -> tuple[int, int] | None:
    cmake = shutil.which("cmake", path=path)
    if cmake is None:
        return None
    done = subprocess.run([cmake, "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"version (\d+)\.(\d+)", done.stdout)
    return (int(match[1]), int(match[2])) if match else None


def missing_system_packages(
    *,
    path: str | None = None,
    python_headers: Path | None = None,
    has_ensurepip: bool | None = None,
    loadable: Callable[[str], bool] = _loadable,
) -> list[Need]:
    """Return what this system lacks to build and run Coterie, in a fixed order.

    Args:
        path: Search path for programs; None takes the caller's ``PATH``.
        python_headers: Directory with ``Python.h``; None asks the running interpreter.
        has_ensurepip: Can the interpreter make environments with pip? None tries.
        loadable: Tells whether the dynamic linker finds a shared library.
    """
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if python_headers is None:
        python_headers = Path(str(sysconfig.get_config_var("INCLUDEPY")))
    if has_ensurepip is None:
        has_ensurepip = _has_ensurepip()
    needs = []
    if shutil.which("g++", path=path) is None:
        needs.append(Need("a C++ compiler (g++)", "g++"))
    if shutil.which("make", path=path) is None:
        needs.append(Need("make", "make"))
    cmake = _cmake_version(path)
    if cmake is None or cmake < OLDEST_CMAKE:
        found = "none" if cmake is None else f"{cmake[0]}.{cmake[1]}"
        needs.append(Need(f"CMake 3.22 or newer (found: {found})", "cmake"))
    if not (python_headers / "Python.h").is_file():
        needs.append(Need(f"Python's headers ({python_headers}/Python.h)", f"python{version}-dev"))
    if not has_ensurepip:
        needs.append(Need("Python's venv with pip", f"python{version}-venv"))
    for library, package in (
        ("libusb-1.0.so.0", "libusb-1.0-0"),
        ("libGL.so.1", "libgl1"),
        ("libEGL.so.1", "libegl1"),
        ("libgomp.so.1", "libgomp1"),
    ):
        if not loadable(library):
            needs.append(Need(f"{library} (open3d loads it)", package))
    return needs


def _has_ensurepip() -> bool:
    # Debian splits ensurepip's wheels off into pythonX.Y-venv; then the import fails.
    base = base_python()
    done = subprocess.run(
        [base, "-E", "-s", "-c", "import ensurepip, venv; ensurepip.version()"],
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def base_python() -> str:
    """Return the interpreter that environments are made from, also when run inside one."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def install_line(packages: Sequence[str], *, sudo: bool) -> str:
    """Return the command that installs ``packages``, as a user would type it."""
    prefix = "sudo " if sudo else ""
    return f"{prefix}apt-get install -y --no-install-recommends {' '.join(packages)}"


def may_install(environ: Mapping[str, str]) -> list[str] | None:
    """Return the command prefix with which apt-get may run here, or None where it may not.

    Root needs no prefix; others need a ``sudo`` that asks for no password. ``COTERIE_NO_APT=1``
    forbids both.
    """
    if environ.get("COTERIE_NO_APT") == "1" or shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(
        ["sudo", "-n", "true"], capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    return ["sudo", "-n"] if asked.returncode == 0 else None


def refuse_missing(needs: Sequence[Need]) -> SetupError:
    """Return the error that names what is missing and the line that installs it."""
    names = ", ".join(need.what for need in needs)
    line = install_line([need.package for need in needs], sudo=os.geteuid() != 0)
    return SetupError(
        f"this system lacks: {names}",
        f"run:  {line}",
        "other distributions: install the same things under the names they have there",
        "then run ./coterie again",
    )
