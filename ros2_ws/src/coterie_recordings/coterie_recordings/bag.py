"""Recordings of ROS 2: MCAP files and rosbag2 folders, read without ROS."""

from __future__ import annotations

import bisect
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml
from numpy.typing import NDArray

from coterie_core.detections import BoxDetection, ImageDetection, RgbdFrame
from coterie_core.files import LFS_REMEDY, is_lfs_pointer
from coterie_core.transforms import TransformBuffer, TransformError
from coterie_core.yaml_marks import read_yaml
from coterie_recordings.bag_files import Db3File, Found, McapFile, Where
from coterie_recordings.bag_images import (
    COLORS,
    DEPTHS,
    camera_of,
    color_of,
    depth_of,
    detections_of,
)
from coterie_recordings.images import resampled
from coterie_recordings.ros_types import (
    BOXES_2D,
    BOXES_3D,
    CAMERA_INFO,
    COMPRESSED,
    DETECTIONS,
    IMAGE,
    TF,
    TYPES,
    decode,
)
from coterie_recordings.types import RecordedFrame, RecordingError
from coterie_world.perception.boxes import masked
from coterie_world.scene import SceneError, SceneGraph, from_json

TOGETHER = 0.05
"""Images and detections of one moment: their stamps differ by no more than this [s]."""
_MAPS = ("map", "world", "odom")
_MOST_MESSAGES = 5_000_000


@dataclass(frozen=True, slots=True)
class BagTopics:
    """Which topics to read; "" finds them by type.

    With several depth cameras and no `depth` given, all of them are read; `map_frame` is the frame
    that poses are wanted in ("": map, else world, else odom).
    """

    depth: str = ""
    color: str = ""
    camera_info: str = ""
    detections: str = ""
    map_frame: str = ""


@dataclass(slots=True)
class _Item:
    """A message of a topic: stamp [s], which file, where in it."""

    time: float
    file: int
    where: Where


@dataclass(slots=True)
class _Topic:
    """The messages of a topic in the order of their stamps."""

    name: str
    type: str
    frame: str
    encoding: str = ""
    items: list[_Item] = field(default_factory=list)

    @property
    def is_depth(self) -> bool:
        """Whether it carries depth images."""
        return self.encoding in DEPTHS or "compressedDepth" in self.encoding

    @property
    def is_color(self) -> bool:
        """Whether it carries colour images."""
        packed = self.type == COMPRESSED and not self.is_depth
        return packed or self.encoding in COLORS


@dataclass(frozen=True, slots=True)
class _Moment:
    """A frame to be: the depth image's place, and those of what belongs to it."""

    depth: tuple[_Topic, _Item] | None
    color: tuple[_Topic, _Item] | None
    found: tuple[_Topic, _Item] | None


