"""What robots say to one another: requests for help, offers, plain words, requests for the way."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from coterie_core.geometry import Vec3

LONGEST = 500
MOST_POINTS = 200
"""Points of a way that a message holds at most."""
WIDEST = 3.0
"""Largest radius of a body that a way is asked for [m]."""
Kind = Literal["ask", "offer", "say", "way"]


class HelpMessage(BaseModel):
    """A request for help with a sub-task (TeamMessage HELP), the offer to do it (OFFER), or words.

    Or a request to step aside (WAY): `way` is where the sender is and the points that it wants to
    go through, map frame [m], `radius` that of its body [m]. `recipients` empty: everybody.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    id: str = Field(min_length=1, max_length=80)
    sender: str = Field(min_length=1, max_length=60)
    recipients: tuple[str, ...] = ()
    kind: Kind = "ask"
    task: str = ""
    sub_task: str = Field("", max_length=60)
    text: str = Field("", max_length=LONGEST)
    way: tuple[Vec3, ...] = Field((), max_length=MOST_POINTS)
    radius: float = Field(0.0, ge=0.0, le=WIDEST)

    @model_validator(mode="after")
    def _has_way(self) -> HelpMessage:
        if self.kind == "way" and (len(self.way) < 2 or self.radius <= 0.0):
            raise ValueError("who asks for the way tells two points at least, and its radius")
        return self
