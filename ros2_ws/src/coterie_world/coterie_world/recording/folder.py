"""Our folder of a recording: images, one JSON line per frame, and what was known beforehand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from coterie_core.detections import ImageDetection, RgbdFrame, mask_of, runs_of
from coterie_core.embedding import MAX_DIMENSION, MAX_MODEL_CHARS, UNNAMED, Embedding
from coterie_core.files import write_atomically
from coterie_core.plain_data import schema_problems
from coterie_world.recording.images import (
    LONGEST_SIDE,
    check_camera,
    encode_color,
    encode_depth,
    read_color,
    read_depth,
    whole,
)
from coterie_world.recording.types import RecordedFrame, RecordingError
from coterie_world.scene import SceneError, SceneGraph
from coterie_world.scene import load as load_scene
from coterie_world.scene import save as save_scene

FORMAT = "coterie-recording/1"
FRAMES = "frames.jsonl"
HEADER = "recording.json"
SCENE = "scene.json"
MOST_FRAMES = 1_000_000
LONGEST_LINE = 16 * 1024 * 1024
"""Of frames.jsonl [bytes]."""
_MOST_MASKED = 200_000_000

_Side = Annotated[int, Field(ge=1, le=LONGEST_SIDE)]
_Corner = Annotated[int, Field(ge=-LONGEST_SIDE, le=LONGEST_SIDE)]
_Score = Annotated[float, Field(ge=0.0, le=1.0)]
_Text = Annotated[str, Field(max_length=10_000)]


class _Detection(BaseModel):
    model_config = ConfigDict(extra="ignore")

    box: tuple[_Corner, _Corner, _Side, _Side]
    scores: dict[_Text, _Score] = {}
    mask: list[Annotated[int, Field(ge=0)]] | None = None
    embedding: Annotated[list[FiniteFloat], Field(max_length=MAX_DIMENSION)] | None = None
    embedding_model: Annotated[str, Field(min_length=1, max_length=MAX_MODEL_CHARS)] = UNNAMED
    attributes: dict[_Text, _Text] = {}


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: Annotated[str, Field(min_length=1, max_length=200)]
    time: FiniteFloat = 0.0
    robot: _Text = ""
    place: _Text = ""
    caption: _Text = ""
    color: str | None = None
    depth: str
    pose: Annotated[list[FiniteFloat], Field(min_length=16, max_length=16)]
    intrinsics: Annotated[list[FiniteFloat], Field(min_length=4, max_length=4)]
    detections: list[_Detection] | None = None


class FolderRecording:
    """A recording in a folder; images are read when a frame is asked for.

    Args:
        folder: With `frames.jsonl` in it.

    Raises:
        RecordingError: There is none, or it is of a later version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.resolve().name
        self._root = folder.resolve()
        self._problems: list[str] = []
        self._lines: list[tuple[int, int, int]] = []  # number, offset, length in bytes
        self._file = folder / FRAMES
        if not self._file.is_file():
            raise RecordingError(folder, f"no {FRAMES} in it", "give the folder of a recording")
        header = self._header()
        self._index()
        told = header.get("frames")
        if not header.get("complete", False):
            self._problems.append(
                f"{HEADER}: the recording was not finished; what is there is used"
            )
        elif isinstance(told, int) and told > len(self._lines):
            self._problems.append(f"{told - len(self._lines)} of {told} frames are missing")
        self.scene = self._scene()

    @property
    def problems(self) -> tuple[str, ...]:
        """What was cut off or skipped."""
        return tuple(self._problems)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self._lines)

    def __getitem__(self, index: int) -> RecordedFrame:
        """Read a frame.

        Raises:
            IndexError: Beyond the end.
            RecordingError: A damaged image, or another size of colour and depth.
        """
        number, offset, length = self._lines[index]
        with self._file.open("rb") as file:
            file.seek(offset)
            line = self._parse(file.read(length), number)
        depth = read_depth(self._path(line.depth, number))
        color = read_color(self._path(line.color, number)) if line.color else None
        if color is not None and color.shape[:2] != depth.shape:
            what = f"{color.shape[1]} x {color.shape[0]} px, its depth {depth.shape[1]} x "
            raise RecordingError(
                self.folder / str(line.color),
                f"{what}{depth.shape[0]} px",
                "write colour images that cover the same pixels as depth",
            )
        fx, fy, cx, cy = line.intrinsics
        frame = RgbdFrame(
            depth,
            (fx, fy, cx, cy),
            np.array(line.pose, dtype=np.float64).reshape(4, 4),
            color,
            line.time,
            line.robot,
        )
        found = None if line.detections is None else tuple(map(_from_json, line.detections))
        return RecordedFrame(line.name, frame, found, line.caption, line.place)

    def _header(self) -> dict[str, Any]:
        path = self.folder / HEADER
        try:
            header: Any = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            self._problems.append(f"{HEADER}: damaged; the frames are read without it")
            return {"complete": True}
        version = header.get("format") if isinstance(header, dict) else None
        if version != FORMAT:
            raise RecordingError(
                path, f"format {str(version)[:60]!r}, expected {FORMAT!r}", "take a newer Coterie"
            )
        name = header.get("name")
        self.name = name[:200] if isinstance(name, str) and name else self.name
        return header

    def _index(self) -> None:
        """Note where each usable frame's line is; the rest goes to the problems."""
        names: set[str] = set()
        offset = number = 0
        with self._file.open("rb") as file:
            while data := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(data) > LONGEST_LINE or number > MOST_FRAMES:
                    raise RecordingError(
                        self._file,
                        f"line {number}: over {LONGEST_LINE} bytes, or over {MOST_FRAMES} frames",
                        "split the recording",
                    )
                start, offset = offset, offset + len(data)
                if not data.strip():
                    continue
                try:
                    line = self._parse(data, number)
                    if line.name in names:
                        raise RecordingError(f"{FRAMES}:{number}", f"a second frame {line.name!r}")
                    for name in filter(None, (line.depth, line.color)):
                        if not whole(self._path(name, number)):
                            raise RecordingError(name, "missing or cut off")
                except RecordingError as error:
                    last = not data.endswith(b"\n")
                    why = (
                        "the line is cut off" if last else str(error).replace(f"{self._root}/", "")
                    )
                    self._problems.append(f"frame of line {number} skipped: {why}")
                    continue
                names.add(line.name)
                self._lines.append((number, start, len(data)))

    def _parse(self, data: bytes, number: int) -> _Line:
        where = f"{FRAMES}:{number}"
        try:
            line = _Line.model_validate_json(data)
        except ValidationError as error:
            raise RecordingError(where, schema_problems(error, "line")) from None
        pose = np.array(line.pose).reshape(4, 4)
        if not is_rigid(pose):
            raise RecordingError(where, "pose: no rigid matrix (4, 4), row by row")
        fx, fy, cx, cy = line.intrinsics
        check_camera(fx, fy, cx, cy, f"{where}: intrinsics")
        masked = 0
        for k, one in enumerate(line.detections or ()):
            masked += one.box[2] * one.box[3]
            if one.mask is None:
                continue
            if sum(one.mask) != one.box[2] * one.box[3] or masked > _MOST_MASKED:
                raise RecordingError(where, f"detections.{k}.mask: does not fill its box")
        return line

    def _path(self, name: str, number: int) -> Path:
        """A file within the folder, whatever its name says."""
        relative = PurePosixPath(name)
        where = f"{FRAMES}:{number}"
        if relative.is_absolute() or ".." in relative.parts or "\\" in name or "\0" in name:
            raise RecordingError(where, f"{name[:80]!r}: leaves the folder")
        path = self.folder / relative
        if self._root not in path.resolve().parents:
            raise RecordingError(where, f"{name[:80]!r}: leads out of the folder")
        return path

    def _scene(self) -> SceneGraph | None:
        path = self.folder / SCENE
        if not path.is_file():
            return None
        try:
            return load_scene(path)
        except SceneError as error:
            self._problems.append(f"{SCENE}: not used: {str(error)[:300]}")
            return None


