"""Frames of a camera that stands still tell little that is new: only some of them pass."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


class MotionFilter:
    """Lets frames of a moving camera pass, and of one that stands still one per period.

    Args:
        period: Time between frames of a camera that stands still [s of the stamps].
        distance: Moved by less, it stands still [m].
        angle: Turned by less, it stands still [rad].
    """

    def __init__(self, period: float, distance: float = 0.02, angle: float = 0.02) -> None:
        self._period = period
        self._distance = distance
        self._least_trace = 1.0 + 2.0 * math.cos(angle)
        self._pose: npt.NDArray[np.float64] | None = None
        self._time = -math.inf

    def passes(self, pose: npt.NDArray[np.float64], time: float) -> bool:
        """Tell whether a frame taken at a pose (4, 4) and a time [s] is to be looked at."""
        old = self._pose
        if old is not None and 0.0 <= time - self._time < self._period:
            away = float(np.linalg.norm(pose[:3, 3] - old[:3, 3]))
            trace = float((old[:3, :3] * pose[:3, :3]).sum())
            if away < self._distance and trace > self._least_trace:
                return False
        self._pose, self._time = pose, time
        return True
