"""Scenes of any Habitat data set as plain data and a scene graph, without habitat-sim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from coterie_core.geometry import Box
from coterie_world.scene import SceneError, SceneGraph, load
from habitat_bridge.habitat.annotation_types import Annotations
from habitat_bridge.habitat.assets import bounds
from habitat_bridge.habitat.data_files import Refused, Vec, confined, text_field, vector, vector3
from habitat_bridge.habitat.dataset import SECTIONS, SceneDataset, Template
from habitat_bridge.habitat.description import ObjectDescription, SceneDescription, Wxyz
from habitat_bridge.habitat.descriptors import find_descriptors, read_descriptors
from habitat_bridge.habitat.instances import InstanceReader
from habitat_bridge.habitat.scene_rooms import (
    NO_LABEL,
    STRUCTURE,
    add_regions,
    floors_from,
    guess_types,
    make_object,
    name_rooms,
    outlines_from_objects,
    place_objects,
    slug,
)
from habitat_bridge.habitat.transforms import (
    FRONT,
    UP,
    frame_to_world,
    placed_box,
    rotation_matrix,
)
from habitat_bridge.simulator import WorldError

__all__ = ["ObjectDescription", "SceneDescription", "load_scene"]

# habitat-sim takes these for z up where nothing else is said.
_Z_UP_SUFFIXES = (".glb", ".gltf", ".ply")
STAGE_SUFFIXES = (*_Z_UP_SUFFIXES, ".obj")


def load_scene(dataset_config: Path | None, scene: str) -> SceneDescription:
    """Read a scene of a Habitat data set.

    Args:
        dataset_config: The `.scene_dataset_config.json`; None for a scene that is a file alone.
        scene: Name of a scene instance or stage of the data set, or path of a stage or a scene
            instance; annotations next to such a file are found by name.

    Raises:
        WorldError: The config or scene is missing or broken; names the file and the field.
    """
    try:
        if dataset_config is None:
            return _load_file(Path(scene))
        dataset = SceneDataset(Path(dataset_config))
        found = _find_scene(dataset, scene)
        return _describe(dataset, *found)
    except Refused as error:
        raise WorldError(f"scene {scene!r}: {error}") from None


def _find_scene(dataset: SceneDataset, scene: str) -> tuple[str, Template]:
    """Return ("scene_instances" | "stages", template); a path to a file counts as its name."""
    for section in ("scene_instances", "stages"):
        # A whole name before pieces of names.
        if Path(scene).name in dataset.names(section) or scene in dataset.names(section):
            template = dataset.find(section, scene)
            if template is not None:
                return section, template
    for section in ("scene_instances", "stages"):
        template = dataset.find(section, scene)
        if template is not None:
            return section, template
    known = dataset.names("scene_instances") or dataset.names("stages")
    shown = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    raise WorldError(
        f"{dataset.config}: no scene {scene!r}; it has {shown or 'no scenes at all'}"
        + (f" ({'; '.join(dataset.notes[:3])})" if dataset.notes and not known else "")
    )


def _describe(dataset: SceneDataset, section: str, template: Template) -> SceneDescription:
    notes: list[str] = []
    if section == "stages":
        scene = Template(template.name, template.path, template.folder, {})
        stage: Template | None = template
        placement: dict[str, Any] = {}
    else:
        scene = template
        placement = scene.attributes.get("stage_instance", {})
        if not isinstance(placement, dict):
            raise Refused(
                f"{scene.path}: stage_instance: expected an object, got {placement!r:.60}"
            )
        name = text_field(placement, "template_name")
        stage = dataset.find("stages", name) if name and name != "NONE" else None
        if stage is None and name != "NONE":
            notes.append(f"{scene.path.name}: stage_instance: the data set has no stage {name!r}")
    result = SceneDescription(
        name=scene.name,
        dataset_config=dataset.config,
        scene_path=scene.path if section == "scene_instances" else None,
        stage=None,
        stage_config=None,
        stage_up=UP,
        stage_front=FRONT,
        objects=[],
        graph=SceneGraph(),
        notes=notes,
    )
    if stage is not None:
        _set_stage(result, dataset.root, stage, placement)
    find_descriptors(result, dataset, scene)
    annotations = read_descriptors(result)
    reader = InstanceReader(dataset, scene, annotations.classes)
    result.objects = reader.read()
    notes += reader.notes
    result.classes = annotations.classes
    if not _take_truth(result, dataset.root, scene):
        _build_graph(result, annotations)
    notes[:0] = dataset.notes
    return result


def _set_stage(
    result: SceneDescription, root: Path, stage: Template, placement: dict[str, Any]
) -> None:
    attributes = stage.attributes
    result.stage_config = stage.path if stage.path.name.endswith(".json") else None
    for field in ("render_asset", "semantic_asset", "nav_asset", "semantic_descriptor_filename"):
        name = text_field(attributes, field)
        if not name:
            continue
        try:
            path = confined(root, stage.folder, name)
        except Refused as error:
            raise Refused(f"{stage.path}: {field}: {error}") from None
        if not path.is_file():
            result.notes.append(f"{stage.path.name}: {field}: no file {path}")
        elif field == "render_asset":
            result.stage = path
        elif field == "semantic_asset":
            result.semantic_asset = path
        elif field == "nav_asset":
            result.navmesh = path
        else:
            result.semantic_descriptor = path
    suffix = Path(text_field(attributes, "render_asset")).suffix.lower()
    z_up = suffix in _Z_UP_SUFFIXES
    try:
        result.stage_up = vector3(attributes, "up", (0.0, 0.0, 1.0) if z_up else UP)
        result.stage_front = vector3(attributes, "front", (0.0, 1.0, 0.0) if z_up else FRONT)
        frame_to_world(result.stage_up, result.stage_front)
        result.stage_scale = vector3(attributes, "scale", (1.0, 1.0, 1.0))
        origin = vector(attributes, "origin", (0.0, 0.0, 0.0))
    except Refused as error:
        raise Refused(f"{stage.path}: {error}") from None
    if "up" not in attributes and z_up:
        result.notes.append(
            f"{stage.path.name}: no up and front are given; as habitat-sim does, z is taken as up"
        )
    move = vector3(placement, "translation", (0.0, 0.0, 0.0))
    result.stage_translation = _vec(a + b for a, b in zip(origin, move, strict=True))
    w, x, y, z = vector(placement, "rotation", (1.0, 0.0, 0.0, 0.0))
    turn: Wxyz = (w, x, y, z)
    rotation_matrix(turn)
    result.stage_rotation = turn


def _take_truth(result: SceneDescription, root: Path, scene: Template) -> bool:
    """Use the scene graph that a scene instance of this project names, if it is good."""
    user = scene.attributes.get("user_defined")
    name = user.get("coterie_scene_graph") if isinstance(user, dict) else None
    if not isinstance(name, str):
        return False
    try:
        graph = load(confined(root, scene.folder, name))
    except (Refused, SceneError) as error:
        result.notes.append(f"{scene.path.name}: user_defined.coterie_scene_graph: {error}")
        return False
    missing = graph.objects.keys() - {t.handle for t in result.objects}
    if missing:
        result.notes.append(
            f"{name}: its objects are not those of {scene.path.name} ({sorted(missing)[:3]});"
            " the scene graph is made from the data set"
        )
        return False
    result.graph = graph
    result.regions = "annotated"
    return True


def _build_graph(result: SceneDescription, annotations: Annotations) -> None:
    graph = result.graph
    rooms = add_regions(graph, annotations) if annotations.regions else {}
    extents: dict[str, list[Box]] = {}
    ground: dict[str, list[Box]] = {}
    structure = 0
    for thing in annotations.things:
        room = rooms.get(thing.region, "")
        if thing.box is not None and room:
            extents.setdefault(room, []).append(thing.box)
            if thing.label.lower() in ("floor", "floors", "carpet"):
                ground.setdefault(room, []).append(thing.box)
        if thing.label.lower() in STRUCTURE | NO_LABEL:
            structure += 1
            continue
        key = f"{slug(thing.label)}_{thing.key}"
        movable = thing.box is not None and max(thing.box.size) < 0.4
        graph.add_object(make_object(key, thing.label, thing.box, room, movable=movable))
    if structure:
        result.notes.append(f"{structure} annotations of walls, floors and the like are no objects")
    for entry in result.objects:
        if entry.label.replace("-", " ").split()[-1].lower() in STRUCTURE:
            continue
        opens = entry.articulated and entry.moving_joints > 0
        item = make_object(
            entry.handle, entry.label, entry.box, "", movable=entry.motion_type == "DYNAMIC",
            opens=opens,
        )  # fmt: skip
        if entry.box is None:
            x, y, z = entry.translation
            item.box = Box((x, -z, y), (0.0, 0.0, 0.0))
        item.properties |= {"template": entry.template, "motion_type": entry.motion_type}
        graph.add_object(item)
    _finish_rooms(result, annotations, extents, ground)


def _finish_rooms(
    result: SceneDescription,
    annotations: Annotations,
    extents: dict[str, list[Box]],
    ground: dict[str, list[Box]],
) -> None:
    graph = result.graph
    if not graph.rooms:
        base = _lowest(result)
        graph.floors = {floor.id: floor for floor in floors_from([base])}
        result.notes.append(
            "the data set has no regions; with_regions computes them from the navmesh"
        )
        return
    result.regions = "annotated"
    if all(r.low is None for r in annotations.regions.values()):
        _floors_by_objects(result, extents, ground)
    made = outlines_from_objects(graph, ground) + outlines_from_objects(graph, extents)
    if made:
        result.notes.append(f"outlines of {made} regions are rectangles around their objects")
    lost = place_objects(graph)
    if lost:
        result.notes.append(f"{lost} objects lie in no region")
    guessed = guess_types(graph)
    if guessed:
        result.notes.append(
            f"kinds of {len(guessed)} rooms are guessed from their objects:"
            f" {', '.join(guessed[:8])}"
        )
    name_rooms(graph)
    if not graph.connections:
        result.notes.append(
            "the data set tells no connections; with_regions computes them from the navmesh"
        )


def _floors_by_objects(
    result: SceneDescription, extents: dict[str, list[Box]], ground: dict[str, list[Box]]
) -> None:
    """Put rooms whose height is not annotated on storeys by the lowest things in them."""
    graph = result.graph
    base: dict[str, float] = {}
    for room, boxes in extents.items():
        known = ground.get(room)
        # Floors are thin and flat; without one the 10th percentile forgives a stray vertex.
        heights = [b.top for b in known] if known else [b.bottom for b in boxes]
        base[room] = float(np.median(heights) if known else np.percentile(heights, 10))
    if not base:
        return
    graph.floors = {f.id: f for f in floors_from(base.values())}
    for space in graph.rooms.values():
        height = base.get(space.id, min(base.values()))
        below = [f for f in graph.floors.values() if f.elevation <= height + 0.3]
        lowest = min(graph.floors.values(), key=lambda f: f.elevation)
        space.floor = max(below, key=lambda f: f.elevation, default=lowest).id


def _lowest(result: SceneDescription) -> float:
    """Return the height of the stage's lowest point [m], of the objects if it has none."""
    if result.stage is not None:
        try:
            low, high = bounds(result.stage)
            local = frame_to_world(result.stage_up, result.stage_front)
            ends = np.stack([low @ local.T, high @ local.T])
            box = placed_box(
                ends.min(axis=0),
                ends.max(axis=0),
                rotation_matrix(result.stage_rotation),
                np.array(result.stage_scale),
                np.array(result.stage_translation),
            )
            return box.bottom
        except Refused as error:
            result.notes.append(str(error))
    return min((t.box.bottom for t in result.objects if t.box is not None), default=0.0)


