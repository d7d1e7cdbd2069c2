"""What `./coterie do` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DoOptions:
    """What `./coterie do` is asked for.

    `words`: the task; with `together` the predicates of a goal, or none for the team file's.
    `team_file`: start this team; None: use the one that runs, or start the work's own.
    `resume`: go on with the task that `out` holds the result of; `words` may then be empty.
    `model`: name of the model profile that all think with; None: as the team file says.
    `together`: the robots share a goal, without a leader; `name`: that of the goal, in words;
    `world`: another kind of world for the same house.
    """

    words: tuple[str, ...] = ()
    team_file: Path | None = None
    model: str | None = None
    out: Path = Path("out/do")
    domain: int | None = None
    max_time: float = 0.0
    resume: bool = False
    as_json: bool = False
    together: bool = False
    name: str = ""
    world: str | None = None
