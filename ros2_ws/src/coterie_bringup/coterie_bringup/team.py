"""The team file: the one description of a team, from which everything else is made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)

from coterie_bringup.errors import CommandError
from coterie_bringup.resources import SCHEME, package_path
from coterie_bringup.team_checks import (
    MAX_ROBOTS,
    as_written,
    check_files,
    check_map,
    check_models,
    check_names,
    check_roles,
    check_writes,
    expand_groups,
)
from coterie_core.cooperation import SubGoal
from coterie_core.language import ModelProfile
from coterie_core.yaml_checks import check, shown, suggestion
from coterie_core.yaml_marks import (
    FileProblem,
    Problem,
    load_marked,
    read_text,
)
from habitat_bridge.factory import WorldSpec
from habitat_bridge.robots import EMBODIMENTS

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,49}")
"""What a ROS namespace of one level may look like."""

RESERVED = {
    "aggregator",
    "bridge",
    "clock",
    "leader",
    "mapper",
    "object_events",
    "object_planner",
    "open_questions",
    "prior_map",
    "semantic_map",
    "tf",
}
"""Names that the team's own nodes and topics have."""

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


def _robot_name(value: object) -> object:
    if not isinstance(value, str):
        return value  # pydantic says what it expected
    if not NAME.fullmatch(value):
        fixed = re.sub(r"[^A-Za-z0-9_]", "_", value)[:50]
        fixed = fixed if NAME.fullmatch(fixed) else f"robot_{fixed}"[:50]
        raise ValueError(
            f"{shown(value)} cannot be a ROS namespace: letters, digits and _, a letter first; "
            f"for example {fixed!r}"
        )
    if value.lower() in RESERVED:
        raise ValueError(f"{value!r} is taken by the team's own nodes; for example '{value}_1'")
    return value


def _namespace(value: object) -> object:
    """Return a namespace without the slashes at its ends: `/lab` is ROS's way to write `lab`."""
    if not isinstance(value, str):
        return value
    name = value.strip("/")
    if name and not all(NAME.fullmatch(part) for part in name.split("/")):
        raise ValueError(
            f"{shown(value)} cannot be a ROS namespace: names of letters, digits and _, a letter "
            "first, with / between them; for example 'lab' or 'building_2/lab'"
        )
    return name


def _embodiment(value: object) -> object:
    if isinstance(value, str) and value not in EMBODIMENTS:
        raise ValueError(f"unknown embodiment {value!r}{suggestion(value, EMBODIMENTS)}")
    return value


RobotName = Annotated[str, BeforeValidator(_robot_name)]
Namespace = Annotated[str, BeforeValidator(_namespace)]
EmbodimentName = Annotated[str, BeforeValidator(_embodiment)]


