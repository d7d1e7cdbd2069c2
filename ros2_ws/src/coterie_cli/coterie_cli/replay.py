"""`./coterie replay`: a recorded run is played; `player` plays it, which needs ROS."""

from __future__ import annotations

import typer

from coterie_cli.commands import command
from coterie_cli.replay_options import ReplayOptions

app = typer.Typer(add_completion=False)


@command(app, "replay", ReplayOptions)
def replay(options: ReplayOptions) -> int:
    """Play a recorded run on a ROS domain of its own."""
    from coterie_cli.player import play

    return play(options)
