"""Tasks of a team: goals as predicates, typed sub-tasks, and why a robot cannot do one (EMOS)."""

from __future__ import annotations

import enum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from coterie_core.geometry import Vec3

PredicateName = Literal[
    "robot_at_object", "robot_at_receptacle", "object_at_receptacle", "robot_detect_object"
]
SubTaskKind = Literal["go_to", "search", "detect", "pick", "place", "open", "close", "use"]
BY_HAND: frozenset[SubTaskKind] = frozenset(("pick", "place", "open", "close", "use"))
"""What a robot goes near to a thing for, and needs a hand for."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Thing(_Part):
    """A thing that a task is about: its label, and what is known of it.

    `id` is that of the team's scene graph ("" while nobody has found it), `position` its centre in
    the map frame [m], `room` a room id. `sightings` counts the looks that have shown it (0: not
    told, or a map made earlier has it).
    """

    label: str
    id: str = ""
    position: Vec3 | None = None
    room: str = ""
    sightings: int = Field(0, ge=0)


class Predicate(_Part):
    """A sub-goal: one of EMOS's four predicates (appendix B.2); `robot` "" means any robot."""

    name: PredicateName
    object: Thing | None = None
    receptacle: Thing | None = None
    robot: str = ""

    @model_validator(mode="after")
    def _arguments(self) -> Predicate:
        if self.name != "robot_at_receptacle" and self.object is None:
            raise ValueError(f"{self.name} needs an object")
        if self.name in ("robot_at_receptacle", "object_at_receptacle") and not self.receptacle:
            raise ValueError(f"{self.name} needs a receptacle")
        return self


class SubTaskState(enum.IntEnum):
    """Where a sub-task stands; the numbers are those of coterie_msgs/SubTask."""

    PENDING = 0
    RUNNING = 1
    DONE = 2
    FAILED = 3


class SubTask(_Part):
    """One robot's share of a task.

    `search` looks for `object.label` in `rooms` (ids; empty: everywhere); `detect` looks at a known
    thing; `pick` and `place` move `object` (onto or into `receptacle`); `use` does the `skill` of
    another package to it; `go_to` goes to `object`, `receptacle` or the first of `rooms`.
    `depends_on` are ids of sub-tasks that must be done before; `same_robot_as` is the id of the one
    whose robot must do this too (who picked, places).
    A hand-over between robots is a place where both reach and a pick by the other.
    A search ends when the expected number of unseen things in its rooms is below `enough`; `looked`
    tells what other robots' looks have left open (robot -> region -> chance of a miss). `seen`: the
    robot has looked at what it brought about, and saw it.
    """

    id: str = Field(min_length=1, max_length=60)
    kind: SubTaskKind
    skill: str = Field("", description="of a use: its row in the table of skills")
    object: Thing | None = None
    receptacle: Thing | None = None
    rooms: tuple[str, ...] = ()
    robot: str = Field("", description="whom it is assigned to; empty: nobody yet")
    depends_on: tuple[str, ...] = ()
    same_robot_as: str = ""
    description: str = Field("", description="in words")
    state: SubTaskState = SubTaskState.PENDING
    reason: str = Field("", description="why it failed or was handed back")
    inside: bool | None = Field(None, description="of a place: whether in it; None: as it fits")
    enough: float = Field(0.0, ge=0.0, description="of a search: unseen things that may be left")
    looked: dict[str, dict[str, float]] = {}
    seen: bool = False

    @model_validator(mode="after")
    def _arguments(self) -> SubTask:
        if self.kind in BY_HAND | {"detect", "search"} and not self.object:
            raise ValueError(f"sub-task {self.id}: {self.kind} needs an object")
        if bool(self.skill) is not (self.kind == "use"):
            raise ValueError(f"sub-task {self.id}: a use has a skill, and nothing else has one")
        if self.kind == "place" and not self.receptacle:
            raise ValueError(f"sub-task {self.id}: place needs a receptacle")
        if self.kind == "go_to" and not (self.object or self.receptacle or self.rooms):
            raise ValueError(f"sub-task {self.id}: go_to needs an object, a receptacle or a room")
        if self.id in self.depends_on:
            raise ValueError(f"sub-task {self.id} depends on itself")
        return self

    def __hash__(self) -> int:
        """Tell sub-tasks apart by what is few: `looked` is large, and a mapping."""
        return hash((self.id, self.kind, self.robot, self.state))

    @property
    def target(self) -> Thing | None:
        """The thing that the robot must get to: what to pick, or where to place."""
        return self.receptacle if self.kind == "place" else self.object or self.receptacle


