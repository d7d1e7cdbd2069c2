"""Wordings of questions about homes: sets of phrases in `data/openeqa_phrases/*.yaml`."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal, get_args

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field

PhraseSet = Literal["day", "people", "held_out", "first"]
PHRASES: tuple[PhraseSet, ...] = get_args(PhraseSet)
"""Names of the sets: "day" is asked by default, "people" is in the words of OpenEQA's askers,
"held_out" was only counted while the agents were made, "first" is the oldest one."""


class Phrases(BaseModel):
    """How questions are worded, and what things are for as askers put it.

    The agents do not read this. `wordings`: name of a template -> sentences with {slots}; `uses`:
    what people want to do, and the labels that serve it; `serves` and `places`: labels and whole
    questions for what or where they are; `activities`: room type -> what people do there; `hints`:
    questions that are answered with yes where one of the labels is there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    wordings: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    wordings_of: str = Field("", description="set whose wordings and activities are taken")
    uses: tuple[tuple[str, tuple[str, ...]], ...] = ()
    serves: tuple[tuple[tuple[str, ...], str], ...] = ()
    places: tuple[tuple[tuple[str, ...], str], ...] = ()
    activities: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    hints: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def say(self, rng: np.random.Generator, *templates: str, **slots: str) -> str:
        """Return a wording of the templates, slots filled, and a capital."""
        forms = [form for name in templates for form in self.wordings[name]]
        text = forms[int(rng.integers(len(forms)))].format(**slots)
        return text[0].upper() + text[1:]

    def asked_for(self, *, places: bool) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return (labels, questions): what is asked for things that serve, or for places."""
        forms = self.wordings.get("use_where" if places else "use_what", ())
        whole = self.places if places else self.serves
        return [
            *((labels, tuple(f.format(purpose=use) for f in forms)) for use, labels in self.uses),
            *((labels, (question,)) for labels, question in whole),
        ]


@cache
def load_phrases(name: PhraseSet = "day") -> Phrases:
    """Return a set of phrases.

    Raises:
        ValueError: There is no such set, or its file is broken.
    """
    if name not in PHRASES:
        raise ValueError(f"phrases {name!r}: expected one of {', '.join(PHRASES)}")
    path = resources.files("research.bench").joinpath(f"data/openeqa_phrases/{name}.yaml")
    phrases = Phrases.model_validate(yaml.safe_load(path.read_text("utf-8")))
    if not phrases.wordings_of:
        return phrases
    base = load_phrases(phrases.wordings_of)
    return phrases.model_copy(update={"wordings": base.wordings, "activities": base.activities})
