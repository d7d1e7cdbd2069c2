"""Bodies in a scene: the space that each kind of body has, its ways, and what it gets into view."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from coterie_core.geometry import Box, Vec3
from coterie_core.resume import Resume
from coterie_core.tasks import Obstacle
from coterie_execution.geometry.body import Body, Frame, body_key
from coterie_execution.geometry.configuration_space import ConfigurationSpace
from coterie_execution.geometry.floorplan import Driven, FloorPlan
from coterie_execution.geometry.grasp import Grip, grips
from coterie_execution.geometry.line_of_sight import Sightlines
from coterie_execution.geometry.path_cost import Ways
from coterie_execution.geometry.results import Reach, Sight
from coterie_execution.geometry.things import Catalog, ResolvedObject
from coterie_execution.geometry.viewpoints import BEST_AWAY, sights
from coterie_world.scene import SceneGraph

BodiesT = TypeVar("BodiesT", bound="BodiesInScene")
AnswerT = TypeVar("AnswerT")
Components = frozenset[int]


@dataclass(slots=True)
class BodyModel:
    """Everything worked out for one kind of body; robots with equal bodies share it."""

    body: Body
    space: ConfigurationSpace
    ways: Ways
    answers: dict[Any, Any] = field(default_factory=dict)

    def kept(self, key: object, work_out: Callable[[], AnswerT]) -> AnswerT:
        """Return an answer as it was worked out the first time that it was asked for."""
        if key not in self.answers:
            self.answers[key] = work_out()
        out: AnswerT = self.answers[key]
        return out


class UnknownRobot(KeyError):
    """A tool was asked about a robot that has no resume; names those that have."""

    def __str__(self) -> str:
        """Return the text without the quotes that KeyError puts around it."""
        return str(self.args[0])


class BodiesInScene:
    """What is worked out for robots in a scene, and kept: neither may change afterwards.

    Args:
        scene: What is known of the house. For another state of the house `with_scene` returns the
            same, which keeps what rests on rooms and furniture if they have not changed.
        resumes: Robot -> what its body can do.
        driven: Where a robot has driven.

    Raises:
        ValueError: The rooms of the scene span no house in metres.
    """

    def __init__(
        self, scene: SceneGraph, resumes: Mapping[str, Resume], driven: Driven | None = None
    ) -> None:
        self.scene = scene
        self.resumes = dict(resumes)
        self.plan = FloorPlan(scene, driven)
        self._driven = len(self.plan.driven.ways)  # so many pieces of it leave the plan as it is
        self.lines = Sightlines(scene, self.plan)
        self.catalog = Catalog(scene)
        self._structure = _structure(scene)
        self._kind_of = {robot: body_key(resume) for robot, resume in self.resumes.items()}
        self._kinds: dict[str, BodyModel] = {}
        self._spaces: dict[tuple[FloorPlan, Frame], ConfigurationSpace] = {}
        self._bare: Any = None  # the same without what was seen, once somebody has asked

    def without_seen(self: BodiesT) -> BodiesT:
        """Return the same where furniture that robots only saw is in nobody's way; it hides things.

        Where their boxes cover all floor around a thing, this tells from where it would be reached.
        """
        if self._bare is None:
            self._bare = copy.copy(self)
            self._bare.plan, self._bare._kinds = self.plan.without_seen(), {}
        bare: BodiesT = self._bare
        return bare

    def with_scene(
        self: BodiesT,
        scene: SceneGraph,
        resumes: Mapping[str, Resume] | None = None,
        driven: Driven | None = None,
    ) -> BodiesT:
        """Return the same for another state of the house, or for other robots."""
        robots = dict(self.resumes if resumes is None else resumes)
        driven = driven or self.plan.driven
        if _structure(scene) != self._structure or self.plan.closes(driven.ways[self._driven :]):
            return type(self)(scene, robots, driven)
        out = copy.copy(self)
        out.scene, out.resumes, out._bare = scene, robots, None
        out.catalog = Catalog(scene)
        out._driven = len(driven.ways)
        out.lines = Sightlines(scene, self.plan, self.lines.walls)
        out._kind_of = {
            robot: self._kind_of[robot] if self.resumes.get(robot) is resume else body_key(resume)
            for robot, resume in robots.items()
        }
        out._kinds = {
            key: BodyModel(kind.body, kind.space, kind.ways) for key, kind in self._kinds.items()
        }
        return out

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the robots."""
        return tuple(self.resumes)

    def kind_key(self, robot: str) -> str:
        """Return what robots with equal bodies have in common.

        Raises:
            UnknownRobot: No resume of that robot.
        """
        try:
            return self._kind_of[robot]
        except KeyError:
            known = ", ".join(sorted(self._kind_of)) or "none"
            raise UnknownRobot(f"no resume of a robot {robot!r}; known are: {known}") from None

    def kind(self, robot: str) -> BodyModel:
        """Return what is worked out for a robot's kind of body.

        Raises:
            UnknownRobot: No resume of that robot.
        """
        key = self.kind_key(robot)
        if key not in self._kinds:
            body = Body(self.resumes[robot])
            where = (self.plan, body.frame)
            if where not in self._spaces:
                self._spaces[where] = ConfigurationSpace(self.plan, self.scene, body.frame)
            space = self._spaces[where]
            self._kinds[key] = BodyModel(body, space, Ways(self.scene, space, body))
        return self._kinds[key]

    def start_of(self, robot: str, start: Vec3 | None = None) -> Vec3 | None:
        """Return where a robot starts [m]: as given, else as the scene has it, else None."""
        agent = self.scene.agents.get(robot)
        return start if start is not None or agent is None else agent.pose.position

    def components_of(self, robot: str, start: Vec3 | None) -> frozenset[int]:
        """Return the components of free space that a robot gets to from where it starts."""
        kind = self.kind(robot)
        component = kind.space.component_at(start) if start is not None else -1
        return frozenset({component}) if component >= 0 else kind.space.main

    def lines_to(self, meant: ResolvedObject) -> list[Sightlines]:
        """Return the lines of sight to a thing: as the map has it, then as it may be.

        Only what a robot has seen is surely in view from somewhere.
        """
        seen = meant.object is not None and meant.object.last_seen is not None
        return [self.lines, self.lines.forgiving()] if seen else [self.lines]

    def view(
        self,
        robot: str,
        meant: ResolvedObject,
        components: frozenset[int] | None,
        away: float = BEST_AWAY,
    ) -> Sight:
        """Tell whether a camera gets a thing into view from components of free space (None: all).

        Args:
            robot: Its name.
            meant: The thing.
            components: Of free space.
            away: From how far to look best [m].
        """
        kind = self.kind(robot)

        def look() -> Sight:
            floor, around = self.plan.floor_index(meant.box.bottom), self.catalog.around(meant)
            for lines in self.lines_to(meant):
                clear = partial(lines.clear, floor=floor, ignored_ids=around, own=meant.id)
                sight = sights(kind.space, clear, kind.body, meant.box, floor, components, away)
                if sight.obstacle is not Obstacle.OCCLUDED:
                    break
            return sight

        return kind.kept(("sight", meant.key, components, away), look)


