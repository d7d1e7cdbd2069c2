"""What robots judge by is not what houses are made of: neither code nor numbers are shared."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from coterie_core.household import load_household
from coterie_world.sizes import known_size
from habitat_bridge.house.usual import load_usual

pytestmark = pytest.mark.quick

SOURCES = Path(__file__).resolve().parents[2] / "ros2_ws" / "src"
STARTERS = ("coterie", "coterie_bringup", "coterie_cli", "coterie_console", "habitat_bridge")
"""Packages that start worlds; all others hold what robots and their operators believe."""


def test_what_believes_does_not_read_the_generator():
    read = []
    for package in sorted(p for p in SOURCES.iterdir() if p.name not in STARTERS):
        for file in sorted((package / package.name).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                texts = [str(node.value)] if isinstance(node, ast.Constant) else []
                if any(name.partition(".")[0] == "habitat_bridge" for name in names) or any(
                    text in ("habitat_bridge", "sizes.yaml", "data/sizes.yaml") for text in texts
                ):
                    read.append(f"{package.name}/{file.name}")
    assert set(read) == {"coterie_world/sizes.py"}, "that one reads the table of its own package"


def test_common_sense_says_no_sizes():
    file = SOURCES / "coterie_core/coterie_core/data/household.yaml"
    entries = yaml.safe_load(file.read_text("utf-8"))["categories"].values()
    assert not [key for entry in entries for key in ("size", "height") if key in entry]


def test_no_size_that_robots_know_is_the_generators():
    known = {label: known_size(label) for label in load_household().categories}
    assert sum(size is not None for size in known.values()) >= 40
    for label, usual in load_usual().items():
        size = known[label]
        if size is not None:
            width, depth, height = usual.size
            assert size not in ((width, depth, height), (depth, width, height)), label
            assert size[2] != height, label
