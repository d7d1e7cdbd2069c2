"""Semantic descriptors of a scene: where they are, and what they tell once read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from habitat_bridge.habitat.annotation_types import Annotations
from habitat_bridge.habitat.annotations import read_annotations
from habitat_bridge.habitat.data_files import Refused, confined, read_json, text_field
from habitat_bridge.habitat.dataset import SceneDataset, Template
from habitat_bridge.habitat.description import SceneDescription
from habitat_bridge.habitat.semantic_mesh import colour_boxes, face_boxes
from habitat_bridge.habitat.transforms import frame_to_world, rotation_matrix
from habitat_bridge.simulator import WorldError

_COMPANIONS = (".semantic.txt", ".house", ".scn", "_semantic.txt", ".semantic_config.json")


def find_descriptors(result: SceneDescription, dataset: SceneDataset, scene: Template) -> None:
    """Find a scene's semantic descriptors and navmesh: aliases, file names, or files next to it.

    Raises:
        Refused: A field of the scene instance is no text.
    """
    section = "semantic_scene_descriptor_instances"
    for field, place in (
        ("semantic_scene_instance", section),
        ("navmesh_instance", "navmesh_instances"),
    ):
        name = text_field(scene.attributes, field)
        if not name:
            continue
        path = dataset.mapped(place, name)
        if path is None and place == section:
            template = dataset.find(section, name)
            path = template.path if template else None
        if path is None or not path.is_file():
            result.notes.append(f"{scene.path.name}: {field}: the data set has no {name!r}")
        elif place == section:
            result.semantic_descriptor = path
        else:
            result.navmesh = path
    own = f"{scene.name}.semantic_config"
    regions = dataset.mapped(section, own)
    if regions is None and own in dataset.names(section):
        template = dataset.find(section, own)
        regions = template.path if template else None
    result.region_descriptor = regions if regions != result.semantic_descriptor else None
    if result.semantic_descriptor is None and result.stage is not None:
        result.semantic_descriptor = _companion(result.stage, _COMPANIONS)
        # Replica's stages lie in a folder of their own with this file.
        replica = result.stage.with_name("info_semantic.json")
        if result.semantic_descriptor is None and replica.is_file():
            result.semantic_descriptor = replica
    if result.semantic_asset is None and result.stage is not None:
        result.semantic_asset = _companion(result.stage, (".semantic.glb", "_semantic.ply"))
    if result.navmesh is None and result.stage is not None:
        result.navmesh = _companion(result.stage, (".basis.navmesh", ".navmesh"))


def _companion(asset: Path, endings: tuple[str, ...]) -> Path | None:
    """Return a file next to an asset: its name up to the first dot and one of the endings."""
    short = asset.name.split(".", 1)[0]
    for ending in endings:
        path = asset.with_name(short + ending)
        if path.is_file():
            return path
    return None


def read_descriptors(result: SceneDescription) -> Annotations:
    """Read a scene's descriptors: regions, classes, and annotated objects with their boxes.

    Raises:
        WorldError: A descriptor cannot be read.
        Refused: A field of one is wrong.
    """
    path = result.semantic_descriptor
    annotations = read_annotations(path) if path else Annotations()
    if result.region_descriptor is not None and not annotations.regions:
        annotations.regions = read_annotations(result.region_descriptor).regions
    if path is not None and path.name.endswith(".semantic_config.json"):
        data = read_json(path, "semantic config")
        other = text_field(data, "semantic_descriptor_filename")
        dataset_default = _lexicon_default(result) if not other else ""
        for name in filter(None, (other, dataset_default)):
            try:
                root = result.dataset_config.parent.parent if result.dataset_config else path.parent
                more = read_annotations(confined(root, path.parent, name))
                annotations.classes |= more.classes
                annotations.things += more.things
            except (Refused, WorldError) as error:
                result.notes.append(f"{path.name}: semantic_descriptor_filename: {error}")
    result.notes += annotations.notes
    _add_boxes(result, annotations)
    return annotations


def _lexicon_default(result: SceneDescription) -> str:
    if result.dataset_config is None:
        return ""
    data = read_json(result.dataset_config, "scene data set config")
    section = data.get("semantic_scene_descriptor_instances", {})
    defaults = section.get("default_attributes", {}) if isinstance(section, dict) else {}
    return text_field(defaults, "semantic_descriptor_filename")


def _add_boxes(result: SceneDescription, annotations: Annotations) -> None:
    """Give annotated things without a box the one of their colour in the semantic mesh."""
    bare = [t for t in annotations.things if t.box is None]
    if not bare or result.semantic_asset is None:
        if bare:
            result.notes.append(f"{len(bare)} annotated objects have no box and no semantic mesh")
        return
    rotation = rotation_matrix(result.stage_rotation) @ frame_to_world(
        result.stage_up, result.stage_front
    )
    offset = np.array(result.stage_translation)
    by_color = all(t.color is not None for t in bare)
    try:
        if by_color:
            colors = {t.color for t in bare if t.color is not None}
            boxes = colour_boxes(result.semantic_asset, rotation, offset, colors)
        else:
            boxes = face_boxes(result.semantic_asset, rotation, offset)
    except Refused as error:
        result.notes.append(f"{error}; annotated objects have no boxes")
        return
    for thing in bare:
        key = thing.color if by_color else int(thing.key)
        thing.box = None if key is None else boxes.get(key)
    missing = sum(t.box is None for t in bare)
    if missing:
        result.notes.append(
            f"{result.semantic_asset.name}: {missing} of {len(bare)} annotated objects do not"
            " occur in it; they have no box"
        )
