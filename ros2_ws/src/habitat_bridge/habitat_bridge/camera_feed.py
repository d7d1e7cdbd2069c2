"""Images and detections of simulated cameras, as far as somebody listens to them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from coterie_core.detections import ImageDetection
from coterie_ros.robot_publishers import CHANNELS, CameraPublishers, RobotPublishers
from habitat_bridge.image_detector import detector_of
from habitat_bridge.simulator import Frame, FrameRequest, Simulator


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
