"""Bounds of a robot's agent."""

from __future__ import annotations

from dataclasses import dataclass

from coterie_core.resume import Resume
from coterie_core.resume_text import ResumeFormat, resume_text


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """Bounds of an agent: tries per sub-task, its memory of what was done, things reported.

    `form`, `numbers` and `resume` say how the body is shown to a model (the paper's ablations): in
    which format, with its numbers, or as a role in words only. A model also writes code over the
    tools for the first `code_checks` sub-tasks of a share.
    """

    tries: int = 12
    history: int = 60
    found: int = 60
    form: ResumeFormat = "json"
    numbers: bool = True
    resume: bool = True
    code_checks: int = 0

    @property
    def tells_numbers(self) -> bool:
        """Whether a model is told numbers of the body."""
        return self.numbers and self.resume

    def body_text(self, resume: Resume) -> str:
        """Return what a model is told of a body."""
        if not self.resume:
            return resume.summary
        return resume_text(resume, self.form, numbers=self.numbers)
