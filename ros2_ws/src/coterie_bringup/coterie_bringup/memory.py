"""Where a team's memory is kept, and that it is one of this house."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import state_root
from coterie_bringup.team import Team
from coterie_core.files import write_atomically


def house_identity(team: Team) -> str:
    """Return what tells one house from another: a memory holds for one of them only."""
    if team.real:
        return f"real {team.name}"
    spec, world = team.world_spec(), team.world
    named = {
        name: value
        for name in ("house", "dataset", "scene", "maker", "options")
        if (value := getattr(spec, name))
    }
    if world.maker:
        named["seed"] = world.seed
    made = {"seed": world.seed, "floors": world.floors, "rooms": world.rooms}
    facts = named or {name: value for name, value in made.items() if value is not None}
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def memory_folder(team: Team, run_directory: Path | None) -> Path | None:
    """Return where the team's memory is kept: that of the run, or one that outlives it."""
    if not team.memory.keep:
        return run_directory
    if team.memory.folder:
        return team.resolve(team.memory.folder)
    return state_root() / "memory" / team.name


def memory_parameters(team: Team, run_directory: Path | None) -> dict[str, Any]:
    """Return the parameters of every node that has a copy of the team's memory."""
    folder = memory_folder(team, run_directory)
    directory = "" if folder is None else str(folder / "team")
    return {"memory_directory": directory, "house": house_identity(team)}


def claim_memory(team: Team) -> None:
    """Take the folder of a memory that is kept for the team's house; refuse that of another house.

    Raises:
        CommandError: It is of another house, or cannot be written.
    """
    folder = memory_folder(team, None)
    if folder is None:
        return  # every run begins with nothing
    house, note = house_identity(team), folder / "house.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        before = note.read_text("utf-8").strip() if note.is_file() else ""
        if before and before != house:
            raise CommandError(
                f"memory: {folder} is of another house ({before}); this team's world is {house}. "
                "Give `memory: {folder: ...}` another folder, or remove this one"
            )
        write_atomically(note, house + "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"memory: {folder}: cannot be used: {error}") from None
