"""Where does ROS come from, and which environment do Coterie's processes get?

The environment is never the caller's as it stands: another distribution may be sourced in the
shell, or another environment made of ROS wheels, whose guard variable would load the wrong
libraries. It is the caller's, cleaned of every trace of ROS, with the entries put in front that the
set-up recorded.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bootstrap.errors import SetupError

DISTRO = "jazzy"
SYSTEM_PREFIX = Path("/opt/ros") / DISTRO

#: Colon lists into which ROS and colcon put their directories.
PATH_LISTS = (
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "LD_LIBRARY_PATH",
    "PATH",
    "PKG_CONFIG_PATH",
    "PYTHONPATH",
)
#: Variables of a sourced ROS, of a virtual environment and of the wheels; none survives.
_FOREIGN = (
    "AMENT_CURRENT_PREFIX",
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "COLCON_CURRENT_PREFIX",
    "GZ_CONFIG_PATH",
    "PYTHONHOME",
    "ROS_DISTRO",
    "ROS_ETC_DIR",
    "ROS_MASTER_URI",
    "ROS_PACKAGE_PATH",
    "ROS_PYTHON_VERSION",
    "ROS_ROOT",
    "ROS_VERSION",
    "VIRTUAL_ENV",
    "VIRTUAL_ENV_PROMPT",
    "_ROS_WHEELS_BOOTSTRAP_COMPLETE",
)


_OTHER = {"site-packages", "dist-packages"}
"""Folders of what is installed for a Python."""


@dataclass(frozen=True)
class Installation:
    """The ROS that Coterie runs on.

    Attributes:
        setup: The file to source for it; None: the wheels in Coterie's own environment.
        sourced: It was sourced by the caller, whose environment is therefore kept.
        note: Something the user should know, one line; empty if nothing.
    """

    setup: Path | None = None
    sourced: bool = False
    note: str = ""

    @property
    def wheels(self) -> bool:
        """Does ROS come from wheels?"""
        return self.setup is None and not self.sourced

    @property
    def name(self) -> str:
        """What to call it in messages and stamps."""
        if self.wheels:
            return "wheels"
        return f"sourced:{DISTRO}" if self.setup is None else str(self.setup)


def _prefixes(environ: Mapping[str, str]) -> list[Path]:
    return [Path(entry) for entry in environ.get("AMENT_PREFIX_PATH", "").split(":") if entry]


def _is_installation(prefix: Path) -> bool:
    # An environment made of wheels looks the same but for pyvenv.cfg.
    return (prefix / "share" / "rclpy").is_dir() and not (prefix / "pyvenv.cfg").exists()


def find(environ: Mapping[str, str], system_prefix: Path = SYSTEM_PREFIX) -> Installation:
    """Return the ROS to use: the sourced Jazzy, else the installed one, else wheels.

    ``COTERIE_ROS=wheels`` asks for wheels even where ROS is installed. A sourced distribution other
    than Jazzy is set aside, with a note: its messages and libraries do not mix with Jazzy's.

    Raises:
        SetupError: ``COTERIE_ROS`` has an unknown value, or asks for what is not installed.
    """
    wish = environ.get("COTERIE_ROS", "")
    if wish not in ("", "wheels", "system"):
        raise SetupError(f"COTERIE_ROS: expected 'wheels' or 'system', got {wish!r}")
    sourced = environ.get("ROS_DISTRO", "")
    real = any(_is_installation(prefix) for prefix in _prefixes(environ))
    note = ""
    if sourced and sourced != DISTRO and real:
        note = (
            f"ROS {sourced} is sourced in this shell; Coterie needs {DISTRO}, "
            f"so {sourced} is set aside for this command"
        )
    if wish != "wheels":
        if sourced == DISTRO and real:
            return Installation(sourced=True)
        if (system_prefix / "setup.bash").is_file():
            return Installation(setup=system_prefix / "setup.bash", note=note)
    if wish == "system":
        raise SetupError(
            f"COTERIE_ROS=system, but {system_prefix}/setup.bash does not exist and no "
            f"{DISTRO} is sourced",
            "install ROS 2 Jazzy, source it, or leave COTERIE_ROS unset to use wheels",
        )
    return Installation(note=note)


def cleaned(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment without any trace of ROS and of virtual environments.

    Directories that belong to a sourced prefix or to an active environment leave ``PATH``,
    ``LD_LIBRARY_PATH`` and ``PYTHONPATH``; everything else in them stays, such as a folder with
    classes that a team file names. Packages of other Pythons leave ``PYTHONPATH``, too.
    """
    roots = _prefixes(environ)
    roots += [Path(e) for e in environ.get("COLCON_PREFIX_PATH", "").split(":") if e]
    if environ.get("VIRTUAL_ENV"):
        roots.append(Path(environ["VIRTUAL_ENV"]))
    clean = {name: value for name, value in environ.items() if name not in _FOREIGN}
    for name in ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH"):
        if name not in clean:
            continue
        kept = [entry for entry in clean[name].split(":") if not _belongs(entry, roots)]
        if name == "PYTHONPATH":
            kept = [entry for entry in kept if entry and not _OTHER & set(Path(entry).parts)]
        if any(kept):
            clean[name] = ":".join(kept)
        else:
            del clean[name]
    return clean


