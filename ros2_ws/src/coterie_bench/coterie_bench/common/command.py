"""How a bench's command line is run from `./coterie bench NAME`."""

from __future__ import annotations

from collections.abc import Sequence

import typer


def run(app: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> int:
    """Run a bench's command line; return the exit code, also for mistakes and interruptions."""
    command = typer.main.get_command(app)
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
