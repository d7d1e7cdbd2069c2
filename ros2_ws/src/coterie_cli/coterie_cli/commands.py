"""Command lines: one made of a dataclass, what their help shows, and how a bench's is run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_type_hints

import typer
from rich.markup import escape

Options = TypeVar("Options")


def command(
    app: typer.Typer, name: str, options: Callable[..., Options], *, epilog: str | None = None
) -> Callable[[Callable[[Options], int]], Callable[[Options], int]]:
    """Make a command of a function that takes a dataclass, whose fields are the command's options.

    Args:
        app: The command's app.
        name: Name of the command.
        options: The dataclass; its fields are annotated as arguments and options of Typer.
        epilog: What the help ends with.
    """
    hints = get_type_hints(options, include_extras=True)
    fields = inspect.signature(options).parameters.values()

    def register(function: Callable[[Options], int]) -> Callable[[Options], int]:
        @functools.wraps(function)
        def run(**given: Any) -> int:
            return function(options(**given))

        run.__annotations__ = {field.name: hints[field.name] for field in fields}
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [field.replace(annotation=hints[field.name]) for field in fields]
        )
        app.command(name, epilog=epilog)(run)
        return function

    return register


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
        code = command.main(
            list(arguments or []),
            prog_name=name,
            standalone_mode=False,
            help_option_names=["-h", "--help"],
        )
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
