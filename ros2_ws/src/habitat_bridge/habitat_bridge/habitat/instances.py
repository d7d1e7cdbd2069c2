"""Objects of a scene instance: their templates, transforms, extents and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

from habitat_bridge.habitat.assets import bounds, urdf_bounds
from habitat_bridge.habitat.data_files import (
    Refused,
    Vec,
    confined,
    number,
    objects_field,
    text_field,
    vector,
    vector3,
)
from habitat_bridge.habitat.dataset import SceneDataset, Template
from habitat_bridge.habitat.description import MotionType, ObjectDescription
from habitat_bridge.habitat.scene_rooms import slug
from habitat_bridge.habitat.transforms import (
    FRONT,
    UP,
    Array,
    frame_to_world,
    placed_box,
    rotation_matrix,
)

MOTION_TYPES = ("STATIC", "KINEMATIC", "DYNAMIC")
SCALE_LIMITS = (1e-4, 1e4)
INSTANCE_LIMIT = 50_000
_REACH = 1e4  # [m] nothing in a home lies farther from the origin


class InstanceReader:
    """Turns the entries of a scene instance into object descriptions; `notes` say what was odd."""

    def __init__(self, dataset: SceneDataset, scene: Template, classes: dict[int, str]) -> None:
        """Read from `scene`, a scene instance of `dataset`; `classes` names semantic ids."""
        self.dataset = dataset
        self.scene = scene
        self.classes = classes
        self.notes: list[str] = []
        self._handles: set[str] = set()
        self._extents: dict[Path, tuple[Array, Array] | None] = {}
        self._urdfs: dict[Path, tuple[tuple[Array, Array], int] | None] = {}
        self._templates: dict[tuple[str, str], Template | None] = {}
        self._at_com = scene.attributes.get("translation_origin") == "COM"

    def read(self) -> list[ObjectDescription]:
        """Return all objects that the data set knows; the others are named in the notes.

        Raises:
            Refused: The lists are no lists, or absurdly long.
        """
        result = []
        for field in ("object_instances", "articulated_object_instances"):
            entries = objects_field(self.scene.attributes, field)
            if len(entries) > INSTANCE_LIMIT:
                raise Refused(f"{field}: {len(entries)} entries are over {INSTANCE_LIMIT}")
            for k, entry in enumerate(entries):
                where = f"{self.scene.path.name}: {field}[{k}]"
                try:
                    if not isinstance(entry, dict):
                        raise Refused(f"expected an object, got {type(entry).__name__}")
                    result.append(self._one(entry, where, field.startswith("articulated")))
                except Refused as error:
                    self.notes.append(f"{where}: {error}; left out")
        return result

    def _one(self, entry: dict[str, Any], where: str, articulated: bool) -> ObjectDescription:
        name = text_field(entry, "template_name")
        template = self._template("articulated_objects" if articulated else "objects", name)
        if template is None:
            raise Refused(f"template_name: the data set has no template {name!r}")
        attributes = template.attributes
        translation = vector3(entry, "translation", (0.0, 0.0, 0.0))
        if max(abs(v) for v in translation) > _REACH:
            raise Refused(f"translation: {list(translation)} lies absurdly far away")
        w, x, y, z = vector(entry, "rotation", (1.0, 0.0, 0.0, 0.0))
        rotation_matrix((w, x, y, z))
        user = _texts(entry.get("user_defined"))
        own = _texts(attributes.get("user_defined"))
        semantic_id = int(number(attributes, "semantic_id", 0))
        label = own.get("label") or self.classes.get(semantic_id, "") or template.name
        thing = ObjectDescription(
            template=template.name,
            asset=self._asset(template, "urdf_filepath" if articulated else "render_asset", where),
            handle=self._handle(user.get("id") or own.get("id") or template.name),
            translation=translation,
            rotation=(w, x, y, z),
            scale=self._scale(entry, attributes),
            motion_type=self._motion(entry, where, articulated),
            articulated=articulated,
            semantic_id=semantic_id,
            label=label,
            origin_at_com=self._origin_at_com(entry),
            user=own | user,
        )
        self._measure(thing, attributes)
        return thing

    def _template(self, section: str, name: str) -> Template | None:
        key = (section, name)
        if key not in self._templates:
            self._templates[key] = self.dataset.find(section, name) if name else None
        return self._templates[key]

    def _handle(self, wanted: str) -> str:
        base = slug(wanted)
        handle, n = base, 1
        while handle in self._handles:
            n += 1
            handle = f"{base}-{n}"
        self._handles.add(handle)
        return handle

    def _asset(self, template: Template, field: str, where: str) -> Path | None:
        name = text_field(template.attributes, field)
        if not name:
            self.notes.append(f"{where}: {template.path.name} names no {field}")
            return None
        try:
            path = confined(self.dataset.root, template.folder, name)
        except Refused as error:
            self.notes.append(f"{where}: {template.path.name}: {field}: {error}")
            return None
        if not path.is_file():
            self.notes.append(f"{where}: {template.path.name}: {field}: no file {path}")
            return None
        return path

    def _scale(self, entry: dict[str, Any], attributes: dict[str, Any]) -> Vec:
        uniform = number(entry, "uniform_scale", 1.0) * number(attributes, "uniform_scale", 1.0)
        own = vector(attributes, "scale", (1.0, 1.0, 1.0))
        given = vector(entry, "non_uniform_scale", (1.0, 1.0, 1.0))
        units = number(attributes, "units_to_meters", 1.0)
        x, y, z = (uniform * units * a * b for a, b in zip(own, given, strict=True))
        if not all(SCALE_LIMITS[0] <= abs(v) <= SCALE_LIMITS[1] for v in (x, y, z)):
            raise Refused(f"scale: {[x, y, z]} is absurd (expected {SCALE_LIMITS} on each axis)")
        return (x, y, z)

    def _motion(self, entry: dict[str, Any], where: str, articulated: bool) -> MotionType:
        default = "DYNAMIC"
        value = entry.get("motion_type", default)
        kind = value.upper() if isinstance(value, str) else ""
        if kind not in MOTION_TYPES:
            kind = "STATIC"
            self.notes.append(
                f"{where}: motion_type: expected one of {', '.join(MOTION_TYPES)}, got {value!r};"
                " it stands still"
            )
        return cast(MotionType, kind)

    def _origin_at_com(self, entry: dict[str, Any]) -> bool:
        value = entry.get("translation_origin")
        return self._at_com if value is None else str(value).upper() == "COM"

    def _measure(self, thing: ObjectDescription, attributes: dict[str, Any]) -> None:
        """Set the box (and the number of joints) from the asset's extent."""
        if thing.asset is None:
            return
        rotation = rotation_matrix(thing.rotation)
        if thing.articulated:
            found = self._urdf(thing.asset)
            if found is None:
                return
            extent, thing.moving_joints = found
        else:
            solid = self._extent(thing.asset)
            if solid is None:
                return
            extent = solid
            local = frame_to_world(
                vector3(attributes, "up", UP), vector3(attributes, "front", FRONT)
            )
            ends = np.stack([extent[0] @ local.T, extent[1] @ local.T])
            extent = ends.min(axis=0), ends.max(axis=0)
        scale = np.array(thing.scale)
        move = np.array(thing.translation)
        if thing.origin_at_com and not thing.articulated:
            # Where no centre of mass is given, habitat-sim takes the middle of the extent.
            middle = (extent[0] + extent[1]) / 2.0
            com = np.array(vector(attributes, "COM", [float(v) for v in middle]))
            move = move - rotation @ (com * scale)
        thing.box = placed_box(extent[0], extent[1], rotation, scale, move)

    def _extent(self, path: Path) -> tuple[Array, Array] | None:
        if path not in self._extents:
            try:
                self._extents[path] = bounds(path)
            except Refused as error:
                self._extents[path] = None
                self.notes.append(str(error))
        return self._extents[path]

    def _urdf(self, path: Path) -> tuple[tuple[Array, Array], int] | None:
        if path not in self._urdfs:
            try:
                self._urdfs[path] = urdf_bounds(path, self.dataset.root)
            except Refused as error:
                self._urdfs[path] = None
                self.notes.append(str(error))
        return self._urdfs[path]


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {k: v for k, v in value.items() if isinstance(v, str)}
