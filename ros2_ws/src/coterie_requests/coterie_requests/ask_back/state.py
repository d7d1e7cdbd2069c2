"""RequestState: what a request is judged by: its steps, the map, and what of it was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from coterie_core.conformal import DENIAL_LEVEL, load_conformal
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_requests.grammar import Door
from coterie_requests.request import Request
from coterie_requests.understanding.grounding import Resolver
from coterie_requests.understanding.problems import Problem
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.coverage import Coverage
from coterie_world.scene import Room, SceneGraph


@dataclass(frozen=True)
class RequestState:
    """A request and what is known.

    Attributes:
        words: The words of the person.
        command: Command that they are given to, the door of their reading.
        scene: The map; it must not change meanwhile.
        coverage: Coverage of the map's rooms; None: estimated from the number of their objects.
        vocabulary: Labels that the detector can report.
        robots: Names that may be spoken to.
        request: The request that was read of the words; None: `settle` reads them.
        rooms_given: Whether the map had all rooms from the start, so that one that it has not is
            not there.
        coverage_level: Share of denials that shall be right; see `coterie_core.conformal`.
        problem: Reason why the words were not read, or leave nothing to do, which an answer may
            settle.
        question: Question that was asked back before.
        choices: Choices that were offered with it.
        candidates: Ids that the choices stand for.
        answer: Answer of the person to that question.
    """

    words: str
    command: Door
    scene: SceneGraph
    coverage: Coverage | None = None
    vocabulary: DetectorVocabulary = field(default_factory=DetectorVocabulary)
    robots: tuple[str, ...] = ()
    request: Request | None = None
    rooms_given: bool = False
    coverage_level: float = DENIAL_LEVEL
    problem: Problem | None = None
    question: str = ""
    choices: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    answer: str = ""

    @cached_property
    def looked(self) -> Coverage:
        """How much of each room was looked at."""
        return self.coverage or Coverage(self.scene)

    @cached_property
    def names(self) -> Vocabulary:
        """Names that mean something here."""
        return Vocabulary.of(self.scene, self.robots)

    @cached_property
    def resolver(self) -> Resolver:
        """Finds what phrases mean on the map."""
        return Resolver(self.scene)

    def least_denial(self, rooms: Sequence[Room], level: float | None = None) -> float:
        """Return how sure it must be that some rooms have no such thing to be told so (0..1).

        Args:
            rooms: Rooms that the thing would be in.
            level: Share of what is told that shall be right; None: `coverage_level`.
        """
        return load_conformal().denial(
            level or self.coverage_level, everywhere=len(rooms) == len(self.scene.rooms)
        )

    @property
    def all_rooms(self) -> bool:
        """Whether the map shows all rooms of the house."""
        return self.rooms_given or self.looked.closed

    @property
    def rooms(self) -> list[Room]:
        """All rooms of the map."""
        return list(self.scene.rooms.values())
