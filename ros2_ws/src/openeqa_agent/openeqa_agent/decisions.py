"""What a model is asked about a place: blind, with captions, a map, images, or tools' answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, Field

from coterie_llm import (
    CheckFailed,
    Decision,
    Image,
    Message,
    Probability,
    Tool,
    as_data,
)
from coterie_llm.fence import prompt_share
from coterie_requests.understanding.quantities import COUNTS
from coterie_world.scene.lookups import map_tools
from openeqa_agent.captions import FrameCaption
from openeqa_agent.common_sense import guess
from openeqa_agent.ground import answer_from_map
from openeqa_agent.map_text import object_line
from openeqa_agent.reply import OpenReply
from openeqa_agent.things import MapIndex
from openeqa_agent.understood import OpenQuestion

_SHORT = (
    "Answer as a person would who is asked in passing: a few words, no sentence around them. "
    "Yes or no questions start with yes or no; numbers are digits."
)

MAP_LINES = (
    "Each line of the map is a room or an object: its id, what a detector takes it for with how "
    "likely that is, its room, the center and size of its box in meters (z is up), what it stands "
    "on or in, its color and state. The detector errs, and one thing may be listed twice."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """All there is to answer from; what a method does not use stays empty.

    `text` is the extract of the map, most related to the question first; `whole` is all of the map
    in an order of its own, where it fits. `left_out` says how much did not fit. `measured` is the
    rule's answer from the map, which a model sees only as advice.
    """

    question: OpenQuestion
    captions: tuple[FrameCaption, ...] = ()
    index: MapIndex | None = field(default=None, compare=False)
    text: str = ""
    whole: str = ""
    images: tuple[Image, ...] = ()
    frames: tuple[str, ...] = ()
    left_out: str = ""
    measured: OpenReply = OpenReply()  # noqa: RUF009  (it is frozen)


class OpenAnswer(BaseModel):
    """An answer to an open question."""

    reason: str = Field("", max_length=1200, description="first: what speaks for it, step by step")
    answer: str = Field("", max_length=300, description="then the answer in a few words")
    confidence: Probability = Field(0.5, description="probability that it is right")
    guessed: bool = Field(False, description="true: nothing shown says so, it is what is usual")


class BlindAnswer(OpenAnswer):
    """An answer from what is usual."""


class CaptionsAnswer(OpenAnswer):
    """An answer from descriptions."""

    frames: list[str] = Field(
        default_factory=list, max_length=30, description="names of the frames it rests on"
    )


class MapAnswer(OpenAnswer):
    """An answer from a map."""

    objects: list[str] = Field(
        default_factory=list, max_length=30, description="ids of the objects it rests on"
    )


class FramesAnswer(CaptionsAnswer):
    """An answer from images."""


class ToolsAnswer(MapAnswer):
    """An answer from a map, with look-ups."""

    frames: list[str] = Field(
        default_factory=list, max_length=30, description="names of the frames it rests on"
    )


_NO_MODEL = "without a model, frames and their descriptions tell nothing"
_LOOKED_UP = 0.5
"""Share of a prompt's usual length from which there is room for look-ups."""
AnswerT = TypeVar("AnswerT", bound=OpenAnswer)


def _reply(kind: type[AnswerT], reply: OpenReply) -> AnswerT:
    given = {
        "reason": reply.explanation[:1200],
        "answer": reply.text[:300],
        "confidence": reply.confidence,
        "guessed": reply.guessed,
        "objects": list(reply.objects)[:30],
        "frames": list(reply.frames)[:30],
    }
    return kind(**{name: given[name] for name in kind.model_fields})


