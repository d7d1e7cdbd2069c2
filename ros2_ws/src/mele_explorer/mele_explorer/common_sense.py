"""What a robot expects in a kind of room before it has seen it: common sense as a protocol."""

from __future__ import annotations

from typing import Protocol


class CommonSense(Protocol):
    """Prior knowledge about homes."""

    def likelihood(self, label: str, room_type: str) -> float:
        """Return the probability (0..1) that a room of this type holds such an object."""
        ...


_USUAL = {
    "bathroom": "bathtub hairbrush mirror sink soap toilet toothbrush towel",
    "toilet": "mirror sink soap toilet towel",
    "bedroom": "bed clothes curtain dresser lamp mirror nightstand picture pillow window",
    "kitchen": "appliance cabinet counter microwave oven refrigerator sink table window",
    "living room": "armchair curtain cushion picture plant sofa table television window",
    "dining room": "chair picture plant table window",
    "office": "board books chair desk table whiteboard window",
    "hallway": "light mirror picture",
}


class BuiltInSense:
    """A tiny table of what is usual in a room."""

    def likelihood(self, label: str, room_type: str) -> float:
        """Return 0.6 for a usual thing, 0.15 in rooms that are not in the table, else 0.1."""
        usual = _USUAL.get(room_type)
        if usual is None:
            return 0.15
        return 0.6 if label in usual.split() else 0.1


def load_common_sense() -> CommonSense:
    """Return the household knowledge of coterie_core."""
    return BuiltInSense()
