"""The agents of the benchmark: blind, captions, scene graph, frames, and ours."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from coterie_llm import Decided, Decider, Image, estimate_tokens
from coterie_llm.pictures import encode
from coterie_recordings import RecordedFrame, Recording, RecordingError, sample_evenly
from coterie_requests.detector_vocabulary import DetectorVocabulary
from coterie_requests.read_request import read_request
from coterie_requests.request import request_from_json
from coterie_requests.understanding import NotUnderstood, Problem
from coterie_requests.understanding.map_geometry import STATES
from coterie_world.coverage import Coverage, PlacesSeen
from coterie_world.meaning import Meanings, likeness_by_label
from coterie_world.scene import SceneGraph
from openeqa_agent.calibration import calibrated
from openeqa_agent.captions import (
    CaptionFrame,
    CaptionState,
    FrameCaption,
    detections_text,
    place_name,
)
from openeqa_agent.common_sense import guess
from openeqa_agent.decisions import (
    AnswerBlind,
    AnswerFromCaptions,
    AnswerFromFrames,
    AnswerFromMap,
    AnswerT,
    AnswerWithTools,
    Asked,
    JudgeAbstaining,
    Proposed,
    abstaining,
    contradicts,
    evidence,
)
from openeqa_agent.doubts import doubt_of, going_helps, left_out
from openeqa_agent.ground import answer_from_map
from openeqa_agent.kept_pictures import Pictures, Shown, named_things, would_need_eyes
from openeqa_agent.labels import household_names
from openeqa_agent.map_text import map_text, whole_text
from openeqa_agent.reply import OpenReply
from openeqa_agent.settings import Method
from openeqa_agent.things import MapIndex
from openeqa_agent.understood import OpenQuestion, question_of, serves

SMALLEST_SIDE = 128
"""Longest side [px] below which images are left out rather than scaled down further."""
MAX_QUESTION_CHARS = 400
"""Characters of a question that are read."""
METHODS = get_args(Method)
_MEASURED = frozenset({"how_many", "size", "space"})
"""Kinds of questions on which a sure measurement stands whatever an advised model says."""
_NOTHING = "nothing was seen of it"
_KEPT = 4
"""Recordings whose captions are kept."""


def encode_all(
    frames: Sequence[npt.NDArray[np.uint8]], side: int, most_bytes: int
) -> tuple[list[Image], list[int]]:
    """Return images within `most_bytes` in all, and which of the frames they are.

    Images are made smaller first, down to SMALLEST_SIDE; what still does not fit is left out
    evenly.
    """
    chosen = [k for k, frame in enumerate(frames) if frame.ndim == 3 and 0 not in frame.shape]
    size = side
    while chosen:
        images = [encode(frames[k], size) for k in chosen]
        total = sum(len(image.data) for image in images)
        if total <= most_bytes:
            return images, chosen
        if size > SMALLEST_SIDE:
            # Bytes grow about as the area does; a little less than that needs no second try.
            size = max(SMALLEST_SIDE, int(size * min(0.95 * (most_bytes / total) ** 0.5, 0.9)))
            continue
        keep = min(len(chosen) - 1, int(len(chosen) * most_bytes / total))
        spread = np.unique(np.linspace(0, len(chosen) - 1, max(keep, 0)).round().astype(int))
        chosen = [chosen[int(k)] for k in spread]
    return [], []


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Limits of an agent.

    Attributes:
        frames: Frames that are looked at (50 from memory, 75 when exploring, in the paper).
        objects: Most objects in a prompt (75 in the paper).
        tokens: Most tokens of a map or of captions in a prompt.
        image_bytes: Most bytes of all images of one question.
        image_side: Longest side of an image [px].
        vision: Whether the model sees: it then captions images, and ours shows it some.
        looks: Images that ours shows to a model that sees.
        guesses: Where nothing tells, whether the blind agent answers: "always" (OpenEQA's force a
            guess), "usual" (only what could be known; else the reply says why nobody can tell), or
            "never". What is not understood is refused in any case, where there is no model.
        calibrate: Whether confidences are brought to the share that is right; off to fit that.
        meanings: Compares the question with labels, so that the objects of a prompt are those that
            bear on it by meaning too; None: by words and tables alone.
    """

    frames: int = 50
    objects: int = 75
    tokens: int = 6000
    image_bytes: int = 6_000_000
    image_side: int = 512
    vision: bool = False
    looks: int = 8
    guesses: Literal["always", "usual", "never"] = "usual"
    calibrate: bool = True
    meanings: Meanings | None = None


