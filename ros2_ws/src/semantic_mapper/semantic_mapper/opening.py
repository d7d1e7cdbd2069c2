"""Whether a detection looks open."""

from __future__ import annotations

from coterie_core.detections import ImageDetection
from coterie_world.scene import LabelBelief

FADE = 0.6
"""What an earlier look at whether a thing is open still counts for."""


def note_opening(belief: LabelBelief, detection: ImageDetection) -> None:
    """Add what a detector says of a thing that opens; earlier looks fade, things are moved."""
    told = detection.attributes.get("opening", "").strip().lower()
    if told in ("open", "closed"):
        for state in belief.weights:
            belief.weights[state] *= FADE
        belief.add(LabelBelief.of(told))
