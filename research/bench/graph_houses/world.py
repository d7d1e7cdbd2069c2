"""GraphWorld: robots that hop between the viewpoints of a topological house."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import networkx as nx

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose, Vec3, distance, wrap_angle
from coterie_core.observation import Observation, RoomView
from coterie_core.skills import (
    Detect,
    LookAround,
    NavigateTo,
    Outcome,
    Skill,
    SkillRefused,
    SkillResult,
    Wait,
)
from coterie_safety.guard import Guard
from coterie_world.scene import AgentState, SceneGraph
from habitat_bridge.simulator import (
    Capabilities,
    Frame,
    FrameRequest,
    RobotState,
    Start,
    WorldError,
)
from research.bench.graph_houses.files import load_house
from research.bench.graph_houses.model import DetectorNoise, GraphHouse, LoadReport
from research.bench.graph_houses.perception import Perception, direction, keyed_random
from research.bench.graph_houses.rooms import room_id
from research.bench.graph_houses.truth import riser_of, scene_of

WALKER = Embodiment(name="walker", mobility="legs", step_height=0.3, linear_speed=1.0)
"""A body to which every way of a house is open, as for the agents of the MELE paper."""

_DETECT_TIME = 0.5  # [s]
_EPSILON = 1e-9
_ANYWHERE = Start()


def load_graph_world(
    directory: str | Path, scan: str, *, seed: int = 0, noise: DetectorNoise | None = None
) -> GraphWorld:
    """Load a topological house and return the world of it.

    Args:
        directory: Holds `connectivity/`, `objects/` and `rooms.json`.
        scan: Name of the house, one of `list_scans(directory)`.
        seed: For start places and detector noise.
        noise: How the detector errs; None: it reports exactly what the files list.

    Raises:
        WorldError: The house cannot be read; names the file.
    """
    return GraphWorld(load_house(directory, scan), seed=seed, noise=noise)


@dataclass(slots=True)
class _Robot:
    embodiment: Embodiment
    graph: nx.Graph  # the ways this body can take
    place: str
    yaw: float = 0.0
    travelled: float = 0.0
    looks: int = 0
    skill: Skill | None = None
    route: list[str] = field(default_factory=list)  # places still ahead
    along: float = 0.0  # [m] walked from `place` toward route[0]
    left: float = 0.0  # [s] until a skill without a way ends
    elapsed: float = 0.0
    walked: float = 0.0
    ended: SkillResult | None = None


class GraphWorld:
    """Robots in a topological house; implements `Simulator` without pixels and manipulation.

    A robot stands on a viewpoint or on the straight way between two. It perceives what the files
    list for the viewpoint, with the viewpoint's room. A neighbour's room is told where the
    neighbour is in view (`visible` in the files): one can tell the kind of room one looks into.
    """

    def __init__(
        self, house: GraphHouse, *, seed: int = 0, noise: DetectorNoise | None = None
    ) -> None:
        self.name = house.scan
        self.seed = seed
        self.house = house
        self._robots: dict[str, _Robot] = {}
        self._time = 0.0
        self._steps = 0
        self._truth = scene_of(house)
        self._rooms: dict[str, RoomView] = {}
        for view in house.viewpoints.values():
            if view.room is not None:
                room = self._truth.rooms[room_id(view.room)]
                self._rooms[view.room] = RoomView(room.id, room.name, room.type)
        self._perception = Perception(house, self._rooms, noise or DetectorNoise(), seed)

    @property
    def report(self) -> LoadReport:
        """What was read from the files and what was wrong with them."""
        return self.house.report

    @property
    def capabilities(self) -> Capabilities:
        """No pixels, no continuous motion, no manipulation."""
        return Capabilities(pixels=False, continuous=False, manipulation=False)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._time

    def begin_at(self, time: float) -> None:
        """Let time begin later than 0 [s]; before the first tick."""
        self._time = time

    @property
    def steps(self) -> int:
        """Number of ticks so far."""
        return self._steps

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the robots, in the order they were added."""
        return tuple(self._robots)

    def add_robot(self, name: str, embodiment: Embodiment, start: Start = _ANYWHERE) -> RobotState:
        """Put a robot on a viewpoint; without a start, on a free one of the largest part.

        Raises:
            WorldError: The name is taken, or there is no such place or room.
        """
        if name in self._robots:
            raise WorldError(f"robot {name!r} is in the world already; choose another name")
        usable = self._usable(embodiment)
        self._robots[name] = _Robot(embodiment, usable, self._start(name, start, usable))
        return self.state(name)

    def remove_robot(self, name: str) -> None:
        """Take a robot out of the world."""
        self._robot(name)
        del self._robots[name]

    def state(self, robot: str) -> RobotState:
        """Return a robot's true state."""
        body = self._robot(robot)
        remaining = self._remaining(body)
        place = self._nearest(body)
        view = self.house.viewpoints[place]
        moving = bool(body.route)
        done = body.walked / (body.walked + remaining) if moving else 0.0
        pose = self._pose(body)
        speed = body.embodiment.linear_speed if moving else 0.0
        return RobotState(
            robot,
            pose,
            linear=(speed * math.cos(pose.yaw), speed * math.sin(pose.yaw), 0.0),
            place=place,
            room=room_id(view.room) if view.room is not None else "",
            travelled=body.travelled,
            busy=type(body.skill).__name__ if body.skill is not None else "",
            progress=done,
            remaining=remaining,
        )

    def start_skill(self, robot: str, skill: Skill) -> None:
        """Begin to go to a place, look, or wait.

        A robot goes the shortest way along viewpoints; a target position means the nearest one.

        Raises:
            SkillRefused: Unknown place, no way for this body, or a skill this world does not have.
        """
        body = self._robot(robot)
        if isinstance(skill, NavigateTo):
            route = self._route(body, skill)
        elif isinstance(skill, (LookAround, Detect, Wait)):
            route = []
        else:
            raise SkillRefused(
                Outcome.UNSUPPORTED,
                f"{type(skill).__name__} is not possible in a topological house: it knows "
                "NavigateTo, LookAround, Detect and Wait",
            )
        if body.skill is not None:
            self._end(body, SkillResult(Outcome.CANCELLED, "another skill was started"))
        body.skill, body.route, body.elapsed, body.walked, body.ended = skill, route, 0.0, 0.0, None
        if isinstance(skill, LookAround):
            body.left = math.tau / body.embodiment.angular_speed
        elif isinstance(skill, Wait):
            body.left = max(0.0, skill.duration)
        else:
            body.left = _DETECT_TIME if isinstance(skill, Detect) else 0.0

    def cancel_skill(self, robot: str) -> None:
        """Stop the running skill; a robot under way goes to the nearer end of its hop."""
        body = self._robot(robot)
        if body.skill is not None:
            self._end(body, SkillResult(Outcome.CANCELLED, "cancelled", body.elapsed, body.walked))

    def path(self, robot: str) -> tuple[Vec3, ...]:
        """Return the path [m] that the running skill is going to take; empty: it takes none."""
        body = self._robot(robot)
        ahead = tuple(self.house.viewpoints[place].position for place in body.route)
        return (self._pose(body).position, *ahead) if ahead else ()

    def fence(self, robot: str, guard: Guard) -> None:
        """Nothing to do: nobody makes way on a graph, and nobody is driven."""

    def halt(self, robot: str, halted: bool) -> None:
        """Hold a robot where it stands: robots of this world move in skills only."""
        if halted:
            self.cancel_skill(robot)

    def tick(self, dt: float) -> dict[str, SkillResult]:
        """Advance by `dt` [s]; return the results of skills that ended."""
        if not (dt > 0.0 and math.isfinite(dt)):
            raise WorldError(f"tick(dt) needs a positive time [s], got {dt!r}")
        self._time += dt
        self._steps += 1
        results: dict[str, SkillResult] = {}
        for name, body in self._robots.items():
            if body.ended is None and body.skill is not None:
                self._advance(name, body, dt)
            if body.ended is not None:
                results[name], body.ended = body.ended, None
        return results

    def observe(self, robot: str) -> Observation:
        """Return what the robot perceives at the viewpoint nearest to it."""
        body = self._robot(robot)
        body.looks += 1
        return self._perception.observe(
            robot,
            self._nearest(body),
            body.looks,
            body.graph,
            step=self._steps,
            time=self._time,
            pose=self._pose(body),
        )

    def survey(self, noisy: bool = True) -> list[Observation]:
        """Return one observation from every viewpoint: all that the detector can see of the house.

        For question banks made "from what a detector saw", as the MELE paper makes them; never
        for a robot. Without `noisy` the detector does not err.
        """
        senses = self._perception
        if not noisy:
            senses = Perception(self.house, self._rooms, DetectorNoise(), self.seed)
        graph = self.house.graph
        return [
            senses.observe("survey", name, 1, graph, step=0, time=0.0, pose=Pose(view.position))
            for name, view in self.house.viewpoints.items()
        ]

    def render(self, requests: Sequence[FrameRequest]) -> list[Frame]:
        """Raise: a topological house has no pixels."""
        raise WorldError(f"the topological house {self.name} has no images; use object detections")

    def truth(self) -> SceneGraph:
        """Return the whole truth; do not change it."""
        self._truth.agents = {}
        for name, body in self._robots.items():
            state = self.state(name)
            self._truth.agents[name] = AgentState(name, self._pose(body), state.room)
        return self._truth

    def close(self) -> None:
        """Release nothing: the world holds only memory."""

    def _robot(self, name: str) -> _Robot:
        if name not in self._robots:
            raise WorldError(
                f"no robot named {name!r}; robots here: {', '.join(self._robots) or 'none'}"
            )
        return self._robots[name]

    def _usable(self, embodiment: Embodiment) -> nx.Graph:
        """Return the graph of the ways whose risers this body can take."""
        flies = embodiment.mobility == "air"
        views = self.house.viewpoints
        graph = nx.Graph()
        graph.add_nodes_from(self.house.graph)
        graph.add_edges_from(
            (a, b, data)
            for a, b, data in self.house.graph.edges(data=True)
            if flies or riser_of(views[a].position, views[b].position) <= embodiment.step_height
        )
        return graph

    def _start(self, name: str, start: Start, usable: nx.Graph) -> str:
        views = self.house.viewpoints
        if start.place is not None:
            if start.place not in views:
                raise WorldError(f"{self.name} has no place {start.place!r} to start from")
            return start.place
        if start.pose is not None:
            return self._closest(start.pose.position)
        parts = [set(part) for part in nx.connected_components(usable)]
        wanted = min((sorted(part) for part in parts), key=_largest_first)
        if start.room is not None:
            key = start.room.strip().lower()
            wanted = sorted(v.id for v in views.values() if v.room is not None and v.room == key)
            wanted = wanted or sorted(
                v.id for v in views.values() if v.room is not None and room_id(v.room) == key
            )
            if not wanted:
                known = ", ".join(sorted(self._rooms)) or "none"
                raise WorldError(f"{self.name} has no room {start.room!r}; rooms here: {known}")
        taken = {body.place for body in self._robots.values()}
        free = [place for place in wanted if place not in taken] or wanted
        return free[int(keyed_random(self.seed, name, "start").integers(len(free)))]

    def _closest(self, position: Vec3) -> str:
        views = self.house.viewpoints
        return min(views, key=lambda name: (distance(views[name].position, position), name))

    def _route(self, body: _Robot, skill: NavigateTo) -> list[str]:
        if not skill.place and skill.position is None:
            raise SkillRefused(
                Outcome.UNKNOWN_TARGET, "NavigateTo names neither place nor position"
            )
        goal = skill.place or self._closest(skill.position or (0.0, 0.0, 0.0))
        if not skill.place and skill.position is not None:
            off = math.dist(skill.position[:2], self.house.viewpoints[goal].position[:2])
            if off > skill.tolerance:
                raise SkillRefused(
                    Outcome.UNREACHABLE,
                    f"the place nearest to that position is {goal}, {off:.2f} m off, tolerated are "
                    f"{skill.tolerance:g} m; in this world robots stand at places only",
                )
        if goal not in body.graph:
            raise SkillRefused(Outcome.UNKNOWN_TARGET, f"there is no place {goal!r} in {self.name}")
        here = self._nearest(body)
        try:
            route: list[str] = nx.shortest_path(body.graph, here, goal, weight="length")
        except nx.NetworkXNoPath:
            raise SkillRefused(
                Outcome.UNREACHABLE,
                f"no way for {body.embodiment.name} from {here} to {goal}; choose a place "
                "that is linked to this one",
            ) from None
        return route[1:]

    def _remaining(self, body: _Robot) -> float:
        stops = [body.place, *body.route]
        hops = itertools.pairwise(stops)
        ahead = sum(float(body.graph[a][b]["length"]) for a, b in hops)
        return max(0.0, ahead - body.along)

    def _nearest(self, body: _Robot) -> str:
        if body.route and body.along > body.graph[body.place][body.route[0]]["length"] / 2.0:
            return body.route[0]
        return body.place

    def _settle(self, body: _Robot) -> None:
        """Let a robot that stopped under way go on, or back, to the nearer end of its hop."""
        place = self._nearest(body)
        if body.route:
            length = body.graph[body.place][body.route[0]]["length"]
            body.travelled += body.along if place == body.place else length - body.along
        body.place = place
        body.route, body.along = [], 0.0

    def _end(self, body: _Robot, result: SkillResult) -> None:
        self._settle(body)
        body.skill, body.ended = None, result

    def _pose(self, body: _Robot) -> Pose:
        here = self.house.viewpoints[body.place].position
        if not body.route:
            return Pose(here, body.yaw)
        there = self.house.viewpoints[body.route[0]].position
        t = body.along / body.graph[body.place][body.route[0]]["length"]
        point = tuple(p + t * (q - p) for p, q in zip(here, there, strict=True))
        return Pose((point[0], point[1], point[2]), direction(here, there))

    def _advance(self, name: str, body: _Robot, dt: float) -> None:
        """Let a skill run for `dt` [s]."""
        skill, budget = body.skill, dt
        if isinstance(skill, NavigateTo):
            speed = body.embodiment.linear_speed
            while body.route and budget > _EPSILON:
                length = body.graph[body.place][body.route[0]]["length"]
                step = min(budget * speed, length - body.along)
                body.along += step
                body.walked += step
                body.travelled += step
                budget -= step / speed
                if body.along >= length - _EPSILON:
                    here = self.house.viewpoints[body.place].position
                    body.place = body.route.pop(0)
                    body.yaw = direction(here, self.house.viewpoints[body.place].position)
                    body.along = 0.0
            body.elapsed += dt - budget
            if body.route:
                return
            if skill.yaw is not None:
                body.yaw = wrap_angle(skill.yaw)
            self._end(body, SkillResult(Outcome.SUCCEEDED, "", body.elapsed, body.walked))
            return
        body.elapsed += min(dt, body.left)
        body.left -= dt
        if body.left > _EPSILON:
            return
        if isinstance(skill, Detect) and skill.label:
            if all(thing.label != skill.label for thing in self.observe(name).detections):
                reason = f"no {skill.label!r} in view from {body.place}"
                self._end(body, SkillResult(Outcome.NOT_VISIBLE, reason, body.elapsed))
                return
        self._end(body, SkillResult(Outcome.SUCCEEDED, "", body.elapsed))


def _largest_first(part: list[str]) -> tuple[int, str]:
    return (-len(part), part[0])
