"""Scene graphs as text for prompts: short, in a fixed order, with a limit that says what it cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from coterie_world.scene.graph import SceneGraph
from coterie_world.scene.model import SceneObject


def room_lists(graph: SceneGraph) -> dict[str, list[str]]:
    """Return the paper's memory (MELE, section 3.3): room name -> labels, sorted, each once.

    Rooms without things are listed too; things in no known room stand under "somewhere".
    """
    lists: dict[str, set[str]] = {room.name: set() for room in graph.rooms.values()}
    for thing in graph.objects.values():
        room = graph.rooms.get(thing.room)
        lists.setdefault(room.name if room else "somewhere", set()).add(thing.label.top)
    return {room: sorted(labels) for room, labels in sorted(lists.items())}


def rooms_text(
    graph: SceneGraph,
    *,
    relevance: Callable[[str], float] | None = None,
    asked: str = "",
    limit: int = 6000,
) -> str:
    """One line a room with its things and their number, most frequent first.

    Args:
        graph: Graph to describe.
        relevance: Function that rates a label: higher rated ones, and rooms with them, come first
            and are kept longer; by default rooms come by name.
        asked: Name of a room that comes before the others.
        limit: Longest text [characters]; what does not fit is counted in a last line.
    """
    matters = relevance or (lambda label: 0.0)
    lines = []
    for room in graph.rooms.values():
        counts = Counter(thing.label.top for thing in graph.objects_in(room.id))
        ranked = sorted(counts.items(), key=lambda kv: (-matters(kv[0]), -kv[1], kv[0]))
        things = ", ".join(label if n == 1 else f"{label} x{n}" for label, n in ranked)
        most = max((matters(label) for label in counts), default=0.0)
        key = (not asked or room.name.lower() != asked.lower(), -most, room.name)
        lines.append((key, f"{room.name}: {things or 'nothing seen'}"))
    return _within([line for _, line in sorted(lines)], limit, "rooms")


def objects_text(
    graph: SceneGraph,
    *,
    relevance: Callable[[SceneObject], float] | None = None,
    limit: int = 6000,
    labels: int = 1,
) -> str:
    """One line an object: id, labels, room, centre and size [m], what it stands on or in.

    Args:
        graph: Graph to describe.
        relevance: Larger comes first and is kept longer; by default the best seen come first.
        limit: Longest text [characters]; what does not fit is counted in a last line.
        labels: Number of labels of the distribution to show (1: certainty mode).
    """
    score = relevance or (lambda thing: float(thing.observations))
    things = sorted(graph.objects.values(), key=lambda t: (-score(t), t.id))
    return _within((_object_line(graph, thing, labels) for thing in things), limit, "objects")


def _object_line(graph: SceneGraph, thing: SceneObject, labels: int) -> str:
    ranked = list(thing.label.distribution().items())[:labels]
    names = ranked[0][0] if labels == 1 and ranked else ", ".join(f"{n} {p:.2f}" for n, p in ranked)
    parts = [f"{thing.id}: {names or 'unknown'}"]
    room = graph.rooms.get(thing.room)
    if room:
        parts.append(f"in {room.name}")
    if thing.box.volume > 0.0:
        x, y, z = thing.box.center
        a, b, c = thing.box.size
        parts.append(f"at ({x:.2f}, {y:.2f}, {z:.2f}), size {a:.2f} x {b:.2f} x {c:.2f} m")
    for word, other in (("on", thing.support), ("inside", thing.container)):
        if other:
            parts.append(f"{word} {other}")
    if thing.is_open is not None:
        parts.append("open" if thing.is_open else "closed")
    return ", ".join(parts)


def _within(lines: Iterable[str], limit: int, what: str) -> str:
    kept: list[str] = []
    used = cut = 0
    for line in lines:
        if used + len(line) + 1 > limit:
            cut += 1
            continue
        kept.append(line)
        used += len(line) + 1
    if cut:
        kept.append(f"({cut} more {what} left out)")
    return "\n".join(kept)
