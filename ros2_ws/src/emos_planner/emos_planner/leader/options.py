"""How a leader works: limits of its discussions, and what experiments take away from it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from coterie_core.resume_text import ResumeFormat
from coterie_safety.permits import RobotPermits
from emos_planner.leader.searches import ENOUGH
from emos_planner.map_view import MAP_CHARS


class LeaderOptions(BaseModel):
    """Settings of a leader.

    `use_resume_numbers`, `resume` and `discussion` are what EMOS's ablations take away (section
    4.3): numbers in resumes, resumes at all (a role in words is left), and the discussion before
    the execution.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    round_limit: int = Field(4, ge=1, le=20, description="rounds of one discussion")
    group_size: int = Field(8, ge=1, le=100, description="robots that discuss with one another")
    reflect_timeout: float = Field(30.0, gt=0.0, le=3600.0, description="for an answer [s]")
    reassign_limit: int = Field(3, ge=0, le=50, description="times one sub-task is given anew")
    heartbeat_timeout: float = Field(
        10.0, gt=0.0, le=3600.0, description="silence after which a robot is dead [s]"
    )
    rejoin_grace: float = Field(
        40.0, ge=0.0, le=3600.0, description="wait for a dead robot that only could do it [s]"
    )
    max_expected_unseen: float = Field(
        ENOUGH, gt=0.0, le=10.0, description="expected number of unseen things that ends a search"
    )
    map_chars: int = Field(
        MAP_CHARS, ge=500, le=400_000, description="of the map in a prompt [characters]"
    )
    use_resume_numbers: bool = True
    resume: bool = True
    discussion: bool = True
    resume_format: ResumeFormat = "json"
    seed: int = Field(0, ge=0, lt=2**31)
    permits: dict[str, RobotPermits] = Field(
        default_factory=dict, description="each robot's policy of permits, as far as it is known"
    )
