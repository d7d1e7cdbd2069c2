"""Type hashes of the interfaces that are installed here; ROS-free."""

from __future__ import annotations

import json
import os
from pathlib import Path


def installed_hashes(interface: str) -> frozenset[str]:
    """Return the hashes of an installed interface and its parts; empty: nothing tells them.

    The packages tell them in the descriptions of their types. All parts of an action or a service
    count (goal, result, feedback; request, response), as middlewares differ in which one they tell.

    Args:
        interface: Its full name, such as `nav2_msgs/action/NavigateToPose`.
    """
    package, _, name = interface.partition("/")
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        file = Path(prefix) / "share" / package / f"{name}.json"
        if not prefix or not file.is_file():
            continue
        try:
            entries = json.loads(file.read_text("utf-8"))["type_hashes"]
            return frozenset(
                str(entry["hash_string"])
                for entry in entries
                if entry["type_name"] == interface or entry["type_name"].startswith(f"{interface}_")
            )
        except (ValueError, KeyError, TypeError):
            return frozenset()
    return frozenset()
