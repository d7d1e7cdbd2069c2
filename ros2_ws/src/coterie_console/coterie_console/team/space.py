"""The team's map in 3D, in a page of viser's own: made when somebody first opens it."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie_console.team.fences import walls
from coterie_console.team.page import Refused
from coterie_console.team.state import ConsoleState
from coterie_console.text import plain
from coterie_core.colors import robot_colors
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.tree import tree_of
from coterie_core.urdf.visual import surface

if TYPE_CHECKING:
    from coterie_console.map_view import MapView
    from coterie_console.team.records import Robot

_UPDATE_PERIOD_S = 0.2
"""Time between two updates of the robots' positions [s]."""
_REDRAW_PERIOD_S = 5.0
"""A newer map is drawn at most so often [s]."""
_KEEP_OUT, _ALLOWED = (179, 22, 27), (30, 125, 69)


class SpacePage:
    """Shows map and robots in 3D, on this machine alone.

    Args:
        state: State of the team; it is read from another thread, whole maps and poses at a time.
        folders: Where meshes of the robots' descriptions may lie.

    Raises:
        PageError: No port is free.
        Refused: What draws it is not installed.
    """

    def __init__(self, state: ConsoleState, folders: Sequence[Path] = ()) -> None:
        try:
            from coterie_console.map_view import MapView
            from coterie_console.web import WebPage
        except ModuleNotFoundError as missing:
            raise Refused(
                f"the map in 3D needs {missing.name}, not installed here; "
                "./coterie setup --with research"
            ) from None
        self._draw = MapView
        self._state = state
        self._folders = folders
        self.page = WebPage(f"{plain(state.team)} in 3D")
        self._drawn = 0
        self._due = 0.0
        self._robots: dict[str, Any] = {}
        self._view: MapView | None = None
        self.page.every(_UPDATE_PERIOD_S, self._update)

    @property
    def url(self) -> str:
        """Where the page is."""
        return self.page.url

    def close(self) -> None:
        """Stop serving."""
        self.page.close()

    def _update(self) -> None:
        version, now = self._state.version("map"), self._state.clock()
        if version != self._drawn and now >= self._due:
            self._drawn, self._due = version, now + _REDRAW_PERIOD_S
            self.page.server.scene.reset()
            self._robots = {}
            self._view = self._draw(self.page.server, self._state.scene)
            self._fence(self._view)
        if self._view is None:
            return
        x0, y0, z0 = (float(v) for v in self._view.shapes.origin)
        for k, robot in enumerate(list(self._state.robots.values())):
            if robot.pose is None:
                continue
            x, y, z, yaw = robot.pose
            shown = self._robots.get(robot.name)
            if shown is None or shown[1] != robot.description:
                shown = self._robots[robot.name] = self._body(k, robot), robot.description
            at, turn = (x - x0, y - y0, z - z0), (cos(yaw / 2), 0.0, 0.0, sin(yaw / 2))
            if (*shown[0].position, *shown[0].wxyz) != (*at, *turn):
                shown[0].position, shown[0].wxyz = at, turn

    def _body(self, k: int, robot: Robot) -> Any:
        """Draw a robot as its description says, or a ball, with its name above; return its frame.

        A description comes from elsewhere: one that cannot be read changes nothing.
        """
        add, color = self.page.server.scene, robot_colors(self._state.robots)[robot.name]
        r, g, b = bytes.fromhex(color[1:])
        frame = add.add_frame(f"/robots/{k}", show_axes=False)
        top = 0.5
        try:
            body = surface(tree_of(robot.description), self._folders)
        except (UrdfError, RecursionError):
            body = None
        if body is not None:
            top = float(body.bounds[1][2]) + 0.1
            add.add_mesh_simple(
                f"/robots/{k}/body", body.vertices.astype("float32"), body.faces.astype("uint32"),
                color=(r, g, b), flat_shading=True, side="double", cast_shadow=False,
                receive_shadow=False,
            )  # fmt: skip
        else:
            add.add_icosphere(
                f"/robots/{k}/body", radius=0.22, color=(r, g, b), position=(0, 0, 0.25)
            )
        name = plain(robot.name)
        add.add_label(f"/robots/{k}/name", name, position=(0, 0, top), anchor="bottom-center")
        return frame

    def _fence(self, view: MapView) -> None:
        """Draw where robots may be and what they keep out of, as low walls."""
        for keep_out, (corners, faces) in walls(self._state.fences, self._state.scene).items():
            self.page.server.scene.add_mesh_simple(
                f"/fences/{'out' if keep_out else 'in'}",
                (corners - view.shapes.origin).astype("float32"),
                faces,
                color=_KEEP_OUT if keep_out else _ALLOWED,
                opacity=0.35,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
