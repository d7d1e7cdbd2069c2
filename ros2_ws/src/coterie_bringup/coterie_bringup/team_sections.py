"""The sections of a team file, beside its robots and models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from coterie_bringup.team_checks import MAX_ROBOTS
from coterie_bringup.team_robots import RobotName
from coterie_core.cooperation import SubGoal
from coterie_core.own_classes import own_name
from coterie_core.settings import Settings
from coterie_llm.embedders import EmbedderOptions
from emos_planner.leader.options import LeaderSettings
from object_planner.settings import PlannerSettings
from openeqa_agent.settings import OpenQuestionsSettings
from reveca_agent.settings import CooperationSettings
from semantic_mapper.options import MapperSettings

Method = Literal[
    "majority_vote",
    "confidence_vote",
    "debate",
    "xgboost",
    "decision_tree",
    "random_forest",
    "neural_network",
    "svm_rbf",
    "svm_linear",
    "logistic_regression",
    "cam_plus",
    "dawid_skene",
    "one_coin",
    "glad",
    "mace",
]


def _method(value: object, known: ValidatorFunctionWrapHandler) -> object:
    """Let a class of the user's own pass; the aggregator's node imports it."""
    return own_name(value) if isinstance(value, str) and ":" in value else known(value)


AggregatorMethod = Annotated[Method, WrapValidator(_method), PlainSerializer(str)]


def below(folder: str) -> str:
    """Return a folder that does not lead out of the team file's.

    Raises:
        ValueError: It does.
    """
    path = Path(folder)
    if folder and (path.is_absolute() or ".." in path.parts or folder.startswith("~")):
        raise ValueError(f"{folder!r} leads out of the team file's folder; give one below it")
    return folder


class ExplorationSpec(Settings):
    """When exploring ends: whichever limit is reached first; 0: no such limit."""

    steps: int = Field(
        16, ge=0, le=100_000, description="Largest number of hops per robot; 0: no such limit."
    )
    time: float = Field(0.0, ge=0.0, description="Longest simulated time [s]; 0: no such limit.")
    coverage: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        description="Fraction of the known places that are seen, 0 to 1; 0: no such limit.",
    )

    @model_validator(mode="after")
    def _some_limit(self) -> ExplorationSpec:
        if not (self.steps or self.time or self.coverage):
            raise ValueError("give at least one of steps, time, coverage: it would never end")
        return self


class QuestionsSpec(Settings):
    """Where the demonstration's questions come from."""

    source: Literal["bank", "file"] = Field(
        "bank",
        description="Source of the questions; bank: made from the house's truth; file: JSON "
        "list at `path`.",
    )
    count: int = Field(40, ge=0, le=100_000, description="Number of questions that are scored.")
    train: int = Field(
        160, ge=0, le=100_000, description="Number of labeled questions to learn from."
    )
    path: str = Field(
        "",
        description="Path of the JSON list for source: file, relative to the team file; "
        "empty: none.",
    )
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of the choice of questions.")

    @model_validator(mode="after")
    def _path(self) -> QuestionsSpec:
        if self.source == "file" and not self.path:
            raise ValueError("source is 'file': give its path")
        return self


class AggregatorSpec(Settings):
    """How the team's answer is made from the robots' answers."""

    method: AggregatorMethod = Field(
        "cam_plus",
        description="Name of the aggregation method, or a class of yours, my_package.module:Class.",
    )
    deadline: float = Field(
        5.0, gt=0.0, le=3600.0, description="Time to wait for the robots' answers [s]."
    )
    model_directory: str = Field(
        "", description="Path of the folder for learned models; empty: that of the run."
    )
    abstain_below: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        description="Smallest confidence of an answer, 0 to 1; below it the team abstains.",
    )
    coverage: float | None = Field(
        None,
        gt=0.0,
        lt=1.0,
        description="Share of answers that shall be right or withheld, by thresholds that were "
        "calibrated on other houses (0.8, 0.9, 0.95); left out: only abstain_below counts.",
    )
    liar: bool = Field(
        False, description="The thresholds of coverage allow for one robot that lies."
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"method": value} if isinstance(value, str) else value


class LeaderSpec(LeaderSettings):
    """The leader of the robots that do tasks (EMOS)."""

    model: str = Field(
        "rules", description="Name of a profile of `models` that the leader thinks with."
    )
    prior_map: Literal["rooms", "furniture", "everything"] = Field(
        "furniture",
        description="Part of the house that the team knows beforehand: rooms, furniture or "
        "everything.",
    )


