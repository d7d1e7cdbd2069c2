"""Scene graphs as text for prompts: short, in a fixed order, with a limit that says what it cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from coterie_world.scene.graph import SceneGraph


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
