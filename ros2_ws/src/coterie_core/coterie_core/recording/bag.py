"""Recordings of ROS 2 as MCAP: camera images, poses and detections of a bag become frames.

Needs no ROS: messages are read by the definitions in the file. The bag is read twice, for what
belongs together and for the images, and unpacked into a temporary folder, so that frames are read
from there in any order and memory stays small.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from mcap.exceptions import EndOfFile, McapError
from mcap.reader import NonSeekingReader
from mcap_ros2.decoder import DecoderFactory
from pydantic import ValidationError

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.recording.folder import (
    MOST_DETECTIONS,
    DetectionLine,
    FolderRecording,
    RecordingWriter,
    detection_of,
)
from coterie_core.recording.images import MOST_PIXELS, decode
from coterie_core.recording.types import RecordedFrame, RecordingError
from coterie_core.scene import SceneGraph
from coterie_core.transforms import TransformBuffer, TransformError

SAME_MOMENT = 0.05
"""Stamps of one moment differ by at most so much [s]."""
MOST_WAITING = 30
"""Images that wait for the other half of their frame."""
_IMAGES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
_TF = ("tf2_msgs/msg/TFMessage",)
_INFO = ("sensor_msgs/msg/CameraInfo",)
_FOUND = ("coterie_msgs/msg/ImageDetections",)
_CHANNELS = {"rgb8": (0, 1, 2), "bgr8": (2, 1, 0), "rgba8": (0, 1, 2), "bgra8": (2, 1, 0)}


@dataclass(frozen=True, slots=True)
class CameraTopics:
    """The topics of one camera; `color` and `detections` "" where there are none."""

    depth: str
    info: str
    color: str = ""
    detections: str = ""

    @property
    def robot(self) -> str:
        """The first part of the topic, which is the robot's namespace in Coterie."""
        parts = self.depth.strip("/").split("/")
        return parts[0] if len(parts) > 2 else ""


@dataclass(slots=True)
class _Contents:
    """What a first reading finds: types of topics, transforms, intrinsics, stamps, detections."""

    topics: dict[str, str] = field(default_factory=dict)
    transforms: TransformBuffer = field(
        default_factory=lambda: TransformBuffer(keep=float("inf"), most=10_000_000)
    )
    frames: dict[str, str] = field(default_factory=dict)
    infos: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    found: dict[str, dict[float, tuple[ImageDetection, ...]]] = field(default_factory=dict)
    stamps: dict[str, list[float]] = field(default_factory=dict)


