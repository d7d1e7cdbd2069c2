"""QoS that a topic's publishers offer, to rosbag2's notation in recordings and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

KEY = "offered_qos_profiles"
"""Name in a topic's metadata."""
_DEEP = {"question": 1000, "answer": 1000, "final_answer": 1000, "object_events": 1000}
_FRAMES = 100
_DEPTH = 100


def qos_of(topic: str, offered: Sequence[tuple[bool, bool]]) -> QoSProfile:
    """Return a profile for a topic that fits all who publish there.

    Discovery does not tell depths: latched topics keep what Coterie's own do.

    Args:
        topic: The topic.
        offered: Pairs that say of each publisher whether it is reliable, and whether it is latched.
    """
    reliable = all(one for one, _ in offered) and bool(offered)
    latched = all(one for _, one in offered) and bool(offered)
    leaf = topic.rsplit("/", 1)[-1]
    deep = _FRAMES if leaf == "tf_static" else _DEEP.get(leaf, 1)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=deep if latched else _DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def to_text(qos: QoSProfile) -> str:
    """Return a profile as the metadata of a topic has it (YAML)."""
    profile = {
        "history": "keep_last",
        "depth": int(qos.depth),
        "reliability": _word(qos.reliability),
        "durability": _word(qos.durability),
        "avoid_ros_namespace_conventions": False,
    }
    return str(yaml.safe_dump([profile], sort_keys=False))


def from_text(topic: str, text: str) -> QoSProfile:
    """Return the profile of a topic's metadata; the usual one where there is none that is known."""
    try:
        profiles: Any = yaml.safe_load(text[:100_000]) if text else None
        offered = [
            (str(p["reliability"]).lower() in ("reliable", "1"),
             str(p["durability"]).lower() in ("transient_local", "1"))
            for p in profiles
        ]  # fmt: skip
        qos = qos_of(topic, offered)
        depths = [int(p.get("depth") or 0) for p in profiles]
        if 0 < max(depths, default=0) <= 10_000:
            qos.depth = max(depths)
        return qos
    except (yaml.YAMLError, TypeError, KeyError, ValueError, AttributeError):
        return qos_of(topic, [(True, topic.endswith("tf_static"))])


def _word(policy: ReliabilityPolicy | DurabilityPolicy) -> str:
    return str(policy.name).lower()
