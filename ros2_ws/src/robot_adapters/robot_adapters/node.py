"""The adapter node: puts one real robot on Coterie's topics and actions."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sensor_msgs.msg import BatteryState
from std_srvs.srv import Trigger

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose, Vec3
from coterie_core.skill_registry import DOCK
from coterie_core.skills import (
    POSITION_TOLERANCE,
    Detect,
    LookAround,
    Outcome,
    Pick,
    Place,
    Skill,
    SkillRefused,
    SkillResult,
    Wait,
)
from coterie_core.skills import NavigateTo as NavigateToSkill
from coterie_llm import Image, ModelProfile, build_decider
from coterie_llm.pictures import encode
from coterie_msgs.action import Manipulate, NavigateTo
from coterie_msgs.msg import SemanticMap
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.fencing import FenceTeller
from coterie_ros.halting import Halt
from coterie_ros.main import ProcessOptions, nodes_of_robots, run_nodes
from coterie_ros.model import node_decider
from coterie_ros.parameters import Parameters
from coterie_ros.permitting import permit_gates, serve_permits
from coterie_ros.robot_publishers import ObservationPublishers
from coterie_ros.serving import GoalContext
from coterie_ros.stopping import STOP, StopServer
from coterie_safety.guard import Guard, RobotLimits
from coterie_safety.permits import RobotPermits
from robot_adapters.backends import backends_of
from robot_adapters.backends.base import Backend, Feedback, Progress, spared
from robot_adapters.battery import Battery
from robot_adapters.docking import Docking
from robot_adapters.halting import halt_of
from robot_adapters.heartbeat import beat
from robot_adapters.job import Jobs
from robot_adapters.outcome_check import CheckOutcome, Outlook, judged, task_of
from robot_adapters.parameters import ADAPTER_PARAMETERS
from robot_adapters.permission import Permission, Permitted
from robot_adapters.sensing.observer import SensingError
from robot_adapters.sensing.rooms import rooms_from_names
from robot_adapters.sensing.storeys import Storeys
from robot_adapters.sensors import Sensors
from robot_adapters.settings import AdapterSettings
from robot_adapters.settings_sensing import SensorSettings
from robot_adapters.standing import Standing
from robot_adapters.team_link import TeamLink
from robot_adapters.ticking import watch_clock

_REPEAT_PERIOD = 1.0
_HOLD_PERIOD = 0.2
_ANSWERED = 0.5
"""How long the servers may take to answer the first way of a halt, before the second goes [s]."""
_SETTLE = 5.0
"""How long the robot's servers may take to answer a halt before the next goal begins [s]."""
_REPEAT_SETTLED = 0.02  # [s]
_OUTDATED = "the robot was stopped after this goal was sent; send it again if it is still wanted"
_PUT_NEAR = 0.25
"""A thing seen so near to where it was put is that thing [m]."""
_MOST_PICTURES, _PICTURE_SIDE = 3, 768
"""Cameras whose images a model is shown after a skill, and their longest side [px]."""
_PICTURE_PATIENCE = 5.0
"""How long a picture taken after a skill is waited for [s]."""
_SLACK = 0.05  # [m] and [rad] that a robot may roll on after its goal checker was content
_NOWHERE = Pose((math.nan, math.nan, math.nan))