@dataclass(frozen=True, slots=True)
class Asked:
    """A robot that the tools are asked about.

    Attributes:
        tools: What is known of the scene.
        robot: Its name.
        components: Of free space that it gets to.
        opened: Ids of containers that will be open by then.
    """

    tools: BodiesInScene
    robot: str
    components: Components
    opened: Collection[str] = ()

    @property
    def kind(self) -> BodyModel:
        """What is worked out for its kind of body."""
        return self.tools.kind(self.robot)

    @property
    def plan(self) -> FloorPlan:
        """Rasters of the scene."""
        return self.tools.plan

    def grips(
        self, box: Box, z: float, floor: int, anywhere: bool = False
    ) -> tuple[list[Grip], Reach]:
        """Return from where its hands reach a box at a height [m]; see `grasp.grips`.

        `anywhere`: also from where it does not get to.
        """
        kind = self.kind
        among = None if anywhere else self.components
        return grips(kind.space, kind.body, box, z, floor, among)


def _structure(scene: SceneGraph) -> tuple[Any, ...]:
    """Return what rasters, ways and sight lines rest on, for comparison."""
    return (
        tuple((f.id, f.elevation) for f in scene.floors.values()),
        tuple((r.id, r.floor, tuple(r.polygon)) for r in scene.rooms.values()),
        tuple(
            (c.id, c.room_a, c.room_b, c.kind, c.position, c.width, c.riser)
            for c in scene.connections.values()
        ),
        tuple((p.id, p.position, p.room) for p in scene.places.values()),
        tuple((a, b, link.width) for a, near in scene.links.items() for b, link in near.items()),
        tuple(
            (t.id, t.box, len(t.receptacles), t.last_seen is None)
            for t in scene.objects.values()
            if t.kind != "item"
        ),
    )
