"""How a leader works: limits of its discussions, of its searches and of its prompts."""

from __future__ import annotations

from pydantic import AliasChoices, Field

from coterie_core.resume_text import ResumeFormat
from coterie_core.settings import Settings
from coterie_requests.asking import AskBackSettings
from coterie_safety.permits import RobotPermits
from emos_planner.leader.searches import ENOUGH
from emos_planner.map_view import MAP_CHARS


class LeaderSettings(AskBackSettings):
    """What a team file may set of a leader."""

    round_limit: int = Field(
        4, ge=1, le=20, description="Largest number of rounds of one discussion."
    )
    reflect_timeout: float = Field(
        30.0, ge=0.1, le=3600.0, description="Time to wait for a robot's answer to a proposal [s]."
    )
    group_size: int = Field(
        8,
        ge=1,
        le=100,
        description="Largest number of robots that a model leads; for more the solver plans.",
    )
    reassign_limit: int = Field(
        3,
        ge=0,
        le=50,
        description="Largest number of times that one sub-task is given to another robot.",
    )
    heartbeat_timeout: float = Field(
        10.0,
        validation_alias=AliasChoices("heartbeat_timeout", "silence"),
        ge=0.2,
        le=3600.0,
        description="Time without a status report from which a robot counts as dead [s].",
    )
    rejoin_grace: float = Field(
        40.0,
        validation_alias=AliasChoices("rejoin_grace", "revive"),
        ge=0.0,
        le=3600.0,
        description="Time to wait for a dead robot to come back where no other can do its "
        "sub-task [s].",
    )
    max_expected_unseen: float = Field(
        ENOUGH,
        validation_alias=AliasChoices("max_expected_unseen", "unseen"),
        ge=0.001,
        le=10.0,
        description="Expected number of unseen objects below which a search is enough.",
    )
    map_timeout: float = Field(
        30.0,
        ge=0.0,
        le=3600.0,
        description="Time to wait for the first map before a task is refused [s].",
    )
    max_time: float = Field(
        3600.0,
        ge=1.0,
        description="Time limit of a task that sets none of its own, in simulated time [s].",
    )


class ResumePrompts(Settings):
    """How prompts show bodies."""

    use_resume_numbers: bool = Field(
        True,
        validation_alias=AliasChoices("use_resume_numbers", "numbers"),
        description="Prompts tell the numbers in resumes; false: kinds and words alone.",
    )
    resume_format: ResumeFormat = Field("json", description="Format of resumes in prompts.")


class LeaderOptions(LeaderSettings, ResumePrompts):
    """All settings of a leader."""

    start_time: float = Field(
        60.0,
        ge=0.0,
        description="Time that the robots may take to start after the leader [s].",
    )
    map_chars: int = Field(
        MAP_CHARS,
        ge=500,
        le=400_000,
        description="Largest number of characters that a prompt spends on the map; four are about "
        "one token.",
    )
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of the assignment solver.")
    permits: dict[str, RobotPermits] = Field(
        default_factory=dict,
        description="Policies of permits of the robots, by name, as JSON; empty: none is known.",
    )
