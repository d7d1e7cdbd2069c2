"""A team of robots in Python: start or join one, ask it and why, give it tasks, read its map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie.results import (
    Answer,
    Event,
    FoundObject,
    Progress,
    RobotAnswer,
    Room,
    TaskResult,
    TeamError,
)
from coterie_core.on_demand import on_demand

if TYPE_CHECKING:
    from coterie.async_team import AsyncTeam
    from coterie.semantic_map import SemanticMap
    from coterie.team import Team
    from coterie_safety.why import Explanation
else:  # some of it needs ROS, and takes its time
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "Answer",
    "AsyncTeam",
    "Event",
    "Explanation",
    "FoundObject",
    "Progress",
    "RobotAnswer",
    "Room",
    "SemanticMap",
    "TaskResult",
    "Team",
    "TeamError",
]
