"""Saves a robot's memory as JSON and restores it without loss."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coterie_core.files import write_atomically
from coterie_core.plain_data import schema_problems
from coterie_world.scene import SceneGraph
from coterie_world.scene.serial import dangling_references
from mele_explorer.memory import LogEntry, Memory, MemoryLimits


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: str = Field(pattern="^coterie-memory/1$")
    robot: str
    limits: MemoryLimits
    graph: SceneGraph
    visits: dict[str, int]
    seen: dict[str, float]
    looks: dict[str, int]
    sightings: dict[str, dict[str, int]]
    room_votes: dict[str, dict[str, int]]
    log: list[LogEntry]
    here: str
    made: int


_RESTORED = tuple(_File.model_fields)[3:]
"""All that a memory is restored by but its robot and limits."""


class MemoryFileError(ValueError):
    """A memory cannot be read: says which file and field, and what to do."""


def memory_to_json(memory: Memory) -> str:
    """Return the memory as JSON text."""
    data = _File(
        format="coterie-memory/1",
        **{name: getattr(memory, name) for name in ("robot", "limits", *_RESTORED)},
    )
    return data.model_dump_json()


def memory_from_json(text: str | bytes, source: str = "memory") -> Memory:
    """Return the memory that `memory_to_json` wrote.

    Raises:
        MemoryFileError: The text is no memory; names the fields that are wrong.
    """
    try:
        data = _File.model_validate_json(text)
    except ValidationError as error:
        problems = schema_problems(error, most=5)
        raise MemoryFileError(f"{source}: not a robot's memory: {problems}") from None
    dangling = dangling_references(data.graph)
    if dangling:
        raise MemoryFileError(f"{source}: {dangling[0]}; every id named must be in the file")
    memory = Memory(data.robot, data.limits)
    for name in _RESTORED:
        setattr(memory, name, getattr(data, name))
    memory.restore_index()
    return memory


def save_memory(memory: Memory, path: str | Path) -> None:
    """Write the memory to a file; a reader never sees half of it.

    Raises:
        OSError: The folder does not exist or cannot be written.
    """
    write_atomically(path, memory_to_json(memory))


def load_memory(path: str | Path) -> Memory:
    """Read a memory from a file.

    Raises:
        MemoryFileError: The file is missing or no memory.
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise MemoryFileError(f"{path}: cannot be read ({error.strerror})") from error
    return memory_from_json(text, str(path))
