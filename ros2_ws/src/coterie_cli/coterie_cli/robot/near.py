"""Names that may be meant where one is missing; ROS-free."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from functools import cache

from coterie_cli.robot.expected import Expected
from coterie_core.ros_graph import interfaces
from robot_adapters.settings import RELAYED


def near_name(
    expected: Expected, name: str, kind: str, known: Mapping[str, tuple[str, ...]]
) -> str:
    """Return a hint at a name of the same type, or nearly the same name; "": there is none.

    Neither what Coterie itself publishes and serves nor what is another robot's can be meant.

    Args:
        expected: Whose name is missing.
        name: The name.
        kind: Its type.
        known: Types of all that is there, by name.
    """
    ours = own_names(expected.namespace, expected.team)
    meant = {
        other: kinds
        for other, kinds in known.items()
        if other != name
        and "/_" not in other  # what an action or a service is made of
        and not any(fnmatch(other, one) for one in ours)
        and owner(other, expected.team) in ("", expected.robot)
    }
    same = [other for other, kinds in meant.items() if kind in kinds]
    close = difflib.get_close_matches(name, same, n=1, cutoff=0.0) if same else []
    if close:
        return f"{close[0]} has this type: is it meant?"
    close = difflib.get_close_matches(name, meant, n=1, cutoff=0.8)
    return f"there is {close[0]}" if close else ""


def near_frame(expected: Expected, frame: str, known: Iterable[str]) -> str:
    """Return the frame that is most likely meant; "": none is.

    Those with the robot's own name in front come first; those of other robots never do.
    """
    robot, team = expected.robot, expected.team
    free = [name for name in known if owner(name, team) in ("", robot)]
    own = {
        name[len(robot) + 1 :]: name for name in free if name.startswith((f"{robot}/", f"{robot}_"))
    }
    for wanted, names in ((frame.removeprefix(f"{robot}/"), own), (frame, {n: n for n in free})):
        for close in difflib.get_close_matches(wanted, names, n=1, cutoff=0.5):
            return names[close]
    return ""


def owner(name: str, team: Iterable[str]) -> str:
    """Return the robot that a name of a frame, topic or server has in front; "": no robot's."""
    path = f"/{name.lstrip('/')}"
    for robot in sorted(team, key=len, reverse=True):  # rover_2 is not rover's
        if f"/{robot}/" in path or path.startswith(f"/{robot}_"):
            return robot
    return ""


@cache
def own_names(namespace: str, robots: tuple[str, ...]) -> frozenset[str]:
    """Return patterns of all full names that Coterie itself publishes or serves beside robots."""
    names = [n for one in interfaces() if not one.drivers for n in one.plain_names(robots)]
    names += [f"{robot}/{RELAYED}/*" for robot in robots]
    team = f"/{namespace}" if namespace else ""
    return frozenset(name if name.startswith("/") else f"{team}/{name}" for name in names)