class BagRecording:
    """A recording made of the MCAP files of a bag.

    Args:
        path: An .mcap file, or the folder of a bag.
        cameras: The topics to take; None: every depth camera of the bag.
        map_frame: The fixed frame; "": `map`, else the root of the transforms.

    Raises:
        RecordingError: No MCAP, no depth images, no intrinsics or no transforms; says which topics
            there are.
    """

    def __init__(
        self, path: Path, cameras: tuple[CameraTopics, ...] | None = None, map_frame: str = ""
    ) -> None:
        self.path = path
        self._problems: list[str] = []
        self._files = _mcap_files(path)
        contents = self._survey()
        self.cameras = cameras or self._cameras(contents)
        self.map_frame = map_frame or self._root(contents)
        self._folder = tempfile.TemporaryDirectory(prefix="coterie_recording_")
        self._frames = self._unpack(contents)

    @property
    def name(self) -> str:
        """Name of the file or folder."""
        return self.path.stem if self.path.is_file() else self.path.name

    @property
    def scene(self) -> SceneGraph | None:
        """None: bags do not tell rooms."""
        return None

    @property
    def problems(self) -> tuple[str, ...]:
        """What was cut off or left out."""
        return (*self._problems, *self._frames.problems)

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, index: int) -> RecordedFrame:
        """Return a frame; see `Recording`."""
        return self._frames[index]

    # -- reading --------------------------------------------------------------------------------

    def _messages(self, report: bool = False) -> Iterator[tuple[str, str, Any]]:
        """Yield (topic, type, message) in the order of the files; ends where a file was cut off."""
        for file in self._files:
            with file.open("rb") as stream:
                yield from self._of_file(file, stream, report)

    def _of_file(
        self, file: Path, stream: BinaryIO, report: bool
    ) -> Iterator[tuple[str, str, Any]]:
        reader = NonSeekingReader(stream, decoder_factories=[DecoderFactory()])
        messages = reader.iter_decoded_messages(log_time_order=False)
        while True:
            try:
                schema, channel, _, message = next(messages)
            except StopIteration:
                return
            except EndOfFile:
                if report:
                    self._problems.append(f"{file.name} was cut off: what is there is used")
                return
            except (McapError, ValueError, KeyError, IndexError) as error:
                if report:
                    self._problems.append(f"{file.name} cannot be read further: {error}")
                return
            except Exception as error:  # decompressors and decoders raise errors of their own
                if report:
                    self._problems.append(f"{file.name} cannot be read further: {error!r}")
                return
            yield channel.topic, schema.name if schema else "", message

    def _survey(self) -> _Contents:
        contents = _Contents()
        for topic, kind, message in self._messages(report=True):
            contents.topics[topic] = kind
            if kind in _TF:
                self._note_transforms(contents, message, topic)
            elif kind in _INFO:
                contents.infos.setdefault(topic, _intrinsics(message))
            elif kind in _FOUND:
                self._note_detections(contents, message, topic)
            elif kind in _IMAGES:
                contents.stamps.setdefault(topic, []).append(_stamp(message))
                contents.frames.setdefault(topic, str(message.header.frame_id))
        if not contents.topics:
            raise RecordingError(self.path, "has no messages", "; ".join(self._problems))
        return contents

    def _note_transforms(self, contents: _Contents, message: Any, topic: str) -> None:
        fixed = topic.endswith("tf_static")
        for one in message.transforms:
            move, turn = one.transform.translation, one.transform.rotation
            try:
                contents.transforms.add(
                    one.header.frame_id,
                    one.child_frame_id,
                    (move.x, move.y, move.z),
                    (turn.x, turn.y, turn.z, turn.w),
                    _stamp(one),
                    fixed=fixed,
                )
            except ValueError as error:
                self._problem(f"{topic}: {error}")

    def _note_detections(self, contents: _Contents, message: Any, topic: str) -> None:
        try:
            found = tuple(_detection(one) for one in message.detections[:MOST_DETECTIONS])
        except (ValueError, ValidationError) as error:
            self._problem(f"{topic}: a message is left out: {str(error).splitlines()[0]}")
            return
        contents.found.setdefault(topic, {})[_stamp(message)] = found

    def _problem(self, text: str) -> None:
        if text not in self._problems and len(self._problems) < 50:
            self._problems.append(text)

    # -- what belongs together ------------------------------------------------------------------

    def _cameras(self, contents: _Contents) -> tuple[CameraTopics, ...]:
        images = [topic for topic, kind in contents.topics.items() if kind in _IMAGES]
        depths = sorted(topic for topic in images if "depth" in topic.lower())
        if not depths:
            raise RecordingError(
                self.path,
                f"no depth images; topics: {_listed(contents.topics)}",
                "record depth images with `depth` in the topic's name",
            )
        cameras = []
        for depth in depths:
            info = _info_of(depth, contents.infos)
            if info is None:
                self._problem(f"{depth} is left out: no camera_info for it")
                continue
            others = [t for t in images if t not in depths and "semantic" not in t.lower()]
            color = max(others, key=lambda t: (_shared(t, depth), t), default="")
            if color and _shared(color, depth) == 0:
                color = ""
            found = max(contents.found, key=lambda t: (_shared(t, depth), t), default="")
            cameras.append(CameraTopics(depth, info, color, found))
        if not cameras:
            raise RecordingError(
                self.path,
                f"no camera_info for {', '.join(depths)}",
                "record it beside the images",
            )
        return tuple(cameras)

    def _root(self, contents: _Contents) -> str:
        frame = contents.frames.get(self.cameras[0].depth, "")
        for root in ("map", "odom", "world"):
            try:
                when = contents.stamps[self.cameras[0].depth]
                contents.transforms.lookup(root, frame, when[len(when) // 2])
            except (TransformError, KeyError):
                continue
            if root != "map":
                self._problem(f"no frame `map`: poses are in `{root}`")
            return root
        raise RecordingError(
            self.path,
            f"no transforms from frame {frame!r} to map, odom or world",
            "record /tf and /tf_static",
        )

    def _unpack(self, contents: _Contents) -> FolderRecording:
        folder = Path(self._folder.name) / "frames"
        wanted = {camera.depth: camera for camera in self.cameras}
        colors = {camera.color for camera in self.cameras if camera.color}
        waiting: dict[str, dict[float, Any]] = {topic: {} for topic in (*wanted, *colors)}
        alone = 0
        with RecordingWriter(folder, self.name) as writer:
            for topic, kind, message in self._messages():
                if kind not in _IMAGES or topic not in waiting:
                    continue
                queue = waiting[topic]
                queue[_stamp(message)] = message
                while len(queue) > MOST_WAITING:
                    alone += topic in wanted
                    del queue[min(queue)]
                for camera in self.cameras:
                    if topic in (camera.depth, camera.color):
                        self._frames_of(camera, contents, waiting, writer)
            for camera in self.cameras:
                alone += len(waiting[camera.depth])
        if alone:
            self._problem(f"{alone} depth images have no colour image of their moment")
        if not len(recording := FolderRecording(folder)):
            raise RecordingError(self.path, "not one whole frame", "; ".join(self._problems))
        return recording

    def _frames_of(
        self,
        camera: CameraTopics,
        contents: _Contents,
        waiting: Mapping[str, dict[float, Any]],
        writer: RecordingWriter,
    ) -> None:
        depths = waiting[camera.depth]
        for stamp in sorted(depths):
            color = None
            if camera.color:
                near = _nearest(stamp, waiting[camera.color])
                if near is None:
                    continue
                color = waiting[camera.color][near]
            message = depths.pop(stamp)
            try:
                frame = self._frame(camera, contents, message, color, stamp)
            except (RecordingError, TransformError, ValueError) as error:
                self._problem(f"{camera.depth}: a frame is left out: {error}")
                continue
            found = contents.found.get(camera.detections, {})
            same = _nearest(stamp, found)
            detections = None if not found else found.get(same, ()) if same is not None else ()
            writer.add(RecordedFrame(f"{camera.robot or 'frame'}_{stamp:.3f}", frame, detections))

    def _frame(
        self, camera: CameraTopics, contents: _Contents, depth: Any, color: Any, stamp: float
    ) -> RgbdFrame:
        meters = _depth(depth, camera.depth)
        pixels = _color(color, camera.color) if color is not None else None
        if pixels is not None and pixels.shape[:2] != meters.shape:
            raise RecordingError(
                self.path,
                f"{camera.color} and {camera.depth} differ in size",
                "record depth that is aligned with the colour image",
            )
        pose = contents.transforms.lookup(self.map_frame, str(depth.header.frame_id), stamp)
        return RgbdFrame(meters, contents.infos[camera.info], pose, pixels, stamp, camera.robot)


def _mcap_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted(path.glob("*.mcap"))
    if files:
        return files
    if any(path.glob("*.db3")):
        raise RecordingError(
            path,
            "is a bag in SQLite",
            "convert it to MCAP: ros2 bag convert, or record with -s mcap",
        )
    raise RecordingError(path, "has no .mcap file")


def _stamp(message: Any) -> float:
    stamp = message.header.stamp
    return float(stamp.sec) + 1e-9 * float(stamp.nanosec)


def _intrinsics(message: Any) -> tuple[float, float, float, float]:
    k = [float(v) for v in message.k]
    return (k[0], k[4], k[2], k[5])


def _info_of(depth: str, infos: Mapping[str, tuple[float, float, float, float]]) -> str | None:
    """The camera_info beside a depth topic, else the one that shares most of its name."""
    usable = [topic for topic, (fx, fy, _, _) in infos.items() if fx > 0.0 and fy > 0.0]
    if not usable:
        return None
    best = max(usable, key=lambda topic: (_shared(topic, depth), topic))
    return best if _shared(best, depth) else None


def _shared(a: str, b: str) -> int:
    """How many parts two topics share from the left; 1 where both have one part or none shared."""
    parts = zip(a.strip("/").split("/"), b.strip("/").split("/"), strict=False)
    count = 0
    for one, other in parts:
        if one != other:
            break
        count += 1
    return count


def _nearest(stamp: float, times: Mapping[float, Any]) -> float | None:
    best = min(times, key=lambda t: abs(t - stamp), default=None)
    return best if best is not None and abs(best - stamp) <= SAME_MOMENT else None


def _pixels(message: Any, kind: np.dtype[Any], channels: int, topic: str) -> npt.NDArray[Any]:
    """Image rows without padding, (rows, cols, channels)."""
    rows, cols, step = int(message.height), int(message.width), int(message.step)
    row = cols * channels * kind.itemsize
    data = bytes(message.data)
    if not 0 < rows * cols <= MOST_PIXELS or step < row or len(data) < rows * step:
        raise ValueError(
            f"{topic}: {cols} x {rows} px in rows of {step} bytes do not fit {len(data)} bytes"
        )
    order = kind.newbyteorder(">" if message.is_bigendian else "<")
    lines = np.frombuffer(data, np.uint8, rows * step).reshape(rows, step)[:, :row]
    return np.ascontiguousarray(lines).view(order).reshape(rows, cols, channels)


def _color(message: Any, topic: str) -> npt.NDArray[np.uint8]:
    if hasattr(message, "format"):
        pixels = decode(bytes(message.data), topic)
        if pixels.ndim != 3:
            raise ValueError(f"{topic}: expected colour, got 16-bit grey")
        return pixels.astype(np.uint8)
    encoding = str(message.encoding).lower()
    if encoding in _CHANNELS:
        count = 4 if encoding.endswith("a8") else 3
        pixels = _pixels(message, np.dtype(np.uint8), count, topic)
        return np.ascontiguousarray(pixels[:, :, _CHANNELS[encoding]])
    if encoding in ("mono8", "8uc1"):
        return np.repeat(_pixels(message, np.dtype(np.uint8), 1, topic), 3, axis=2)
    raise ValueError(f"{topic}: encoding {encoding!r}; known: {', '.join(_CHANNELS)}, mono8")


def _depth(message: Any, topic: str) -> npt.NDArray[np.float32]:
    """Depth [m], 0 where unknown; 16UC1 is in millimetres, 32FC1 in metres (REP 118)."""
    if hasattr(message, "format"):
        data = bytes(message.data)
        start = data.find(b"\x89PNG")  # compressedDepth puts 12 bytes before it
        pixels = decode(data[max(start, 0) :], topic)
        if pixels.ndim != 2:
            raise ValueError(f"{topic}: expected 16-bit depth, got colour")
        return (pixels.astype(np.float64) / 1000.0).astype(np.float32)
    encoding = str(message.encoding).lower()
    if encoding in ("16uc1", "mono16"):
        raw = _pixels(message, np.dtype(np.uint16), 1, topic)[:, :, 0]
        return (raw.astype(np.float64) / 1000.0).astype(np.float32)
    if encoding == "32fc1":
        meters = _pixels(message, np.dtype(np.float32), 1, topic)[:, :, 0].astype(np.float32)
        return np.where(np.isfinite(meters) & (meters > 0.0), meters, 0.0).astype(np.float32)
    raise ValueError(f"{topic}: encoding {encoding!r}; depth is 16UC1 or 32FC1")


def _detection(message: Any) -> ImageDetection:
    return detection_of(
        DetectionLine(
            box=(message.x, message.y, message.width, message.height),
            scores={str(one.label): float(one.score) for one in message.scores},
            mask=[int(v) for v in message.mask] or None,
            attributes=dict(
                text.partition("=")[::2] for text in map(str, message.attributes) if "=" in text
            ),
            embedding=[float(v) for v in message.embedding] or None,
        )
    )


def _listed(topics: Mapping[str, str]) -> str:
    shown = [f"{topic} ({kind})" for topic, kind in sorted(topics.items())[:12]]
    return ", ".join(shown) + (", ..." if len(topics) > 12 else "")
