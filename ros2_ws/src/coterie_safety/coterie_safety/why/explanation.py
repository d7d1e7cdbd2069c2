"""An explanation: the steps from words to motor in order, each with its id, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


class NothingKept(ValueError):
    """Nothing is kept that was asked for; says what is, and what to ask instead."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step. All its texts are data, without control characters.

    Attributes:
        id: Ask for it to go deeper.
        at: Time of the step [ISO 8601, UTC]; "": unknown.
        who: Robot, `leader`, `aggregator`, `person`; "": nobody in particular.
        kind: The record's kind, or `log` for an entry of the ledger.
        text: Sentence on what happened.
        details: Further sentences: reasons, evidence, why others did not.
        links: Ids of further records that this step rests on.
        asked_for: Whether it is what was asked for.
    """

    id: str
    at: str
    who: str
    kind: str
    text: str
    details: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    asked_for: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why something happened.

    Attributes:
        title: Title that names what is explained.
        steps: Steps, from the words to what came of them.
        gaps: Sentences on what is not known any more, or was never kept.
        raw: The records behind the steps, by id, as they were kept.
    """

    title: str
    steps: tuple[Step, ...]
    gaps: tuple[str, ...] = ()
    raw: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data, without the raw records."""
        return {
            "title": self.title,
            "steps": [asdict(step) for step in self.steps],
            "gaps": list(self.gaps),
        }
