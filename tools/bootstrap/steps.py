"""The steps of the set-up: system packages, environment, workspace, activation."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bootstrap import machine, ros, stamps, terminal

#: Raise it when a step does something else with the same inputs.
RECIPE = "1"


@dataclass(frozen=True)
class Layout:
    """Where the set-up puts what it makes; all of it lies below the repository's root."""

    root: Path

    @property
    def venv(self) -> Path:
        """The virtual environment."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.venv / "bin" / "python"

    @property
    def venv_stamp(self) -> Path:
        """Written when the environment is complete; goes away with it."""
        return self.venv / "coterie-stamp"

    @property
    def workspace(self) -> Path:
        """The colcon workspace."""
        return self.root / "ros2_ws"

    @property
    def install(self) -> Path:
        """The install tree of colcon."""
        return self.workspace / "install"

    @property
    def workspace_stamp(self) -> Path:
        """Written when the workspace is built; goes away with it."""
        return self.install / "coterie-stamp"

    @property
    def state(self) -> Path:
        """Logs, lock and the recorded activation."""
        return self.root / ".coterie"

    @property
    def activation(self) -> Path:
        """The recorded activation."""
        return self.state / "activation.json"

    def log(self, step: str) -> Path:
        """Return the log file of a step."""
        return self.state / "log" / f"{step}.log"

    def requirements(self, name: str) -> Path:
        """Return a requirement file."""
        return self.root / "requirements" / f"{name}.txt"


@dataclass(frozen=True)
class Plan:
    """What the set-up should lead to, and the stamps that tell whether it has.

    Attributes:
        layout: Where things are.
        installation: Where ROS comes from.
        venv_digest: Stamp of the complete environment.
        workspace_digest: Stamp of the built workspace.
    """

    layout: Layout
    installation: ros.Installation
    venv_digest: str
    workspace_digest: str

    @classmethod
    def of(cls, layout: Layout, installation: ros.Installation, python_version: str) -> Plan:
        """Read the inputs of all steps.

        Args:
            layout: Where things are.
            installation: Where ROS comes from.
            python_version: Of the interpreter that makes the environment, e.g. ``3.11``.
        """
        tools = layout.root / "tools"
        files = sorted(layout.requirements("run").parent.glob("*.txt"))
        files += [tools / "relocate_cmake_exports.py", tools / "write_setup_files.py"]
        # The root is part of it: neither environments nor builds can be moved.
        facts = [RECIPE, str(layout.root), python_version, installation.name]
        venv_digest = stamps.digest(facts, files, layout.root)
        packages = stamps.workspace_packages(layout.workspace / "src")
        inputs = stamps.build_inputs(packages)
        return cls(
            layout,
            installation,
            venv_digest,
            stamps.digest([RECIPE, venv_digest], inputs, layout.root),
        )

    @property
    def venv_ready(self) -> bool:
        """Is the environment complete?"""
        return self.layout.python.exists() and stamps.is_current(
            self.layout.venv_stamp, self.venv_digest
        )

    @property
    def workspace_ready(self) -> bool:
        """Is the workspace built?"""
        return stamps.is_current(self.layout.workspace_stamp, self.workspace_digest)

    @property
    def ready(self) -> bool:
        """Is there nothing to do?"""
        return self.venv_ready and self.workspace_ready and self.layout.activation.is_file()


_PIN = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[\w,-]+\])?\s*==")


def _name(line: str) -> str | None:
    """Return the name of a pinned distribution, in the form in which spellings are equal."""
    match = _PIN.match(line)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else None


def _lines(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def requirement_lines(folder: Path, *, wheels: bool) -> tuple[list[str], list[str]]:
    """Return what pip is to install, and the constraints on what that pulls in.

    Args:
        folder: The folder ``requirements``.
        wheels: Does ROS come from wheels? If not, what ``system.txt`` pins takes the place of the
            other files' pins of the same name.
    """
    names = ["build", "run", "dev"]
    required = [line for name in names for line in _lines(folder / f"{name}.txt")]
    constraints = _lines(folder / "constraints.txt")
    if wheels:
        return [*_lines(folder / "ros.txt"), *required], constraints
    chosen = _lines(folder / "system.txt")
    taken = {_name(line) for line in chosen}
    return (
        [*chosen, *(line for line in required if _name(line) not in taken)],
        [line for line in constraints if _name(line) not in taken],
    )


def ensure_system_packages(layout: Layout, environ: Mapping[str, str]) -> None:
    """Install the system packages that are missing, or say how.

    Raises:
        SetupError: Something is missing and cannot be installed from here.
    """
    needs = machine.missing_system_packages()
    if not needs:
        return
    packages = [need.package for need in needs]
    prefix = machine.may_install(environ)
    if prefix is None:
        raise machine.refuse_missing(needs)
    print("coterie: this system lacks " + ", ".join(need.what for need in needs), flush=True)
    print("coterie: installing: " + machine.install_line(packages, sudo=bool(prefix)), flush=True)
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    refused = machine.refuse_missing(needs)
    # A fresh container has no package lists; a machine in use may have old ones.
    for step, arguments in (
        ("apt-update", ["update"]),
        ("apt-install", ["install", "-y", "--no-install-recommends", *packages]),
    ):
        terminal.run(
            [*apt, *arguments],
            title=f"system packages ({arguments[0]})",
            log=layout.log(step),
            environ=environ,
            describe=lambda line: line[:60],
            advise=lambda _: refused.advice,
        )
    still = machine.missing_system_packages()
    if still:
        raise machine.refuse_missing(still)


def ensure_venv(plan: Plan, environ: Mapping[str, str]) -> None:
    """Make or complete the virtual environment.

    An interrupted set-up left no stamp: pip then goes on where it stopped. An environment that was
    made for other inputs (another interpreter, place or source of ROS) is made anew.
    """
    layout = plan.layout
    machine.check_disk(layout.root)
    base = machine.base_python()
    made_for = layout.venv / "coterie-origin"
    origin = f"{layout.root}\n{plan.installation.name}\n{Path(base).resolve()}"
    usable = layout.python.exists() and _starts(layout.python)
    known = made_for.is_file()
    if usable and known and made_for.read_text() != origin:
        usable = False
    layout.venv_stamp.unlink(missing_ok=True)
    if not usable:
        command = [base, "-E", "-s", "-m", "venv", "--clear", str(layout.venv)]
        if not plan.installation.wheels:
            command.insert(-1, "--system-site-packages")
        terminal.run(command, title="environment .venv", log=layout.log("venv"), environ=environ)
    made_for.write_text(origin)
    required, constraints = requirement_lines(
        layout.root / "requirements", wheels=plan.installation.wheels
    )
    wanted = layout.state / "requirements.txt"
    wanted.write_text("\n".join(required) + "\n", encoding="utf-8")
    limits = layout.state / "constraints.txt"
    limits.write_text("\n".join(constraints) + "\n", encoding="utf-8")
    command = [
        str(layout.python), "-m", "pip", "install", "--no-input", "--disable-pip-version-check",
        "--prefer-binary", "--constraint", str(limits), "--requirement", str(wanted),
    ]  # fmt: skip
    total = len({_name(line) for line in [*required, *constraints]})
    terminal.run(
        command,
        title="Python packages",
        log=layout.log("pip"),
        environ=environ,
        describe=PipProgress(total),
        advise=advise_on_pip,
    )
    if plan.installation.wheels:
        for tool in ("relocate_cmake_exports", "write_setup_files"):
            terminal.run(
                [str(layout.python), str(layout.root / "tools" / f"{tool}.py")],
                title=tool.replace("_", " "),
                log=layout.log(tool),
                environ=environ,
            )
    layout.venv_stamp.write_text(plan.venv_digest + "\n", encoding="ascii")


def _starts(python: Path) -> bool:
    try:
        done = subprocess.run([python, "-E", "-c", "import pip"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


class PipProgress:
    """Turns pip's lines into ``done/total package``."""

    _COLLECTING = re.compile(r"(?:Collecting|Requirement already satisfied:) ([A-Za-z0-9_.-]+)")

    def __init__(self, total: int) -> None:
        self.total = total
        self._seen: set[str] = set()

    def __call__(self, line: str) -> str | None:
        """Return what to show for ``line``."""
        match = self._COLLECTING.match(line.strip())
        if match:
            self._seen.add(re.sub(r"[-_.]+", "-", match[1]).lower())
            return f"{min(len(self._seen), self.total)}/{self.total} {match[1]}"
        if line.startswith("Installing collected packages"):
            return f"unpacking {line.count(',') + 1} packages"
        return None


