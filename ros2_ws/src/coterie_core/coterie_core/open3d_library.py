"""open3d, importable without what it draws with in notebooks.

``import open3d`` imports dash and plotly for three functions that nothing here calls: 100 MB, which
requirements/unused.txt keeps out of the environment. Where they are not installed, a module with
the names of these functions stands in for the one that wants them.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

_DRAWING = "open3d.visualization.draw_plotly"

if any(importlib.util.find_spec(name) is None for name in ("dash", "plotly")):
    _drawing = ModuleType(_DRAWING, "dash and plotly are not installed: nothing to draw with.")
    vars(_drawing).update(get_plotly_fig=None, draw_plotly=None, draw_plotly_server=None)
    sys.modules.setdefault(_DRAWING, _drawing)

import open3d as o3d  # noqa: E402

__all__ = ["o3d"]
