"""The way to whatever team runs: one node, made anew where another team runs than before."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.context import Context

from coterie_bringup.abilities import Ability
from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import RunState, key_file, team_here
from coterie_bringup.spinning import in_loop, spinning
from coterie_bringup.team_client import Operator
from coterie_cli.team_tools.proposals import Proposals
from coterie_cli.team_tools.results import Robot, Status, Waits
from coterie_core.observation import Observation
from coterie_core.tasks import RobotReport
from coterie_core.waiting import in_time
from coterie_ros.clients import GoalRejected, NoAnswer
from coterie_ros.permit_client import PermitClient
from coterie_ros.reports import hear_reports
from coterie_world.scene import SceneGraph

T = TypeVar("T")

SETTLE = 10.0
"""How long a node that is new is given to hear of the team's robots and map [s]."""
_SOON = 0.5
FRESH = 30.0
"""How long a complaint counts after it was heard last [s]."""
MOST_PROBLEMS = 20


class ToolsNode(Operator):
    """Asks the team, hears how it is, and puts proposed tasks to a person.

    Args:
        state: The team.
        proposals: Where proposed tasks are kept; None: nobody may propose any.
        context: Of rclpy.
    """

    def __init__(
        self, state: RunState, proposals: Proposals | None, *, context: Context | None = None
    ) -> None:
        self.reports: dict[str, RobotReport] = {}
        self.seen: dict[str, Observation] = {}
        self.heard: dict[str, float] = {}
        self._problems: dict[str, tuple[float, str]] = {}
        self._proposals = proposals
        self.begun = time.monotonic()
        super().__init__(state.robots, namespace=state.namespace, context=context)

    def on_start(self) -> None:
        """Hear how robots are, and what waits for a permit."""
        super().on_start()
        self.on_observation = self._on_seen
        hear_reports(self, self.robots, self._on_report)
        self.permits = PermitClient(self, self.robots, key_file())
        if self._proposals is not None:
            self._proposals.serve(self)

    def _on_seen(self, observation: Observation) -> None:
        if observation.robot in self.robots:
            self.seen[observation.robot] = observation
            self.heard[observation.robot] = time.monotonic()

    def _on_report(self, report: RobotReport) -> None:
        self.reports[report.robot] = report
        self.heard[report.robot] = time.monotonic()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        super()._on_diagnostics(message)
        now = time.monotonic()
        for status in message.status:
            for robot in set(status.name.split("/")) & set(self.robots):
                self.heard[robot] = now
            if status.level != DiagnosticStatus.OK and len(self._problems) < 1000:
                self._problems[status.name] = now, f"{status.name}: {status.message}"
            else:
                self._problems.pop(status.name, None)

    async def known_map(self) -> SceneGraph | None:
        """Return the team's map; None where none has come and this node is not new."""
        return await self.map(max(SETTLE - (time.monotonic() - self.begun), _SOON))

    async def status(self, state: RunState) -> Status:
        """Return how the team is, once its robots had time to be heard of."""
        while len(self.heard) < len(self.robots) and time.monotonic() - self.begun < SETTLE:
            await asyncio.sleep(0.05)
        scene = await self.map(_SOON)
        now, wall = time.monotonic(), time.time()
        waiting = [
            Waits(id=one.id, who=one.goal.robot, request=one.text, left=max(one.until - wall, 0.0))
            for one in self.permits.waiting.values()
        ]
        fresh = [text for at, text in self._problems.values() if now - at < FRESH]
        return Status(
            team=state.team,
            domain=state.domain,
            namespace=state.namespace,
            robots=[self._robot(name, now, scene) for name in self.robots],
            waiting=waiting,
            rooms=len(scene.rooms) if scene is not None else 0,
            things=len(scene.objects) if scene is not None else 0,
            problems=sorted(fresh)[:MOST_PROBLEMS],
        )

    def _robot(self, name: str, now: float, scene: SceneGraph | None) -> Robot:
        report, seen = self.reports.get(name), self.seen.get(name)
        heard = self.heard.get(name)
        place = report.position if report is not None else None
        room = report.room if report is not None else ""
        if scene is not None and room in scene.rooms:
            room = scene.rooms[room].name
        if place is None and seen is not None:
            place = seen.pose.position
            room = seen.room.name if seen.room is not None else room
        return Robot(
            name=name,
            silent_for=None if heard is None else round(now - heard, 1),
            position=place,
            room=room,
            does=report.skill if report is not None else "",
            task=report.task if report is not None else "",
            holds=report.holding if report is not None else "",
        )


class TeamLink:
    """Speaks to the team that runs, whichever it is at the moment; teams may come and go.

    Args:
        domain: ROS domain of the team; None: that of the team that runs here.
        namespace: Its namespace.
        proposals: Where proposed tasks are kept; None: nobody may propose any.
        team: Its name, or its file; "": the only one.
    """

    def __init__(
        self,
        domain: int | None,
        namespace: str | None,
        proposals: Proposals | None = None,
        *,
        team: str = "",
    ) -> None:
        self._named = (domain, namespace, team)
        self._proposals = proposals
        self._lock = asyncio.Lock()
        self._stack = contextlib.ExitStack()
        self._state: RunState | None = None
        self._node: ToolsNode | None = None

    async def open(self, ability: Ability | None = None) -> tuple[ToolsNode, RunState]:
        """Return a node in the team that runs now, and the team.

        Args:
            ability: What the team will be asked for.

        Raises:
            CommandError: No team runs, or several; or it lacks what that takes; or the node does
                not come up.
        """
        async with self._lock:
            state = team_here(*self._named)
            if ability is not None:
                state.require(ability)
            if self._node is None or state != self._state:
                await asyncio.to_thread(self._stack.close)
                self._node = None
                self._stack = contextlib.ExitStack()
                if self._proposals is not None:
                    self._proposals.of_team(state)
                make = spinning(
                    lambda context: ToolsNode(state, self._proposals, context=context),
                    domain=state.domain,
                    environment=state.environment,
                )
                self._node = await asyncio.to_thread(self._stack.enter_context, make)
                self._state = state
            return self._node, state

    async def ask(self, work: Coroutine[Any, Any, T], node: ToolsNode, timeout: float) -> T:
        """Await what a node does, for a limited time [s].

        Raises:
            CommandError: It takes too long, or nobody answers.
        """
        try:
            return await in_time(in_loop(node, work), timeout)
        except asyncio.TimeoutError:
            raise CommandError(f"no answer within {timeout:g} s") from None
        except (NoAnswer, GoalRejected) as error:
            raise CommandError(str(error)) from None

    async def close(self) -> None:
        """Leave the team."""
        async with self._lock:
            await asyncio.to_thread(self._stack.close)
            self._node = self._state = None
