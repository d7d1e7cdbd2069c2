"""Masses of objects, as far as a map or a person tells them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from coterie_core.scene import SceneGraph, SceneObject
from coterie_core.skills import Target

_SAME = 1.0
"""Largest distance between a target and the object of the map that it is taken for [m]."""


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


def mass_of_target(
    scene: SceneGraph, target: Target, by_label: Mapping[str, float]
) -> float | None:
    """Return the mass of what a skill acts on [kg]; None: nobody knows it.

    Args:
        scene: The map: its object of that id, else the nearest one of that label.
        target: What the skill acts on.
        by_label: Masses by label [kg], where the map tells none.
    """
    things = [scene.objects[target.instance]] if target.instance in scene.objects else []
    if not things:
        near = [
            (math.dist(thing.box.center, target.position), thing.id)
            for thing in scene.objects.values()
            if thing.label.top == target.label
        ]
        things = [scene.objects[id_] for away, id_ in sorted(near) if away <= _SAME][:1]
    known = next((object_mass(thing) for thing in things), None)
    return by_label.get(target.label) if known is None else known
