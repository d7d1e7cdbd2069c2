"""The lab's node: a house, its clock, and robots that speak only what real ones speak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from coterie_core.urdf.tree import tree_of
from coterie_ros import conversions
from coterie_ros.main import run_nodes
from coterie_ros.parameters import Parameters, ParameterSpec
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.factory import make_world
from habitat_bridge.goal_scheduler import GoalScheduler, Step
from habitat_bridge.image_detector import detector_of
from habitat_bridge.lab.arm import lab_arm
from habitat_bridge.lab.cameras import LabCamera
from habitat_bridge.lab.faults import Faults, parse_fault, read_faults
from habitat_bridge.lab.hands import Grip
from habitat_bridge.lab.moveit_servers import ArmServers
from habitat_bridge.lab.nav2_servers import Nav2Servers
from habitat_bridge.lab.plant import Manipulator, Plant
from habitat_bridge.lab.robot import LabHost, LabRobotNode
from habitat_bridge.lab.settings import LabRobot
from habitat_bridge.roster import read_roster
from habitat_bridge.sim_thread import SimThread
from habitat_bridge.simulator import FrameRequest, WorldError
from habitat_bridge.urdf import urdf_of

_LOOK_PERIOD = 0.1

LAB_PARAMETERS = (
    ParameterSpec(
        "world", "", "Description of the house: a WorldSpec as JSON; empty is refused.", json=True
    ),
    ParameterSpec("robots", "", "List of the lab's robots as JSON; empty is refused.", json=True),
    ParameterSpec("faults", "", "List of faults as JSON; empty: nothing goes wrong.", json=True),
    ParameterSpec(
        "seed", 0, "Seed of the house, the starts, the detector and the faults.", minimum=0
    ),
    ParameterSpec(
        "clock",
        "sim",
        "Clock of the lab's stamps; sim: simulated time on /clock; wall: the time of day.",
        choices=("sim", "wall"),
    ),
    ParameterSpec(
        "pace",
        1.0,
        "Simulated seconds per second of wall time; with clock wall always 1.",
        minimum=0.1,
        maximum=100.0,
    ),
    ParameterSpec(
        "rate",
        20.0,
        "Frequency of the world's ticks, in simulated time.",
        "Hz",
        minimum=5.0,
        maximum=200.0,
    ),
    ParameterSpec(
        "camera_rate",
        4.0,
        "Frequency of camera images, in simulated time.",
        "Hz",
        minimum=0.1,
        maximum=60.0,
    ),
)


class LabNode(LabHost):
    """Robots in a house, each with the servers, topics and faults of a real one (docs/lab.md).

    Args:
        name: The node's name.
        world: A house without robots, instead of the one that the parameter `world` describes.
        **options: Those of AgentNode.

    Attributes:
        faults: What goes wrong; add to it at any time.
        thread: The world's thread.
    """

    PARAMETERS = LAB_PARAMETERS

    def __init__(
        self, name: str = "lab", *, world: EmbeddedWorld | None = None, **options: Any
    ) -> None:
        super().__init__(name, **options)
        self._given = world
        self.faults = Faults()
        self.robots: dict[str, LabRobotNode] = {}

    # -- hooks -------------------------------------------------------------------------------------

    def on_setup(self, parameters: Parameters) -> None:
        """Make the house with its robots, and their topics."""
        try:
            self._set_up(parameters)
        except WorldError as error:
            raise ValueError(str(error)) from error

    def _set_up(self, parameters: Parameters) -> None:
        settings = read_roster(parameters.json("robots"), LabRobot)
        self.faults = Faults(read_faults(parameters.json("faults") or []), parameters["seed"])
        world = self._given or _make_world(parameters)
        self.plant = Plant(world)
        self.wall = parameters["clock"] == "wall"
        self._clock_out = None if self.wall else self.publisher(Clock, "/clock", "clock")
        self._detector = detector_of(world)
        self.robots, self._cameras = {}, []
        for one in settings:
            robot = self._add(one)
            self._cameras += [LabCamera(robot, camera) for camera in one.embodiment.cameras]
        pace = 1.0 if self.wall else parameters["pace"]
        self.thread = SimThread(
            cast("GoalScheduler", self.plant),
            self,
            lockstep=True,  # at a pace of its own, and waiting for nobody: see Plant.ready
            dt=1.0 / parameters["rate"],
            pace=pace,
        )

    def _add(self, one: LabRobot) -> LabRobotNode:
        state = self.plant.world.add_robot(one.name, one.embodiment, one.start.start())
        urdf = one.urdf or urdf_of(one.name, one.embodiment)
        tree = tree_of(urdf)
        arm = lab_arm(tree, one.tip_link, one.finger_joints)
        if arm is not None:
            self.plant.manipulators[one.name] = Manipulator(arm, dict(arm.rest), Grip(arm.opening))
        robot = self.robots[one.name] = LabRobotNode(self, self.plant, one, urdf, tree, state)
        return robot

    def on_start(self) -> None:
        """Start the servers and the world's thread."""
        self._navigation = [Nav2Servers(robot) for robot in self.robots.values()]
        self._arms = [
            ArmServers(robot)
            for name, robot in self.robots.items()
            if name in self.plant.manipulators
        ]
        self.subscribe(String, "lab/fault", "commands", self._hear_fault)
        self.every(_LOOK_PERIOD, self._look, name="servers")
        self.diagnostics.add_source("lab", self._figures)
        self._images_due = 0.0
        self.thread.post(self._warm_up)
        for robot in self.robots.values():
            self.thread.post(robot.begin)
        self.thread.start()

    def on_stop(self) -> None:
        """Stop the world's thread."""
        if not self.thread.stop():
            self.problem("the world's thread did not end within 2 s")
        self.plant.close("the lab stopped")

    def on_release(self) -> None:
        """Close the house."""
        self.plant.world.close()

    # -- time and faults ---------------------------------------------------------------------------

    def _hear_fault(self, message: String) -> None:
        """Take up a fault such as `navigate_aborted:robot=rover,code=105` now, or `clear`."""
        if message.data.strip() == "clear":
            self.faults.clear()
            return
        try:
            fault = parse_fault(message.data)
        except ValueError as error:
            self.problem(f"lab/fault: {error}")
        else:
            self.faults.add([fault], self.plant.world.time)

    async def _look(self) -> None:
        def look() -> None:
            for navigation in self._navigation:
                navigation.look()
            for arm in self._arms:
                arm.look()

        await self.in_executor(look)

    # -- in the world's thread ---------------------------------------------------------------------

    def stepped(self, step: Step) -> None:
        """Publish what a tick brought."""
        if self._clock_out is not None:
            self._clock_out.publish(Clock(clock=conversions.time_to_msg(step.time)))
        for name, state in step.states.items():
            self.robots[name].step(state)
        if step.time + 1e-9 >= self._images_due:
            self._images_due = step.time + 1.0 / self.parameters["camera_rate"]
            self._render()

    def idle(self) -> None:
        """Nothing is to be done between two ticks."""

    def failed(self, error: Exception) -> None:
        """End the node: without a house there is no lab."""
        self.report_failure("world", error)
        self.failure = f"the world failed: {error}"

    def _render(self) -> None:
        cameras: list[LabCamera] = []
        requests: list[FrameRequest] = []
        for camera in self._cameras:
            camera.publish_infos()
            request = camera.request()
            if request is not None:
                cameras.append(camera)
                requests.append(request)
        if not requests:
            return
        frames = self.plant.world.render(requests)
        for camera, frame in zip(cameras, frames, strict=True):
            camera.publish(frame, self._detector)

    def _warm_up(self) -> None:
        """Draw an image, detect and plan once before time begins: the first time takes seconds."""
        world = self.plant.world
        for name in self.robots:
            body = world.body(name)
            for place in list(body.places.map.places)[:2]:
                spot = body.places.stand(place)
                if spot is not None and body.places.space.connected(body.pose.position, spot):
                    body.places.space.plan(body.pose.position, spot)
        camera = next(iter(self._cameras), None)
        if camera is not None:
            name = camera.camera.name
            request = FrameRequest(camera.robot.name, name, ("depth", "semantic"))
            (frame,) = world.render([request])
            if self._detector is not None:
                self._detector.detect(frame, number=0)

    def _figures(self) -> dict[str, object]:
        timing = self.thread.timing
        mean = timing.spent / timing.ticks if timing.ticks else 0.0
        return {
            "time_s": f"{self.plant.world.time:.1f}",
            "mean_tick_ms": f"{1e3 * mean:.2f}",
            "worst_tick_ms": f"{1e3 * timing.worst:.2f}",
            "faults": len(self.faults.faults),
            "robots": len(self.robots),
        }


def _make_world(parameters: Parameters) -> EmbeddedWorld:
    value = parameters.json("world")
    if not isinstance(value, dict):
        raise ValueError("parameter 'world': expected a house's description as a JSON object")
    # What a robot sees after driving it learns from its own cameras.
    world = make_world({"seed": parameters["seed"], **value, "look_on_arrival": False})
    if not isinstance(world, EmbeddedWorld):
        raise ValueError("parameter 'world': a lab is in an embedded or a habitat house")
    return world


def main(args: Sequence[str] | None = None) -> int:
    """Run the lab's node."""
    return run_nodes(
        lambda options: LabNode(namespace=options.namespace, context=options.context), args
    )


if __name__ == "__main__":
    raise SystemExit(main())
