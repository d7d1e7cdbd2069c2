"""What a Habitat scene consists of, as plain data: assets and where they stand, and its graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from coterie_core.geometry import Box
from coterie_world.scene import SceneGraph
from habitat_bridge.habitat.data_files import Vec

MotionType = Literal["STATIC", "KINEMATIC", "DYNAMIC"]
Wxyz = tuple[float, float, float, float]


@dataclass(slots=True)
class ObjectDescription:
    """An object of a scene instance, as habitat-sim is to make it (y up, metres).

    `template` is the name that the data set knows it by, `asset` its mesh or URDF (None: missing),
    `handle` is unique in the scene and the id of the object in the scene graph. `rotation` is
    (w, x, y, z). `box` is its extent in the map frame (z up; None: unknown). With
    `origin_at_com` the translation is that of the centre of mass, else of the asset's origin.
    """

    template: str
    asset: Path | None
    handle: str
    translation: Vec
    rotation: Wxyz
    scale: Vec
    motion_type: MotionType
    articulated: bool
    semantic_id: int
    label: str = ""
    box: Box | None = None
    origin_at_com: bool = False
    moving_joints: int = 0
    user: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class SceneDescription:
    """A scene: stage, objects and scene graph; `notes` say what is missing, guessed or computed.

    Paths are absolute, or None where the data set names none. Up and front are directions in
    the stage's own frame; `stage_rotation` (w, x, y, z), `stage_translation` and `stage_scale`
    place it in the y-up world [m]. `graph` is in the z-up map frame. `regions` says where
    its rooms come from.
    """

    name: str
    dataset_config: Path | None
    scene_path: Path | None
    stage: Path | None
    stage_config: Path | None
    stage_up: Vec
    stage_front: Vec
    objects: list[ObjectDescription]
    graph: SceneGraph
    notes: list[str]
    regions: Literal["annotated", "computed", "none"] = "none"
    stage_translation: Vec = (0.0, 0.0, 0.0)
    stage_rotation: Wxyz = (1.0, 0.0, 0.0, 0.0)
    stage_scale: Vec = (1.0, 1.0, 1.0)
    semantic_asset: Path | None = None
    semantic_descriptor: Path | None = None
    region_descriptor: Path | None = None
    navmesh: Path | None = None
    classes: dict[int, str] = field(default_factory=dict)
