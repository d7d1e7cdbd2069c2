"""Houses of the embedded generator as habitat scenes: exported once, kept in a cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie_core.geometry import Box
from habitat_bridge.house import export, glb
from habitat_bridge.house.house import House
from habitat_bridge.render import mesh, mesh_parts, mesh_shapes
from habitat_bridge.render.mesh import ObjectMesh, object_mesh, structure_meshes
from habitat_bridge.simulator import WorldError

NAME = "house"
_CODE = (export, glb, mesh, mesh_parts, mesh_shapes)


@dataclass(frozen=True, slots=True)
class ExportedHouse:
    """A house in files.

    Args:
        config: The scene data set's config.
        scene: Name of the scene in it.
        handles: Thing -> its object in habitat.
        structure: Part of the structure ("wall", "floor", ...) -> its object in habitat.
        variants: Container -> template file of how it looks the other way, open or closed.
    """

    config: Path
    scene: str
    handles: dict[str, str]
    structure: dict[str, str]
    variants: dict[str, Path]


def cache_folder() -> Path:
    """Return where exported houses are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "coterie" / "habitat"


def export_house(house: House, cache: Path | None = None) -> ExportedHouse:
    """Write a house for habitat-sim, unless it has been written before.

    Beside what `save_habitat` writes, the parts of the structure become objects of their own, so
    that they can be told apart in semantic images, and containers get a second look, open or
    closed. Rays still meet the structure's triangles, as the stage's collision mesh.

    Args:
        house: The house.
        cache: Where to (None: `cache_folder()`).

    Raises:
        WorldError: The folder cannot be written.
    """
    cache = cache or cache_folder()
    text = export.house_to_json(house)
    digest = hashlib.sha256(text.encode())
    for source in (*(str(module.__file__) for module in _CODE), __file__):
        digest.update(Path(source).read_bytes())
    folder = cache / digest.hexdigest()[:20]
    try:
        if not (folder / "complete").exists():
            cache.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=cache))
            try:
                _write(house, fresh)
                (fresh / "complete").touch()
                shutil.rmtree(folder, ignore_errors=True)
                fresh.rename(folder)
            except OSError:
                if not (folder / "complete").exists():  # else another process was faster
                    raise
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise WorldError(
            f"the house cannot be exported for habitat: {error}; set XDG_CACHE_HOME to a folder "
            "that can be written"
        ) from None
    return _described(house, folder)


def robot_template(folder: Path, body: ObjectMesh, name: str) -> Path:
    """Write the object template of a robot's body and return its file; y up, base at 0."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / f"{name}.object_config.json"
    if not config.exists():
        (folder / f"{name}.glb").write_bytes(glb.glb_bytes([(name, body)], linear=False))
        partial = folder / f".{name}-{os.getpid()}"
        partial.write_text(json.dumps(_template(f"{name}.glb")), encoding="utf-8")
        partial.replace(config)
    return config


def _described(house: House, folder: Path) -> ExportedHouse:
    index = json.loads((folder / f"{NAME}.instances.json").read_text("utf-8"))
    return ExportedHouse(
        folder / f"{NAME}.scene_dataset_config.json",
        NAME,
        {thing.id: f"{index[thing.id]['template']}_:0000" for thing in house.objects},
        {
            part: f"{_part_name(part)}_:0000"
            for part, shape in structure_meshes(house).items()
            if len(shape.triangles)
        },
        {
            thing.id: folder / "variants" / f"{_other(k)}.object_config.json"
            for k, thing in enumerate(house.objects)
            if thing.is_open is not None
        },
    )


def _write(house: House, folder: Path) -> None:
    export.save_habitat(house, folder, NAME)
    scene_file = folder / "scenes" / f"{NAME}.scene_instance.json"
    scene: dict[str, Any] = json.loads(scene_file.read_text("utf-8"))
    for part, shape in structure_meshes(house).items():
        if not len(shape.triangles):
            continue
        name = _part_name(part)
        _write_template(folder / "objects", name, shape, {"is_collidable": False})
        scene["object_instances"].append(
            {
                "template_name": name,
                "translation": [0.0, 0.0, 0.0],
                "rotation": [1.0, 0.0, 0.0, 0.0],
                "motion_type": "STATIC",
                "translation_origin": "COM",
            }
        )
    scene_file.write_text(json.dumps(scene, indent=1), encoding="utf-8")
    _hide_stage(house, folder)
    (folder / "variants").mkdir()
    for k, thing in enumerate(house.objects):
        if thing.is_open is not None:
            local = object_mesh(thing, not thing.is_open, box=Box((0.0, 0.0, 0.0), thing.box.size))
            _write_template(folder / "variants", _other(k), local)


def _hide_stage(house: House, folder: Path) -> None:
    """Leave of the visible stage one triangle under the house: its parts are objects now."""
    x, y = house.rooms[0].polygon[0]
    low = min(floor.elevation for floor in house.floors) - 0.3
    corners = np.array([[x, y, low], [x + 0.01, y, low], [x, y + 0.01, low]], dtype=np.float32)
    triangle = ObjectMesh(
        corners, np.array([[0, 1, 2]], dtype=np.uint32), np.zeros((1, 3), dtype=np.uint8)
    )
    stages = folder / "stages"
    (stages / f"{NAME}-hidden.glb").write_bytes(glb.glb_bytes([("hidden", triangle)]))
    file = stages / f"{NAME}-stage.stage_config.json"
    config = json.loads(file.read_text("utf-8"))
    config["render_asset"] = f"{NAME}-hidden.glb"
    file.write_text(json.dumps(config, indent=1), encoding="utf-8")


def _write_template(
    folder: Path, name: str, shape: ObjectMesh, more: dict[str, Any] | None = None
) -> None:
    (folder / f"{name}.glb").write_bytes(glb.glb_bytes([(name, shape)], linear=False))
    config = {**_template(f"{name}.glb"), **(more or {})}
    (folder / f"{name}.object_config.json").write_text(json.dumps(config), encoding="utf-8")


def _template(asset: str) -> dict[str, Any]:
    return {
        "render_asset": asset,
        "up": [0.0, 1.0, 0.0],
        "front": [0.0, 0.0, -1.0],
        "units_to_meters": 1.0,
        "requires_lighting": False,
        "force_flat_shading": True,
        "is_collidable": False,
        "COM": [0.0, 0.0, 0.0],
        "mass": 1.0,
    }


def _part_name(part: str) -> str:
    return f"{NAME}-structure-{part.replace(' ', '_')}"


def _other(number: int) -> str:
    return f"{NAME}-variant-{number:04d}"
