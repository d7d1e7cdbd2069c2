"""`./coterie house`: generate a house and write all that others can use of it."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from coterie_bringup.errors import CommandError
from habitat_bridge.house.export import save_house
from habitat_bridge.house.generator import generate_house as generate


def generate_house(*, seed: int, floors: int | None, rooms: int | None, out: Path) -> None:
    """Generate, export and describe a house.

    Args:
        seed: Which house.
        floors: Storeys; None: by seed.
        rooms: Rooms in all; None: by seed.
        out: Folder for the files.

    Raises:
        CommandError: No house can be made with so many rooms.
    """
    console = Console(highlight=False)
    begin = time.monotonic()
    try:
        house = generate(seed, floors=floors, rooms=rooms)
    except ValueError as error:
        raise CommandError(str(error)) from None
    took = time.monotonic() - begin
    files = save_house(house, out)
    kinds = ", ".join(sorted({room.type for room in house.rooms}))
    console.print(
        f"house {seed}: {len(house.floors)} floors, {len(house.rooms)} rooms ({kinds}), "
        f"{len(house.objects)} things, made in {took:.1f} s"
    )
    for file in files:
        console.print(f"  {file}", soft_wrap=True)
