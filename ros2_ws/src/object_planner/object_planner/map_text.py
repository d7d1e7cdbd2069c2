"""Semantic maps as JSON for prompts: ids, boxes, label distributions, short and bounded."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from coterie_world.meaning import nearest_labels
from coterie_world.scene import SceneGraph, SceneObject
from object_planner.ground import Mode

MAP_TOKENS = 20_000
"""Most tokens that a map takes in a prompt; what matters least for the request is left out."""
CHARACTERS_PER_TOKEN = 3
"""Of JSON full of numbers; words have more."""
_LABELS = 5
_NAMED = 12
_NAMED_LEAN = 6
"""Labels named of what is left out."""
_LABELS_LEAN = 2


class ShownMap(NamedTuple):
    """What a prompt shows of a map: the text, and the ids of the objects in it, sorted."""

    text: str
    ids: tuple[str, ...]


def shown_map(
    scene: SceneGraph,
    mode: Mode = "uncertainty",
    tokens: int = MAP_TOKENS,
    relevant: Sequence[str] = (),
    seed: int | None = None,
    likeness: Mapping[str, float] | None = None,
    *,
    lean: bool = False,
) -> ShownMap:
    """Return the objects of a map as JSON: `{id: {center, size, seen, labels}}`, lengths [m].

    Where not all fit, a note says how many of which labels are left out.

    Args:
        scene: The map.
        mode: certainty: `label` is the top one; uncertainty: `labels` with probabilities.
        tokens: Most tokens of the text, at `CHARACTERS_PER_TOKEN`.
        relevant: Ids that matter for the request, most first; the others follow, first those of
            the labels nearest in meaning, then by how often they were seen.
        seed: Of the order in which objects are listed; None: the map's own.
        likeness: Top label -> cosine of its meaning with the request's; None: not compared.
        lean: Tell only what and where things are, so that more of them fit, and of what matters
            first one of each label.
    """
    relevant = _of_each_label(scene, relevant) if lean else relevant
    place = {id_: k for k, id_ in enumerate(relevant)}
    near = nearest_labels(likeness or {})
    ranked = sorted(
        scene.objects.values(),
        key=lambda t: (
            place.get(t.id, len(place)),
            t.label.top not in near,
            -t.observations,
            t.id,
        ),
    )
    most = _NAMED_LEAN if lean else _NAMED
    limit = tokens * CHARACTERS_PER_TOKEN - most * 40 - 100  # room for the note
    lines, used = {}, 2
    for thing in ranked:
        line = f"{json.dumps(thing.id)}: {json.dumps(map_entry(scene, thing, mode, lean=lean))}"
        if used + len(line) + 2 > limit:
            # One with a monstrous id is passed over; when the text is full the rest is, too.
            if len(line) < limit / 20:
                break
            continue
        used += len(line) + 2
        lines[thing.id] = line
    kept = [lines[id_] for id_ in scene.objects if id_ in lines]
    if seed is not None:
        random.Random(seed).shuffle(kept)
    left_out = [thing for thing in ranked if thing.id not in lines]
    text = "{" + ",\n".join(kept) + "}" + (_note(left_out, most) if left_out else "")
    return ShownMap(text, tuple(sorted(lines)))


def _of_each_label(scene: SceneGraph, ids: Sequence[str]) -> list[str]:
    """Return the ids with the first of each label first, then the second of each, ..."""
    turns: Counter[str] = Counter()
    order = []
    for k, id_ in enumerate(ids):
        label = scene.objects[id_].label.top
        order.append((turns[label], k, id_))
        turns[label] += 1
    return [id_ for _, _, id_ in sorted(order)]


def _note(left_out: Sequence[SceneObject], most: int) -> str:
    labels = Counter(thing.label.top[:30] for thing in left_out)
    named = ", ".join(f"{n} {json.dumps(label)}" for label, n in labels.most_common(most))
    more = ", and others" if len(labels) > most else ""
    return (
        f"\n(left out, as they seem to have less to do with the request: {len(left_out)} of "
        f"the map's objects: {named}{more})"
    )


def map_entry(
    scene: SceneGraph, thing: SceneObject, mode: Mode, *, lean: bool = False
) -> dict[str, object]:
    """Return what a map tells of an object, lengths [m]; lean: only what and where it is."""
    likely = list(thing.label.distribution().items())[: _LABELS_LEAN if lean else _LABELS]
    entry: dict[str, object] = {
        "center": [round(v, 1 if lean else 2) for v in thing.box.center],
    }
    if not lean:
        entry["size"] = [round(v, 2) for v in thing.box.size]
        entry["seen"] = thing.observations
    if mode == "certainty":
        entry["label"] = thing.label.top[:80]
    else:
        entry["labels"] = {label[:80]: round(p, 2) for label, p in likely}
    room = scene.rooms.get(thing.room)
    if room is not None:
        entry["room"] = room.name
    for word, other in (("on", thing.support), ("inside", thing.container)):
        if other and not (lean and other in entry.values()):
            entry[word] = other
    if thing.properties and not lean:
        entry["properties"] = dict(list(thing.properties.items())[:6])
    return entry