def advise_on_pip(output: str) -> list[str]:
    """Return what to do about a failed ``pip install``, judged by its output."""
    advice = []
    if re.search(r"No space left on device", output):
        advice.append("free some space, then run ./coterie setup again")
    elif re.search(
        r"NewConnectionError|Temporary failure in name resolution|ConnectTimeout|ReadTimeout"
        r"|ProxyError|SSLError|CERTIFICATE_VERIFY_FAILED|Network is unreachable|IncompleteRead",
        output,
    ):
        advice.append(
            "the package index was not reached: check the network, HTTPS_PROXY, PIP_INDEX_URL"
        )
    elif re.search(r"Could not find a version|No matching distribution", output):
        advice.append(
            "the package index lacks a pinned version: a mirror (PIP_INDEX_URL) may be incomplete"
        )
    elif re.search(r"THESE PACKAGES DO NOT MATCH THE HASHES", output):
        advice.append("a download was damaged: pip cache purge")
    advice.append("run ./coterie setup again: it goes on where it stopped")
    return advice


def ensure_workspace(plan: Plan, environ: Mapping[str, str]) -> None:
    """Build ``ros2_ws`` with colcon, so that sources are linked and not copied."""
    layout = plan.layout
    origin = layout.workspace / "build" / "coterie-origin"
    # A build tree knows its place and its interpreter; made for others, it is of no use.
    made_for = f"{layout.root}\n{plan.installation.name}\n{os.path.realpath(layout.python)}"
    if origin.is_file() and origin.read_text() != made_for:
        for name in ("build", "install", "log"):
            shutil.rmtree(layout.workspace / name, ignore_errors=True)
    layout.workspace_stamp.unlink(missing_ok=True)
    origin.parent.mkdir(exist_ok=True)
    origin.write_text(made_for)
    source = layout.workspace / "src"
    packages = [path for path in stamps.workspace_packages(source) if path.parent == source]
    stand_ins = missing_stand_ins(source / "compat", _ament_prefixes(environ, layout))
    _drop_removed(layout, {path.name for path in [*packages, *stand_ins]})
    command = [
        str(layout.venv / "bin" / "colcon"), "--log-base", str(layout.workspace / "log"),
        "build", "--symlink-install", "--base-paths", "src",
        *[str(path.relative_to(layout.workspace)) for path in stand_ins],
        "--cmake-args", "-DBUILD_TESTING=OFF",
        f"-DPython3_EXECUTABLE={layout.python}",
        f"-DCOTERIE_ROS_FROM_WHEELS={'ON' if plan.installation.wheels else 'OFF'}",
    ]  # fmt: skip
    terminal.run(
        command,
        title="workspace ros2_ws",
        log=layout.log("colcon"),
        environ=environ,
        cwd=layout.workspace,
        describe=ColconProgress(len(packages) + len(stand_ins)),
        advise=lambda _: (
            "mend what the log names, then run ./coterie setup again",
            "if the build tree is broken:  rm -rf ros2_ws/build ros2_ws/install ros2_ws/log",
        ),
    )
    layout.workspace_stamp.write_text(plan.workspace_digest + "\n", encoding="ascii")