def evidence(reply: OpenAnswer) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the objects and the frames that an answer rests on."""
    objects = reply.objects if isinstance(reply, MapAnswer) else ()
    frames = reply.frames if isinstance(reply, CaptionsAnswer | ToolsAnswer) else ()
    return tuple(dict.fromkeys(objects)), tuple(dict.fromkeys(frames))


def _question(state: Asked) -> str:
    return as_data("question", state.question.text, limit=600)


def _map(state: Asked) -> str:
    """Return the map's fence: one that all questions on a map share, unless it has to be cut."""
    text = state.whole if state.whole and prompt_share() == 1.0 else state.text
    return as_data("map", text, limit=len(text) + 100)


class _OpenDecision(Decision[Asked, AnswerT]):
    max_tokens: ClassVar[int] = 600

    def options(self, state: Asked) -> Mapping[str, Sequence[str]]:
        """Ids of the map, names of the frames that are shown."""
        shown: dict[str, list[str]] = {}
        fields = self.reply_type.model_fields
        if state.index is not None and "objects" in fields:
            ids = sorted(state.index.scene.objects)
            # Where a model can look up, any id may come; else those that the prompt shows.
            looks = prompt_share() >= _LOOKED_UP and bool(self.tools(state))
            text = "" if looks else _map(state)
            shown["objects[]"] = ids if looks else [id_ for id_ in ids if id_ in text]
        if "frames" in fields:
            shown["frames[]"] = list(state.frames or (one.frame for one in state.captions))
        return shown

    def check(self, state: Asked, reply: AnswerT) -> None:
        """Evidence that is named must exist."""
        known = state.index.scene.objects if state.index is not None else {}
        objects, named = evidence(reply)
        unknown = [id_ for id_ in objects if id_ not in known]
        if unknown:
            raise CheckFailed(
                f"objects {unknown[:5]} are not in the map; name ids as they are listed, or none"
            )
        frames = {*state.frames, *(caption.frame for caption in state.captions)}
        strange = [name for name in named if name not in frames]
        if strange:
            raise CheckFailed(f"frames {strange[:5]} were not shown; name shown ones, or none")


class AnswerBlind(_OpenDecision[BlindAnswer]):
    """What is the likeliest answer for somebody who has not been there?"""

    name: ClassVar[str] = "openeqa.answer_blind"
    reply_type: ClassVar[type[BaseModel]] = BlindAnswer
    joins: ClassVar[int] = 8

    def prompt(self, state: Asked) -> Sequence[Message]:
        """Show nothing but the question."""
        return (
            Message.system(
                "You have never been in the home or office that somebody asks about. Give the "
                "answer that is right most often in places of that kind; always commit to one, "
                f"however unsure you are. {_SHORT} Two examples: asked for the color of a bathtub "
                'you would answer "white", asked where the broom is "in the kitchen, by the door".'
            ),
            Message.user(_question(state)),
        )

    def check(self, state: Asked, reply: BlindAnswer) -> None:
        """It must commit itself."""
        if not reply.answer.strip():
            raise CheckFailed("answer is empty; commit to the likeliest answer")

    def rule(self, state: Asked) -> BlindAnswer:
        """What is usual, by the tables."""
        return _reply(BlindAnswer, guess(state.question))


class AnswerFromCaptions(_OpenDecision[CaptionsAnswer]):
    """What do captions of frames say?"""

    name: ClassVar[str] = "openeqa.answer_from_captions"
    reply_type: ClassVar[type[BaseModel]] = CaptionsAnswer
    joins: ClassVar[int] = 8

    def prompt(self, state: Asked) -> Sequence[Message]:
        """Show the captions in the order of time."""
        lines = "\n".join(f"{caption.frame}: {caption.text}" for caption in state.captions)
        return (
            Message.system(
                "Somebody walked through a place and described what the camera saw, frame by "
                "frame. Frames overlap: one thing may be described several times. Answer the "
                "question from the descriptions, and name the frames that show it. Where they do "
                f"not tell, say that it cannot be told from them. {_SHORT}"
            ),
            Message.user(
                f"{as_data('descriptions', lines, limit=len(lines) + 100)}\n{state.left_out}\n"
                f"{_question(state)}"
            ),
        )

    def rule(self, state: Asked) -> CaptionsAnswer:
        """Nothing: what words of descriptions mean takes a model."""
        return CaptionsAnswer(reason=_NO_MODEL)