def _predicate(value: object) -> object:
    if isinstance(value, str):
        SubGoal.parse(value)
    return value


class CooperationSpec(CooperationSettings):
    """How robots of role cooperator do a goal that they share (REVECA)."""

    name: str = Field("", description="Name of the goal, in words.")
    goal: tuple[Annotated[str, BeforeValidator(_predicate)], ...] = Field(
        (), description='Predicates with counts, such as "ON(plate, dining table): 2".'
    )
    prior_map: Literal["rooms", "furniture", "everything"] = Field(
        "furniture",
        description="Part of the house that the robots know beforehand: rooms, furniture or "
        "everything.",
    )
    people: tuple[RobotName, ...] = Field(
        (), description="Names of people who take part, as in their <name>/message topics."
    )


class MapperSpec(MapperSettings):
    """The semantic mapper: images and detections of all robots become one map."""

    prior_map: Literal["nothing", "rooms", "furniture", "everything"] = Field(
        "rooms",
        description="Part of the house that is known beforehand: nothing, rooms, furniture or "
        "everything; a leader's own setting wins.",
    )
    cameras: tuple[str, ...] = Field(
        (), description="Names of cameras, or robot/camera for that robot only; empty: all of them."
    )
    per_robot: bool = Field(
        False,
        description="Each robot has a map of its own, which are merged, instead of one map "
        "for all.",
    )
    embedder: EmbedderOptions | None = Field(
        None,
        description="Embedder by which labels of detections are compared, and that is kept in the "
        "map; left out: the team's.",
    )
    model: str = Field(
        "rules",
        description="Name of a profile of `models` with vision, which names things that detectors "
        "find without knowing them, by their pictures.",
    )


class PlannerSpec(PlannerSettings):
    """The object planner: requests in words to objects of the map."""

    model: str = Field(
        "rules", description="Name of a profile of `models` that the planner thinks with."
    )
    embedder: EmbedderOptions | None = Field(
        None,
        description="Embedder that compares words outside the tables with the map's labels; left "
        "out: the team's.",
    )


class OpenQuestionsSpec(OpenQuestionsSettings):
    """The agent for open questions (OpenEQA)."""

    model: str = Field(
        "rules", description="Name of a profile of `models` that answers are made with."
    )
    embedder: EmbedderOptions | None = Field(
        None,
        description="Embedder that compares questions with labels, to choose a prompt's objects; "
        "left out: the team's.",
    )
    robot: str = Field(
        "",
        description="Name of the robot that may go and look; empty: the first robot; none: no "
        "robot.",
    )
    coverage: float | None = Field(
        None,
        gt=0.0,
        lt=1.0,
        description="Share of answers that shall be right or withheld, by thresholds that were "
        "calibrated on other houses (0.8, 0.9, 0.95); left out: all answers are given.",
    )
    liar: bool = Field(
        False,
        description="The thresholds of coverage allow for a robot that reports wrong names.",
    )


class MemorySpec(Settings):
    """What the team remembers from one start to the next."""

    keep: bool = Field(
        False,
        description="Goes on with the team's memory at the next start; a simulated world "
        "begins anew.",
    )
    folder: str = Field(
        "",
        description="Path of the folder below the team file's; empty: memory/<name> of the "
        "state folder.",
    )

    _below = field_validator("folder")(below)


class WhySpec(Settings):
    """What is kept of decisions, for ./coterie why."""

    keep: bool = Field(
        True, description="Decisions, and what went into them, are kept on this computer."
    )
    megabytes: float = Field(
        64.0,
        ge=1.0,
        le=100_000.0,
        description="Largest size of all that is kept of a run [MB]; the oldest goes first.",
    )
    days: float = Field(
        30.0, gt=0.0, le=3650.0, description="Time after which what was kept goes [d]."
    )


class ProcessesSpec(Settings):
    """How robots are spread over processes; 0: chosen by the number of robots."""

    robots_per_process: int = Field(
        0,
        ge=0,
        le=MAX_ROBOTS,
        description="Largest number of robots in one process; 0: chosen by the number of robots.",
    )
    restart_limit: int = Field(
        3, ge=0, le=1000, description="Largest number of restarts in a row of one process; 0: none."
    )
