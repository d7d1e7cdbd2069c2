"""Semantic maps as JSON for prompts: ids, boxes, label distributions, short and bounded."""

from __future__ import annotations

import json

from coterie_core.scene import SceneGraph, SceneObject
from object_planner.ground import Mode

MAP_LIMIT = 60_000
"""Longest map in a prompt [characters]; objects seen least often are left out first."""
_LABELS = 5


def map_json(scene: SceneGraph, mode: Mode = "uncertainty", limit: int = MAP_LIMIT) -> str:
    """Return the objects of a map as JSON: `{id: {center, size, seen, labels}}`, lengths [m].

    Args:
        scene: The map.
        mode: certainty: `label` is the top one; uncertainty: `labels` with probabilities.
        limit: Longest text [characters].
    """
    ranked = sorted(scene.objects.values(), key=lambda t: (-t.observations, t.id))
    lines, used = {}, 2
    for thing in ranked:
        line = f"{json.dumps(thing.id)}: {json.dumps(_entry(scene, thing, mode))}"
        used += len(line) + 2
        if used > limit:
            break
        lines[thing.id] = line
    kept = [lines[id_] for id_ in scene.objects if id_ in lines]
    left_out = len(ranked) - len(kept)
    note = f"\n({left_out} objects seen less often are left out)" if left_out else ""
    return "{" + ",\n".join(kept) + "}" + note


def _entry(scene: SceneGraph, thing: SceneObject, mode: Mode) -> dict[str, object]:
    distribution = thing.label.distribution()
    entry: dict[str, object] = {
        "center": [round(v, 2) for v in thing.box.center],
        "size": [round(v, 2) for v in thing.box.size],
        "seen": thing.observations,
    }
    if mode == "certainty":
        entry["label"] = thing.label.top[:80]
    else:
        entry["labels"] = {
            label[:80]: round(p, 2) for label, p in list(distribution.items())[:_LABELS]
        }
    room = scene.rooms.get(thing.room)
    if room is not None:
        entry["room"] = room.name
    for word, other in (("on", thing.support), ("inside", thing.container)):
        if other:
            entry[word] = other
    if thing.properties:
        entry["properties"] = dict(list(thing.properties.items())[:6])
    return entry
