"""An explanation: the steps from words to motor in order, each with its id, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

SHORT_ID = 10
"""Characters of an id that are shown."""


class NothingKept(ValueError):
    """Nothing is kept that was asked for; says what is, and what to ask instead."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step. All its texts are data, without control characters.

    Attributes:
        id: Ask for it to go deeper.
        at: Time of the step [ISO 8601, UTC]; "": unknown.
        who: Robot, `leader`, `aggregator`, `person`; "": nobody in particular.
        kind: The record's kind, `log` for an entry of the ledger, or `thing`.
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

    @property
    def clock(self) -> str:
        """Time of the step in local time, to a tenth of a second; "": unknown."""
        try:
            return datetime.fromisoformat(self.at).astimezone().strftime("%H:%M:%S.%f")[:10]
        except ValueError:
            return ""

    @property
    def short_id(self) -> str:
        """The beginning of a record's id; "" of a thing, whose text has it."""
        return self.id[:SHORT_ID] if self.kind != "thing" else ""


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

    def __str__(self) -> str:
        lines = [f"Why: {self.title}"]
        for step in self.steps:
            mark = ">" if step.asked_for else " "
            lines.append(f"{mark} {step.clock:10} {step.short_id:{SHORT_ID}} {step.text}")
            lines += [f"{'':{14 + SHORT_ID}} {detail}" for detail in step.details if detail]
        return "\n".join((*lines, *(f"not known: {gap}" for gap in self.gaps)))

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data, without the raw records."""
        return {
            "title": self.title,
            "steps": [asdict(step) for step in self.steps],
            "gaps": list(self.gaps),
        }
