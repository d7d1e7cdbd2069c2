"""Errors that a command ends with when it cannot do what it was asked for."""

from __future__ import annotations


class CommandError(Exception):
    """A command cannot go on; the text says what was expected, what came, and what to do."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class PlanError(Exception):
    """A team cannot be turned into processes here; says what is missing and what to do."""
