"""What comes in from a real robot's sensors, handed to its Observer in a thread of its own."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from nav_msgs.msg import OccupancyGrid
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from std_msgs.msg import Header

from coterie_core import open3d_library
from coterie_core.geometry import Box, Pose, Vec3
from coterie_core.observation import Observation
from coterie_core.transforms import TransformBuffer, TransformError
from coterie_msgs.msg import ImageDetections, SemanticMap
from coterie_ros import conversions
from coterie_ros.conversions import DetectedBoxes, DetectedImage
from coterie_ros.conversions import detections as vision
from coterie_world.perception.frame_join import Boxes, DepthImage, Detections
from coterie_world.perception.registration import CameraModel
from coterie_world.scene import Receptacle, Room, SceneGraph
from robot_adapters.relay import Relay, RobotFrames, mounted
from robot_adapters.sensing.clocks import ClockCheck, ClockLimits
from robot_adapters.sensing.frames import FrameNames
from robot_adapters.sensing.grid_space import GridData, GridSpace
from robot_adapters.sensing.height_map import TeamHeightMap
from robot_adapters.sensing.map_file import read_map_file
from robot_adapters.sensing.observer import Observer, SensingError, SensingSettings
from robot_adapters.sensing.plane import MapPose
from robot_adapters.sensing.storeys import Storeys

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode
    from robot_adapters.settings import AdapterSettings
    from robot_adapters.settings_sensing import CameraSettings

_KEPT = {"images": 60, "color": 5, "detections": 50}
"""Messages of a topic that wait for the Observer's thread; the oldest go."""
T = TypeVar("T")
_STANDS = 0.06
"""What is seen so near to the place of a thing is that thing [m]; its neighbors are farther."""
_CYCLE = 0.05
"""Time between rounds of the Observer's thread, at least [s]."""
_ALIGN_PERIOD = 5.0
"""Time between tries to find the robot's map in the team's [s]."""
_REST = 4.0
"""A map that took some time to use is used again only after so many times that time."""
_FROM_NEAR = 1.5
"""A robot that saw a thing from no farther knows better than the map where it is [m]."""
_DETECTOR_PATIENCE = 10.0
"""How long a detector may take for images that are waited for [s]."""
_LOOK_PATIENCE = 3.0
"""How long an observation waits for a detector that takes a second for an image [s]."""
_UNSTEADY = 2.0
"""How long after a jump of localization the team gets no images [s]."""
_MAPS_KEPT = 1
"""Maps of a topic that wait for the Observer's thread; the oldest go."""


def read_grid(message: OccupancyGrid, topic: str) -> GridData:
    """Return a floor's grid."""
    values, cell, origin = conversions.grid_from_msg(message, topic)
    return GridData(values, cell, origin, message.header.frame_id, topic=topic)


def read_model(message: CameraInfo, topic: str) -> tuple[CameraModel, CameraInfo]:
    """Return a camera's model, and the message, which is passed on."""
    return CameraModel(*conversions.intrinsics_from_msg(message, topic)), message


