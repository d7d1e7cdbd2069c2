"""A mechanism is there once: what carries it is called and imported in one place of the product."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "ros2_ws" / "src"
SIMULATOR = "habitat_bridge"
"""Truth shares no code with belief, so that it has its own."""
ONE = {
    # One association: who is whom is one assignment.
    "linear_sum_assignment": {"coterie_world.association"},
    # One executive: its parts are put together there, and robots have no others.
    "Executive": {"emos_planner.robot.agent", "reveca_agent.house"},
    "HandClearing": {"coterie_execution.executive"},
    "YieldBehavior": {"coterie_execution.executive"},
    "Sequence": {"coterie_execution.behavior_tree"},
    # One free space: rasters, where a body stands, and its ways.
    "FloorPlan": {"coterie_execution.geometry.bodies"},
    "ConfigurationSpace": {"coterie_execution.geometry.bodies"},
    "Ways": {"coterie_execution.geometry.bodies"},
    "yield_pose": {"coterie_execution.yield_behavior"},
}
"""What is called -> the modules that call it."""
PARTS = ("emos_planner", "reveca_agent", "coterie_execution", "coterie_world")
SEVERAL = {"__init__", "agent", "lookups", "memory", "node", "options"}
"""Names of files that mean something of their own in each of these packages."""


@cache
def calls() -> dict[str, set[str]]:
    """Return the names that each module of the product calls, by the module's dotted name."""
    found = {}
    for file in SOURCES.glob("*/*/**/*.py"):
        package = file.relative_to(SOURCES).parts[0]
        if package not in (SIMULATOR, "compat") and "test" not in file.parts:
            name = ".".join(file.relative_to(SOURCES / package).with_suffix("").parts)
            nodes = ast.walk(ast.parse(file.read_text("utf-8")))
            called = (node.func for node in nodes if isinstance(node, ast.Call))
            found[name] = {getattr(one, "id", getattr(one, "attr", "")) for one in called}
    return found


@pytest.mark.parametrize("name", ONE)
def test_a_mechanism_is_made_in_one_place(name):
    assert {module for module, called in calls().items() if name in called} == ONE[name]


def test_files_of_the_robots_packages_do_not_share_names():
    files = [module.rpartition(".")[2] for module in calls() if module.partition(".")[0] in PARTS]
    twins = {name for name in files if files.count(name) > 1}
    assert twins <= SEVERAL, f"one idea in two files? {sorted(twins - SEVERAL)}"
