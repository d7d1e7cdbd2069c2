"""A place as a reader of its map or of descriptions of its frames pictures it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

COLORS = (
    "black", "white", "red", "green", "blue", "yellow", "grey", "gray", "brown", "beige", "orange",
    "purple", "pink", "teal", "olive", "turquoise", "gold", "silver", "navy", "maroon", "cream",
)  # fmt: skip
_AT = re.compile(r"^at \(([-\d.]+), ([-\d.]+), ([-\d.]+)\) m$")
_SIZE = re.compile(r"^([\d.]+) x ([\d.]+) x ([\d.]+) m$")
_LABEL = re.compile(r"^(.+) (\d\.\d\d)$")
_PART = re.compile(r"^(?:(\d+)|an?|the|some) (.+)$")


@dataclass
class Thing:
    """A thing: what it is called, where, how large [m], on or in what, its color and state."""

    id: str
    label: str
    room: str = ""
    center: tuple[float, float, float] | None = None
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)
    holder: str = ""
    held: str = ""
    color: str = ""
    is_open: bool | None = None
    sure: float = 1.0
    frames: set[str] = field(default_factory=set)

    @property
    def top(self) -> float:
        """Height of its top [m]."""
        return self.center[2] + self.size[2] / 2.0 if self.center is not None else 0.0

    def away(self, other: Thing) -> float:
        """Gap between the boxes on the ground [m]."""
        if self.center is None or other.center is None:
            return math.inf
        gaps = [
            max(0.0, abs(self.center[k] - other.center[k]) - (self.size[k] + other.size[k]) / 2.0)
            for k in (0, 1)
        ]
        return math.hypot(*gaps)


def from_map(text: str) -> list[Thing]:
    """Read the lines of a map."""
    things = []
    for line in text.splitlines():
        thing = from_line(line)
        if thing is not None:
            things.append(thing)
    return things


def from_line(line: str) -> Thing | None:
    """Read a thing's line; None for another one."""
    id_, colon, rest = line.partition(": ")
    parts = rest.split(", ")
    first = _LABEL.match(parts[0])
    if not colon or first is None:
        return None
    thing = Thing(id_, first[1], sure=float(first[2]))
    for part in parts[1:]:
        at, size = _AT.match(part), _SIZE.match(part)
        if at is not None:
            thing.center = (float(at[1]), float(at[2]), float(at[3]))
        elif size is not None:
            thing.size = (float(size[1]), float(size[2]), float(size[3]))
        elif part.startswith("in ") and not thing.room:
            thing.room = part[3:]
        elif part.startswith(("on ", "in ", "inside ")):
            thing.held, _, thing.holder = part.partition(" ")
        elif part in ("open", "closed"):
            thing.is_open = part == "open"
        elif part in COLORS or part.split(" ")[-1] in COLORS:
            thing.color = part
    return thing


def from_captions(text: str) -> list[Thing]:
    """Read descriptions of frames: what most of them say of a thing of a room counts once."""
    seen: dict[tuple[str, str], list[tuple[int, str, bool | None, str]]] = {}
    for line in text.splitlines():
        frame, _, said = line.partition(": ")
        room = ""
        where = re.match(r"In the ([a-z0-9 ]+): ", said)
        if where is not None:
            room, said = where[1], said[where.end() :]
        for part in said.rstrip(".").split(", "):
            found = _PART.match(part)
            if found is None:
                continue
            count = int(found[1] or 1)
            words = found[2].split(" ")
            color = words.pop(0) if words[0] in COLORS else ""
            state = {"open": True, "closed": False}.get(words[0]) if words else None
            label = " ".join(words[state is not None :])
            if count > 1 and label.endswith("s"):
                label = label[:-1]
            seen.setdefault((label, room), []).append((count, color, state, frame))
    things = []
    for (label, room), told in seen.items():
        colors = [color for _, color, _, _ in told if color]
        states = [state for _, _, state, _ in told if state is not None]
        for k in range(min(max(count for count, *_ in told), 6)):
            things.append(
                Thing(
                    f"{label}/{room}/{k}",
                    label,
                    room,
                    color=max(set(colors), key=colors.count) if colors else "",
                    is_open=max(set(states), key=states.count) if states else None,
                    frames={frame for *_, frame in told},
                )
            )
    return things


def mentioned(text: str, things: list[Thing]) -> list[tuple[str, str, int]]:
    """Return the labels that a text names, in its order: label, room that follows it, where."""
    labels = sorted({thing.label for thing in things}, key=lambda name: (-len(name), name))
    rooms = sorted({thing.room for thing in things if thing.room}, key=lambda r: (-len(r), r))
    taken: list[tuple[int, int]] = []
    found = []
    for label in labels:
        for at in re.finditer(rf"\b{re.escape(label)}(?:e?s)?\b", text):
            if any(a < at.end() and at.start() < b for a, b in taken):
                continue
            if any(text.startswith(room, at.start()) for room in rooms):
                continue
            taken.append(at.span())
            after = text[at.end() :]
            room = next((r for r in rooms if after.startswith(f" in the {r}")), "")
            found.append((label, room, at.start()))
    return sorted(found, key=lambda one: one[2])


def called(things: list[Thing], label: str, room: str = "") -> list[Thing]:
    """Return the things of a label (in a room), surest first."""
    some = [one for one in things if one.label == label and room in ("", one.room)]
    return sorted(some, key=lambda one: (-one.sure, one.id))


def reply(
    answer: str, why: str, sure: float = 0.7, things: Any = (), **more: Any
) -> dict[str, Any]:
    """Return an answer with the ids of what it rests on."""
    ids = list(dict.fromkeys(one.id for one in things))[:20]
    return {"reason": why, "answer": answer, "confidence": sure, "objects": ids, **more}
