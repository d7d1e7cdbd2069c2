"""Moving picture of a team at work for the README: one task in a generated house, seen from above.

    python -m research.tools.picture_team                       # renews docs/images/team.gif
    python -m research.tools.picture_team --team bodies --task "Bring the keys" --out x.webp

The leader and the agents of `./coterie do` run here in lockstep without ROS, and rules decide: the
same team file and task give the same picture. The file's ending chooses GIF or animated WebP.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from coterie.floor_plan import Plan, draw_floor
from coterie_bringup.bodies import described_robot
from coterie_bringup.node_parameters import bridge_parameters
from coterie_bringup.resources import team_file
from coterie_bringup.team import Team, load_team
from coterie_core.colors import robot_colors
from coterie_fixtures.emos_team import run_team
from coterie_world.scene import SceneGraph
from coterie_world.team_map import TeamMap
from emos_planner.leader.leader import Leader, rules_decider
from emos_planner.robot.agent import RobotAgent
from habitat_bridge.factory import world_of
from habitat_bridge.prior import prior_map
from habitat_bridge.simulator import RobotState, Simulator

ROOT = Path(__file__).resolve().parents[2]
TASK = (
    "Put a mug on the kitchen counter, a bowl on the coffee table in living room 2 and a toy on "
    "the bed in the bedroom, and find the printer"
)
EVERY = 8
"""Steps of the simulation from one frame to the next."""
STEP_TIME = 0.25
"""Length of a step [s]."""
FRAME_MS, LAST_MS = 160, 4000
"""How long a frame and the last one are shown [ms]."""
METRE, DPI, LINE = 0.36, 100, 0.23
"""Size of a metre in the picture [inches], dots per inch, height of a line of text [inches]."""
INK, CARRIED = "#33302b", "#ffd21f"
RUNNING = 1
"""State of a sub-task that a robot is at."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The robots at a simulated time [s], and what each is at."""

    time: float
    robots: tuple[RobotState, ...]
    doing: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Film:
    """A task: the house before and after it, moments of it, and how it ended."""

    task: str
    before: SceneGraph
    after: SceneGraph
    moments: Sequence[Moment]
    success: bool
    end: str


def play(team: Team, task: str) -> Film:
    """Let a team do a task."""
    parameters = bridge_parameters(team)
    world = world_of(json.loads(parameters["world"]), team.seed)
    try:
        resumes = {robot.name: described_robot(team, robot)[1] for robot in team.robots}
        for name, resume in resumes.items():
            world.add_robot(name, resume.embodiment())
        before = world.truth()
        known = prior_map(before, parameters["prior_map"])
        agents: dict[str, Any] = {
            name: RobotAgent(name, resume, rules_decider(name), TeamMap(known, name))
            for name, resume in resumes.items()
        }
        leader = Leader(rules_decider(), known, resumes)
        moments: list[Moment] = []

        def look(step: int) -> None:
            if step % EVERY == 0:
                moments.append(_moment(world, leader))

        look(0)
        run = asyncio.run(run_team(world, leader, agents, task, dt=STEP_TIME, on_step=look))
        moments.append(_moment(world, leader))
        return Film(task, before, world.truth(), moments, run.success, run.outcome.message)
    finally:
        world.close()


def _moment(world: Simulator, leader: Leader) -> Moment:
    doing = {one.robot: one.description for one in leader.assignment if one.state == RUNNING}
    return Moment(world.time, tuple(world.state(robot) for robot in world.robots), doing)


