"""The steps of the set-up: system packages, environment, workspace, activation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bootstrap import installer, machine, ros, stamps, terminal
from bootstrap.errors import SetupError

#: Raise it when a step does something else with the same inputs.
RECIPE = "2"
#: The groups of requirements that builds need, then those that everybody needs.
BUILD = ("ros", "build")
ALWAYS = (*BUILD, "run")
#: Files of requirements/ that are not groups.
_NO_GROUP = ("system", "unused")
#: Asked for as a group of requirements is; it is built and not installed: the interfaces of real
#: robots, where ROS lacks them.
ROBOTS = "robots"
#: Programs of tools/ that make the wheels of ROS usable.
AFTER_INSTALLING = ("relocate_cmake_exports", "write_setup_files")
#: What numba compiles at the first image, below ros2_ws.
RENDERER = "src/habitat_bridge/habitat_bridge/render/raster.py"
#: Groups that no command has the name of, as the set-up's screen has them.
MORE_TITLES = {
    "embeddings": "what compares words by meaning",
    "local-model": "the model in the box",
}
#: How long steps take on two cores that do little else [s].
EXPECTED = {
    "venv": 8,
    "build": 12,
    "run": 10,
    "messages": 65,
    "more": 15,
    "renderer": 15,
    "robots": 60,
}


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

    def group_stamp(self, name: str) -> Path:
        """Written when a part of the environment is complete; goes away with it."""
        return (self.install if name == ROBOTS else self.venv) / f"coterie-with-{name}"

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
    def renderer_stamp(self) -> Path:
        """Written when the renderer of images is compiled."""
        return self.state / "renderer-stamp"

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

    def lock(self, name: str) -> Path:
        """Return the file with all that a requirement file pulls in."""
        return self.root / "requirements" / "lock" / f"{name}.txt"


@dataclass(frozen=True)
class Plan:
    """What the set-up should lead to, and the stamps that tell whether it has.

    Attributes:
        layout: Where things are.
        installation: Where ROS comes from.
        build_digest: Stamp of an environment in which ros2_ws can be built.
        venv_digest: Stamp of the complete environment.
        workspace_digest: Stamp of the built workspace.
        renderer_digest: Stamp of the compiled renderer of images.
        more: Groups of requirements that are asked for beside those everybody needs, and the stamp
            of each.
    """

    layout: Layout
    installation: ros.Installation
    build_digest: str
    venv_digest: str
    workspace_digest: str
    renderer_digest: str
    more: Mapping[str, str]

    @classmethod
    def of(
        cls,
        layout: Layout,
        installation: ros.Installation,
        python_version: str,
        more: Sequence[str] = (),
    ) -> Plan:
        """Read the inputs of all steps.

        Args:
            layout: Where things are.
            installation: Where ROS comes from.
            python_version: Of the interpreter that makes the environment, e.g. ``3.11``.
            more: Groups beside those that everybody needs.
        """
        tools = layout.root / "tools"
        # The root is part of it: neither environments nor builds can be moved.
        facts = [RECIPE, str(layout.root), python_version, installation.name]

        def digest(groups: Sequence[str]) -> str:
            files = [layout.requirements(name) for name in groups]
            files += [layout.lock(name) for name in groups if name != "ros"]
            files += [layout.requirements("system")]
            return stamps.digest(facts, files, layout.root)

        scripts = [tools / f"{name}.py" for name in AFTER_INSTALLING]
        build_digest = stamps.digest([digest(BUILD)], scripts, layout.root)
        source = layout.workspace / "src"
        inputs = stamps.build_inputs(stamps.workspace_packages(source))
        inputs += [tools / "link_packages.py"]
        for_robots = stamps.build_inputs(stamps.robot_stand_ins(source))
        venv_digest = stamps.digest([build_digest, digest(ALWAYS)], [], layout.root)
        renderer = [path for path in [layout.workspace / RENDERER] if path.is_file()]
        return cls(
            layout,
            installation,
            build_digest,
            venv_digest,
            stamps.digest([build_digest], inputs, layout.root),
            stamps.digest([venv_digest], renderer, layout.root),
            {
                name: stamps.digest([build_digest], for_robots, layout.root)
                if name == ROBOTS
                else digest([name])
                for name in more
            },
        )

    @property
    def build_ready(self) -> bool:
        """Can the workspace be built in the environment?"""
        return self.layout.python.exists() and stamps.is_current(
            self.layout.group_stamp("build"), self.build_digest
        )

    @property
    def venv_ready(self) -> bool:
        """Is the environment complete, but for what is asked for beside it?"""
        return self.build_ready and stamps.is_current(self.layout.venv_stamp, self.venv_digest)

    @property
    def missing(self) -> list[str]:
        """Return the groups that are asked for and not there."""
        return [
            name
            for name, digest in self.more.items()
            if not stamps.is_current(self.layout.group_stamp(name), digest)
        ]

    @property
    def workspace_ready(self) -> bool:
        """Is the workspace built?"""
        return stamps.is_current(self.layout.workspace_stamp, self.workspace_digest)

    @property
    def renderer_ready(self) -> bool:
        """Is the renderer of images compiled?"""
        return stamps.is_current(self.layout.renderer_stamp, self.renderer_digest)

    @property
    def ready(self) -> bool:
        """Is there nothing to do?"""
        return (
            self.venv_ready
            and self.workspace_ready
            and not self.missing
            and self.renderer_ready
            and self.layout.activation.is_file()
        )


def groups(layout: Layout) -> list[str]:
    """Return the groups of requirements that are installed only when asked for, and `ROBOTS`."""
    found = (path.stem for path in layout.requirements("run").parent.glob("*.txt"))
    return sorted([ROBOTS, *(name for name in found if name not in (*ALWAYS, *_NO_GROUP))])


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
        terminal.Job(
            [*apt, *arguments],
            title=f"system packages ({arguments[0]})",
            log=layout.log(step),
            environ=environ,
            describe=lambda line: line[:60],
            advise=lambda _: refused.advice,
        ).wait()
    still = machine.missing_system_packages()
    if still:
        raise machine.refuse_missing(still)


def ensure_venv(plan: Plan, environ: Mapping[str, str]) -> None:
    """Make the virtual environment, or keep the one that is there.

    One that was made for other inputs (another interpreter, place or source of ROS) is made anew.
    """
    layout = plan.layout
    machine.check_disk(layout.root)
    base = machine.base_python()
    made_for = layout.venv / "coterie-origin"
    origin = f"{layout.root}\n{plan.installation.name}\n{Path(base).resolve()}"
    if not (made_for.is_file() and made_for.read_text() == origin and _starts(layout.python)):
        command = [base, "-E", "-s", "-m", "venv", "--clear", str(layout.venv)]
        if not plan.installation.wheels:
            command.insert(-1, "--system-site-packages")
        terminal.Job(
            command,
            title="environment .venv",
            log=layout.log("venv"),
            environ=environ,
            expected=EXPECTED["venv"],
        ).wait()
        made_for.write_text(origin)


def _starts(python: Path) -> bool:
    try:
        done = subprocess.run([python, "-E", "-c", "import pip"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _site_packages(layout: Layout) -> Path:
    base = {"base": str(layout.venv), "platbase": str(layout.venv)}
    return Path(sysconfig.get_path("purelib", "posix_prefix", vars=base))


def install(
    plan: Plan, groups: Sequence[str], environ: Mapping[str, str], *, title: str, expected: float
) -> None:
    """Install groups of requirements.

    What is installed already is left alone. Where uv fails, pip tries: mirrors that are fit for
    pip are not always fit for uv.

    Raises:
        SetupError: They cannot be installed.
    """
    layout = plan.layout
    lines = installer.requirement_lines(
        layout.requirements("run").parent, groups, wheels=plan.installation.wheels
    )
    lines, without = installer.with_hashes(
        lines, installer.hashes(layout.requirements("run").parent)
    )
    if without:
        print(
            f"coterie: no hashes are known of {', '.join(without[:5])}: what is installed is not "
            "checked; python tools/lock_requirements.py writes them",
            flush=True,
        )
    wanted = layout.state / f"requirements-{groups[-1]}.txt"
    wanted.write_text("\n".join(lines) + "\n", encoding="utf-8")
    uv = installer.ensure_uv(layout, layout.python, environ)

    def job(uv: Path | None) -> terminal.Job:
        command, variables = installer.command(uv, layout.python, wanted, environ)
        log = layout.log(f"packages-{groups[-1]}" + ("" if uv else "-pip"))
        return terminal.Job(
            command,
            title=title,
            log=log,
            environ=variables,
            describe=installer.InstallProgress(len(lines)),
            advise=installer.advise,
            expected=expected,
        )

    first = job(uv)
    try:
        first.wait()
    except SetupError as error:
        if uv is None or error.log != first.log:
            raise
        print(f"coterie: uv could not install them ({first.log}); pip tries", flush=True)
        job(None).wait()


def install_what_builds(plan: Plan, environ: Mapping[str, str]) -> None:
    """Install ROS (where it comes from wheels) and what builds the workspace."""
    layout = plan.layout
    title = "ROS and build tools"
    install(plan, BUILD, environ, title=title, expected=EXPECTED["build"])
    if plan.installation.wheels:
        for tool in AFTER_INSTALLING:
            terminal.Job(
                [str(layout.python), str(layout.root / "tools" / f"{tool}.py")],
                title=tool.replace("_", " "),
                log=layout.log(tool),
                environ=environ,
            ).wait()
    stamps.write(layout.group_stamp("build"), plan.build_digest)


def install_what_runs(plan: Plan, environ: Mapping[str, str]) -> None:
    """Install what Coterie imports."""
    plan.layout.venv_stamp.unlink(missing_ok=True)
    title = "Python packages"
    install(plan, ["run"], environ, title=title, expected=EXPECTED["run"])
    # 200 MB of C++ headers that come with pinocchio; nothing here is compiled with them.
    headers = _site_packages(plan.layout) / "cmeel.prefix" / "include"
    shutil.rmtree(headers, ignore_errors=True)
    stamps.write(plan.layout.venv_stamp, plan.venv_digest)


def install_more(plan: Plan, name: str, environ: Mapping[str, str]) -> None:
    """Install a group that is asked for."""
    title = MORE_TITLES.get(name, f"what ./coterie {name} needs")
    install(plan, [name], environ, title=title, expected=EXPECTED["more"])
    stamps.write(plan.layout.group_stamp(name), plan.more[name])


def expected(plan: Plan) -> float:
    """Return how long what is due takes on two cores that do little else [s]."""
    seconds = 0.0
    if not plan.layout.python.exists():
        seconds += EXPECTED["venv"]
    if not plan.build_ready:
        seconds += EXPECTED["build"]
    to_install = [name for name in plan.missing if name != ROBOTS]
    beside = float(EXPECTED["more"] * len(to_install))
    beside += 0.0 if plan.venv_ready else EXPECTED["run"]
    beside += 0.0 if plan.renderer_ready else EXPECTED["renderer"]
    built = 0.0 if plan.workspace_ready else EXPECTED["messages"]
    built += EXPECTED["robots"] if ROBOTS in plan.missing else 0.0
    return seconds + max(beside, built)


def drop_damaged(layout: Layout) -> None:
    """Make sure that nothing half installed is taken for installed."""
    damaged = installer.drop_damaged(_site_packages(layout))
    if damaged:
        for stamp in (layout.venv_stamp, *layout.venv.glob("coterie-with-*")):
            stamp.unlink(missing_ok=True)
        print(f"coterie: was cut off, is installed again: {', '.join(damaged)}", flush=True)


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
    activation.save(plan.layout.activation)
    return activation


def compile_renderer(plan: Plan, clean: Mapping[str, str]) -> None:
    """Compile the renderer of images, which the first image would have to wait for.

    It needs the modules that are linked, and no ROS: messages may be built meanwhile.
    """
    try:
        terminal.Job(
            [str(plan.layout.python), "-m", "habitat_bridge.render.painter"],
            title="renderer of images",
            log=plan.layout.log("renderer"),
            environ={**clean, "PYTHONPATH": str(plan.layout.install / "modules")},
            expected=EXPECTED["renderer"],
        ).wait()
    except SetupError as error:
        # Images are then made in another way, which says so.
        print(f"coterie: {error.problem}; {error.log} tells why", flush=True)
    stamps.write(plan.layout.renderer_stamp, plan.renderer_digest)
