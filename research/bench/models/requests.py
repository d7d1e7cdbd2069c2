"""Sentences to robots with what they mean, and how far a reader reads them so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from coterie_llm import Decider
from coterie_requests.grammar import read
from coterie_requests.read_request import read_request
from coterie_requests.request import Request
from coterie_requests.understanding.problems import NotUnderstood
from coterie_requests.understanding.vocabulary import Vocabulary
from coterie_world.scene import Room, SceneGraph

DATA = Path(__file__).parents[1] / "data" / "requests.yaml"
ASK_BACK = "ask back"
ROBOTS = ("rover", "walker", "drone")
ROOMS = (
    "kitchen", "living room", "dining room", "bathroom", "bedroom", "office", "hallway", "garage",
    "closet",
)  # fmt: skip


@cache
def vocabulary() -> Vocabulary:
    """Return the names of a house with one room of each kind."""
    scene = SceneGraph()
    for k, name in enumerate(ROOMS):
        scene.add_room(Room(f"r{k}", name, name, "", [(k, 0), (k + 1, 0), (k + 1, 1)]))
    return Vocabulary.of(scene, ROBOTS)


def sentences(tuned: bool) -> dict[str, list[str]]:
    """Return sentences and what they may mean: those the prompt was tuned with, or the others."""
    every = yaml.safe_load(DATA.read_text("utf-8"))
    return dict(list(every.items())[0 if tuned else 1 :: 2])


async def reading(words: str, meanings: Sequence[str], decider: Decider) -> Mapping[str, bool]:
    """Return how far words are read as they are meant.

    Returns:
        Whether the acts are right; all of it; it became another request than the one meant; it was
        asked back or refused.
    """
    names = vocabulary()
    meant = [None if one == ASK_BACK else read(one, names) for one in meanings]
    got: Request | None
    try:
        got = await read_request(words, names, decider)
    except NotUnderstood:
        got = None
    whole = any(_alike(got, one) for one in meant)
    return {
        "acts right": any(_acts(got) == _acts(one) for one in meant),
        "all right": whole,
        "another request": got is not None and not whole,
        "asked back": got is None,
    }


def _acts(request: Request | None) -> list[str]:
    return [step.act for step in request.steps] if request else []


def _alike(got: Request | None, meant: Request | None) -> bool:
    """Whether two requests say the same of the same things, in whatever words."""
    return (got and _plain(got.model_dump())) == (meant and _plain(meant.model_dump()))


def _plain(part: Any) -> Any:
    """Return parts of a request without what does not matter: wording, and articles."""
    if isinstance(part, list | tuple):
        return [_plain(one) for one in part]
    if not isinstance(part, dict):
        return part
    plain = {key: _plain(value) for key, value in part.items() if key not in _NEEDLESS}
    if part.get("name"):
        name = vocabulary().lookup(part["name"])
        plain["name"] = (name and (name.label or name.room or name.floor)) or part["name"]
    if plain.get("to") and plain["to"]["relation"] in ("in", "on"):
        plain["to"]["relation"] = "to"
    return plain


_NEEDLESS = ("said", "words", "definite", "asides")
