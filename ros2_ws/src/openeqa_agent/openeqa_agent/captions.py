"""Frames in words: captions by a model that sees, or from detections; rule answers from them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.colors import basic_color
from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.household import load_household, plural
from coterie_core.wording import article
from coterie_llm import Decision, Image, Message, as_data
from coterie_requests.lexicon import canonical, load_lexicon, meant, serving
from coterie_requests.request import Step, Thing
from coterie_requests.understanding.grounding import LIKELY
from coterie_requests.understanding.map_geometry import STATES, plain
from coterie_world.perception.appearance import color_evidence
from coterie_world.recording import RecordedFrame
from coterie_world.scene import SceneGraph
from openeqa_agent.labels import is_room_name
from openeqa_agent.reply import OpenReply
from openeqa_agent.understood import OpenQuestion, is_polar, serves

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


# -- what captions tell by rule ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Mention:
    """A thing in a caption: its label, how many, the words before it."""

    label: str
    count: int
    before: tuple[str, ...]


def _mentions(text: str) -> list[_Mention]:
    said = text.lower()
    found = []
    at = 0
    for start, end, name in load_lexicon().mentions(said):
        before = tuple(re.findall(r"[a-z0-9-]+", said[at:start])[-4:])
        number = next((int(w) for w in reversed(before) if w.isdecimal() and int(w) < 50), 1)
        found.append(_Mention(name, number, before))
        at = end
    return found


def answer_from_captions(question: OpenQuestion, captions: Sequence[FrameCaption]) -> OpenReply:
    """Return what captions say, by the things they name; empty where they do not tell.

    Only a question about one thing is answered from them.
    """
    step = question.steps[0] if len(question.steps) == 1 else None
    nothing = OpenReply(category=question.category, explanation="the captions do not tell")
    if step is None or len(step.things) != 1 or step.negated:
        return nothing
    wanted = step.things[0]
    told = [(caption, _mentions(caption.text)) for caption in captions]
    hits = [
        (caption, mention)
        for caption, mentions in told
        for mention in mentions
        if wanted.name and _is(mention.label, wanted)
    ]
    frames = tuple(dict.fromkeys(caption.frame for caption, _ in hits))[:5]
    text, confidence = _told(step, told, hits)
    if not text:
        return nothing
    why = f"named in {len({c.frame for c, _ in hits})} of {len(captions)} frames"
    return OpenReply(text, confidence, category=question.category, frames=frames, explanation=why)


def _is(label: str, wanted: Thing) -> bool:
    name = meant(wanted.name)
    members = load_lexicon().members
    names = members(name)
    return label == name or canonical(label) in names or bool(members(label) & names)


_Hits = list[tuple[FrameCaption, _Mention]]


def _told(
    step: Step, told: list[tuple[FrameCaption, list[_Mention]]], hits: _Hits
) -> tuple[str, float]:
    act, wanted = step.act, step.things[0]
    anchors = [t for place in wanted.places for t in place.things if not is_room_name(t.name)]
    if serves(step):
        grades = serving(wanted.use)
        best = max(
            ((grades.get(canonical(m.label), 0.0), m.label) for _, ms in told for m in ms),
            default=(0.0, ""),
        )
        if best[0] >= LIKELY:
            place = step.attribute == "place" or act == "where"
            text = f"on the {best[1]}" if place else f"the {best[1]}"
            return (f"yes, {text}" if is_polar(step) else text), 0.4
    if act == "is_there" and wanted.name and not anchors:
        return ("yes", 0.7) if hits else ("no", 0.55 if len(told) > 3 else 0.0)
    if act == "how_many" and hits:
        # One image with most of them: adding images up would count things twice.
        most = Counter[str]()
        for caption, mention in hits:
            most[caption.frame] += mention.count
        return str(max(most.values())), 0.4
    if act == "color" and hits:
        colors = Counter(c for _, m in hits for c in map(basic_color, m.before) if c)
        if colors:
            color, n = colors.most_common(1)[0]
            return _colored(step, color), 0.6 * n / sum(colors.values())
    if act == "state" and hits:
        states = Counter(STATES[w] for _, m in hits for w in m.before if w in ("open", "closed"))
        asked = STATES.get(step.attribute, step.attribute)
        if states and asked in ("open", "closed"):
            state = states.most_common(1)[0][0]
            if step.choices:
                fits = [c for c in step.choices if STATES.get(c) == state]
                return (fits[0], 0.6) if fits else ("", 0.0)
            return ("yes" if state == asked else "no"), 0.6
    if act in ("where", "which_room") and hits:
        seen = {c.frame for c, _ in hits}
        rooms = Counter(room for c, ms in told if c.frame in seen and (room := _room(c, ms)))
        if rooms:
            return f"in the {rooms.most_common(1)[0][0]}", 0.45
    if act == "what" and anchors and anchors[0].name:
        return _beside(wanted, anchors[0], told)
    return "", 0.0


def _room(caption: FrameCaption, mentions: Sequence[_Mention]) -> str:
    """The room of a frame: as its caption says, or as the things it names make likely."""
    said = re.match(r"in the ([a-z0-9 ]+):", caption.text.lower())
    if said:
        return said[1]
    house = load_household()
    labels = {m.label for m in mentions if house.category(m.label) is not None}
    if len(labels) < 2:
        return ""

    def likely(room: str) -> float:
        return sum(math.log(house.likelihood(label, room) + 0.02) for label in sorted(labels))

    return max(house.room_types, key=likely)


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


def _colored(step: Step, color: str) -> str:
    if step.choices:
        return next((c for c in step.choices if basic_color(c) == color), "")
    if is_polar(step):
        return "yes" if basic_color(step.attribute) == color else "no"
    return color


def _beside(
    wanted: Thing, anchor: Thing, told: list[tuple[FrameCaption, list[_Mention]]]
) -> tuple[str, float]:
    """What is named most often in the frames that show the anchor; a weak hint."""
    together: Counter[str] = Counter()
    everywhere = Counter(label for _, ms in told for label in {m.label for m in ms})
    for _, mentions in told:
        if not any(_is(m.label, anchor) for m in mentions):
            continue
        for label in {m.label for m in mentions if not _is(m.label, anchor)}:
            if not wanted.name or _is(label, wanted):
                together[label] += 1
    if not together:
        return "", 0.0
    # What is in most images is in these, too; what is in these alone tells more.
    label = min(together, key=lambda name: (-(together[name] ** 2) / everywhere[name], name))
    return article(label), 0.2
