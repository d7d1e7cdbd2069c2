"""A robot of a lab in a box with its adapter, as nodes of this process, driven skill by skill."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from coterie_core.embodiment import Embodiment
from coterie_core.observation import Detection
from coterie_core.skills import NavigateTo, Skill, SkillResult
from coterie_msgs.action import Manipulate
from coterie_msgs.action import NavigateTo as NavigateToAction
from coterie_msgs.msg import Observation
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import ActionClient
from coterie_ros.spinning import spinning
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.lab.node import LabNode
from habitat_bridge.simulator import Start
from robot_adapters.node import AdapterNode
from robot_adapters.settings import AdapterSettings

ROBOT = "robot"
_PATIENCE = 600.0  # [s] of wall time for one skill, also on a busy machine
_READY = 180.0  # [s]


class Commander(AgentNode):
    """Sends skills to an adapter, and hears its observations."""

    def __init__(self, **options: Any) -> None:
        super().__init__("commander", **options)
        self.last: Observation | None = None

    def on_start(self) -> None:
        """Connect to the adapter."""
        self._drive = ActionClient(self, NavigateToAction, f"/{ROBOT}/navigate_to")
        self._act = ActionClient(self, Manipulate, f"/{ROBOT}/manipulate")
        self.subscribe(Observation, f"/{ROBOT}/observation", "observations", self._hear)

    def _hear(self, message: Observation) -> None:
        self.last = message

    async def _do(self, skill: Skill) -> SkillResult:
        if isinstance(skill, NavigateTo):
            end = await self._drive.run(conversions.navigate_to_msg(skill), timeout=_PATIENCE)
        else:
            end = await self._act.run(conversions.manipulate_to_msg(skill), timeout=_PATIENCE)
        return conversions.skill_result_from_msg(end.result.result)

    def do(self, skill: Skill) -> SkillResult:
        """Do a skill, and return how it ended; for another thread than the node's."""
        return self.run(self._do(skill)).result(_PATIENCE + 10.0)

    def detections(self) -> list[Detection]:
        """Return what the last observation reported."""
        if self.last is None:
            return []
        return list(conversions.observation_from_msg(self.last, frame="map").detections)


@contextlib.contextmanager
def lab_robot(
    world: EmbeddedWorld, body: Embodiment, start: Start, *, domain: int, pace: float
) -> Iterator[tuple[Commander, Callable[[], None]]]:
    """Run a lab with one robot, and its adapter, while the block runs.

    Gives who commands the adapter, and what empties the robot's hand.

    Args:
        world: The house, without robots.
        body: The robot.
        start: Where it starts.
        domain: ROS domain.
        pace: Simulated seconds per second.

    Raises:
        TimeoutError: The adapter does not observe anything.
    """
    pose = start.pose
    assert pose is not None
    x, y, z = pose.position
    robots = [
        {
            "name": ROBOT,
            "embodiment": body.model_dump(mode="json"),
            "start": {"pose": {"x": x, "y": y, "z": z, "yaw": pose.yaw}},
        }
    ]
    lab = {"robots": json.dumps(robots), "pace": pace}
    settings = AdapterSettings.model_validate(
        {
            "arm": {"backend": "moveit", "tip": "hand_link", "gripper": {"open": 0.2}}
            if body.arm
            else {},
            "frames": {"tf": "tf"},
            "sensors": {"cameras": [_camera(camera.name) for camera in body.cameras]},
        }
    )
    adapter = {
        **settings.to_parameters(),
        "robot": ROBOT,
        "embodiment": body.model_dump_json(),
        "permits": json.dumps({"team": {"otherwise": "allow"}}),
        "limits": json.dumps({"team": {"area": "anywhere"}}),
        "use_sim_time": True,
    }
    with contextlib.ExitStack() as stack:
        node = stack.enter_context(
            spinning(lambda c: LabNode(world=world, context=c, parameters=lab), domain=domain)
        )
        stack.enter_context(
            spinning(
                lambda c: AdapterNode(namespace=f"/{ROBOT}", context=c, parameters=adapter),
                domain=domain,
            )
        )
        commander = stack.enter_context(
            spinning(
                lambda c: Commander(context=c, parameters={"use_sim_time": True}), domain=domain
            )
        )
        end = time.monotonic() + _READY
        while commander.last is None or not commander.last.neighbours:
            if time.monotonic() > end:
                raise TimeoutError(f"the adapter observed nothing within {_READY:g} s")
            time.sleep(0.05)

        def drop() -> None:
            node.thread.post(lambda: node.plant.slip(ROBOT))

        yield commander, drop


def _camera(name: str) -> dict[str, Any]:
    kind = "vision_msgs/Detection3DArray"
    return {
        "name": name,
        "depth": f"{name}/depth/image_raw",
        "info": f"{name}/depth/camera_info",
        "detections": {"topic": f"{name}/detections_3d", "type": kind},
    }
