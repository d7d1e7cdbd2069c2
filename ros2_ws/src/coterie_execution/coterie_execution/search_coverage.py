"""What a robot's looks have left unseen, where it would see most of that, and what to open."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import shapely

from coterie_core.geometry import Vec3, containment
from coterie_core.tasks import SubTask
from coterie_execution.geometry.toolbox import Toolbox
from coterie_execution.geometry.viewpoints import FARTHEST
from coterie_world.scene import SceneGraph
from coterie_world.search_belief import (
    Missed,
    Region,
    expected,
    filled,
    holds_things,
    is_found,
    merged,
    regions_of,
    spread_over,
)
from coterie_world.sightings import kind_of
from coterie_world.sizes import known_size

Floats = npt.NDArray[np.float64]
MISS = 0.15
"""Chance that a detector misses a thing that is near and in full view (0..1)."""
ANOTHER_VIEW = 0.5
"""A look from nearer than this to an earlier one tells nothing new [m]."""
LEAST_PIXELS = 3.0
"""Smaller things count as not seen, though a view is planned with more [px]."""
FADE = 0.5
"""Share of the recall that is lost at the end of the range; grows with the square of distance."""
MISTAKE = 0.1
"""Odds that furniture which one look alone has shown is a mistake of the detector."""
_SPOTS = 28  # viewpoints that are compared in a room
_ITEM = 0.1  # [m] taken for the size of a thing that the household does not know


@dataclass(frozen=True, slots=True)
class Look:
    """A look: where the robot stood [m], its heading [rad], None: it turned once about itself."""

    position: Vec3
    heading: float | None = None


@dataclass(slots=True)
class _Room:
    """What is worked out for one room: its regions, and from where each is seen how well."""

    regions: tuple[Region, ...]
    weights: Floats
    state: tuple[object, ...]
    spots: list[Vec3] | None = None
    hits: Floats | None = None


@dataclass
class Coverage:
    """Books of a search for things of one label; see `SearchBelief` for the equation.

    Args:
        robot: Whose looks.
        label: Of the things.
        owners: Ids of furniture that alone counts, with whatever is on it (none: all).
        opens: Whether the search opens what is shut; else what is in that does not count.
    """

    robot: str
    label: str
    owners: set[str] = field(default_factory=set)
    opens: bool = True
    missed: dict[str, float] = field(default_factory=dict)
    others: dict[str, dict[str, float]] = field(default_factory=dict)
    _seen_from: dict[str, list[tuple[Vec3, float]]] = field(default_factory=dict)
    _rooms: dict[str, _Room] = field(default_factory=dict)
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    _doubts: dict[str, float] = field(default_factory=dict)
    _told: dict[str, float] | None = None

    def hear(self, looked: Mapping[str, Missed]) -> None:
        """Take in what other robots' looks have left open."""
        self.others |= {r: dict(missed) for r, missed in looked.items() if r != self.robot}

    def look(self, tools: Toolbox, look: Look, rooms: Sequence[str] = ()) -> None:
        """Take down a look; regions in view are less likely to hold something unseen.

        Args:
            tools: For what the robot knows now.
            look: Where from.
            rooms: Rooms that count; none: those on the robot's floor nearby.
        """
        self._told = None
        floor = tools.plan.floor_index(look.position[2])
        for room in rooms or _near(tools, look.position):
            if room not in tools.scene.rooms or tools.plan.room_floor(room) != floor:
                continue
            self._doubt(tools, room, look)
            known = self._room(tools, room)
            hits = self._hits(tools, known.regions, [look.position], look.heading)[0]
            full = filled(tools.scene, known.regions)
            self.missed |= dict.fromkeys(full, 0.0)
            for region, hit in zip(known.regions, hits, strict=True):
                if hit <= 0.01:
                    continue
                before = self._near_hit(region.key, look.position)
                if hit <= before:
                    continue
                self._seen_from.setdefault(region.key, []).append((look.position, float(hit)))
                more = (1.0 - float(hit)) / (1.0 - before)
                self.missed[region.key] = self.missed.get(region.key, 1.0) * more

    def forget(self, room: str) -> None:
        """Forget the own looks at a room: it is looked over anew."""
        known = self._rooms.pop(room, None)
        for region in known.regions if known is not None else ():
            self.missed.pop(region.key, None)
            self._seen_from.pop(region.key, None)
        self._told = None

    def _doubt(self, tools: Toolbox, room: str, look: Look) -> None:
        """Take down which furniture that one look alone has shown this look does not show again."""
        here = [t for t in tools.scene.objects.values() if t.room == room]
        once = [t for t in here if t.observations == 1 and not t.told_surfaces and holds_things(t)]
        self._doubts = {
            id: chance
            for id, chance in self._doubts.items()
            if id not in {t.id for t in here} or id in {t.id for t in once}
        }
        again = [thing for thing in once if thing.id in self._doubts]
        fronts = [Region(t.id, room, 1.0, spread_over(t.box, 0.0), t.id) for t in again]
        if fronts:
            hits = self._hits(tools, fronts, [look.position], look.heading)[0]
            for thing, hit in zip(again, hits, strict=True):
                self._doubts[thing.id] *= 1.0 - float(hit)
        for thing in once:
            self._doubts.setdefault(thing.id, 1.0)  # this look may be the one that has shown it

    def _there(self, id: str) -> float:
        """Return how likely furniture (id) that was found on the way is there (0..1).

        What several looks have shown is. What one look has shown may be a mistake of the detector;
        looks that should show it again and do not make that likely (Bayes' rule).
        """
        missed = self._doubts.get(id)
        return 1.0 if missed is None else missed / (missed + MISTAKE)

    def _near_hit(self, key: str, position: Vec3) -> float:
        """Return how well a region was seen from nearby at best: such looks count as one."""
        looks = self._seen_from.get(key, ())
        return max((hit for p, hit in looks if math.dist(p, position) < ANOTHER_VIEW), default=0.0)

    def left(self, tools: Toolbox, room: str) -> float:
        """Return the expected number of things in a room that nobody has seen."""
        if room not in tools.scene.rooms:
            return 0.0
        known = self._room(tools, room)
        share = float(known.weights @ self._open(known.regions))
        return self.whole(tools, room) * share

    def whole(self, tools: Toolbox, room: str) -> float:
        """Return the expected number of things in a room."""
        return expected(tools.scene, room, self.label, self.owners)

    def views(self, tools: Toolbox, room: str, parts: frozenset[int]) -> list[tuple[float, Vec3]]:
        """Return what each viewpoint of a room would bring: things likely to be seen, where [m].

        Args:
            tools: For what the robot knows now.
            room: Its id.
            parts: Components of free space that the robot gets to.
        """
        known = self._room(tools, room)
        if known.spots is None:
            known.spots = self._viewpoints(tools, room, parts)
            known.hits = self._hits(tools, known.regions, known.spots, None)
        if not known.spots:
            return []
        assert known.hits is not None
        here = self.whole(tools, room)
        worth = known.weights * self._open(known.regions)
        before = np.zeros_like(known.hits)
        spots = np.array(known.spots)
        for k, region in enumerate(known.regions):
            for p, hit in self._seen_from.get(region.key, ()):
                near = np.linalg.norm(spots - np.array(p), axis=1) < ANOTHER_VIEW
                before[near, k] = np.maximum(before[near, k], hit)
        gains = here * (np.maximum(known.hits - before, 0.0) / (1.0 - before)) @ worth
        return sorted(
            ((float(g), spot) for g, spot in zip(gains, known.spots, strict=True)), reverse=True
        )

    def shut(self, tools: Toolbox, room: str) -> list[tuple[float, str]]:
        """Return closed containers of a room: things likely in them that are unseen, and id."""
        if room not in tools.scene.rooms:
            return []
        known = self._room(tools, room)
        here = self.whole(tools, room)
        worth: dict[str, float] = {}
        opened = self._open(known.regions)
        for region, weight, left in zip(known.regions, known.weights, opened, strict=True):
            owner = tools.scene.objects.get(region.owner)
            if region.inside and owner is not None and owner.is_open is not True:
                worth[region.owner] = worth.get(region.owner, 0.0) + here * float(weight * left)
        return sorted(((gain, name) for name, gain in worth.items()), reverse=True)

    def opened(self, tools: Toolbox) -> list[str]:
        """Return containers that others have looked into: somebody has opened them."""
        others = merged(self.others.values())
        return [
            thing.id
            for thing in tools.scene.objects.values()
            if thing.is_open is False
            and any(r.inside and others.get(r.id, 1.0) < 0.9 for r in thing.receptacles)
        ]

    def report(self) -> dict[str, float]:
        """Return what this robot's own looks leave open, region by region."""
        if self._told is None:
            self._told = self._report()
        return dict(self._told)

    def _report(self) -> dict[str, float]:
        # The others do not know of containers that were found on the way: shut ones count, too.
        found = {
            region.key: self._there(region.owner)
            for room in self._rooms.values()
            for region in room.regions
            if is_found(region.key)
        }
        # What is not there as it was told before (renamed, moved, dropped) does not count any more.
        missed = {k: v for k, v in self.missed.items() if k in found or not is_found(k)}
        return {key: round(there, 3) for key, there in found.items()} | {
            key: round(left * found.get(key, 1.0), 3) for key, left in missed.items() if left < 0.98
        }

    # -- one room -------------------------------------------------------------------------------

    def _open(self, regions: Sequence[Region]) -> Floats:
        others = merged(self.others.values())
        return np.array(
            [
                self.missed.get(r.key, 1.0) * others.get(r.key, 1.0) * self._there(r.owner)
                for r in regions
            ]
        )

    def _room(self, tools: Toolbox, room: str) -> _Room:
        scene = tools.scene
        state = (
            tuple(sorted(self.owners)),
            tuple(
                (t.id, t.is_open)
                for t in scene.objects.values()
                if t.room == room and (t.kind != "item" or holds_things(t))
            ),
        )
        known = self._rooms.get(room)
        if known is None or known.state != state:
            regions = tuple(
                self._named(region)
                for region in regions_of(scene, scene.rooms[room], self.label, owners=self.owners)
                if self.opens or not _is_shut(scene, region)
            )
            weights = np.array([r.weight for r in regions])
            known = self._rooms[room] = _Room(regions, weights, state)
            self._told = None
        return known

    def _named(self, region: Region) -> Region:
        """Return a region by its first name: where a thing was found to be gets better known."""
        if not is_found(region.key):
            return region
        stem = region.key.rpartition("@")[0]
        return replace(region, key=self._names.setdefault((region.owner, stem), region.key))

    def _viewpoints(self, tools: Toolbox, room: str, parts: frozenset[int]) -> list[Vec3]:
        """Return spots all over the free floor of a room that the robot gets to, far apart."""
        space = tools.kind(self.robot).space
        whole = space.in_room(room)
        stands = whole.of_components(parts)
        if not len(stands):
            stands = whole.of_components(space.ignoring_observed_obstacles(parts))
        if not len(stands):
            return []
        z = tools.plan.elevation(tools.plan.room_floor(room))
        points = np.stack([stands.x, stands.y], axis=1)
        best = int(np.argmax(stands.clearance))
        chosen = [best]
        away = np.hypot(*(points - points[best]).T)
        while len(chosen) < _SPOTS:
            k = int(np.argmax(away + np.minimum(stands.clearance, 0.2)))
            if away[k] < ANOTHER_VIEW:
                break
            chosen.append(k)
            away = np.minimum(away, np.hypot(*(points - points[k]).T))
        return [(float(points[k, 0]), float(points[k, 1]), z) for k in chosen]

    def _hits(
        self,
        tools: Toolbox,
        regions: Sequence[Region],
        spots: Sequence[Vec3],
        heading: float | None,
    ) -> Floats:
        """Return (spots, regions) the chance that a thing in a region is reported from a spot."""
        out = np.zeros((len(spots), len(regions)))
        if not spots:
            return out
        kind = tools.kind(self.robot)
        size = apparent_size(self.label)
        floor = tools.plan.floor_index(spots[0][2])
        feet = np.array(spots, dtype=float)
        points = np.array([p for r in regions for p in r.points], dtype=float).reshape(-1, 3)
        ends = np.cumsum([len(r.points) for r in regions])
        standing = _standing_at(tools, regions, points)
        for camera in kind.body.cameras:
            focal = camera.width / (2.0 * math.tan(camera.hfov / 2.0))
            farthest = min(camera.range[1], FARTHEST, focal * size / LEAST_PIXELS)
            eyes = feet + np.array([0.0, 0.0, camera.height + kind.body.frame.base])
            offset = points[None, :, :] - eyes[:, None, :]
            flat = np.hypot(offset[..., 0], offset[..., 1])
            away = np.linalg.norm(offset, axis=2)
            down = np.arctan2(-offset[..., 2], np.maximum(flat, 0.05))
            seen = (away <= farthest) & (np.abs(down - camera.pitch) <= camera.vfov / 2.0)
            if heading is not None:
                side = np.arctan2(offset[..., 1], offset[..., 0]) - heading
                side = np.abs(np.arctan2(np.sin(side), np.cos(side)))
                seen &= side <= camera.hfov / 2.0
            recall = (1.0 - MISS) * (1.0 - FADE * (away / farthest) ** 2)
            for k, (region, end) in enumerate(zip(regions, ends, strict=True)):
                if not region.points:
                    out[:, k] = np.maximum(out[:, k], 0.5 * (1.0 - MISS))
                    continue
                if _is_shut(tools.scene, region):
                    continue
                mine = slice(int(end) - len(region.points), int(end))
                looks = np.flatnonzero(seen[:, mine].any(axis=1))
                if not len(looks):
                    continue
                ignored_ids = ([region.owner] if region.owner else []) + standing[k]
                clear = np.zeros((len(looks), len(region.points)), dtype=bool)
                for high in (0.0, region.tall) if region.tall > 0.0 else (0.0,):
                    there = points[mine] + np.array([0.0, 0.0, high])
                    free = region.over_rim(eyes[looks], there)
                    clear |= free & tools.lines.clear(eyes[looks], there, floor, ignored_ids)
                hit = np.where(clear & seen[looks, mine], recall[looks, mine], 0.0).mean(axis=1)
                out[looks, k] = np.maximum(out[looks, k], hit)
        return out


