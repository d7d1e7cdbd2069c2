#!/usr/bin/env python3
"""Write the tables of docs/ros_graph.md from coterie_core/data/ros_graph.yaml.

    ./coterie python tools/write_ros_graph.py

Run it after a change of ros_graph.yaml; a test tells where the two differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from coterie_core.ros_graph import Interface, interfaces

PAGE = Path(__file__).resolve().parent.parent / "docs" / "ros_graph.md"
HEADS = {
    "Topics": ("topic", "type", "QoS profile", "from -> to", "published with the keys of"),
    "Services and actions": ("name", "type", "on", "called with the keys of"),
}
KEYS = {"team": "team", "robot": "robots", "operator": "operators"}


def tables(page: str) -> str:
    """Return the page with the tables of what a team has on its ROS graph."""
    rows = {
        "Topics": [topic_row(one) for one in interfaces() if one.kind == "topic"],
        "Services and actions": [call_row(one) for one in interfaces() if one.kind != "topic"],
    }
    for title, head in HEADS.items():
        lines = [head, ("---",) * len(head), *rows[title]]
        table = "".join(row_text(cells) for cells in lines)
        found = re.search(rf"^## {title}\n\n((?:\|.*\n)+)", page, re.MULTILINE)
        if found is None:
            raise ValueError(f"{PAGE.name}: no table below '## {title}'")
        page = page[: found.start(1)] + table + page[found.end(1) :]
    return page


def topic_row(one: Interface) -> tuple[str, ...]:
    """Return the cells of a topic's row."""
    return (code(one.names), code(one.types), one.qos, one.flow, keys(one))


def call_row(one: Interface) -> tuple[str, ...]:
    """Return the cells of a service's or an action's row."""
    told = f": {one.text}" if one.text else ""
    return (code(one.names), f"{one.kind} {code(one.types)}{told}", one.flow, keys(one))


def keys(one: Interface) -> str:
    """Return whose keys may send it."""
    return ", ".join(KEYS[sender] for sender in one.senders)


def code(words: Iterable[str]) -> str:
    """Return words as code, with commas."""
    return ", ".join(f"`{word}`" for word in words)


def row_text(cells: Iterable[str]) -> str:
    """Return one line of a table."""
    line = "|" + "|".join(f" {cell} " for cell in cells) + "|\n"
    return line.replace("| --- ", "|---").replace("|--- |", "|---|")


if __name__ == "__main__":
    PAGE.write_text(tables(PAGE.read_text("utf-8")), encoding="utf-8")
