"""JudgeRequest: is a request clear, and if not, what is asked back? By a model, or by the rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import BaseModel, Field

from coterie_core.plain_data import shorten
from coterie_llm import CheckFailed, Decision, Message, as_data, neutral_order
from coterie_requests.ask_back.apply_answer import with_answer
from coterie_requests.ask_back.describing import described, named_room, plain_label
from coterie_requests.ask_back.judgement import Judgement, RequestKind
from coterie_requests.ask_back.reading import mentions
from coterie_requests.ask_back.rule import MAX_CHOICES, judged
from coterie_requests.ask_back.state import RequestState
from coterie_requests.asking import QUESTION_CHARS
from coterie_world.scene import SceneObject

_OBJECTS_CHARS = 12_000
_ABOUT = {
    "ask": "a question that robots answer from their map, or by looking",
    "find": "a request for objects of the map; a list of all that fit is a good answer",
    "do": "a task: robots may search for what they have not seen yet, so that this alone is no "
    "reason to ask",
}


class RequestReply(BaseModel):
    """What a request is."""

    reason: str = Field(max_length=600, description="why, in one or two sentences for the person")
    kind: RequestKind = Field(description="what the request is")
    candidates: list[str] = Field(
        default_factory=list,
        max_length=40,
        description="ambiguous: ids of all objects or rooms that fit; after an answer: of the one "
        "that was meant",
    )
    missing: list[str] = Field(
        default_factory=list,
        max_length=40,
        description="not_seen_yet: ids of the rooms that nobody has looked at and that matter",
    )
    slot: str = Field(default="", max_length=40, description="underspecified: what is left out")
    question: str = Field(
        default="",
        max_length=QUESTION_CHARS,
        description="the one question to ask back, in the language of the request; empty where no "
        "answer would help",
    )
    request: str = Field(
        default="",
        max_length=600,
        description="after an answer: the request in full with what the answer adds",
    )


class JudgeRequest(Decision[RequestState, RequestReply]):
    """Is a request clear, ambiguous, of a false premise, not to be known yet, a matter of taste?"""

    name: ClassVar[str] = "team.judge_request"
    reply_type: ClassVar[type[BaseModel]] = RequestReply

    def prompt(self, state: RequestState) -> Sequence[Message]:
        """Show the map, what of it was looked at, and last the request: servers keep what stays."""
        rooms = neutral_order(state.rooms, lambda room: room.id)
        looked = [
            f"{room.id}: {room.name}, looked at to {100 * state.looked.share(room.id):.0f} %"
            for room in rooms
        ]
        things = neutral_order(state.scene.objects.values(), lambda thing: thing.id)
        labels = state.vocabulary.labels
        asked = ""
        if state.answer:
            asked = (
                f"\n{as_data('question that was asked back', state.question)}\n"
                f"{as_data('choices', list(state.choices))}\n"
                f"{as_data('ids of the choices', list(state.candidates))}\n"
                f"{as_data('answer of the person', state.answer)}\n"
                "Judge the request with this answer. Where it is clear now, give `candidates` the "
                "one id that was meant, if one was chosen, and `request` the request in full."
            )
        return (
            Message.system(
                "You decide whether a team of household robots can work on a request as it is, "
                "or must say why not and ask one question back. Never guess what was meant. "
                "`ambiguous`: it speaks of one thing and several fit. `false_premise`: it "
                "presumes what is not so; only where every room that could show it was looked at "
                "well and the detector reports such things. `not_seen_yet`: rooms that matter "
                "were not looked at. `subjective`: it asks for a taste or an opinion. "
                "`underspecified`: it leaves out something that is needed, or a pronoun stands "
                "for nothing. Else `clear`. The request may be in any language."
            ),
            Message.user(
                f"{as_data('rooms (id: name)', looked)}\n"
                f"{as_data('objects', [_told(state, t) for t in things], limit=_OBJECTS_CHARS)}\n"
                + (
                    as_data("labels that the detector reports", sorted(labels))
                    if labels is not None
                    else "What the detector can report is not known."
                )
                + f"\n{as_data('request', state.words)}\nIt is {_ABOUT[state.command]}."
                + asked
            ),
        )

    def advice(self, state: RequestState) -> str:
        """The rule's judgement, of words that were read."""
        return "" if state.request is None else super().advice(state)

    def options(self, state: RequestState) -> Mapping[str, Sequence[str]]:
        """Ids of the map."""
        things = neutral_order(state.scene.objects, str)
        rooms = neutral_order(state.scene.rooms, str)
        found: dict[str, Sequence[str]] = {}
        if things or rooms:
            found["candidates[]"] = [*things, *rooms]
        if rooms:
            found["missing[]"] = rooms
        return found

    def check(self, state: RequestState, reply: RequestReply) -> None:
        """Nothing is denied from absence alone; ambiguous is what several things fit."""
        known = {*state.scene.objects, *state.scene.rooms}
        strange = [id_ for id_ in reply.candidates if id_ not in known]
        if strange:
            raise CheckFailed(f"candidates: no id {strange[0]!r} on the map; leave it out")
        if reply.kind == "ambiguous" and len(set(reply.candidates)) < 2:
            raise CheckFailed("ambiguous: name two candidates at least, or choose another kind")
        if reply.kind in ("ambiguous", "underspecified") and not reply.question.strip():
            raise CheckFailed(f"{reply.kind}: give the one question to ask back")
        if reply.kind != "clear":
            _check_words(state, reply)
        if reply.kind == "not_seen_yet":
            wrong = [id_ for id_ in reply.missing if id_ not in state.scene.rooms]
            if wrong:
                raise CheckFailed(f"missing: there is no room with id {wrong[0]!r}")
            if reply.missing and not state.looked.missing(
                [state.scene.rooms[id_] for id_ in reply.missing]
            ):
                raise CheckFailed(
                    "not_seen_yet: all rooms in `missing` were looked at; name those that were "
                    "not, or choose another kind"
                )
        if reply.kind == "false_premise" and judged(state).kind != "false_premise":
            left = state.looked.missing(state.rooms)
            if left or not state.all_rooms:
                told = state.looked.told(left) or "there may be rooms that the map does not show"
                raise CheckFailed(
                    f"false_premise: {told}; what nobody has looked for may be there: choose "
                    "not_seen_yet, or clear"
                )

    def rule(self, state: RequestState) -> RequestReply:
        """The rules, by the request as it was read."""
        told = judged(state)
        if state.answer:
            found = with_answer(state, told)
            return RequestReply(
                reason=found.judgement.text[:600],
                kind=found.judgement.kind,
                candidates=list(found.chosen),
                request=found.request.words if found.request else "",
            )
        missing = [r.id for r in state.rooms if set(state.looked.names([r])) & set(told.missing)]
        return RequestReply(
            reason=told.text[:600],
            kind=told.kind,
            candidates=list(told.candidates)[:40],
            missing=missing[:40],
            slot=told.slot,
            question=told.question,
        )


