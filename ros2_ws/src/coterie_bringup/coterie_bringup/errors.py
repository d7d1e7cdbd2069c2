"""Errors that a command ends with when it cannot do what it was asked for."""

from __future__ import annotations

NO_WORKSPACE = (
    "run it as ./coterie in a clone of Coterie, or in a shell in which a workspace with Coterie's "
    "packages is sourced"
)
"""What to do where a command needs ROS or a package of the workspace, and finds none."""


class CommandError(Exception):
    """A command cannot go on; the text says what was expected, what came, and what to do."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class PlanError(Exception):
    """A team cannot be turned into processes here; says what is missing and what to do."""
