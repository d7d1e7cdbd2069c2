"""A team that a command starts for itself: where it runs, what goes wrong, its true house."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console

from coterie_bringup.running_team import TeamRun, prepared
from coterie_bringup.supervisor import Event
from coterie_bringup.team import Team
from coterie_world.scene import SceneGraph
from habitat_bridge.factory import WorldSpec, make_world

_TOLD = ("died", "restarting", "given_up", "failed")


@contextlib.contextmanager
def own_team(
    team: Team, domain: int | None, console: Console, notes: list[str] | None = None
) -> Iterator[TeamRun]:
    """Prepare a team, and show where it runs and what goes wrong with its processes.

    Args:
        team: To be started in this block; see `prepared`.
        domain: Its ROS domain; None: see `prepared`.
        console: Where that is shown.
        notes: Gets the lines about processes, too.
    """

    def on_event(event: Event) -> None:
        if event.kind not in _TOLD:
            return
        for line in (f"{event.program}: {event.text}", *(f"    {line}" for line in event.lines)):
            if notes is not None:
                notes.append(line)
            console.print(line, style="yellow", markup=False, highlight=False)

    with prepared(team, domain=domain, on_event=on_event) as run:
        console.print(
            f"[bold]{team.name}[/]: {len(team.robots)} robots in {len(run.specs)} ROS processes, "
            f"ROS_DOMAIN_ID={run.domain}; logs in {run.directory / 'logs'}",
            highlight=False,
            soft_wrap=True,
        )
        yield run


def without_habitat(spec: WorldSpec) -> WorldSpec:
    """Return the same generated house without habitat-sim; a scene of a data set needs it."""
    if spec.kind != "habitat" or spec.scene is not None:
        return spec
    return spec.model_copy(update={"kind": "embedded", "habitat_python": None})


def true_house(team: Team) -> SceneGraph:
    """Return what is really in a team's house, which does not depend on who renders it.

    Raises:
        WorldError: There is no such world.
    """
    world = make_world(without_habitat(team.world_spec()))
    try:
        return world.truth()
    finally:
        world.close()