class BagRecording:
    """An MCAP or .db3 file, or the folder of a rosbag2; images are read when a frame is asked for.

    Args:
        path: File or folder.
        topics: Which topics; default: found by type.

    Raises:
        RecordingError: No bag, no images, compressed as a whole, or topics that are not there.
    """

    def __init__(self, path: Path, topics: BagTopics | None = None) -> None:
        self.path = path
        self.name = path.resolve().stem if path.is_file() else path.resolve().name
        self.scene: SceneGraph | None = None
        self._problems: list[str] = []
        self._wanted = topics or BagTopics()
        self._files: list[McapFile | Db3File] = [_open(file) for file in _files_of(path)]
        self._topics: dict[str, _Topic] = {}
        self._infos: dict[str, tuple[float, float, float, float]] = {}
        # By the namespace of their topics: robots may name their frames alike.
        self._trees: defaultdict[str, TransformBuffer] = defaultdict(
            partial(TransformBuffer, keep=math.inf, most=_MOST_MESSAGES)
        )
        self._scan()
        self._join_trees()
        self._map = self._map_frame()
        self._moments = self._pair()

    @property
    def problems(self) -> tuple[str, ...]:
        """What was cut off or skipped."""
        return tuple(self._problems)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self._moments)

    def __getitem__(self, index: int) -> RecordedFrame:
        """Read a frame.

        Raises:
            IndexError: Beyond the end.
            RecordingError: A damaged message.
        """
        if index < 0:
            index += len(self)
        moment = self._moments[index]
        main = moment.depth or moment.color
        assert main is not None
        topic, item = main
        color = None
        if moment.color is not None:
            color = color_of(self._message(*moment.color), self._source(moment.color[0]))
        robot = _robot(topic.name)
        if moment.depth is None:
            assert color is not None
            rows, cols = color.shape[:2]
            camera = self._infos.get(_info_name(topic.name)) or (
                float(cols), float(cols), cols / 2.0, rows / 2.0,
            )  # fmt: skip
            blind = np.zeros((rows, cols), dtype=np.float32)
            frame = RgbdFrame(blind, camera, np.eye(4), color, item.time, robot)
            return RecordedFrame(f"{index:06d}", frame)
        depth = depth_of(self._message(topic, item), self._source(topic))
        camera = self._camera(topic)
        if color is not None and moment.color is not None:
            other = self._camera(moment.color[0], camera)
            if color.shape[:2] != depth.shape or other != camera:
                color = resampled(color, other, depth.shape, camera)
        pose = self._pose(topic, item)
        found = None
        if moment.found is not None:
            found = self._found(moment, depth, camera)
        frame = RgbdFrame(depth, camera, pose, color, item.time, robot)
        return RecordedFrame(f"{index:06d}", frame, found)

    def _found(
        self, moment: _Moment, depth: NDArray[np.float32], camera: tuple[float, float, float, float]
    ) -> tuple[ImageDetection, ...]:
        """What was found at a moment, in pixels of its depth image."""
        assert moment.found is not None and moment.depth is not None
        topic, item = moment.found
        message, source = self._message(topic, item), self._source(topic)
        if topic.type == BOXES_2D:
            seen = moment.color[0] if moment.color is not None else None
            # Boxes of the color image, where that is another camera's.
            other = self._camera(seen, camera) if seen and seen.frame == topic.frame else None
            return boxes_2d(message, source, other, camera)
        if topic.type == BOXES_3D:
            try:
                to_map = self._pose(topic, item)
            except TransformError as error:
                raise RecordingError(source, str(error), "record /tf and /tf_static") from None
            pose = self._pose(*moment.depth)
            frame = RgbdFrame(depth, camera, pose)
            return boxes_3d(message, source, frame, np.linalg.inv(pose) @ to_map)
        return detections_of(message, source)

    # -- reading ------------------------------------------------------------------------------

    def _scan(self) -> None:
        """Go through all files once: note where images are, keep transforms and cameras."""
        broken: Counter[str] = Counter()
        count = 0
        for number, file in enumerate(self._files):
            for found in file.scan(frozenset(TYPES)):
                count += 1
                if count > _MOST_MESSAGES:
                    raise RecordingError(self.path, f"over {_MOST_MESSAGES} messages", "split it")
                try:
                    self._note(number, found)
                except (RecordingError, ValueError, LookupError, TypeError, OverflowError) as error:
                    if not broken[found.topic]:
                        self._problems.append(f"{found.topic}: a bad message left out ({error})")
                    broken[found.topic] += 1
            self._problems += file.problems
            self._read_scene(file.attachments.get("scene.json"))
        self._problems += [f"{n}: {k} bad messages in all" for n, k in broken.items() if k > 1]
        for topic in self._topics.values():
            topic.items.sort(key=lambda item: item.time)

    def _note(self, number: int, found: Found) -> None:
        message = decode(found.type, found.data)
        if found.type == TF:
            tree = self._trees[found.topic.strip("/").rpartition("/")[0]]
            fixed = found.topic.endswith("tf_static")
            for one in message.transforms:
                p, q = one.transform.translation, one.transform.rotation
                parent, child = one.header.frame_id, one.child_frame_id
                spot, turn = (p.x, p.y, p.z), (q.x, q.y, q.z, q.w)
                tree.add(parent, child, spot, turn, _seconds(one), fixed=fixed)
            return
        if found.type == CAMERA_INFO:
            if found.topic not in self._infos:  # a camera's model does not change on its way
                self._infos[found.topic] = camera_of(message, found.topic)
            return
        if found.topic not in self._topics:
            told = {IMAGE: "encoding", COMPRESSED: "format"}.get(found.type)
            self._topics[found.topic] = _Topic(
                found.topic,
                found.type,
                message.header.frame_id.lstrip("/"),
                getattr(message, told) if told else "",
            )
        item = _Item(_seconds(message), number, found.where)
        self._topics[found.topic].items.append(item)

    def _read_scene(self, data: bytes | None) -> None:
        if data is not None:
            try:
                self.scene = from_json(data, "scene.json")
            except SceneError as error:
                self._problems.append(f"scene.json not used: {str(error)[:300]}")

    def _message(self, topic: _Topic, item: _Item) -> Any:
        data = self._files[item.file].read(item.where)
        try:
            return decode(topic.type, data)
        except ValueError as error:
            raise RecordingError(
                self._source(topic), f"a message at {item.time:.3f} s is damaged ({error})"
            ) from None

    def _source(self, topic: _Topic) -> str:
        return f"{self.path}: {topic.name}"

    def _camera(
        self, topic: _Topic, default: tuple[float, float, float, float] | None = None
    ) -> tuple[float, float, float, float]:
        name = self._wanted.camera_info or _info_name(topic.name)
        found = self._infos.get(name) or default
        if found is None:
            raise RecordingError(
                self._source(topic), f"no CameraInfo on {name}", "record it, or name its topic"
            )
        return found

    # -- which belongs to which ---------------------------------------------------------------

    def _pair(self) -> list[_Moment]:
        depths = self._choose(self._wanted.depth, [t for t in self._topics.values() if t.is_depth])
        colors = self._choose(self._wanted.color, [t for t in self._topics.values() if t.is_color])
        found = [t for t in self._topics.values() if t.type in (DETECTIONS, BOXES_2D, BOXES_3D)]
        found = self._choose(self._wanted.detections, found)
        if not depths and not colors:
            raise RecordingError(
                self.path,
                "; ".join(["no images in it", *self._problems[:3]]),
                "record sensor_msgs/Image or CompressedImage with their camera_info and /tf",
            )
        if not depths:
            self._problems.append(
                "color only: no depth images; questions can be answered from the frames, and no "
                "map can be made"
            )
            one = colors[0]
            return [_Moment(None, (one, item), None) for item in one.items]
        if len({id(self._tree(topic)) for topic in depths}) > 1:
            self._check_team(depths)
        moments = []
        for topic in depths:
            if (self._wanted.camera_info or _info_name(topic.name)) not in self._infos:
                self._problems.append(
                    f"{topic.name}: not read: no CameraInfo on {_info_name(topic.name)}"
                )
                continue
            color, boxes = _partner(topic, colors), _partner(topic, found)
            lost = 0
            for item in topic.items:
                try:
                    self._pose(topic, item)
                except TransformError as error:
                    if not lost:
                        self._problems.append(
                            f"{topic.name}: frames without pose left out: {error}"
                        )
                    lost += 1
                    continue
                moments.append(
                    _Moment((topic, item), _nearest(color, item.time), _nearest(boxes, item.time))
                )
            if lost:
                self._problems.append(f"{topic.name}: {lost} of {len(topic.items)} frames left out")
        moments.sort(key=lambda m: m.depth[1].time if m.depth else 0.0)
        return moments

    def _choose(self, name: str, topics: list[_Topic]) -> list[_Topic]:
        if not name:
            return topics
        chosen = [t for t in topics if t.name == name]
        if not chosen:
            known = ", ".join(sorted(t.name for t in topics)) or "none"
            raise RecordingError(self.path, f"no such topic {name!r}", f"of that kind are: {known}")
        return chosen

    def _map_frame(self) -> str:
        if self._wanted.map_frame:
            return self._wanted.map_frame
        parents = {k: v for tree in self._trees.values() for k, v in tree.parents.items()}
        for name in _MAPS:
            if name in parents or name in parents.values():
                if name == "odom":
                    self._problems.append("no frame 'map': poses are in 'odom', which drifts")
                return name
        if roots := sorted({*parents.values()} - {*parents}):
            self._problems.append(
                "no frame 'map', 'world' or 'odom'; the transforms begin at "
                f"{', '.join(map(repr, roots[:8]))}: choose the frame of the map (--map-frame)"
            )
        return _MAPS[0]

    def _join_trees(self) -> None:
        """Make one tree of all transforms, or one of each namespace where they share names."""
        common = self._trees.pop("", None) or TransformBuffer()
        times = Counter(frame for tree in self._trees.values() for frame in tree.parents)
        if max(times.values(), default=0) > 1:
            for tree in self._trees.values():
                tree.include(common)
        else:
            for tree in self._trees.values():
                common.include(tree)
            self._trees.clear()
        self._trees[""] = common

    def _tree(self, topic: _Topic) -> TransformBuffer:
        """The transforms of a topic's namespace, else the only ones that know its frame."""
        space = topic.name.strip("/")
        while space := space.rpartition("/")[0]:
            if space in self._trees:
                return self._trees[space]
        knowing = [tree for tree in self._trees.values() if topic.frame in tree.parents]
        return knowing[0] if len(knowing) == 1 else self._trees[""]

    def _check_team(self, depths: list[_Topic]) -> None:
        if self._map == "odom":
            raise RecordingError(
                self.path,
                "each robot has an 'odom' of its own, and nothing tells how they lie",
                f"choose a camera (--depth-topic): {', '.join(sorted(t.name for t in depths))}",
            )
        self._problems.append(
            "robots name their frames alike: the transforms of each namespace are read apart, and "
            f"their {self._map!r} is taken as one frame"
        )

    def _pose(self, topic: _Topic, item: _Item) -> NDArray[np.float64]:
        """A topic's frame in the map (4, 4); first and last transforms hold for TOGETHER longer."""
        tree = self._tree(topic)
        try:
            return tree.lookup(self._map, topic.frame, item.time)
        except TransformError:
            for shift in (-TOGETHER, TOGETHER):
                with suppress(TransformError):
                    return tree.lookup(self._map, topic.frame, item.time + shift)
            raise


