"""Largest and smallest values that a scene graph may hold; beyond them lies no house."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coterie_core.embedding import MAX_EMBEDDINGS
from coterie_core.geometry import Box
from coterie_world.scene.graph import SceneGraph
from coterie_world.scene.outlines import outline_trouble

MAX_COORDINATE_M = 1e5
"""Positions and lengths beyond this are mistakes of units [m]."""

MAX_TIME_S = 2.0**31
"""Times from here on fit into no ROS message [s]."""

MAX_COUNT = 2**31 - 1


def beyond_limits(graph: SceneGraph) -> list[str]:
    """Return a sentence for every value that is too large, small or far away, or no outline."""
    return list(_problems(graph))


def _problems(graph: SceneGraph) -> Iterator[str]:
    for floor in graph.floors.values():
        where = f"floors[{floor.id!r}]"
        yield from _far(f"{where}.elevation", (floor.elevation,))
        yield from _length(f"{where}.ceiling_height", (floor.ceiling_height,))
        yield from _count(f"{where}.index", floor.index, -MAX_COUNT)
    for room in graph.rooms.values():
        for point in room.polygon:
            yield from _far(f"rooms[{room.id!r}].polygon", point)
        if trouble := outline_trouble(room.polygon):
            yield f"rooms[{room.id!r}].polygon: {trouble}"
    for way in graph.connections.values():
        where = f"connections[{way.id!r}]"
        yield from _far(f"{where}.position", way.position)
        yield from _length(f"{where}.width, riser", (way.width, way.riser))
    for place in graph.places.values():
        yield from _far(f"places[{place.id!r}].position", place.position)
    for a, links in graph.links.items():
        for b, link in links.items():
            values = (link.length, link.width, link.riser)
            yield from _length(f"links[{a!r}][{b!r}].length, width, riser", values)
    for thing in graph.objects.values():
        where = f"objects[{thing.id!r}]"
        yield from _box(f"{where}.box", thing.box)
        for receptacle in thing.receptacles:
            yield from _box(f"{where}.receptacles", receptacle.surface)
        if any(weight < 0.0 for weight in thing.label.weights.values()):
            yield f"{where}.label: expected weights of at least 0"
        yield from _count(f"{where}.observations", thing.observations)
        if thing.last_seen is not None:
            yield from _time(f"{where}.last_seen", thing.last_seen.time)
    yield from _embeddings(graph)
    for agent in graph.agents.values():
        yield from _far(f"agents[{agent.name!r}].pose", agent.pose.position)
        if agent.last_seen is not None:
            yield from _time(f"agents[{agent.name!r}].last_seen", agent.last_seen.time)


def _embeddings(graph: SceneGraph) -> Iterator[str]:
    """Embeddings that are none, and one model in two dimensions: those cannot be of one network."""
    known: dict[tuple[str, str], tuple[str, int]] = {}
    for thing in graph.objects.values():
        where = f"objects[{thing.id!r}].embeddings"
        if len(thing.embeddings) > MAX_EMBEDDINGS:
            yield f"{where}: expected at most {MAX_EMBEDDINGS}, got {len(thing.embeddings)}"
        if len({one.key for one in thing.embeddings}) < len(thing.embeddings):
            yield f"{where}: expected each model once for a source"
        for k, one in enumerate(thing.embeddings[:MAX_EMBEDDINGS]):
            if problem := one.problem():
                yield f"{where}[{k}].{problem}"
                continue
            first, dimension = known.setdefault(one.key, (thing.id, one.dimension))
            if dimension != one.dimension:
                yield (
                    f"{where}[{k}].dimension: {one.dimension} of {one.model!r}, and {dimension} in "
                    f"objects[{first!r}]: two networks; give each a name of its own"
                )


def _box(where: str, box: Box) -> Iterator[str]:
    yield from _far(f"{where}.center", box.center)
    yield from _length(f"{where}.size", box.size)
    if abs(box.yaw) > 1e3:
        yield f"{where}.yaw: expected an angle [rad], got {box.yaw:g}"


def _far(where: str, values: Iterable[float]) -> Iterator[str]:
    if any(abs(value) > MAX_COORDINATE_M for value in values):
        yield f"{where}: expected at most {MAX_COORDINATE_M:g} m, got {_shown(values)}"


def _length(where: str, values: Iterable[float]) -> Iterator[str]:
    if any(not 0.0 <= value <= MAX_COORDINATE_M for value in values):
        yield f"{where}: expected lengths from 0 to {MAX_COORDINATE_M:g} m, got {_shown(values)}"


def _time(where: str, value: float) -> Iterator[str]:
    if not 0.0 <= value < MAX_TIME_S:
        yield f"{where}: expected a time from 0 to 2**31 s, got {value:g}"


def _count(where: str, value: int, least: int = 0) -> Iterator[str]:
    if not least <= value <= MAX_COUNT:
        yield f"{where}: expected a count from {least} to {MAX_COUNT}, got {value}"


def _shown(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
