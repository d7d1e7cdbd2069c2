"""A semantic map in a page: boxes in colours of labels, rooms, floors."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from coterie_console.map_shapes import Boxes, MapShapes, Storey, look_from, map_shapes
from coterie_console.text import plain
from coterie_world.scene import SceneGraph

MAX_EDGED_BOXES = 1500
"""Boxes that get edges; more would make old graphics cards slow."""
AMBIENT_LIGHT = 1.6
"""Light that is everywhere."""
MAX_LABELS = 60
"""Texts in the map at a time: of more, none can be read."""
HOUSE = "/house"
"""Name of the node that holds all that is drawn of a map."""
_GAP_M = 2.0
"""Gap between floors side by side [m]."""

_EDGE_SIGNS = np.array([[x, y, z] for z in (-0.5, 0.5) for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
_FACES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 7, 5], [4, 6, 7], [0, 5, 1], [0, 4, 5],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ],
    dtype=np.uint32,
)  # fmt: skip


class MapView:
    """Draws a map once.

    Args:
        server: Where it is drawn.
        scene: The map.
        apart: Whether floors are drawn side by side, so that none hides another.

    Attributes:
        shapes: Shapes that are drawn.
        floors: Names of the floors to choose from, from below.
    """

    def __init__(self, server: viser.ViserServer, scene: SceneGraph, apart: bool = False) -> None:
        self._server = server
        self.shapes: MapShapes = map_shapes(scene)
        self.floors = [storey.name for storey in self.shapes.storeys]
        self._shown = set(self.floors)
        self._parts: dict[str, Any] = {}
        self._solids: list[Any] = []
        self._room_names: list[Any] = []
        storeys, (low, high) = self.shapes.storeys, (self.shapes.low, self.shapes.high)
        step = float(high[0] - low[0]) + _GAP_M if apart else 0.0
        self._shifts = {
            one.id: np.array([k * step, 0.0, (storeys[0].elevation - one.elevation) * apart])
            for k, one in enumerate(storeys)
        }
        # viser's picture of a street for reflections: slow to prepare without a graphics card.
        server.scene.configure_environment_map(hdri=None)
        server.scene.configure_default_lights(enabled=True, cast_shadow=False)
        server.scene.add_light_ambient("/ambient", intensity=AMBIENT_LIGHT)
        server.scene.remove_by_name(HOUSE)
        server.scene.add_frame(HOUSE, show_axes=False)
        self._ground()
        for k, storey in enumerate(storeys):
            shift = self.shift(storey.id)
            self._parts[storey.name] = server.scene.add_frame(
                f"{HOUSE}/{k}", show_axes=False, position=shift
            )
            self._storey(f"{HOUSE}/{k}", storey)
            if apart and len(storeys) > 1:
                (x, _, _), (_, y, _) = low, high
                at = shift + np.array([x, y + 0.5, storey.elevation])
                self._text(f"{HOUSE}/floor{k}", storey.name, at, 0.8)
        camera = server.initial_camera
        camera.position, camera.look_at = self.whole(1.5)

    def shift(self, floor: str) -> NDArray[np.float64]:
        """Return how far from where it is a floor is drawn, by its id [m]."""
        return np.array(self._shifts.get(floor, np.zeros(3)))

    def whole(self, aspect: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where to stand and what to look at [m] to see all of it; `aspect`: of the view."""
        shifts = [np.zeros(3), *self._shifts.values()]
        low, high = self.shapes.low + np.min(shifts, 0), self.shapes.high + np.max(shifts, 0)
        return look_from(low, high, aspect)

    def _ground(self) -> None:
        low, high = self.shapes.low, self.shapes.high
        high = high + np.max([np.zeros(3), *self._shifts.values()], axis=0)
        width, depth = (float(v) for v in np.ceil(high - low)[:2] + 2.0)
        middle = (low + high) / 2
        z = min((s.elevation for s in self.shapes.storeys), default=float(low[2])) - 0.01
        coarse = max(1.0, float(np.ceil(max(width, depth) / 60.0)))
        self._server.scene.add_grid(
            f"{HOUSE}/grid",
            width=width,
            height=depth,
            cell_size=coarse,
            section_size=5.0 * coarse,
            cell_color=(218, 222, 228),
            section_color=(190, 196, 205),
            shadow_opacity=0.0,
            position=(float(middle[0]), float(middle[1]), min(z, float(low[2]))),
        )

    def _storey(self, at: str, storey: Storey) -> None:
        add = self._server.scene
        for k, room in enumerate(storey.rooms):
            add.add_mesh_simple(
                f"{at}/room{k}",
                room.vertices.astype(np.float32),
                room.faces,
                color=deep(np.array(_PASTELS[k % len(_PASTELS)], np.uint8)),
                side="double",
                flat_shading=True,
                cast_shadow=False,
                receive_shadow=False,
            )
            if k < MAX_LABELS:
                wide = float(np.ptp(room.vertices[:, 0])) / max(0.6 * len(room.name), 1.0)
                up = room.middle + np.array([0, 0, 0.9])  # over most of what stands there
                name = self._text(f"{at}/name{k}", room.name, up, min(0.45, wide))
                self._room_names.append(name)
        outlines = [room.outline for room in storey.rooms]
        if outlines:
            lines = np.concatenate(outlines) + np.array([0, 0, 0.01])
            self._lines(f"{at}/outlines", lines, (120, 128, 140), 2.0)
        if storey.solid.ids:
            colors = deep(pale(storey.solid.colors))
            self._solids.append(self._solid(f"{at}/boxes", storey.solid, colors, 0.55))
            if len(storey.solid.ids) <= MAX_EDGED_BOXES:
                dark = (storey.solid.colors * 0.55).astype(np.uint8)
                each = np.repeat(dark, 12, axis=0)[:, None].repeat(2, axis=1)
                self._lines(f"{at}/edges", storey.solid.edges(), each, 1.5)
        if storey.shells.ids:
            self._lines(f"{at}/shells", storey.shells.edges(), (150, 150, 150), 1.5)

    def _solid(self, at: str, boxes: Boxes, color: Any, opacity: float, grow: float = 0.0) -> Any:
        return self._server.scene.add_batched_meshes_simple(
            at,
            _EDGE_SIGNS,
            _FACES,
            batched_wxyzs=boxes.quaternions(),
            batched_positions=boxes.centers,
            batched_scales=(boxes.sizes + 2 * grow).astype(np.float32),
            batched_colors=color,
            opacity=opacity,
            flat_shading=True,
            lod="off",
            cast_shadow=False,
            receive_shadow=False,
        )

    def _lines(self, at: str, points: Any, color: Any, thickness: float) -> None:
        self._server.scene.add_line_segments(
            at, points, color, thickness=thickness, thickness_units="screen"
        )

    def _text(self, at: str, text: str, position: Any, height: float = 0.0) -> Any:
        """Write a text so high [m], behind what is in front of it; 0: as high from everywhere."""
        return self._server.scene.add_label(
            at,
            plain(text, 48),
            position=position,
            anchor="bottom-center",
            font_size_mode="scene" if height else "screen",
            font_scene_height=height,
            depth_test=bool(height),
        )


def deep(colors: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colours that stay so under the page's bright lights."""
    return (255.0 * (colors / 255.0) ** 2.2).astype(np.uint8)


def pale(colors: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colours of things, so light that robots stand out."""
    return (0.5 * colors + 0.5 * 255.0).astype(np.uint8)


_PASTELS = ((214, 226, 241), (240, 230, 208), (214, 236, 216), (241, 216, 230), (226, 222, 242))
