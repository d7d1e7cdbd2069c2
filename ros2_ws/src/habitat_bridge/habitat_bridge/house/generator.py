"""Generate a house: rooms, doors, stairs, furniture and small things, from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from coterie_core.household import load_household
from habitat_bridge.house.clutter import fill
from habitat_bridge.house.fixtures import add_fixtures
from habitat_bridge.house.furnish import furnish
from habitat_bridge.house.house import House
from habitat_bridge.house.layout import plan_layout
from habitat_bridge.house.room_program import choose_rooms, choose_size
from habitat_bridge.house.structure import build_structure

# Separates this use of a seed from others', so that a world's noise is not the house's.
_STREAM = 0xC07E


def generate_house(
    seed: int, *, floors: int | None = None, rooms: int | None = None, clutter: float = 1.0
) -> House:
    """Return a house; the same arguments give the same house.

    Args:
        seed: Any integer from 0 up.
        floors: 1 to 3; None: the seed decides.
        rooms: 4 to 25 in all, hallways and landings included; None: the seed decides.
        clutter: How many small things there are, 1.0 as usual, 0 for none but what furniture needs.

    Raises:
        ValueError: An argument is out of range, or the rooms are too few for the floors.
    """
    if seed < 0:
        raise ValueError(f"seed: expected an integer from 0 up, got {seed!r}")
    if not 0.0 <= clutter <= 3.0:
        raise ValueError(f"clutter: expected 0 to 3, got {clutter!r}")
    household = load_household()
    rng = np.random.default_rng([_STREAM, seed])
    n_floors, n_rooms = choose_size(rng, floors, rooms)
    program = choose_rooms(rng, household, n_floors, n_rooms)
    layout = plan_layout(rng, household, program)
    house = build_structure(rng, household, layout, seed)
    furnisher = furnish(rng, household, house)
    add_fixtures(furnisher)
    fill(furnisher, clutter)
    return house


def main() -> None:
    """Generate a house and write it to a folder (command line)."""
    import typer

    folder = typer.Option(..., help="Folder for the house's files.")

    def run(
        out: Path = folder,
        seed: int = typer.Option(0, min=0, help="Seed of the house."),
        floors: int = typer.Option(
            None, help="Number of storeys, 1 to 3; default: chosen by the seed."
        ),
        rooms: int = typer.Option(
            None, help="Number of rooms, 4 to 25; default: chosen by the seed."
        ),
        clutter: float = typer.Option(
            1.0, help="Factor of the number of small objects; 1: as usual."
        ),
    ) -> None:
        """Write a generated house: JSON, truth, GLB, Habitat data set, floor plan."""
        from habitat_bridge.house.export import save_house
        from habitat_bridge.house.validator import validate_house

        try:
            house = generate_house(seed, floors=floors, rooms=rooms, clutter=clutter)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        try:
            files = save_house(house, out)
        except OSError as error:
            typer.echo(f"{out}: cannot be written ({error.strerror or error})", err=True)
            raise typer.Exit(1) from None
        typer.echo(
            f"house {seed}: {len(house.floors)} floors, {len(house.rooms)} rooms, "
            f"{len(house.objects)} objects"
        )
        for path in files:
            typer.echo(f"  {path}")
        problems = validate_house(house)
        for problem in problems:
            typer.echo(f"problem: {problem}", err=True)
        if problems:
            raise typer.Exit(2)

    typer.run(run)


if __name__ == "__main__":
    main()