def _load_file(path: Path) -> SceneDescription:
    """Read a scene that is a file of its own: a stage's mesh, its config, or a scene instance."""
    path = path.absolute()
    if not path.is_file():
        raise WorldError(
            f"{path}: no such scene; give a file, or the data set's config and a scene's name"
        )
    if path.name.endswith(".scene_instance.json"):
        configs = sorted({*path.parent.glob("*.scene_dataset_config.json")}) or sorted(
            path.parent.parent.glob("*.scene_dataset_config.json")
        )
        if len(configs) != 1:
            raise WorldError(
                f"{path}: a scene instance belongs to a data set; name its"
                f" .scene_dataset_config.json ({len(configs)} found near it)"
            )
        return load_scene(configs[0], path.name)
    stage = path.suffix.lower() in STAGE_SUFFIXES or path.name.endswith(SECTIONS["stages"])
    dataset = SceneDataset.of_stage(path)
    template = dataset.find("stages", dataset.config.name) if stage else None
    if template is None:
        raise WorldError(f"{path}: expected a stage (.glb, .gltf, .ply, .obj or a stage config)")
    result = _describe(dataset, "stages", template)
    result.dataset_config = None
    return result


def _vec(values: Any) -> Vec:
    x, y, z = values
    return (float(x), float(y), float(z))
