"""Habitat-MAS episodes: what is to be done, who can do it, and who cannot (EMOS, section 4).

An episode is E = (L, P0, T, G): the house and where things are (L), where the robots start (P0),
the task in words (T), the sub-goals as predicates (G). It is kept only if the right assignment of
robots to sub-goals is possible and the swapped one is not (XOR), and if the way of every robot to
its goal is neither straight nor a maze (Eq. 2).
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coterie_core.files import write_atomically
from coterie_core.geometry import Vec3
from coterie_core.plain_data import schema_problems
from coterie_core.resume import Resume
from coterie_core.tasks import Predicate, SubTask, SubTaskKind
from coterie_description import overrides_path, urdf_path
from coterie_execution.geometry.toolbox import Toolbox
from coterie_world.scene import SceneGraph, SceneObject
from coterie_world.sightings import as_thing
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.factory import NoiseLevel, make_world
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House
from habitat_bridge.simulator import Start, WorldError
from research.bench.emos.words import reference, sentence
from robot_resume.cache import stored_resume

Family = Literal[1, 2, 3, 4]
WorldKind = Literal["embedded", "habitat"]
FAMILIES: Mapping[int, str] = {
    1: "cross-floor object navigation",
    2: "cooperative perception",
    3: "single-floor rearrangement",
    4: "multi-floor rearrangement",
}
_TEAMS: Mapping[int, tuple[str, ...]] = {
    1: ("fetch", "spot"),
    2: ("spot", "m100_indoor"),
    3: ("fetch", "stretch"),
    4: ("fetch", "spot", "m100_indoor"),
}
RATIO = (1.02, 6.0)
"""Geodesic over Euclidean distance (Eq. 2): above the first the way is not straight."""
NEAREST, FARTHEST = 1.5, 45.0
"""Ways [m] shorter or longer than this make no episode."""
BUILT_IN = frozenset({"faucet"})
"""Small things of the generator that nobody carries about."""
APART = 0.9
"""Least distance between two robots' starts [m]."""


class EpisodeError(ValueError):
    """An episode file cannot be used; names file and field."""


class Robot(BaseModel):
    """A robot of an episode: its kind (of coterie_description) and where it starts [m]."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    kind: str
    start: Vec3


class Goal(BaseModel):
    """A sub-goal and the robot that the right assignment gives it to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    predicate: Predicate
    right: str
    swapped: str = Field(description="who gets it in the swapped assignment")


