"""The numbers a robot can trust: reach, sight, ways and whole sub-tasks, for bodies in a scene."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from coterie_core.geometry import Box, Vec3
from coterie_core.resume import Resume
from coterie_core.scene import SceneGraph
from coterie_core.tasks import Obstacle, SubTask
from emos_planner.tools.body import Body, Frame, body_key
from emos_planner.tools.estimates import estimate_for
from emos_planner.tools.floorplan import FloorPlan
from emos_planner.tools.grasp import grips, reach_of
from emos_planner.tools.lines import Sightlines
from emos_planner.tools.look import sights
from emos_planner.tools.results import Estimate, Path, Reach, Sight
from emos_planner.tools.space import Space
from emos_planner.tools.things import Catalog, Meant
from emos_planner.tools.ways import Ways


@dataclass(slots=True)
class Kind:
    """Everything worked out for one kind of body; robots with equal bodies share it."""

    body: Body
    space: Space
    ways: Ways
    answers: dict[Any, Any] = field(default_factory=dict)


class UnknownRobot(KeyError):
    """A tool was asked about a robot that has no resume; names those that have."""

    def __str__(self) -> str:
        """Return the text without the quotes that KeyError puts around it."""
        return str(self.args[0])


class Toolbox:
    """Typed answers about robots in a scene. Neither may change afterwards; answers are kept.

    Args:
        scene: What is known of the house. For another state of the house make another toolbox with
            `with_scene`, which keeps what rests on rooms and furniture if they are the same.
        resumes: Robot -> what its body can do.

    Raises:
        ValueError: The rooms of the scene span no house in metres.
    """

    def __init__(self, scene: SceneGraph, resumes: Mapping[str, Resume]) -> None:
        self.scene = scene
        self.resumes = dict(resumes)
        self.plan = FloorPlan(scene)
        self.lines = Sightlines(scene, self.plan)
        self.catalog = Catalog(scene)
        self._structure = _structure(scene)
        self._kind_of = {robot: body_key(resume) for robot, resume in self.resumes.items()}
        self._kinds: dict[str, Kind] = {}
        self._spaces: dict[Frame, Space] = {}

    def with_scene(self, scene: SceneGraph, resumes: Mapping[str, Resume] | None = None) -> Toolbox:
        """Return a toolbox for another state of the house, or for other robots."""
        robots = dict(self.resumes if resumes is None else resumes)
        if _structure(scene) != self._structure:
            return type(self)(scene, robots)
        out = object.__new__(type(self))
        out.scene, out.resumes = scene, robots
        out.catalog = Catalog(scene)
        out.plan, out._structure = self.plan, self._structure
        out.lines = Sightlines(scene, self.plan, self.lines.walls)
        out._kind_of = {
            robot: self._kind_of[robot] if self.resumes.get(robot) is resume else body_key(resume)
            for robot, resume in robots.items()
        }
        out._kinds = {
            key: Kind(kind.body, kind.space, kind.ways) for key, kind in self._kinds.items()
        }
        out._spaces = self._spaces
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

    def kind(self, robot: str) -> Kind:
        """Return what is worked out for a robot's kind of body.

        Raises:
            UnknownRobot: No resume of that robot.
        """
        key = self.kind_key(robot)
        if key not in self._kinds:
            body = Body(self.resumes[robot])
            if body.frame not in self._spaces:
                self._spaces[body.frame] = Space(self.plan, self.scene, body.frame)
            space = self._spaces[body.frame]
            self._kinds[key] = Kind(body, space, Ways(self.scene, space, body))
        return self._kinds[key]

    def start_of(self, robot: str, start: Vec3 | None = None) -> Vec3 | None:
        """Return where a robot starts [m]: as given, else as the scene has it, else None."""
        agent = self.scene.agents.get(robot)
        return start if start is not None or agent is None else agent.pose.position

    def parts_of(self, robot: str, start: Vec3 | None) -> frozenset[int]:
        """Return the parts of free space that a robot gets to from where it starts."""
        kind = self.kind(robot)
        part = kind.space.part_at(start) if start is not None else -1
        return frozenset({part}) if part >= 0 else kind.space.main

    def reach(
        self, robot: str, point: Vec3, *, radius: float = 0.0, start: Vec3 | None = None
    ) -> Reach:
        """Tell whether the hand gets to a point [m] from a spot where the robot can stand.

        Args:
            robot: Its name.
            point: In the map frame [m].
            radius: Of the thing there [m]: the hand need not go farther than its rim.
            start: Where the robot is [m]; spots that it cannot get to do not count then.

        Raises:
            UnknownRobot: No resume of that robot.
        """
        kind = self.kind(robot)
        parts = None if start is None else self.parts_of(robot, start)
        key = ("reach", point, radius, parts)
        if key not in kind.answers:
            floor = self.plan.floor_index(point[2])
            box = Box(point, (2.0 * radius, 2.0 * radius, 0.0))
            found, trouble = grips(kind.space, kind.body, box, point[2], floor, parts)
            kind.answers[key] = (
                reach_of(found[0], 0, self.plan.elevation(floor), "the point") if found else trouble
            )
        out: Reach = kind.answers[key]
        return out

    def sight(self, robot: str, box: Box | Vec3, *, start: Vec3 | None = None) -> Sight:
        """Tell whether a camera gets a thing into view from a spot where the robot can stand.

        Args:
            robot: Its name.
            box: The thing [m, map frame], or a point.
            start: Where the robot is [m]; spots that it cannot get to do not count then.

        Raises:
            UnknownRobot: No resume of that robot.
        """
        if not isinstance(box, Box):
            box = Box(box, (0.0, 0.0, 0.0))
        return self.view(
            robot, Meant("", box), None if start is None else self.parts_of(robot, start)
        )

    def view(self, robot: str, meant: Meant, parts: frozenset[int] | None) -> Sight:
        """As `sight`, for a thing of the scene and spots in parts of free space (None: all)."""
        kind = self.kind(robot)
        key = ("sight", meant.key, parts)
        if key not in kind.answers:
            kind.answers[key] = sights(
                kind.space,
                self.lines,
                kind.body,
                meant.box,
                self.plan.floor_index(meant.box.bottom),
                parts,
                self.catalog.around(meant),
                meant.id,
            )
        out: Sight = kind.answers[key]
        return out

    def path(self, robot: str, start: Vec3, goal: Vec3) -> Path:
        """Return the way of a robot between two points [m]; it stands as near to them as it fits.

        Raises:
            UnknownRobot: No resume of that robot.
        """
        kind = self.kind(robot)
        key = ("path", start, goal)
        if key not in kind.answers:
            kind.answers[key] = self._path(kind, start, goal)
        out: Path = kind.answers[key]
        return out

    def estimate(
        self,
        robot: str,
        sub_task: SubTask,
        start: Vec3 | None = None,
        *,
        holding: str | None = None,
        opened: Collection[str] = (),
    ) -> Estimate:
        """Tell whether a robot can do a sub-task, and how long it takes.

        Args:
            robot: Its name.
            sub_task: What to do.
            start: Where the robot is [m]; None: where the scene has it, else anywhere.
            holding: Id of the thing in its hand, "" for none; None: as the scene has it.
            opened: Ids of containers that will be open by then.

        Raises:
            UnknownRobot: No resume of that robot.
        """
        start = self.start_of(robot, start)
        there = self.estimate_work(robot, sub_task, start, holding=holding, opened=opened)
        if not there.feasible:
            return there
        if start is None or there.spot is None:
            return there
        way = self.path(robot, start, there.spot)
        if not way.feasible:
            return Estimate(False, way.obstacle, way.reason, target=there.target, thing=there.thing)
        time = there.time + way.time
        return replace(
            there,
            time=time,
            distance=there.distance + way.length,
            reason=f"{there.reason}; {way.length:.1f} m to go, {time:.0f} s in all",
        )

    def estimate_work(
        self,
        robot: str,
        sub_task: SubTask,
        start: Vec3 | None,
        *,
        holding: str | None = None,
        opened: Collection[str] = (),
    ) -> Estimate:
        """As `estimate`, without length and time of the way to the spot; `start` as it is given."""
        if holding is None:
            agent = self.scene.agents.get(robot)
            holding = agent.holding if agent is not None else ""
        there = estimate_for(self, robot, sub_task, self.parts_of(robot, start), holding, opened)
        if there.feasible or there.obstacle is not Obstacle.NO_PATH or there.spot is None:
            return there
        if start is not None:
            why = self.kind(robot).space.why_not(start, there.spot)
            there = replace(there, reason=f"no way there: {why}")
        return replace(there, spot=None)

    def _path(self, kind: Kind, start: Vec3, goal: Vec3) -> Path:
        space = kind.space
        a, b = space.stand(start), space.stand(goal)
        for spot, wanted in ((a, start), (b, goal)):
            if spot is None:
                return Path(
                    False,
                    Obstacle.NO_PATH,
                    f"there is no spot for a body of radius {kind.body.frame.radius:.2f} m within "
                    f"1.2 m of ({wanted[0]:.2f}, {wanted[1]:.2f}, {wanted[2]:.2f})",
                )
        assert a is not None and b is not None
        if kind.body.frame.kind == "fixed" and math.dist(a, b) > 0.1:
            return Path(False, Obstacle.NO_PATH, "it is fixed to its place")
        here, there = space.part_at(a), space.part_at(b)
        if here != there:
            near = space.stand(goal, parts=frozenset({here}))
            if near is None:
                return Path(False, Obstacle.NO_PATH, space.why_not(a, b))
            b = near
        length, rooms = kind.ways.length(a, b)
        if not math.isfinite(length):
            return Path(False, Obstacle.NO_PATH, space.why_not(a, b))
        time = kind.ways.time(length)
        return Path(
            True, None, f"{length:.1f} m in {time:.0f} s through {len(rooms)} rooms", length, time,
            rooms,
        )  # fmt: skip


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
        sum(len(links) for links in scene.links.values()),
        tuple(
            (t.id, t.box, len(t.receptacles)) for t in scene.objects.values() if t.kind != "item"
        ),
    )
