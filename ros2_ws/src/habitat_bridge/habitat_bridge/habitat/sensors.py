"""Cameras and lines of sight by habitat's renderer, in the form the embedded house has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from coterie_core.frames import quaternion_zup_to_yup, zup_to_yup
from coterie_core.geometry import Pose, Vec3, yaw_to_quaternion
from habitat_bridge.embedded.sensors import Sensors
from habitat_bridge.embedded.things import Things
from habitat_bridge.habitat.backend import Pose3, Shot
from habitat_bridge.habitat.optics import camera_pose, cube_pixels, face_pose
from habitat_bridge.render.solids import Floats
from habitat_bridge.render.views import Image, Pillar, View
from habitat_bridge.simulator import Channel

FACE = 384
"""Rows and columns of the views that lines of sight are read from [px]."""
ANNOTATED = 1_000_000
"""Added to the numbers of objects in scenes whose stage has numbers of its own."""
_CLEAR = 0.02  # [m] what a line of sight meets may lie before its target, for rounding of depth


class Renderer(Protocol):
    """What is asked of habitat here."""

    def place(self, poses: Mapping[str, Pose3 | None]) -> None:
        """Put objects where they belong."""
        ...

    def joints(self, name: str, positions: Sequence[float]) -> object:
        """Set the joints of an articulated object."""
        ...

    def render(self, shots: Sequence[Shot]) -> list[dict[str, npt.NDArray[Any]]]:
        """Return images."""
        ...


Hinges = tuple[tuple[float, ...], tuple[float, ...]]
"""Positions of all joints of an articulated thing [m or rad]: closed, open."""


class Stagehand:
    """Keeps the objects in habitat where the things of the house are.

    Args:
        backend: Habitat.
        contents: The things, the truth.
        handles: Thing -> object in habitat.
        variants: Container -> object of how it looks the other way, open or closed.
        hinges: Articulated container -> its joints closed, and open.
    """

    def __init__(
        self,
        backend: Renderer,
        contents: Things,
        handles: Mapping[str, str],
        variants: Mapping[str, str],
        hinges: Mapping[str, Hinges] | None = None,
    ) -> None:
        self._backend = backend
        self._contents = contents
        self._handles = handles
        self._variants = variants
        self._hinges = hinges or {}
        self._open = dict.fromkeys(self._hinges, False)
        self._first = {name: contents.things[name].is_open for name in variants}
        self._told: dict[str, Pose3 | None] = self._wanted()
        self._revision = -1

    def sync(self) -> None:
        """Tell habitat what has moved, been opened or closed, or is in a hand now."""
        if self._revision == self._contents.revision:
            return
        wanted = self._wanted()
        # At the first time all is told: things in closed containers are in the scene's files.
        news = {
            name: pose
            for name, pose in wanted.items()
            if self._revision < 0 or self._told[name] != pose
        }
        self._backend.place(news)
        for name, (closed, opened) in self._hinges.items():
            is_open = bool(self._contents.things[name].is_open)
            if is_open is not self._open[name]:
                self._backend.joints(self._handles[name], opened if is_open else closed)
                self._open[name] = is_open
        self._told, self._revision = wanted, self._contents.revision

    def _wanted(self) -> dict[str, Pose3 | None]:
        out: dict[str, Pose3 | None] = {}
        contents = self._contents
        for row, name in enumerate(contents.ids):
            thing = contents.things[name]
            pose = None if contents.hidden[row] else base_pose(thing.box.center, thing.box.yaw)
            if name not in self._handles or name in self._hinges:
                continue  # part of the stage, or it does not move but for its joints
            shown, other = self._handles[name], self._variants.get(name)
            if other is not None:
                if thing.is_open is not self._first[name]:
                    shown, other = other, shown
                out[other] = None
            out[shown] = pose
        return out


class HabitatSensors(Sensors):
    """Images, and what lines of sight meet, from habitat's renderer.

    What meets a line of sight is read from semantic and depth images of a cube around the eye.

    Args:
        backend: Habitat.
        contents: The things.
        stagehand: Keeps habitat's objects where the things are.
        robots: Name -> pose of all robots, in their order.
        bodies: Robot -> its object in habitat.
        marks: Number in the annotations of the stage -> number of the thing, where it has any;
            those of objects in habitat are then larger by `ANNOTATED`.
    """

    def __init__(
        self,
        backend: Renderer,
        contents: Things,
        stagehand: Stagehand,
        robots: Callable[[], Mapping[str, Pose]],
        bodies: Mapping[str, str],
        marks: Mapping[int, int] | None = None,
    ) -> None:
        self._backend = backend
        self._contents = contents
        self._marks = np.zeros(max(marks, default=0) + 1 if marks else 0, dtype=np.int32)
        for mark, number in (marks or {}).items():
            self._marks[mark] = number
        self._stagehand = stagehand
        self._robots = robots
        self._bodies = bodies
        self._stood: dict[str, Pose3 | None] = {}
        self.builds = 0

    def render(
        self,
        views: Sequence[View],
        channels: Sequence[frozenset[Channel]],
        robots: Sequence[Pillar],
        own: Sequence[int],
    ) -> list[Image]:
        """Return the images of several views; robots see one another but not themselves."""
        names = list(self._robots())
        self._show(names if len(names) > 1 else [])
        shots = []
        for view, wanted, me in zip(views, channels, own, strict=True):
            eye, rotation = camera_pose(view.matrix())
            camera = view.camera
            hide = (self._bodies[names[me]],) if len(names) > 1 else ()
            kinds = tuple(k for k in ("color", "depth", "semantic") if k in wanted)
            shots.append(
                Shot(
                    eye,
                    rotation,
                    camera.width,
                    camera.height,
                    math.degrees(camera.hfov),
                    kinds,
                    hide,
                )
            )
        images = []
        for view, made in zip(views, self._backend.render(shots), strict=True):
            depth, semantic = made.get("depth"), made.get("semantic")
            if depth is not None:
                depth[(depth < view.camera.near) | (depth > view.camera.far)] = 0.0
            if semantic is not None:
                semantic = self._numbers(semantic)
            images.append(Image(made.get("color"), depth, semantic))
        return images

    def meets(self, eye: Vec3, targets: Floats) -> tuple[Floats, npt.NDArray[np.int32]]:
        """Return what lines of sight from `eye` [m] to targets (N, 3) meet first."""
        self._show([])
        face, row, col, ahead = cube_pixels(targets, FACE)
        used = np.unique(face)
        shots = []
        for k in used:
            position, rotation = face_pose(eye, int(k))
            shots.append(Shot(position, rotation, FACE, FACE, 90.0, ("depth", "semantic")))
        far = np.full(len(targets), np.inf, dtype=np.float32)
        instance = np.zeros(len(targets), dtype=np.int32)
        for k, made in zip(used, self._backend.render(shots), strict=True):
            mine = np.flatnonzero(face == k)
            depth = made["depth"][row[mine], col[mine]]
            hit = depth > 0.0
            ratio = (depth + _CLEAR) / ahead[mine]
            far[mine] = np.where(hit, ratio, np.inf)
            numbers = self._numbers(made["semantic"][row[mine], col[mine]])
            instance[mine] = np.where(hit, numbers, 0)
        return far, instance

    def _numbers(self, semantic: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Return instance numbers for those in an image of habitat's."""
        raw = semantic.astype(np.int32)
        if not len(self._marks):
            return raw
        own = raw >= ANNOTATED
        known = np.where(raw < len(self._marks), raw, 0)
        return np.where(own, raw - ANNOTATED, self._marks[known]).astype(np.int32)

    def _show(self, robots: Sequence[str]) -> None:
        """Bring habitat up to date: the things, and these robots where they stand."""
        self._stagehand.sync()
        poses = self._robots()
        wanted: dict[str, Pose3 | None] = dict.fromkeys(self._bodies.values())
        for name in robots:
            pose = poses[name]
            wanted[self._bodies[name]] = base_pose(pose.position, pose.yaw)
        news = {k: v for k, v in wanted.items() if self._stood.get(k) != v}
        self._backend.place(news)
        self._stood = wanted


def base_pose(position: Vec3, yaw: float) -> Pose3:
    """Return a pose of the map frame in habitat's."""
    x, y, z = zup_to_yup(position).tolist()
    return (x, y, z), quaternion_zup_to_yup(yaw_to_quaternion(yaw))
