"""The team's map in 3D, in a page of viser's own: made when somebody first opens it."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, hypot, sin
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from coterie_console.team.fences import walls
from coterie_console.team.page import Refused
from coterie_console.team.plan import floor_at
from coterie_console.team.state import ConsoleState
from coterie_console.text import plain
from coterie_core.colors import robot_colors
from coterie_core.urdf.errors import UrdfError
from coterie_core.urdf.tree import tree_of
from coterie_core.urdf.visual import surfaces

if TYPE_CHECKING:
    import viser

    from coterie_console.map_view import MapView
    from coterie_console.team.records import Robot

_UPDATE_PERIOD_S = 0.2
"""Time between two updates of the robots' positions [s]."""
_REDRAW_PERIOD_S = 5.0
"""A newer map is drawn at most so often [s]."""
_KEEP_OUT, _ALLOWED = (179, 22, 27), (30, 125, 69)
_SHADES = (1.0, 0.55, 0.8, 0.35)
"""Of a robot's color: its shapes are told apart."""
_NEAR_M = 3.0
"""Distance within which names of robots stand on different sides [m]."""
_Side = Literal["bottom-center", "top-center", "center-left", "center-right"]
_SIDES: tuple[_Side, ...] = get_args(_Side)
"""Where a name is fixed to the top of its robot, so that no name covers another."""
_WHOLE = "the whole map"


class Body(NamedTuple):
    """A robot as it is drawn: its frame, its name, and its description."""

    frame: viser.FrameHandle
    name: viser.LabelHandle
    description: str


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
            from coterie_console.map_view import HOUSE, MapView
            from coterie_console.web import WebPage
        except ModuleNotFoundError as missing:
            raise Refused(
                f"the map in 3D needs {missing.name}, not installed here; "
                "./coterie setup --with research"
            ) from None
        self._draw, self._house = MapView, HOUSE
        self._state = state
        self._folders = folders
        self.page = WebPage(f"{plain(state.team)} in 3D")
        self._drawn = 0
        self._due = 0.0
        self._robots: dict[str, Body] = {}
        self._view: MapView | None = None
        self._charted = False
        gui = self.page.server.gui
        self._apart = gui.add_checkbox("Floors side by side", True, visible=False)
        self._apart.on_update(lambda _: self._again())
        self._look = gui.add_dropdown("Look at", (_WHOLE,))
        self._look.on_update(lambda event: self._aim(event.client, self._look.value))
        self.page.server.on_client_connect(lambda client: self._aim(client, _WHOLE))
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
            self._redraw()
        if self._view is None:
            return
        robots = list(enumerate(list(self._state.robots.values())))
        known = [(k, robot) for k, robot in robots if robot.pose is not None]
        options = (_WHOLE, *(plain(robot.name) for _, robot in known))
        if options != tuple(self._look.options):
            self._look.options = options
        spots: list[tuple[float, float]] = []
        for k, robot in known:
            body = self._robots.get(robot.name)
            if body is None or body.description != robot.description:
                if body is not None:
                    body.frame.remove()
                body = self._robots[robot.name] = self._body(k, robot)
            yaw, at = robot.pose[3] if robot.pose else 0.0, self._spot(robot)
            turn = (cos(yaw / 2), 0.0, 0.0, sin(yaw / 2))
            near = sum(hypot(at[0] - x, at[1] - y) < _NEAR_M for x, y in spots)
            spots.append((at[0], at[1]))
            if (*body.frame.position, *body.frame.wxyz) != (*at, *turn):
                body.frame.position, body.frame.wxyz = at, turn
            if body.name.anchor != (side := _SIDES[near % len(_SIDES)]):
                body.name.anchor = side

    def _redraw(self) -> None:
        scene = self._state.scene
        self._view = self._draw(self.page.server, scene, self._apart.value)
        self._apart.visible = len(self._view.shapes.storeys) > 1
        self._fence(self._view)
        if not self._charted:
            for client in self.page.server.get_clients().values():
                self._aim(client, _WHOLE)
        self._charted = bool(scene.rooms)

    def _again(self) -> None:
        """Have all of it drawn anew, by the loop that draws."""
        self._drawn, self._due = 0, 0.0

    def _spot(self, robot: Robot) -> tuple[float, float, float]:
        """Return where a robot is drawn [m]."""
        assert robot.pose is not None and self._view is not None
        x, y, z = robot.pose[:3]
        shift = self._view.shift(floor_at(self._state.scene, z)) - self._view.shapes.origin
        return x + float(shift[0]), y + float(shift[1]), z + float(shift[2])

    def _aim(self, client: viser.ClientHandle | None, what: str) -> None:
        """Turn a page's camera to a robot, or to all there is."""
        if client is None or self._view is None:
            return
        at, to = self._view.whole(client.camera.aspect)
        for robot in list(self._state.robots.values()):
            if plain(robot.name) == what and robot.pose is not None:
                to = np.array(self._spot(robot)) + np.array([0.0, 0.0, 0.4])
                at = to + np.array([-1.3, -1.8, 1.4])
        client.camera.position, client.camera.look_at = at, to

    def _body(self, k: int, robot: Robot) -> Body:
        """Draw a robot as its description says, or a ball, with its name above.

        A description comes from elsewhere: one that cannot be read changes nothing.
        """
        add, color = self.page.server.scene, robot_colors(self._state.robots)[robot.name]
        red, green, blue = bytes.fromhex(color[1:])
        frame = add.add_frame(f"/robots/{k}", show_axes=False)
        try:
            parts = surfaces(tree_of(robot.description), self._folders)
        except (UrdfError, RecursionError):
            parts = []
        for j, part in enumerate(parts):
            add.add_mesh_simple(
                f"/robots/{k}/body/{j}", part.vertices.astype("float32"),
                part.faces.astype("uint32"), flat_shading=True, side="double", cast_shadow=False,
                color=np.array([red, green, blue]) / 255.0 * _SHADES[j % len(_SHADES)],
                receive_shadow=False,
            )  # fmt: skip
        if not parts:
            add.add_icosphere(
                f"/robots/{k}/body", radius=0.22, color=(red, green, blue), position=(0, 0, 0.25)
            )
        add.add_cylinder(  # seen from afar
            f"/robots/{k}/spot", 0.5, 0.02, (red, green, blue), opacity=0.5, cast_shadow=False,
            receive_shadow=False, position=(0.0, 0.0, 0.02),
        )  # fmt: skip
        top = max([0.5, *(float(part.bounds[1][2]) + 0.1 for part in parts)])
        name = add.add_label(
            f"/robots/{k}/name", plain(robot.name), position=(0, 0, top), anchor=_SIDES[0]
        )
        return Body(frame, name, robot.description)

    def _fence(self, view: MapView) -> None:
        """Draw where robots may be and what they keep out of, as low walls."""
        scene = self._state.scene
        for keep_out, (corners, faces) in walls(self._state.fences, scene).items():
            levels = corners.reshape(-1, 4, 3)[:, 0, 2]  # each wall is four corners
            shifts = np.array([view.shift(floor_at(scene, float(z))) for z in levels])
            self.page.server.scene.add_mesh_simple(
                f"{self._house}/fences_{'out' if keep_out else 'in'}",
                (corners + np.repeat(shifts, 4, axis=0) - view.shapes.origin).astype("float32"),
                faces,
                color=_KEEP_OUT if keep_out else _ALLOWED,
                opacity=0.35,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
