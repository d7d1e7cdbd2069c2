"""What `./coterie find` takes, finds and ends with, in a team's map and in a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from coterie_bringup.errors import CommandError
from coterie_cli.exit_codes import Exit

if TYPE_CHECKING:
    from coterie_requests.ask_back import Judgement
    from coterie_world.scene import SceneObject

MAX_REQUEST_CHARS = 600
"""Longest request [characters]."""


def exit_code(ids: Sequence[str], judgement: Judgement | None) -> int:
    """Return the exit code: a list of all that fit is an answer, though one was meant."""
    if ids:
        return Exit.DONE
    unclear = judgement is not None and judgement.kind in ("underspecified", "subjective")
    return Exit.NOT_CLEAR if unclear else Exit.NOTHING


def checked_request(words: str) -> str:
    """Return a request as one line.

    Raises:
        CommandError: It is empty, or too long.
    """
    text = " ".join(words.split())
    if not 0 < len(text) <= MAX_REQUEST_CHARS:
        raise CommandError(
            f"the request has {len(text)} characters; give 1 to {MAX_REQUEST_CHARS}, for example "
            '"something to sit on that is not a chair"'
        )
    return text


def object_data(thing: SceneObject) -> dict[str, Any]:
    """Return an object of a map as plain data: labels, room, center and size [m]."""
    return {
        "labels": thing.label.distribution(),
        "room": thing.room,
        "center": thing.box.center,
        "size": thing.box.size,
    }


def safe(text: str) -> str:
    """Text of a map or a model for the terminal: no markup, no control characters."""
    return escape("".join(c if c.isprintable() else "?" for c in text))[:400]