def _files_of(path: Path) -> list[Path]:
    """The files of a bag in their order; names of metadata.yaml stay within the folder."""
    if path.is_file():
        return [path]
    names: list[str] = []
    try:
        content: Any = read_yaml((path / "metadata.yaml").read_text("utf-8"))
        info = content["rosbag2_bagfile_information"]
        if info.get("compression_mode", "").lower() == "file":
            remedy = "unpack the files (zstd -d) or convert the bag: ros2 bag convert"
            raise RecordingError(path, "its files are compressed as a whole", remedy)
        names = [str(name) for name in info["relative_file_paths"]]
    except (OSError, yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError):
        names = []  # cut off, or never written: the files tell what is there
    there = [path / name for name in names if PurePosixPath(name).name == name]
    there = [file for file in there if file.is_file()]
    if not there:
        there = sorted(p for s in ("*.mcap", "*.db3") for p in path.glob(s))
    if not there:
        packed = any(p.suffix in (".zstd", ".zst") for p in path.iterdir())
        remedy = "unpack them with zstd -d" if packed else "give the folder of a rosbag2"
        raise RecordingError(path, "no .mcap and no .db3 files", remedy)
    root = path.resolve()
    return [file for file in there if root in file.resolve().parents]


def _open(file: Path) -> McapFile | Db3File:
    if is_lfs_pointer(file):
        raise RecordingError(file, "a pointer of git-lfs and not the recording itself", LFS_REMEDY)
    return Db3File(file) if file.suffix == ".db3" else McapFile(file)


