"""Observer: what a real robot perceives, made from its sensors; ROS-free."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.geometry import Box, Pose, Vec3, distance, share_inside
from coterie_core.observation import Detection, Observation, PlaceView
from coterie_core.transforms import TransformBuffer, TransformError
from coterie_world.perception.frame_join import (
    Boxes,
    DepthImage,
    Detections,
    FrameJoin,
    JoinedFrame,
)
from coterie_world.perception.lift_options import LiftOptions
from coterie_world.perception.registration import CameraModel
from coterie_world.scene import Room, SceneGraph, SceneObject
from coterie_world.scene.regions import is_region
from coterie_world.sightings import INSIDE_FRACTION, is_solid, kind_of
from robot_adapters.sensing.alignment import (
    Alignment,
    AlignmentError,
    Landmark,
    MatchOptions,
    align,
)
from robot_adapters.sensing.frames import FrameNames, Jump, Localization
from robot_adapters.sensing.grid_space import GridData
from robot_adapters.sensing.height_map import HeightMap
from robot_adapters.sensing.objects import FoundBox, Looks, Track, Tracks, boxes_of, found_box
from robot_adapters.sensing.own_arm import OwnArm
from robot_adapters.sensing.places import PlaceSpacing
from robot_adapters.sensing.plane import MapPose
from robot_adapters.sensing.robot_map import FloorState, RobotMap
from robot_adapters.sensing.seen import Sight, cells_seen, labels_toward, places_seen
from robot_adapters.sensing.storeys import Storeys

_MARGIN = 0.2
"""A view whose middle is farther outside of a box than this does not show that thing [m]."""
_LIKELY = 0.1
"""Least probability of a label that a thing of the map may be meant by."""

_GOOD_ENOUGH_M = 0.15
"""An alignment with a smaller error is not looked for again [m]."""
_BETTER = 0.7
"""A later alignment is taken if its error is smaller by this factor."""
_NEW_LANDMARKS = 3
_MOST_LANDMARKS = 80
_LEAST_VIEWS = 2
_MOST_LABELS = 500


@dataclass(slots=True)
class MappedFurniture:
    """What the team's map holds that stands still; the map fuses the views of all robots."""

    things: list[SceneObject] = field(default_factory=list)

    def update(self, scene: SceneGraph) -> None:
        """Take the team's map."""
        self.things = [
            thing
            for thing in scene.objects.values()
            if thing.kind != "item" and thing.box.volume > 0.0
        ]

    def shown_by(self, scores: Mapping[str, float], box: Box) -> SceneObject | None:
        """Return the thing of the map that a view shows, None for none.

        Args:
            scores: Labels of the view and their scores (0..1).
            box: What the view shows of the thing, in the team's map [m].
        """
        label = max(scores, key=lambda k: (scores[k], k), default="")
        kinds = {kind_of(one) for one in scores}
        found: list[tuple[bool, float, str, SceneObject]] = []
        for thing in self.things:
            if not thing.box.contains(box.center, _MARGIN):
                continue
            same = kind_of(thing.label.top) == kind_of(label)
            may_be = kind_of(thing.label.top) in kinds or any(
                kind_of(one) == kind_of(label) and share >= _LIKELY
                for one, share in thing.label.distribution().items()
            )
            both_solid = is_solid(label) and is_solid(thing.label.top)
            if same or may_be or (both_solid and share_inside(box, thing.box) > INSIDE_FRACTION):
                away = distance(thing.box.center, box.center)
                found.append((not same, away, thing.id, thing))
        return min(found, key=lambda one: one[:3])[3] if found else None


def pieces_once(detections: Iterable[Detection]) -> list[Detection]:
    """Return detections with each piece of the team's map once, as the nearest view shows it.

    Several views show a piece: its seat and its back are tracks of their own.
    """
    out: dict[object, Detection] = {}
    for k, one in enumerate(detections):
        key = (one.label, one.box) if one.fused else k
        if key not in out or one.distance < out[key].distance:
            out[key] = one
    return list(out.values())