class AdapterNode(AgentNode):
    """The adapter of one robot: serves its skills, and publishes what it observes.

    Args:
        name: The node's name.
        **options: Those of AgentNode.
    """

    PARAMETERS = ADAPTER_PARAMETERS

    def __init__(self, name: str = "adapter", **options: Any) -> None:
        super().__init__(name, **options)

    # -- hooks ---------------------------------------------------------------------------------

    def on_setup(self, parameters: Parameters) -> None:
        """Read the settings; offer the robot's actions."""
        self.robot = parameters["robot"] or self.get_namespace().rpartition("/")[2]
        if not self.robot:
            raise ValueError("parameter 'robot': name the robot, or start the node in a namespace")
        self.settings = AdapterSettings.from_parameters(parameters)
        self.limits = RobotLimits.from_json(parameters["limits"], "parameter 'limits'")
        permits = RobotPermits.from_json(parameters["permits"], "parameter 'permits'")
        # Whatever the parameter says: an adapter drives a real robot.
        self._policy = permits.model_copy(update={"real": True})
        body = parameters.json("embodiment") or {"name": self.robot}
        self.body = self.limits.body(Embodiment.model_validate(body))
        charge = self.settings.sensors.battery
        self.battery = Battery(
            self.settings.battery,
            charge,
            self.now,
            # Who names no topic has the usual one, and may have no battery.
            lambda: charge != SensorSettings().battery or self.count_publishers(charge) > 0,
        )
        self._step = 0
        self._trouble, self._blind, self._standing = "", False, Standing()
        self._halts: tuple[Halt, ...] = ()
        self._asked: set[Halt] = set()
        self._halted_at = -math.inf
        self._topics = ObservationPublishers(self, self.robot, self.body, "")
        self.serve_action(NavigateTo, "navigate_to", self._navigate, mark=self._mark)
        self.serve_action(Manipulate, "manipulate", self._manipulate, mark=self._mark)
        self.serve(Trigger, "dock", self._dock)

    def on_start(self) -> None:
        """Connect to the robot's drivers and sensors; say what the robot is."""
        watch_clock(self)
        settings = self.settings
        rooms = rooms_from_names(self.parameters.json("rooms") or [], "parameter 'rooms'")
        floors = Storeys.of(self.robot, self.parameters.json("floors") or {})
        radius, robot, team_map = self.body.radius, self.robot, self.parameters["team_map"]
        self.sensors = Sensors(self, settings, radius, team_map, robot, rooms, floors)
        self._found = self.publisher(SemanticMap, "prior_map", "latched")
        self.guard = Guard(None, {}, self.limits)
        self.link = TeamLink(self)
        self._fences = FenceTeller(self)
        self._fences.tell(self.guard.fences())
        self.gate = permit_gates(self.parameters, {self.robot: self._policy})[self.robot]
        self.permission = Permission(self.gate, self.robot, self.loop.call, self.problem)
        self.jobs = Jobs(
            self.permission,
            settled=self._settled,
            position=self._position,
            strays=self.guard.breaches,
            now=self.now,
            report=self.report_failure,
            lost_after=self.settings.navigation.lost_after,
        )
        serve_permits(self, {self.robot: self.gate}, {self.robot: ""})
        self.sensors.on_map(self._map_changed)
        matters = self.limits.keeps_out or self._policy.by_room
        urdf, folder, where = self.parameters["urdf"], self.parameters["urdf_folder"], self.sensors
        allow = self._check_path
        # Two ways that share no thread and no executor; the second goes where the first fails.
        first = halt_of(self.urgent.node, settings)
        self._sees = self.parameters["model_profile"] != ""
        self._decider = self._ruled = build_decider(ModelProfile(), who=self.robot, timeout_s=1.0)
        if self._sees:
            self._decider = node_decider(self, self.parameters.json("model_profile"), self.robot)
        self.navigation, self.arm = backends_of(
            self, settings, self.body, where, first, urdf, folder, allow, matters)  # fmt: skip
        where.observer.own_arm.arm = self.arm
        self.docking = Docking(
            self.battery,
            settings.navigation.dock,
            self.navigation,
            allow=self._allow_docking,
            permit=lambda: self.permission.get(DOCK, self._position(), self._speed),
            run=self._run,
            problem=self.problem,
            now=self.now,
        )
        self._topics.describe(urdf, with_resume=self.parameters["resume"])
        if self.guard.speed is not None and self.navigation is not None:
            self.navigation.limit_speed(self.guard.speed)
        self.diagnostics.add_source("robot", self._figures)
        self.diagnostics.add_source("sensors", self.sensors.figures)
        both: dict[str, Backend | None] = {"navigation": self.navigation, "arm": self.arm}
        self._backends = {name: one for name, one in both.items() if one is not None}
        for name, backend in self._backends.items():
            self.diagnostics.add_source(name, backend.describe)
        self.every(_REPEAT_PERIOD, self._repeat, "observations")
        kept = self.parameters["stop_directory"]
        self.stops = StopServer(
            self,
            {self.robot: ""},
            f"{self.get_namespace().rpartition('/')[0]}/{STOP}",
            Path(kept) if kept else None,
            self._halt,
            lambda robot: None,
            lambda robot, kind, body: self.gate.note(kind, body),
        )
        self._halts = (first, halt_of(self, settings, listens=False))
        self.at_end(self._halts[1].destroy)
        self._send_halts()  # what is found under way is cancelled
        self.every(_HOLD_PERIOD, self._hold, "hold")
        beat(self, lambda why: self._halt({self.robot: why}))
        if settings.sensors.battery:
            self.subscribe(BatteryState, settings.sensors.battery, "sensor_data", self._on_battery)
        self.every(_REPEAT_PERIOD, lambda: self.docking.tick(self.jobs.busy), "docking")

    def on_halt(self) -> None:
        """Halt the robot: whatever ends, it stands."""
        if self._halts:
            self._halt({self.robot: "the adapter ends"})

    def halt_answered(self) -> bool:
        """Return whether, by one of the two ways, all that may move the robot was cancelled."""
        return not self._halts or any(
            one in self._asked and not one.unanswered for one in self._halts
        )

    def on_stop(self) -> None:
        """Forget the ways to halt: what they are made of is destroyed next."""
        self._halts = ()

    # -- goals, in the loop's thread -----------------------------------------------------------

    async def _navigate(self, goal: GoalContext) -> NavigateTo.Result:
        try:
            skill = conversions.navigate_from_msg(goal.request, f"{self.robot}/navigate_to")
        except conversions.ConversionError as error:
            result, target = SkillResult(Outcome.REFUSED, str(error)), None
        else:
            target = self.guard.places.get(skill.place) if skill.place else skill.position

            def feedback(progress: Progress) -> None:
                goal.feedback(
                    NavigateTo.Feedback(
                        current_pose=conversions.stamped_pose(self._here(), time=self.now()),
                        distance_remaining=float(progress.remaining),
                        progress=float(progress.done),
                    )
                )

            def waits(what: str) -> None:
                goal.feedback(NavigateTo.Feedback(waiting_for=what))

            work = partial(self._drive, skill, target, spared(feedback))
            spot = target if skill.place else None
            result = await self._do(goal, skill, work, spot, waits)
        pose = self._here()
        left = (math.nan, 0.0)
        if target is not None and pose is not _NOWHERE:
            left = skill.left(pose, target)
        known = None if pose is _NOWHERE else pose
        message = conversions.navigate_result_to_msg(result, known, left, time=self.now())
        return goal.end(result.ok, message)

    async def _manipulate(self, goal: GoalContext) -> Manipulate.Result:
        try:
            skill = conversions.manipulate_from_msg(goal.request, f"{self.robot}/manipulate")
        except conversions.ConversionError as error:
            result = SkillResult(Outcome.REFUSED, str(error))
        else:

            def feedback(progress: Progress) -> None:
                goal.feedback(Manipulate.Feedback(progress=float(progress.done)))

            def waits(what: str) -> None:
                goal.feedback(Manipulate.Feedback(waiting_for=what))

            work = partial(self._act, skill, spared(feedback))
            result = await self._do(goal, skill, work, None, waits)
        message = Manipulate.Result(
            result=conversions.skill_result_to_msg(result),
            holding=self.arm.holding if self.arm is not None else "",
        )
        return goal.end(result.ok, message)

    async def _do(
        self,
        goal: GoalContext,
        skill: Skill,
        work: Callable[[], Coroutine[Any, Any, SkillResult]],
        spot: Vec3 | None,
        waits: Callable[[str], object],
    ) -> SkillResult:
        """Do a skill unless it is refused; one that runs is ended. An observation follows."""
        allow = partial(self._refuse, skill, goal.mark)
        try:
            allow()
            permitted = await self.permission.get(
                skill,
                self._position(),
                self._speed,
                spot=spot,
                holding=self.arm.holding if self.arm is not None else "",
                why=conversions.why_from_msg(goal.request),
                waits=waits,
            )
        except SkillRefused as refused:
            if self.active:
                await self._observe(quick=True)
            return refused.result
        return await self._run(type(skill).__name__, work, permitted, allow)

    def _mark(self) -> int:
        return self.stops.mark(self.robot) if self.active else -1

    @property
    def _speed(self) -> float:
        """Highest speed of the robot [m/s]; infinite where its own node decides."""
        limited = self.navigation is None or self.navigation.limits_speed
        return self.body.linear_speed if limited else math.inf

    def _refuse(self, skill: Skill, mark: int) -> None:
        """Let a skill pass.

        Raises:
            SkillRefused: It must not run now.
        """
        self._refuse_for(
            self.stops.refusal(self.robot),
            _OUTDATED if self.stops.outdated(self.robot, mark) else "",
            self.battery.trouble,
            self.link.trouble,
        )
        self.guard.check(skill, self.body)

    async def _settled(self) -> None:
        """Wait until no halt of before is under way, which would end what begins now.

        Raises:
            SkillRefused: A server does not say that it has ended what was cancelled.
        """
        end = time.monotonic() + _SETTLE
        for one in self._halts:
            if one.unanswered:
                one.remind()
        while open_ := {name for one in self._halts for name in one.unanswered}:
            if time.monotonic() > end:
                raise SkillRefused(
                    Outcome.FAULT,
                    f"{', '.join(sorted(open_))}: no answer to a cancel within {_SETTLE:g} s; what "
                    "was halted before may still move: look at the robot's drivers",
                )
            await asyncio.sleep(_REPEAT_SETTLED)
        for one in self._halts:
            one.forget()

    def _allow_docking(self) -> None:
        self._refuse_for(self.stops.refusal(self.robot), self.link.trouble)
        self.guard.check_docking(self.body)

    @staticmethod
    def _refuse_for(*troubles: str) -> None:
        for why in filter(None, troubles):
            raise SkillRefused(Outcome.REFUSED, why)

    def _check_path(self, points: Sequence[Vec3], goal: Vec3 | None = None) -> None:
        here = self._position()
        self._refuse_for(self.guard.strays(None) if here is None else "")
        self.guard.check_path(points, here, goal)
        self.permission.check_path(points)

    async def _run(
        self,
        what: str,
        work: Callable[[], Coroutine[Any, Any, SkillResult]],
        permitted: Permitted | None,
        allow: Callable[[], None] | None = None,
    ) -> SkillResult:
        result = await self.jobs.run(what, work, permitted, allow or self._allow_docking)
        if self.active and self.stops.refusal(self.robot):  # who stops it hears so at once
            self.run(self._observe(quick=True), "observation")
        elif self.active:
            await self._observe(quick=result.outcome is Outcome.CANCELLED)
        return result

    def _halt(self, reasons: Mapping[str, str]) -> None:
        """Stop the robot; from any thread, never waits."""
        self._send_halts(both=self.ending or not self.active)
        self.loop.call(self.jobs.end, reasons[self.robot])
        self.loop.call(self.docking.forget)

    def _send_halts(self, *, both: bool = False) -> None:
        """Halt by the first way; by the second as well where that has not worked, or the node ends.

        Two at once would take the time in which ten robots of one computer are to stand.
        """
        try:
            if self.navigation is not None:
                self.navigation.halt()
        except Exception as error:
            self.report_failure("halting", error)
        self._asked.clear()
        self._halted_at = time.monotonic()

        def send(one: Halt) -> None:
            one.send()
            self._asked.add(one)

        if not self._halts:
            return
        self.urgent.post(partial(send, self._halts[0]))
        if both or not self.urgent.alive:
            self.post(partial(send, self._halts[1]))

    def _hold(self) -> None:
        """While it is stopped: cancel what was on its way, whoever sent it; tell if it moves."""
        stopped = bool(self.stops.refusal(self.robot))
        if stopped and self._halts:
            first = self._halts[0]
            works = first in self._asked and not first.unanswered
            if time.monotonic() - self._halted_at < _ANSWERED:
                self.urgent.post(first.zero)  # its answers may still come
            elif not works or first.under_way:
                self._send_halts(both=not works)
            else:
                self.urgent.post(first.zero)
        if moves := self._standing.look(stopped, self._position(), time.monotonic()):
            self.problem(moves)

    # -- skills --------------------------------------------------------------------------------

    async def _drive(
        self, skill: NavigateToSkill, target: Vec3 | None, feedback: Feedback
    ) -> SkillResult:
        base = self.navigation
        if base is None:
            return SkillResult(Outcome.UNSUPPORTED, "navigation.backend is none: it cannot drive")
        assert target is not None  # the guard refuses what has none
        if why := self.sensors.floor_trouble(target):
            return SkillResult(Outcome.UNREACHABLE, why)
        result = await self.docking.leave()
        if not result.ok:
            return result
        result = await base.navigate(skill, Pose(target, skill.yaw or 0.0), feedback)
        if not result.ok:
            return result
        # What tf tells is a little older than what the goal checker saw.
        await self.sensors.caught_up(self.now())
        here = self._here()
        if here is _NOWHERE:
            return SkillResult(Outcome.FAULT, self._located_trouble())
        off, angle = skill.left(here, target)
        tolerance = max(skill.tolerance, POSITION_TOLERANCE if skill.place else 0.0)
        if off > tolerance + _SLACK or abs(angle) > skill.yaw_tolerance + _SLACK:
            return SkillResult(
                Outcome.BLOCKED,
                f"the drive ended in success, but {off:.2f} m and {abs(angle):.2f} rad off; "
                f"tolerated are {tolerance:g} m and {skill.yaw_tolerance:g} rad",
            )
        if skill.yaw is None and self.settings.navigation.look_on_arrival:
            looked = await base.look_around(lambda progress: None)
            if looked.outcome is Outcome.CANCELLED:
                return looked
            if not looked.ok:
                self.problem(f"arrived, and could not look around: {looked.reason}")
        return result

    async def _act(self, skill: Skill, feedback: Feedback) -> SkillResult:
        if isinstance(skill, Wait):
            await asyncio.sleep(skill.duration)
            return SkillResult(Outcome.SUCCEEDED)
        if isinstance(skill, Detect):
            return await self._detect(skill.label)
        if isinstance(skill, LookAround):
            if self.navigation is None:
                return SkillResult(Outcome.UNSUPPORTED, "navigation.backend is none")
            return await self.navigation.look_around(feedback)
        if self.arm is None:
            return SkillResult(Outcome.UNSUPPORTED, "arm.backend is none: it cannot use an arm")
        held = self.arm.holding
        result = await self.arm.manipulate(skill, feedback)
        return await self._looked_at(skill, held, result) if result.ok else result

    async def _looked_at(self, skill: Skill, held: str, result: SkillResult) -> SkillResult:
        """Look whether what the arm did came about; who decides what is seen is in `why`."""
        task = task_of(skill, held)
        if not task:
            return result
        since = self.now()
        seen = await self._detected(skill, held, result)
        images: tuple[Image, ...] = ()
        if self._sees:
            found = await self._pictures(since)
            images = tuple(encode(one, _PICTURE_SIDE) for one in found[:_MOST_PICTURES])
        decider = self._decider if images else self._ruled
        decided = await decider.decide(CheckOutcome(), Outlook(task, seen, images))
        return judged(skill, result, decided.reply)

    async def _pictures(self, since: float) -> list[npt.NDArray[np.uint8]]:
        """Return what cameras show after a time [s]; [] where no picture comes."""
        end = time.monotonic() + _PICTURE_PATIENCE
        while True:
            found = await asyncio.to_thread(self.sensors.cameras.pictures, since)
            if found or time.monotonic() > end:
                return found
            await asyncio.sleep(_REPEAT_SETTLED)

    async def _detected(self, skill: Skill, held: str, result: SkillResult) -> bool | None:
        """Return whether detectors show that a skill came about; None: they tell nothing of it."""
        try:
            if isinstance(skill, Place) and held:
                at = result.put_at or skill.receptacle.position
                # Not seen there says nothing: the arm, or what stands before it, may hide it.
                return await self.sensors.stands(held, at, _PUT_NEAR) or None
            if isinstance(skill, Pick) and self.settings.arm.backend == "skills":
                still = await self.sensors.stands(skill.target.label, skill.target.position)
                return False if still else None
            if isinstance(skill, Pick):
                return True  # the arm itself has looked that it is gone from where it was
            await self.sensors.look()
        except SensingError:
            pass  # nobody knows where the robot is, and so not where it looks
        return None

    async def _detect(self, label: str) -> SkillResult:
        seen = await self.sensors.in_view()
        if seen is None:
            why = self._located_trouble() or "no detections come: does the detector run?"
            return SkillResult(Outcome.FAULT, why)
        if not label or label in seen:
            return SkillResult(Outcome.SUCCEEDED)
        return SkillResult(Outcome.NOT_VISIBLE, f"no {label!r} in view from here; look elsewhere")

    # -- observations --------------------------------------------------------------------------

    def _here(self) -> Pose:
        try:
            return self.sensors.pose()
        except SensingError:
            return _NOWHERE

    def _position(self) -> Vec3 | None:
        return None if (here := self._here()) is _NOWHERE else here.position

    def _located_trouble(self) -> str:
        try:
            self.sensors.pose()
        except SensingError as error:
            return str(error)
        return ""

    async def _observe(self, *, quick: bool = False) -> bool:
        """Publish what the robot perceives now; False where it is not known where it is."""
        await self.sensors.look(quick=quick)
        try:
            observation = await self.sensors.observation(self.robot, self._step)
        except SensingError as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                self.problem(f"no observation: {error}")
            return False
        self._trouble, self._blind = "", bool(self.sensors.blind)
        self._step += 1
        self._topics.publish_observation(observation)
        return True

    async def _repeat(self) -> None:
        """Make the first observation; repeat the last one to newcomers, and say what is wrong."""
        looks_again = self._blind and not self.sensors.blind
        if (self._step == 0 or looks_again) and not self.jobs.busy:
            await self._observe()
        self._topics.repeat_observation(to_new_only=True)
        ready = [backend.ready() for backend in self._backends.values()]
        for trouble in (*ready, *self.sensors.problems(), self.battery.trouble, self.link.trouble):
            if trouble:
                self.diagnostics.warn(trouble)

    def _map_changed(self) -> None:
        try:
            scene = self.sensors.observer.scene()
        except SensingError:
            return
        self.guard.know(scene)
        self._fences.tell(self.guard.fences())
        self.gate.know(scene)
        self._found.publish(conversions.scene_to_msg(self.sensors.observer.found_scene()))

    def _figures(self) -> dict[str, object]:
        ready = {
            f"{name}_ready": backend.ready() or "yes" for name, backend in self._backends.items()
        }
        return {
            **ready,
            "located": self._located_trouble() or "yes",
            "skill": self.jobs.busy or "none",
            "battery": self.battery.told,
            "observations": self._step,
        }

    # -- battery -------------------------------------------------------------------------------

    def _on_battery(self, message: BatteryState) -> None:
        stopped = bool(self.stops.refusal(self.robot))  # before it is low: a release comes any time
        if low := self.battery.update(float(message.percentage), int(message.power_supply_status)):
            self.problem(self.battery.trouble)
        self.docking.heard(low and not stopped)

    async def _dock(self, request: Trigger.Request) -> Trigger.Response:
        result = await self.docking.dock()
        return Trigger.Response(success=result.ok, message=result.reason)


def make_nodes(options: ProcessOptions) -> list[AdapterNode]:
    """Make the adapters of one process: one per robot that it serves."""
    return nodes_of_robots(options, AdapterNode, "adapter", __doc__)


def main(args: Sequence[str] | None = None) -> None:
    """Run the adapters of one process."""
    raise SystemExit(run_nodes(make_nodes, args))


if __name__ == "__main__":
    main()
