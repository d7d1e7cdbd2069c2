"""Worlds of any Habitat data set: rooms, things and ways of a scene, and robots in it."""

from __future__ import annotations

import copy
import itertools
import logging
import math
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely
from scipy import ndimage

from coterie_core.frames import yup_to_zup, zup_to_yup
from coterie_core.geometry import Vec2, Vec3
from coterie_world.free_space.partition import RegionSettings
from coterie_world.scene import SceneGraph, SceneObject
from habitat_bridge.embedded.occupancy import CELL, BodyKey
from habitat_bridge.embedded.places import WALKER
from habitat_bridge.habitat.backend import HabitatBackend, Timeouts
from habitat_bridge.habitat.description import ObjectDescription, SceneDescription
from habitat_bridge.habitat.regions import (
    connections_from_navmesh,
    regions_from_navmesh,
)
from habitat_bridge.habitat.scene_rooms import guess_types, name_rooms, place_objects
from habitat_bridge.habitat.scenes import load_scene
from habitat_bridge.habitat.sensors import Hinges
from habitat_bridge.habitat.space import VOXEL, NavOccupancy
from habitat_bridge.habitat.world import HabitatWorld, Staging
from habitat_bridge.house.house import House, Stairs
from habitat_bridge.simulator import WorldError

PERIOD = 10.0
"""Time between two messages [s]; what takes less says nothing."""

_LOG = logging.getLogger(__name__)
_SURVEY = "survey"
_FROM_WALLS = 0.4  # [m] from walls to spots along them: more than the radius of any robot here
_CEILING = 2.6  # [m] where a data set tells no height of storeys
_WIDEST = 20_000.0  # [m2] of a scene's box seen from above; the largest data sets have a tenth
_OFF_FLOOR = 0.3  # [m] that the navmesh may lie from a storey's height
_MATCH = 0.1  # [m] between where a data set says that an object is and where habitat has it
_TURN = 1.6  # [m or rad] a joint without limits opens as far
_BAND = 0.05  # [m] between the heights at which a drone's free space is looked for


