"""The semantic map: frames and detections in, a scene graph out (OpenEQA's sparse voxel map).

Each detection is lifted to points, matched to a thing of the map by where it is and what it is
taken for, and merged with it as evidence; a place that is seen through again and again says that
its thing is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from coterie_core.detections import BoxDetection, ImageDetection, RgbdFrame
from coterie_core.embedding import MAX_EMBEDDINGS, averaged, keep_one_dimension
from coterie_core.household import load_household
from coterie_llm.pictures import encode
from coterie_world.meaning import Meanings
from coterie_world.perception.appearance import color_evidence
from coterie_world.perception.backprojection import Lifted, lift
from coterie_world.perception.boxes import lift_box
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject, Sighting
from coterie_world.scene.regions import Regions
from coterie_world.sightings import carries_before, edge_of, lowest_on
from coterie_world.sizes import is_sliver
from semantic_mapper.association import SAME_LABEL, Association
from semantic_mapper.instances import Instance, boxes_near, corners, note_beside, split
from semantic_mapper.options import MapperOptions

_BETTER = 1.1
"""A picture takes the place of one that shows this much less: encoding takes a millisecond."""
FADE = 0.6
"""What an earlier look at whether a thing is open still counts for."""


def seen_through(
    frame: RgbdFrame,
    to_camera: npt.NDArray[np.float64],
    points: npt.NDArray[np.float32],
    margin: float = 0.12,
) -> bool | None:
    """Whether a frame looks through the place of points: True, False (something is there), or None.

    None: the place is not in view, or hidden behind something nearer.

    Args:
        frame: The frame.
        to_camera: Map to optical frame (4, 4).
        points: (n, 3) [m] in the map.
        margin: How much farther the measured depth must be [m].
    """
    chosen = points[:: max(len(points) // 64, 1)].astype(np.float64)
    local = chosen @ to_camera[:3, :3].T + to_camera[:3, 3]
    rows, cols = frame.depth.shape
    fx, fy, cx, cy = frame.intrinsics
    z = local[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.floor(local[:, 0] / z * fx + cx)
        v = np.floor(local[:, 1] / z * fy + cy)
    inside = (z > 0.1) & (u >= 0) & (u < cols) & (v >= 0) & (v < rows)
    if inside.mean() < 0.7:
        return None
    measured = frame.depth[v[inside].astype(np.int64), u[inside].astype(np.int64)]
    expected = z[inside]
    known = np.isfinite(measured) & (measured > 0.0)
    if known.mean() < 0.7:
        return None
    nearer = (measured < expected - margin)[known].mean()
    through = (measured > expected + margin)[known].mean()
    if nearer > 0.5:
        return None
    return bool(through > 0.7)


def crop(
    color: npt.NDArray[np.uint8], box: tuple[int, int, int, int], longest: int
) -> npt.NDArray[np.uint8]:
    """A picture of a detection with a margin of a tenth, as a JPEG file's bytes.

    It has the camera's resolution, unless its longest side were more than `longest` [px].
    """
    u0, v0, width, height = box
    mu, mv = width // 10 + 2, height // 10 + 2
    part = color[max(v0 - mv, 0) : v0 + height + mv, max(u0 - mu, 0) : u0 + width + mu]
    return np.frombuffer(encode(part, longest).data, np.uint8)


def set_supports(graph: SceneGraph, slack: float = 0.08) -> None:
    """Say of every thing what it stands on or in, by boxes: the smallest that carries it."""
    things = sorted(graph.objects.values(), key=lambda t: t.box.volume)
    if len(things) < 2:
        return
    lows = np.array([t.box.axis_aligned()[0] for t in things])
    highs = np.array([t.box.axis_aligned()[1] for t in things])
    lowest = np.array([[lowest_on(t), lowest_on(t, at_edge=True)] for t in things])
    edges = np.array([[edge_of(t)] for t in things])
    for k, thing in enumerate(things):
        middle = np.array(thing.box.center[:2])
        over = ((lows[:, :2] <= middle) & (highs[:, :2] >= middle)).all(axis=1)
        over &= np.arange(len(things)) > k  # only larger ones carry it
        inner = (lows[:, :2] + edges <= middle) & (highs[:, :2] - edges >= middle)
        deep = np.where(inner.all(axis=1), lowest[:, 0], lowest[:, 1])
        top = np.abs(highs[:, 2] - lows[k, 2]) <= slack
        within = (
            (lows[:, 2] - slack <= lows[k, 2])
            & (deep - slack <= lows[k, 2])
            & (highs[:, 2] + slack >= highs[k, 2])
        )
        carriers = np.flatnonzero(over & top)
        holders = np.flatnonzero(over & within & ~top)
        below, around = ([things[int(i)] for i in found] for found in (carriers, holders))
        thing.support = min(below, key=carries_before).id if below else ""
        thing.container = min(around, key=carries_before).id if around and not below else ""


def note_opening(belief: LabelBelief, detection: ImageDetection) -> None:
    """Add what a detector says of a thing that opens; earlier looks fade, things are moved."""
    told = detection.attributes.get("opening", "").strip().lower()
    if told in ("open", "closed"):
        for state in belief.weights:
            belief.weights[state] *= FADE
        belief.add(LabelBelief.of(told))


@dataclass(slots=True)
class UpdateReport:
    """What a frame did: ids that were matched, new, found to be gone, or moved."""

    matched: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)


class SemanticMapper:
    """Builds the map of one team.

    Not thread-safe: one owner feeds it frames in any order of robots.

    Args:
        options: How.
        regions: Rooms and floors, if they are known.
        meanings: Compares labels by meaning, for detectors whose labels come from no fixed list;
            what labels mean is kept in the map then.
    """

    def __init__(
        self,
        options: MapperOptions | None = None,
        regions: Regions | None = None,
        meanings: Meanings | None = None,
    ) -> None:
        self.options = options or MapperOptions()
        self.association = Association(self.options, meanings)
        self.regions = regions or Regions()
        self._things: dict[str, Instance] = {}
        self._lows = np.empty((0, 3))
        self._highs = np.empty((0, 3))
        self._order: list[str] = []
        self._next = 1

    def __len__(self) -> int:
        return len(self._things)

    @property
    def instances(self) -> tuple[Instance, ...]:
        """All things, the doubtful and the gone too."""
        return tuple(self._things.values())

    @property
    def next_number(self) -> int:
        """Number of the next new thing."""
        return self._next

    def restore(self, things: Iterable[Instance], next_number: int) -> None:
        """Begin with what an earlier mapper knew, instead of what this one does."""
        self._things = {thing.id: thing for thing in things}
        self._next = max(next_number, 1)
        self._reindex()

    def is_real(self, thing: Instance) -> bool:
        """Whether a thing is there: reported often enough, not gone, and of a possible size."""
        views = thing.reports + thing.misses
        if thing.state == "gone" or thing.observations < self.options.publish:
            return False
        if is_sliver(thing.labels.top, thing.box.size):
            return False
        large = load_household().kind(thing.labels.top) != "item"
        share = self.options.least_share_large if large else self.options.least_share
        return thing.reports >= share * views

    def update(self, frame: RgbdFrame, detections: Sequence[ImageDetection]) -> UpdateReport:
        """Add a frame."""
        report = UpdateReport()
        lifted = lift(frame, detections, self.options.lift)
        pairs = self.association.matches(lifted, self._things, self._order, self._lows, self._highs)
        to_camera = np.linalg.inv(frame.camera_to_map).astype(np.float64)
        ids = []
        for k, one in enumerate(lifted):
            known = pairs.get(k)
            if known is None:
                ids.append(self._add(frame, one))
                report.added.append(ids[-1])
            else:
                self._merge(self._things[known], frame, to_camera, one)
                ids.append(known)
                report.matched.append(known)
        note_beside(lifted, [self._things[id_] for id_ in ids])
        self._look_through(frame, to_camera, {*report.matched, *report.added}, report)
        self._reindex()
        self._forget()
        return report

    def update_boxes(self, frame: RgbdFrame, boxes: Sequence[BoxDetection]) -> UpdateReport:
        """Add what a detector found in space.

        Args:
            frame: From where, and when; its color image shows the boxes, where it has one.
            boxes: In the map.
        """
        report = UpdateReport()
        lifted = [lift_box(frame, box) for box in boxes]
        views = [replace(frame, color=None) if one.touches_edge else frame for one in lifted]
        pairs = self.association.matches(lifted, self._things, self._order, self._lows, self._highs)
        ids = []
        for k, one in enumerate(lifted):
            known = pairs.get(k)
            ids.append(known or self._add(views[k], one))
            thing = self._things[ids[-1]]
            if known is None:
                thing.take_box(one.points)
                report.added.append(thing.id)
                continue
            if thing.boxed:  # what images have shown more exactly stays
                thing.take_box(one.points)
            self._note(thing, views[k], one)
            report.matched.append(known)
        note_beside(lifted, [self._things[id_] for id_ in ids])
        self._reindex()
        self._forget()
        return report

    def tidy(self) -> int:
        """Part and join what turns out to be several objects, or one; return how many were joined.

        Two views of a large object can start as two instances and grow together; what was seen
        next to one another in one image stays apart. An instance whose points have fallen into
        two clusters that masks hold one at a time is two objects.
        """
        for whole in list(self._things.values()):
            parted = (
                None if whole.boxed else split(whole, f"object_{self._next}", self.options.lift)
            )
            if parted is not None:
                self._next += 1
                self._things[parted.id] = parted
        self._reindex()
        joined = 0
        for id_ in sorted(self._things, key=lambda i: -self._things[i].observations):
            thing = self._things.get(id_)
            if thing is None:
                continue
            touch = 2.0 * self.options.touch
            near = boxes_near(thing.low, thing.high, self._lows, self._highs, touch)
            for other_id in [self._order[k] for k in near]:
                other = self._things.get(other_id)
                if other is None or other_id == id_ or other.state != thing.state:
                    continue
                if not self.association.one(thing, other):
                    continue
                self._absorb(thing, other)
                del self._things[other_id]
                joined += 1
        self._reindex()
        return joined

    def scene(self, time: float | None = None) -> SceneGraph:
        """Return the map: rooms and floors as known, and every thing that counts as real.

        Things that are gone are left out; `properties["state"]` says "moved" of those that were
        seen elsewhere before, `properties["color"]` the name of the colour.
        """
        graph = self.regions.graph()
        for thing in self._things.values():
            if not self.is_real(thing):
                continue
            box, label = thing.box, LabelBelief(dict(thing.labels.weights))
            graph.add_object(
                SceneObject(
                    id=thing.id,
                    label=label,
                    box=box,
                    room=self.regions.room_at(box.center),
                    kind=load_household().kind(label.top),
                    observations=thing.observations,
                    last_seen=Sighting(thing.time, thing.robot),
                    is_open=thing.is_open,
                    receptacles=thing.receptacles(),
                    properties=thing.properties,
                    embeddings=self.association.traits(thing).embeddings[:MAX_EMBEDDINGS],
                )
            )
        keep_one_dimension(graph.objects.values())
        set_supports(graph)
        return graph

    # -- inside --------------------------------------------------------------------------------

    def _add(self, frame: RgbdFrame, one: Lifted) -> str:
        id_ = f"object_{self._next}"
        self._next += 1
        low, high = corners(one.points)
        points = one.points[:: -(-len(one.points) // self.options.most_points)]
        thing = Instance(id_, points, low, high)
        self._things[id_] = thing
        self._note(thing, frame, one)
        return id_

    def _merge(
        self,
        thing: Instance,
        frame: RgbdFrame,
        to_camera: npt.NDArray[np.float64],
        one: Lifted,
    ) -> None:
        options = self.options
        thing.cloud.look(frame, to_camera, one)
        thing.cloud.add(one.points, options.lift.voxel, options.most_points)
        self._note(thing, frame, one)
        thing.settle()

    def _note(self, thing: Instance, frame: RgbdFrame, one: Lifted) -> None:
        detection = one.detection
        weight = self.options.evidence / (1.0 + 0.25 * one.depth * one.depth)
        total = sum(detection.scores.values())
        if total > 0.0:
            thing.labels.add(
                LabelBelief({k: weight * v / max(total, 1.0) for k, v in detection.scores.items()})
            )
        if detection.embedding is not None:
            thing.embeddings = averaged(
                thing.embeddings, max(thing.observations, 1), (detection.embedding,), 1
            )
        thing.colors.add(
            LabelBelief({k: weight * v for k, v in color_evidence(frame.color, detection).items()})
        )
        note_opening(thing.openings, detection)
        thing.observations += 1
        thing.reports += thing.viewed_anew(frame.camera_to_map[:3, 3])
        thing.reach = max(thing.reach, one.depth)
        thing.seen_through = 0
        if thing.state == "gone":
            thing.state = "present"
        thing.robot, thing.time = frame.robot, frame.time
        _, _, width, height = detection.box
        quality = width * height * (0.5 if one.touches_edge else 1.0)
        better = quality > _BETTER * thing.crop_quality
        if frame.color is not None and self.options.crop and better:
            thing.crop = crop(frame.color, detection.box, self.options.crop)
            thing.crop_quality = quality

    def _look_through(
        self,
        frame: RgbdFrame,
        to_camera: npt.NDArray[np.float64],
        seen: set[str],
        report: UpdateReport,
    ) -> None:
        """Note things whose place was looked at, and through, without seeing them."""
        if not self._order:
            return
        centers = (self._lows + self._highs) / 2.0
        ahead = centers @ to_camera[2, :3] + to_camera[2, 3]
        within = (ahead > self.options.lift.near) & (ahead < self.options.lift.far)
        for index in np.flatnonzero(within):
            thing = self._things[self._order[index]]
            if thing.id in seen or thing.state == "gone":
                continue
            verdict = seen_through(frame, to_camera, thing.points)
            if verdict is None:
                continue
            if not verdict:
                thing.seen_through = 0
                # From farther than it was ever reported it may be too small to be.
                if ahead[index] <= thing.reach and thing.viewed_anew(frame.camera_to_map[:3, 3]):
                    thing.misses += 1
                continue
            thing.seen_through += 1
            if thing.seen_through >= self.options.gone_after:
                thing.state = "gone"
                report.gone.append(thing.id)
        for id_ in report.gone:
            self._moved_to(id_, report)

    def _moved_to(self, id_: str, report: UpdateReport) -> None:
        """A thing that is gone and another like it that is new: the same one, moved."""
        gone = self._things[id_]
        size, traits = gone.high - gone.low, self.association.traits(gone)
        for other in self._things.values():
            if other.id == id_ or other.state != "present" or other.observations > 5:
                continue
            if other.time < gone.time:
                continue
            if self.association.alike(traits, self.association.traits(other), 1.0) < SAME_LABEL:
                continue
            if np.abs((other.high - other.low) - size).max() <= 0.5 * max(size.max(), 0.1):
                other.state = "moved"
                report.moved.append(other.id)
                return

    def _absorb(self, thing: Instance, other: Instance) -> None:
        options = self.options
        thing.cloud.join(other.cloud, options.lift.voxel, options.most_points)
        thing.embeddings = averaged(
            thing.embeddings, thing.observations, other.embeddings, other.observations
        )
        thing.labels.add(other.labels)
        thing.colors.add(other.colors)
        thing.openings.add(other.openings)
        thing.observations += other.observations
        thing.reports += other.reports
        thing.misses = min(thing.misses, other.misses)
        thing.reach = max(thing.reach, other.reach)
        if other.time > thing.time:
            thing.time, thing.robot = other.time, other.robot
        if other.crop_quality > thing.crop_quality:
            thing.crop, thing.crop_quality = other.crop, other.crop_quality
        for id_, count in other.beside.items():
            if id_ != thing.id:
                thing.beside[id_] = thing.beside.get(id_, 0) + count
                if id_ in self._things:
                    self._things[id_].beside[thing.id] = thing.beside[id_]
        thing.settle()

    def _reindex(self) -> None:
        self._order = list(self._things)
        if not self._order:
            self._lows, self._highs = np.empty((0, 3)), np.empty((0, 3))
            return
        self._lows = np.stack([self._things[i].low for i in self._order])
        self._highs = np.stack([self._things[i].high for i in self._order])

    def _forget_pictures(self) -> None:
        """Keep pictures within their bytes: those of what is gone go first, then the oldest."""
        shown = [thing for thing in self._things.values() if thing.crop is not None]
        over = sum(len(thing.crop) for thing in shown if thing.crop is not None)
        over -= self.options.crop_bytes
        if over <= 0:
            return
        for thing in sorted(shown, key=lambda t: (t.state != "gone", t.time, t.id)):
            if over <= 0:
                return
            over -= len(thing.crop) if thing.crop is not None else 0
            thing.crop, thing.crop_quality = None, 0.0

    def _forget(self) -> None:
        """Keep memory bounded: what is gone goes first, then what was seen once, long ago."""
        self._forget_pictures()
        over = len(self._things) - self.options.most_instances
        if over <= 0:
            return
        ranked = sorted(
            self._things.values(),
            key=lambda t: (t.state != "gone", t.observations > 1, t.time, t.id),
        )
        for thing in ranked[:over]:
            del self._things[thing.id]
        self._reindex()