def _seconds(message: Any) -> float:
    stamp = message.header.stamp
    return float(stamp.sec + stamp.nanosec * 1e-9)


def _info_name(topic: str) -> str:
    """Topic of the CameraInfo that goes with an image topic: its sibling."""
    base = topic.rsplit("/", 1)[0]
    for transport in ("compressed", "compressedDepth"):
        if topic.endswith(f"/{transport}"):
            base = base.rsplit("/", 1)[0]
    return f"{base}/camera_info"


def _robot(topic: str) -> str:
    """Who saw it: the first part of /robot/camera/depth/image_raw."""
    parts = topic.strip("/").split("/")
    return parts[0] if len(parts) >= 4 else ""


def _partner(topic: _Topic, others: Sequence[_Topic]) -> _Topic | None:
    """The topic that goes with a depth topic: of the same frame if there is one, nearest name."""
    robot = _robot(topic.name)
    fitting = [o for o in others if _robot(o.name) == robot or o.frame == topic.frame]

    def rank(other: _Topic) -> tuple[bool, int, str]:
        pairs = zip(other.name.split("/"), topic.name.split("/"), strict=False)
        shared = sum(a == b for a, b in pairs)
        return (other.frame != topic.frame, -shared, other.name)

    return min(fitting, key=rank, default=None)