class Progress:
    """Tells every few seconds what is being done, while it lasts: `with Progress(...) as steps`.

    Args:
        what: What it is about, for example "scene 'apartment_1'".
        period: Time between two messages [s].
    """

    def __init__(self, what: str, period: float = PERIOD) -> None:
        self._what, self._period = what, period
        self._step = "it begins"
        self._over = threading.Event()
        self._begun = time.monotonic()
        self._teller = threading.Thread(target=self._tell, name="progress", daemon=True)

    def at(self, step: str) -> None:
        """Note the step that begins now."""
        self._step = step

    def __enter__(self) -> Progress:
        """Begin to tell."""
        self._begun = time.monotonic()
        self._teller.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Tell no more."""
        self._over.set()
        self._teller.join()

    def _tell(self) -> None:
        while not self._over.wait(self._period):
            # A warning, since it is also to be seen where nobody has set up logging.
            _LOG.warning("%s: %s (%.0f s)", self._what, self._step, time.monotonic() - self._begun)


def with_regions(
    scene: SceneDescription, triangles: npt.ArrayLike, settings: RegionSettings | None = None
) -> SceneDescription:
    """Return a copy of a scene in which rooms and the ways between them are known.

    A scene without regions gets computed ones, "region 3 (kitchen)", with kinds guessed from
    their objects; one with regions but without connections gets these only. Stairs are computed
    where a scene has several storeys and connections, but none between two storeys: Matterport3D's
    portals are doors. The notes say what is computed.

    Args:
        scene: The scene.
        triangles: (n, 3, 3) corners of the navmesh's triangles in the z-up map frame [m].
        settings: How the floor is parted; `agent_radius` must be that of the navmesh.

    Raises:
        ValueError: `triangles` is no such array, or it holds no area.
    """
    if scene.graph.rooms and scene.graph.connections and _storeys_joined(scene.graph):
        return scene
    result = copy.deepcopy(scene)
    graph = result.graph
    if graph.rooms:
        ways = connections_from_navmesh(graph.rooms, graph.floors, triangles, settings)
        what = "ways between rooms"
        if graph.connections:
            ways, what = [way for way in ways if way.kind == "stairs"], "flights of stairs"
        result.notes = [n for n in result.notes if "with_regions" not in n]
        result.notes.append(f"{len(ways)} {what} are computed from the navmesh")
        for way in ways:
            graph.add_connection(way)
        return result
    found = regions_from_navmesh(triangles, settings)
    result.notes = [n for n in result.notes if "with_regions" not in n] + found.notes
    graph.floors = {floor.id: floor for floor in found.floors}
    for room in found.rooms:
        graph.add_room(room)
    for way in found.connections:
        graph.add_connection(way)
    lost = place_objects(graph)
    if lost:
        result.notes.append(f"{lost} objects lie in no region")
    guessed = guess_types(graph)
    if guessed:
        result.notes.append(f"kinds of {len(guessed)} regions are guessed from their objects")
    name_rooms(graph, computed=True)
    result.regions = "computed"
    return result


def _storeys_joined(graph: SceneGraph) -> bool:
    """Whether the connections lead from one storey to another, where there are several."""
    floors = {room.id: room.floor for room in graph.rooms.values()}
    return len(set(floors.values())) < 2 or any(
        floors.get(way.room_a) != floors.get(way.room_b) for way in graph.connections.values()
    )


class SceneOccupancy(NavOccupancy):
    """A scene whose free space is the navmesh, and for drones what rays find empty."""

    def __init__(self, house: House, backend: HabitatBackend) -> None:
        super().__init__(house, backend)
        self._habitat = backend
        self._air: dict[BodyKey, list[npt.NDArray[np.float32]]] = {}

    def clearance(self, key: BodyKey) -> list[npt.NDArray[np.float32]]:
        """Distance [m] of every cell to what a body cannot stand on or pass, per floor."""
        if key.moves != "air":
            return super().clearance(key)
        if key not in self._air:
            self._air[key] = [self._flown(key, k) for k in range(len(self.floors))]
        return self._air[key]

    def _flown(self, key: BodyKey, floor: int) -> npt.NDArray[np.float32]:
        """Cast rays along all rows and columns at the heights of a body: what they hit is solid."""
        rows, cols = self.shape
        free = self.room_raster(floor) >= 0
        xs = self.origin[0] + (np.arange(cols) + 0.5) * CELL
        ys = self.origin[1] + (np.arange(rows) + 0.5) * CELL
        length_x, length_y = cols * CELL, rows * CELL
        for z in np.arange(key.low, key.high + _BAND, _BAND) + self.elevation(floor):
            starts = np.concatenate(
                [
                    np.column_stack([np.full(rows, self.origin[0]), ys, np.full(rows, z)]),
                    np.column_stack([xs, np.full(cols, self.origin[1]), np.full(cols, z)]),
                ]
            )
            ways = np.concatenate(
                [np.tile([length_x, 0.0, 0.0], (rows, 1)), np.tile([0.0, length_y, 0.0], (cols, 1))]
            )
            rays = np.concatenate([zup_to_yup(starts), zup_to_yup(ways)], axis=1)
            counts, hits = self._habitat.rays(rays, 1.0)
            which = np.repeat(np.arange(len(rays)), counts)
            along = which < rows
            row = np.where(along, which, (hits * rows).astype(int))
            col = np.where(along, (hits * cols).astype(int), which - rows)
            free[np.clip(row, 0, rows - 1), np.clip(col, 0, cols - 1)] = False
        out: npt.NDArray[np.float32] = ndimage.distance_transform_edt(free).astype(np.float32)
        out *= CELL
        return out


def open_scene(
    python: str | Path,
    scene: str,
    dataset: Path | None = None,
    *,
    timeouts: Timeouts | None = None,
    gpu: int = -1,
    **options: Any,
) -> HabitatWorld:
    """Return the world of a scene.

    Rooms come from the data set's annotations where it has any, else from the navmesh
    (`world.notes` says so). Things are its objects and, in scanned houses, the annotated parts of
    the stage; these cannot be moved. What is laid out in places is the navmesh of a slim walker.

    Args:
        python: The command that runs Python with habitat-sim.
        scene: Name of a scene instance or stage of the data set, or a file.
        dataset: The `.scene_dataset_config.json`.
        timeouts: How long the worker may take.
        gpu: Number of the GPU to render with; -1: the default device, or the CPU.
        **options: Those of EmbeddedWorld.

    Raises:
        WorldError: The worker cannot be started, the scene not be read, or nobody can stand in it.
    """
    with Progress(f"scene {scene!r}") as steps:
        world = _opened(python, scene, dataset, steps, timeouts, gpu, options)
    for note in world.notes:
        _LOG.info("scene %s: %s", scene, note)
    return world


def _opened(
    python: str | Path,
    scene: str,
    dataset: Path | None,
    steps: Progress,
    timeouts: Timeouts | None,
    gpu: int,
    options: dict[str, Any],
) -> HabitatWorld:
    steps.at("reading its files")
    description = load_scene(dataset, scene)
    steps.at("starting habitat-sim")
    backend = HabitatBackend(python, timeouts)
    try:
        steps.at("habitat-sim opens it")
        told = backend.open(
            scene, "" if dataset is None else str(dataset), int(options.get("seed", 0)), gpu
        )
        _refuse_wide(scene, told["bounds"])
        steps.at("computing where a slim walker can be")
        _survey(scene, description, backend)
        ground = yup_to_zup(backend.triangles(_SURVEY))
        steps.at("finding its rooms")
        try:
            known = with_regions(description, ground, RegionSettings(agent_radius=WALKER.radius))
        except ValueError as error:
            raise WorldError(f"scene {scene!r}: no rooms can be found: {error}") from None
        known.notes += settle_floors(known.graph, ground)
        house = _house(known, backend)
        handles = match_objects(known.objects, told["objects"])
        rooms = {room.id for room in house.rooms}
        ways = [
            way
            for way in known.graph.connections.values()
            if way.kind != "stairs" and {way.room_a, way.room_b} <= rooms
        ]
        marks = _marks(house.objects, {entry.handle for entry in known.objects})
        steps.at("laying out places in its rooms")
        world = HabitatWorld(
            house,
            python,
            opened=(
                backend,
                Staging(
                    handles,
                    marks=marks,
                    hinges=_hinges(known.objects, handles, backend),
                    occupancy=SceneOccupancy(house, backend),
                    ways=ways,
                ),
            ),
            **options,
        )
        if not world.place_map.places:
            raise WorldError(
                f"scene {scene!r}: nobody can stand in its rooms: where the navmesh has floor, "
                "the data set has no room"
            )
    except BaseException:
        backend.close()
        raise
    world.name = f"habitat-{Path(known.name).name}"
    world.notes = tuple(known.notes)
    return world


def _refuse_wide(scene: str, bounds: Sequence[Sequence[float]]) -> None:
    """Refuse what is no house: laying out rooms and places takes time and memory by its area.

    Args:
        scene: Its name.
        bounds: Its lowest and highest corner, y up [m].

    Raises:
        WorldError: It is too wide.
    """
    across, _, along = (high - low for low, high in zip(*bounds, strict=True))
    if across * along > _WIDEST:
        raise WorldError(
            f"scene {scene!r}: it is {across:.0f} m x {along:.0f} m; worlds of up to {_WIDEST:g} "
            "m2 can be opened: give a smaller scene, or the right units_to_meters and scale"
        )


def _survey(scene: str, description: SceneDescription, backend: HabitatBackend) -> None:
    """Have the navmesh of a slim walker made, by which rooms and places are laid out.

    Raises:
        WorldError: There is none.
    """
    try:
        backend.navmesh(
            _SURVEY,
            radius=WALKER.radius,
            height=WALKER.height,
            climb=WALKER.step_height,
            cell=0.05,
            rise=VOXEL,
        )
    except WorldError as error:
        bare = "; its file alone counts as z up: give it a stage config with up and front"
        hint = bare if description.stage_config is None else ""
        raise WorldError(f"scene {scene!r}: nobody can stand in it: {error}{hint}") from None


def settle_floors(graph: SceneGraph, ground: npt.NDArray[np.floating]) -> list[str]:
    """Put storeys where the navmesh has floor; return what was changed.

    Some annotations tell the lower end of a room's volume where they should tell its floor. A
    storey below whose height nobody can stand goes to the height at which most floor of its rooms
    lies, between there and its ceiling.

    Args:
        graph: The scene; elevations of its floors may change.
        ground: (n, 3, 3) corners of the navmesh's triangles in the z-up map frame [m].
    """
    sides = ground[:, 1:] - ground[:, :1]
    areas = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) / 2.0
    centers = ground.mean(axis=1)
    notes = []
    for floor in graph.floors.values():
        outlines = [
            shapely.Polygon(room.polygon)
            for room in graph.rooms.values()
            if room.floor == floor.id and len(room.polygon) >= 3
        ]
        inside = np.zeros(len(ground), dtype=bool)
        for outline in outlines:
            inside |= shapely.intersects_xy(outline, centers[:, 0], centers[:, 1])
        heights = centers[:, 2] - floor.elevation
        reach = inside & (np.abs(heights) <= _OFF_FLOOR)
        above = inside & (heights > _OFF_FLOOR) & (heights < (floor.ceiling_height or _CEILING))
        if reach.any() or not above.any():
            continue
        steps = np.round(heights[above] / _OFF_FLOOR).astype(int)
        most = int(np.argmax(np.bincount(steps, weights=areas[above])))
        told, floor.elevation = (
            floor.elevation,
            round(float(np.median(centers[above, 2][steps == most])), 3),
        )
        notes.append(
            f"storey {floor.id!r} is annotated at {told:g} m, where nobody can stand; its floor is "
            f"taken to be at {floor.elevation:g} m, where the navmesh has it"
        )
    return notes


def match_objects(
    wanted: Iterable[ObjectDescription], there: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Return description's handle -> object in habitat: the same template at the same spot."""
    left = list(there)
    out: dict[str, str] = {}
    for entry in wanted:
        name = Path(entry.template).name.split(".")[0]
        near = [
            (math.dist(told["position"], entry.translation), k)
            for k, told in enumerate(left)
            if name in told["name"]
        ]
        if near and (entry.articulated or min(near)[0] <= _MATCH or not entry.origin_at_com):
            out[entry.handle] = str(left.pop(min(near)[1])["name"])
    return out