def base_environment(
    installation: Installation, environ: Mapping[str, str], own: Iterable[Path]
) -> dict[str, str]:
    """Return the environment that the recorded activation is put on top of.

    Where the caller sourced Jazzy, overlays with the drivers of robots are kept, and only what
    Coterie put there (``own``: its environment and install tree) goes; elsewhere see ``cleaned``.
    """
    if not installation.sourced:
        return cleaned(environ)
    roots = list(own)
    result = dict(environ)
    for name in ("PYTHONHOME", "VIRTUAL_ENV", "_ROS_WHEELS_BOOTSTRAP_COMPLETE"):
        result.pop(name, None)
    for name in PATH_LISTS:
        if name in result:
            kept = [entry for entry in result[name].split(":") if not _belongs(entry, roots)]
            result[name] = ":".join(kept)
    return result


def _belongs(entry: str, roots: Iterable[Path]) -> bool:
    if not entry:
        return False
    path = Path(entry)
    wheel_libraries = path.name.startswith("ros_") and path.suffix == ".libs"
    return wheel_libraries or any(path.is_relative_to(root) for root in roots)


def source(files: Iterable[Path], base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that results from sourcing ``files`` in bash, starting at ``base``.

    Raises:
        SetupError: A file fails.
    """
    script = 'for file in "$@"; do source "$file" >&2 || exit 1; done; exec env -0'
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script, "coterie", *map(str, files)],
        env=dict(base),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        names = ", ".join(map(str, files))
        raise SetupError(f"sourcing {names} failed: {done.stderr.strip()[-500:]}")
    pairs = (item.partition("=") for item in done.stdout.split("\0") if item)
    return {name: value for name, _, value in pairs}


@dataclass(frozen=True)
class Activation:
    """What sourcing the set-up files changes, recorded once, so that a start need not source them.

    Attributes:
        front: For each colon list, the entries to put in front, in order.
        values: Plain variables.
    """

    front: Mapping[str, tuple[str, ...]]
    values: Mapping[str, str]

    @classmethod
    def between(cls, before: Mapping[str, str], after: Mapping[str, str]) -> Activation:
        """Return the difference of two environments (variables that went away are not tracked)."""
        front: dict[str, tuple[str, ...]] = {}
        values: dict[str, str] = {}
        for name, value in after.items():
            if name in PATH_LISTS:
                known = before.get(name, "").split(":")
                new = tuple(entry for entry in value.split(":") if entry and entry not in known)
                if new:
                    front[name] = new
            elif before.get(name) != value and name not in ("_", "SHLVL", "PWD", "OLDPWD"):
                values[name] = value
        return cls(front, values)

    def apply(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return ``environ`` with the recorded entries and values."""
        result = {**environ, **self.values}
        for name, entries in self.front.items():
            rest = [e for e in environ.get(name, "").split(":") if e and e not in entries]
            result[name] = ":".join([*entries, *rest])
        return result

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        text = json.dumps({"front": self.front, "values": self.values}, indent=1, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Activation:
        """Read what ``save`` wrote.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is not what ``save`` writes.
        """
        data = json.loads(path.read_text(encoding="utf-8"))
        try:
            front = {name: tuple(entries) for name, entries in data["front"].items()}
            return cls(front, dict(data["values"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: expected the keys 'front' and 'values'") from error


def with_defaults(environ: Mapping[str, str], root: Path, *, wheels: bool) -> dict[str, str]:
    """Return ``environ`` with Coterie's defaults for the middleware; the caller's choices win.

    * Discovery stays on this machine (``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST``), so that a
      demo never talks to a neighbour's robots; set ``SUBNET`` for robots on the network.
    * Fast DDS gets ``config/dds/fastdds.xml``: its defaults lose images between processes.
    * Who wants no bytecode beside the sources (``PYTHONDONTWRITEBYTECODE``, usual in containers)
      gets it below ``.coterie``: without any, every process of a team compiles all it imports.
    """
    result = dict(environ)
    result["COTERIE_ROOT"] = str(root)
    result.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if not {"FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"} & result.keys():
        result["FASTRTPS_DEFAULT_PROFILES_FILE"] = str(root / "config" / "dds" / "fastdds.xml")
    if result.get("PYTHONDONTWRITEBYTECODE") and not result.get("PYTHONPYCACHEPREFIX"):
        del result["PYTHONDONTWRITEBYTECODE"]
        result["PYTHONPYCACHEPREFIX"] = str(root / ".coterie" / "bytecode")
    if wheels:
        # The wheels contain one middleware; a request for another one would stop every node.
        result["RMW_IMPLEMENTATION"] = "rmw_fastrtps_cpp"
    if not result.get("HOME") or not os.access(result["HOME"], os.W_OK):
        result.setdefault("ROS_LOG_DIR", str(root / ".coterie" / "log" / "ros"))
    return result
