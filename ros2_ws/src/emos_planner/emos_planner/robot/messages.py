"""What robots say to one another about a task: requests for help, offers, plain words."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

LONGEST = 500
Kind = Literal["ask", "offer", "say"]


class HelpMessage(BaseModel):
    """A request for help with a sub-task (TeamMessage HELP), the offer to do it (OFFER), or words.

    `recipients` empty: everybody.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, max_length=80)
    sender: str = Field(min_length=1, max_length=60)
    recipients: tuple[str, ...] = ()
    kind: Kind = "ask"
    task: str = ""
    sub_task: str = Field("", max_length=60)
    text: str = Field("", max_length=LONGEST)