def _nearest(topic: _Topic | None, time: float) -> tuple[_Topic, _Item] | None:
    """The message of a topic nearest to a time, if it is of the same moment."""
    if topic is None:
        return None
    k = bisect.bisect_left(topic.items, time, key=lambda item: item.time)
    near = min(topic.items[max(k - 1, 0) : k + 1], key=lambda i: abs(i.time - time), default=None)
    return (topic, near) if near is not None and abs(near.time - time) <= TOGETHER else None


Camera = tuple[float, float, float, float]
_MOST = 1000
_MAX_SIDE_M = 100.0
_ROUNDING = 1e-6


def boxes_2d(
    message: Any, source: str | Path, seen: Camera | None, camera: Camera
) -> tuple[ImageDetection, ...]:
    """Return what a vision_msgs/Detection2DArray holds, in pixels of the depth image.

    Args:
        message: The message; a turned box counts as the upright one about it.
        source: File and topic, for errors.
        seen: Camera (fx, fy, cx, cy) [px] of the image that the detector saw, where it is another
            than `camera`; None: the same.
        camera: Camera of the depth image.

    Raises:
        RecordingError: A box or score that no detector can mean.
    """
    fx, fy, cx, cy = camera
    gx, gy, dx, dy = seen or camera
    found = []
    for one in _items(message, source):
        center, turn = one.bbox.center.position, float(one.bbox.center.theta)
        width, height = float(one.bbox.size_x), float(one.bbox.size_y)
        values = (float(center.x), float(center.y), turn, width, height)
        if not all(map(math.isfinite, values)) or min(width, height) <= 0.0:
            raise RecordingError(source, f"detections: box of {values}: expected finite pixels")
        cos, sin = abs(math.cos(turn)), abs(math.sin(turn))
        across, down = cos * width + sin * height, sin * width + cos * height
        left = (values[0] - across / 2.0 - dx) / gx * fx + cx
        top = (values[1] - down / 2.0 - dy) / gy * fy + cy
        u, v = math.floor(left + _ROUNDING), math.floor(top + _ROUNDING)
        right = math.ceil(left + across / gx * fx - _ROUNDING)
        bottom = math.ceil(top + down / gy * fy - _ROUNDING)
        found.append(
            ImageDetection((u, v, max(right - u, 1), max(bottom - v, 1)), _scores(one, source))
        )
    return tuple(found)


def boxes_3d(
    message: Any,
    source: str | Path,
    frame: RgbdFrame,
    to_camera: npt.NDArray[np.float64],
) -> tuple[ImageDetection, ...]:
    """Return what a vision_msgs/Detection3DArray holds, as masks of the depth image.

    A mask holds the pixels whose points lie within the box in space; boxes that hold none (behind
    the camera, hidden, out of view) are left out.

    Args:
        message: The message.
        source: File and topic, for errors.
        frame: The depth image.
        to_camera: Frame of the message to the optical frame (4, 4).

    Raises:
        RecordingError: A box or score that no detector can mean.
    """
    boxes = []
    for one in _items(message, source):
        p, q, size = one.bbox.center.position, one.bbox.center.orientation, one.bbox.size
        edges, spot, turn = (size.x, size.y, size.z), (p.x, p.y, p.z), (q.x, q.y, q.z, q.w)
        good = all(map(math.isfinite, (*edges, *spot, *turn))) and math.hypot(*turn) > 1e-6
        if not good or min(edges) <= 0.0 or max(edges) > _MAX_SIDE_M:
            raise RecordingError(source, "detections: a box in space without a size or a pose")
        boxes.append(BoxDetection(spot, turn, edges, _scores(one, source)))
    return tuple(masked(frame, boxes, to_camera))


def _items(message: Any, source: str | Path) -> list[Any]:
    if len(message.detections) > _MOST:
        raise RecordingError(source, f"detections: over {_MOST} in one image")
    return list(message.detections)


def _scores(one: Any, source: str | Path) -> dict[str, float]:
    """Label -> score; of a label named twice the higher one."""
    scores: dict[str, float] = {}
    for result in one.results[:_MOST]:
        score = float(result.hypothesis.score)
        if not 0.0 <= score <= 1.0:
            raise RecordingError(source, f"detections: score {score}: expected 0..1")
        label = str(result.hypothesis.class_id)[:200]
        scores[label] = max(score, scores.get(label, 0.0))
    return scores
