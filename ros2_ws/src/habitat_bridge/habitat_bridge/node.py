"""The bridge node: puts a simulated world and its robots on ROS topics and actions."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from geometry_msgs.msg import TransformStamped
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool

from coterie_core.detections import ImageDetection
from coterie_core.geometry import Pose, Vec2
from coterie_core.observation import Observation
from coterie_core.skills import NavigateTo as NavigateSkill
from coterie_core.skills import Outcome, Skill, SkillResult
from coterie_core.waiting import in_time
from coterie_msgs.action import Manipulate, NavigateTo
from coterie_msgs.msg import SemanticMap
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.fencing import FenceTeller
from coterie_ros.main import run_nodes
from coterie_ros.parameters import Parameters
from coterie_ros.permitting import permit_gates, serve_permits
from coterie_ros.robot_publishers import CHANNELS, CameraPublishers, FramePublisher, RobotPublishers
from coterie_ros.serving import GoalContext
from coterie_ros.stopping import STOP, StopServer
from coterie_safety.guard import Guard
from habitat_bridge.clock_file import ClockFile
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.factory import world_of
from habitat_bridge.goal_scheduler import Goal, GoalScheduler, Step
from habitat_bridge.hardware_topics import HardwareTopics
from habitat_bridge.image_detector import detector_of
from habitat_bridge.links import known_links
from habitat_bridge.lockstep_barrier import LockstepBarrier
from habitat_bridge.parameters import BRIDGE_PARAMETERS
from habitat_bridge.prior import prior_map
from habitat_bridge.roster import RobotSpec, read_roster
from habitat_bridge.sim_thread import SimThread
from habitat_bridge.simulator import Frame, FrameRequest, RobotState, Simulator, WorldError
from habitat_bridge.urdf import urdf_of
from habitat_bridge.world_file import WorldFile

# In lockstep thousands of ticks a second are possible; nobody needs so many transforms [s].
_FRAMES_PERIOD = 0.02
_FEEDBACK_PERIOD = 0.2
_IDLE_PERIOD = 0.2
_REPEAT_PERIOD = 2.0
_GRAPH_PERIOD = 0.5
_REMIND_PERIOD = 1.0
_NOWHERE = Pose((0.0, 0.0, 0.0))


class CameraFeed:
    """Makes what cameras publish; for the world's thread.

    Args:
        world: The world.
        ports: The robots' publishers.
        rate: How often images are made [Hz of simulated time].
    """

    def __init__(
        self, world: Simulator, ports: Callable[[], Collection[RobotPublishers]], rate: float
    ) -> None:
        self._world, self._ports, self._rate = world, ports, rate
        self._detector = detector_of(world) if world.capabilities.pixels else None
        self._detected: dict[CameraPublishers, tuple[float, int, list[ImageDetection]]] = {}
        self._due = 0.0

    def wanted(self, stamp: float) -> bool:
        """Whether images are due at a time [s], and somebody wants some."""
        if stamp < self._due:
            return False
        cameras = (camera for port in self._ports() for camera in port.cameras)
        return any(c.wanted or c.detections_wanted or c.infos_wanted for c in cameras)

    def render(self, stamp: float) -> None:
        """Make the images that somebody listens to, of all robots in one batch."""
        self._due = stamp + 1.0 / self._rate - 1e-9
        cameras: list[CameraPublishers] = []
        requests: list[FrameRequest] = []
        for port in self._ports():
            for camera in port.cameras:
                camera.publish_infos(stamp)
                wanted = set(camera.wanted)
                if camera.detections_wanted and self._detector is not None:
                    wanted |= {"depth", "semantic"}
                if wanted:
                    channels = tuple(channel for channel in CHANNELS if channel in wanted)
                    requests.append(FrameRequest(port.robot, camera.camera.name, channels))
                    cameras.append(camera)
        if not requests:
            return
        for camera, frame in zip(cameras, self._world.render(requests), strict=True):
            images = {c: getattr(frame, c) for c in CHANNELS if getattr(frame, c) is not None}
            camera.publish(frame.time, images, frame.labels)
            self._detect(camera, frame)

    def _detect(self, camera: CameraPublishers, frame: Frame) -> None:
        """Publish what the detector finds; of one moment it finds the same, however often."""
        listeners = camera.detections_wanted
        if not listeners or self._detector is None:
            return
        if frame.semantic is None or frame.depth is None:
            return  # the first listener came while the images were drawn: the next ones have all
        last = self._detected.get(camera)
        if last is None or last[:2] != (frame.time, listeners):
            found = self._detector.detect(frame, number=round(1e3 * frame.time))
            last = self._detected[camera] = (frame.time, listeners, found)
        camera.publish_detections(frame.time, last[2], "simulated")


class BridgeNode(AgentNode):
    """One world, its clock, and the topics and actions of its robots (docs/ros_graph.md).

    Args:
        name: The node's name.
        world: A world without robots, instead of the one that the parameter `world` describes.
        **options: Those of AgentNode.
    """

    PARAMETERS = BRIDGE_PARAMETERS

    def __init__(
        self, name: str = "bridge", *, world: Simulator | None = None, **options: Any
    ) -> None:
        super().__init__(name, **options)
        self._given = world
        self.world: Simulator | None = None

    # -- hooks ---------------------------------------------------------------------------------

    def on_setup(self, parameters: Parameters) -> None:
        """Make the world with its robots, and their topics and actions."""
        try:
            self._set_up(parameters)
        except WorldError as error:  # what the user can mend
            raise ValueError(str(error)) from error

    def _set_up(self, parameters: Parameters) -> None:
        specs = read_roster(parameters.json("robots"), RobotSpec)
        self._lockstep = parameters["mode"] == "lockstep"
        self.world = world = self._given or world_of(parameters.json("world"), parameters["seed"])
        folder = parameters["state_directory"]
        self._clock_file = ClockFile(Path(folder) if folder else None)
        if self._clock_file.start > 0.0:
            world.begin_at(self._clock_file.start)
        self._world_file = WorldFile(Path(folder) if folder else None, world, self.problem)
        self.bodies = {spec.name: spec.body for spec in specs}
        self._specs = {spec.name: spec for spec in specs}
        self._ports: dict[str, RobotPublishers] = {}
        pixels = world.capabilities.pixels
        for spec in specs:
            pose = self._world_file.add_robot(spec.name, spec.body, spec.start.start())
            self._ports[spec.name] = RobotPublishers(
                self, spec.name, spec.body, pose, pixels=pixels
            )
        self._cameras = CameraFeed(world, self._ports.values, parameters["camera_rate"])
        self._frames = FramePublisher(self)
        self._clock_out = self.publisher(Clock, "/clock", "clock")
        for robot in self._ports:
            self.serve_action(NavigateTo, f"{robot}/navigate_to", partial(self._navigate, robot))
            self.serve_action(Manipulate, f"{robot}/manipulate", partial(self._manipulate, robot))

    def on_start(self) -> None:
        """Start the world's thread, and say what there is."""
        world, parameters = self.world, self.parameters
        assert world is not None
        barrier = LockstepBarrier(
            self._ports,
            timeout=parameters["barrier_timeout"],
            assembly_timeout=parameters["assembly_timeout"],
            warn=self.problem,
        )
        truth = world.truth()
        self._guard_of = {name: Guard.of(truth, s.limits) for name, s in self._specs.items()}
        for name, guard in self._guard_of.items():
            if (fences := guard.fences()).fences:
                FenceTeller(self, f"{name}/").tell(fences)
        self._gates = permit_gates(
            parameters, {name: spec.permits for name, spec in self._specs.items()}
        )
        for gate in self._gates.values():
            gate.know(truth)
        self._conductor = GoalScheduler(
            world,
            self.bodies,
            self._guard_of,
            barrier if self._lockstep else None,
            self._perceived,
            gates=self._gates,
            post=self.in_world,
            warn=self.problem,
        )
        self._driver = SimThread(
            self._conductor,
            self,
            lockstep=self._lockstep,
            dt=1.0 / parameters["rate"],
            pace=parameters["pace"],
        )
        self._frames_due = self._idle_due = self._repeat_due = 0.0
        self._hardware: dict[str, HardwareTopics] = {}
        self.diagnostics.add_source("world", self._figures)
        fixed: list[TransformStamped] = []
        for robot, port in self._ports.items():
            spec = self._specs[robot]
            urdf = spec.urdf or urdf_of(robot, port.body)
            port.describe(urdf, with_resume=spec.resume)
            fixed += port.fixed_frames(world.time, known_links(robot, urdf, self.problem))
            self.subscribe(Bool, f"{robot}/takes_part", "latched", partial(self._hear, robot))
            if isinstance(world, EmbeddedWorld):
                self._hardware[robot] = HardwareTopics(
                    self,
                    world.hardware,
                    robot,
                    urdf,
                    world.state(robot).pose,
                    in_world=self.in_world,
                    go=self.go,
                )
        if parameters["prior_map"] != "nothing":
            known = prior_map(truth, parameters["prior_map"])
            self.publisher(SemanticMap, parameters["prior_topic"], "latched").publish(
                conversions.scene_to_msg(known, time=world.time)
            )
        self._frames.publish_fixed(fixed)
        if self._hardware:
            self.every(_GRAPH_PERIOD, self._attend, name="drivers")
        kept = parameters["stop_directory"]
        prefixes = {robot: f"{robot}/" for robot in self._ports}
        serve_permits(self, self._gates, prefixes)
        if any(gate.permits.asks for gate in self._gates.values()):
            self.every(_REMIND_PERIOD, lambda: self.in_world(self._conductor.remind), "waiting")
        StopServer(
            self,
            prefixes,
            STOP,
            Path(kept) if kept else None,
            lambda reasons: self._driver.post(partial(self._halt, reasons)),
            lambda robot: self._driver.post(partial(self._conductor.release, robot)),
            lambda robot, kind, body: self._gates[robot].note(kind, body),
        )
        self._driver.post(self._begin)
        self._driver.start()

    def on_stop(self) -> None:
        """Stop the world's thread."""
        if self._driver.stop():
            self._conductor.close("the bridge stopped", Outcome.CANCELLED)
            self._world_file.keep(at_once=True)
        else:
            self.problem("the world's thread did not end within 2 s")

    def on_release(self) -> None:
        """Close the world."""
        if self.world is not None:
            self._world_file.close()
            self.world.close()
            self.world = None

    # -- goals, in the loop's thread -----------------------------------------------------------

    async def _navigate(self, robot: str, goal: GoalContext) -> NavigateTo.Result:
        def feedback(state: RobotState) -> None:
            goal.feedback(
                NavigateTo.Feedback(
                    current_pose=conversions.stamped_pose(state.pose, time=self._world_time),
                    distance_remaining=float(state.remaining),
                    progress=float(min(max(state.progress, 0.0), 1.0)),
                )
            )

        def waits(what: str) -> None:
            goal.feedback(NavigateTo.Feedback(waiting_for=what))

        pose, left = None, (math.nan, 0.0)
        try:
            skill = conversions.navigate_from_msg(goal.request, f"{robot}/navigate_to")
        except conversions.ConversionError as error:
            result, state = self._refuse(robot, error)
        else:
            result, state = await self._do(robot, goal, skill, feedback, waits)
            if state.pose is not _NOWHERE:
                pose = state.pose
                left = skill.left(pose, self._guard_of[robot].places.get(skill.place))
        message = conversions.navigate_result_to_msg(result, pose, left, time=self._world_time)
        return goal.end(result.ok, message)

    @property
    def _world_time(self) -> float:
        return self.world.time if self.world is not None else 0.0

    async def _manipulate(self, robot: str, goal: GoalContext) -> Manipulate.Result:
        def feedback(state: RobotState) -> None:
            goal.feedback(Manipulate.Feedback(progress=float(min(max(state.progress, 0.0), 1.0))))

        def waits(what: str) -> None:
            goal.feedback(Manipulate.Feedback(waiting_for=what))

        try:
            skill = conversions.manipulate_from_msg(goal.request, f"{robot}/manipulate")
        except conversions.ConversionError as error:
            result, state = self._refuse(robot, error)
        else:
            result, state = await self._do(robot, goal, skill, feedback, waits)
        message = Manipulate.Result(
            result=conversions.skill_result_to_msg(result), holding=state.holding
        )
        return goal.end(result.ok, message)

    def _refuse(self, robot: str, error: ValueError) -> tuple[SkillResult, RobotState]:
        """Refuse a goal that cannot be read; an observation follows, as after every goal."""
        self._driver.post(partial(self._conductor.perceive, robot))
        return SkillResult(Outcome.REFUSED, str(error)), RobotState(robot, _NOWHERE)

    async def _do(
        self,
        robot: str,
        goal: GoalContext,
        skill: Skill,
        feedback: Callable[[RobotState], None],
        waits: Callable[[str], None],
    ) -> tuple[SkillResult, RobotState]:
        """Have the world's thread do what a goal asks for; cancelling this cancels it there."""
        loop = asyncio.get_running_loop()
        end: asyncio.Future[tuple[SkillResult, RobotState]] = loop.create_future()
        due = 0.0

        def settle(result: SkillResult, state: RobotState) -> None:
            if not end.done():
                end.set_result((result, state))

        def progress(state: RobotState) -> None:
            nonlocal due
            now = time.monotonic()
            if now >= due:
                due = now + _FEEDBACK_PERIOD
                feedback(state)

        job = Goal(
            goal.id,
            robot,
            skill,
            lambda r, s: self.loop.call(settle, r, s),
            progress,
            waits,
            conversions.why_from_msg(goal.request),
        )
        self._driver.post(lambda: self._submit(job))
        try:
            return await asyncio.shield(end)
        except asyncio.CancelledError:
            self._driver.post(lambda: self._conductor.cancel(goal.id))
            if not self._driver.is_alive() and not end.done():
                return SkillResult(Outcome.CANCELLED, "the bridge stopped"), RobotState(
                    robot, _NOWHERE
                )
            return await in_time(end, 2.0)

    def _hear(self, robot: str, message: Bool) -> None:
        value = bool(message.data)
        self._driver.post(lambda: self._conductor.takes_part(robot, value, time.monotonic()))
        if value:
            self._driver.post(self._ports[robot].repeat_observation)

    # -- what drives robots from outside -------------------------------------------------------

    def in_world(self, work: Callable[[], object]) -> None:
        """Have something done in the world's thread."""
        self._driver.post(work)

    def go(self, robot: str, spot: Vec2, yaw: float) -> None:
        """Send a robot to a spot (x, y) [m] of its floor, as RViz's goal tool does."""

        def told(result: SkillResult, state: RobotState) -> None:
            if not result.ok:
                self.problem(f"{robot}/goal_pose: {result.outcome.name}: {result.reason}")

        def begin() -> None:
            assert self.world is not None
            height = self.world.state(robot).pose.position[2]
            skill = NavigateSkill(position=(*spot, height), yaw=yaw)
            self._submit(Goal(f"goal_pose {time.monotonic()}", robot, skill, told))

        self._driver.post(begin)

    async def _attend(self) -> None:
        """Make the drivers' topics that somebody wants."""

        def attend() -> None:
            topics = {name for name, _ in self.get_topic_names_and_types()}
            for hardware in self._hardware.values():
                hardware.attend(topics)

        await self.in_executor(attend)

    # -- in the world's thread -----------------------------------------------------------------

    def _begin(self) -> None:
        for robot in self._ports:
            self._conductor.perceive(robot)
        self.idle()

    def _halt(self, reasons: Mapping[str, str]) -> None:
        """Hold robots, and tell at once that they stand."""
        world = self._conductor.world
        self._conductor.halt(reasons)
        self._publish_moving(world.time, {robot: world.state(robot) for robot in reasons})
        see = partial(self._driver.post, lambda: [*map(self._conductor.perceive, reasons)])
        self.loop.call(self.loop.loop.call_later, _IDLE_PERIOD, see)  # goals are told first

    def _submit(self, goal: Goal) -> None:
        self._conductor.submit(goal, time.monotonic())

    def _perceived(self, observation: Observation) -> None:
        self._ports[observation.robot].publish_observation(observation)

    def stepped(self, step: Step) -> None:
        """Publish what a tick brought."""
        try:
            self._clock_file.announce(step.time)
        except OSError as error:  # a full disk: the world goes on
            self.problem(f"after a restart time may go back: {error}")
        self._world_file.keep()
        now = time.monotonic()
        watched = self._cameras.wanted(step.time)
        # Images go with transforms of the very same moment.
        if now >= self._frames_due or step.ended or watched:
            self._frames_due = now + (_FRAMES_PERIOD if self._lockstep else 0.0)
            self._publish_moving(step.time, step.states)
        if watched:
            self._cameras.render(step.time)
        if now >= self._idle_due:
            self._look_after_newcomers(now)

    def idle(self) -> None:
        """Serve those who come while time stands still."""
        now = time.monotonic()
        if now < self._idle_due:
            return
        self._look_after_newcomers(now)
        if self._lockstep and self.world is not None:
            states = {robot: self.world.state(robot) for robot in self._ports}
            self._publish_moving(self.world.time, states)
            self._cameras.render(self.world.time)
        if now >= self._repeat_due:
            self._repeat_due = now + _REPEAT_PERIOD
            for port in self._ports.values():
                port.repeat_observation()

    def failed(self, error: Exception) -> None:
        """End the node: without a world there is nothing to bridge."""
        self.report_failure("world", error)
        self.failure = f"the world failed: {error}"

    def _look_after_newcomers(self, now: float) -> None:
        self._idle_due = now + _IDLE_PERIOD
        for port in self._ports.values():
            port.repeat_observation(to_new_only=True)

    def _publish_moving(self, stamp: float, states: dict[str, RobotState]) -> None:
        self._clock_out.publish(Clock(clock=conversions.time_to_msg(stamp)))
        self._frames.publish(
            self._ports[robot].moving_frame(state.pose, stamp) for robot, state in states.items()
        )
        for robot, state in states.items():
            self._ports[robot].publish_odometry(state.pose, state.linear, state.angular, stamp)
            if robot in self._hardware:
                self._hardware[robot].publish(state, stamp)

    def _figures(self) -> dict[str, object]:
        timing, world = self._driver.timing, self.world
        if world is None:
            return {}
        mean = timing.spent / timing.ticks if timing.ticks else 0.0
        return {
            "time_s": f"{world.time:.2f}",
            "ticks": timing.ticks,
            "late_ticks": timing.late,
            "mean_tick_ms": f"{1e3 * mean:.2f}",
            "worst_tick_ms": f"{1e3 * timing.worst:.2f}",
            "busy_robots": self._conductor.busy,
            "robots": len(self._ports),
        }


def main(args: Sequence[str] | None = None) -> int:
    """Run the bridge node."""
    return run_nodes(
        lambda options: BridgeNode(namespace=options.namespace, context=options.context), args
    )


if __name__ == "__main__":
    raise SystemExit(main())
