"""The numbers a robot can trust: reach, sight, ways and whole sub-tasks, for bodies in a scene."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from functools import partial

from coterie_core.geometry import Vec3
from coterie_core.tasks import BY_HAND, Obstacle, SubTask
from coterie_execution.geometry.bodies import Asked, BodiesInScene
from coterie_execution.geometry.estimates import estimate_for
from coterie_execution.geometry.path_cost import UNCERTAIN_PATH_PENALTY_S
from coterie_execution.geometry.results import Estimate, Path

_UNCERTAIN = "whether it gets past furniture that was seen only, trying tells"
_FROM_ELSEWHERE = (
    Obstacle.NO_PATH, Obstacle.TOO_FAR_IN, Obstacle.OCCLUDED, Obstacle.OUT_OF_VIEW,
)  # fmt: skip
"""What may be otherwise from a spot that the robot did not count on getting to."""


class Toolbox(BodiesInScene):
    """Typed answers about robots in a scene."""

    def path(self, robot: str, start: Vec3, goal: Vec3) -> Path:
        """Return the way of a robot between two points [m]; it stands as near to them as it fits.

        Raises:
            UnknownRobot: No resume of that robot.
        """
        way = partial(self._path, robot, start, goal)
        return self.kind(robot).kept(("path", start, goal), way)

    def way(self, robot: str, start: Vec3, goal: Vec3) -> tuple[Vec3, ...]:
        """Return the way of a robot between two points [m] as points, both of them included.

        Where the tools know none it is the straight line.

        Raises:
            UnknownRobot: No resume of that robot.
        """
        kind = self.kind(robot)
        a, b = (kind.space.stand(point) or point for point in (start, goal))
        return (start, *kind.ways.points(a, b)[1:-1], goal)

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
        if not there.feasible or start is None or there.spot is None:
            return there
        way = self.path(robot, start, there.spot)
        if not way.feasible:
            return Estimate(way.obstacle, way.reason, target=there.target)
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
        components, space = self.components_of(robot, start), self.kind(robot).space
        there = estimate_for(Asked(self, robot, components, opened), sub_task, holding)
        if there.feasible or there.obstacle not in _FROM_ELSEWHERE:
            return there
        # Ways past seen furniture count their doubt themselves; spots in its boxes do not.
        doubtful = [(self, space.ignoring_observed_obstacles(components), 0.0)]
        if self.plan.rough and sub_task.kind in BY_HAND:
            doubtful.append(
                (
                    bare := self.without_seen(),
                    bare.components_of(robot, start),
                    UNCERTAIN_PATH_PENALTY_S,
                )
            )
        for tools, more, late in doubtful:
            tried = estimate_for(Asked(tools, robot, more, opened), sub_task, holding)
            if tried.feasible:
                words = f"{tried.reason}; {_UNCERTAIN}"
                time, work = tried.time + late, tried.work + late
                return replace(tried, reason=words, time=time, work=work)
        if there.obstacle is not Obstacle.NO_PATH or there.spot is None:
            return there
        if start is not None:
            there = replace(there, reason=f"no way there: {space.why_not(start, there.spot)}")
        return replace(there, spot=None)

    def _path(self, robot: str, start: Vec3, goal: Vec3) -> Path:
        kind = self.kind(robot)
        space = kind.space
        a, b = space.stand(start), space.stand(goal)
        if None in (a, b) and self.plan.rough:
            way = self.without_seen().path(robot, start, goal)
            if way.feasible:
                return replace(
                    way,
                    reason=f"{way.reason}; {_UNCERTAIN}",
                    time=way.time + UNCERTAIN_PATH_PENALTY_S,
                )
        for spot, wanted in ((a, start), (b, goal)):
            if spot is None:
                return Path(
                    Obstacle.NO_PATH,
                    f"there is no spot for a body of radius {kind.body.frame.radius:.2f} m within "
                    f"1.2 m of ({wanted[0]:.2f}, {wanted[1]:.2f}, {wanted[2]:.2f})",
                )
        assert a is not None and b is not None
        if kind.body.frame.kind == "fixed" and math.dist(a, b) > 0.1:
            return Path(Obstacle.NO_PATH, "it is fixed to its place")
        own, there = frozenset({space.component_at(a)}), space.component_at(b)
        doubt = ""
        if there not in own:
            near = space.stand(goal, components=own)
            if near is not None:
                b = near
            elif there in space.ignoring_observed_obstacles(own):
                doubt = f"; {_UNCERTAIN}"
            else:
                return Path(Obstacle.NO_PATH, space.why_not(a, b))
        length, rooms = kind.ways.length(a, b)
        if not math.isfinite(length):
            return Path(Obstacle.NO_PATH, space.why_not(a, b))
        time = kind.ways.time(length) + (UNCERTAIN_PATH_PENALTY_S if doubt else 0.0)
        words = f"{length:.1f} m in {time:.0f} s through {len(rooms)} rooms{doubt}"
        return Path(None, words, None, length, time, rooms)
