"""A map as text for a prompt: what bears on the question first, within a limit of tokens."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

from coterie_core.colors import basic_color, stated_color
from coterie_core.household import normalized
from coterie_llm import estimate_tokens, inline_data
from coterie_requests.lexicon import serving
from coterie_requests.request import Thing
from coterie_world.meaning import nearest_labels
from coterie_world.scene import SceneObject
from openeqa_agent.things import MapIndex
from openeqa_agent.understood import OpenQuestion

_LABELS = 3
_NEAR = 0.5
"""Score of the labels nearest in meaning: more than how often a thing was seen, less than a word of
the question."""


def relevance(
    index: MapIndex, question: OpenQuestion, likeness: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return id -> how much an object bears on a question, by labels, uses, words and rooms.

    Words that few objects share count more (inverse document frequency), as a word like "desk"
    tells more in a map with one desk.

    Args:
        index: The map.
        question: What is asked.
        likeness: Top label -> cosine of its meaning with the question's; None: not compared.
    """
    spoken = dict.fromkeys(index.phrase(Thing(name=t.name)) for t in question.things if t.name)
    grades = serving(" ".join(thing.use for thing in question.things))
    colors = {basic_color(thing.color) for thing in question.things} - {""}
    asked = set(re.findall(r"\w+", normalized(question.text)))
    counts: Counter[str] = Counter()
    words: dict[str, set[str]] = {}
    for thing in index.scene.objects.values():
        words[thing.id] = _words(thing)
        counts.update(words[thing.id])
    total = max(len(words), 1)
    rooms = {room.id for t in question.things for room in index.rooms_said(t) or ()}
    near, nearest = likeness or {}, nearest_labels(likeness or {})
    scores = {}
    for thing in index.scene.objects.values():
        score = max((one.p for s in spoken if (one := index.liked(thing, s))), default=0.0) * 3.0
        shared = words[thing.id] & asked
        score += sum(math.log(1.0 + total / counts[word]) for word in shared) / 5.0
        if grades:
            score += 2.0 * index.grade(thing, grades)
        room = index.room(thing)
        if room is not None and (
            room.id in rooms or normalized(room.name) in question.text.lower()
        ):
            score += 0.7
        score += 0.5 * (stated_color(thing.properties) in colors)
        score += max(0.0, near.get(thing.label.top, 0.0))
        score += _NEAR * (thing.label.top in nearest)
        scores[thing.id] = score + 0.01 * min(thing.observations, 20)
    return _with_neighbours(index, scores)


def _with_neighbours(index: MapIndex, scores: dict[str, float]) -> dict[str, float]:
    """What stands on, in or beside the most relevant things bears on the question too."""
    best = sorted(scores, key=lambda id_: (-scores[id_], id_))[:8]
    raised = dict(scores)
    for id_ in best:
        if scores[id_] < 1.0:
            continue
        thing = index.scene.objects[id_]
        around = [other for _, other in index.held_by(thing)] + index.neighbours(thing, 6)
        held = index.holder(thing)
        for other in [*around, *([held[1]] if held else [])]:
            raised[other.id] = max(raised[other.id], 0.5 * scores[id_])
    return raised


def _words(thing: SceneObject) -> set[str]:
    labels = list(thing.label.distribution())[:_LABELS]
    return {word for label in labels for word in normalized(label[:60]).split()}


def map_text(
    index: MapIndex,
    question: OpenQuestion,
    *,
    objects: int = 75,
    tokens: int = 6000,
    likeness: Mapping[str, float] | None = None,
) -> str:
    """Return rooms and objects as lines, most relevant objects first, and what was left out.

    Args:
        index: The map.
        question: What is asked.
        objects: Most objects (the paper's N).
        tokens: Most tokens, as estimated.
        likeness: Top label -> cosine of its meaning with the question's; None: not compared.
    """
    scores = relevance(index, question, likeness)
    ranked = sorted(index.scene.objects.values(), key=lambda t: (-scores[t.id], t.id))
    lines, used = [], 0
    rooms = [_room_line(index, room.id) for room in index.scene.rooms.values()]
    for line in rooms:
        cost = estimate_tokens(line) + 1
        if used + cost > tokens // 5:
            break
        lines.append(line)
        used += cost
    if len(lines) < len(rooms):
        lines.append(f"({len(rooms) - len(lines)} of {len(rooms)} rooms are left out)")
    note = 25
    kept = 0
    for thing in ranked[:objects]:
        line = object_line(index, thing)
        cost = estimate_tokens(line) + 1
        if used + cost + note > tokens:
            break
        lines.append(line)
        used += cost
        kept += 1
    left = len(ranked) - kept
    if left:
        lines.append(f"({left} of {len(ranked)} objects, least related to it, are left out)")
    return "\n".join(lines)


def whole_text(index: MapIndex, *, objects: int = 75, tokens: int = 6000) -> str:
    """Return all rooms and objects as lines, the same for every question; "" if they do not fit.

    Args:
        index: The map.
        objects: Most objects.
        tokens: Most tokens, as estimated.
    """
    things = index.scene.objects
    if len(things) > objects:
        return ""
    rooms = [_room_line(index, room.id) for room in index.scene.rooms.values()]
    text = "\n".join([*rooms, *(object_line(index, things[id_]) for id_ in sorted(things))])
    return text if estimate_tokens(text) <= tokens else ""


def _room_line(index: MapIndex, room_id: str) -> str:
    room = index.scene.rooms[room_id]
    count = sum(1 for _ in index.scene.objects_in(room_id))
    floor = index.scene.floors.get(room.floor)
    level = f", floor {floor.index}" if floor and len(index.scene.floors) > 1 else ""
    return f"room {inline_data(room.name)}{level}: {count} objects"


def object_line(index: MapIndex, thing: SceneObject) -> str:
    """One object: id, labels, room, box, what it is on or in, color, state."""
    ranked = list(thing.label.distribution().items())[:_LABELS]
    names = ", ".join(f"{inline_data(label, limit=60)} {p:.2f}" for label, p in ranked)
    parts = [f"{inline_data(thing.id, limit=60)}: {names or 'unknown'}"]
    room = index.room(thing)
    if room is not None:
        parts.append(f"in {inline_data(room.name)}")
    if thing.box.volume > 0.0:
        x, y, z = thing.box.center
        a, b, c = thing.box.size
        parts.append(f"at ({x:.1f}, {y:.1f}, {z:.1f}) m, {a:.2f} x {b:.2f} x {c:.2f} m")
    held = index.holder(thing)
    if held is not None:
        parts.append(f"{held[0]} {inline_data(held[1].id, limit=60)}")
    if color := stated_color(thing.properties):
        parts.append(color)
    if thing.is_open is not None:
        parts.append("open" if thing.is_open else "closed")
    for key, value in list(thing.properties.items())[:4]:
        if key != "color":
            parts.append(f"{inline_data(key, limit=20)} {inline_data(value, limit=40)}")
    return ", ".join(parts)