class Stage:
    """Draws moments of a film over a plan of its house that is drawn once."""

    def __init__(self, film: Film) -> None:
        self._film = film
        names = [state.name for state in film.moments[0].robots]
        self._colors = robot_colors(names)
        self._ways: dict[str, list[tuple[str, float, float]]] = {name: [] for name in names}
        self._carried = {s.holding for moment in film.moments for s in moment.robots} - {""}
        self._held: set[str] = set()
        film.before.agents = {}
        self._plan = Plan(film.before)
        left, low, right, high = self._plan.bounds()
        count, self._lines = len(self._plan.storeys), 2 + math.ceil(len(names) / 2)
        plans = (high - low) * METRE
        self._height = LINE + plans + (self._lines + 0.7) * LINE
        size = ((right - left) * METRE * count, self._height)
        self._figure = Figure(figsize=size, dpi=DPI, facecolor="white")
        self._canvas = FigureCanvasAgg(self._figure)
        self._floors: dict[str, Axes] = {}
        bottom = (self._lines + 0.7) * LINE / self._height
        for k, floor in enumerate(self._plan.storeys):
            area = (k / count, bottom, 1.0 / count, plans / self._height)
            axes = self._floors[floor.id] = self._figure.add_axes(area)
            draw_floor(axes, self._plan, floor, METRE)
            axes.set_title(self._plan.title(floor), fontsize=9, pad=2)
        self._canvas.draw()
        self._ground = self._canvas.copy_from_bbox(self._figure.bbox)

    def pictures(self) -> Iterator[Image.Image]:
        """Give a picture of each moment."""
        for k, moment in enumerate(self._film.moments):
            self._canvas.restore_region(self._ground)
            for artist, axes in [*self._robots(moment), *self._things(moment)]:
                axes.draw_artist(artist)
                artist.remove()
            self._write(moment, self._film.end if k == len(self._film.moments) - 1 else "")
            yield Image.fromarray(np.asarray(self._canvas.buffer_rgba())[:, :, :3])

    def _robots(self, moment: Moment) -> Iterator[tuple[Artist, Axes]]:
        """Give the ways so far, and the robots with their names."""
        for state in moment.robots:
            x, y, z = state.pose.position
            way, color = self._ways[state.name], self._colors[state.name]
            way.append((self._plan.floor_at(z).id, x, y))
            for id_, axes in self._floors.items():
                xs = [x if floor == id_ else np.nan for floor, x, _ in way]
                ys = [y if floor == id_ else np.nan for floor, _, y in way]
                yield axes.plot(xs, ys, color=color, linewidth=1.3, alpha=0.55, zorder=7)[0], axes
        for state in moment.robots:
            floor, x, y = self._ways[state.name][-1]
            axes, color = self._floors[floor], self._colors[state.name]
            yield axes.plot(x, y, "o", ms=12, mfc=color, mec="white", mew=1.2)[0], axes
            yield _label(axes, state.name, x, y, color), axes

    def _things(self, moment: Moment) -> Iterator[tuple[Artist, Axes]]:
        """Give the things that are carried: where they were, on a robot, where they were put."""
        holders = {state.holding: state.name for state in moment.robots if state.holding}
        self._held |= set(holders)
        for id_ in sorted(self._carried):
            house = self._film.after if id_ in self._held else self._film.before
            x, y, z = house.objects[id_].box.center
            floor = self._plan.floor_at(z).id
            if id_ in holders:
                floor, x, y = self._ways[holders[id_]][-1]
            axes = self._floors[floor]
            yield axes.plot(x, y, "o", ms=6, mfc=CARRIED, mec=INK)[0], axes
            if id_ not in holders:
                yield _label(axes, house.objects[id_].label.top, x, y, INK), axes

    def _write(self, moment: Moment, end: str) -> None:
        """Write below the plans the task, what each robot is at, and the end."""
        self._line(0, 0.0, f"{moment.time:3.0f} s   {self._film.task}", INK)
        for k, state in enumerate(moment.robots):
            text = f"{state.name}: {moment.doing.get(state.name, 'waits')}"
            self._line(1 + k // 2, 0.5 * (k % 2), text, self._colors[state.name])
        self._line(self._lines - 1, 0.0, textwrap.shorten(end, 150), INK)

    def _line(self, row: int, x: float, text: str, color: str) -> None:
        y = (self._lines - row - 0.5) * LINE / self._height
        drawn = self._figure.text(0.012 + x, y, text, color=color, fontsize=9, parse_math=False)
        self._figure.draw_artist(drawn)
        drawn.remove()


def _label(axes: Axes, text: str, x: float, y: float, color: str) -> Artist:
    return axes.annotate(
        text, (x, y), (0, 8), textcoords="offset points", ha="center", fontsize=7.5,
        weight="bold", color=color,
        bbox={"boxstyle": "round,pad=0.08", "facecolor": "#ffffffc0", "linewidth": 0},
    )  # fmt: skip


def save(pictures: Sequence[Image.Image], out: Path) -> None:
    """Write an animated picture that runs for ever."""
    times = [FRAME_MS] * (len(pictures) - 1) + [LAST_MS]
    if out.suffix == ".gif":
        # So that colors of few pixels, as those of robots, are kept.
        palette = pictures[-1].quantize(128, Image.Quantize.MAXCOVERAGE)
        pictures = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures]
    first, *rest = pictures
    options = {"quality": 55, "method": 4} if out.suffix == ".webp" else {"optimize": True}
    first.save(out, save_all=True, append_images=rest, duration=times, loop=0, **options)


def main() -> int:
    """Make the picture; return the exit code: 0 where the team did the task."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--team", default="bodies", help="name or file of a simulated team")
    parser.add_argument("--task", default=TASK, help="what the team is told to do")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "team.gif")
    options = parser.parse_args()
    film = play(load_team(team_file(options.team)), options.task)
    save(list(Stage(film).pictures()), options.out)
    size = options.out.stat().st_size / 1e6
    print(f"{options.out}: {len(film.moments)} frames, {size:.2f} MB; {film.end}")
    return 0 if film.success else 1


if __name__ == "__main__":
    sys.exit(main())
