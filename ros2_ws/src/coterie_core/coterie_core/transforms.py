"""A buffer of transforms between frames over time, like that of tf2 but without ROS."""

from __future__ import annotations

import bisect
import math
import threading
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coterie_core.geometry import Quaternion, Vec3

Matrix = npt.NDArray[np.float64]

MAX_FRAMES = 5000
"""Most frames remembered: more is a publisher that invents names."""
_MAX_DEPTH = 100
_CLOCK_RESET_S = 2.0
"""A frame's stamps that go back by more than this mean that its clock began anew [s]."""


class TransformError(LookupError):
    """Two frames are not connected, at that time; says which, and what is known."""


class TransformNotYet(TransformError):
    """The time asked for is later than the last transform: waiting may help."""


@dataclass(slots=True)
class _Link:
    """A frame's poses in its parent: times [s] in order, positions [m], unit quaternions."""

    parent: str
    fixed: bool
    times: list[float] = field(default_factory=list)
    poses: list[tuple[Vec3, Quaternion]] = field(default_factory=list)


class TransformBuffer:
    """Remembers transforms for a while and answers where a frame was; any thread may use it.

    A frame has one parent; hearing of another one replaces it, as in tf2. When a frame's stamps go
    back by seconds (a simulation began anew), what was known of it is dropped.

    Args:
        keep: Time for which transforms are remembered [s of the stamps].
        most: Most transforms remembered per frame.
    """

    def __init__(self, keep: float = 20.0, most: int = 4000) -> None:
        self._keep = keep
        self._most = most
        self._links: dict[str, _Link] = {}
        self._lock = threading.Lock()

    def add(
        self,
        parent: str,
        child: str,
        position: Vec3,
        rotation: Quaternion,
        time: float,
        *,
        fixed: bool = False,
    ) -> None:
        """Note the pose of `child` in `parent` at `time` [s]; fixed: at all times.

        Raises:
            ValueError: An empty name, a frame in itself, a number that is not finite, no
                rotation, or too many frames.
        """
        parent, child = parent.lstrip("/"), child.lstrip("/")
        if not parent or not child or parent == child:
            raise ValueError(f"transform {parent!r} -> {child!r}: expected two different frames")
        norm = math.hypot(*rotation)
        if not all(map(math.isfinite, (*position, time))) or not abs(norm - 1.0) < 0.01:
            raise ValueError(
                f"transform {parent!r} -> {child!r}: expected finite numbers and a rotation of "
                f"length 1, got {position}, {rotation}"
            )
        x, y, z, w = (value / norm for value in rotation)
        with self._lock:
            link = self._links.get(child)
            if link is None and len(self._links) >= MAX_FRAMES:
                raise ValueError(f"transform {parent!r} -> {child!r}: over {MAX_FRAMES} frames")
            if link is None or link.parent != parent or link.fixed != fixed:
                link = self._links[child] = _Link(parent, fixed)
            self._insert(link, time, (position, (x, y, z, w)))

    def _insert(self, link: _Link, time: float, pose: tuple[Vec3, Quaternion]) -> None:
        if link.fixed or (link.times and time < link.times[-1] - _CLOCK_RESET_S):
            link.times.clear()
            link.poses.clear()
        k = bisect.bisect_left(link.times, time)
        if k < len(link.times) and link.times[k] == time:
            link.poses[k] = pose
            return
        link.times.insert(k, time)
        link.poses.insert(k, pose)
        old = bisect.bisect_left(link.times, link.times[-1] - self._keep)
        old = max(old, len(link.times) - self._most)
        if old > 0:
            del link.times[:old], link.poses[:old]

    @property
    def parents(self) -> dict[str, str]:
        """The parent of every frame that has one."""
        with self._lock:
            return {frame: link.parent for frame, link in self._links.items()}

    def include(self, other: TransformBuffer) -> None:
        """Know the frames of another buffer, too; of a frame that both know, the own poses hold."""
        with self._lock:
            self._links = other._links | self._links

    def lookup(self, target: str, source: str, time: float) -> Matrix:
        """Return the matrix (4, 4) that takes points of frame `source` to `target`, at `time` [s].

        Positions are interpolated in between, rotations on the shortest arc.

        Raises:
            TransformNotYet: A transform that is needed has not come that far.
            TransformError: The frames are not connected, or the time is forgotten already.
        """
        target, source = target.lstrip("/"), source.lstrip("/")
        with self._lock:
            up = self._chain(source)
            down = self._chain(target)
            common = next((frame for frame in up if frame in down), None)
            if common is None:
                raise TransformNotYet(self._apart(target, source))
            out = np.eye(4)
            for frame in up[: up.index(common)]:
                out = self._at(frame, time) @ out
            back = np.eye(4)
            for frame in down[: down.index(common)]:
                back = self._at(frame, time) @ back
        return out if target == common else inverse(back) @ out

    def latest(self, target: str, source: str) -> float:
        """Return the newest time [s] at which the way between two frames is known.

        Infinite where all of it is fixed.

        Raises:
            TransformNotYet: They are not connected.
            TransformError: Transforms go round in a circle.
        """
        target, source = target.lstrip("/"), source.lstrip("/")
        with self._lock:
            up, down = self._chain(source), self._chain(target)
            common = next((frame for frame in up if frame in down), None)
            if common is None:
                raise TransformNotYet(self._apart(target, source))
            links = [self._links[f] for f in up[: up.index(common)] + down[: down.index(common)]]
            return min((link.times[-1] for link in links if not link.fixed), default=math.inf)

    def _apart(self, target: str, source: str) -> str:
        known = ", ".join(sorted(self._links)[:8]) or "none"
        heard = {*self._links, *(link.parent for link in self._links.values())}
        missing = [f for f in (target, source) if f not in heard]
        hint = f"; nothing is known of {missing[0]!r}" if missing else ""
        return f"no transforms connect {source!r} with {target!r}{hint} (frames: {known})"

    def _chain(self, frame: str) -> list[str]:
        chain = [frame]
        while frame in self._links and len(chain) < _MAX_DEPTH:
            frame = self._links[frame].parent
            if frame in chain:
                raise TransformError(f"transforms go round in a circle at frame {frame!r}")
            chain.append(frame)
        return chain

    def _at(self, frame: str, time: float) -> Matrix:
        link = self._links[frame]
        if link.fixed:
            return matrix(*link.poses[0])
        k = bisect.bisect_left(link.times, time)
        if k < len(link.times) and link.times[k] == time:
            return matrix(*link.poses[k])
        where = f"frame {frame!r} in {link.parent!r}: asked for {time:.3f} s, "
        if k == len(link.times):
            raise TransformNotYet(f"{where}known until {link.times[-1]:.3f} s")
        if k == 0:
            raise TransformError(f"{where}known only from {link.times[0]:.3f} s")
        before, after = link.times[k - 1], link.times[k]
        share = (time - before) / (after - before)
        (p, a), (q, b) = link.poses[k - 1], link.poses[k]
        x, y, z = (u + share * (v - u) for u, v in zip(p, q, strict=True))
        return matrix((x, y, z), slerp(a, b, share))


