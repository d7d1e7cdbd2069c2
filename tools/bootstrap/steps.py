"""The steps of the set-up: system packages, environment, workspace, activation."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from bootstrap import installer, machine, ros, stamps, terminal
from bootstrap.errors import SetupError
from bootstrap.plan import AFTER_INSTALLING, BUILD, NETWORK, ROBOTS, Layout, Plan
from bootstrap.slim import slim

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
    "renderer": 2,
    "robots": 60,
}


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
    pip are not always fit for uv. What nothing here loads is removed again.

    Raises:
        SetupError: They cannot be installed.
    """
    layout = plan.layout
    lines = installer.requirement_lines(
        layout.requirements("run").parent, groups, wheels=plan.installation.wheels
    )
    lines = installer.with_hashes(lines, installer.hashes(layout.requirements("run").parent))
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
    slim(layout.venv, _site_packages(layout))


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
    stamps.write(plan.layout.venv_stamp, plan.venv_digest)


def install_more(plan: Plan, name: str, environ: Mapping[str, str]) -> None:
    """Install a group that is asked for."""
    title = MORE_TITLES.get(name, f"what ./coterie {name} needs")
    install(plan, [name], environ, title=title, expected=EXPECTED["more"])
    if name == "detector":
        # Without it the other detectors work; the one that needs it tries again.
        script = str(plan.layout.workspace / NETWORK)
        command = [str(plan.layout.python), "-E", "-s", script]
        subprocess.run(command, env=dict(environ), check=False)
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
