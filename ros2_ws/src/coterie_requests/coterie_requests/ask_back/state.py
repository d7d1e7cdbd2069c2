"""RequestState: what a request is judged by: its words, the map, and what of it was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from coterie_core.conformal import DENIAL_LEVEL, load_conformal
from coterie_requests.ask_back.judgement import Command
from coterie_requests.ask_back.reading import Mention, Reading, read_request
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_requests.understanding import MAX_SENTENCE_CHARS, Problem, plain_text, unknown_words
from coterie_requests.understanding.grounding import Resolver
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.coverage import Coverage
from coterie_world.scene import Room, SceneGraph


@dataclass(frozen=True)
class RequestState:
    """A request and what is known.

    Attributes:
        words: The request.
        command: Command that it is given to.
        scene: The map; it must not change meanwhile.
        coverage: Coverage of the map's rooms; None: estimated from the number of their objects.
        vocabulary: Labels that the detector can report.
        robots: Names that may be spoken to.
        mentions: Mentions that the command's own parser found; None: see `read_request`.
        problem: Reason why the command's own parser does not read the words.
        rooms_given: Whether the map had all rooms from the start, so that one that it has not is
            not there.
        coverage_level: Share of denials that shall be right; see `coterie_core.conformal`.
        question: Question that was asked back before.
        choices: Choices that were offered with it.
        candidates: Ids that the choices stand for.
        answer: Answer of the person to that question.
    """

    words: str
    command: Command
    scene: SceneGraph
    coverage: Coverage | None = None
    vocabulary: DetectorVocabulary = field(default_factory=DetectorVocabulary)
    robots: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] | None = None
    problem: Problem | None = None
    rooms_given: bool = False
    coverage_level: float = DENIAL_LEVEL
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
    def reading(self) -> Reading:
        """What the request takes for granted."""
        return read_request(self.words, self.names, self.command)

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """Words of a question or a request for objects that are none, and near to none."""
        if self.mentions is not None:
            return ()
        words = plain_text(self.words[:MAX_SENTENCE_CHARS])
        found = unknown_words(words, self.names.names, near=self.names.words())
        return tuple(one.word for one in found if not one.suggestions)

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
