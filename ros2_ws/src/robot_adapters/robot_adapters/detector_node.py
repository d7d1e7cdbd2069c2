"""Has detectors of the user's look at what a robot's cameras send, and publishes what they find."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import numpy as np
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from coterie_core.detections import Detector, ImageDetection, RgbdFrame
from coterie_core.own_classes import load_class
from coterie_msgs.msg import ImageDetections
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.main import ProcessOptions, nodes_of_robots, run_nodes
from coterie_ros.parameters import Parameters
from coterie_world.perception.pairing import FramePairs
from robot_adapters.parameters import SETTINGS_PARAMETERS
from robot_adapters.settings import AdapterSettings
from robot_adapters.settings_sensing import CameraSettings


class DetectorNode(AgentNode):
    """`<robot>/detector`: has the user's detectors look at the newest images of the cameras."""

    PARAMETERS = SETTINGS_PARAMETERS

    def on_setup(self, parameters: Parameters) -> None:
        """Load the detectors."""
        cameras = AdapterSettings.from_parameters(parameters).sensors.all_cameras()
        self._eyes = [Eye(self, camera) for camera in cameras if camera.detections.detector]
        if not self._eyes:
            raise ValueError("parameter 'sensors.cameras': no camera has detections.detector")

    def on_start(self) -> None:
        """Listen to the cameras."""
        for eye in self._eyes:
            eye.listen()


class Eye:
    """One camera and its detector, which looks at one frame at a time: the newest.

    Raises:
        ValueError: The detector cannot be loaded.
    """

    def __init__(self, node: AgentNode, camera: CameraSettings) -> None:
        self._node, self._camera = node, camera
        self._name = camera.detections.detector or ""
        field = f"{node.get_namespace().rpartition('/')[2]}: {camera.name}: detections.detector"
        self._detect = load_class(self._name, f"robots: {field}", Detector)()  # type: ignore[type-abstract]
        self._pairs: FramePairs[Any, Any, Any] = FramePairs(limit=5)
        self._intrinsics: tuple[float, float, float, float] | None = None
        self._newest: tuple[Any, Any] | None = None
        self._looking = False
        self._out = node.publisher(ImageDetections, camera.detections.topic, "detections")

    def listen(self) -> None:
        """Subscribe to the camera's topics."""
        camera, node = self._camera, self._node
        node.subscribe(
            CameraInfo, camera.info, "sensor_data", self._on_info, latched=True,
            convert=partial(conversions.intrinsics_from_msg, topic=camera.info),
        )  # fmt: skip
        for topic, use in ((camera.depth, self._on_depth), (camera.color, self._on_color)):
            if topic:
                kind = CompressedImage if "compressed" in topic.lower() else Image
                node.subscribe(kind, topic, "sensor_data", use, limit=5)

    def _on_info(self, model: tuple[tuple[int, int], tuple[float, float, float, float]]) -> None:
        self._intrinsics = model[1]

    def _on_depth(self, depth: Any) -> None:
        if not self._camera.color:
            self._take(depth, None)
            return
        time = conversions.time_from_msg(depth.header.stamp)
        for _, one, color in self._pairs.add_depth(time, depth):
            self._take(one, color)

    def _on_color(self, color: Any) -> None:
        time = conversions.time_from_msg(color.header.stamp)
        for _, depth, one in self._pairs.add_detections(time, color):
            self._take(depth, one)

    def _take(self, depth: Any, color: Any) -> None:
        self._newest = depth, color
        if not self._looking and self._intrinsics is not None:
            self._looking = True
            self._node.run(self._look(), f"look {self._camera.name}")

    async def _look(self) -> None:
        try:
            while self._newest is not None:
                (depth, color), self._newest = self._newest, None
                try:
                    found, size = await asyncio.to_thread(self._found, depth, color)
                    message = conversions.detections_to_msg(found, depth.header, size, self._name)
                except Exception as error:  # the next image may be another one
                    self._node.report_failure(f"{self._camera.name}: {self._name}", error)
                else:
                    self._out.publish(message)
                    self._node.diagnostics.count(f"{self._camera.name}.images")
        finally:
            self._looking = False

    def _found(self, depth: Any, color: Any) -> tuple[list[ImageDetection], tuple[int, int]]:
        camera = self._camera
        pixels = conversions.depth_from_msg(depth, camera.depth)
        colors = None if color is None else conversions.color_from_msg(color, camera.color)
        if colors is not None and colors.shape[:2] != pixels.shape:
            raise ValueError(
                f"{camera.color} has {colors.shape[1]} x {colors.shape[0]} px, {camera.depth} "
                f"{pixels.shape[1]} x {pixels.shape[0]} px: register the color to the depth"
            )
        assert self._intrinsics is not None  # else nothing is looked at
        time = conversions.time_from_msg(depth.header.stamp)
        frame = RgbdFrame(pixels, self._intrinsics, np.eye(4), colors, time)
        return list(self._detect(frame)), (pixels.shape[1], pixels.shape[0])


def make_nodes(options: ProcessOptions) -> list[DetectorNode]:
    """Make a node for each robot of the process."""
    return nodes_of_robots(options, DetectorNode, "detector", __doc__)


def main() -> None:
    """Run the detectors."""
    raise SystemExit(run_nodes(make_nodes))


if __name__ == "__main__":
    main()
