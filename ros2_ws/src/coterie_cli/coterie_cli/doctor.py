"""`./coterie doctor`: what is installed, what the environment says, what can be reached."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import typer

from coterie_bringup import rundir
from coterie_bringup.errors import PlanError
from coterie_bringup.processes import find_executable

app = typer.Typer(add_completion=False)


LIBRARIES = (
    "numpy",
    "scikit-learn",
    "xgboost-cpu",
    "open3d-cpu",
    "pydantic",
    "openai",
    "rich",
    "typer",
)
EXECUTABLES = (
    ("habitat_bridge", "bridge_node"),
    ("mele_explorer", "explorer_node"),
    ("cam_aggregator", "aggregator_node"),
)
ENVIRONMENT = (
    "ROS_DISTRO",
    "ROS_DOMAIN_ID",
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "ROS_DISCOVERY_SERVER",
    "RMW_IMPLEMENTATION",
    "FASTRTPS_DEFAULT_PROFILES_FILE",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: what was looked at, what was found, how good that is."""

    what: str
    found: str
    state: Literal["good", "note", "bad"] = "good"


@app.command("doctor")
def doctor() -> int:
    """Show what is installed and whether everything that a team needs is reachable."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    marks = {"good": ("✓", "green"), "note": ("·", "yellow"), "bad": ("✗", "red bold")}
    findings = examine()
    for finding in findings:
        table.add_row(Text(*marks[finding.state]), Text(finding.what), Text(finding.found))
    Console().print(table)
    return 1 if any(f.state == "bad" for f in findings) else 0


def examine() -> list[Finding]:
    """Return all findings."""
    checks: tuple[Callable[[], list[Finding]], ...] = (
        _machine,
        _libraries,
        _ros,
        _environment,
        _files,
        _endpoint,
        _teams,
    )
    findings: list[Finding] = []
    for check in checks:
        try:
            findings += check()
        except Exception as error:  # one broken check must not hide the others
            name = check.__name__.strip("_")
            findings.append(Finding(name, f"{type(error).__name__}: {error}", "bad"))
    return findings


def _machine() -> list[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    good = (3, 10) <= sys.version_info[:2] <= (3, 12)
    free = shutil.disk_usage(rundir.state_root()).free / 1e9
    return [
        Finding("Python", f"{version} ({sys.executable})", "good" if good else "note"),
        Finding("machine", f"{platform.machine()} {platform.system()}, {os.cpu_count()} cores"),
        Finding("disk", f"{free:.1f} GB free for runs", "good" if free > 1.0 else "note"),
    ]


def _libraries() -> list[Finding]:
    findings = []
    for name in LIBRARIES:
        try:
            findings.append(Finding(name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            findings.append(Finding(name, "not installed: run ./coterie setup", "bad"))
    habitat = importlib.util.find_spec("habitat_sim") is not None
    text = "installed" if habitat else "not installed (only the habitat world needs it)"
    return [*findings, Finding("habitat-sim", text, "good" if habitat else "note")]


def _ros() -> list[Finding]:
    findings = []
    if importlib.util.find_spec("rclpy") is None:
        return [Finding("rclpy", "not importable: run ./coterie setup", "bad")]
    findings.append(Finding("rclpy", str(importlib.util.find_spec("rclpy").origin)))  # type: ignore[union-attr]
    for package, executable in EXECUTABLES:
        try:
            findings.append(Finding(package, str(find_executable(package, executable))))
        except PlanError as error:
            findings.append(Finding(package, str(error), "bad"))
    launch = shutil.which("ros2")
    text = launch or "no ros2 command here (./coterie up does not need it)"
    return [*findings, Finding("ros2", text, "good" if launch else "note")]


def _environment() -> list[Finding]:
    return [
        Finding(name, os.environ.get(name, "not set"), "good" if name in os.environ else "note")
        for name in ENVIRONMENT
    ]


def _files() -> list[Finding]:
    shm = Path("/dev/shm")
    left = sum(1 for _ in shm.glob("fastrtps_*")) if shm.is_dir() else 0
    return [
        Finding("runs", str(rundir.state_root() / "runs")),
        Finding("shared memory", f"{left} Fast DDS files in /dev/shm"),
    ]


def _endpoint() -> list[Finding]:
    """Whether the model endpoint of the environment answers; no key is shown or sent."""
    url = os.environ.get("OPENAI_BASE_URL", "")
    if not url:
        key = "a key is set" if os.environ.get("OPENAI_API_KEY") else "no key"
        return [Finding("model endpoint", f"OPENAI_BASE_URL not set, {key}: rules decide", "note")]
    shown = url.split("@")[-1]
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/models", timeout=3.0) as response:
            return [Finding("model endpoint", f"{shown}: answers ({response.status})")]
    except urllib.error.HTTPError as error:  # it is there, and wants a key
        return [Finding("model endpoint", f"{shown}: answers ({error.code})")]
    except (OSError, ValueError) as error:
        return [Finding("model endpoint", f"{shown}: {error}", "bad")]


def _teams() -> list[Finding]:
    teams = rundir.running_teams()
    if not teams:
        return [Finding("running teams", "none", "note")]
    return [
        Finding(f"team {t.team}", f"domain {t.domain}, {len(t.robots)} robots, process {t.pid}")
        for t in teams
    ]