def _house(scene: SceneDescription, backend: HabitatBackend) -> House:
    graph = scene.graph
    rooms = [room for room in graph.rooms.values() if len(room.polygon) >= 3]
    if not rooms:
        raise WorldError(f"scene {scene.name!r}: it has no rooms, and the navmesh shows none")
    floors = sorted(graph.floors.values(), key=lambda f: f.elevation)
    for floor in floors:
        floor.ceiling_height = floor.ceiling_height or _CEILING
    house = House(0, floors, rooms, [], [], [], list(graph.objects.values()))
    levels = {floor.id: floor.elevation for floor in floors}
    for way in graph.connections.values():
        if way.kind == "stairs" and {way.room_a, way.room_b} <= {room.id for room in rooms}:
            ends = sorted(
                (house.room(way.room_a), house.room(way.room_b)), key=lambda r: levels[r.floor]
            )
            low, high = ([(*p, levels[r.floor]) for p in _spots(r.polygon)] for r in ends)
            flight = _flight(backend, low, high)
            if flight is not None:
                (x0, y0), (x1, y1) = flight[0][:2], flight[1][:2]
                well = list(
                    shapely.LineString([(x0, y0), (x1, y1)])
                    .buffer(way.width / 2.0 + 0.01)
                    .envelope.exterior.coords
                )[:4]
                house.stairs.append(
                    Stairs(way.id, ends[0].id, ends[1].id, *flight, way.width, way.riser, [], well)
                )
    return house


