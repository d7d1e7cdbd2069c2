"""Has detectors look at what cameras send, and publishes what they find."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from coterie_core.detections import Detector, ImageDetection, RgbdFrame
from coterie_core.own_classes import load_class
from coterie_msgs.msg import Assignment, ImageDetections, Question
from coterie_perception.detector import ColorDetector, make_detector
from coterie_perception.settings import WatchedCamera, read_cameras
from coterie_ros import conversions
from coterie_ros.agent_node import AgentNode
from coterie_ros.main import ProcessOptions, nodes_of_robots, run_nodes
from coterie_ros.names import team_name
from coterie_ros.parameters import Parameters, ParameterSpec
from coterie_world.perception.pairing import FramePairs

_SILENT_S = 5.0
"""How long a camera may send nothing before that is told [s]."""
_SLOW_S = 2.0
"""Time that a detector may take for an image before that is told [s]."""


class PerceptionNode(AgentNode):
    """`<robot>/detector`: has detectors look at the newest images of the cameras."""

    PARAMETERS = (
        ParameterSpec(
            "cameras",
            "[]",
            "List of cameras as JSON, with name, color, topic, detector and its options; with "
            "depth and info for a class of yours.",
            json=True,
        ),
    )

    def on_setup(self, parameters: Parameters) -> None:
        """Load the detectors; cameras with the same one and the same options share it."""
        cameras = read_cameras(parameters.json("cameras"))
        if not cameras:
            raise ValueError("parameter 'cameras': no camera has a detector")
        robot = self.get_namespace().rpartition("/")[2]
        shared: dict[tuple[str, object], Detector] = {}
        self._eyes = []
        for one in cameras:
            field = f"robots: {robot}: {one.name}: detections.detector"
            key = one.detector, one.options
            if key not in shared:
                shared[key] = (
                    load_class(one.detector, field, Detector)()  # type: ignore[type-abstract]
                    if one.own
                    else make_detector(one.detector, one.options, field)
                )
            self._eyes.append(Eye(self, one, shared[key]))

    def on_start(self) -> None:
        """Listen to the cameras, and to what the team is asked for and has to do."""
        for eye in self._eyes:
            eye.listen()
        self.every(1.0, self._watch, "cameras")
        of_team = partial(team_name, self.get_namespace())
        self.subscribe(
            Question, of_team("question"), "questions", lambda asked: self._look_for([asked.object])
        )
        self.subscribe(Assignment, of_team("assignment"), "latched", self._on_assignment)

    def _on_assignment(self, given: Any) -> None:
        parts = given.sub_tasks
        self._look_for(
            [one.receptacle.label for one in parts if one.has_receptacle]
            + [one.object.label for one in parts if one.has_object]
        )

    def _look_for(self, words: Sequence[str]) -> None:
        for eye in self._eyes:
            if isinstance(eye.detector, ColorDetector):
                eye.detector.look_for(words)

    async def _watch(self) -> None:
        for eye in self._eyes:
            eye.watch()


class Eye:
    """One camera and its detector, which looks at one image at a time: the newest.

    Args:
        node: Listens and publishes.
        camera: Topics.
        detector: Looks; several cameras may share it.
    """

    def __init__(self, node: AgentNode, camera: WatchedCamera, detector: Detector) -> None:
        self._node, self._camera, self.detector = node, camera, detector
        self._name = camera.detector if camera.own else getattr(detector, "name", camera.detector)
        self._pairs: FramePairs[Any, Any, Any] = FramePairs(limit=5)
        self._intrinsics: tuple[float, float, float, float] | None = None
        self._newest: tuple[Any, Any] | None = None
        self._looking = False
        self._heard = time.monotonic()
        self._told, self._took, self._late = "", 0.0, 0.0  # [s]
        kind, self._make = _publishing(camera.type)
        self._out = node.publisher(kind, camera.topic, "detections")
        node.diagnostics.add_source(camera.name, self._figures)

    def listen(self) -> None:
        """Subscribe to the camera's topics."""
        camera, node, self._heard = self._camera, self._node, time.monotonic()
        if not camera.own:
            self._images(camera.color, lambda color: self._take(color, color))
            return
        node.subscribe(
            CameraInfo, camera.info, "sensor_data", self._on_info, latched=True,
            convert=partial(conversions.intrinsics_from_msg, topic=camera.info),
        )  # fmt: skip
        self._images(camera.depth, self._on_depth)
        if camera.color:
            self._images(camera.color, self._on_color)

    def _images(self, topic: str, use: Callable[[Any], None]) -> None:
        kind = CompressedImage if "compressed" in topic.lower() else Image
        self._node.subscribe(kind, topic, "sensor_data", use, limit=5)

    def watch(self) -> None:
        """Tell once of a camera that is silent, or a detector that is slow."""
        camera, told = self._camera, ""
        if time.monotonic() - self._heard > _SILENT_S:
            told = f"no image on {camera.depth if camera.own else camera.color}: does it run?"
        elif self._took > _SLOW_S:
            told = f"{self._name} takes more than {_SLOW_S:g} s for an image"
        if told and told != self._told:
            self._node.problem(f"{camera.name}: {told}")
        self._told = told

    def _figures(self) -> dict[str, object]:
        return {"seconds_per_image": f"{self._took:.3f}", "late_s": f"{self._late:.3f}"}

    def _on_info(self, model: tuple[tuple[int, int], tuple[float, float, float, float]]) -> None:
        self._intrinsics = model[1]

    def _on_depth(self, depth: Any) -> None:
        self._heard = time.monotonic()
        if not self._camera.color:
            self._take(depth, None)
            return
        at = conversions.time_from_msg(depth.header.stamp)
        for _, one, color in self._pairs.add_depth(at, depth):
            self._take(one, color)

    def _on_color(self, color: Any) -> None:
        at = conversions.time_from_msg(color.header.stamp)
        for _, depth, one in self._pairs.add_detections(at, color):
            self._take(depth, one)

    def _take(self, image: Any, color: Any) -> None:
        self._heard = time.monotonic()
        self._newest = image, color
        if not self._looking and (self._intrinsics is not None or not self._camera.own):
            self._looking = True
            self._node.run(self._look(), f"look {self._camera.name}")

    async def _look(self) -> None:
        pause = 1.0 / self._camera.options.max_rate
        try:
            while self._newest is not None:
                (image, color), self._newest = self._newest, None
                begun = time.monotonic()
                try:
                    found, size = await asyncio.to_thread(self._found, image, color)
                    message = self._make(found, image.header, size, self._name)
                except Exception as error:  # the next image may be another one
                    self._node.report_failure(f"{self._camera.name}: {self._name}", error)
                else:
                    self._out.publish(message)
                    self._took = time.monotonic() - begun
                    self._late = self._node.now() - conversions.time_from_msg(image.header.stamp)
                    self._node.diagnostics.count(f"{self._camera.name}.images")
                await asyncio.sleep(max(pause - (time.monotonic() - begun), 0.0))
        finally:
            self._looking = False

    def _found(self, image: Any, color: Any) -> tuple[list[ImageDetection], tuple[int, int]]:
        camera = self._camera
        if not camera.own:
            assert isinstance(self.detector, ColorDetector)
            pixels = conversions.color_from_msg(color, camera.color)
            return self.detector.detect(pixels), (pixels.shape[1], pixels.shape[0])
        depth = conversions.depth_from_msg(image, camera.depth)
        colors = None if color is None else conversions.color_from_msg(color, camera.color)
        if colors is not None and colors.shape[:2] != depth.shape:
            raise ValueError(
                f"{camera.color} has {colors.shape[1]} x {colors.shape[0]} px, {camera.depth} "
                f"{depth.shape[1]} x {depth.shape[0]} px: register the color to the depth"
            )
        assert self._intrinsics is not None  # else nothing is looked at
        at = conversions.time_from_msg(image.header.stamp)
        frame = RgbdFrame(depth, self._intrinsics, np.eye(4), colors, at)
        return list(self.detector(frame)), (depth.shape[1], depth.shape[0])


def _publishing(kind: str) -> tuple[Any, Callable[..., Any]]:
    """Return the class of messages of a type, and what makes one.

    Raises:
        ValueError: It is not installed.
    """
    if kind == "coterie_msgs/ImageDetections":
        return ImageDetections, conversions.detections_to_msg
    from coterie_ros.conversions.detections import Detection2DArray

    if Detection2DArray is None:
        raise ValueError("vision_msgs is not installed: run ./coterie setup --with robots")
    return Detection2DArray, lambda found, head, *_: conversions.detections_to_vision_msg(
        found, head
    )


def make_nodes(options: ProcessOptions) -> list[PerceptionNode]:
    """Make a node for each robot of the process."""
    return nodes_of_robots(options, PerceptionNode, "detector", __doc__)


def main() -> None:
    """Run the detectors."""
    raise SystemExit(run_nodes(make_nodes))


if __name__ == "__main__":
    main()
