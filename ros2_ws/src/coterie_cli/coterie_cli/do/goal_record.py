"""What `./coterie do --together` writes down: what every robot did, and what was said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from coterie_core.cooperation import Goal


@dataclass(slots=True)
class Share:
    """What one robot did for the goal; `outcome` is "" while it works.

    How long that took, how far it went and how much it said is known once it has told how it
    ended: not of one that was told to stop.
    """

    robot: str
    plan: str = ""
    room: str = ""
    placed: int = 0
    wanted: int = 0
    steps: int = 0
    outcome: str = ""
    success: bool = False
    duration: float | None = None
    distance: float | None = None
    messages: int | None = None
    characters: int | None = None
    starts: int = 0


@dataclass(slots=True)
class Said:
    """A message between robots, as it was heard [s of wall time since the goal was given]."""

    seconds: float
    sender: str
    to: tuple[str, ...]
    text: str


@dataclass(slots=True)
class CooperationRecord:
    """How a goal went; JSON on disk."""

    goal: Goal
    team: str = ""
    shares: dict[str, Share] = field(default_factory=dict)
    said: list[Said] = field(default_factory=list)
    seconds: float = 0.0
    message: str = ""

    @property
    def success(self) -> bool:
        """Whether some robot knows that all is where it belongs."""
        return any(share.success for share in self.shares.values())

    def as_data(self) -> dict[str, Any]:
        """Return it for JSON."""
        names = Share.__dataclass_fields__
        return {
            "goal": {"name": self.goal.name, "predicates": [str(g) for g in self.goal.subgoals]},
            "team": self.team,
            "success": self.success,
            "message": self.message,
            "seconds": round(self.seconds, 2),
            "robots": [{n: getattr(s, n) for n in names} for s in self.shares.values()],
            "messages": [
                {
                    "seconds": round(one.seconds, 2),
                    "sender": one.sender,
                    "to": list(one.to),
                    "text": one.text,
                }
                for one in self.said
            ],
        }
