"""Where a robot begins: at a place, in a room, at a pose, or wherever the seed says."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence

import numpy as np

from coterie_core.embodiment import Embodiment
from coterie_core.geometry import Pose, Vec3
from habitat_bridge.embedded.body import Body
from habitat_bridge.embedded.body_places import BodyPlaces
from habitat_bridge.house.house import House
from habitat_bridge.simulator import Start, WorldError

_GAP = 0.1  # [m] between robots at the start
_BESIDE = (0.8, 1.2, 1.6)  # [m] from a place, where a crowd takes all places


def choose_start(
    start: Start,
    embodiment: Embodiment,
    places: BodyPlaces,
    house: House,
    bodies: Sequence[Body],
    rng: np.random.Generator,
) -> Pose:
    """Return where a robot begins.

    Args:
        start: Where it is to begin.
        embodiment: What it is.
        places: Places of the house as it can use them.
        house: The house.
        bodies: The robots that are there already.
        rng: Chooses among places that are as good.

    Raises:
        WorldError: No such place or room, or no free spot there fits the body.
    """
    if start.pose is not None:
        spot = places.space.nearest_free(start.pose.position, 0.5)
        if spot is None or not _clear(bodies, embodiment, spot):
            raise WorldError(
                f"{embodiment.name} does not fit within 0.5 m of {_text(start.pose.position)}: "
                "a wall, furniture or another robot is there; choose another start"
            )
        return Pose(spot, start.pose.yaw)
    wanted = _wanted(house, places, start)
    fitting = [k for k in wanted if places.stand(k) is not None]
    if not fitting:
        where = start.place or start.room or "the house"
        raise WorldError(
            f"{embodiment.name} (radius {embodiment.radius:.2f} m, height "
            f"{embodiment.height:.2f} m) fits at no place of {where}; use a smaller body or "
            "another start"
        )
    if start.place is None and start.room is None:
        # Where most of the house is open to it.
        parts: list[list[str]] = []  # places with ways between them
        part_of: dict[str, list[str]] = {}
        for k in fitting:
            spot = _spot(places, k)
            joined = (p for p in parts if places.space.connected(_spot(places, p[0]), spot))
            part_of[k] = next(joined, [])
            if not part_of[k]:
                parts.append(part_of[k])
            part_of[k].append(k)
        most = max(map(len, parts))
        fitting = [k for k in fitting if len(part_of[k]) == most]
    free = [k for k in fitting if _clear(bodies, embodiment, _spot(places, k))]
    found: Vec3 | None = None
    if free:
        found = _spot(places, free[int(rng.integers(len(free)))])
    elif start.place is None:
        found = _beside(fitting, embodiment, places, bodies, rng)
    if found is None:
        where = start.place or start.room or "the house"
        raise WorldError(
            f"{len(bodies)} other robots leave no room in {where}; choose another start, a larger "
            "house or fewer robots"
        )
    return Pose(found, float(rng.uniform(-math.pi, math.pi)))


def _beside(
    fitting: Sequence[str],
    embodiment: Embodiment,
    places: BodyPlaces,
    bodies: Sequence[Body],
    rng: np.random.Generator,
) -> Vec3 | None:
    """Return a free spot near one of the places that others take; None where there is none."""
    order = rng.permutation(len(fitting))
    for away in _BESIDE:
        for k in order:
            x, y, z = _spot(places, fitting[k])
            for turn in np.arange(0.0, 2.0 * math.pi, math.pi / 4.0):
                wanted = (x + away * math.cos(turn), y + away * math.sin(turn), z)
                spot = places.space.nearest_free(wanted, 0.2, near=(x, y, z))
                if spot is not None and _clear(bodies, embodiment, spot):
                    return spot
    return None


def _wanted(house: House, places: BodyPlaces, start: Start) -> list[str]:
    known = places.map.places
    if start.place is not None:
        if start.place not in known:
            raise WorldError(f"this house has no place {start.place!r}{_like(start.place, known)}")
        return [start.place]
    if start.room is None:
        return list(known)
    text = start.room.strip().lower()
    rooms = house.rooms
    found = {r.id for r in rooms if text in (r.id.lower(), r.name.lower())}
    found = found or {r.id for r in rooms if r.type.lower() == text}
    if found:
        return [k for k in known if known[k].room in found]
    names = [room.name for room in house.rooms]
    raise WorldError(
        f"this house has no room {start.room!r}{_like(text, names)}; rooms here: {', '.join(names)}"
    )


def _spot(places: BodyPlaces, place: str) -> Vec3:
    spot = places.stand(place)
    assert spot is not None
    return spot


def _clear(bodies: Sequence[Body], embodiment: Embodiment, spot: Vec3) -> bool:
    return all(
        math.dist(body.pose.position, spot) > body.embodiment.radius + embodiment.radius + _GAP
        for body in bodies
    )


def _like(name: str, known: object) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)  # type: ignore[call-overload]
    return f"; did you mean {close[0]!r}?" if close else ""


def _text(point: Vec3) -> str:
    return f"({point[0]:.2f}, {point[1]:.2f}, {point[2]:.2f})"