def _spots(polygon: Sequence[Vec2]) -> list[Vec2]:
    """Return the middle of a room and places along its walls [m]: some stand clear of furniture."""
    room = shapely.Polygon(polygon)
    inner = shapely.get_parts(room.buffer(-_FROM_WALLS))
    along = [p for part in inner for p in part.segmentize(1.0).exterior.coords]
    return [(x, y) for x, y in (*room.representative_point().coords, *along)]


def _flight(
    backend: HabitatBackend, lows: Sequence[Vec3], highs: Sequence[Vec3]
) -> tuple[Vec3, Vec3] | None:
    """Return where one stands before and after the stairs on a way from a room to one above [m].

    Args:
        backend: Whose navmesh has the ways.
        lows: Spots of the lower room [m], the best first.
        highs: Spots of the upper room [m], the best first.
    """
    low, high = lows[0], highs[0]
    near = backend.snap(_SURVEY, zup_to_yup([*lows, *highs]))
    spots = [(float(p[0]), float(p[1]), float(p[2])) for p in near]
    pairs = itertools.product(spots[: len(lows)], spots[len(lows) :])
    known = [pair for pair in pairs if np.isfinite(pair).all()]
    path = next((p for p in backend.paths(_SURVEY, known) if p is not None), None)
    if path is None:
        return None
    points = [(x, y, z) for x, y, z in yup_to_zup(path).tolist()]
    for here, there in itertools.pairwise(points):
        if here[2] <= low[2] + 0.3 < there[2]:
            bottom = (here[0], here[1], low[2])
            top = next((p for p in points if p[2] >= high[2] - 0.3), points[-1])
            return bottom, (top[0], top[1], high[2])
    return None


def _hinges(
    objects: Iterable[ObjectDescription], handles: Mapping[str, str], backend: HabitatBackend
) -> dict[str, Hinges]:
    """Return the joints of articulated things: closed as they are, open at their farther limit."""
    out: dict[str, Hinges] = {}
    for entry in objects:
        if entry.articulated and entry.moving_joints > 0 and entry.handle in handles:
            told = backend.joints(handles[entry.handle])
            closed = tuple(told["positions"])
            opened = tuple(
                _farther(at, max(low, -_TURN), min(high, _TURN))
                for at, low, high in zip(closed, told["low"], told["high"], strict=True)
            )
            out[entry.handle] = closed, opened
    return out


def _farther(here: float, low: float, high: float) -> float:
    return high if high - here >= here - low else low


def _marks(things: Iterable[SceneObject], objects: set[str]) -> dict[str, int]:
    """Return thing -> its number in the stage's annotations: the end of its id."""
    out = {}
    for thing in things:
        number = thing.id.rsplit("_", 1)[-1]
        if thing.id not in objects and number.isdecimal() and 0 < int(number) < 100_000:
            out[thing.id] = int(number)
    return out