class Episode(BaseModel):
    """One episode."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    family: Family
    house: int = Field(ge=0, description="seed of the generated house")
    floors: int = Field(2, ge=1, le=3)
    words: str
    robots: tuple[Robot, ...]
    goals: tuple[Goal, ...]
    ratio: float = Field(description="mean geodesic over Euclidean distance of the right ways")

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """What the robots are to bring about."""
        return tuple(goal.predicate for goal in self.goals)

    @property
    def checked(self) -> tuple[Predicate, ...]:
        """All sub-goals that are counted: also to be at a thing, and at where it goes."""
        found = []
        for predicate in self.predicates:
            if predicate.name == "object_at_receptacle":
                found.append(Predicate(name="robot_at_object", object=predicate.object))
                found.append(Predicate(name="robot_at_receptacle", receptacle=predicate.receptacle))
            found.append(predicate)
        return tuple(found)


def resume_of_kind(kind: str) -> Resume:
    """Return the resume of a robot of coterie_description (kept on disk)."""
    return stored_resume(urdf_path(kind), name=kind, overrides=overrides_path(kind))


def world_of(
    episode: Episode, kind: WorldKind = "embedded", noise: NoiseLevel = "none"
) -> tuple[EmbeddedWorld, dict[str, Resume]]:
    """Return the world of an episode with its robots in it, and their resumes.

    Args:
        episode: The episode.
        kind: `embedded`, or `habitat`: the same house in habitat-sim, which the Python in the
            environment variable COTERIE_HABITAT_PYTHON runs.
        noise: Of the robots' detectors.

    Raises:
        WorldError: A robot does not fit where it starts, or there is no habitat-sim.
    """
    # Detections keep ids, so that goals can be told.
    world: EmbeddedWorld
    if kind == "embedded":
        house = _house(episode.house, episode.floors)
        world = EmbeddedWorld(
            house, seed=episode.house, noise=getattr(DetectorNoise, noise)(), track_ids=True
        )
    else:
        spec = {"kind": kind, "seed": episode.house, "floors": episode.floors, "noise": noise}
        made = make_world({**spec, "track_ids": True})
        assert isinstance(made, EmbeddedWorld)
        world = made
    resumes = {}
    try:
        for robot in episode.robots:
            resume = resume_of_kind(robot.kind).model_copy(update={"robot": robot.name})
            resumes[robot.name] = resume
            place = min(
                world.truth().places.values(),
                key=lambda p: (math.dist(p.position, robot.start), p.id),
            )
            world.add_robot(robot.name, resume.embodiment(), Start(place=place.id))
    except BaseException:
        world.close()
        raise
    return world, resumes


@functools.lru_cache(maxsize=4)
def _house(seed: int, floors: int) -> House:
    """Return a generated house; worlds copy what changes in it."""
    return generate_house(seed, floors=floors)


def make_episode(family: Family, house: int) -> Episode | None:
    """Return the episode of a family in a generated house, or None if it offers none."""
    rng = random.Random(house * 7 + family)
    floors = 1 if family in (2, 3) else 2
    try:
        truth = EmbeddedWorld(_house(house, floors), seed=house).truth()
    except ValueError:
        return None
    team = _TEAMS[family]
    resumes = {kind: resume_of_kind(kind) for kind in team}
    tools = Toolbox(truth, resumes)
    starts = _starts(truth, tools, team, rng)
    if starts is None:
        return None
    kind: SubTaskKind = {1: "go_to", 2: "detect", 3: "pick", 4: "pick"}[family]  # type: ignore[assignment]
    able = _able(truth, tools, starts, kind)
    goals = _goals(family, truth, tools, starts, able, rng)
    if goals is None:
        return None
    ratios = [_ratio(tools, goal, starts) for goal in goals]
    if any(r is None or not RATIO[0] <= r <= RATIO[1] for r in ratios):
        return None
    ratio = sum(r for r in ratios if r is not None) / len(ratios)
    words = sentence([goal.predicate for goal in goals], truth)
    if words is None:
        return None
    robots = tuple(Robot(name=k, kind=k, start=starts[k]) for k in team)
    return Episode(
        id=f"task{family}-{house:05d}",
        family=family,
        house=house,
        floors=floors,
        words=words,
        robots=robots,
        goals=tuple(goals),
        ratio=round(ratio, 3),
    )


def save_episodes(made: list[Episode], path: Path) -> None:
    """Write episodes as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(one.model_dump_json() + "\n" for one in made))


