"""The words of Habitat-MAS episodes: what a person would say so that one thing only can be meant.

Leaders get these words and nothing of the goal, so a description that fits two things would make
the episode a lottery. It is checked against the true map, by labels and synonyms, without the code
that understands sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from coterie_core.colors import color_name
from coterie_core.household import load_household
from coterie_core.tasks import Predicate
from coterie_world.scene import SceneGraph, SceneObject

VERBS = {
    "robot_at_object": "go to {object}",
    "robot_detect_object": "look at {object}",
    "object_at_receptacle": "put {object} on {receptacle}",
}


def sentence(goals: Sequence[Predicate], truth: SceneGraph) -> str | None:
    """Return a task in words; None where a thing cannot be told from others."""
    parts = []
    for goal in goals:
        names = {}
        for role, thing in (("object", goal.object), ("receptacle", goal.receptacle)):
            if thing is None:
                continue
            name = reference(truth.objects[thing.id], truth)
            if name is None:
                return None
            names[role] = name
        parts.append(VERBS[goal.name].format(**names))
    text = " and ".join(parts)
    return text[:1].upper() + text[1:]


def reference(thing: SceneObject, truth: SceneGraph) -> str | None:
    """Return the shortest description that fits this thing alone; None if there is none."""
    room = truth.rooms.get(thing.room)
    if room is None:
        return None
    alike = [o for o in truth.objects.values() if o.id != thing.id and _alike(o, thing)]
    for text, fits in _descriptions(thing, truth):
        if not any(fits(other) for other in alike):
            return text
    return None


def _descriptions(
    thing: SceneObject, truth: SceneGraph
) -> Iterator[tuple[str, Callable[[SceneObject], bool]]]:
    label, room = thing.label.top, truth.rooms[thing.room].name
    yield f"the {label} in the {room}", lambda o: o.room == thing.room
    under = truth.objects.get(thing.container or thing.support)
    if under is not None and thing.kind == "item":
        word, kind = ("in" if thing.container else "on"), under.label.top

        def there(other: SceneObject) -> bool:
            holder = truth.objects.get(other.container or other.support)
            return other.room == thing.room and (holder is None or _alike(holder, under))

        yield f"the {label} {word} the {kind} in the {room}", there
    color = _color(thing)
    if color:
        yield (
            f"the {color} {label} in the {room}",
            lambda other: other.room == thing.room and _color(other) in ("", color),
        )


def _color(thing: SceneObject) -> str:
    return color_name(thing.properties.get("color", ""))


def _alike(one: SceneObject, other: SceneObject) -> bool:
    """Whether a person might call both by the same word: "lamp" may be said of a floor lamp."""
    household = load_household()
    a, b = (household.canonical(o.label.top) for o in (one, other))
    return a == b or a.split()[-1] == b.split()[-1] or b in a.split() or a in b.split()
