"""Command lines: what their help shows, and how a bench's is run from `./coterie bench NAME`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from rich.markup import escape


def commands(app: typer.Typer) -> Any:
    """Return the commands of an app. What their help has in brackets, as "[s]", is no markup."""
    root = typer.main.get_command(app)
    todo: list[Any] = [root]
    while todo:
        one = todo.pop()
        for helped in (one, *one.params):
            if text := getattr(helped, "help", None):
                helped.help = escape(text)
        todo += getattr(one, "commands", {}).values()
    return root


def run(app: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> int:
    """Run a bench's command line; return the exit code, also for mistakes and interruptions."""
    command = commands(app)
    try:
        code = command.main(list(arguments or []), prog_name=name, standalone_mode=False)
    except typer.Exit as stop:
        return int(stop.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except Exception as error:
        show = getattr(error, "show", None)  # a mistake on the command line shows itself
        if show is None:
            raise
        show()
        return 2
    return int(code or 0)
