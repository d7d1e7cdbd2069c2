"""Topological houses: viewpoints joined by ways, with the objects seen from each (no pixels)."""

from habitat_bridge.graph.files import list_scans
from habitat_bridge.graph.model import DetectorNoise
from habitat_bridge.graph.world import WALKER, load_graph_world

__all__ = [
    "WALKER",
    "DetectorNoise",
    "list_scans",
    "load_graph_world",
]
