"""Sub-groups of large teams: who discusses with whom, so that no prompt grows with the team."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coterie_core.tasks import SubTask
from emos_planner.leader.options import LeaderOptions


def groups_of(
    plan: Sequence[SubTask],
    robots: Sequence[str],
    floors: Mapping[str, str],
    options: LeaderOptions,
) -> list[tuple[str, ...]]:
    """Return groups of at most `group_size` robots: those that depend on one another stay together.

    Robots that hand a thing over to one another are in one group (which may be larger then); the
    rest is grouped by floor. Of a large team, robots without a share fill up the groups that have
    room for them: they may take what others refuse.
    """
    busy = [robot for robot in robots if any(one.robot == robot for one in plan)]
    if len(robots) <= options.group_size or not busy:
        return [tuple(robots)] if busy else []
    parts = _partners(plan, busy)
    parts.sort(key=lambda part: (floors.get(part[0], ""), busy.index(part[0])))
    groups: list[list[str]] = []
    for part in parts:
        fits = bool(groups) and len(groups[-1]) + len(part) <= options.group_size
        if fits and floors.get(groups[-1][0], "") == floors.get(part[0], ""):
            groups[-1] += part
        else:
            groups.append(list(part))
    # Few groups are better than tidy ones: fill up small ones across floors.
    merged: list[list[str]] = []
    for group in groups:
        home = next((g for g in merged if len(g) + len(group) <= options.group_size), None)
        if home is not None and len(group) <= options.group_size // 4:
            home += group
        else:
            merged.append(group)
    for robot in robots:
        if robot not in busy:
            home = min(
                merged, key=lambda g: (floors.get(g[0], "") != floors.get(robot, ""), len(g))
            )
            if len(home) < options.group_size:
                home.append(robot)
    return [tuple(group) for group in merged]


def _partners(plan: Sequence[SubTask], robots: Sequence[str]) -> list[list[str]]:
    """Return the robots in sets that move one thing together."""
    leader = {robot: robot for robot in robots}

    def find(robot: str) -> str:
        while leader[robot] != robot:
            robot = leader[robot]
        return robot

    mover: dict[str, str] = {}
    for one in plan:
        if one.kind in ("pick", "place") and one.object is not None and one.robot in leader:
            key = one.object.id or one.object.label
            if key in mover:
                leader[find(one.robot)] = find(mover[key])
            mover.setdefault(key, one.robot)
    parts: dict[str, list[str]] = {}
    for robot in robots:
        parts.setdefault(find(robot), []).append(robot)
    return list(parts.values())
