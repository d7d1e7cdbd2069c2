"""Look-ups in a semantic map that a model may make while it decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from coterie_core.geometry import Box
from coterie_core.household import normalized, singulars
from coterie_core.relations import gap, inside, on
from coterie_llm.tools import Tool, ToolRefused
from coterie_world.scene.graph import SceneGraph
from coterie_world.scene.model import SceneObject

Described = Callable[[SceneObject], Any]
_MAX_RESULTS = 40
_PART = 3
"""Letters of a word that may be a part of another (table in tablecloth)."""


class FindArguments(BaseModel):
    """What to look for."""

    words: str = Field(max_length=80, description="a word for the thing, e.g. mug; '' for all")
    room: str = Field("", max_length=80, description="only in this room, by name; '' anywhere")


class AroundArguments(BaseModel):
    """Around what to look."""

    object: str = Field(description="id of an object of the map")
    within: float = Field(1.5, gt=0.0, le=20.0, description="largest gap between the boxes [m]")


class MeasureArguments(BaseModel):
    """What to measure between."""

    first: str = Field(description="id of an object of the map")
    second: str = Field(description="id of another object of the map")


def map_tools(scene: SceneGraph, describe: Described) -> Sequence[Tool[Any]]:
    """Return tools that find, list and measure objects of a map.

    Args:
        scene: The map.
        describe: Function that returns an object as plain data for the model, its id included.
    """

    def room_of(thing: SceneObject) -> str:
        known = scene.rooms.get(thing.room)
        return known.name if known is not None else ""

    def known(id_: str) -> SceneObject:
        if id_ not in scene.objects:
            raise ToolRefused(f"there is no object {id_[:60]!r} in the map; use ids as given")
        return scene.objects[id_]

    def told(things: Sequence[SceneObject]) -> dict[str, Any]:
        return {
            "count": len(things),
            "objects": [describe(thing) for thing in things[:_MAX_RESULTS]],
            **({"left out": len(things) - _MAX_RESULTS} if len(things) > _MAX_RESULTS else {}),
        }

    def find(asked: FindArguments) -> dict[str, Any]:
        rooms = {room.name for room in scene.rooms.values()}
        wanted = asked.room.strip().lower()
        if wanted and not any(wanted in name.lower() for name in rooms):
            raise ToolRefused(
                f"no room {asked.room!r}; rooms: {', '.join(sorted(rooms)) or 'none'}"
            )
        found = [
            thing
            for thing in scene.objects.values()
            if _called(thing, asked.words) and wanted in room_of(thing).lower()
        ]
        return told(found)

    def around(asked: AroundArguments) -> dict[str, Any]:
        center = known(asked.object)
        near = sorted(
            (round(gap(thing.box, center.box), 2), thing.id)
            for thing in scene.objects.values()
            if thing.id != center.id
        )
        kept = [(away, id_) for away, id_ in near if away <= asked.within]
        things = [
            {"gap": away, **_relation(scene, scene.objects[id_], center), "object": describe(thing)}
            for away, id_ in kept[:_MAX_RESULTS]
            if (thing := scene.objects[id_])
        ]
        return {"count": len(kept), "objects": things}

    def measure(asked: MeasureArguments) -> dict[str, float]:
        one, two = known(asked.first).box, known(asked.second).box
        return {
            "distance between centers": round(math.dist(one.center, two.center), 2),
            "gap between boxes": round(gap(one, two), 2),
            "first is higher by": round(one.top - two.top, 2),
            "first is larger by a factor of": round(one.volume / max(two.volume, 1e-6), 2),
        }

    return (
        Tool(
            "find_objects",
            "Finds objects of the map whose labels hold a word, anywhere or in one room.",
            FindArguments,
            find,
        ),
        Tool(
            "look_around",
            "Lists what is around an object, nearest first, with the gap between the boxes [m] "
            "and whether it is on, in or under it.",
            AroundArguments,
            around,
        ),
        Tool(
            "measure",
            "Measures between two objects: distance and gap [m], heights, sizes.",
            MeasureArguments,
            measure,
        ),
    )


def _called(thing: SceneObject, words: str) -> bool:
    """Tell whether one of a thing's labels holds the words, in singular or plural."""
    said = normalized(words.replace("_", " "))
    forms = {said, *singulars(said)}
    names = [normalized(label.replace("_", " ")) for label in thing.label.distribution()]
    return not said or any(
        f" {form} " in f" {name} " or (len(form) >= _PART and form in name)
        for form in forms
        for name in names
    )


def _relation(scene: SceneGraph, thing: SceneObject, center: SceneObject) -> dict[str, str]:
    """Return how a thing stands to another, by the map or by their boxes."""
    if thing.container == center.id or inside(thing.box, center.box) > 0.0:
        return {"it is": "in it"}
    if thing.support == center.id or on(thing.box, center.box) > 0.0:
        return {"it is": "on it"}
    if center.support == thing.id or on(center.box, thing.box) > 0.0:
        return {"it is": "under it"}
    return {}


MAX_NEIGHBORS = 12
"""Number of nearest objects that relations are computed of."""


class Nearby:
    """Objects by where they are, without looking at every pair."""

    def __init__(self, things: Sequence[SceneObject]) -> None:
        self.ids = [thing.id for thing in things]
        self._centers = np.array([thing.box.center for thing in things]).reshape(-1, 3)
        sizes = np.array([thing.box.size for thing in things]).reshape(-1, 3)
        self._radii = np.linalg.norm(sizes, axis=1) / 2.0
        self._corners = np.array([thing.box.axis_aligned() for thing in things]).reshape(-1, 2, 3)

    def within(self, box: Box, but: str, reach: float) -> list[str]:
        """Ids of the objects whose boxes come within `reach` [m] of a box, without `but`."""
        low, high = np.array(box.axis_aligned())
        with np.errstate(invalid="ignore"):  # maps may state boxes without end
            apart = np.maximum(self._corners[:, 0] - high, low - self._corners[:, 1])
            gaps = np.linalg.norm(np.maximum(apart, 0.0), axis=1)
        return [self.ids[k] for k in np.flatnonzero(gaps <= reach) if self.ids[k] != but]

    def near(self, box: Box, but: str, most: int = MAX_NEIGHBORS) -> list[str]:
        """Ids of the nearest things, nearest first, without `but`; all where there are few."""
        if len(self.ids) <= most:
            return [id_ for id_ in self.ids if id_ != but]
        away = np.linalg.norm(self._centers - np.array(box.center), axis=1) - self._radii
        chosen = np.argpartition(away, most)[: most + 1]
        ordered = sorted((float(away[k]), self.ids[k]) for k in chosen)
        return [id_ for _, id_ in ordered if id_ != but][:most]
