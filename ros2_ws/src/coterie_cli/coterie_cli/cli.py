"""The command line `./coterie`: its groups of commands, and how mistakes end."""

from __future__ import annotations

import io
import os
import sys
from itertools import chain
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from coterie_bringup.errors import NO_WORKSPACE, CommandError
from coterie_cli.commands import commands
from coterie_cli.groups import demos, machine, maps, models, permits, requests, robots, teams, why
from coterie_cli.research import add_study

STUDIES = ("bench", "play", "annotate", "whatif", "prompt")
PANELS = {
    "Try": ("demo", "lab"),
    "Run": ("up", "down", "stop", "release", "console", "view"),
    "Ask and do": ("ask", "find", "do", "handover", "permits"),
    "Real robots": ("robot", "team"),
    "Understand": ("why", "log", "record", "replay", "map", "resume"),
    "Build": ("model", "house", "mcp", "doctor", "test", "setup"),
    "Studies, in a clone after ./coterie setup --with research": STUDIES,
}
"""The commands as the help groups them."""
GONE = {
    "tour": "use ./coterie demo, which explores, maps and asks",
    "cooperate": "use ./coterie do --together",
    "deploy": "use ./coterie team deploy",
    "security": "use ./coterie team security",
    "docs": "use .venv/bin/python -m mkdocs serve, after ./coterie setup --with docs",
}
"""Names that commands had, and what to use instead."""


class Commands(TyperGroup):
    """The commands in the order of `PANELS`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for panel, names in PANELS.items():
            for name in names:
                if name in self.commands:
                    self.commands[name].rich_help_panel = panel  # type: ignore[attr-defined]

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names for the help."""
        return [name for name in chain.from_iterable(PANELS.values()) if name in self.commands]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is meant.

        Raises:
            CommandError: The name is one of `GONE`.
        """
        if args and args[0] in GONE and args[0] not in self.commands:
            raise CommandError(f"there is no command {args[0]}: {GONE[args[0]]}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    name="coterie",
    help="A team of household robots explores a house, answers questions and decides together.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (demos, teams, requests, why, maps, machine):
    app.add_typer(group.app)
app.add_typer(teams.team_app, name="team")
app.add_typer(models.model_app, name="model")
app.add_typer(robots.robot_app, name="robot")
app.add_typer(permits.permits_app, name="permits")
app.add_typer(permits.log_app, name="log")
for _name in STUDIES:
    add_study(app, _name)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; a mistake is one clear line and exit code 2, without traceback.

    `--debug` anywhere (or COTERIE_DEBUG=1) shows the traceback; `--trust` (or COTERIE_TRUST=1)
    agrees to what a team file runs, sends, reads and writes.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not every terminal has every sign
            stream.reconfigure(errors="replace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words or os.environ.get("COTERIE_DEBUG") == "1"
    if "--trust" in words:  # what a team file runs, sends, reads and writes (docs/team_file.md)
        os.environ["COTERIE_TRUST"] = "1"
    words = [w for w in words if w not in ("--debug", "--trust")]
    try:
        commands(app)(args=words, prog_name="coterie")
    except KeyboardInterrupt:
        print("\ncoterie: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except Exception as error:
        if debug:
            raise
        if isinstance(error, ModuleNotFoundError) and _of_ros(error.name or ""):
            print(
                f"coterie: this command speaks ROS 2, and there is no {error.name} here; "
                f"{NO_WORKSPACE}",
                file=sys.stderr,
            )
            raise SystemExit(2) from None
        known = type(error).__name__ in KNOWN_ERRORS or isinstance(error, OSError)
        text = str(error) or type(error).__name__
        if known:
            print(
                text if type(error).__name__ == "FileProblem" else f"coterie: {text}",
                file=sys.stderr,
            )
            raise SystemExit(getattr(error, "exit_code", 2)) from None
        print(
            f"coterie: {type(error).__name__}: {text}\n"
            "  -> this should not happen; the same command with --debug shows where",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
    raise SystemExit(0)


def _of_ros(module: str) -> bool:
    """Tell whether a module comes with ROS or with messages, and not from PyPI."""
    name = module.partition(".")[0]
    return name in ROS_MODULES or name.endswith(("_msgs", "_interfaces"))


ROS_MODULES = {"rclpy", "rosidl_runtime_py", "ament_index_python", "launch", "launch_ros"}
KNOWN_ERRORS = {
    "CommandError",
    "DomainError",
    "FileProblem",
    "NoLocalModel",
    "PageError",
    "PlanError",
    "PlayError",
    "ProfileError",
    "RecordingError",
    "WorldError",
}
"""Errors whose text is meant for users, by name: their modules are imported only when needed."""


if __name__ == "__main__":
    main()
