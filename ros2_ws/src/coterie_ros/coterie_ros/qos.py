"""Named QoS profiles; every publisher and subscription takes one of these (docs/ros_graph.md)."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _profile(
    depth: int, *, reliable: bool = True, latched: bool = False
) -> Callable[[], QoSProfile]:
    def make() -> QoSProfile:
        return QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=depth,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=(DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE),
        )

    return make


_PROFILES: dict[str, Callable[[], QoSProfile]] = {
    "sensor_data": _profile(5, reliable=False),
    # Reliable: what fuses odometry (Nav2's smoother, robot_localization) asks for that.
    "odometry": _profile(10),
    "detections": _profile(50, reliable=False),
    "observations": _profile(50),
    "latched": _profile(1, latched=True),
    "questions": _profile(1000, latched=True),
    "answers": _profile(1000, latched=True),
    "object_events": _profile(1000, latched=True),
    "messages": _profile(1000),
    "diagnostics": _profile(10),
    "commands": _profile(10),
    "clock": _profile(1, reliable=False),
    "tf": _profile(100),
    # One message holds one robot's fixed frames: several robots' must fit.
    "tf_static": _profile(100, latched=True),
}

NAMES = tuple(_PROFILES)


def profile(name: str) -> QoSProfile:
    """Return the QoS profile with this name, a fresh object each time.

    Raises:
        KeyError: There is no such profile; names the nearest one.
    """
    try:
        return _PROFILES[name]()
    except KeyError:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise KeyError(f"no QoS profile {name!r}; there are {', '.join(NAMES)}{hint}") from None
