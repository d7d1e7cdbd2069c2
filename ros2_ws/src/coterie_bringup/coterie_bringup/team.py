"""The team file: the one description of a team, from which everything else is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from coterie_bringup.errors import CommandError
from coterie_bringup.resources import SCHEME, package_path
from coterie_bringup.security.options import SecuritySpec
from coterie_bringup.team_checks import (
    MAX_ROBOTS,
    as_written,
    check_arms,
    check_decisions,
    check_detectors,
    check_files,
    check_map,
    check_models,
    check_names,
    check_real,
    check_roles,
    check_starts,
    check_writes,
    expand_groups,
)
from coterie_bringup.team_hosts import DiscoverySpec, HostSpec, check_hosts
from coterie_bringup.team_robots import Namespace, RobotName, RobotSpec, namespace_of
from coterie_bringup.team_sections import (
    AggregatorSpec,
    CooperationSpec,
    ExplorationSpec,
    LeaderSpec,
    MapperSpec,
    MemorySpec,
    OpenQuestionsSpec,
    PlannerSpec,
    ProcessesSpec,
    QuestionsSpec,
    WhySpec,
)
from coterie_core.own_classes import OwnName
from coterie_core.settings import Settings
from coterie_core.yaml_checks import check
from coterie_core.yaml_marks import FileProblem, Problem, load_marked, read_text
from coterie_llm import ModelProfile
from coterie_llm.embedders import EmbedderOptions
from coterie_llm.profile import BUILT_IN, DecisionName
from coterie_safety.guard import Limits, RobotLimits
from coterie_safety.permits import Permits, RobotPermits
from habitat_bridge.factory import WorldSpec


class Team(Settings):
    """A team of robots in a world, and the questions it is to answer."""

    name: RobotName = Field(
        "team", description="Name of the team, for people and for run directories."
    )
    world: WorldSpec = Field(description="World that the robots are in.")
    mode: Literal["lockstep", "real_time"] = Field(
        "lockstep",
        description="Mode of simulated time; lockstep: it stands still while a robot thinks; "
        "real_time: it runs by the wall clock.",
    )
    seed: int = Field(
        0,
        ge=0,
        lt=2**31,
        description="Seed of everything random: start places, ties, questions, learners.",
    )
    models: dict[str, ModelProfile] = Field(
        default_factory=dict,
        description="Model profiles by name; rules (no model) and tiny (the model in the box) "
        "always exist.",
    )
    robots: tuple[RobotSpec, ...] = Field(
        min_length=1, max_length=MAX_ROBOTS, description="List of the team's robots, 1 to 200."
    )
    limits: Limits = Field(
        Limits(), description="Limits of all robots: where they may be, and what they may do."
    )
    permits: Permits = Field(
        Permits(),
        description="Policy of permits: which goals are allowed, which a person is asked for, and "
        "which are refused.",
    )
    exploration: ExplorationSpec = Field(
        ExplorationSpec(), description="Limits at which exploring ends."
    )
    questions: QuestionsSpec = Field(QuestionsSpec(), description="Questions of the demonstration.")
    embedder: EmbedderOptions = Field(
        EmbedderOptions(),
        description="Embedder that compares words by meaning, for all of the team.",
    )
    aggregator: AggregatorSpec = Field(
        AggregatorSpec(),
        description="Settings of the node that makes one answer of the robots' answers.",
    )
    decisions: dict[DecisionName, OwnName] = Field(
        default_factory=dict,
        description="Classes or functions of yours that decide, by the name of the decision, e.g. "
        "mele.answer: my_package.module:Class; none: Coterie's do.",
    )
    leader: LeaderSpec | None = Field(
        None,
        description="Settings of the leader, which robots of role worker need; none: no leader.",
    )
    cooperation: CooperationSpec = Field(
        CooperationSpec(), description="Settings of robots of role cooperator."
    )
    mapper: MapperSpec | None = Field(
        None, description="Settings of the semantic mapper; none: no semantic map."
    )
    planner: PlannerSpec | None = Field(
        None,
        description="Settings of the object planner behind ./coterie find; none: no object "
        "planner.",
    )
    open_questions: OpenQuestionsSpec | None = Field(
        None, description="Settings of the agent for open questions; none: no such agent."
    )
    memory: MemorySpec = Field(
        MemorySpec(), description="Settings of the team's memory over tasks."
    )
    why: WhySpec = Field(
        WhySpec(), description="Settings of what is kept of decisions, for ./coterie why."
    )
    security: SecuritySpec = Field(
        SecuritySpec(), description="Settings of who may take part in the team, and how."
    )
    processes: ProcessesSpec = Field(
        ProcessesSpec(), description="Settings of how robots are spread over processes."
    )
    hosts: dict[RobotName, HostSpec] = Field(
        default_factory=dict,
        description="Computers by name, and what runs on each; empty: everything on one.",
    )
    discovery: DiscoverySpec = Field(
        DiscoverySpec(), description="Settings of how the hosts find one another."
    )
    domain: int | None = Field(
        None,
        ge=0,
        le=101,
        description="Number of the ROS domain; none: ROS_DOMAIN_ID, or else 0 for real robots, and "
        "a domain that nobody uses for others.",
    )
    namespace: Namespace = Field("", description="ROS namespace of the whole team; empty: none.")

    _file: Path | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _mode_of_real_robots(cls, data: Any) -> Any:
        """Take real time for real robots, unless the file says otherwise."""
        world = data.get("world") if isinstance(data, dict) else None
        if isinstance(world, dict) and world.get("kind") == "real":
            return {"mode": "real_time", **data}
        return data

    @property
    def real(self) -> bool:
        """Whether its robots are real: they have adapters, and there is no bridge."""
        return self.world.kind == "real"

    @property
    def simulated_time(self) -> bool:
        """Whether nodes take the time from /clock."""
        return not self.real or self.world.use_sim_time

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
    def own_classes(self) -> dict[str, str]:
        """Classes and functions of the user's own that the file names, by field."""
        named = {f"decisions.{name}": own for name, own in self.decisions.items()}
        if self.world.maker:
            named["world.maker"] = self.world.maker
        if ":" in self.aggregator.method:
            named["aggregator.method"] = self.aggregator.method
        for robot in self.robots:
            if robot.driver:
                named[f"robots: {robot.name}: driver"] = robot.driver
            for camera in robot.adapter.sensors.all_cameras() if robot.adapter else ():
                if camera.detections.own:
                    field = f"robots: {robot.name}: {camera.name}: detections.detector"
                    named[field] = str(camera.detections.detector)
        return named

    @property
    def file(self) -> Path | None:
        """The file it was read from."""
        return self._file

    def world_spec(self) -> WorldSpec:
        """Return the world with its files and folders as absolute paths."""
        paths = {
            field: str(self.resolve(value))
            for field in ("house", "dataset")
            if (value := getattr(self.world, field)) is not None
        }
        return self.world.model_copy(update=paths)

    def limits_of(self, robot: RobotSpec) -> RobotLimits:
        """Return the limits that a robot has: the team's and its own."""
        return RobotLimits(team=self.limits, robot=robot.limits, name=robot.name)

    def permits_of(self, robot: RobotSpec) -> RobotPermits:
        """Return the policy of permits that a robot has: the team's and its own."""
        return RobotPermits(team=self.permits, robot=robot.permits, name=robot.name, real=self.real)

    def house_name(self) -> str:
        """Return the name of the house that the world is made of."""
        if self.real or self.world.kind == "own":
            return self.name
        return Path(self.world.house).stem if self.world.house else f"house_{self.world.seed}"

    def profile(self, name: str) -> ModelProfile:
        """Return a model profile with absolute paths; those of `BUILT_IN` always exist."""
        return self._absolute(self.models.get(name) or BUILT_IN.get(name, ModelProfile()))

    def _absolute(self, profile: ModelProfile) -> ModelProfile:
        changes: dict[str, Any] = {
            key: self.resolve(str(value))
            for key in ("cassette", "record_to", "file")
            if (value := getattr(profile, key)) is not None
        }
        if profile.larger is not None:
            changes["larger"] = self._absolute(profile.larger)
        return profile.model_copy(update=changes)

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
        name = namespace_of(namespace)
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
        check_starts(marked, problems)
        check_real(marked, problems)
        check_roles(marked, problems)
        check_decisions(marked, problems)
        check_hosts(marked, problems)
        check_writes(marked, folder, problems)
    try:
        team = check(Team, marked, file, problems)
        if folder is not None:
            team._file = folder / Path(file).name
            check_files(marked, team, problems)
            check_arms(marked, team, problems)
            check_detectors(marked, team, problems)
            if problems:
                raise FileProblem(file, problems)
        return team
    except FileProblem as error:
        raise FileProblem(file, as_written(error.problems, origin)) from None
