"""Pictures that the mapper keeps of things, for questions that a map cannot answer."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie_core.household import load_household, normalized
from coterie_llm import Image
from coterie_world.scene import SceneGraph, SceneObject
from openeqa_agent.reply import OpenReply

Pictures = Callable[[Sequence[SceneObject]], Awaitable[Mapping[str, npt.NDArray[np.uint8]]]]
"""Returns pictures (rows, cols, 3) RGB of things, by id, as far as there are any."""

_LONGEST = 3
"""Words of the longest name of a thing that is looked for."""
_WORDS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Shown:
    """Pictures of things for a model, and the ids of the things."""

    images: tuple[Image, ...] = ()
    names: tuple[str, ...] = ()


def named_things(text: str, scene: SceneGraph) -> list[SceneObject]:
    """Return the things of a map that words name, the longest names first, best seen first."""
    words, household = _WORDS.findall(text.lower()), load_household()
    by_label: dict[str, list[SceneObject]] = {}
    for one in scene.objects.values():
        for label in {normalized(one.label.top), normalized(household.canonical(one.label.top))}:
            by_label.setdefault(label, []).append(one)
    found: dict[str, SceneObject] = {}
    for count in range(_LONGEST, 0, -1):
        for k in range(len(words) - count + 1):
            said = " ".join(words[k : k + count])
            for label in dict.fromkeys((said, normalized(household.canonical(said)))):
                for one in sorted(by_label.get(label, ()), key=lambda o: (-o.observations, o.id)):
                    found.setdefault(one.id, one)
    return list(found.values())


def would_need_eyes(reply: OpenReply, text: str, scene: SceneGraph) -> OpenReply:
    """Return a reply that says so where a model that sees could look at what is asked about."""
    things = named_things(text, scene)
    if not things:
        return reply
    why = (
        f"I would need a model that sees to look at the {things[0].label.top}: give "
        "open_questions a model with vision: true"
    )
    told = f"{reply.explanation}; {why}" if reply.explanation else why
    refused = f"{reply.refused}; {why}" if reply.refused else ""
    return dataclasses.replace(reply, explanation=told[:1200], refused=refused)
