"""The map of the console to annotate: boxes to click, floors and names to hide, point clouds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from coterie_console.map_shapes import look_from
from coterie_console.map_view import MAX_LABELS, MapView, deep
from coterie_world.scene import SceneGraph
from research.annotate.shapes import bounds, boxes_of, hit


@dataclass(frozen=True, slots=True)
class Mark:
    """An object that stands out: its colour, and the text beside it ("" for none)."""

    id: str
    text: str
    color: tuple[int, int, int]
    filled: bool = False


class AnnotationView(MapView):
    """Draws a map whose boxes can be marked and clicked, and whose parts can be hidden."""

    def __init__(self, server: viser.ViserServer, scene: SceneGraph) -> None:
        super().__init__(server, scene)
        self._marks: list[Any] = []
        self._round = 0
        self._drawn: tuple[Mark, ...] = ()

    def mark(self, marks: Sequence[Mark]) -> None:
        """Let some objects stand out, instead of those that did before."""
        if tuple(marks) == self._drawn:
            return
        self._drawn = tuple(marks)
        for handle in self._marks:
            handle.remove()
        self._marks = []
        self._round += 1  # names of their own: what is removed and what is new never meet
        groups: dict[tuple[tuple[int, int, int], bool], list[Mark]] = {}
        for mark in marks:
            groups.setdefault((mark.color, mark.filled), []).append(mark)
        add = self._server.scene
        for k, ((color, filled), group) in enumerate(groups.items()):
            boxes = boxes_of(self.shapes, (mark.id for mark in group))
            if not boxes.ids:
                continue
            shade = deep(np.array(color, np.uint8))
            if filled:
                self._marks.append(
                    self._solid(f"/marks/{self._round}-{k}/fill", boxes, shade, 1.0, grow=0.012)
                )
            lines = add.add_line_segments(
                f"/marks/{self._round}-{k}/edges",
                boxes.edges(0.02),
                color,
                thickness=4,
                thickness_units="screen",
            )
            self._marks.append(lines)
            texts = {mark.id: mark.text for mark in group}
            for j, id_ in enumerate(boxes.ids[:MAX_LABELS]):
                if texts[id_]:
                    top = boxes.centers[j] + np.array([0, 0, boxes.sizes[j][2] / 2 + 0.05])
                    self._marks.append(self._text(f"/marks/{self._round}-{k}/{j}", texts[id_], top))

    def look_at(self, id_: str | None) -> None:
        """Turn everybody's view to an object, or to all floors that are shown (None)."""
        boxes = boxes_of(self.shapes, [id_] if id_ is not None else [])
        if boxes.ids:
            corners = boxes.edges().reshape(-1, 3)
            position, target = look_from(corners.min(axis=0), corners.max(axis=0))
        else:
            position, target = look_from(*bounds(self.shapes, self._shown))
        for client in self._server.get_clients().values():
            with client.atomic():
                client.camera.position = position
                client.camera.look_at = target

    def on_pick(self, react: Callable[[Any], Any]) -> None:
        """Call `react` with viser's event when a box is clicked, with and without Shift."""
        for handle in self._solids:
            handle.on_click(react)
            handle.on_click(modifier="shift")(react)

    def picked(self, event: Any) -> list[str]:
        """Return the objects under a click, nearest first; of visible floors only."""
        hits = [
            found
            for storey in self.shapes.storeys
            if storey.name in self._shown
            for found in hit(storey.solid, event.ray_origin, event.ray_direction)
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
