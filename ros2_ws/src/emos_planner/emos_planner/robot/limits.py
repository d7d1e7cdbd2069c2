"""Bounds of a robot's agent."""

from __future__ import annotations

from dataclasses import dataclass

from emos_planner.resume.verbalize import ResumeFormat


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """Bounds of an agent: tries per sub-task, its memory of what was done, things reported.

    `form` and `numbers` say how the body is shown to a model (the paper's ablations). A model also
    writes code over the tools for the first `code_checks` sub-tasks of a share.
    """

    tries: int = 12
    history: int = 60
    found: int = 60
    form: ResumeFormat = "json"
    numbers: bool = True
    code_checks: int = 0
