"""Settings of the object planner that a team file may give."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from coterie_requests.asking import AskBackSettings

Method = Literal["baseline", "self_reflection", "multi_agent", "ensemble", "grounded"]
Mode = Literal["certainty", "uncertainty"]


class PlannerSettings(AskBackSettings):
    """How the objects of an answer are chosen."""

    method: Method = Field(
        "grounded", description="Workflow that chooses the objects of an answer."
    )
    mode: Mode = Field(
        "uncertainty",
        description="Use of an object's labels: certainty: only the top label; uncertainty: all "
        "labels.",
    )