class MapFinder:
    """Objects of both maps, and the alignment that they give.

    Args:
        sight: How far images tell something.
        options: How maps are matched.

    Attributes:
        alignment: The best so far; None: none yet.
        problem: Why there is none.
    """

    def __init__(self, sight: Sight, options: MatchOptions | None = None) -> None:
        self.alignment: Alignment | None = None
        self.problem = "the team's map has not come"
        self._options = options
        self._own = Tracks(sight)
        self._team: list[Landmark] = []
        self._tried = (0, 0)

    def add(self, found: Iterable[FoundBox], time: float) -> None:
        """Take what the robot sees, in its own map."""
        self._own.add(found, time)

    def forget(self, since: float) -> None:
        """Forget what was seen from a time [s] on: the robot was not where it thought."""
        self._own.items = [track for track in self._own.items if track.time < since]

    def set_team(self, scene: SceneGraph) -> None:
        """Take the objects of the team's map."""
        self._team = [
            Landmark(kind_of(thing.label.top), thing.box.center)
            for thing in scene.objects.values()
            if thing.box.volume > 0.0 and thing.label.top
        ]

    def search(self) -> Alignment | None:
        """Match the maps if that is due; return a new alignment, None for none. Takes seconds."""
        own = [t for t in self._own.items if t.views >= _LEAST_VIEWS]
        news = (len(own), len(self._team))  # all own ones: the number of those matched ends
        grown = any(abs(a - b) >= _NEW_LANDMARKS for a, b in zip(news, self._tried, strict=True))
        if not grown or (self.alignment is not None and self.alignment.error < _GOOD_ENOUGH_M):
            return None
        self._tried = news
        most_seen = sorted(own, key=lambda t: -t.views)[:_MOST_LANDMARKS]
        landmarks = [Landmark(kind_of(t.label), t.box.center) for t in most_seen]
        try:
            found = align(landmarks, self._team, self._options)
        except AlignmentError as error:
            self.problem = str(error)
            return None
        if self.alignment is not None and found.error > _BETTER * self.alignment.error:
            return None
        self.alignment, self.problem = found, ""
        return found


