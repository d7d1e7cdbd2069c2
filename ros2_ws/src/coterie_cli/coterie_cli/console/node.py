"""The console's node: hears what a team publishes, passes on what people on the page command."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rclpy.context import Context
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool

from coterie_bringup.kept_runs import KeptRun
from coterie_bringup.team_client import Operator
from coterie_cli.console.desk import HandOvers, MapCorrections, PermitPanel
from coterie_cli.console.explaining import Explaining
from coterie_cli.console.pictures import Cameras, Pictures
from coterie_cli.console.requests import Requests
from coterie_console.team.page import ConsolePage, Refused, Said, Tab
from coterie_console.team.records import ENDED, Task
from coterie_console.team.state import ConsoleState
from coterie_core.geometry import Pose, compose, quaternion_to_yaw
from coterie_msgs.msg import Assignment, DiscussionTurn, SemanticMap
from coterie_msgs.msg import Observation as ObservationMsg
from coterie_ros import conversions
from coterie_ros.clients import NoAnswer, ServiceClient
from coterie_ros.conversions.tasks import assignment_from_msg
from coterie_ros.fencing import FENCES
from coterie_ros.parameters import Parameters
from coterie_ros.reports import hear_reports
from coterie_ros.safe_publisher import SafePublisher
from coterie_ros.stopping import RELEASED_BY, STOP, STOPPED
from coterie_safety.guard import Fences
from coterie_safety.ledger_tail import LedgerTail
from coterie_safety.permits.entries import nobody_asked
from coterie_safety.stop import keep_stop, latch_file, one_line
from coterie_safety.why.words import entry_words
from tf2_msgs.msg import TFMessage

if TYPE_CHECKING:
    from coterie_console.team.space import SpacePage

_LOOK = 1.0
"""How often robots, cameras and programs of the team are looked for [s]."""
_RATE = 10.0
"""How many poses of a robot are read a second [1/s]."""
_REPEAT, _STANDS = 0.05, 5.0
"""A stop is told again so often, and for so long, until the robots say that they stand [s]."""
_RELEASED = 5.0
_EXPLAINED = ("refusal", "result")
"""Entries of the log that the page can tell why of."""


class ConsoleNode(Operator):
    """Fills a `ConsoleState` and carries out the page's commands, all in its own loop.

    Args:
        state: What is known of the team.
        key_file: Key that answers to requests for permits are signed with.
        stops: Folder of the robots' stop latches; None: they run elsewhere.
        log: Folder of the team's log; None: it is kept elsewhere.
        run: What is kept of the team's decisions; None: it is kept elsewhere.
        namespace: The team's namespace.
        runs: Tells whether the team's processes run, as far as that is known here.
        context: rclpy context.
    """

    def __init__(
        self,
        state: ConsoleState,
        *,
        key_file: Path,
        stops: Path | None = None,
        log: Path | None = None,
        run: KeptRun | None = None,
        namespace: str = "",
        runs: Callable[[], bool] = lambda: True,
        context: Context | None = None,
    ) -> None:
        self.state, self._key_file, self._latches = state, key_file, stops
        self._runs = runs
        self._tail = LedgerTail(log) if log is not None else None
        self.explaining = Explaining(run, state.in_words)
        self._space: SpacePage | None = None
        self._opening = asyncio.Lock()
        self._odom_frames: dict[str, Pose] = {}
        self._stop_one: dict[str, SafePublisher] = {}
        self._release_one: dict[str, ServiceClient] = {}
        self._name_one: dict[str, SafePublisher] = {}
        self._stands: dict[str, asyncio.Event] = {}
        super().__init__(list(state.robots), namespace=namespace, context=context)

    def on_setup(self, parameters: Parameters) -> None:
        """Make publishers and clients."""
        super().on_setup(parameters)
        self.requests = Requests(self, self.state, lambda: self.page.operators)
        self.hand_overs = HandOvers(self, self.state)
        self.cameras = Cameras(self, self.state, lambda: self.page.tabs)
        self._stop_all = self.publisher(String, STOP, "messages")

    def on_start(self) -> None:
        """Listen to the team."""
        space = self.get_namespace().rstrip("/")
        self.corrections = MapCorrections(self, self.state)
        self.pictures = Pictures(self, self.state)
        self.panel = PermitPanel(self, self.state, self._key_file)
        for robot in self.robots:
            self._watch(robot)
        self.subscribe(
            SemanticMap,
            "semantic_map",
            "latched",
            self.state.know,
            convert=conversions.scene_from_msg,
        )
        self.subscribe(
            Assignment,
            "assignment",
            "latched",
            lambda told: self.state.sub_tasks(told[2], told[0]),
            convert=assignment_from_msg,
        )
        self.subscribe(
            DiscussionTurn,
            "discussion",
            "messages",
            self.requests.on_turn,
            convert=conversions.checked_turn,
        )
        self.subscribe(DiagnosticArray, "/diagnostics", "diagnostics", self._on_diagnostics)
        for topic, qos in ((f"{space}/tf", "tf"), (f"{space}/tf_static", "tf_static")):
            rate = 20.0 if qos == "tf" else None
            self.subscribe(
                TFMessage,
                topic,
                qos,
                self._on_transforms,
                convert=partial(conversions.transforms_from_msg, topic=topic),
                rate=rate,
                sampled=True,
            )
        self.every(_LOOK, self._look, "the team")

    def commands(self) -> dict[str, Any]:
        """Return what an operator's page may ask for."""
        return {
            "stop": self._stop,
            "release": self._release,
            "permit": lambda said, tab: self.panel.answer(said, tab),
            "revoke": lambda said, tab: self.panel.revoke(said, tab),
            "hand_over": self.hand_overs.hand_over,
            "space": self._show_space,
            "correct": lambda said, tab: self.corrections.correct(said, tab),
            "undo": lambda said, tab: self.corrections.undo(said, tab),
            **self.requests.commands(),
        }

    # -- robots --------------------------------------------------------------------------------

    def _watch(self, robot: str) -> None:
        """Listen to a robot; for the executor's thread, or `on_start`."""
        if robot in self._stop_one or self.state.robot(robot) is None:
            return
        self._stop_one[robot] = self.publisher(String, f"{robot}/{STOP}", "messages")
        self._release_one[robot] = ServiceClient(self, SetBool, f"{robot}/{STOP}")
        self._name_one[robot] = self.publisher(String, f"{robot}/{RELEASED_BY}", "messages")
        self._stands[robot] = asyncio.Event()
        self.subscribe(Bool, f"{robot}/{STOPPED}", "latched", partial(self._on_stopped, robot))
        self.subscribe(
            Odometry,
            f"{robot}/odom",
            "odometry",
            partial(self._on_odometry, robot),
            convert=partial(conversions.odometry_from_msg, topic=f"{robot}/odom"),
            rate=_RATE,
            sampled=True,
        )
        self.subscribe(
            ObservationMsg,
            f"{robot}/observation",
            "observations",
            partial(self._on_place, robot),
            convert=lambda message: (conversions.pose_from_msg(message.pose), message.room.name),
        )
        self.subscribe(
            String,
            f"{robot}/robot_description",
            "latched",
            lambda told: self.state.described(robot, told.data),
        )
        hear_reports(self, [robot], lambda report: self.state.report(robot, report))
        self.subscribe(
            String,
            f"{robot}/{FENCES}",
            "latched",
            partial(self.state.fenced, robot),
            convert=lambda message: Fences.from_json(str(message.data), f"{robot}/{FENCES}"),
        )
        self.panel.permits.watch(robot)

    async def _look(self) -> None:
        """Look for robots and for who can be asked what; read what the log has new."""
        own = re.escape(self.get_namespace().rstrip("/"))
        pattern = re.compile(own + rf"/(\w+)/{STOPPED}")
        topics = await self.in_executor(self.get_topic_names_and_types)
        for name, _ in topics:
            if (found := pattern.fullmatch(name)) and found[1] not in self._stop_one:
                await self.in_executor(self._watch, found[1])
        space = self.get_namespace().rstrip("/")
        self.cameras.found(await self.in_executor(self.cameras.look, space, topics))
        can = await self.in_executor(self.requests.abilities)
        can["hand_over"] = await self.in_executor(self.hand_overs.there)
        can["map"] = await self.in_executor(self.count_publishers, "semantic_map") > 0
        self.state.abilities(
            can
            | {
                "correct": self.corrections.there,
                "why": self.explaining.there,
                "pictures": self.pictures.there,
                "ended": not self._runs(),
            }
        )
        task = self.state.current_task()
        if task is not None and task.team_id and not (task.own or task.meant or task.looked_up):
            task.looked_up = True
            self.loop.spawn(self._look_up(task), "the words of a task")
        for ended in self.state.to_look_up():
            ended.end_asked += 1
            self.loop.spawn(self._look_up(ended), "how a task ended")
        self.state.tick()
        if self._tail is not None:
            with contextlib.suppress(OSError):
                for entry in self._tail.read():
                    if nobody_asked(entry.kind, entry.body):
                        continue  # almost each goal has one; ./coterie log tells them
                    at = _seconds(entry.at)
                    why = f"#{entry.seq}" if entry.kind in _EXPLAINED else ""
                    body, goal = entry.body, str(entry.body.get("why") or "")
                    what = str(body.get("what") or "") if entry.kind == "goal" else ""
                    rooms, meters = body.get("rooms"), body.get("distance")
                    self.state.moment(
                        entry.kind, entry.robot, what or entry_words(entry), at, why, goal,
                        room=str(rooms[-1]) if isinstance(rooms, list) and rooms else "",
                        ended=str(body.get("outcome") or ""),
                        meters=float(meters) if isinstance(meters, (int, float)) else 0.0,
                    )  # fmt: skip

    async def _look_up(self, task: Task) -> None:
        """Give a task of somebody elsewhere the words of that person, and how it ended."""
        words, outcome, message = await self.explaining.task(task.team_id)
        if words and task is self.state.current_task() and not task.meant:
            self.state.named(words)
        if outcome and task.outcome == ENDED:
            self.state.end_task(task, outcome, message)

    def _on_place(self, robot: str, seen: tuple[Pose, str]) -> None:
        self.state.move(robot, seen[0])
        self.state.place(robot, str(seen[1]))

    def _on_odometry(self, robot: str, told: tuple[Pose, Any, float]) -> None:
        origin = self._odom_frames.get(conversions.odom_frame(robot))
        if origin is not None:
            self.state.move(robot, compose(origin, told[0]))

    def _on_transforms(self, transforms: Sequence[tuple[str, str, Any, Any, float]]) -> None:
        for parent, child, position, rotation, _ in transforms:
            if parent == conversions.MAP and len(self._odom_frames) < 1000:
                self._odom_frames[child] = Pose(position, quaternion_to_yaw(rotation))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        space = self.get_namespace().strip("/")
        for status in message.status:
            name = str(status.name)
            if not space or name.startswith(f"{space}/"):
                level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
                values = {v.key: v.value for v in status.values}
                self.state.diagnosed(name, level, str(status.message), values)

    # -- stops ---------------------------------------------------------------------------------

    def _on_stopped(self, robot: str, message: Bool) -> None:
        stopped = bool(message.data)
        self.state.stopped(robot, stopped, told=self._tail is None)
        if stopped:
            self._stands[robot].set()
        else:
            self._stands[robot].clear()

    def _meant(self, said: Said) -> list[str]:
        names = said.get("robots")
        if names is None:
            return list(self._stop_one)
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            raise Refused("expected a list of robots in 'robots'")
        for name in names:
            if name not in self._stop_one:
                raise Refused(f"no robot {name[:60]!r} is known")
        return names

    async def _stop(self, said: Said, tab: Tab) -> str:
        """Stop robots; tells who does not say in time that it stands."""
        robots = self._meant(said)
        everybody = said.get("robots") is None
        by, reason = one_line(tab.who).replace(": ", " "), one_line(str(said.get("reason", "")))
        message = String(data=f"{by}: {reason}" if reason else by)
        outlets = [self._stop_all] if everybody else [self._stop_one[r] for r in robots]
        end = time.monotonic() + _STANDS
        while True:
            for outlet in outlets:
                outlet.publish(message)
            missing = [robot for robot in robots if not self._stands[robot].is_set()]
            if not missing or time.monotonic() >= end:
                break
            await asyncio.sleep(_REPEAT)
        if missing:
            kept = self._keep_stops(missing, by, reason)
            raise Refused(f"did not say that they stand: {', '.join(missing)}{kept}")
        return f"{', '.join(robots)}: stopped" if robots else "no robot is known; stop was sent"

    def _keep_stops(self, robots: Sequence[str], by: str, reason: str) -> str:
        """Write the latches of robots that do not answer: they obey when they start again."""
        if self._latches is None:
            return ""
        try:
            for robot in robots:
                keep_stop(latch_file(self._latches, robot), by, reason)
        except OSError as error:
            return f"; a latch cannot be written: {error}"
        return "; they stop when their nodes start again"

    async def _release(self, said: Said, tab: Tab) -> str:
        """Let stopped robots go on."""
        robots = [r for r in self._meant(said) if said.get("robots") or self._stands[r].is_set()]

        async def one(robot: str) -> str:
            self._name_one[robot].publish(String(data=one_line(tab.who)))
            try:
                told = await self._release_one[robot].call(
                    SetBool.Request(data=False), timeout=_RELEASED, attempts=1
                )
            except NoAnswer:
                return f"{robot}: did not answer"
            return f"{robot}: {told.message}"

        told = await asyncio.gather(*(one(robot) for robot in robots))
        if any(text.endswith("did not answer") for text in told):
            raise Refused("; ".join(told))
        return "; ".join(told) or "no robot is stopped"

    # -- the page ------------------------------------------------------------------------------

    def looks(self) -> dict[str, Any]:
        """Return what a viewer's page may ask for, too."""
        return {
            "watch": self.cameras.watch,
            "why": self.explaining.why,
            "pictures": lambda said, tab: self.pictures.show(said, tab),
        }

    async def _show_space(self, said: Said, tab: Tab) -> str:
        """Serve the map in 3D, in a page of its own; tells where."""
        if self.page.site.on_network:
            raise Refused("the map in 3D is for this machine alone")
        async with self._opening:  # who clicks twice gets one page
            if self._space is None:
                from coterie_console.team.space import SpacePage  # loads viser

                prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
                folders = [Path(prefix, "share") for prefix in prefixes]
                self._space = await asyncio.to_thread(SpacePage, self.state, folders)
            return self._space.url

    def on_stop(self) -> None:
        """End the page of the map in 3D."""
        space, self._space = self._space, None
        if space is not None:
            space.close()

    async def begin_page(self, page: ConsolePage) -> None:
        """Serve a page in this node's loop.

        Raises:
            PageError: The port cannot be had.
        """
        self.page = page
        await page.start()
        self.every(_LOOK, self._attend, "questions to people")

    async def _attend(self) -> None:
        await self.requests.attend(self.page.operators > 0)

    def pages_changed(self) -> None:
        """Hear that a page was opened or closed."""
        self.loop.spawn(self._attend(), "questions to people")
        self.loop.spawn(self.cameras.update(), "cameras")


def _seconds(at: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(at).timestamp()