def _ament_prefixes(environ: Mapping[str, str], layout: Layout) -> list[Path]:
    entries = [Path(e) for e in environ.get("AMENT_PREFIX_PATH", "").split(":") if e]
    return [entry for entry in entries if not entry.is_relative_to(layout.install)]


def missing_stand_ins(compat: Path, prefixes: Sequence[Path]) -> list[Path]:
    """Return the packages of ``compat`` that no ament prefix provides."""
    return [
        package.parent
        for package in sorted(compat.glob("*/package.xml"))
        if not any((prefix / "share" / package.parent.name).is_dir() for prefix in prefixes)
    ]


def _drop_removed(layout: Layout, names: set[str]) -> None:
    """Remove what was built from packages that no longer exist, so that nobody imports it."""
    for marker in layout.install.glob("*/share/colcon-core/packages/*"):
        if marker.name not in names:
            shutil.rmtree(marker.parents[3], ignore_errors=True)
            shutil.rmtree(layout.workspace / "build" / marker.name, ignore_errors=True)


class ColconProgress:
    """Turns colcon's lines into ``done/total package``."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._done = 0

    def __call__(self, line: str) -> str | None:
        """Return what to show for ``line``."""
        match = re.match(r"(Starting >>>|Finished <<<) (\S+)", line)
        if match is None:
            return None
        if match[1].startswith("Finished"):
            self._done += 1
        return f"{self._done}/{self.total} {match[2]}"


def underlay(plan: Plan, clean: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which the workspace is built: ROS and the virtual environment."""
    layout = plan.layout
    base = dict(clean)
    if plan.installation.wheels:
        return ros.source([layout.venv / "setup.bash"], base)
    if plan.installation.setup is not None:
        base = ros.source([plan.installation.setup], base)
    base["PATH"] = f"{layout.venv / 'bin'}:{base.get('PATH', os.defpath)}"
    base["VIRTUAL_ENV"] = str(layout.venv)
    return base


def record_activation(plan: Plan, clean: Mapping[str, str]) -> ros.Activation:
    """Source everything once and keep what it changed."""
    after = ros.source([plan.layout.install / "setup.bash"], underlay(plan, clean))
    activation = ros.Activation.between(clean, after)
    plan.layout.state.mkdir(exist_ok=True)
    activation.save(plan.layout.activation)
    return activation