def judgement_of(state: RequestState, reply: RequestReply) -> Judgement:
    """Return a model's reply as a judgement: choices are written from the map, not by the model."""
    ids = list(dict.fromkeys(reply.candidates))
    rooms = [state.scene.rooms[id_] for id_ in reply.missing if id_ in state.scene.rooms]
    choices = _choices(state, ids) if reply.kind in ("ambiguous", "subjective") else ()
    evidence = []
    if reply.kind == "false_premise":
        shares = [state.looked.share(room.id) for room in state.rooms] or [0.0]
        evidence = [
            f"{len(state.rooms)} rooms were looked at, the least to {100 * min(shares):.0f} %"
        ]
    clear = reply.kind == "clear"
    return Judgement(
        reply.kind,
        text="" if clear else " ".join(reply.reason.split()),
        question="" if clear else " ".join(reply.question.split()),
        choices=choices if len(choices) <= MAX_CHOICES else (),
        candidates=tuple(ids) if choices else (),
        missing=tuple(state.looked.names(rooms)),
        said=_said_of(state, ids),
        slot=reply.slot,
        evidence=tuple(evidence),
    )


def _said_of(state: RequestState, ids: Sequence[str]) -> str:
    """Return the words of the request that some ids fit; "" for none."""
    if state.request is None or not ids:
        return ""
    for mention in mentions(state.request, state.names, task=state.command == "do"):
        place = state.resolver.is_place(mention.phrase)
        found = state.resolver.rooms if place else state.resolver.things
        if set(ids) <= {one.id for one in found(mention.phrase)}:
            return mention.phrase.said
    return ""


def _check_words(state: RequestState, reply: RequestReply) -> None:
    """What a person is to read is said once, and a question is more than a name on the map."""
    said = [one.strip().casefold() for one in re.split(r"[.!?。！？؟]", reply.reason)]
    twice = next((one for one in said if one and said.count(one) > 1), "")
    if twice:
        raise CheckFailed(f"reason: {shorten(twice, 60)!r} is said twice; say it once")
    asked = reply.question.strip()
    names = {*state.scene.objects, *state.scene.rooms}
    names |= {plain_label(thing) for thing in state.scene.objects.values()}
    names |= {room.name for room in state.scene.rooms.values()}
    if asked in names:
        raise CheckFailed(f"question: {asked!r} is a name on the map; ask the person a question")


def _choices(state: RequestState, ids: Sequence[str]) -> tuple[str, ...]:
    things = [state.scene.objects[id_] for id_ in ids if id_ in state.scene.objects]
    if len(things) != len(ids):
        return tuple(
            state.scene.rooms[id_].name if id_ in state.scene.rooms else id_ for id_ in ids
        )
    return tuple(described(state.scene, things))


def _told(state: RequestState, thing: SceneObject) -> str:
    room = state.scene.rooms.get(thing.room)
    at = f" in {named_room(room)}" if room is not None else ""
    holder = thing.support or thing.container
    return f"{thing.id}: {plain_label(thing)}{f' on {holder}' if holder else ''}{at}"