@dataclass(slots=True)
class _Frames:
    """Frames of one recording: captions by frame, and what could not be read."""

    captions: list[FrameCaption]
    problems: str = ""


class OpenAgent:
    """Answers open questions about a place.

    Args:
        decider: Asks the model; with rules alone nothing is asked.
        method: One of METHODS.
        options: Limits.
        vocabulary: What the detector behind the map can report; None: that is not known.

    Raises:
        ValueError: There is no such method.
    """

    def __init__(
        self,
        decider: Decider,
        method: str = "ours",
        options: AgentOptions | None = None,
        vocabulary: DetectorVocabulary | None = None,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"method {method!r}: expected one of {', '.join(METHODS)}")
        self.decider = decider
        self.method = method
        self.options = options or AgentOptions()
        self.vocabulary = vocabulary or DetectorVocabulary()
        self._index: MapIndex | None = None
        self._whole: tuple[MapIndex, str] | None = None
        self._captions: dict[tuple[str, int], _Frames] = {}
        self._captioning = asyncio.Lock()

    async def read(
        self, text: str, scene: SceneGraph | None = None, read: str = ""
    ) -> OpenQuestion:
        """Return what a text asks; words that are not understood are named in `problem`.

        Args:
            text: The question, as a person put it.
            scene: The map whose names count as words, if there is one.
            read: JSON of the Request that somebody has read of it; "": it is read now.
        """
        if len(text) > MAX_QUESTION_CHARS:
            why = f"{len(text)} characters; at most {MAX_QUESTION_CHARS} are read: ask in short"
            return OpenQuestion(text, problem=Problem("too_long", f"the question has {why}"))
        index = self._indexed(scene, None) if scene is not None else None
        names = household_names() if index is None else index.names
        # Who answers from images or memory alone is asked in the person's words.
        reader = self.decider if self.method in ("ours", "scene_graph") else None
        try:
            if read:
                return question_of(request_from_json(read, text))
            return question_of(await read_request(text, names, reader, "ask"))
        except NotUnderstood as error:
            return OpenQuestion(text, problem=error.problem)

    async def answer(
        self,
        asked: str | OpenQuestion,
        scene: SceneGraph | None = None,
        recording: Recording | None = None,
        seen: PlacesSeen | None = None,
        pictures: Pictures | None = None,
    ) -> OpenReply:
        """Return the answer to a question; never raises for what a map or a model holds.

        Args:
            asked: The question, or its words.
            scene: The map, if there is one; it must not change while this runs.
            recording: Frames, if there are any.
            seen: What robots saw of the places of the map; None: nothing is known of that.
            pictures: Gets pictures of things of the map; None: there are none.
        """
        reply = await self._answered(asked, scene, recording, seen, pictures)
        blind = self.options.vision is False and self.method != "blind"
        unsure = (reply.abstains and not reply.refused) or reply.guessed
        if scene is not None and blind and unsure:
            return would_need_eyes(reply, str(getattr(asked, "text", asked)), scene)
        return reply

    async def _answered(
        self,
        asked: str | OpenQuestion,
        scene: SceneGraph | None,
        recording: Recording | None,
        seen: PlacesSeen | None,
        pictures: Pictures | None,
    ) -> OpenReply:
        index = self._indexed(scene, seen) if self.method != "blind" else None
        always = self.options.guesses == "always"
        question = await self.read(asked, scene) if isinstance(asked, str) else asked
        if self.decider.rule_only and question.problem is not None:
            why = question.problem.line
            return OpenReply(explanation=why, refused=why, still=why, method=self.method)
        if self.method == "blind":
            return await self._blind(question)
        doubt = None
        if self.decider.rule_only and index is not None:
            doubt = doubt_of(question, index, self.vocabulary)
        still = going_helps(question, doubt)
        if doubt is not None and not always:
            return self._cannot_tell(question, doubt.text, still)
        if self.method == "captions":
            reply = await self._from_captions(question, recording)
        elif self.method == "scene_graph":
            reply = await self._from_map(question, index)
        elif self.method == "frames":
            shown = await self._shown(question, scene, recording, pictures)
            reply = await self._from_frames(question, recording, shown)
        else:
            shown = await self._shown(question, scene, recording, pictures)
            reply = await self._ours(question, index, recording, shown)
        if self.options.guesses != "never" and await self._abstains(question, reply):
            guessed = await self._blind(question, index)
            why = reply.explanation or _NOTHING
            if not always and not self._worth_saying(question, guessed):
                return self._cannot_tell(question, why, still)
            reply = dataclasses.replace(
                guessed,
                explanation=f"{why}; {guessed.explanation}"[:1200],
                reason="; ".join(part for part in (reply.reason, guessed.reason) if part),
            )
        unread = ""
        if self.decider.rule_only and reply.text and index is not None:
            unread = left_out(question, index)
        if doubt is not None and doubt.kind == "word":
            unread = doubt.text  # nobody can count or find what a word means that is not known
        if unread:
            if not reply.guessed:
                still = still or unread  # the map answers what was understood: no need to go
            told = "; ".join(part for part in (unread, reply.explanation) if part)
            reply = dataclasses.replace(reply, guessed=True, explanation=told[:1200])
        if self.options.calibrate:
            reply = calibrated(reply, question)
        return dataclasses.replace(reply, method=self.method, still=still)

    def _worth_saying(self, question: OpenQuestion, guessed: OpenReply) -> bool:
        """Whether a guess by common sense says more than that nothing is known."""
        if guessed.abstains:
            return False
        if guessed.decided_by == "model":
            return True
        states = [step.attribute for step in question.steps if step.act == "state"]
        if any(STATES.get(state, "") == "" for state in states):
            return False
        if any(map(serves, question.steps)):
            return True
        options = any(step.options for step in question.steps)
        return not (options or question.acts & {"relation", "size", "space"})

    def _cannot_tell(self, question: OpenQuestion, why: str, still: str) -> OpenReply:
        return OpenReply(
            f"cannot tell: {why}"[:300], 0.0, guessed=True, category=question.category,
            explanation=why, method=self.method, still=still,
        )  # fmt: skip

    # -- methods ---------------------------------------------------------------------------------

    async def _blind(self, question: OpenQuestion, index: MapIndex | None = None) -> OpenReply:
        """Return what is usual; with a map, in the kinds of rooms that the house has."""
        decided = await self.decider.decide(AnswerBlind(), Asked(question))
        reply = _open_reply(question, decided)
        rooms = index.room_types if index is not None else ()
        if not reply.text.strip() or abstaining(reply.text) or (rooms and self.decider.rule_only):
            usual = guess(question, rooms)
            text, confidence = usual.text or "cannot tell", usual.confidence if usual.text else 0.0
            reply = dataclasses.replace(reply, text=text, confidence=confidence, decided_by="rule")
        return dataclasses.replace(
            reply, guessed=True, method="blind", objects=(), frames=(),
            confidence=min(reply.confidence, 0.6),
        )  # fmt: skip

    async def _from_captions(
        self, question: OpenQuestion, recording: Recording | None
    ) -> OpenReply:
        frames = await self._captioned(recording)
        kept, left_out = self._fitting(frames)
        state = Asked(question, captions=kept, left_out=left_out)
        if not kept:
            return _nothing(question, frames.problems or "there are no frames")
        return _open_reply(question, await self.decider.decide(AnswerFromCaptions(), state))

    async def _from_map(self, question: OpenQuestion, index: MapIndex | None) -> OpenReply:
        if index is None or not index.scene.objects:
            return _nothing(question, "the map is empty" if index else "there is no map")
        text = "" if self.decider.rule_only else await self._text(index, question)
        state = Asked(question, index=index, text=text, whole=self._whole_map(index))
        return _open_reply(question, await self.decider.decide(AnswerFromMap(), state))

    async def _shown(
        self,
        question: OpenQuestion,
        scene: SceneGraph | None,
        recording: Recording | None,
        pictures: Pictures | None,
    ) -> Shown:
        """Pictures of the things that a question names, where there are no frames to look at."""
        able = self.options.vision and not self.decider.rule_only
        if not able or recording is not None or scene is None or pictures is None:
            return Shown()
        things = named_things(question.text, scene)[: self.options.looks]
        came = await pictures(things) if things else {}
        kept = [(one, came[one.id]) for one in things if one.id in came]
        arrays = [color for _, color in kept]
        images, chosen = encode_all(arrays, self.options.image_side, self.options.image_bytes)
        return Shown(tuple(images), tuple(kept[k][0].id for k in chosen))

    async def _from_frames(
        self, question: OpenQuestion, recording: Recording | None, shown: Shown
    ) -> OpenReply:
        if shown.images:
            state = Asked(question, images=shown.images, frames=shown.names)
            return _open_reply(question, await self.decider.decide(AnswerFromFrames(), state))
        if self.decider.rule_only or recording is None or not len(recording):
            return await self._from_captions(question, recording)
        frames, problems = await read_frames(recording, self.options.frames)
        images, names, left_out = self._encoded(frames)
        captions = tuple(_plain_captions(frames, recording.scene))
        if not images:
            return _nothing(question, problems or "no frame has an image in color")
        state = Asked(question, captions=captions, images=images, frames=names, left_out=left_out)
        return _open_reply(question, await self.decider.decide(AnswerFromFrames(), state))

    async def _ours(
        self,
        question: OpenQuestion,
        index: MapIndex | None,
        recording: Recording | None,
        shown: Shown,
    ) -> OpenReply:
        tools = answer_from_map(question, index) if index is not None else _nothing(question, "")
        if self.decider.rule_only:
            return tools
        frames = await self._captioned(recording)
        chosen, left_out = self._fitting(_bearing(frames, question, 12))
        images, names = shown.images, shown.names
        if self.options.vision and recording is not None and self.options.looks:
            wanted = [c.frame for c in _bearing(frames, question, self.options.looks).captions]
            read, _ = await read_frames(recording, self.options.frames)
            images, names, more = self._encoded([f for f in read if f.name in wanted])
            left_out = f"{left_out} {more}".strip()
        text = await self._text(index, question) if index is not None else ""
        whole = self._whole_map(index) if index is not None else ""
        state = Asked(question, chosen, index, text, whole, images, names, left_out, tools)
        decided = await self.decider.decide(AnswerWithTools(), state)
        reply = _open_reply(question, decided)
        advised = self.decider.mode_of(AnswerWithTools.name) == "advised"
        if advised and question.acts & _MEASURED and contradicts(tools, reply.text):
            why = f"measured: {tools.explanation}; the model said {reply.text[:80]!r}"
            return dataclasses.replace(tools, explanation=why)
        return reply

    # -- what they share -------------------------------------------------------------------------

    async def _abstains(self, question: OpenQuestion, reply: OpenReply) -> bool:
        if reply.abstains:
            return True
        if reply.decided_by == "rule":
            return False
        proposed = Proposed(question.text, reply.text)
        return (await self.decider.decide(JudgeAbstaining(), proposed)).reply.abstains

    def _indexed(self, scene: SceneGraph | None, seen: PlacesSeen | None) -> MapIndex | None:
        """The map ready for questions; made once per map."""
        if scene is None:
            self._index = None
        elif self._index is None or self._index.scene is not scene:
            self._index = MapIndex(scene, seen)
        elif seen is not None:
            self._index.coverage = Coverage(scene, seen)
        return self._index

    async def _text(self, index: MapIndex, question: OpenQuestion) -> str:
        options, things = self.options, index.scene.objects.values()
        likeness = await likeness_by_label(
            options.meanings, question.text, (t.label.top for t in things), index.scene
        )
        return map_text(
            index, question, objects=options.objects, tokens=options.tokens, likeness=likeness
        )

    def _whole_map(self, index: MapIndex) -> str:
        """All of a map, where it fits; made once per map."""
        if self.decider.rule_only:
            return ""
        if self._whole is None or self._whole[0] is not index:
            options = self.options
            text = whole_text(index, objects=options.objects, tokens=options.tokens)
            self._whole = (index, text)
        return self._whole[1]

    def _encoded(
        self, frames: list[RecordedFrame]
    ) -> tuple[tuple[Image, ...], tuple[str, ...], str]:
        colored = [(f.name, f.frame.color) for f in frames if f.frame.color is not None]
        arrays: list[npt.NDArray[np.uint8]] = [color for _, color in colored if color is not None]
        images, kept = encode_all(arrays, self.options.image_side, self.options.image_bytes)
        left = len(frames) - len(images)
        note = f"({left} of {len(frames)} images are left out)" if left else ""
        return tuple(images), tuple(colored[k][0] for k in kept), note

    def _fitting(self, frames: _Frames) -> tuple[tuple[FrameCaption, ...], str]:
        """Captions within the limit of tokens, spread evenly, and how many are left out."""
        captions = frames.captions
        total = sum(estimate_tokens(c.text) + 8 for c in captions)
        kept = captions
        if total > self.options.tokens:
            count = max(1, int(len(captions) * self.options.tokens / total))
            spread = np.unique(np.linspace(0, len(captions) - 1, count).round().astype(int))
            kept = [captions[int(k)] for k in spread]
        left = len(captions) - len(kept)
        notes = [f"({left} of {len(captions)} descriptions are left out)"] if left else []
        return tuple(kept), " ".join(notes)

    async def _captioned(self, recording: Recording | None) -> _Frames:
        """Captions of frames spread evenly over a recording; made once per recording."""
        if recording is None or not len(recording):
            return _Frames([], "there are no frames")
        key = (recording.name, len(recording))
        async with self._captioning:  # questions asked at the same time share them
            if key not in self._captions:
                frames, problems = await read_frames(recording, self.options.frames)
                known = recording.scene
                captions = await asyncio.gather(*(self._caption(frame, known) for frame in frames))
                while len(self._captions) >= _KEPT:
                    self._captions.pop(next(iter(self._captions)))
                self._captions[key] = _Frames([c for c in captions if c.text], problems)
            return self._captions[key]

    async def _caption(self, frame: RecordedFrame, known: SceneGraph | None) -> FrameCaption:
        found = detections_text(frame)
        color = frame.frame.color
        state = CaptionState(None, found, place_name(frame.place, known))
        if self.options.vision and color is not None and not self.decider.rule_only:
            state = dataclasses.replace(state, image=encode(color, self.options.image_side))
            decided = await self.decider.decide(CaptionFrame(), state)
            return FrameCaption(frame.name, decided.reply.caption)
        if not found:
            return FrameCaption(frame.name, "")
        return FrameCaption(frame.name, CaptionFrame().rule(state).caption)


