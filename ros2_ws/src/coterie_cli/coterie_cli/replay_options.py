"""Options of `./coterie replay`: what of a recorded run is played, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from coterie_cli.options import Domain, NoOpen, Port


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What is played, and how."""

    file: Annotated[Path, typer.Argument(help="Path of an MCAP file of ./coterie record --live.")]
    rate: Annotated[
        float,
        typer.Option(min=0.01, max=100.0, help="Ratio of speeds; 2: twice as fast as it was."),
    ] = 1.0
    delay: Annotated[
        float,
        typer.Option(
            min=0.0, help="Time before the first message, in which listeners find the topics [s]."
        ),
    ] = 3.0
    topic: Annotated[
        list[str] | None,
        typer.Option(help="Regular expression of the topics; may be given again; default: all."),
    ] = None
    hold: Annotated[
        bool, typer.Option("--hold", help="Latched topics stay there after the end, until Ctrl-C.")
    ] = False
    console: Annotated[
        bool, typer.Option("--console", help="It is shown in the console; implies --hold.")
    ] = False
    port: Port = None
    no_open: NoOpen = False
    info: Annotated[
        bool, typer.Option("--info", help="Only a table of what is in the file is shown.")
    ] = False
    domain: Domain = None
