"""Records of robots, talks and tasks that a console keeps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

from coterie_core.tasks import SubTask

ENDED = "ended"
"""How a task ended of which only that is known."""
MOST_ASKED = 3
"""How often that is looked for in what is kept of the run: it may be kept a moment later."""
MAX_TURNS = 120
MAX_TRAIL_POINTS = 400
"""Points of a robot's way that are kept."""


@dataclass(slots=True)
class Robot:
    """What is known of one robot; positions in the map frame [m], times by the state's clock."""

    name: str
    pose: tuple[float, float, float, float] | None = None
    room: str = ""
    floor: str = ""
    doing: str = ""
    reports: bool = False
    """Whether it tells itself what it does; of others the log's goals tell it, the last of which
    ended then."""
    ended: float | None = None
    holding: str = ""
    help: str = ""
    """What it asks for in the task that goes on."""
    stopped: bool | None = None
    heard: float | None = None
    cameras: tuple[str, ...] = ()
    description: str = ""
    """Its URDF."""
    way: deque[tuple[float, float, float]] = field(
        default_factory=lambda: deque(maxlen=MAX_TRAIL_POINTS)
    )


@dataclass(slots=True)
class Talk:
    """A question or a search of a person, and what came of it; `asked`: the question's id."""

    id: str
    kind: Literal["ask", "find"]
    words: str
    by: str
    at: float
    state: Literal["working", "done", "failed"] = "working"
    told: str = ""
    asked: str = ""
    answer: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Task:
    """A task of the team: from a person here, or from somebody else."""

    id: str
    words: str
    by: str
    at: float
    own: bool
    meant: str = ""
    """The words as the team took them, after it asked back."""
    looked_up: bool = False
    """Whether its words were looked for in what is kept of the run."""
    end_asked: int = 0
    """How often that was looked for."""
    resumed: bool = False
    team_id: str = ""
    stage: str = "waiting"
    round: int = 0
    outcome: str = ""
    message: str = ""
    sub_tasks: tuple[SubTask, ...] = ()
    turns: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MAX_TURNS))
