"""Topological houses: viewpoints joined by ways, with the objects seen from each (no pixels)."""

from habitat_bridge.graph.files import list_scans, load_house
from habitat_bridge.graph.model import (
    DetectorNoise,
    GraphHouse,
    LoadReport,
    SeenObject,
    Viewpoint,
)
from habitat_bridge.graph.world import WALKER, GraphWorld, load_graph_world

__all__ = [
    "WALKER",
    "DetectorNoise",
    "GraphHouse",
    "GraphWorld",
    "LoadReport",
    "SeenObject",
    "Viewpoint",
    "list_scans",
    "load_graph_world",
    "load_house",
]
