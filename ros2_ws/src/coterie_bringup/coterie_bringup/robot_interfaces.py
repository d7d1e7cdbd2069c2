"""Interfaces of real robots: built where a team of them starts and ROS lacks them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from coterie_bringup.errors import CommandError
from coterie_bringup.team import Team

SETUP = "./coterie setup --with robots"
NEEDED = ("control_msgs", "moveit_msgs", "nav2_msgs", "vision_msgs")


def missing() -> list[str]:
    """Return the packages with interfaces of real robots that cannot be imported."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def require_interfaces(team: Team) -> None:
    """Refuse a team of real robots where their interfaces are not there.

    Raises:
        CommandError: They are not; says what to do.
    """
    if team.real and (names := missing()):
        raise CommandError(
            f"real robots need the packages {', '.join(names)}; install them (for example "
            f"ros-jazzy-{names[0].replace('_', '-')}), or build stand-ins: {SETUP}"
        )


def ensure_interfaces(team: Team) -> None:
    """Build the interfaces that a team of real robots lacks, then begin this command anew.

    It begins anew because its environment does not name what was built just now.

    Raises:
        CommandError: They cannot be built.
    """
    if not team.real or not missing():
        return
    root = Path(os.environ.get("COTERIE_ROOT", ""))
    script = root / "tools" / "bootstrap"
    if "COTERIE_ROOT" in os.environ and script.is_dir() and "COTERIE_SET_UP" not in os.environ:
        print(
            f"coterie: this command needs {', '.join(missing())}, which are not built yet. They "
            "are compiled now, once, which takes minutes; then the command goes on. To do this "
            f"at another time, press Ctrl-C and run {SETUP}",
            file=sys.stderr,
        )
        command = [sys.executable, "-E", "-s", "-S", str(script), "setup", "--with", "robots"]
        done = subprocess.run(command, stdout=sys.stderr, check=False)
        if done.returncode == 0:
            # Once only: where they are still not found, the line below says so.
            environment = {**os.environ, "COTERIE_SET_UP": "robots"}
            os.execve(root / "coterie", [str(root / "coterie"), *sys.argv[1:]], environment)
    require_interfaces(team)
