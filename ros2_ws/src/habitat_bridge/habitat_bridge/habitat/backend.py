"""A habitat-sim that stays: asks the worker, starts it anew when it is lost, and retells it all."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Quaternion, Vec3
from habitat_bridge.habitat.process import WorkerLost, WorkerProcess, WorkerRefused
from habitat_bridge.simulator import WorldError

_LOG = logging.getLogger(__name__)
_TRIES = 6  # workers that one question may use up: several may die of something else
_OPENINGS = 3  # workers that may be lost over opening a scene: the scene itself may be at fault
_STARTS = 30  # attempts to start a new worker, while there is time for them
_WINDOW, _MOST = 60.0, 60  # [s], restarts within it before the backend gives up

Pose3 = tuple[Vec3, Quaternion]
"""Position [m] and rotation (x, y, z, w) in habitat's y-up frame."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long the worker may take [s]: to start, to open a scene, to answer anything else."""

    start: float = 60.0
    open: float = 180.0
    call: float = 30.0


@dataclass(frozen=True, slots=True)
class Shot:
    """One view to render.

    Args:
        eye: Where the camera is, y up [m].
        rotation: Of the camera (x right, y up, looks along -z) in the y-up frame (x, y, z, w).
        width: Columns [px].
        height: Rows [px].
        hfov: Horizontal field [degrees].
        channels: "color", "depth", "semantic".
        hide: Objects that it does not see.
    """

    eye: Vec3
    rotation: Quaternion
    width: int
    height: int
    hfov: float
    channels: tuple[str, ...]
    hide: tuple[str, ...] = ()
    near: float = 0.01
    far: float = 100.0


