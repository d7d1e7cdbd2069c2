"""`./coterie house`: generate a house and write all that others can use of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from coterie_bringup.errors import CommandError
from coterie_cli.options import Floors, Rooms
from habitat_bridge.house.export import save_house
from habitat_bridge.house.generator import generate_house

app = typer.Typer(add_completion=False)


@app.command("house")
def house(
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated house.")] = 0,
    floors: Floors = None,
    rooms: Rooms = None,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder for the results; default: out/house_SEED."),
    ] = None,
) -> int:
    """Generate a house: ground truth (JSON), GLB, Habitat scene and a floor plan."""
    console = Console(highlight=False)
    begin = time.monotonic()
    try:
        made = generate_house(seed, floors=floors, rooms=rooms)
    except ValueError as error:
        raise CommandError(str(error)) from None
    took = time.monotonic() - begin
    files = save_house(made, out or Path(f"out/house_{seed}"))
    kinds = ", ".join(sorted({room.type for room in made.rooms}))
    console.print(
        f"house {seed}: {len(made.floors)} floors, {len(made.rooms)} rooms ({kinds}), "
        f"{len(made.objects)} things, made in {took:.1f} s"
    )
    for file in files:
        console.print(f"  {file}", soft_wrap=True)
    return 0