def _is_shut(scene: SceneGraph, region: Region) -> bool:
    """Whether a closed door hides a region."""
    owner = scene.objects.get(region.owner)
    return region.inside and (owner is None or owner.is_open is not True)


def _standing_at(tools: Toolbox, regions: Sequence[Region], points: Floats) -> list[list[str]]:
    """Return what stands on the very spot of each region: who sees that sees what is there."""
    rooms = {region.room for region in regions}
    items = [t for t in tools.scene.objects.values() if t.room in rooms and t.kind == "item"]
    found: list[list[str]] = [[] for _ in regions]
    within = containment([t.box for t in items], points)
    owner = np.repeat(np.arange(len(regions)), [len(r.points) for r in regions])
    rows, columns = np.nonzero(within)
    for k, n in sorted(set(zip(owner[rows].tolist(), columns.tolist(), strict=True))):
        found[k].append(items[n].id)
    return found


def _near(tools: Toolbox, position: Vec3) -> list[str]:
    """Return the rooms whose outline comes near enough to be looked into."""
    here, outlined = shapely.Point(position), [r for r in tools.scene.rooms.values() if r.polygon]
    extents = ((room.id, shapely.MultiPoint(room.polygon).envelope) for room in outlined)
    return [id for id, extent in extents if extent.distance(here) <= FARTHEST / 2.0]


