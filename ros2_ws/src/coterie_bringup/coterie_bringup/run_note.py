"""What the folder of a run says that it is of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from coterie_bringup.errors import CommandError

FORMAT = 1
"""Of what nodes keep in a run's folder, as a whole; each file has a form of its own besides."""
NOTE = "run.json"
_FIELDS = ("team", "house", "file")


@dataclass(frozen=True, slots=True)
class RunNote:
    """What a run is of: its team's name, its house, and the team file."""

    team: str
    house: str
    file: str


def read_note(directory: Path) -> RunNote:
    """Return what a run is of.

    Raises:
        CommandError: There is no such run, or it cannot be gone on with.
    """
    if not directory.is_dir():
        raise CommandError(f"{directory}: no such folder; expected that of a run")
    file = directory / NOTE
    try:
        note = json.loads(file.read_text("utf-8"))
        known = {name: note[name] for name in _FIELDS}
    except FileNotFoundError:
        raise CommandError(
            f"{directory}: has no {NOTE}: it is no run of a team, or one of an older version, "
            "which cannot be gone on with"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CommandError(f"{file}: cannot be read: {error!r}; start the team anew") from None
    if note.get("format") != FORMAT or not all(isinstance(v, str) for v in known.values()):
        raise CommandError(f"{file}: is of another version of Coterie; start the team anew")
    return RunNote(**known)


def begun_as(directory: str | Path) -> str:
    """Return the name of the team file that a run was begun with; "": not known."""
    try:
        return Path(read_note(Path(directory)).file).stem
    except CommandError:
        return ""
