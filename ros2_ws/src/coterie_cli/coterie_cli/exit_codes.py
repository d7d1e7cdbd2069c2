"""Exit codes of the commands that ask a team for something."""

from __future__ import annotations

import enum


class Exit(enum.IntEnum):
    """How such a command ended."""

    DONE = 0
    NOTHING = 1
    WRONG = 2
    PARTLY = 3
    UNKNOWN = 4
    NOT_CLEAR = 5
    INTERRUPTED = 130


MEANINGS: dict[Exit, dict[str, str]] = {
    Exit.DONE: {
        "ask": "answered",
        "find": "something fits",
        "do": "all of it was seen to be done",
        "read": "understood",
    },
    Exit.NOTHING: {"find": "nothing fits", "do": "not done, and the message says why"},
    Exit.WRONG: {"": "the command or the team file is wrong, or no team runs that could do it"},
    Exit.PARTLY: {
        "ask": "a guess, or a word of the question could not be told",
        "do": "some of it was done, there may be more where nobody could look, or no robot can "
        "tell a word that was said",
    },
    Exit.UNKNOWN: {
        "ask": "the team cannot tell (UNKNOWN), or nobody has looked there yet",
        "find": "the team has no map yet",
    },
    Exit.NOT_CLEAR: {
        "": "it is not clear and nobody said what was meant, or it presumes what is not so"
    },
    Exit.INTERRUPTED: {"": "Ctrl-C"},
}
"""What the codes mean, by command; "": the same for each of them."""


def told(command: str) -> str:
    """Return the exit codes of a command, for its help."""
    of = {code: by.get(command, by.get("")) for code, by in MEANINGS.items()}
    return (
        "Exit code " + "; ".join(f"{int(code)}: {text}" for code, text in of.items() if text) + "."
    )


def table() -> str:
    """Return the exit codes of all commands as a table in Markdown, for the documentation."""
    rows = ["| exit code | meaning |", "|---|---|"]
    for code, by in MEANINGS.items():
        meanings = (f"`{command}`: {text}" if command else text for command, text in by.items())
        rows.append(f"| {int(code)} | {'; '.join(meanings)} |")
    return "\n".join(rows)