def apparent_size(label: str) -> float:
    """Return the mean of the larger two of a thing's usual edges [m]: how large it looks."""
    size = known_size(label)
    if size is None:
        return _ITEM
    edges = sorted((low + high) / 2.0 for low, high in size)
    return math.sqrt(edges[1] * edges[2])


class Looks:
    """Books the looks of one robot.

    Args:
        robot: Its name.
        toolbox: Returns the tools for what it knows now.
        opens: Whether its searches open what is shut.
    """

    def __init__(self, robot: str, toolbox: Callable[[], Toolbox], opens: bool = True) -> None:
        self.robot, self.opens = robot, opens
        self._toolbox = toolbox
        self._looks: list[Look] = []
        self._covers: dict[str, Coverage] = {}

    def begin(self) -> None:
        """Begin another task: nothing is searched yet."""
        self._covers = {}

    def search(self, one: SubTask) -> list[str]:
        """Take over a search; return the containers (ids) that others have opened for it."""
        if one.kind != "search" or one.object is None:
            return []
        kind = kind_of(one.object.label)
        cover = self._covers.setdefault(kind, Coverage(self.robot, kind, opens=self.opens))
        if one.receptacle is not None:
            cover.owners.add(one.receptacle.id)
        if not one.looked:
            return []
        cover.hear(one.looked)
        return list(cover.opened(self._toolbox()))

    def forget(self, room: str) -> None:
        """Forget the looks at a room (id): it is looked over anew."""
        for cover in self._covers.values():
            cover.forget(room)

    def add(self, position: Vec3, heading: float | None) -> None:
        """Take down a look from a place [m], in a direction [rad] or (None) all around."""
        self._looks.append(Look(position, heading))

    def count(self) -> None:
        """Take down what the last looks have left unseen; what they showed is on the map by now."""
        looks, self._looks = self._looks, []
        for look in looks if self._covers else ():
            tools = self._toolbox()
            for cover in self._covers.values():
                cover.look(tools, look)

    def coverage(self, one: SubTask) -> Coverage | None:
        """Return what the looks of a search leave unseen; None for any other sub-task."""
        if one.kind != "search" or one.object is None:
            return None
        return self._covers.get(kind_of(one.object.label))

    def report(self) -> dict[str, dict[str, float]]:
        """Return kind -> what the own looks leave open, as the leader hears it."""
        return {label: cover.report() for label, cover in self._covers.items()}