@dataclass(slots=True)
class _Story:
    """All that a new worker has to be told."""

    scene: dict[str, Any] = field(default_factory=dict)
    spawned: dict[str, dict[str, Any]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    poses: dict[str, Any] = field(default_factory=dict)
    joints: dict[str, list[float]] = field(default_factory=dict)
    navmeshes: dict[str, dict[str, Any]] = field(default_factory=dict)


class HabitatBackend:
    """Scenes, images, navmeshes and rays of a habitat-sim in another process.

    It keeps a record of what it has told the worker. A worker that is lost (it crashed, was
    killed, or did not answer in time) is replaced by a new one which is told everything again, and
    the question is asked once more; `restarts` counts that and `trouble` says why.

    Args:
        python: The command that runs Python with habitat-sim.
        timeouts: How long it may take.

    Raises:
        WorldError: The worker cannot be started.
    """

    def __init__(self, python: str | Path, timeouts: Timeouts | None = None) -> None:
        self.python = python
        self.timeouts = timeouts or Timeouts()
        self.restarts = 0
        self.trouble = ""
        self.seconds = 0.0
        """How long the worker itself took for the last question [s]."""
        self._story = _Story()
        self._recent: deque[float] = deque(maxlen=_MOST)
        self._closed = False
        self._worker = WorkerProcess(python, self.timeouts.start)

    @property
    def hello(self) -> Mapping[str, Any]:
        """Who answers: version of habitat-sim and Python, process id, capabilities."""
        return self._worker.hello

    @property
    def pid(self) -> int:
        """Process id of the worker itself, behind whatever script started it."""
        return int(self._worker.hello["pid"])

    @property
    def capabilities(self) -> frozenset[str]:
        """What the worker can do: color, depth, semantic, navmesh, rays."""
        return frozenset(self._worker.hello.get("capabilities", ()))

    def check(self) -> None:
        """Notice a worker that has died since the last question, and replace it.

        Raises:
            WorldError: It cannot be replaced.
        """
        if not self._closed and not self._worker.alive:
            self._replace(f"it ended with code {self._worker.process.returncode}")

    def open(self, scene: str, dataset: str = "", seed: int = 0, gpu: int = -1) -> dict[str, Any]:
        """Open a scene; forgets all about an earlier one.

        Returns:
            `objects`: name, position, rotation, box, motion, articulated of each; `bounds`.

        Raises:
            WorldError: The scene cannot be opened.
        """
        told: dict[str, Any] = {
            "scene": scene,
            "dataset": dataset,
            "seed": seed & 0x7FFFFFFF,
            "gpu": gpu,
        }
        # On the record only when it is open: a scene that kills one worker kills the next as well.
        self._story = _Story()
        reply = self.ask("open", self.timeouts.open, tries=_OPENINGS, **told)
        self._story.scene = told
        return reply

    def spawn(self, name: str, config: Path, semantic: int) -> None:
        """Add an object of a template file, out of sight until it is placed."""
        told: dict[str, Any] = {"name": name, "config": str(config), "semantic": semantic}
        self.ask("spawn", **told)
        self._story.spawned[name] = told

    def remove(self, name: str) -> None:
        """Take a spawned object away."""
        self._story.spawned.pop(name, None)
        self._story.poses.pop(name, None)
        self.ask("remove", name=name)

    def label(self, numbers: Mapping[str, int]) -> None:
        """Give objects the numbers they have in semantic images."""
        self.ask("label", numbers=dict(numbers))
        self._story.numbers.update(numbers)

    def place(self, poses: Mapping[str, Pose3 | None]) -> None:
        """Put objects where they belong; None hides one."""
        if poses:
            told = {
                name: None if p is None else [list(p[0]), list(p[1])] for name, p in poses.items()
            }
            # Noted first: a worker that is lost over this hears it from the record.
            self._story.poses.update(told)
            self.ask("place", poses=told)

    def joints(self, name: str, positions: Sequence[float] = ()) -> dict[str, list[float]]:
        """Set the joints of an articulated object; returns positions and limits."""
        if positions:
            self._story.joints[name] = list(positions)
        return self.ask("joints", name=name, positions=list(positions))

    def navmesh(
        self, key: str, *, radius: float, height: float, climb: float, cell: float, rise: float
    ) -> dict[str, Any]:
        """Compute the navmesh of a body under a name.

        Args:
            key: The name.
            radius: Of the body [m].
            height: Of the body [m].
            climb: Highest step it takes [m].
            cell: Edge of a voxel [m].
            rise: Height of a voxel [m].

        Raises:
            WorldError: There is nowhere to stand.
        """
        told: dict[str, Any] = {
            "radius": radius,
            "height": height,
            "climb": climb,
            "cell": cell,
            "rise": rise,
        }
        out = self.ask("navmesh", key=key, **told)
        self._story.navmeshes[key] = told
        return out

    def triangles(self, key: str) -> npt.NDArray[np.float32]:
        """Return the triangles (N, 3, 3) of a navmesh, y up [m]."""
        reply = self.ask("triangles", key=key)
        corners = np.frombuffer(reply["corners"], dtype=np.float32).reshape(-1, 3)
        return corners[np.frombuffer(reply["indices"], dtype=np.int32)].reshape(-1, 3, 3)

    def navigable(
        self, key: str, points: npt.NDArray[np.floating], tolerance: float
    ) -> npt.NDArray[np.bool_]:
        """Tell which points (N, 3), y up, lie on a navmesh but for `tolerance` [m] of height."""
        data = np.ascontiguousarray(points, dtype=np.float32).tobytes()
        reply = self.ask("navigable", key=key, points=data, tolerance=tolerance)
        return np.frombuffer(reply["data"], dtype=np.uint8).astype(bool)

    def snap(self, key: str, points: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
        """Return the points of a navmesh nearest to points (N, 3), NaN where none is near."""
        data = np.ascontiguousarray(points, dtype=np.float32).tobytes()
        reply = self.ask("snap", key=key, points=data)
        return np.frombuffer(reply["data"], dtype=np.float32).reshape(-1, 3)

    def paths(self, key: str, pairs: Iterable[tuple[Vec3, Vec3]]) -> list[list[Vec3] | None]:
        """Return the corners of the shortest ways, y up; None where there is none."""
        asked = [[list(a), list(b)] for a, b in pairs]
        reply = self.ask("paths", key=key, pairs=asked)
        return [
            None if path is None else [(p[0], p[1], p[2]) for p in path] for path in reply["paths"]
        ]

    def rays(
        self, rays: npt.NDArray[np.floating], limit: float
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the number of hits of each ray (N, 6), y up, and where they all are [rays]."""
        data = np.ascontiguousarray(rays, dtype=np.float32).tobytes()
        reply = self.ask("rays", self.timeouts.open, rays=data, limit=limit)
        return (
            np.frombuffer(reply["counts"], dtype=np.int32),
            np.frombuffer(reply["hits"], dtype=np.float32),
        )

    def render(self, shots: Sequence[Shot]) -> list[dict[str, npt.NDArray[Any]]]:
        """Return the images of several views by channel, top row first.

        color (rows, cols, 3) uint8, depth (rows, cols) float32 [m] along the axis, 0 for nothing,
        semantic (rows, cols) uint32.
        """
        if not shots:
            return []
        size = sum(4 * shot.width * shot.height * len(shot.channels) for shot in shots)
        views = [
            {
                "eye": list(shot.eye),
                "rotation": list(shot.rotation),
                "camera": {
                    "width": shot.width,
                    "height": shot.height,
                    "hfov": shot.hfov,
                    "near": shot.near,
                    "far": shot.far,
                },
                "channels": list(shot.channels),
                "hide": list(shot.hide),
            }
            for shot in shots
        ]
        self.ask("render", needs=size, views=views)
        out, at = [], 0
        for shot in shots:
            images: dict[str, npt.NDArray[Any]] = {}
            for channel in shot.channels:
                shape = (shot.height, shot.width)
                if channel == "color":
                    raw = self._worker.image(at, (*shape, 4), "uint8")
                    images[channel] = np.ascontiguousarray(raw[:, :, :3])
                else:
                    kind = "float32" if channel == "depth" else "uint32"
                    images[channel] = self._worker.image(at, shape, kind).copy()
                at += 4 * shot.width * shot.height
            out.append(images)
        return out

    def usage(self) -> dict[str, int]:
        """Tell what the worker holds: `resident` memory [bytes], number of `cameras`."""
        reply = self.ask("usage")
        return {"resident": int(reply["resident"]), "cameras": int(reply["cameras"])}

    def close(self) -> None:
        """End the worker; no more questions after that."""
        if not self._closed:
            self._closed = True
            self._worker.quit()

    def ask(
        self,
        op: str,
        timeout: float | None = None,
        *,
        needs: int = 0,
        tries: int | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Ask the worker, with a new one where the old one is lost.

        Args:
            op: What for.
            timeout: How long it may take [s]; None: as for most questions.
            needs: Shared memory that the answer needs [bytes].
            tries: How many workers may be lost over it; None: as over most questions.
            **fields: The rest of the question.

        Raises:
            WorldError: It cannot do that, or no worker stays alive over it.
        """
        if self._closed:
            raise WorldError(f"{op}: the habitat worker has been closed")
        limit = self.timeouts.call if timeout is None else timeout
        most = _TRIES if tries is None else tries
        for _ in range(most):
            try:
                if needs:
                    self._worker.share(needs)
                reply = self._worker.call(op, limit, **fields)
                self.seconds = float(reply.get("seconds", 0.0))
                return reply
            except WorkerRefused as refused:
                raise WorldError(f"habitat worker: {refused}") from None
            except WorkerLost as lost:
                self._replace(str(lost))
        raise WorldError(
            f"habitat worker: {most} workers in a row were lost over {op}: {self.trouble}"
        )

    def _replace(self, why: str) -> None:
        """Start a new worker and tell it all that the old one knew."""
        self.trouble = why
        patience = time.monotonic() + self.timeouts.start + self.timeouts.open
        for _ in range(_STARTS):
            now = time.monotonic()
            if now > patience:
                break
            self._recent.append(now)
            if len(self._recent) == _MOST and now - self._recent[0] < _WINDOW:
                self._worker.kill()
                raise WorldError(
                    f"habitat worker: lost {_MOST} times within {_WINDOW:g} s, last because {why}"
                )
            self.restarts += 1
            _LOG.warning("habitat worker lost (%s): starting it anew", why)
            self._worker.kill()
            try:
                self._worker = WorkerProcess(self.python, self.timeouts.start)
                self._retell()
            except WorkerRefused as refused:
                raise WorldError(
                    f"habitat worker: the new one cannot take over the old one's state: {refused}"
                ) from None
            except (WorkerLost, WorldError) as lost:
                why = self.trouble = str(lost)
                continue
            return
        raise WorldError(f"habitat worker: it cannot be started again: {why}")

    def _retell(self) -> None:
        story, worker, limit = self._story, self._worker, self.timeouts.call
        if not story.scene:
            return
        worker.call("open", self.timeouts.open, **story.scene)
        for told in story.spawned.values():
            worker.call("spawn", limit, **told)
        if story.numbers:
            known = story.numbers
            worker.call("label", limit, numbers=known)
        for key, body in story.navmeshes.items():
            worker.call("navmesh", limit, key=key, **body)
        if story.poses:
            worker.call("place", limit, poses=story.poses)
        for name, positions in story.joints.items():
            worker.call("joints", limit, name=name, positions=positions)
