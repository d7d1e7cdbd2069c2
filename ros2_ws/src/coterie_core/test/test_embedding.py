"""Embeddings in maps: small, checked, never mixed, kept by files and merges, told by likeness."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from coterie_core.embedding import MAX_EMBEDDINGS, UNNAMED, Embedding, averaged, cosine
from coterie_core.geometry import Box, Pose
from coterie_core.observation import Detection, Observation
from coterie_llm.embedders import EmbedderOptions, load_embedder
from coterie_world.likeness import Background, likeness
from coterie_world.meaning import Meanings
from coterie_world.scene import (
    LabelBelief,
    SceneError,
    SceneGraph,
    SceneObject,
    from_json,
    merge,
    to_json,
)
from coterie_world.team_memory import TeamMemory
from semantic_mapper.voxeland import from_voxeland, to_voxeland


def thing(id_: str, label: str, x: float = 0.0, *embeddings: Embedding) -> SceneObject:
    box = Box((x, 0.0, 0.5), (0.6, 0.4, 0.4))
    return SceneObject(id_, LabelBelief.of(label), box, observations=3, embeddings=embeddings)


def of(*things: SceneObject) -> SceneGraph:
    graph = SceneGraph()
    for one in things:
        graph.add_object(one)
    return graph


def random(model: str, dimension: int = 512, seed: int = 0) -> Embedding:
    return Embedding.of(model, np.random.default_rng(seed).normal(size=dimension))


@pytest.fixture(scope="module")
def meanings() -> Meanings:
    embedder = load_embedder(EmbedderOptions(kind="wordllama"))
    assert embedder is not None
    return Meanings(embedder)


def test_an_embedding_is_a_direction_and_comes_back_as_it_was() -> None:
    one = Embedding.of("clip", [3.0, 4.0])
    assert one.vector == pytest.approx([0.6, 0.8], abs=1e-3) and one.dimension == 2
    assert Embedding.of("clip", random("clip").vector) == random("clip")
    assert cosine(random("clip"), random("clip")) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [np.nan, 1.0], [np.inf], [1.0] * 9000])
def test_what_has_no_direction_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Embedding.of("clip", values)


def test_embeddings_of_two_networks_are_never_compared_or_averaged() -> None:
    clip, words = random("clip"), replace(random("clip"), source="label")
    for other in (random("siglip"), words, random("clip", 768)):
        with pytest.raises(ValueError, match="cannot be compared"):
            cosine(clip, other)
    assert averaged((clip,), 1, (random("siglip", seed=1), words), 9) == (
        clip, random("siglip", seed=1), words,
    )  # fmt: skip
    assert averaged((clip,), 3, (random("clip", 768),), 1) == (clip,)
    many = tuple(random(f"m{k}") for k in range(9))
    assert len(averaged(many[:2], 1, many[2:], 1)) == MAX_EMBEDDINGS


def test_a_mean_leans_to_what_was_seen_more_often() -> None:
    a, b = Embedding.of("m", [1.0, 0.0]), Embedding.of("m", [0.0, 1.0])
    (mean,) = averaged((a,), 3, (b,), 1)
    assert cosine(mean, a) > 0.9 > 0.5 > cosine(mean, b)


@pytest.mark.parametrize(
    ("write", "read"),
    [(to_json, from_json), (to_voxeland, from_voxeland)],
    ids=["ours", "voxeland"],
)
def test_files_keep_model_and_dimension_within_three_bytes_a_number(write, read) -> None:
    looks, words = random("clip"), replace(random("words", 256), source="label")
    graph = of(thing("a", "aquarium", 0.0, looks, words))
    text = write(graph)
    assert read(text).objects["a"].embeddings == (looks, words)
    assert len(text) - len(write(of(thing("a", "aquarium")))) < 3 * (512 + 256) + 300


def test_files_of_earlier_versions_hold_an_embedding_of_no_named_model() -> None:
    data = json.loads(to_json(of(thing("a", "aquarium"))))
    data["objects"]["a"]["embedding"] = [0.6, 0.8]
    (one,) = from_json(json.dumps(data)).objects["a"].embeddings
    assert one == Embedding.of(UNNAMED, [0.6, 0.8])
    data["objects"]["a"]["embedding"] = []
    assert from_json(json.dumps(data)).objects["a"].embeddings == ()


@pytest.mark.parametrize(
    ("embeddings", "error"),
    [
        ([replace(random("clip"), data="AAAA" * 8)], "data: expected 512 numbers, got"),
        ([replace(random("clip"), data="no base64!")], "data: expected float16 numbers"),
        ([replace(random("clip"), data=random("clip").data[:-4] + "AHz8")], "data: expected"),
        ([replace(random("clip"), model="")], "model: expected"),
        ([random("clip"), random("clip")], "each model once"),
        ([random(f"m{k}") for k in range(5)], "at most 4"),
    ],
)
def test_a_file_with_a_broken_embedding_is_refused(embeddings, error: str) -> None:
    with pytest.raises(SceneError, match=error) as found:
        from_json(to_json(of(thing("a", "mug", 0.0, *embeddings))), "map.json")
    assert "map.json: objects['a'].embeddings" in str(found.value)


def test_one_model_in_two_dimensions_is_refused() -> None:
    graph = of(thing("a", "mug", 0.0, random("clip")), thing("b", "mug", 9.0, random("clip", 768)))
    with pytest.raises(SceneError, match="two networks; give each a name of its own"):
        from_json(to_json(graph))


def test_two_networks_of_one_name_spoil_no_map(caplog: pytest.LogCaptureFixture) -> None:
    """A detector was exchanged, or two robots have other ones: who reads the map can still do so,
    the network of most objects stays, and the log says it once."""
    old = [thing(f"a{k}", "mug", 3.0 * k, random("clip-x", seed=k)) for k in range(3)]
    new = thing("b", "vase", 30.0, random("clip-x", 768), random("other", 64))
    merged, _ = merge(of(*old), of(new))
    again = from_json(to_json(merged)).objects
    assert [len(again[f"a{k}"].embeddings) for k in range(3)] == [1, 1, 1]
    assert [one.model for one in again["b"].embeddings] == ["other"]
    merge(of(*old), of(new))
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1 and "'clip-x' (image) have 512 and 768 numbers" in said[0]

    def seen(step: int, label: str, look: Embedding) -> Observation:
        box = Box((3.0 * step, 0.0, 0.5), (0.6, 0.4, 0.4))
        one = Detection(label, 0.8, box, scores={label: 0.8}, embeddings=(look,))
        return Observation("r1", step, float(step), Pose((0.0, 0.0, 0.0)), "", None, (one,))

    memory = TeamMemory()
    memory.observe(seen(1, "gizmo", random("clip-y")))
    memory.observe(seen(2, "vase", random("clip-y", 768)))
    kept = from_json(to_json(memory.scene())).objects.values()
    assert sorted(len(one.embeddings) for one in kept) == [0, 1]


def test_a_likeness_counts_from_what_different_things_have_in_common() -> None:
    base = np.ones(64)
    rng = np.random.default_rng(1)
    looks = [Embedding.of("net", base + 0.7 * rng.normal(size=64)) for _ in range(12)]
    alike = Embedding.of("net", looks[0].vector + 0.01 * rng.normal(size=64))
    background = Background()
    for k, one in enumerate(looks):
        for other in looks[:k]:
            background.note((one,), (other,))
    assert cosine(looks[0], looks[1]) > 0.5, "any two things look alike to this network"
    assert likeness((looks[0],), (looks[1],), background) < 0.3
    assert likeness((looks[0],), (alike,), background) > 0.9


MERGED = [("aquarium", "fish tank", 1), ("saxophone", "trumpet", 2), ("couch", "settee", 1)]
"""Two labels and how many things they are; only the last pair stands in the tables."""


@pytest.mark.parametrize(("one", "other", "count"), MERGED)
def test_maps_of_two_robots_with_other_words_for_one_thing(
    meanings: Meanings, one: str, other: str, count: int
) -> None:
    ours, theirs = of(thing("a", one)), of(thing("b", other, 0.3))
    for graph in (ours, theirs):
        meanings.keep(graph)
    merged, _ = merge(ours, theirs)
    assert len(merged.objects) == count
    for kept in merged.objects.values():
        assert [e.key for e in kept.embeddings] == [("wordllama", "label")]


def test_what_robots_see_under_two_words_is_one_object_if_it_looks_alike() -> None:
    def seen(step: int, label: str, look: Embedding) -> Observation:
        box = Box((2.0 + 0.3 * (step - 1), 0.0, 0.5), (0.6, 0.4, 0.4))
        one = Detection(label, 0.8, box, scores={label: 0.8}, embeddings=(look,))
        return Observation("r1", step, float(step), Pose((0.0, 0.0, 0.0)), "", None, (one,))

    for other, count in ((random("clip"), 1), (random("clip", seed=5), 2)):
        memory = TeamMemory()
        memory.observe(seen(1, "gizmo", random("clip")))
        memory.observe(seen(2, "contraption", other))
        assert len(memory.scene().objects) == count


def test_what_lies_on_a_thing_is_not_that_thing_however_near_the_words(meanings: Meanings) -> None:
    shelf = SceneObject("s", LabelBelief.of("shelf"), Box((0.0, 0.0, 0.6), (1.2, 0.4, 1.2)))
    books = SceneObject("b", LabelBelief.of("books"), Box((0.1, 0.0, 0.9), (0.2, 0.1, 0.2)))
    ours, theirs = of(shelf), of(books)
    for graph in (ours, theirs):
        meanings.keep(graph)
    (one,), (other,) = (next(iter(g.objects.values())).embeddings for g in (ours, theirs))
    assert likeness((one,), (other,), Background()) > 0.7, "the words are near"
    assert len(merge(ours, theirs)[0].objects) == 2


def test_an_object_means_its_likeliest_label_and_no_mean_of_many(meanings: Meanings) -> None:
    many = {"shelf": 3.0, "saxophone": 2.0, "toaster": 2.0, "carpet": 1.0}
    assert meanings.embedding(many) == meanings.embedding({"shelf": 1.0})


def test_without_embeddings_words_outside_the_tables_stay_two() -> None:
    assert len(merge(of(thing("a", "aquarium")), of(thing("b", "fish tank", 0.3)))[0].objects) == 2