class AnswerFromMap(_OpenDecision[MapAnswer]):
    """What does the semantic map say?"""

    name: ClassVar[str] = "openeqa.answer_from_map"
    reply_type: ClassVar[type[BaseModel]] = MapAnswer
    joins: ClassVar[int] = 8

    def prompt(self, state: Asked) -> Sequence[Message]:
        """Show the objects that bear on the question."""
        return (
            Message.system(
                f"A robot has mapped a place. {MAP_LINES} Answer the question from the "
                "map and name the objects that your answer rests on. Where the map does not tell, "
                f"say that it cannot be told. {_SHORT}"
            ),
            Message.user(f"{_map(state)}\n{_question(state)}"),
        )

    def rule(self, state: Asked) -> MapAnswer:
        """By labels and geometry."""
        if state.index is None:
            return MapAnswer(reason="there is no map")
        return _reply(MapAnswer, answer_from_map(state.question, state.index))


class AnswerFromFrames(_OpenDecision[FramesAnswer]):
    """What do the frames show to a model that sees?"""

    name: ClassVar[str] = "openeqa.answer_from_frames"
    reply_type: ClassVar[type[BaseModel]] = FramesAnswer
    max_tokens: ClassVar[int] = 900

    def prompt(self, state: Asked) -> Sequence[Message]:
        """Show the images in the order of time."""
        return (
            Message.system(
                "The images are frames of one walk through a place, in order. Look through all of "
                "them for what the question is about, reason about where it is and what it is "
                "like, and only then answer. Name the frames that show it. Where none does, say "
                f"that it cannot be seen. {_SHORT}"
            ),
            Message.user(
                f"{as_data('images', _image_names(state.frames))}\n"
                f"{state.left_out}\n{_question(state)}",
                *state.images,
            ),
        )

    def rule(self, state: Asked) -> FramesAnswer:
        """Nothing: what images show takes a model."""
        return FramesAnswer(reason=_NO_MODEL)


class AnswerWithTools(_OpenDecision[ToolsAnswer]):
    """What is the answer, given the map, frames, and look-ups in the map?"""

    name: ClassVar[str] = "openeqa.answer_with_tools"
    reply_type: ClassVar[type[BaseModel]] = ToolsAnswer
    max_tokens: ClassVar[int] = 900

    def prompt(self, state: Asked) -> Sequence[Message]:
        """Show the map, the captions and images there are."""
        lines = "\n".join(f"{caption.frame}: {caption.text}" for caption in state.captions)
        parts = [_map(state)] if state.text else []
        if lines:
            parts.append(as_data("descriptions of frames", lines, limit=len(lines) + 100))
        if state.frames:
            parts.append(as_data("images", _image_names(state.frames)))
        return (
            Message.system(
                "You answer questions about a place for a team of robots. You get an extract of "
                f"their semantic map, perhaps frames, and tools. {MAP_LINES} The tools find, list "
                "and measure exactly in the whole map, which knows only what robots have seen; "
                "you know what things are for and what words mean. Use them for numbers, sizes, "
                "distances and places that the extract does not settle. Name the objects and "
                "frames your answer rests on; where nothing tells, say that it cannot be told. "
                f"{_SHORT}"
            ),
            Message.user("\n".join([*parts, state.left_out, _question(state)]), *state.images),
        )

    def advice(self, state: Asked) -> str:
        """What was measured in the map."""
        measured = state.measured
        return json.dumps(
            {
                "answer": measured.text or "the map does not tell",
                "confidence": round(measured.confidence, 2),
                "objects": list(measured.objects),
                "how": measured.explanation,
            }
        )

    def tools(self, state: Asked) -> Sequence[Tool[Any]]:
        """Look-ups in the map."""
        index = state.index
        if index is None or not index.scene.objects:
            return ()
        return map_tools(index.scene, lambda thing: object_line(index, thing))

    def rule(self, state: Asked) -> ToolsAnswer:
        """The measured answer."""
        return _reply(ToolsAnswer, state.measured)