class SensingError(RuntimeError):
    """No observation can be made now: says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class SensingSettings:
    """How a robot's sensors are used.

    Attributes:
        radius: The body's radius [m].
        names: The robot's frames.
        map_pose: Where the robot's map lies in the team's; None: not known yet.
        memory: What was seen counts for so long [s], so that the way and a turn on the spot are
            in the observation at their end.
        min_views: Images that have to show an object before an observation holds it.
        sight: How far images tell something.
        spacing: How places lie.
        region_prefix: Of ids of regions that the robot parts the floor into itself.
        storeys: Floors that the team file gives.
        stale_after: How old the newest pose may be [s].
        min_score: Detections below this do not count (0..1).
        patience: How long images wait for their transforms [s].
        still_period: A camera that stands still is looked at so often [s].
    """

    radius: float = 0.25
    names: FrameNames = field(default_factory=FrameNames)
    map_pose: MapPose | None = field(default_factory=MapPose)
    memory: float = 30.0
    min_views: int = 2
    sight: Sight = field(default_factory=Sight)
    spacing: PlaceSpacing = field(default_factory=PlaceSpacing)
    region_prefix: str = ""
    storeys: Storeys = field(default_factory=Storeys)
    stale_after: float = 1.0
    min_score: float = 0.25
    patience: float = 1.0
    still_period: float = 0.5


class Observer:
    """Makes observations of one robot; one thread at a time may use it.

    Args:
        settings: How.
        transforms: The robot's tf; somebody else fills it.

    Attributes:
        map: Floors, rooms and places.
        finder: Looks for the robot's map in the team's; None where it is given.
        objects: Objects that were seen of late, in the robot's map.
        height_map: Heights that were seen of late, in the robot's map.
        furniture: That of the team's map.
        own_arm: The arm and what its hand holds, which are no objects of the house.
        jumps: How often localization has jumped.
        last_jump: The latest jump.
    """

    def __init__(self, settings: SensingSettings, transforms: TransformBuffer) -> None:
        self.settings = settings
        self.map = RobotMap(
            settings.radius, settings.spacing, settings.region_prefix, settings.map_pose
        )
        self.map.storeys = settings.storeys
        self.objects = Tracks(settings.sight, settings.min_views)
        self.height_map = HeightMap()
        self.own_arm = OwnArm(transforms)
        self.furniture = MappedFurniture()
        self.finder = MapFinder(settings.sight) if settings.map_pose is None else None
        self.jumps = 0
        self.last_jump: Jump | None = None
        self._where = Localization(transforms, settings.names, stale_after=settings.stale_after)
        self._transforms = transforms
        self._cameras: dict[str, FrameJoin] = {}
        self._seen: dict[str, tuple[float, float]] = {}  # place -> (time, quality)
        self._unplaced: dict[str, tuple[float, float]] = {}  # label -> (time, score)
        self._lost_until = -math.inf
        self.looks = Looks(settings.min_views)
        self._drawn: list[Room] = []
        self._teams: set[str] = set()
        self._foreign = ""  # why the last grid was not taken

    # -- what comes in ----------------------------------------------------------------------

    def feed_grid(self, grid: GridData) -> bool:
        """Take a floor's map; tell whether it says anything new. Takes seconds for a large one."""
        self._foreign = grid.foreign_to(self.settings.names.map)
        changed = not self._foreign and self.map.set_grid(grid, self._here())
        if changed:
            self._seen = {k: v for k, v in self._seen.items() if self.map.has(k)}
        return changed

    def feed_rooms(self, rooms: Iterable[Room]) -> bool:
        """Take rooms that a person drew, in the team's map; they go before those of its map."""
        self._drawn = list(rooms)
        return self.map.set_rooms(self._drawn, self._here())

    def feed_team_map(self, scene: SceneGraph) -> bool:
        """Take the team's map: its rooms, its furniture, and objects to find this robot's map by.

        Regions that robots part the floor into are none of its rooms: they come and go. Tell
        whether the rooms are news.
        """
        if self.finder is not None:
            self.finder.set_team(scene)
        self.furniture.update(scene)
        self.map.call_as_team(scene)
        if self._drawn:
            return False
        rooms = [room for room in scene.rooms.values() if not is_region(room)]
        self._teams = {room.id for room in rooms}
        return self.map.set_rooms(rooms, self._here())

    def align(self) -> bool:
        """Look for the robot's map in the team's, if that is due; tell whether it was found."""
        found = self.finder.search() if self.finder is not None else None
        if found is None:
            return False
        self.map.set_pose(found.pose, self._here())
        return True

    def feed_info(self, camera: str, model: CameraModel, *, detector: bool = False) -> None:
        """Take a camera's model; detector: of the image that its detector sees."""
        feed = self._camera(camera)
        if detector:
            feed.detector_model = model
        else:
            feed.model = model

    def add_depth(self, camera: str, image: DepthImage, now: float) -> None:
        """Take a depth image at a time [s] of the node's clock; `work` uses it with its pose."""
        self._camera(camera).add_depth(image, now)

    def add_detections(self, camera: str, found: Detections, now: float) -> None:
        """Take what a detector found in an image; `work` places it by depth of that moment."""
        good = tuple(d for d in found.items if self._counts(d.scores))
        found = Detections(good, found.frame, found.time, found.size)
        self._camera(camera).add_detections(found, now)

    def feed_labels(self, found: Detections) -> None:
        """Take detections of a camera without depth: they are seen, but nobody knows where."""
        self.looks.add(found.time)
        for one in found.items:
            if self._counts(one.scores):
                self._note_unplaced(one, found.time)

    def add_boxes(self, camera: str, found: Boxes, now: float) -> None:
        """Take detections in space, in any frame of the robot's tf; `work` uses them.

        Where depth images come from the camera, they show which points of a box are the thing's;
        else the upright box around each counts.

        Args:
            camera: The detector's.
            found: The detections.
            now: The node's clock [s].
        """
        found = replace(found, items=tuple(d for d in found.items if self._counts(d.scores)))
        self._camera(camera).add_boxes(found, now)

    def work(self, now: float) -> None:
        """Use the images whose poses have come; `now` [s] is the node's clock."""
        self._check_jump()
        for name, feed in self._cameras.items():
            for ready in feed.ready(now, self._lost_until):
                self._take(name, ready)
        self.objects.forget(before=now - self.settings.memory)
        self.height_map.forget(before=now - self.settings.memory)

    # -- what goes out ----------------------------------------------------------------------

    def pose(self, now: float) -> Pose:
        """Return where the base is in the team's map.

        Raises:
            SensingError: The robot, or its map, is not located.
        """
        return self._placed().pose_to_team(self._pose(now))

    def scene(self) -> SceneGraph:
        """Return floors, rooms, ways between them, places and links, in the team's map."""
        return self.map.scene()

    def found_scene(self) -> SceneGraph:
        """Return the same without the rooms that the team's map has anyway: for that map."""
        return self.map.scene(without=self._teams)

    def observation(self, robot: str, step: int, time: float) -> Observation:
        """Return what the robot has perceived since the last observation, in the team's map.

        So the way and a turn on the spot are in the observation at their end, and nothing that was
        seen once counts as seen again.

        Args:
            robot: Its name.
            step: Number of the observation.
            time: The node's clock [s].

        Raises:
            SensingError: It is not known where the robot is; says why.
        """
        where = self._placed()
        self.work(time)
        pose = self._pose(time)
        oldest = time - self.settings.memory
        detections = pieces_once(self._detection(track, where) for track in self.objects.news())
        for label, (when, score) in sorted(self._unplaced.items()):
            if when >= oldest:
                detections.append(Detection(label, score, None, None, 0.0, "", {label: score}))
        room = self.map.room_at(pose.position)
        state = self.map.floor_at(pose.position)
        here, seen = "", {}
        neighbors: list[PlaceView] = []
        if state is not None:
            here = state.nearest_place(pose.position)
            seen = {here: 1.0} if here else {}
            for name, (when, quality) in sorted(self._seen.items()):
                if when >= oldest and name in state.places.spots:
                    seen.setdefault(name, quality)
            neighbors = self._neighbors(here, state, where, detections, seen)
        self._unplaced.clear()
        self._seen.clear()
        return Observation(
            robot,
            step,
            time,
            where.pose_to_team(pose),
            here,
            room,
            tuple(detections),
            tuple(neighbors),
            seen,
        )

    def in_view(self, since: float) -> set[str] | None:
        """Return labels that images since a time [s] show; None: too few were looked at."""
        if not self.looks.enough(since):
            return None
        unplaced = {label for label, (when, _) in self._unplaced.items() if when >= since}
        return unplaced | {track.label for track in self.objects.told(since)}

    def figures(self) -> dict[str, object]:
        """Return numbers for diagnostics."""
        floors = self.map.floors.values()
        known = sum(int((~s.space.unknown).sum()) for s in floors)
        seen = sum(int(s.seen.sum()) for s in floors)
        figures: dict[str, object] = {
            "places": sum(len(s.places.spots) for s in floors),
            "frontier_places": len(self.map.frontier()),
            "cells_seen_percent": round(100.0 * seen / known, 1) if known else 0.0,
            "objects": len(self.objects.items),
            "localization_jumps": self.jumps,
        }
        if self.last_jump is not None:
            figures["last_jump"] = str(self.last_jump)
        if self.finder is not None and self.finder.alignment is not None:
            figures["alignment"] = str(self.finder.alignment)
        for name, feed in list(self._cameras.items()):
            figures |= {f"{name}.{key}": count for key, count in sorted(feed.counts.items())}
        return figures

    def problems(self) -> list[str]:
        """Return what is wrong now, one line each."""
        out = [feed.problem for feed in list(self._cameras.values()) if feed.problem]
        if self._foreign:
            out.append(self._foreign)
        elif not self.map.floors:
            out.append("no map has come: there are no places yet; is the map server active?")
        if self.map.pose is None and self.finder is not None:
            out.append(f"the robot's map is not aligned with the team's: {self.finder.problem}")
        return out

    # -- inside -----------------------------------------------------------------------------

    def _camera(self, name: str) -> FrameJoin:
        if name not in self._cameras:
            self._cameras[name] = FrameJoin(
                name,
                self._transforms,
                self.settings.names.map,
                self.settings.patience,
                still_period=self.settings.still_period,
            )
        return self._cameras[name]

    def _take(self, camera: str, ready: JoinedFrame) -> None:
        frame = ready.frame
        if ready.boxes is not None:
            base = self._base_at(frame)
            self._found([found_box(one, base) for one in ready.boxes], frame.time)
            return
        if ready.new_view:
            self._look(frame)
            self.height_map.add(frame, self.own_arm.sphere(self.settings.names.map))
        if ready.detections is None:
            return
        options = LiftOptions(near=self.settings.sight.near, far=self.settings.sight.far)
        # Boxes that stand along the team's axes are the narrowest there.
        yaw = 0.0 if self.map.pose is None else -self.map.pose.yaw
        found = boxes_of(frame, ready.detections, options, yaw)
        self._cameras[camera].count("without_depth", len(ready.detections) - len(found))
        self._found(found, frame.time)
        self.objects.drop_gone(frame)

    def _found(self, found: Sequence[FoundBox], time: float) -> None:
        self.looks.add(time)
        self.objects.add(found, time)
        if self.finder is not None:
            self.finder.add(found, time)

    def _look(self, frame: RgbdFrame) -> None:
        sight, base = self.settings.sight, self._base_at(frame)
        state = self.map.floor_at(base)
        if state is None:
            return
        spots = {name: state.position(name) for name in state.places.spots}
        for name, quality in places_seen(frame, spots, base, sight).items():
            when, best = self._seen.get(name, (-math.inf, 0.0))
            if when < frame.time - self.settings.memory or quality >= best:
                self._seen[name] = (frame.time, quality)
        state.seen |= cells_seen(frame, state.space, sight)

    def _base_at(self, frame: RgbdFrame) -> Vec3:
        """Where the base was when a frame was taken [m]; that of the camera where none knows."""
        try:
            return self._where.pose_at(frame.time).position
        except TransformError:
            x, y, z = frame.camera_to_map[:3, 3].tolist()
            return (x, y, z)

    def _check_jump(self) -> None:
        jump = self._where.check_jump()
        if jump is not None:
            self.jumps += 1
            self.last_jump = jump
            # What was seen lately was put where the robot was not.
            self._lost_until = jump.time
            if self.finder is not None:
                self.finder.forget(since=jump.time - self.settings.memory)
            self.objects.forget()
            self.height_map.forget()
            self._seen.clear()

    def _counts(self, scores: Mapping[str, float]) -> bool:
        return max(scores.values(), default=-1.0) >= self.settings.min_score

    def _note_unplaced(self, one: ImageDetection, time: float) -> None:
        if one.label in self._unplaced or len(self._unplaced) < _MOST_LABELS:
            self._unplaced[one.label] = (time, one.scores[one.label])

    def _placed(self) -> MapPose:
        if self.map.pose is None:
            why = f" ({self.finder.problem})" if self.finder is not None else ""
            raise SensingError(
                "where this robot's map lies in the team's is not known: give in_team_map, or let "
                f"it see objects that the team's map has{why}"
            )
        return self.map.pose

    def _pose(self, now: float) -> Pose:
        try:
            return self._where.pose(now)[0]
        except TransformError as error:
            raise SensingError(f"the robot is not located: {error}") from None

    def _here(self) -> Vec3 | None:
        names = self.settings.names
        try:
            return self._where.pose_at(self._transforms.latest(names.map, names.base)).position
        except TransformError:
            return None

    def _detection(self, track: Track, where: MapPose) -> Detection:
        box, scores, label = where.box_to_team(track.box), track.scores, track.label
        known = self.furniture.shown_by(scores, box)
        if known is not None:  # a view shows a part of it, and may misname it
            box, scores, label = known.box, known.label.distribution(), known.label.top
        room, score = self.map.room_at(where.to_robot(box.center)), min(1.0, scores[label])
        told = dict(scores)
        near, look, fused = track.distance, track.embeddings, known is not None
        surfaces = () if known is None else tuple(known.receptacles)
        return Detection(label, score, box, room, near, "", told, look, fused, surfaces)

    def _neighbors(
        self,
        here: str,
        state: FloorState,
        where: MapPose,
        detections: Sequence[Detection],
        seen: Mapping[str, float],
    ) -> list[PlaceView]:
        ways = state.places.neighbors(here) if here else {}
        spots = {k: where.to_team(state.position(k)) for k in (here, *ways) if k}
        toward = labels_toward(spots, detections)
        return [
            PlaceView(
                other,
                spots[other],
                length,
                self.map.room_of(other, state) if other in seen else None,
                tuple(sorted(toward[other])),
            )
            for other, length in ways.items()
        ]
