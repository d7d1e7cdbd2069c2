"""The team's map in 3D, in a page of viser's own: made when somebody first opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie_console.team.fences import walls
from coterie_console.team.page import Refused
from coterie_console.team.state import ConsoleState
from coterie_console.text import plain
from coterie_core.colors import robot_colors

if TYPE_CHECKING:
    from coterie_console.map_view import MapView

_UPDATE_PERIOD_S = 0.2
"""Time between two updates of the robots' positions [s]."""
_REDRAW_PERIOD_S = 5.0
"""A newer map is drawn at most so often [s]."""
_KEEP_OUT, _ALLOWED = (179, 22, 27), (30, 125, 69)


class SpacePage:
    """Shows map and robots in 3D, on this machine alone.

    Args:
        state: State of the team; it is read from another thread, whole maps and poses at a time.

    Raises:
        PageError: No port is free.
        Refused: What draws it is not installed.
    """

    def __init__(self, state: ConsoleState) -> None:
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
            x, y, z, _ = robot.pose
            at = (x - x0, y - y0, z - z0 + 0.25)
            if robot.name not in self._robots:
                add = self.page.server.scene
                r, g, b = bytes.fromhex(robot_colors(self._state.robots)[robot.name][1:])
                ball = add.add_icosphere(f"/robots/{k}", radius=0.22, color=(r, g, b), position=at)
                name = add.add_label(f"/robots/{k}/name", plain(robot.name))
                self._robots[robot.name] = (ball, name)
            ball = self._robots[robot.name][0]
            if tuple(ball.position) != at:
                ball.position = at

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
