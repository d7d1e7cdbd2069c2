"""`./coterie view`: RViz on a team, or the configuration for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import running_teams
from coterie_bringup.team import load_team
from coterie_bringup.view import team_config, topics, write_config
from coterie_cli.options import TeamFile

app = typer.Typer(add_completion=False)


@app.command("view")
def view(
    file: TeamFile,
    out: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="Path that RViz's configuration is written to, instead of showing it.",
        ),
    ] = None,
) -> int:
    """Show a team in RViz, or write the configuration that does."""
    team = load_team(file)
    config = team_config(team)
    if out is not None:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            write_config(config, out)
        except OSError as error:
            raise CommandError(f"{out}: cannot be written: {error.strerror}") from None
        Console().print(f"{out}: {len(topics(config))} topics; open it with: rviz2 -d {out}")
        return 0
    rviz = shutil.which("rviz2")
    if rviz is None:
        raise CommandError(
            "rviz2 is not on the PATH; where ROS is installed, source it and run this again; or "
            "write the configuration for another machine: ./coterie view TEAM --out team.rviz"
        )
    path = rundir.new_run(f"{team.name}-view") / "coterie.rviz"
    write_config(config, path)
    running = next((t for t in running_teams() if t.team == team.name), None)
    environment = dict(os.environ)
    if running is not None:
        environment |= {"ROS_DOMAIN_ID": str(running.domain), **running.environment}
    command = [rviz, "-d", str(path), "--ros-args", "-p", "use_sim_time:=true"]
    if team.namespace:
        for topic in ("tf", "tf_static", "clock"):
            command += ["-r", f"/{topic}:=/{team.namespace}/{topic}"]
    return subprocess.run(command, env=environment, check=False).returncode
