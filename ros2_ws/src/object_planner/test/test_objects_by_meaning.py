"""Requests for things that no table lists, by the embedders that run on this machine."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from coterie_core.geometry import Box
from coterie_fixtures.endpoint import Endpoint
from coterie_llm import Decider, RulesModel
from coterie_llm.embedders import (
    EmbedderError,
    EmbedderOptions,
    OpenAIEmbedder,
    Rows,
    TextEmbedder,
    load_embedder,
)
from coterie_world.meaning import Meanings
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject, from_json, to_json
from object_planner.workflows import Answer, Options, Roles, plan_objects

GUESSED = {"wordllama": ("candelabra", "candle"), "minilm": ("subwoofer", "speaker")}
"""What each embedder places: neither places all words."""


def home() -> SceneGraph:
    scene = SceneGraph()
    places = {
        "candle": (1.0, 1.0, 0.8),
        "table": (1.0, 1.0, 0.4),
        "speaker": (1.2, 1.0, 0.8),
        "shoes": (4.0, 0.0, 0.1),
        "sofa": (6.0, 0.0, 0.4),
    }
    for label, center in places.items():
        size = (1.2, 0.8, 0.75) if label == "table" else (0.1, 0.1, 0.1)
        box = Box(center, size)
        scene.add_object(SceneObject(label, LabelBelief.of(label), box, observations=9))
    return scene


def asked(words: str, meanings: Meanings | None) -> Answer:
    roles = Roles(Decider(RulesModel()))
    return asyncio.run(plan_objects(home(), words, roles, "grounded", Options(meanings=meanings)))


@pytest.fixture(scope="module", params=["wordllama", "minilm"])
def meanings(request: pytest.FixtureRequest) -> Meanings:
    embedder = load_embedder(EmbedderOptions(kind=request.param))
    assert embedder is not None
    return Meanings(embedder)


def test_rows_have_length_one(meanings: Meanings) -> None:
    rows = meanings.embedder.embed(["candle", "candlestick", "router"])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
    alone = meanings.embedder.embed(["candle"])
    assert np.allclose(alone[0], rows[0], atol=1e-4), "padding to longer texts changes nothing"


def test_a_word_no_table_lists_is_a_guess_that_says_so(meanings: Meanings) -> None:
    word, label = GUESSED[meanings.embedder.name]
    assert asked(f"find the {word}", None).plan.relevant_objects == []
    plan = asked(f"find the {word}", meanings).plan
    assert plan.relevant_objects == [label]
    assert plan.reason.startswith("perhaps: ")
    assert "%" in plan.reason


def test_the_rest_of_the_request_holds_for_the_guess(meanings: Meanings) -> None:
    word, label = GUESSED[meanings.embedder.name]
    assert asked(f"the {word} on the table", meanings).plan.relevant_objects == [label]
    assert asked(f"the {word} on the sofa", meanings).plan.relevant_objects == []


def test_what_is_near_nothing_is_no_guess(meanings: Meanings) -> None:
    plan = asked("find the distillery", meanings).plan
    assert plan.relevant_objects == []
    assert "distillery" in plan.reason


def test_what_is_no_word_is_no_guess(meanings: Meanings) -> None:
    plan = asked("find the asdfq", meanings).plan
    assert plan.relevant_objects == [] and "asdfq" in plan.reason


def test_what_the_tables_know_is_not_guessed(meanings: Meanings) -> None:
    plan = asked("something to sit on", meanings).plan
    assert plan.relevant_objects[0] == "sofa"
    assert "perhaps" not in plan.reason


def test_an_endpoint_that_is_down_or_says_nonsense_is_told() -> None:
    def options(url: str) -> EmbedderOptions:
        return EmbedderOptions(kind="openai", base_url=url, model="embed")

    with Endpoint(lambda request: "no embedding") as endpoint:
        odd = OpenAIEmbedder(options(endpoint.url), {})
        with pytest.raises(EmbedderError, match="embed at http"):
            odd.embed(["candle"])
        plan = asked("find the candelabra", Meanings(odd)).plan
    assert plan.relevant_objects == []
    assert "check base_url and model" in plan.reason


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="needs base_url and model"):
        EmbedderOptions(kind="openai")
    with pytest.raises(ValueError, match="has no model"):
        EmbedderOptions(kind="minilm", model="x")
    with pytest.raises(ValueError, match="keys stay out of files") as error:
        EmbedderOptions(kind="openai", model="x", base_url="http://me:secret-word@host/v1")
    assert "secret-word" not in str(error.value)


class Counting:
    """An embedder that notes what it is asked for."""

    def __init__(self, inner: TextEmbedder, name: str) -> None:
        self.inner, self.name = inner, name
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Rows:
        self.asked += texts
        return self.inner.embed(texts)


def test_a_map_that_keeps_its_labels_meaning_is_not_embedded_again(meanings: Meanings) -> None:
    name = meanings.embedder.name
    word, label = GUESSED[name]
    scene = home()
    meanings.keep(scene)
    scene = from_json(to_json(scene))
    counting = Counting(meanings.embedder, name)
    roles = Roles(Decider(RulesModel()))
    options = Options(meanings=Meanings(counting))
    answer = asyncio.run(plan_objects(scene, f"find the {word}", roles, "grounded", options))
    assert answer.plan.relevant_objects == [label]
    assert len(counting.asked) == 1 and word in counting.asked[0]


def test_what_another_model_kept_is_never_compared_with(meanings: Meanings) -> None:
    name = meanings.embedder.name
    word, label = GUESSED[name]
    scene, backwards = home(), {"candle": "sofa", "speaker": "shoes"}
    for thing in scene.objects.values():  # as a model of the same size that means other things
        made = meanings.embedding({backwards.get(thing.label.top, "table"): 1.0})
        assert made is not None
        thing.embeddings = (dataclasses.replace(made, model="another"),)
    counting = Counting(meanings.embedder, name)
    roles = Roles(Decider(RulesModel()))
    options = Options(meanings=Meanings(counting))
    answer = asyncio.run(plan_objects(scene, f"find the {word}", roles, "grounded", options))
    assert answer.plan.relevant_objects == [label]
    assert len(counting.asked) == 1 + len(scene.objects)
