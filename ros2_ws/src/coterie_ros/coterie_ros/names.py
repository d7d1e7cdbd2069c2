"""Names of topics, services and actions: the team's are one level above a robot's namespace."""

from __future__ import annotations


def team_name(namespace: str, name: str) -> str:
    """Return the team's name `name` as seen from a node in a robot's namespace.

    A robot `r1` lives in `/r1`, or in `/home/r1` where the team was started in `/home`; the team's
    `question` is then `/question`, or `/home/question`.
    """
    parent = namespace.rstrip("/").rpartition("/")[0]
    return f"{parent}/{name.lstrip('/')}"
