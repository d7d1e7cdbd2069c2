"""What a team knows of a house beforehand: as much as a map made earlier would hold."""

from __future__ import annotations

import copy
from typing import Literal, get_args

from coterie_world.scene import SceneGraph

PriorMap = Literal["nothing", "rooms", "furniture", "everything"]
PRIOR_MAPS: tuple[PriorMap, ...] = get_args(PriorMap)


def prior_map(truth: SceneGraph, level: PriorMap) -> SceneGraph:
    """Return what a map made earlier holds of a house.

    Args:
        truth: The whole house.
        level: `rooms`: floors, rooms, ways between them, places; `furniture`: furniture and
            fixtures too, with their surfaces and doors shut as they were; `everything`: small
            things too, but for those inside of what is closed. Robots are never in it.
    """
    known = SceneGraph(frame=truth.frame)
    if level == "nothing":
        return known
    for part in ("floors", "rooms", "connections", "places", "links"):
        setattr(known, part, copy.deepcopy(getattr(truth, part)))
    if level == "rooms":
        return known
    hidden = {t.id for t in truth.objects.values() if t.is_open is False}
    for thing in truth.objects.values():
        small = thing.kind == "item"
        if small and (level == "furniture" or thing.container in hidden):
            continue
        known.add_object(copy.deepcopy(thing))
    for thing in known.objects.values():
        thing.last_seen = None
        if level == "furniture" and thing.support not in known.objects:
            thing.support = ""
    return known
