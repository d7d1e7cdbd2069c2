"""What a demonstration run leaves: tracks, questions, answers, scores; JSON in and out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class TrackPoint:
    """Where a robot looked: hop, simulated time [s], position [m].

    `coverage` (0..1): share of all places of the house that it has seen well by then.
    """

    step: int
    time: float
    x: float
    y: float
    z: float
    coverage: float = 0.0


@dataclass(slots=True)
class Track:
    """One robot's exploration.

    `coverage` is the share of the house's places that it saw well, `known_coverage` the share of
    the places that it knows of, as the robot itself counts. `outcome` says which limit ended it,
    or what went wrong.
    """

    robot: str
    embodiment: str
    malicious: bool = False
    points: list[TrackPoint] = field(default_factory=list)
    steps: int = 0
    coverage: float = 0.0
    known_coverage: float = 0.0
    objects: int = 0
    rooms: int = 0
    distance: float = 0.0
    outcome: str = ""


@dataclass(slots=True)
class GivenAnswer:
    """One robot's answer, for the report."""

    yes: bool
    confidence: float
    evidence: str
    explanation: str = ""
    decided_by: str = "rule"


@dataclass(slots=True)
class AskedQuestion:
    """A scored question: the truth, who said what, what the team said (None: abstains)."""

    id: str
    object: str
    room: str
    truth: bool
    answers: dict[str, GivenAnswer] = field(default_factory=dict)
    final: bool | None = None
    final_given: bool = False
    final_confidence: float = 0.0
    by_method: dict[str, bool | None] = field(default_factory=dict)


@dataclass(slots=True)
class MethodScore:
    """A method's accuracy (0..1) on the asked questions, and over random splits of all answers.

    `held_out`: trained on the training questions, tested on the forty whose objects never occur in
    training. `random_mean`, `random_std`: the paper's 90/10 split of all questions, seeds 0-4
    (MELE, section 4.2); it lets a learner infer a NO from its YES twin.
    """

    method: str
    title: str
    learned: bool
    held_out: float | None = None
    random_mean: float | None = None
    random_std: float | None = None
    note: str = ""


@dataclass(slots=True)
class Importance:
    """How much accuracy a feature carries (MELE, Eq. 3): mean and std of the loss when shuffled."""

    feature: str
    mean: float
    std: float


@dataclass(slots=True)
class DemoRecord:
    """All of a demonstration run."""

    team: str
    house: str
    seed: int
    world: str
    live_method: str
    tracks: list[Track] = field(default_factory=list)
    questions: list[AskedQuestion] = field(default_factory=list)
    team_coverage: list[float] = field(default_factory=list)
    trained_on: int = 0
    scores: list[MethodScore] = field(default_factory=list)
    live_accuracy: float | None = None
    importances: list[Importance] = field(default_factory=list)
    usage: list[dict[str, Any]] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def save(self, file: Path) -> None:
        """Write the record as JSON, whole or not at all."""
        temporary = file.with_suffix(".tmp")
        temporary.write_text(json.dumps(asdict(self), indent=1, allow_nan=False), encoding="utf-8")
        temporary.replace(file)
