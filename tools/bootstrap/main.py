"""Set up what is missing, then become the command line."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bootstrap import machine, ros, steps, workspace
from bootstrap.errors import SetupError
from bootstrap.plan import ROBOTS, Layout, Plan, optional_groups

ROOT = Path(__file__).resolve().parents[2]

HELP = """\
Coterie: a team of household robots on ROS 2.

Usage: ./coterie COMMAND [OPTIONS]

This clone is not set up yet. The first command sets it up (some minutes, 1.5 GB in .venv
and ros2_ws): it checks the system packages, makes .venv from requirements/, builds ros2_ws
and records the environment. Then ./coterie --help lists all commands.

  ./coterie setup    set up only; --with test adds what ./coterie test needs
  ./coterie test     lint, type checks, all tests
  ./coterie demo     three robots explore a house, map it and answer questions

docs/INSTALL.md tells what is installed where, and how to undo it."""

#: Commands that begin at once, without a look at the set-up, and the modules that do them.
AT_ONCE = {"stop": "coterie_bringup.stop_robots", "release": "coterie_bringup.stop_robots"}
#: Groups of requirements that a command needs instead of that of its own name: a test builds the
#: site, puts a decision to the model in the box, runs detectors, asks the MCP server; no command is
#: named docs.
GROUPS = {
    "test": ("test", "detector", "docs", "embeddings", "local-model", "mcp", ROBOTS),
    "detect": ("detector",),
    "tags": ("detector",),
    "docs": (),
}


def main(arguments: Sequence[str]) -> int:
    """Run ``./coterie`` with ``arguments``; does not return if the command line takes over.

    Returns:
        The exit code: 0, 1 where the set-up failed, 130 where it was interrupted.
    """
    # A service manager's SIGTERM ends a set-up as Ctrl-C does: with the commands it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run(arguments, dict(os.environ))
    except SetupError as error:
        print(error.render(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ncoterie: interrupted; ./coterie setup goes on where it stopped", file=sys.stderr)
        return 130


def _run(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    layout = Layout(ROOT)
    installation = ros.find(environ)
    if arguments and arguments[0] in AT_ONCE and layout.activation.is_file():
        base = ros.base_environment(installation, environ, (layout.venv, layout.install))
        # A set-up that waits to be done anew must not keep robots moving.
        with contextlib.suppress(OSError, ValueError):  # the record of the environment is broken
            _become(layout, installation, base, arguments, AT_ONCE[arguments[0]])
    if installation.note:
        print(f"coterie: {installation.note}", file=sys.stderr)
    machine.check_this_machine(wheels=installation.wheels)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    base = ros.base_environment(installation, environ, (layout.venv, layout.install))

    more = asked_for(arguments, optional_groups(layout))
    plan = Plan.of(layout, installation, version, more)
    if not plan.ready:
        if not arguments or arguments[0] in ("-h", "--help"):
            print(HELP)
            return 0
        # A command's own output stays its own: that of `./coterie mcp` is a protocol.
        with contextlib.redirect_stdout(sys.stderr), _only_one(layout.state):
            # Another ./coterie may have done it while this one waited.
            plan = Plan.of(layout, installation, version, more)
            set_up(plan, base)
    if arguments and arguments[0] == "setup":
        print(_ready_text(plan))
        return 0
    try:
        ros.Activation.load(layout.activation)
    except (OSError, ValueError):
        steps.record_activation(plan, base)
    _become(layout, installation, base, arguments, "coterie_cli.cli")
    return 0


def asked_for(arguments: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Return the groups of requirements that a command needs beside those that everybody needs.

    A group comes with the command of its name, with what `GROUPS` has, and where
    ``setup --with`` names it.

    Raises:
        SetupError: ``setup`` has other arguments, or names a group that does not exist.
    """
    if not arguments:
        return []
    if arguments[0] != "setup":
        needed = GROUPS.get(arguments[0], (arguments[0],))
        return [name for name in groups if name in needed]
    rest = " ".join(arguments[1:]).replace("--with=", "--with ").split()
    asked = [name for words in rest[1::2] for name in words.split(",")]
    usage = f"usage: ./coterie setup [--with {'|'.join(groups)}]"
    if len(rest) % 2 or any(word != "--with" for word in rest[::2]):
        raise SetupError(f"setup: expected --with NAME, got {' '.join(rest)}", usage)
    for name in asked:
        if name not in groups:
            raise SetupError(f"setup --with: expected {' or '.join(groups)}, got {name!r}", usage)
    return asked


def set_up(plan: Plan, base: Mapping[str, str]) -> None:
    """Do the steps that are not done; what is not needed for the next step goes on beside it.

    Args:
        plan: What to reach.
        base: The caller's environment without ROS.

    Raises:
        SetupError: A step fails; the finished ones are kept.
    """
    layout = plan.layout
    print(f"coterie: setting up, about {steps.expected(plan):.0f} s on two cores", flush=True)
    if not plan.venv_ready or plan.missing:
        if not plan.venv_ready:
            steps.ensure_system_packages(layout, base)
        steps.ensure_venv(plan, base)
        steps.drop_damaged(layout)
    if not plan.build_ready:
        steps.install_what_builds(plan, base)
    with contextlib.ExitStack() as beside:
        if not plan.workspace_ready or ROBOTS in plan.missing:
            beside.enter_context(workspace.building(plan, steps.underlay(plan, base)))
        if not plan.venv_ready:
            steps.install_what_runs(plan, base)
        for name in plan.missing:
            if name != ROBOTS:
                steps.install_more(plan, name, base)
        if not plan.renderer_ready:
            steps.compile_renderer(plan, base)
    steps.record_activation(plan, base)


def _ready_text(plan: Plan) -> str:
    setup = plan.installation.setup
    if plan.installation.wheels:
        first = "source .venv/setup.bash; "
    else:
        first = f"source {setup}; " if setup is not None else ""
    return (
        f"Coterie is set up (ROS: {plan.installation.name}).\n"
        "  ./coterie --help   all commands\n"
        f"  to use ROS tools in a shell:  {first}source ros2_ws/install/setup.bash"
    )


@contextlib.contextmanager
def _only_one(state: Path) -> Iterator[None]:
    """Let one set-up run at a time in this clone."""
    state.mkdir(exist_ok=True)
    with (state / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            print(f"coterie: waiting for the set-up of process {lock.read().strip()}", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        # The commands of the set-up hold it too: it is free when the last of them has ended.
        os.set_inheritable(lock.fileno(), True)
        yield


def _become(
    layout: Layout,
    installation: ros.Installation,
    base: Mapping[str, str],
    arguments: Sequence[str],
    module: str,
) -> None:
    """Become a module of the command line, in the environment that was recorded."""
    activation = ros.Activation.load(layout.activation)
    environ = ros.with_defaults(activation.apply(base), layout.root, wheels=installation.wheels)
    python = str(layout.python)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(python, [python, "-m", module, *arguments], environ)
