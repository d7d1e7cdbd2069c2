"""Room labels of Matterport3D ("w,workout/gym/exercise") as names and types a person would say."""

from __future__ import annotations

import re

# Region code -> name. The labels in the files list spellings side by side; one name is kept.
_NAMES = {
    "a": "bathroom",
    "b": "bedroom",
    "c": "closet",
    "d": "dining room",
    "e": "entryway",
    "f": "family room",
    "g": "garage",
    "h": "hallway",
    "i": "library",
    "j": "laundry room",
    "k": "kitchen",
    "l": "living room",
    "m": "meeting room",
    "n": "lounge",
    "o": "office",
    "p": "porch",
    "r": "game room",
    "s": "stairs",
    "t": "toilet",
    "u": "utility room",
    "v": "tv room",
    "w": "gym",
    "x": "outdoors",
    "y": "balcony",
    "z": "other room",
    "B": "bar",
    "C": "classroom",
    "D": "dining booth",
    "S": "spa",
}
_UNKNOWN_CODES = {"Z", "-"}  # junk and no label


def room_name(label: str) -> str | None:
    """Return the name of a room label of the form "code,words", or None where it names no room.

    A label without a known code keeps its own words: the first of several parted by "/".
    """
    code, comma, words = label.strip().partition(",")
    code = code.strip()
    if not comma:
        words, code = code, ""
    if code in _UNKNOWN_CODES:
        return None
    if code in _NAMES and words.strip():
        return _NAMES[code]
    name = re.sub(r"[\s_#]+", " ", words.split("/")[0]).strip().lower()
    return name[:60] or None


def room_id(name: str) -> str:
    """Return the id of the room of this name: lower case, underscores between the words."""
    return re.sub(r"\W+", "_", name.lower()).strip("_") or "room"