class RecordingWriter:
    """Writes a recording into a folder, frame by frame; cut off, it is still readable.

    Args:
        directory: Made if missing; must not hold a recording already.
        color: "png" (exact) or "jpg" (a tenth of the size).
        scene: Rooms and floors known beforehand.
        name: What it is called; default: the folder's name.

    Raises:
        RecordingError: The folder holds a recording, or cannot be written.
    """

    def __init__(
        self,
        directory: Path,
        *,
        color: Literal["png", "jpg"] = "png",
        scene: SceneGraph | None = None,
        name: str = "",
    ) -> None:
        self.directory = directory
        self._form = color
        self._name = name or directory.resolve().name
        if (directory / FRAMES).exists():
            raise RecordingError(directory, "holds a recording already", "give another folder")
        self._count = 0
        self._names: set[str] = set()
        try:
            for part in ("color", "depth"):
                (directory / part).mkdir(parents=True, exist_ok=True)
            if scene is not None:
                save_scene(scene, directory / SCENE)
            self._lines = (directory / FRAMES).open("w", encoding="utf-8")
            self._write_header(complete=False)
        except OSError as error:
            raise RecordingError(directory, error.strerror or "cannot be written") from None

    def __len__(self) -> int:
        """Return the number of frames written."""
        return self._count

    def add(self, recorded: RecordedFrame) -> None:
        """Write a frame.

        Raises:
            RecordingError: Its name came before, or the disk is full.
        """
        if recorded.name in self._names or not recorded.name:
            raise RecordingError(self.directory, f"frame name {recorded.name!r} is empty or taken")
        frame, stem = recorded.frame, f"{self._count:06d}"
        line: dict[str, Any] = {"name": recorded.name, "time": frame.time, "robot": frame.robot}
        line |= {"place": recorded.place, "caption": recorded.caption, "color": None}
        try:
            line["depth"] = f"depth/{stem}.png"
            (self.directory / line["depth"]).write_bytes(encode_depth(frame.depth))
            if frame.color is not None:
                line["color"] = f"color/{stem}.{self._form}"
                (self.directory / line["color"]).write_bytes(encode_color(frame.color, self._form))
            line["pose"] = [float(v) for v in frame.camera_to_map.ravel()]
            line["intrinsics"] = [float(v) for v in frame.intrinsics]
            found = recorded.detections
            line["detections"] = None if found is None else [_to_json(one) for one in found]
            # The line comes after the images: a frame that is named has them.
            self._lines.write(json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n")
            self._lines.flush()
        except OSError as error:
            raise RecordingError(self.directory, error.strerror or "cannot be written") from None
        self._names.add(recorded.name)
        self._count += 1

    def close(self) -> None:
        """Finish the recording."""
        if not self._lines.closed:
            self._lines.close()
            self._write_header(complete=True)

    def __enter__(self) -> RecordingWriter:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish; after an error the recording stays marked as unfinished."""
        if kind is None:
            self.close()
        else:
            self._lines.close()

    def _write_header(self, *, complete: bool) -> None:
        header = {"format": FORMAT, "name": self._name, "frames": self._count, "complete": complete}
        write_atomically(self.directory / HEADER, json.dumps(header, indent=1) + "\n")


def is_rigid(pose: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    """Whether a matrix (4, 4) turns and moves only; a hundredth off is taken for rounding."""
    if pose.shape != (4, 4) or not np.isfinite(pose).all() or np.abs(pose[:3, 3]).max() > 1e5:
        return False
    rotation = pose[:3, :3]
    straight = np.abs(rotation @ rotation.T - np.eye(3)).max() < 0.01
    return bool(straight and np.linalg.det(rotation) > 0.0 and np.allclose(pose[3], (0, 0, 0, 1)))


def _to_json(one: ImageDetection) -> dict[str, Any]:
    out: dict[str, Any] = {"box": list(one.box), "scores": dict(one.scores)}
    if one.mask is not None:
        out["mask"] = runs_of(one.mask)
    if one.embedding is not None:
        out["embedding"] = [round(v, 6) for v in one.embedding.vector.tolist()]
        out["embedding_model"] = one.embedding.model
    if one.attributes:
        out["attributes"] = dict(one.attributes)
    return out


def _from_json(one: _Detection) -> ImageDetection:
    _, _, width, height = one.box
    runs: Sequence[int] | None = one.mask
    return ImageDetection(
        one.box,
        one.scores,
        None if runs is None else mask_of(runs, width, height),
        Embedding.of(one.embedding_model, one.embedding) if one.embedding else None,
        one.attributes,
    )
