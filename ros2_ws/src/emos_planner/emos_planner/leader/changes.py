"""What happened to a task in work, as the leader tells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ChangeKind = Literal["state", "failed", "found", "silent", "back", "help", "problem", "doubted"]


@dataclass(frozen=True, slots=True)
class Change:
    """Something that happened to a task."""

    kind: ChangeKind
    text: str
    robot: str = ""
    sub_task: str = ""
