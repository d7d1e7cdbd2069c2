"""Frames in words: captions by a model that sees, or from detections; rule answers from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.household import load_household, plural
from coterie_core.wording import article
from coterie_llm import Decision, Image, Message, as_data
from coterie_recordings import RecordedFrame
from coterie_requests.understanding.map_geometry import plain
from coterie_world.perception.appearance import color_evidence
from coterie_world.scene import SceneGraph

_SEEN = 0.3
"""Least score of a detection for a caption."""
_MAJORITY = 0.5
"""Share of the pixels of a thing that must agree on its color."""


@dataclass(frozen=True, slots=True)
class FrameCaption:
    """What one frame shows, in words; `frame` is its name."""

    frame: str
    text: str


@dataclass(frozen=True, slots=True)
class CaptionState:
    """A frame to describe: the image where there is one, what a detector found, the room."""

    image: Image | None
    found: str
    place: str = ""


class CaptionReply(BaseModel):
    """A description of an image."""

    reason: str = Field("", max_length=300, description="first: what is to be seen for certain?")
    caption: str = Field(
        max_length=900, description="two to four sentences: things, colors, states, places"
    )


class CaptionFrame(Decision[CaptionState, CaptionReply]):
    """What does a frame show?"""

    name: ClassVar[str] = "openeqa.caption_frame"
    reply_type: ClassVar[type[BaseModel]] = CaptionReply
    max_tokens: ClassVar[int] = 350

    def prompt(self, state: CaptionState) -> Sequence[Message]:
        """Show the image and what a detector found in it."""
        return (
            Message.system(
                "A household robot took this photo on its round. Describe it for somebody who "
                "will be asked about the place and cannot see it: which things there are and how "
                "many, their colors and materials, what is open, closed, on or off, and what "
                "stands on, under or beside what. Say nothing that the photo does not show."
            ),
            Message.user(
                as_data("detector's list, may err", state.found or "none was made", limit=1500),
                *([state.image] if state.image is not None else []),
            ),
        )

    def rule(self, state: CaptionState) -> CaptionReply:
        """Say what the detector found."""
        place = f"In the {plain(state.place)}: " if state.place else ""
        return CaptionReply(caption=(place + (state.found or "nothing to be made out."))[:900])


def detections_text(frame: RecordedFrame) -> str:
    """Return what a detector found in a frame, in words: "a red sofa, 2 chairs, an open door"."""
    counts: Counter[str] = Counter()
    for found in frame.detections or ():
        label = found.label
        if not label or found.scores[label] < _SEEN:
            continue
        traits = [painted(frame.frame, found)]
        opening = str(found.attributes.get("opening", "")).lower()
        traits.append(opening if opening in ("open", "closed") else "")
        counts[" ".join([*(t for t in traits if t), plain(label)])] += 1
    parts = [
        article(name) if n == 1 else f"{n} {plural(name)}" for name, n in counts.most_common(40)
    ]
    return f"{', '.join(parts)}." if parts else ""


def painted(frame: RgbdFrame, found: ImageDetection) -> str:
    """Name of the color that a detector tells, or most pixels of it have; "" without a majority."""
    shares = color_evidence(frame.color, found)
    return next((name for name, share in shares.items() if share >= _MAJORITY), "")


def place_name(place: str, *scenes: SceneGraph | None) -> str:
    """Name of the room of a place: by the graphs that know it, or where it is a room's name."""
    for scene in scenes:
        if scene is None:
            continue
        at = scene.places.get(place)
        room = scene.rooms.get(at.room if at is not None else place)
        if room is not None:
            return room.name
    return place if load_household().room_type(place) else ""