Workflow = Literal["baseline", "self_reflection", "multi_agent", "ensemble", "grounded"]
OpenMethod = Literal["blind", "captions", "scene_graph", "frames", "ours"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PoseSpec(_Part):
    """A pose in the map frame."""

    x: float = Field(description="[m]")
    y: float = Field(description="[m]")
    z: float = Field(0.0, description="height of the walking surface [m]; chooses the floor")
    yaw: float = Field(0.0, description="[rad]")


class StartSpec(_Part):
    """Where a robot starts: one of room (its name), place (its id) or pose; none: by seed."""

    room: str | None = Field(None, min_length=1, description='name of a room, e.g. "kitchen"')
    place: str | None = Field(None, min_length=1, description="id of a place")
    pose: PoseSpec | None = None

    @model_validator(mode="after")
    def _one(self) -> StartSpec:
        given = [n for n in ("room", "place", "pose") if getattr(self, n) is not None]
        if len(given) > 1:
            raise ValueError(f"give only one of room, place, pose; got {' and '.join(given)}")
        return self


class RobotSpec(_Part):
    """One robot, or with `count` several alike: `name` then holds {n}, counted from 1."""

    name: RobotName
    embodiment: EmbodimentName = Field("wheels", description="a preset of habitat_bridge.robots")
    urdf: str = Field("", description="its URDF instead; relative to the team file")
    overrides: str = Field("", description="YAML with what the URDF does not say; relative too")
    start: StartSpec = StartSpec()
    role: Literal["explorer", "worker", "cooperator"] = Field(
        "explorer",
        description="explorer: answers questions (MELE); worker: does tasks under a leader (EMOS); "
        "cooperator: does shared goals without one (REVECA)",
    )
    model: str = Field("rules", description="a profile of `models`")
    malicious: bool = Field(False, description="turns its answers round, for experiments")

    @model_validator(mode="after")
    def _one_body(self) -> RobotSpec:
        if self.urdf and "embodiment" in self.model_fields_set:
            raise ValueError("urdf and embodiment exclude each other; remove one")
        if self.overrides and not self.urdf:
            raise ValueError("overrides belong to a urdf; give its file, or remove overrides")
        return self


class ExplorationSpec(_Part):
    """When exploring ends: whichever limit is reached first; 0: no such limit."""

    steps: int = Field(16, ge=0, le=100_000, description="hops per robot")
    time: float = Field(0.0, ge=0.0, description="simulated time [s]")
    coverage: float = Field(0.0, ge=0.0, le=1.0, description="share of the known places seen")

    @model_validator(mode="after")
    def _some_limit(self) -> ExplorationSpec:
        if not (self.steps or self.time or self.coverage):
            raise ValueError("give at least one of steps, time, coverage: it would never end")
        return self


class QuestionsSpec(_Part):
    """Where the demonstration's questions come from."""

    source: Literal["bank", "file"] = Field(
        "bank", description="bank: made from the house's truth; file: JSON list at `path`"
    )
    count: int = Field(40, ge=0, le=100_000, description="questions that are scored")
    train: int = Field(160, ge=0, le=100_000, description="labelled questions to learn from")
    path: str = Field("", description="for source: file; relative to the team file")
    seed: int = Field(0, ge=0, lt=2**31)

    @model_validator(mode="after")
    def _path(self) -> QuestionsSpec:
        if self.source == "file" and not self.path:
            raise ValueError("source is 'file': give its path")
        return self


class AggregatorSpec(_Part):
    """How the team's answer is made from the robots' answers."""

    method: Method = Field("cam_plus", description="name of an aggregator")
    deadline: float = Field(5.0, gt=0.0, le=3600.0, description="wait for answers so long [s]")
    model_directory: str = Field("", description="where learned models are kept; empty: the run's")
    abstain_below: float = Field(0.0, ge=0.0, le=1.0, description="least confidence to answer with")


class LeaderSpec(_Part):
    """The leader of the robots that do tasks (EMOS)."""

    model: str = Field("rules", description="a profile of `models`")
    round_limit: int = Field(4, ge=1, le=20, description="rounds of one discussion")
    reflect_timeout: float = Field(30.0, gt=0.0, le=3600.0, description="for an answer [s]")
    group_size: int = Field(8, ge=1, le=100, description="robots that discuss together")
    reassign_limit: int = Field(3, ge=0, le=50, description="times a sub-task is given anew")
    silence: float = Field(10.0, ge=0.2, le=3600.0, description="after which a robot is dead [s]")
    revive: float = Field(
        40.0, ge=0.0, le=3600.0, description="wait for a dead robot that only could do it [s]"
    )
    unseen: float = Field(
        0.05, gt=0.0, le=10.0, description="expected number of unseen things that ends a search"
    )
    map_timeout: float = Field(30.0, ge=0.0, le=3600.0, description="wait for the map [s]")
    max_time: float = Field(3600.0, ge=1.0, description="of a task, simulated [s]")
    prior_map: Literal["rooms", "furniture", "everything"] = Field(
        "furniture", description="what the team knows of the house beforehand"
    )


def _predicate(value: object) -> object:
    if isinstance(value, str):
        SubGoal.parse(value)
    return value


class CooperationSpec(_Part):
    """How robots of role cooperator do a goal that they share (REVECA)."""

    name: str = Field("", description="of the goal, in words")
    goal: tuple[Annotated[str, BeforeValidator(_predicate)], ...] = Field(
        (), description='predicates with counts, such as "ON(plate, dining table): 2"'
    )
    prior_map: Literal["rooms", "furniture", "everything"] = Field(
        "furniture", description="what the robots know of the house beforehand"
    )
    people: tuple[RobotName, ...] = Field(
        (), description="people who take part, by the names of their <name>/message topics"
    )
    levels: int = Field(4, ge=2, le=20, description="R, relevance levels")
    plans: int = Field(3, ge=1, le=50, description="K, candidate plans")
    step: float = Field(1.0, ge=0.1, le=60.0, description="of an agent, simulated [s]")
    max_time: float = Field(1800.0, ge=1.0, description="for a goal, simulated [s]")


class MapperSpec(_Part):
    """The semantic mapper: images and detections of all robots become one map."""

    prior_map: Literal["nothing", "rooms", "furniture", "everything"] = Field(
        "rooms", description="what is known of the house beforehand; a leader's own setting wins"
    )
    cameras: tuple[str, ...] = Field(
        (), description="names of cameras, or robot/camera for that robot only; empty: all of them"
    )
    per_robot: bool = Field(False, description="a map for each robot, merged, instead of one")
    color: bool = Field(True, description="listen to colour images: pictures and colours of things")
    near: float = Field(0.1, ge=0.0, le=10.0, description="least depth that counts [m]")
    far: float = Field(4.0, gt=0.0, le=100.0, description="greatest depth that counts [m]")
    looks: int = Field(2, ge=1, le=100, description="looks before a thing is on the map")
    most_things: int = Field(3000, ge=1, le=100_000, description="things remembered")

    @model_validator(mode="after")
    def _range(self) -> MapperSpec:
        if self.near >= self.far:
            raise ValueError(f"near ({self.near:g} m) must be below far ({self.far:g} m)")
        return self


class PlannerSpec(_Part):
    """The object planner: requests in words to objects of the map."""

    method: Workflow = Field("grounded", description="a workflow of the object planner")
    mode: Literal["certainty", "uncertainty"] = Field(
        "uncertainty", description="whether only a thing's top label counts, or all of them"
    )
    model: str = Field("rules", description="a profile of `models`")


class OpenQuestionsSpec(_Part):
    """The agent for open questions (OpenEQA)."""

    method: OpenMethod = Field("ours", description="how questions are answered")
    model: str = Field("rules", description="a profile of `models`")
    robot: str = Field("", description="who may go and look; empty: the first robot; none: nobody")
    max_distance: float = Field(40.0, ge=0.0, le=10_000.0, description="how far it may go [m]")


class MemorySpec(_Part):
    """What the team remembers from one start to the next."""

    keep: bool = Field(
        False, description="whether it goes on at the next start; a simulated world begins anew"
    )
    folder: str = Field(
        "", description="below the team file's folder; empty: the state folder's memory/<name>"
    )

    @field_validator("folder")
    @classmethod
    def _below(cls, folder: str) -> str:
        path = Path(folder)
        if folder and (path.is_absolute() or ".." in path.parts or folder.startswith("~")):
            raise ValueError(f"{folder!r} leads out of the team file's folder; give one below it")
        return folder


class ProcessesSpec(_Part):
    """How robots are spread over processes; 0: chosen by the number of robots."""

    robots_per_process: int = Field(0, ge=0, le=MAX_ROBOTS)
    restart_limit: int = Field(3, ge=0, le=1000, description="restarts in a row of one process")


class Team(_Part):
    """A team of robots in a world, and the questions it is to answer."""

    name: RobotName = "team"
    world: WorldSpec
    mode: Literal["lockstep", "real_time"] = "lockstep"
    seed: int = Field(0, ge=0, lt=2**31, description="of everything that is random")
    models: dict[str, ModelProfile] = Field(default_factory=dict)
    robots: tuple[RobotSpec, ...] = Field(min_length=1, max_length=MAX_ROBOTS)
    exploration: ExplorationSpec = ExplorationSpec()
    questions: QuestionsSpec = QuestionsSpec()
    aggregator: AggregatorSpec = AggregatorSpec()
    leader: LeaderSpec | None = Field(None, description="needed by robots of role: worker")
    cooperation: CooperationSpec = CooperationSpec()
    mapper: MapperSpec | None = Field(None, description="makes the semantic map")
    planner: PlannerSpec | None = Field(None, description="answers ./coterie find")
    open_questions: OpenQuestionsSpec | None = Field(None, description="answers open questions")
    memory: MemorySpec = MemorySpec()
    processes: ProcessesSpec = ProcessesSpec()
    domain: int | None = Field(None, ge=0, le=101, description="ROS domain; none: a free one")
    namespace: Namespace = Field("", description="ROS namespace of the whole team; empty: none")

    _file: Path | None = PrivateAttr(None)

    @property
    def explorers(self) -> tuple[RobotSpec, ...]:
        """Robots that answer questions."""
        return tuple(robot for robot in self.robots if robot.role == "explorer")

    @property
    def workers(self) -> tuple[RobotSpec, ...]:
        """Robots that do tasks."""
        return tuple(robot for robot in self.robots if robot.role == "worker")

    @property
    def cooperators(self) -> tuple[RobotSpec, ...]:
        """Robots that do shared goals without a leader."""
        return tuple(robot for robot in self.robots if robot.role == "cooperator")

    @property
    def file(self) -> Path | None:
        """The file it was read from."""
        return self._file

    def world_spec(self) -> WorldSpec:
        """Return the world with its files and folders as absolute paths."""
        paths = {
            field: str(self.resolve(value))
            for field in ("directory", "house", "dataset")
            if (value := getattr(self.world, field)) is not None
        }
        return self.world.model_copy(update=paths)

    def house_name(self) -> str:
        """Return the name of the house that the world is made of."""
        if self.world.scan:
            return self.world.scan
        return Path(self.world.house).stem if self.world.house else f"house_{self.world.seed}"

    def profile(self, name: str) -> ModelProfile:
        """Return a model profile with its files as absolute paths; `rules` always exists."""
        found = self.models.get(name, ModelProfile())
        files = {
            key: self.resolve(str(value))
            for key in ("cassette", "record_to")
            if (value := getattr(found, key)) is not None
        }
        return found.model_copy(update=files)

    def resolve(self, path: str) -> Path:
        """Return a path of the team file, relative to that file, or `package://PACKAGE/PATH`."""
        if path.startswith(SCHEME):
            # Where there is no such file the path says so when it is read.
            return package_path(path) or Path(path)
        base = self._file.parent if self._file else Path.cwd()
        try:
            return (base / Path(path).expanduser()).resolve()
        except (OSError, RuntimeError):  # a home that does not exist, links in a circle
            return base / path


def with_namespace(team: Team, namespace: str) -> Team:
    """Return a team in another namespace.

    Raises:
        CommandError: It cannot be a ROS namespace.
    """
    try:
        name = _namespace(namespace)
    except ValueError as error:
        raise CommandError(f"namespace: {error}") from None
    return team.model_copy(update={"namespace": name})


def load_team(file: Path) -> Team:
    """Read and check a team file.

    Raises:
        FileProblem: With every problem found: line, field, what was expected, the nearest name.
    """
    team = parse_team(read_text(file), str(file), file.resolve().parent)
    team._file = file.resolve()
    return team


def parse_team(text: str, file: str = "team.yaml", folder: Path | None = None) -> Team:
    """Check the text of a team file that lies in `folder`; see `load_team`."""
    marked = load_marked(text, file)
    problems: list[Problem] = []
    origin: list[int] = []
    if isinstance(marked.data, dict):
        origin = expand_groups(marked, problems)
        check_names(marked, problems)
        check_models(marked, problems)
        check_map(marked, problems)
        check_roles(marked, problems)
        check_writes(marked, folder, problems)
    try:
        team = check(Team, marked, file, problems)
        if folder is not None:
            team._file = folder / Path(file).name
            check_files(marked, team, problems)
            if problems:
                raise FileProblem(file, problems)
        return team
    except FileProblem as error:
        raise FileProblem(file, as_written(error.problems, origin)) from None


__all__ = [
    "AggregatorSpec",
    "CooperationSpec",
    "ExplorationSpec",
    "FileProblem",
    "LeaderSpec",
    "MemorySpec",
    "PoseSpec",
    "ProcessesSpec",
    "QuestionsSpec",
    "RobotSpec",
    "StartSpec",
    "Team",
    "load_team",
    "parse_team",
]
