"""The one error of the set-up: what went wrong, and what to do about it."""

from __future__ import annotations

from pathlib import Path


class SetupError(Exception):
    """A step of the set-up cannot be done.

    Attributes:
        problem: What was expected and what was found.
        advice: What the user can do, one line each.
        log: The file that holds the whole output of the failed command, if there is one.
    """

    def __init__(self, problem: str, *advice: str, log: Path | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice
        self.log = log

    def render(self, tail_lines: int = 15) -> str:
        """Return the text for the terminal: the problem, the log's last lines, what to do."""
        lines = [f"coterie: {self.problem}"]
        if self.log is not None and self.log.is_file():
            tail = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-tail_lines:]
            lines += ["", *(f"  | {line}" for line in tail), "", f"The whole output: {self.log}"]
        lines += [f"  -> {line}" for line in self.advice]
        return "\n".join(lines)