def matrix(position: Vec3, rotation: Quaternion) -> Matrix:
    """Return the matrix (4, 4) of a position [m] and a unit quaternion (x, y, z, w)."""
    x, y, z, w = rotation
    out = np.eye(4)
    out[:3, :3] = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    out[:3, 3] = position
    return out


def inverse(pose: Matrix) -> Matrix:
    """Return the inverse of a rigid matrix (4, 4)."""
    out = np.eye(4)
    out[:3, :3] = pose[:3, :3].T
    out[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return out


def slerp(a: Quaternion, b: Quaternion, share: float) -> Quaternion:
    """Return the rotation between two unit quaternions (x, y, z, w), on the shorter arc."""
    dot = sum(u * v for u, v in zip(a, b, strict=True))
    sign = -1.0 if dot < 0.0 else 1.0
    angle = math.acos(min(abs(dot), 1.0))
    if angle < 1e-6:
        near, far = 1.0 - share, share
    else:
        near = math.sin((1.0 - share) * angle) / math.sin(angle)
        far = math.sin(share * angle) / math.sin(angle)
    mixed = [near * u + sign * far * v for u, v in zip(a, b, strict=True)]
    norm = math.hypot(*mixed)
    x, y, z, w = (value / norm for value in mixed)
    return (x, y, z, w)
