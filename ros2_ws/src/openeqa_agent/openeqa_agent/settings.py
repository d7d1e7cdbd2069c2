"""Settings of the agent for open questions that a team file may give."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from coterie_requests.asking import AskBackSettings

Method = Literal["blind", "captions", "scene_graph", "frames", "ours"]


class OpenQuestionsSettings(AskBackSettings):
    """How open questions are answered."""

    method: Method = Field("ours", description="Method that answers open questions.")
    max_distance: float = Field(
        40.0,
        ge=0.0,
        le=10_000.0,
        description="Largest distance that the robot travels for one question [m].",
    )
