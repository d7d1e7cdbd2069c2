"""Pictures that the mapper keeps of things, for questions that a map cannot answer."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.household import load_household
from coterie_llm import Image
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import SceneGraph, SceneObject
from openeqa_agent.reply import OpenReply

Pictures = Callable[[Sequence[SceneObject]], Awaitable[Mapping[str, npt.NDArray[np.uint8]]]]
"""Returns pictures (rows, cols, 3) RGB of things, by id, as far as there are any."""

_WORDS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Shown:
    """Pictures of things for a model, and the ids of the things."""

    images: tuple[Image, ...] = ()
    names: tuple[str, ...] = ()


def named_things(text: str, scene: SceneGraph) -> list[SceneObject]:
    """Return the things of a map that words name, in the order of the words, best seen first."""
    words, names = _WORDS.findall(text.lower()), Vocabulary.of(scene)
    labels: list[str] = []
    end = len(words)
    while end > 0:
        hit = names.ending(words, 0, end)
        labels = [*((hit[0].label, *hit[0].members) if hit else ()), *labels]
        end = hit[1] if hit else end - 1
    order = {label: k for k, label in reversed([*enumerate(labels)])}
    canonical = load_household().canonical
    found = [
        (order[kind], -one.observations, one.id)
        for one in scene.objects.values()
        if (kind := canonical(one.label.top) or one.label.top) in order
    ]
    return [scene.objects[id_] for _, _, id_ in sorted(found)]


def eyes_needed(text: str, scene: SceneGraph) -> str:
    """Return what a model that sees could look at for a question; "": it names nothing there is."""
    things = named_things(text, scene)
    if not things:
        return ""
    return (
        f"I would need a model that sees to look at the {things[0].label.top}: give "
        "open_questions a model with vision: true"
    )


def would_need_eyes(reply: OpenReply, text: str, scene: SceneGraph) -> OpenReply:
    """Return a reply that says so where a model that sees could look at what is asked about."""
    why = eyes_needed(text, scene)
    if not why:
        return reply
    told = f"{reply.explanation}; {why}" if reply.explanation else why
    return dataclasses.replace(reply, explanation=told[:1200])