def _image_names(frames: Sequence[str]) -> list[str]:
    return [f"image {k}: {name}" for k, name in enumerate(frames, start=1)]


SURE = 0.5
"""Confidence from which a measured answer must not be contradicted without a reason."""


def contradicts(tools: OpenReply, answer: str) -> bool:
    """Whether an answer says another number, or no instead of yes, than a sure measured one."""
    if tools.abstains or tools.confidence < SURE or not answer.strip() or abstaining(answer):
        return False
    ours, theirs = _numbers(tools.text), _numbers(answer)
    if ours and theirs:
        return not ours & theirs
    first, second = _polarity(tools.text), _polarity(answer)
    return first is not None and second is not None and first != second


def _numbers(text: str) -> set[float]:
    words = re.findall(r"\d+(?:\.\d+)?|[a-z]+", text.lower())
    return {float(w) if w[0].isdecimal() else float(COUNTS[w]) for w in words
            if w[0].isdecimal() or (w in COUNTS and w != "single")}  # fmt: skip


def _polarity(text: str) -> bool | None:
    word = re.match(r"\W*(yes|no)\b", text.lower())
    return None if word is None else word[1] == "yes"


# -- force a guess -------------------------------------------------------------------------------

_ABSTAINS = re.compile(
    r"\b(?:unanswerable|unknown|unclear|undetermined|not (?:known|clear|visible|shown|specified|"
    r"mentioned|enough|provided|listed|described|determinable|given|possible|sure|certain)|"
    r"(?:can ?not|can['’]?t|could not|couldn['’]?t|unable to|impossible to) (?:be )?"
    r"(?:tell|told|say|said|determined?|answer(?:ed)?|know|known|see|seen|find|found|identify|"
    r"identified|confirm|confirmed|infer|inferred)|"
    r"(?:do|does|did)(?: not|n['’]?t) (?:know|tell|say|show|mention|specify|contain|provide|have "
    r"(?:enough|any|information))|no (?:information|idea|answer|evidence|data|mention)|"
    r"insufficient|n/?a|don['’]?t know)\b"
)  # fmt: skip


def abstaining(answer: str) -> bool:
    """Whether an answer says that it has none."""
    return not answer.strip() or bool(_ABSTAINS.search(answer.lower()))


@dataclass(frozen=True, slots=True)
class Proposed:
    """A question and the answer somebody gave."""

    question: str
    answer: str


class AbstainReply(BaseModel):
    """Whether an answer is one."""

    reason: str = Field("", max_length=200, description="first: what the reply says, in short")
    abstains: bool = Field(description="true: it says that the question cannot be answered")


class JudgeAbstaining(Decision[Proposed, AbstainReply]):
    """Does an answer decline to answer? (force-a-guess, appendix VII)."""

    name: ClassVar[str] = "openeqa.judge_abstaining"
    reply_type: ClassVar[type[BaseModel]] = AbstainReply
    max_tokens: ClassVar[int] = 120

    def prompt(self, state: Proposed) -> Sequence[Message]:
        """Show the question and the answer."""
        return (
            Message.system(
                "Tell whether a reply to a question commits itself. A reply that gives any "
                'content, even "no", "none" or a hesitant guess, commits itself; one that only '
                "says the matter cannot be known, seen or decided abstains."
            ),
            Message.user(
                f"{as_data('question', state.question, limit=600)}\n"
                f"{as_data('reply', state.answer, limit=600)}"
            ),
        )

    def rule(self, state: Proposed) -> AbstainReply:
        """By the words that decline."""
        return AbstainReply(reason="by its words", abstains=abstaining(state.answer))
