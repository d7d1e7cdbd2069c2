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


def masses_of_target(
    scene: SceneGraph, target: Target, by_label: Mapping[str, float]
) -> list[float | None]:
    """Return the masses of all that a skill may act on [kg]; None: nobody knows one of them.

    Args:
        scene: The map: its object of that id if it is what the target says, else all of that label.
        target: What the skill acts on.
        by_label: Masses by label [kg], where the map tells none.
    """
    things = [
        thing
        for thing in scene.objects.values()
        if thing.label.top == target.label and thing.box.distance(target.position) <= _SAME
    ]
    things = [thing for thing in things if thing.id == target.instance] or things
    known = [object_mass(thing) for thing in things] or [None]
    return [by_label.get(target.label) if mass is None else mass for mass in known]
