"""What a demonstration leaves: the robots' ways, questions, answers, votes; JSON on disk."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from coterie_cli.ask import thing_data
from coterie_cli.demo.questions import Asked
from coterie_core.files import write_atomically
from coterie_core.geometry import Vec3
from coterie_core.questions import Answer
from coterie_world.scene import SceneGraph


@dataclass(slots=True)
class Track:
    """One robot's exploration.

    `way`: where it looked [m]; `rooms`: names of the rooms that it was in, in order; `distance`
    [m]; `outcome`: the limit that ended it, or what went wrong.
    """

    robot: str
    embodiment: str
    malicious: bool = False
    way: list[Vec3] = field(default_factory=list)
    rooms: list[str] = field(default_factory=list)
    steps: int = 0
    distance: float = 0.0
    outcome: str = ""


@dataclass(slots=True)
class ScoredQuestion:
    """A scored question: the truth, who said what, what the team said (None: it abstains)."""

    id: str
    object: str
    room: str
    truth: bool
    answers: dict[str, Answer] = field(default_factory=dict)
    final: bool | None = None
    final_given: bool = False
    by_method: dict[str, bool | None] = field(default_factory=dict)


@dataclass(slots=True)
class MethodScore:
    """A method's accuracy (0..1) on the scored questions.

    It was trained on questions about other objects. `note`: why there is none.
    """

    method: str
    title: str
    accuracy: float | None = None
    note: str = ""


@dataclass(slots=True)
class DemoRecord:
    """All of a demonstration; `seconds`: how long its parts took, `things`: on the map."""

    team: str
    house: str
    seed: int
    method: str
    asked: list[Asked] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    mapper: dict[str, int] = field(default_factory=dict)
    things: int = 0
    trained_on: int = 0
    questions: list[ScoredQuestion] = field(default_factory=list)
    scores: list[MethodScore] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def ways(self) -> dict[str, list[Vec3]]:
        """Robot -> where it looked [m], in order."""
        return {track.robot: track.way for track in self.tracks}

    def save(self, path: Path, scene: SceneGraph | None) -> None:
        """Write it, with the label, room and place of every thing that an answer rests on.

        Raises:
            OSError: The file cannot be written.
        """
        data: dict[str, Any] = asdict(self)
        for asked in data["asked"]:
            asked["evidence"] = [thing_data(id_, scene) for id_ in asked["objects"]]
        write_atomically(path, json.dumps(data, indent=1, allow_nan=False) + "\n")
