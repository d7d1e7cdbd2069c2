"""Masses of objects, as far as a map or a person tells them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from coterie_core.skills import Target
from coterie_world.association import MASS_RADIUS_M
from coterie_world.scene import SceneGraph, SceneObject

_CONTACT_RADIUS_M = 0.05
"""Largest distance to its box at which a target is the thing itself, whatever its label [m]."""


def object_mass(thing: SceneObject) -> float | None:
    """Return an object's mass [kg] where its properties tell it (`mass` or `mass_kg`)."""
    for name in ("mass", "mass_kg"):
        try:
            mass = float(thing.properties.get(name, ""))
        except ValueError:
            continue
        if math.isfinite(mass) and mass >= 0.0:
            return mass
    return None


def masses_of_target(
    scene: SceneGraph, target: Target, by_label: Mapping[str, float]
) -> list[tuple[str, float | None]]:
    """Return labels and masses of all that a skill may act on [kg]; None: nobody knows that mass.

    Args:
        scene: The map: its object of that id if it is what the target says, else all of that label;
            and what else lies there, nearer than those.
        target: Target that the skill acts on.
        by_label: Masses by label [kg], where the map tells none.
    """
    away = {id_: thing.box.distance(target.position) for id_, thing in scene.objects.items()}
    meant = [
        id_ for id_, one in scene.objects.items()
        if one.label.top == target.label and away[id_] <= MASS_RADIUS_M
    ]  # fmt: skip
    meant = [id_ for id_ in meant if id_ == target.instance] or meant
    nearest = min((away[id_] for id_ in meant), default=math.inf)
    found: list[tuple[str, float | None]] = [
        (target.label, object_mass(scene.objects[id_])) for id_ in meant
    ] or [(target.label, None)]
    for id_, one in scene.objects.items():
        if one.kind == "item" and away[id_] <= _CONTACT_RADIUS_M and away[id_] < nearest:
            found.append((one.label.top, object_mass(one)))
    return [(label, by_label.get(label) if mass is None else mass) for label, mass in found]