class Cameras:
    """Hands what cameras and detectors send to the robot's sensors.

    Args:
        node: Listens.
        settings: Topics.
        sensors: The robot's.
        relay: Passes it on to the team.

    Attributes:
        on_depth: Called, in the loop, with every camera's name, depth image and model.
    """

    def __init__(
        self, node: AgentNode, settings: AdapterSettings, sensors: Sensors, relay: Relay
    ) -> None:
        self._node, self._settings, self._sensors, self._relay = node, settings, sensors, relay
        self.on_depth: list[Callable[[str, DepthImage, CameraModel], object]] = []
        self._models: dict[str, CameraModel] = {}
        self._detectors: dict[str, CameraModel] = {}  # of images that detectors see
        self._labels: dict[str, dict[str, str]] = {}
        self._mounted: dict[str, str] = {}  # cameras with a mount -> their optical frames
        self._told: dict[str, dict[str, str]] = {}  # camera -> topic -> frame of its images
        self._colors: dict[str, tuple[float, str, Any]] = {}  # camera -> stamp, topic, newest image
        for camera in settings.sensors.all_cameras():
            open3d_library.load()  # so that the first image holds nothing up
            if camera.mount is not None:
                frame = relay.own(f"{camera.name}_mounted_optical_frame")
                self._mounted[camera.name] = frame
                place = mounted(camera.mount, settings.frames.base, frame, optical=True)
                sensors.on_fixed([place], ours=True)
            self._hear_camera(camera)

    def _frame(self, camera: CameraSettings, topic: str, head: Header) -> str:
        """Return the optical frame of an image: with a mount the camera's own, else as told."""
        self._told.setdefault(camera.name, {})[topic] = head.frame_id.lstrip("/")
        return self._mounted.get(camera.name, head.frame_id)

    def _frame_of_boxes(self, camera: CameraSettings, frame: str) -> str:
        """Return the frame of boxes in space: the mounted camera's, where they are told in it."""
        told, names = self._told.get(camera.name, {}).values(), self._settings.frames
        frame = frame.lstrip("/")
        # Of a camera without images nothing else tells the optical frame.
        alone = not told and not camera.depth and frame not in (names.map, names.odom, names.base)
        return self._mounted.get(camera.name, frame) if alone or frame in told else frame

    def _hear_camera(self, camera: CameraSettings) -> None:
        node, found = self._node, camera.detections
        for topic, detector in ((camera.info, False), (found.info, True)):
            if topic:
                node.subscribe(
                    CameraInfo, topic, "sensor_data", partial(self._on_info, camera, detector),
                    convert=partial(read_model, topic=topic), latched=True,
                )  # fmt: skip
        images = partial(node.subscribe, limit=_KEPT["images"],
                         rate=self._settings.sensors.max_rate)  # fmt: skip
        for topic, use in ((camera.depth, self._on_depth), (camera.color, self._on_color)):
            if topic:
                packed = "compressed" in topic.lower()
                kind = CompressedImage if packed else Image
                images(kind, topic, "sensor_data", partial(use, camera))
        if found.topic:
            self._hear_detections(camera)

    def _hear_detections(self, camera: CameraSettings) -> None:
        node, found, table = self._node, camera.detections, dict(camera.detections.labels)
        self._labels[camera.name] = table
        kind, package = conversions.detection_type(found.type), found.type.partition("/")[0]
        if kind is None:
            raise ValueError(
                f"sensors: {found.topic} sends {found.type}, and {package} is not installed: "
                f"install it, for example ros-jazzy-{package.replace('_', '-')}; ./coterie setup "
                "--with robots builds vision_msgs and yolo_msgs"
            )
        if found.label_info and found.type.startswith("vision_msgs/"):
            node.subscribe(
                vision.LabelInfo, found.label_info, "latched", table.update,
                convert=partial(conversions.labels_from_msg, topic=found.label_info),
            )  # fmt: skip
        work: Callable[..., None] = self._on_boxes if found.in_space else self._on_found
        named = {} if kind is ImageDetections else {"labels": table}
        read = partial(
            conversions.DETECTION_READERS[found.type], topic=found.topic,
            frame=self._mounted.get(camera.name, ""), skip=partial(self._on_skipped, found.topic),
            **named,
        )  # fmt: skip
        node.subscribe(
            kind, found.topic, "detections", partial(work, camera),
            convert=read, limit=_KEPT["detections"],
        )  # fmt: skip

    def _on_info(
        self, camera: CameraSettings, detector: bool, read: tuple[CameraModel, CameraInfo]
    ) -> None:
        model, message = read
        topic = camera.detections.info if detector else camera.info
        message.header.frame_id = self._frame(camera, topic, message.header)
        if not detector:
            self._models[camera.name] = model
            self._relay.info(camera, message)
        else:
            self._detectors[camera.name] = model
        work = partial(self._sensors.observer.feed_info, camera.name, model, detector=detector)
        self._sensors.feed(f"{camera.name} info {detector}", 1, work)

    def _on_depth(self, camera: CameraSettings, message: Any) -> None:
        stamp = conversions.time_from_msg(message.header.stamp)
        if not self._sensors.trusted(camera.depth, stamp):
            return
        # Read when it is used, if it is: most images of a fast camera are not.
        read = partial(conversions.depth_from_msg, message, camera.depth)
        image = DepthImage(read, self._frame(camera, camera.depth, message.header), stamp)
        if camera.name in self._models:
            image = self._sensors.observer.own_arm.cleared(image, self._models[camera.name])
        if self._sensors.steady:
            self._relay.depth(camera, image)
        if camera.name in self._models:
            for callback in self.on_depth:
                callback(camera.name, image, self._models[camera.name])
        now = self._node.now()
        work = partial(self._sensors.observer.add_depth, camera.name, image, now)
        self._sensors.feed(camera.depth, _KEPT["images"], work)

    def _on_color(self, camera: CameraSettings, message: Any) -> None:
        """Pass on a color image; read in the Observer's thread, if anybody listens."""
        stamp = conversions.time_from_msg(message.header.stamp)
        self._colors[camera.name] = stamp, camera.color, message
        if self._relay.wants_color(camera) and self._sensors.trusted(camera.color, stamp):
            message.header.frame_id = self._frame(camera, camera.color, message.header)
            work = partial(self._relay.color, camera, message)
            self._sensors.feed(camera.color, _KEPT["color"], work)

    def pictures(self, since: float) -> list[npt.NDArray[np.uint8]]:
        """Return the newest color image of each camera, (rows, cols, 3), of a time [s] or later."""
        found = []
        for stamp, topic, message in list(self._colors.values()):
            if stamp >= since:
                try:
                    found.append(conversions.color_from_msg(message, topic))
                except ValueError as error:
                    self._node.diagnostics.warn(f"{topic}: {error}")
        return found

    def _on_skipped(self, topic: str, error: ValueError) -> None:
        """Count a detection that cannot be used, and say so of the first; the others are used."""
        if self._node.diagnostics.count(f"{topic}.skipped") == 1:
            self._node.problem(f"{topic}: a detection was left out: {error}")

    def _on_found(self, camera: CameraSettings, found: DetectedImage) -> None:
        topic, observer = camera.detections.topic, self._sensors.observer
        if not self._sensors.trusted(topic, found.time):
            return
        frame, size = self._mounted.get(camera.name, found.frame), (found.width, found.height)
        model = self._detectors.get(camera.name, self._models.get(camera.name))
        if model is not None and all(size):
            model = model.scaled(size)
        others = observer.own_arm.in_image(found.detections, frame, model)
        found = replace(found, frame=frame, detections=others)
        self._relay.detections(camera, found)
        items = Detections(others, frame, found.time, size)
        if camera.depth:
            work = partial(observer.add_detections, camera.name, items, self._node.now())
        else:
            work = partial(observer.feed_labels, items)
        self._sensors.feed(topic, _KEPT["detections"], work)

    def _on_boxes(self, camera: CameraSettings, found: DetectedBoxes) -> None:
        topic = camera.detections.topic
        if self._sensors.trusted(topic, found.time):
            frame = self._frame_of_boxes(camera, found.frame)
            others = self._sensors.observer.own_arm.in_space(found.boxes, frame)
            found = replace(found, frame=frame, boxes=others)
            if self._sensors.steady:
                self._relay.boxes(camera, found)
            items = Boxes(others, frame, found.time)
            add, now = self._sensors.observer.add_boxes, self._node.now()
            work = partial(add, camera.name, items, now)
            self._sensors.feed(topic, _KEPT["detections"], work)


