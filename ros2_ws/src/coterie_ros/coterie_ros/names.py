"""Names of topics, services and actions: the team's are one level above a robot's namespace."""

from __future__ import annotations

OF_THE_TEAM = ("/tf", "/tf_static", "/clock")
"""Topics that lie in a team's namespace, as each of its processes remaps them."""


def team_name(namespace: str, name: str) -> str:
    """Return the team's name `name` as seen from a node in a robot's namespace.

    A robot `r1` lives in `/r1`, or in `/home/r1` where the team was started in `/home`; the team's
    `question` is then `/question`, or `/home/question`.
    """
    parent = namespace.rstrip("/").rpartition("/")[0]
    return f"{parent}/{name.lstrip('/')}"


def as_remapped(topic: str, namespace: str) -> str:
    """Return a topic's full name as the nodes of a team in a namespace have it ("": none)."""
    return f"/{namespace.strip('/')}{topic}" if namespace and topic in OF_THE_TEAM else topic
