"""The sections of a team file, beside its robots and models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from coterie_bringup.team_checks import MAX_ROBOTS
from coterie_bringup.team_robots import RobotName, Section
from coterie_core.cooperation import SubGoal
from coterie_world.meaning import EmbedderOptions

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
    own = isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", value, re.ASCII)
    return value if own else known(value)


AggregatorMethod = Annotated[Method, WrapValidator(_method), PlainSerializer(str)]
Workflow = Literal["baseline", "self_reflection", "multi_agent", "ensemble", "grounded"]
OpenMethod = Literal["blind", "captions", "scene_graph", "frames", "ours"]


def below(folder: str) -> str:
    """Return a folder that does not lead out of the team file's.

    Raises:
        ValueError: It does.
    """
    path = Path(folder)
    if folder and (path.is_absolute() or ".." in path.parts or folder.startswith("~")):
        raise ValueError(f"{folder!r} leads out of the team file's folder; give one below it")
    return folder


class ExplorationSpec(Section):
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


class QuestionsSpec(Section):
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


ASK_BACK = Field(
    True,
    description="Asks the person back, once, where a request is not clear; false: it guesses.",
)


class AggregatorSpec(Section):
    """How the team's answer is made from the robots' answers."""

    method: AggregatorMethod = Field(
        "cam_plus", description="Name of the aggregation method, or a class of yours: module:Class."
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


class LeaderSpec(Section):
    """The leader of the robots that do tasks (EMOS)."""

    ask_back: bool = ASK_BACK

    model: str = Field(
        "rules", description="Name of a profile of `models` that the leader thinks with."
    )
    round_limit: int = Field(
        4, ge=1, le=20, description="Largest number of rounds of one discussion."
    )
    reflect_timeout: float = Field(
        30.0, gt=0.0, le=3600.0, description="Time to wait for a robot's answer to a proposal [s]."
    )
    group_size: int = Field(
        8, ge=1, le=100, description="Largest number of robots that discuss with one another."
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
        0.05,
        validation_alias=AliasChoices("max_expected_unseen", "unseen"),
        gt=0.0,
        le=10.0,
        description="Expected number of unseen objects below which a search ends.",
    )
    map_timeout: float = Field(30.0, ge=0.0, le=3600.0, description="Time to wait for the map [s].")
    max_time: float = Field(3600.0, ge=1.0, description="Limit of simulated time of a task [s].")
    prior_map: Literal["rooms", "furniture", "everything"] = Field(
        "furniture",
        description="Part of the house that the team knows beforehand: rooms, furniture or "
        "everything.",
    )


def _predicate(value: object) -> object:
    if isinstance(value, str):
        SubGoal.parse(value)
    return value


class CooperationSpec(Section):
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
    levels: int = Field(4, ge=2, le=20, description="Number of relevance levels, R of the paper.")
    plans: int = Field(3, ge=1, le=50, description="Number of candidate plans, K of the paper.")
    step: float = Field(
        1.0, ge=0.1, le=60.0, description="Length of an agent's step in simulated time [s]."
    )
    max_time: float = Field(1800.0, ge=1.0, description="Limit of simulated time of a goal [s].")


class MapperSpec(Section):
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
    color: bool = Field(
        True, description="Subscribes to color images, for pictures and colors of objects."
    )
    near: float = Field(0.1, ge=0.0, le=10.0, description="Smallest depth that is used [m].")
    far: float = Field(4.0, gt=0.0, le=100.0, description="Greatest depth that is used [m].")
    min_observations: int = Field(
        2,
        validation_alias=AliasChoices("min_observations", "looks"),
        ge=1,
        le=100,
        description="Smallest number of observations of an object that is on the map.",
    )
    max_objects: int = Field(
        3000,
        validation_alias=AliasChoices("max_objects", "most_things"),
        ge=1,
        le=100_000,
        description="Largest number of objects that are remembered.",
    )
    embedder: EmbedderOptions | None = Field(
        None,
        description="Embedder by which labels of detections are compared, and that is kept in the "
        "map; left out: the team's.",
    )

    @model_validator(mode="after")
    def _range(self) -> MapperSpec:
        if self.near >= self.far:
            raise ValueError(f"near ({self.near:g} m) must be below far ({self.far:g} m)")
        return self


class PlannerSpec(Section):
    """The object planner: requests in words to objects of the map."""

    ask_back: bool = ASK_BACK
    method: Workflow = Field("grounded", description="Name of the object planner's workflow.")
    mode: Literal["certainty", "uncertainty"] = Field(
        "uncertainty",
        description="Use of an object's labels: certainty (only the top one) or uncertainty (all).",
    )
    model: str = Field(
        "rules", description="Name of a profile of `models` that the planner thinks with."
    )
    embedder: EmbedderOptions | None = Field(
        None,
        description="Embedder that compares words outside the tables with the map's labels; left "
        "out: the team's.",
    )


class OpenQuestionsSpec(Section):
    """The agent for open questions (OpenEQA)."""

    ask_back: bool = ASK_BACK

    method: OpenMethod = Field(
        "ours", description="Name of the method that answers open questions."
    )
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
    max_distance: float = Field(
        40.0, ge=0.0, le=10_000.0, description="Longest path of the robot that goes to look [m]."
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


class MemorySpec(Section):
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


class WhySpec(Section):
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


class ProcessesSpec(Section):
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