def load_episodes(path: Path) -> list[Episode]:
    """Read episodes from JSON lines.

    Raises:
        EpisodeError: The file cannot be read, or a line is wrong; names line and field.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise EpisodeError(f"{path}: {error.strerror}; give a file of episodes") from None
    except UnicodeDecodeError:
        raise EpisodeError(f"{path}: not UTF-8; give a file of episodes") from None
    made = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            made.append(Episode.model_validate_json(line))
        except ValidationError as error:
            raise EpisodeError(f"{path}:{number}: {schema_problems(error, 'line')}") from None
    return made


def _starts(
    truth: SceneGraph, tools: Toolbox, team: tuple[str, ...], rng: random.Random
) -> dict[str, Vec3] | None:
    """Start all robots on the lowest floor, in free spots apart from one another."""
    ground = min(truth.floors.values(), key=lambda f: f.elevation)
    spots = [p.position for p in truth.places.values() if p.floor == ground.id]
    rng.shuffle(spots)
    starts: dict[str, Vec3] = {}
    for kind in team:
        space = tools.kind(kind).space
        for spot in spots:
            fits = space.stand(spot) is not None
            if fits and all(math.dist(spot, other) >= APART for other in starts.values()):
                starts[kind] = spot
                break
        else:
            return None
    return starts


def _able(
    truth: SceneGraph, tools: Toolbox, starts: Mapping[str, Vec3], kind: SubTaskKind
) -> dict[str, frozenset[str]]:
    """Return for every small thing which robots can do a kind of sub-task with it."""
    able = {}
    for thing in truth.objects.values():
        if thing.kind != "item" or thing.container or reference(thing, truth) is None:
            continue
        if kind == "pick" and thing.label.top in BUILT_IN:
            continue
        task = SubTask(id="t", kind=kind, object=as_thing(thing))
        able[thing.id] = frozenset(
            robot for robot, at in starts.items() if tools.estimate(robot, task, at).feasible
        )
    return able


def _goals(
    family: Family,
    truth: SceneGraph,
    tools: Toolbox,
    starts: Mapping[str, Vec3],
    able: Mapping[str, frozenset[str]],
    rng: random.Random,
) -> list[Goal] | None:
    """Choose two things that tell two robots apart: the first can deal with one, the other not."""
    team = list(starts)
    pairs = [(a, b) for a in team for b in team if a != b]
    rng.shuffle(pairs)
    for a, b in pairs:
        mine = [t for t, who in able.items() if a in who and b not in who]
        theirs = [t for t, who in able.items() if b in who]
        rng.shuffle(mine)
        rng.shuffle(theirs)
        # What both can do tells nothing; better is what only the other can.
        theirs.sort(key=lambda t: a in able[t])
        for first in mine[:12]:
            for second in theirs[:12]:
                if first == second:
                    continue
                goals = _pair(family, truth, tools, starts, (a, first), (b, second), rng)
                if goals is not None:
                    return goals
    return None


def _pair(
    family: Family,
    truth: SceneGraph,
    tools: Toolbox,
    starts: Mapping[str, Vec3],
    one: tuple[str, str],
    two: tuple[str, str],
    rng: random.Random,
) -> list[Goal] | None:
    goals = []
    for (robot, thing), other in ((one, two[0]), (two, one[0])):
        item = as_thing(truth.objects[thing])
        if family == 1:
            predicate = Predicate(name="robot_at_object", object=item)
        elif family == 2:
            predicate = Predicate(name="robot_detect_object", object=item)
        else:
            place = _receptacle(truth, tools, robot, truth.objects[thing], starts, rng)
            if place is None:
                return None
            predicate = Predicate(
                name="object_at_receptacle", object=item, receptacle=as_thing(place)
            )
        goals.append(Goal(predicate=predicate, right=robot, swapped=other))
    return goals


def _receptacle(
    truth: SceneGraph,
    tools: Toolbox,
    robot: str,
    item: SceneObject,
    starts: Mapping[str, Vec3],
    rng: random.Random,
) -> SceneObject | None:
    """Choose another piece of furniture on which the robot can put the thing down."""
    under = truth.objects.get(item.support)
    same = under.label.top if under is not None else ""
    owners = [
        t
        for t in truth.objects.values()
        if t.label.top != same
        and any(not r.inside for r in t.receptacles)
        and reference(t, truth) is not None
    ]
    rng.shuffle(owners)
    for owner in owners[:20]:
        task = SubTask(id="t", kind="place", object=as_thing(item), receptacle=as_thing(owner))
        if tools.estimate(robot, task, starts[robot], holding=item.id).feasible:
            return owner
    return None


def _ratio(tools: Toolbox, goal: Goal, starts: Mapping[str, Vec3]) -> float | None:
    """Geodesic over Euclidean distance from the right robot's start to its object (Eq. 2)."""
    thing = goal.predicate.object
    assert thing is not None and thing.position is not None
    task = SubTask(id="t", kind="go_to", object=thing)
    start = starts[goal.right]
    way = tools.estimate(goal.right, task, start)
    if not way.feasible or way.spot is None:
        return None
    straight = math.dist(start, way.spot)
    if straight < 0.3 or not NEAREST <= way.distance <= FARTHEST:
        return None
    return way.distance / straight


__all__ = [
    "FAMILIES",
    "Episode",
    "EpisodeError",
    "Family",
    "Goal",
    "Robot",
    "WorldError",
    "WorldKind",
    "load_episodes",
    "make_episode",
    "resume_of_kind",
    "save_episodes",
    "world_of",
]
