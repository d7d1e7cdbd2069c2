"""A team of robots in Python: start or join one, ask it, give it tasks, read its map."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coterie.results import Answer, Event, FoundObject, Progress, Room, TaskResult, TeamError

if TYPE_CHECKING:
    from coterie.async_team import AsyncTeam
    from coterie.semantic_map import SemanticMap
    from coterie.team import Team

__all__ = [
    "Answer",
    "AsyncTeam",
    "Event",
    "FoundObject",
    "Progress",
    "Room",
    "SemanticMap",
    "TaskResult",
    "Team",
    "TeamError",
]

_LATER = {
    "AsyncTeam": "coterie.async_team",
    "SemanticMap": "coterie.semantic_map",
    "Team": "coterie.team",
}
"""What is imported when it is used first: some of it needs ROS, and takes its time."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
