"""Saved maps: a floor's grid from the YAML and image that map_saver writes; ROS-free."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, model_validator

from coterie_core.yaml_checks import check
from coterie_core.yaml_marks import FileProblem, load_marked, read_text
from robot_adapters.sensing.grid_space import GridData

MOST_CELLS = 50_000_000
"""Most cells of a map: 350 m by 350 m at 5 cm."""
_FORMATS = ("PPM", "PNG", "BMP")
_UNKNOWN_SHADE = 205
"""What map_saver writes for a cell of which nothing is known (0..255)."""
_TURNED = 1e-3  # [rad]


class MapFileError(ValueError):
    """A saved map cannot be used; names the file, the field, what was expected and what to do."""


class _Description(BaseModel):
    """What the YAML holds; a field that is not here does not matter."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    image: str
    resolution: float = Field(ge=1e-3, le=100.0)
    origin: tuple[float, float, float]
    negate: bool = False
    occupied_thresh: float = Field(0.65, ge=0.0, le=1.0)
    free_thresh: float = Field(0.25, ge=0.0, le=1.0)
    mode: Literal["trinary", "scale", "raw"] = "trinary"

    @model_validator(mode="after")
    def _usable(self) -> _Description:
        if abs(self.origin[2]) > _TURNED:
            raise ValueError(
                f"origin: expected a yaw of 0, got {self.origin[2]:g} rad: save the map along the "
                "axes of its frame; how it lies in the team's map is said by in_team_map"
            )
        if self.free_thresh >= self.occupied_thresh:
            raise ValueError(
                f"free_thresh: expected less than occupied_thresh ({self.occupied_thresh:g}), got "
                f"{self.free_thresh:g}"
            )
        return self


def read_map_file(file: Path, frame: str = "map") -> GridData:
    """Return the grid of a map that map_saver of Nav2, slam_toolbox or another program wrote.

    Args:
        file: The YAML. Its image lies beside it or below its folder.
        frame: Name of the frame that the map is in.

    Raises:
        MapFileError: The YAML or its image cannot be used.
    """
    try:
        told = check(_Description, load_marked(read_text(file), str(file)), str(file), [])
    except FileProblem as error:
        raise MapFileError(str(error)) from None
    values = _values(_pixels(_image_of(file, told.image)), told)
    # The first row of an image is its upper edge, and that of a grid the lower one.
    grid = np.ascontiguousarray(values[::-1])
    return GridData(grid, told.resolution, (told.origin[0], told.origin[1], 0.0), frame)


def _image_of(file: Path, image: str) -> Path:
    """Return where the image is: programs write the path that it had when they wrote it."""
    folder = file.resolve().parent
    for path in (folder / image, folder / Path(image).name):
        if path.is_file() and path.resolve().is_relative_to(folder):
            return path
    raise MapFileError(
        f"{file}: image: there is no {folder / Path(image).name}; put the image beside the YAML"
    )


def _pixels(path: Path) -> npt.NDArray[np.int16]:
    """Return an image's shades (0..255), -1 where it is transparent."""
    expected = "expected a PGM, PNG or BMP; save the map again with map_saver"
    try:
        with Image.open(path, formats=_FORMATS) as image:
            columns, rows = image.size
            if columns * rows > MOST_CELLS:
                raise MapFileError(
                    f"{path}: expected at most {MOST_CELLS} cells, got {columns} x {rows}; cut the "
                    "map, or save it with a coarser resolution"
                )
            if image.mode.startswith("I"):  # 16 bits
                return (np.asarray(image).astype(np.int32) >> 8).astype(np.int16)
            shades = np.asarray(image.convert("L")).astype(np.int16)
            if image.has_transparency_data:
                shades[np.asarray(image.convert("RGBA"))[..., 3] < 255] = -1
            return shades
    except MapFileError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise MapFileError(f"{path}: cannot be read ({error}); {expected}") from None


def _values(pixels: npt.NDArray[np.int16], told: _Description) -> npt.NDArray[np.int8]:
    """Return occupancy [%], -1 unknown, of shades (0..255), as Nav2's map server has it.

    One thing differs: a shade of 205 is unknown in mode trinary. map_saver writes it for unknown
    cells, and its own threshold of 0.25 would read them as free.
    """
    shades = np.arange(256)
    if told.mode == "raw":
        table = np.where(shades <= 100, shades, -1)
    else:
        occupied = shades / 255.0 if told.negate else 1.0 - shades / 255.0
        low, high = told.free_thresh, told.occupied_thresh
        if told.mode == "scale":
            between = np.rint((occupied - low) / (high - low) * 100.0)
        else:
            between = np.full(256, -1.0)
        table = np.where(occupied > high, 100, np.where(occupied < low, 0, between))
        if told.mode == "trinary" and not told.negate:
            table[_UNKNOWN_SHADE] = -1
    # The last entry is that of transparent pixels, -1.
    return np.append(table, -1).astype(np.int8)[pixels]