async def read_frames(recording: Recording, count: int) -> tuple[list[RecordedFrame], str]:
    """Return frames spread evenly; a frame that cannot be read is left out and told of."""
    frames, problems = [], []
    for k in sample_evenly(recording, count):
        try:
            # Reading decodes images: the loop must get a turn in between.
            frames.append(await asyncio.to_thread(recording.__getitem__, k))
        except (RecordingError, IndexError) as error:
            problems.append(str(error))
    note = f"{len(problems)} frames cannot be read: {problems[0]}" if problems else ""
    return frames, note[:500]


def _plain_captions(frames: list[RecordedFrame], known: SceneGraph | None) -> list[FrameCaption]:
    captions = []
    for frame in frames:
        found = detections_text(frame)
        if found:
            state = CaptionState(None, found, place_name(frame.place, known))
            text = CaptionFrame().rule(state).caption
            captions.append(FrameCaption(frame.name, text))
    return captions


def _bearing(frames: _Frames, question: OpenQuestion, count: int) -> _Frames:
    """The captions that name most of what a question speaks of, in the order of time."""
    words = {w for w in question.text.lower().replace("?", " ").split() if len(w) > 3}
    names = {thing.name for thing in question.things} - {""}

    def score(k: int) -> tuple[float, int]:
        text = frames.captions[k].text.lower()
        return -(sum(w in text for w in words) + 2.0 * sum(n in text for n in names)), k

    best = sorted(sorted(range(len(frames.captions)), key=score)[:count])
    return _Frames([frames.captions[k] for k in best], frames.problems)


def _open_reply(question: OpenQuestion, decided: Decided[AnswerT]) -> OpenReply:
    reply = decided.reply
    text = " ".join(reply.answer.split())
    objects, frames = evidence(reply)
    return OpenReply(
        text=text,
        confidence=reply.confidence if text else 0.0,
        guessed=reply.guessed,
        category=question.category,
        objects=objects,
        frames=frames,
        explanation=reply.reason,
        decided_by=decided.decided_by,
        reason=decided.reason,
    )


def _nothing(question: OpenQuestion, why: str) -> OpenReply:
    return OpenReply(category=question.category, explanation=why)
