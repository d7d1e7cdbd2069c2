"""A team's memory as JSON, written whole or not at all; errors name file and field."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coterie_core.files import write_atomically
from coterie_core.geometry import Pose
from coterie_core.plain_data import schema_problems
from coterie_world.object_events import ObjectEvent
from coterie_world.scene import SceneError, SceneGraph, checked
from coterie_world.team_memory.memory import TeamMemory
from coterie_world.team_memory.store import Belief, Bounds, Trace

MAX_FILE_BYTES = 200_000_000
"""Larger files are no memories [bytes]."""


class MemoryFault(ValueError):
    """A memory cannot be taken over: says which file, what is wrong and what to do."""


class OtherHouse(MemoryFault):
    """A memory is one of another house."""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: str = Field("coterie-team-memory/1", pattern="^coterie-team-memory/1$")
    house: str
    bounds: Bounds
    time: float
    made: int
    graph: SceneGraph
    beliefs: dict[str, Belief]
    traces: list[Trace]
    events: list[str]
    sources: dict[str, str]
    views: dict[str, tuple[int, float, Pose]]
    own: list[ObjectEvent] = []


def save_memory(memory: TeamMemory, path: str | Path, own: list[ObjectEvent] | None = None) -> None:
    """Write a memory; a reader never sees half of it.

    Args:
        memory: The memory.
        path: The file; its folder is made where there is none.
        own: Events that whoever keeps this file has told the team, to tell them again.

    Raises:
        OSError: The folder cannot be made or written.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = _File(
        house=memory.house,
        bounds=memory.bounds,
        time=memory.time,
        made=memory.made,
        graph=memory.graph,
        beliefs=memory.beliefs,
        traces=memory.traces,
        events=list(memory.events),
        sources=memory.sources,
        views=memory.views,
        own=own or [],
    )
    write_atomically(path, data.model_dump_json())


def load_memory(path: str | Path, house: str = "") -> tuple[TeamMemory, list[ObjectEvent]]:
    """Read what `save_memory` wrote; return the memory and the keeper's own events.

    Args:
        path: The file.
        house: The house that the team is in ("": not told).

    Raises:
        MemoryFault: The file cannot be read, or is no memory.
        OtherHouse: It is the memory of another house.
    """
    try:
        if Path(path).stat().st_size > MAX_FILE_BYTES:
            raise MemoryFault(f"{path}: larger than {MAX_FILE_BYTES} bytes: no team's memory")
        data = _File.model_validate_json(Path(path).read_bytes())
    except OSError as error:
        raise MemoryFault(f"{path}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        problem = schema_problems(error)
        raise MemoryFault(
            f"{path}: not a team's memory: {problem}; remove the file to begin anew"
        ) from None
    try:
        graph = checked(data.graph, str(path))
    except SceneError as error:
        raise MemoryFault(f"{error} Remove the file to begin anew.") from None
    if graph.objects.keys() != data.beliefs.keys():
        raise MemoryFault(
            f"{path}: beliefs: expected one for every object; remove the file to begin anew"
        )
    if house and data.house and data.house != house:
        raise OtherHouse(
            f"{path}: is the memory of another house ({data.house}); this team is in {house}. "
            "Give another folder, or remove the file to begin anew"
        )
    memory = TeamMemory(house or data.house, data.bounds)
    memory.graph, memory.beliefs, memory.traces = graph, data.beliefs, data.traces
    memory.events = dict.fromkeys(data.events)
    memory.time, memory.made, memory.sources = data.time, data.made, data.sources
    memory.views = data.views
    return memory, data.own
