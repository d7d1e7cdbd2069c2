"""The command line `./coterie`: its groups of commands, and how mistakes end."""

from __future__ import annotations

import ast
import importlib
import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # to look for them reads all packages

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from coterie_bringup.errors import NO_WORKSPACE, CommandError
from coterie_cli.commands import commands

PANELS = {
    "Try": {"demo": "demo.command", "lab": "lab"},
    "Run": {
        "up": "up",
        "down": "down",
        "stop": "stop",
        "release": "stop",
        "console": "console.command",
        "view": "view",
    },
    "Ask and do": {
        "ask": "ask",
        "find": "find",
        "do": "do.command",
        "read": "read",
        "handover": "hand_over",
        "permits": "permit_commands",
    },
    "Real robots": {"robot": "robot.command", "team": "team"},
    "Understand": {
        "why": "why",
        "log": "log",
        "record": "record",
        "replay": "replay",
        "map": "map",
        "detect": "detect",
        "tags": "tags",
        "resume": "resume",
    },
    "Build": {
        "model": "model",
        "house": "house",
        "mcp": "team_tools.command",
        "doctor": "doctor",
        "test": "testing",
        "setup": "clone",
    },
    "Studies, in a clone after ./coterie setup --with research": dict.fromkeys(
        ("bench", "play", "annotate", "whatif", "prompt"), "research"
    ),
}
"""The commands as the help groups them, each with the module whose `app` it is in."""
GONE = {
    "tour": "use ./coterie demo, which explores, maps and asks",
    "cooperate": "use ./coterie do --together",
    "deploy": "use ./coterie team deploy",
    "security": "use ./coterie team security",
    "docs": "use .venv/bin/python -m mkdocs serve, after ./coterie setup --with docs",
}
"""Names that commands had, and what to use instead."""


class _OnDemand(Mapping[str, Any]):
    """The commands by name; the module of one is imported when it is asked for."""

    def __init__(self) -> None:
        self.modules = {name: module for of in PANELS.values() for name, module in of.items()}
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            made = commands(importlib.import_module(f"coterie_cli.{self.modules[name]}").app)
            self._made[name] = getattr(made, "commands", {}).get(name, made)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def help(self, name: str) -> str:
        """Return what a command's function says of it, without importing its module."""
        file = Path(__file__).parent / f"{self.modules[name].replace('.', '/')}.py"
        marks = ("@app.callback(", f'@app.command("{name}"', f'@command(app, "{name}"')
        for part in ast.parse(file.read_text("utf-8")).body:
            if isinstance(part, ast.FunctionDef):
                above = [f"@{ast.unparse(one)}".replace("'", '"') for one in part.decorator_list]
                if any(one.startswith(marks) for one in above):
                    return ast.get_docstring(part) or ""
        return str(self[name].help)


class Commands(TyperGroup):
    """The commands in the order of `PANELS`."""

    commands: Any

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _OnDemand()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names for the help."""
        return list(self.commands)

    def get_command(self, ctx: Any, name: str) -> Any:
        """Return what the help shows of a command; None: there is none of that name."""
        panel = next((panel for panel, names in PANELS.items() if name in names), None)
        if panel is None:
            return None
        return TyperCommand(name, help=escape(self.commands.help(name)), rich_help_panel=panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is meant.

        Raises:
            CommandError: The name is one of `GONE`.
        """
        if args and args[0] in GONE:
            raise CommandError(f"there is no command {args[0]}: {GONE[args[0]]}")
        if args and args[0] in self.commands.modules:
            return args[0], self.commands[args[0]], args[1:]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what it returns is the exit code."""
        if code := super().invoke(ctx):
            raise typer.Exit(code)


app = typer.Typer(
    cls=Commands,
    name="coterie",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    """Print the version, which is that of all packages; without a workspace the wheel's."""
    if not asked:
        return
    from importlib.metadata import version as version_of

    from coterie_bringup.resources import package_path

    file = package_path("package://coterie_cli/package.xml")
    found = re.search(r"<version>(.+?)</version>", file.read_text("utf-8")) if file else None
    print("coterie", found[1] if found else version_of("coterie"))
    raise typer.Exit


@app.callback()
def coterie(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """A team of household robots explores a house, answers questions and decides together."""


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
        typer.main.get_command(app)(args=words, prog_name="coterie")
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
