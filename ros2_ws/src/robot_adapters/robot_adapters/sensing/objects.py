"""Objects that detectors find, as boxes in the robot's map; what several images show is one."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from coterie_core.detections import BoxDetection, ImageDetection, RgbdFrame
from coterie_core.embedding import Embedding, averaged
from coterie_core.geometry import Box, Vec3, box_between, faces_along, heading_axes
from coterie_world.association import VIEW, assign
from coterie_world.perception.backprojection import lift
from coterie_world.perception.lift_options import LiftOptions
from coterie_world.sizes import is_sliver
from robot_adapters.sensing.seen import Sight, seen_through

_MOST = 500
_TRIM = 2.0  # [%] of points at each end that do not count for a box: depth's stray pixels
_LEAST_EDGE = 0.01
_OUTER = 75.0
"""Percentile of the views' faces, outwards, that is a track's face."""
_MOST_VIEWS = 16


@dataclass(frozen=True, slots=True)
class FoundBox:
    """One detection in space: label scores (0..1), box [m], distance [m] from the camera, look."""

    scores: Mapping[str, float]
    box: Box
    distance: float
    embeddings: tuple[Embedding, ...] = ()

    @property
    def label(self) -> str:
        """The likeliest label."""
        return min(self.scores, key=lambda k: (-self.scores[k], k))


@dataclass(slots=True)
class Track:
    """An object as several images show it.

    Attributes:
        scores: Label -> mean score.
        box: What the views show of it [m]: most show a part only, and some too much.
        distance: Of the nearest view [m].
        time: When it was seen last [s].
        views: Images that showed it.
        embeddings: Mean look, by network.
        news: Whether an image has shown it since it was told last.
        faces: Lowest and highest corners of the latest views' boxes, along the box's heading [m].
    """

    scores: dict[str, float]
    box: Box
    distance: float
    time: float
    views: int = 1
    embeddings: tuple[Embedding, ...] = ()
    news: bool = True
    faces: deque[tuple[Vec3, Vec3]] = field(default_factory=lambda: deque(maxlen=_MOST_VIEWS))

    def __post_init__(self) -> None:
        """Begin with the box of the first view."""
        if not self.faces:
            self.faces.append(faces_along(self.box, self.box.yaw))

    @property
    def label(self) -> str:
        """The likeliest label."""
        return min(self.scores, key=lambda k: (-self.scores[k], k))


def boxes_of(
    frame: RgbdFrame, detections: Sequence[ImageDetection], options: LiftOptions, yaw: float = 0.0
) -> list[FoundBox]:
    """Return detections of an image as boxes in the map; those with too little depth are left out.

    A box holds what the image shows of the object: its far side is not guessed.

    Args:
        frame: The image.
        detections: What was found in it.
        options: How points are made of it.
        yaw: Heading of the boxes in the map [rad].
    """
    found: list[FoundBox] = []
    eye = frame.camera_to_map[:3, 3]
    axes = heading_axes(yaw)
    for one in lift(frame, [one for one in detections if one.scores], options):
        low, high = np.percentile(one.points @ axes, (_TRIM, 100.0 - _TRIM), axis=0).astype(float)
        box = _at_least(box_between(low, high, yaw))
        look = one.detection.embedding
        looks = () if look is None else (look,)
        found.append(FoundBox(one.detection.scores, box, math.dist(box.center, eye), looks))
    return found


def found_box(one: BoxDetection, base: Vec3) -> FoundBox:
    """Return the upright box around a detection in space, for a robot at `base` [m]; in the map."""
    axes = Rotation.from_quat(one.rotation).as_matrix()
    middle = np.array(one.center)
    edges = axes * np.array(one.size)
    # The longest edge that lies flat gives the heading; a cube that lies anyhow has some.
    flat = np.hypot(edges[0], edges[1])
    flat[np.abs(axes[2]) > 0.7] = 0.0
    along = edges[:, int(flat.argmax())]
    yaw = math.remainder(math.atan2(along[1], along[0]), math.pi)
    half = np.abs(heading_axes(yaw).T @ edges).sum(axis=1) / 2.0
    along_yaw = heading_axes(yaw).T @ middle
    box = _at_least(box_between(along_yaw - half, along_yaw + half, yaw))
    return FoundBox(one.scores, box, math.dist(middle, base))


class Looks:
    """When a detector looked, as far as that tells whether it has seen what is in view.

    Args:
        enough: Images that confirm a thing.
    """

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self._times: deque[float] = deque(maxlen=2 * enough)

    def add(self, time: float) -> None:
        """Take down that a detector has told what an image of a time [s] shows."""
        self._times.append(time)

    def heard(self, since: float) -> bool:
        """Tell whether a detector has told of an image since a time [s]."""
        return bool(self._times) and self._times[-1] >= since

    def silence(self, topics: Sequence[str], now: float, memory: float) -> str:
        """Return that detectors have told nothing of late ("": they have, or there is none).

        Args:
            topics: Where they tell it.
            now: The time [s].
            memory: How long what they tell counts [s].
        """
        if not topics or self.heard(now - memory):
            return ""
        return (
            f"no detections that could be used came on {' or '.join(topics)} in the last "
            f"{memory:g} s: does the detector run? It has to send a message for each image, "
            "also for an empty one"
        )

    def enough(self, since: float, *, twice: bool = False) -> bool:
        """Tell whether it has told of as many images since a time [s] as confirm a thing.

        Args:
            since: The time.
            twice: Ask for twice as many.
        """
        least = 2 * self._enough if twice else self._enough
        return len(self._times) >= least and self._times[-least] >= since


@dataclass(slots=True)
class Tracks:
    """The objects seen of late, and those that several images confirmed.

    Args:
        sight: How far depth tells that something is gone.
        min_views: Images that have to show an object before it is told.
    """

    sight: Sight
    min_views: int = 1
    items: list[Track] = field(default_factory=list)

    def add(self, found: Iterable[FoundBox], time: float) -> None:
        """Take what one image shows at a time [s]."""
        found = sorted(found, key=lambda f: f.distance)
        pairs = assign(
            {
                (k, at): score
                for k, one in enumerate(found)
                for at, track in enumerate(self.items)
                if one.label in track.scores and (score := VIEW.score(track.box, one.box)) > 0.0
            }
        )
        for k, one in enumerate(found):
            if k in pairs:
                _blend(self.items[pairs[k]], one, time)
            elif len(self.items) < _MOST:
                looks = one.embeddings
                new = Track(dict(one.scores), one.box, one.distance, time, embeddings=looks)
                self.items.append(new)

    def drop_gone(self, frame: RgbdFrame) -> None:
        """Forget what the image shows to be there no more."""
        self.items = [
            t
            for t in self.items
            if t.time >= frame.time or not seen_through(frame, t.box, self.sight)
        ]

    def told(self, since: float = -math.inf) -> list[Track]:
        """Return those to tell of what images of a time [s] or later show.

        What too few images have shown may be a mistake of the detector, and a sliver of furniture
        may grow with further looks: they are kept, and not told.
        """
        return [
            t
            for t in self.items
            if t.time >= since and t.views >= self.min_views
            if not is_sliver(t.label, t.box.size)
        ]

    def unconfirmed(self, since: float) -> bool:
        """Tell whether images of a time [s] or later show what too few have shown so far."""
        return any(t.time >= since and t.views < self.min_views for t in self.items)

    def news(self) -> list[Track]:
        """Return those to tell that images have shown since the last call."""
        told = [t for t in self.told() if t.news]
        for track in told:
            track.news = False
        return told

    def drop(self, label: str, position: Vec3) -> None:
        """Forget things of a label at a position [m] of the robot's map: they are not there now."""
        self.items = [
            t
            for t in self.items
            if t.label != label or math.dist(t.box.center, position) > VIEW.distance_m
        ]

    def forget(self, before: float = math.inf) -> None:
        """Forget what was seen last before a time [s]."""
        self.items = [t for t in self.items if t.time >= before]


def _blend(track: Track, one: FoundBox, time: float) -> None:
    track.faces.append(faces_along(one.box, track.box.yaw))
    lows, highs = np.array(track.faces).transpose(1, 0, 2)
    low, high = np.percentile(lows, 100.0 - _OUTER, axis=0), np.percentile(highs, _OUTER, axis=0)
    track.box = _at_least(box_between(low, high, track.box.yaw))
    n = track.views
    labels = {*track.scores, *one.scores}
    track.scores = {
        k: (n * track.scores.get(k, 0.0) + one.scores.get(k, 0.0)) / (n + 1) for k in labels
    }
    track.embeddings = averaged(track.embeddings, n, one.embeddings, 1)
    track.views += 1
    track.news = True
    track.distance = min(track.distance, one.distance)
    track.time = max(track.time, time)


def _at_least(box: Box) -> Box:
    """Return a box without edges of no length."""
    x, y, z = (max(edge, _LEAST_EDGE) for edge in box.size)
    return Box(box.center, (x, y, z), box.yaw)