class Obstacle(str, enum.Enum):
    """Why a robot's body or state rules a sub-task out."""

    NO_ARM = "no_arm"
    TOO_HIGH = "too_high"
    TOO_LOW = "too_low"
    TOO_FAR_IN = "too_far_in"  # no spot to stand on is near enough
    TOO_HEAVY = "too_heavy"
    NO_CAMERA = "no_camera"
    OUT_OF_VIEW = "out_of_view"  # in the frustum from nowhere it can stand
    OCCLUDED = "occluded"
    NO_PATH = "no_path"  # stairs, a narrow door, another floor
    UNKNOWN_THING = "unknown_thing"
    NOT_THERE = "not_there"  # looked for where it is said to be, from several sides
    CLOSED = "closed"
    HANDS_FULL = "hands_full"
    NO_ROOM = "no_room"  # the surface is full, or the thing too large for it
    OVERLOADED = "overloaded"
    NO_ANSWER = "no_answer"
    OTHER = "other"


class Verdict(_Part):
    """What a robot says to one sub-task of its share."""

    sub_task: str
    feasible: bool
    obstacle: Obstacle | None = None
    reason: str = Field("", max_length=500, description="in words")
    time: float = Field(0.0, ge=0.0, description="that it would take [s]")
    source: Literal["tool", "model", "rule"] = "tool"
    disagreement: str = Field(
        "", description="what was said against it: by the tools, by a model, or by its code"
    )


class Proposal(_Part):
    """What the leader puts before the robots: the task in words and everybody's share."""

    task: str = Field(description="id of the task")
    words: str = Field(description="the task as it was given; treated as data")
    round: int = Field(0, ge=0)
    sub_tasks: tuple[SubTask, ...]
    sole: tuple[str, ...] = Field(
        (), description="sub-tasks that no other robot could take, as far as the leader knows"
    )


class Reflection(_Part):
    """A robot's answer to a proposal: yes, or no with typed reasons for what it cannot do."""

    task: str
    round: int = Field(0, ge=0)
    robot: str
    agrees: bool
    verdicts: tuple[Verdict, ...] = ()
    without_model: str = Field(
        "", max_length=300, description="why the rules decided though a model was to be asked"
    )


class RobotReport(_Part):
    """How a robot is and how far its sub-tasks are; also its sign of life.

    `position` in the map frame [m], `room` a room id, `holding` the label of what it holds,
    `skill` what it does just now, `help` what it asks others for ("" for nothing), `offers` the ids
    of others' sub-tasks that it would do. `looked` tells what its looks for things of a label leave
    open: label -> region (`coterie_world.search_belief`) -> chance (0..1) that a thing was missed.
    """

    robot: str
    time: float = Field(0.0, description="[s], the world's clock")
    task: str = ""
    waiting: bool = Field(True, description="nothing to do: all its sub-tasks are at an end")
    position: Vec3 | None = None
    room: str = ""
    holding: str = ""
    skill: str = ""
    help: str = ""
    offers: tuple[str, ...] = Field((), max_length=100)
    sub_tasks: tuple[SubTask, ...] = ()
    found: tuple[Thing, ...] = Field((), description="things of the task that it has seen")
    looked: dict[str, dict[str, float]] = {}
    put_down: str = Field("", description="what nobody wanted, and where it was put")
