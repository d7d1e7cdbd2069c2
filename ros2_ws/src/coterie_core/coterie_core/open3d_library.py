"""open3d, loaded at its first use, and without what it draws with in notebooks.

Loading it takes 0.3 s, and most processes that could use it do not.

``import open3d`` imports dash and plotly for three functions that nothing here calls: 100 MB, which
requirements/unused.txt keeps out of the environment. Where they are not installed, a module with
the names of these functions stands in for the one that wants them.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from types import ModuleType
from typing import Any

_DRAWING = "open3d.visualization.draw_plotly"


@functools.cache
def load() -> Any:
    """Return the module; for who must not wait for it later."""
    if any(importlib.util.find_spec(name) is None for name in ("dash", "plotly")):
        drawing = ModuleType(_DRAWING, "dash and plotly are not installed: nothing to draw with.")
        vars(drawing).update(get_plotly_fig=None, draw_plotly=None, draw_plotly_server=None)
        sys.modules.setdefault(_DRAWING, drawing)
    import open3d

    return open3d


class _AtFirstUse:
    def __getattr__(self, name: str) -> Any:
        return getattr(load(), name)


o3d: Any = _AtFirstUse()
