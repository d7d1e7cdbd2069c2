"""Provenance: every decision with its inputs, and the chain from words to motor.

See docs/guides/why.md.

Writing: `open_journal` once a process, then `note`, `about` and `follow` where something happens.
Reading: `explain(what, folder)` returns the chain in a person's words.
"""

from typing import TYPE_CHECKING

from coterie_core.on_demand import on_demand
from coterie_safety.why.context import about, belong, follow
from coterie_safety.why.journal import (
    ENVIRONMENT,
    JournalSettings,
    close_journal,
    journal_from_environment,
    note,
    open_journal,
)
from coterie_safety.why.record import Record

if TYPE_CHECKING:
    from coterie_safety.why.chain import explain
    from coterie_safety.why.explanation import Explanation, Step
    from coterie_safety.why.reading import Story, read_story
else:  # nodes write
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "about",
    "belong",
    "close_journal",
    "ENVIRONMENT",
    "explain",
    "Explanation",
    "follow",
    "journal_from_environment",
    "JournalSettings",
    "note",
    "open_journal",
    "read_story",
    "Record",
    "Step",
    "Story",
]
