"""The map of the console to annotate: boxes to click, floors and names to hide, point clouds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie_console.map_view import MapView


class AnnotationView(MapView):
    """Draws a map whose boxes can be clicked and whose parts can be hidden."""

    def on_pick(self, react: Callable[[Any], Any]) -> None:
        """Call `react` with viser's event when a box is clicked, with and without Shift."""
        for handle in self._solids:
            handle.on_click(react)
            handle.on_click(modifier="shift")(react)

    def picked(self, event: Any) -> list[str]:
        """Return the objects under a click, nearest first; of visible floors only."""
        hits = [
            hit
            for storey in self.shapes.storeys
            if storey.name in self._shown
            for hit in storey.solid.hit(event.ray_origin, event.ray_direction)
        ]
        return [id_ for _, id_ in sorted(hits)]

    def show_floors(self, names: Sequence[str]) -> None:
        """Show only these floors; their marks stay visible everywhere."""
        self._shown = set(names)
        for name, part in self._parts.items():
            if part.visible != (name in self._shown):
                part.visible = name in self._shown

    def show_room_names(self, visible: bool) -> None:
        """Show or hide the names of the rooms."""
        for handle in self._room_names:
            if handle.visible != visible:
                handle.visible = visible

    def show_cloud(self, points: NDArray[np.float32], colors: NDArray[np.uint8]) -> Any:
        """Draw a point cloud (N, 3) [m] relative to the shapes' origin; return its handle."""
        size = float(np.clip(np.ptp(points, axis=0).max() / 800, 0.005, 0.05))
        return self._server.scene.add_point_cloud(
            "/cloud", points, colors, point_size=size, point_shape="circle"
        )