class Sensors:
    """Subscriptions of a robot's sensors, and its Observer, which one thread alone uses.

    Args:
        node: Listens; made in its `on_start`.
        settings: Topics and frames.
        radius: Radius of the robot's body [m].
        team_map: Topic of the team's semantic map; "": there is none.
        robot: The robot's name; "": that of the node's namespace.
        rooms: Rooms that a person drew, in the team's map.
        floors: Those that the team file gives.

    Raises:
        MapFileError: The map's file cannot be used.
    """

    def __init__(
        self,
        node: AgentNode,
        settings: AdapterSettings,
        radius: float,
        team_map: str = "",
        robot: str = "",
        rooms: Sequence[Room] = (),
        floors: Storeys | None = None,
    ) -> None:
        self._node, self._settings = node, settings
        robot = robot or node.get_namespace().rpartition("/")[2]
        frames, given = settings.frames, settings.in_team_map
        self.transforms = TransformBuffer()
        self.clocks = ClockCheck(ClockLimits(ahead=settings.sensors.max_offset))
        self.observer = Observer(
            SensingSettings(
                radius=radius,
                names=FrameNames(frames.map, frames.base, frames.odom),
                map_pose=None
                if given == "match"
                else MapPose(given.x, given.y, given.yaw, given.z),
                min_views=settings.sensors.min_views,
                region_prefix=f"{robot}_",
                storeys=floors or Storeys(),
            ),
            self.transforms,
        )
        self._worker = ThreadPoolExecutor(1, f"sensing {node.get_fully_qualified_name()}")
        node.at_end(lambda: self._worker.shutdown(wait=False, cancel_futures=True))
        self._inbox: OrderedDict[str, deque[Callable[[], object]]] = OrderedDict()
        self._busy = False
        self._map_due = self._align_due = 0.0
        self._on_map: list[Callable[[], object]] = []
        node.every(_CYCLE, self._round, "sensing")
        self._relay = Relay(node, settings, robot)
        self._frames = RobotFrames(node, frames, self.transforms, self._relay, self.trusted)
        if topic := settings.sensors.map_topic:
            node.subscribe(OccupancyGrid, topic, "latched", self._on_grid, limit=5)
        self._team_objects: list[tuple[str, str, Box]] = []
        self._team_surfaces: dict[str, tuple[Receptacle, ...]] = {}
        if team_map:
            node.subscribe(SemanticMap, team_map, "latched", self._on_team_map,
                           convert=partial(conversions.scene_from_msg, topic=team_map))  # fmt: skip
        self._placed: MapPose | None = None
        self._place()
        if rooms:
            self.feed("rooms", 1, partial(self.observer.feed_rooms, rooms))
        if settings.sensors.map_file:  # after the rooms, which part it
            grid = read_map_file(Path(settings.sensors.map_file), frames.map)
            self.feed("map", _MAPS_KEPT, partial(self._use_grid, grid))
        self.cameras = Cameras(node, settings, self, self._relay)
        self._said_blind, self._patient_until = "", time.monotonic() + _DETECTOR_PATIENCE
        node.every(1.0, self._tell_blind, "detectors")

    # -- what agents are told ------------------------------------------------------------------

    def on_map(self, callback: Callable[[], object]) -> None:
        """Call something, in the loop, now and whenever places or rooms have changed."""
        self._on_map.append(callback)
        self._node.loop.call(callback)  # a saved map may have been read before somebody asked

    async def observation(self, robot: str, step: int) -> Observation:
        """Return what it perceives now: while detectors are silent, no place counts as seen.

        Raises:
            SensingError: It is not known where it is.
        """
        now, taken = self._node.now(), self._taken()

        def look() -> Observation:
            self._use(taken)
            seen = self.observer.observation(robot, step, now)
            return replace(seen, place="", neighbours=(), seen={}) if self.blind else seen

        try:
            return await self._do(look)
        except SensingError as error:
            raise self._because(error) from None

    async def in_view(self) -> set[str] | None:
        """Return labels that the next images show; None: no detections come, or too seldom."""
        since = self._node.now()
        await self._looked(since, _DETECTOR_PATIENCE)
        return await self._do(partial(self.observer.in_view, since))

    async def look(self, *, quick: bool = False) -> None:
        """Wait for the images of the last moment, and for what a detector says of them.

        As many are waited for as have to show a thing: who drives on after a fixed time misses what
        a detector is too slow for.

        Args:
            quick: Do not wait for the detector. Nobody waits for one that has told nothing of late.
        """
        since = self._node.now()
        listens = not quick and self.observer.looks.heard(since - _DETECTOR_PATIENCE)
        await self._looked(since, _LOOK_PATIENCE if listens else 0.0)

    async def _looked(self, since: float, patience: float) -> None:
        """Wait so long [s] until a detector has looked at enough images since a time [s]."""
        end = time.monotonic() + patience
        await asyncio.sleep(self._settings.sensors.settle)

        def enough(taken: list[tuple[str, Callable[[], object]]]) -> bool:
            self._use(taken)
            looks, objects = self.observer.looks, self.observer.objects
            # What one image showed may show again: detectors miss small things now and then.
            return looks.enough(since, twice=objects.unconfirmed(since))

        while time.monotonic() < end and not await self._do(partial(enough, self._taken())):
            await asyncio.sleep(_CYCLE)

    def taken(self, label: str, position: Vec3) -> None:
        """Forget having seen a thing at a point of the team's map: the robot has taken it."""
        own = self._map_pose.to_robot(position)
        self.feed("taken", 10, partial(self.observer.objects.drop, label, own))
        self.feed("taken", 10, partial(self.observer.height_map.clear, own))

    async def stands(self, label: str, place: Vec3, within: float = _STANDS) -> bool:
        """Look once more; tell whether images since now show a thing at a place of the map [m]."""
        since, own = self._node.now(), self._map_pose.to_robot(place)
        await self.look()
        return any(
            one.label == label and math.dist(one.box.center, own) <= within
            for one in self.observer.objects.told(since)
        )

    def pose(self) -> Pose:
        """Return where the robot is in the team's map.

        Raises:
            SensingError: It is not known.
        """
        try:
            return self.observer.pose(self._node.now())
        except SensingError as error:
            raise self._because(error) from None

    def _because(self, error: SensingError) -> SensingError:
        """Name the clock that is off where that is why nothing is known of the robot."""
        off = [text for topic, text in self.clocks.suspects.items() if topic.startswith("tf ")]
        return SensingError(f"the robot is not located: {off[0]}") if off else error

    def floor_trouble(self, there: Vec3) -> str:
        """Return why the robot cannot get to a point of the team's map by its floor; "": it may."""
        try:
            return self.observer.map.storeys.trouble(self.pose().position, there)
        except SensingError:
            return ""

    async def caught_up(self, time: float, patience: float = 1.0) -> None:
        """Wait until tf tells where the robot was at a time [s], for so long at most [s]."""
        end = asyncio.get_running_loop().time() + patience
        frames = self._settings.frames
        while asyncio.get_running_loop().time() < end:
            try:
                if self.transforms.latest(frames.map, frames.base) >= time:
                    return
            except TransformError:
                pass
            await asyncio.sleep(0.02)

    def problems(self) -> list[str]:
        """Return what is wrong with sensors now, one line each."""
        blind = filter(None, [self._said_blind])
        return [*self.clocks.problems.values(), *self.observer.problems(), *blind]

    @property
    def blind(self) -> str:
        """Why nothing is known of what is there, where detectors are to tell ("": it is known)."""
        cameras, memory = self._settings.sensors.all_cameras(), self.observer.settings.memory
        topics = [camera.detections.topic for camera in cameras if camera.detections.topic]
        return self.observer.looks.silence(topics, self._node.now(), memory)

    def _tell_blind(self) -> None:
        """Tell once that detectors say nothing, when they have had time to start."""
        blind = self.blind if time.monotonic() >= self._patient_until else ""
        if blind and not self._said_blind:
            self._node.problem(blind)
        self._said_blind = blind

    def figures(self) -> dict[str, object]:
        """Return numbers for the diagnostics."""
        return {**self.observer.figures(), "waiting": sum(len(q) for q in self._inbox.values())}

    # -- Whereabouts ---------------------------------------------------------------------------

    @property
    def map_frame(self) -> str:
        """Name of the robot's map frame."""
        return self._settings.frames.map

    @property
    def base_frame(self) -> str:
        """Name of the robot's base frame."""
        return self._settings.frames.base

    @property
    def _map_pose(self) -> MapPose:
        pose = self.observer.map.pose
        if pose is None:
            raise SensingError("where this robot's map lies in the team's is not known yet")
        return pose

    def to_robot_map(self, pose: Pose) -> Pose:
        """Return a pose of the team's map in the robot's."""
        return self._map_pose.pose_to_robot(pose)

    def to_team_map(self, point: Vec3) -> Vec3:
        """Return a point of the robot's map in the team's."""
        return self._map_pose.to_team(point)

    def free_points(self, position: Vec3, tolerance: float) -> list[Vec3]:
        """Return points within a tolerance [m] where the robot may stand, the best to try first."""
        own = here = self._map_pose.to_robot(position)
        try:
            here = self._map_pose.to_robot(self.pose().position)
        except SensingError:
            pass
        points = self.observer.map.stands(own, tolerance, here)
        return [self._map_pose.to_team(point) for point in points]

    def space_at(self, position: Vec3) -> GridSpace | None:
        """Return the floor at a point of the robot's map [m]; None: no map came."""
        floor = self.observer.map.floor_at(position)
        return None if floor is None else floor.space

    def on_depth(self, callback: Callable[[str, DepthImage, CameraModel], object]) -> None:
        """Call something, in the loop, with every depth image, its camera's name and model."""
        self.cameras.on_depth.append(callback)

    def objects(self, radius: float) -> list[tuple[str, str, Box]]:
        """Return objects near the robot [m]: of the team's map, else those that it saw itself."""
        try:
            here = self.pose().position
        except SensingError:
            return []
        found = [one for one in self._team_objects if math.dist(one[2].center, here) <= radius]
        if self._team_objects:
            return found
        for k, track in enumerate(list(self.observer.objects.items)):
            box = self._map_pose.box_to_team(track.box)
            if math.dist(box.center, here) <= radius:
                found.append((f"seen_{k}", track.label, box))
        return found

    def surfaces(self, id_: str) -> tuple[Receptacle, ...]:
        """Return the open support surfaces that the team's map has of an object."""
        return self._team_surfaces.get(id_, ())

    def seen(self, label: str, position: Vec3, within: float) -> Box | None:
        """Return a thing as the robot saw it of late from near by; None where it did not."""
        own = self._map_pose.to_robot(position)
        near = [
            (math.dist(track.box.center, own), track.box)
            for track in list(self.observer.objects.items)
            if track.label == label and track.distance <= _FROM_NEAR
        ]
        off, box = min(near, key=lambda item: item[0], default=(math.inf, None))
        return None if box is None or off > within else self._map_pose.box_to_team(box)

    @property
    def height_map(self) -> TeamHeightMap:
        """Heights that the robot saw of late, in the team's map."""
        return TeamHeightMap(self.observer.height_map, self._map_pose, self.pose().position)

    # -- in the loop's thread ------------------------------------------------------------------

    async def _do(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    def feed(self, what: str, most: int, work: Callable[[], object]) -> None:
        """Let something wait for the Observer's thread; of a topic that floods the newest stay."""
        waiting = self._inbox.setdefault(what, deque(maxlen=most))
        if len(waiting) == most:
            self._node.diagnostics.count(f"{what}.dropped")
        waiting.append(work)

    def _taken(self) -> list[tuple[str, Callable[[], object]]]:
        """Take what waits, in the order of topics and in each in the order it came."""
        return [(what, queue.popleft()) for what, queue in self._inbox.items() for _ in list(queue)]

    async def _round(self) -> None:
        """Use what has come since the last round; rounds never overlap."""
        if self._busy or not any(self._inbox.values()):
            return
        self._busy = True
        try:
            await self._do(partial(self._use, self._taken()))
        finally:
            self._busy = False

    def _use(self, taken: list[tuple[str, Callable[[], object]]]) -> None:
        """Hand to the Observer what has come; in its thread."""
        for what, work in taken:
            try:
                work()
            except (TransformError, SensingError, ValueError) as error:
                self._node.diagnostics.count(f"{what}.unused")
                self._node.diagnostics.warn(f"{what}: {error}")
        now = time.monotonic()
        self.observer.work(self._node.now())
        if self.observer.finder is not None and now >= self._align_due:
            self._align_due = now + _ALIGN_PERIOD
            if self.observer.align():
                self._changed()

    def _changed(self) -> None:
        """Tell those who want to know that places, rooms or the map's pose changed; any thread."""
        for callback in (self._place, *self._on_map):
            self._node.loop.call(callback)

    @property
    def steady(self) -> bool:
        """Whether localization has not jumped of late: else others would map things displaced."""
        jump = self.observer.last_jump
        return jump is None or self._node.now() - jump.time > _UNSTEADY

    def trusted(self, topic: str, stamp: float, ahead: float = 0.0) -> bool:
        """Whether a stamp [s] fits to this computer's clock; says once where it does not."""
        now = self._node.now()
        if now <= 0.0:
            return False  # a simulator's clock has not come yet: nothing is known of its stamps
        if self.clocks.passes(topic, stamp, now, ahead, time.monotonic()):
            return True
        self._node.diagnostics.count(f"{topic}.clock")
        if news := self.clocks.news(topic):
            self._node.problem(news)
        return False

    def on_fixed(self, transforms: Any, *, ours: bool = False) -> None:
        """Take transforms that hold at all times; ours: which the robot itself does not tell."""
        self._frames.fix(transforms, ours=ours)

    def _on_grid(self, message: OccupancyGrid) -> None:
        """Take the newest map; one that takes long to use is not used at once again."""
        topic = self._settings.sensors.map

        def work() -> None:
            begun = time.monotonic()
            if begun < self._map_due:
                # Again next time, unless a newer one has come by then.
                self._node.loop.call(self._keep_map, work)
                return
            self._use_grid(read_grid(message, topic))
            self._map_due = time.monotonic() + _REST * (time.monotonic() - begun)

        self.feed("map", _MAPS_KEPT, work)

    def _use_grid(self, grid: GridData) -> None:
        if self.observer.feed_grid(grid):
            self._changed()

    def _keep_map(self, work: Callable[[], object]) -> None:
        if not self._inbox["map"]:
            self._inbox["map"].append(work)

    def _place(self) -> None:
        """Say where the robot's map lies in the team's, when that is news."""
        pose = self.observer.map.pose
        if pose is not None and pose != self._placed:
            self._placed = pose
            self._relay.place(pose)

    def _on_team_map(self, scene: SceneGraph) -> None:
        self._team_objects = [
            (thing.id, thing.label.top, thing.box)
            for thing in scene.objects.values()
            if thing.box.volume > 0.0
        ]
        self._team_surfaces = {
            thing.id: tuple(r for r in thing.receptacles if not r.inside or thing.is_open)
            for thing in scene.objects.values()
        }

        def work() -> None:
            if self.observer.feed_team_map(scene):
                self._changed()

        self.feed("team map", _MAPS_KEPT, work)
