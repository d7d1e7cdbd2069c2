"""Open-vocabulary detectors: one object under several words, and looks that tell objects apart."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from coterie_core.embedding import UNNAMED, Embedding
from coterie_fixtures.drawn_scenes import SIDES, view
from coterie_llm.embedders import EmbedderError, EmbedderOptions, load_embedder
from coterie_world.meaning import Meanings
from coterie_world.scene import LabelBelief
from semantic_mapper.association import Association
from semantic_mapper.files import load_map, save_map
from semantic_mapper.instances import Instance
from semantic_mapper.mapper import SemanticMapper
from semantic_mapper.options import MapperOptions
from semantic_mapper.state import load_state, restore, save_state

TANK = ((2.2, -0.5, 0.0), (2.5, 0.5, 0.45))
NEIGHBOR = ((2.2, 0.45, 0.0), (2.5, 1.4, 0.45))


@pytest.fixture(scope="module")
def meanings() -> Meanings:
    embedder = load_embedder(EmbedderOptions(kind="wordllama"))
    assert embedder is not None
    return Meanings(embedder)


def mapped(names: list[str], meanings: Meanings | None) -> SemanticMapper:
    """A box seen from three sides, under another name from each."""
    mapper = SemanticMapper(MapperOptions(publish=1), meanings=meanings)
    for k, (name, pose) in enumerate(zip(names, SIDES, strict=True)):
        frame, found = view({name: TANK}, pose, time=float(k))
        renamed = [dataclasses.replace(one, scores={name: 0.9}) for one in found]
        mapper.update(frame, renamed)
    mapper.tidy()
    return mapper


def count(mapper: SemanticMapper) -> int:
    return len(mapper.scene().objects)


def test_words_for_one_thing_that_no_table_lists_are_one_object(meanings: Meanings) -> None:
    names = ["aquarium", "fish tank", "terrarium"]
    assert count(mapped(names, None)) > 1
    mapper = mapped(names, meanings)
    assert count(mapper) == 1
    (thing,) = mapper.scene().objects.values()
    assert set(thing.label.weights) == set(names)
    assert [e.key for e in thing.embeddings] == [("wordllama", "label")]


def test_words_of_the_tables_need_no_embedder() -> None:
    assert count(mapped(["couch", "settee", "sofa"], None)) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("aquarium", "fish tank", True),
        ("saxophone", "trumpet", False),
        ("canoe", "telescope", False),
    ],
)
def test_half_overlap_is_one_object_if_the_words_mean_one(
    meanings: Meanings, one: str, other: str, same: bool
) -> None:
    def instance(id_: str, label: str, shift: float) -> Instance:
        points = np.random.default_rng(0).uniform((0, 0, 0), (0.6, 0.4, 0.4), (400, 3))
        points[:, 0] += shift
        low, high = points.min(axis=0), points.max(axis=0)
        found = Instance(id_, points.astype(np.float32), low, high, LabelBelief.of(label))
        found.observations = 3
        return found

    pair = (instance("a", one, 0.0), instance("b", other, 0.3))
    assert Association(MapperOptions(), meanings).one(*pair) == same
    assert not Association(MapperOptions()).one(*pair)


class Silent:
    """An embedder whose endpoint is down."""

    name = "silent"
    asked = 0

    def embed(self, texts):
        self.asked += 1
        raise EmbedderError("silent at http://127.0.0.1:9: no answer")


def test_an_embedder_that_is_down_is_asked_once_and_mapping_goes_on(caplog) -> None:
    silent = Silent()
    assert count(mapped(["mug", "mug", "mug"], Meanings(silent))) == 1
    assert silent.asked == 1
    assert "compared without their meaning" in caplog.text


def test_looks_of_a_network_to_which_all_things_look_alike_do_not_join_neighbors() -> None:
    rng = np.random.default_rng(0)
    common = np.ones(64)  # what this network says of any picture: cosines of about 0.7
    looks = {name: common + 0.65 * rng.normal(size=64) for name in ("crate", "heater")}
    mapper = SemanticMapper(MapperOptions(publish=1))
    for k, pose in enumerate([*SIDES, *SIDES]):
        frame, found = view({"crate": TANK, "heater": NEIGHBOR}, pose, time=float(k))
        mapper.update(
            frame,
            [
                dataclasses.replace(
                    one,
                    scores={one.label: 0.9},
                    embedding=Embedding.of("net", looks[one.label] + 0.05 * rng.normal(size=64)),
                )
                for one in found
            ],
        )
    mapper.tidy()
    assert sorted(t.label.top for t in mapper.scene().objects.values()) == ["crate", "heater"]


def test_the_feature_of_another_programs_scene_graph_is_kept_and_ours_is_where_it_looks(
    tmp_path,
) -> None:
    dsg = pytest.importorskip("spark_dsg")
    graph = dsg.DynamicSceneGraph()
    attributes = dsg.ObjectNodeAttributes()
    attributes.name, attributes.semantic_feature = "crate", np.arange(1.0, 9.0).reshape(-1, 1)
    graph.add_node(dsg.DsgLayers.OBJECTS, dsg.NodeSymbol("O", 0), attributes)
    graph.save(str(tmp_path / "hydra.json"), False)
    scene = load_map(tmp_path / "hydra.json")
    (thing,) = scene.objects.values()
    look = Embedding.of(UNNAMED, np.arange(1.0, 9.0))
    assert thing.embeddings == (look,)
    save_map(scene, tmp_path / "ours.dsg.json", "spark-dsg")
    again = dsg.DynamicSceneGraph.load(str(tmp_path / "ours.dsg.json"))  # its nodes live in it
    (node,) = again.get_layer(dsg.DsgLayers.OBJECTS).nodes
    assert node.attributes.semantic_feature.reshape(-1) == pytest.approx(look.vector, abs=1e-6)


def test_a_restart_keeps_looks_and_their_network(tmp_path, meanings: Meanings) -> None:
    from semantic_mapper.grid import FloorGrids, GridOptions

    mapper = SemanticMapper(MapperOptions(publish=1))
    frame, found = view({"crate": TANK}, SIDES[0])
    look = Embedding.of("clip", np.arange(1.0, 65.0))
    mapper.update(frame, [dataclasses.replace(one, embedding=look) for one in found])
    save_state(mapper, FloorGrids((), GridOptions()), "map", tmp_path / "state.npz")
    again = SemanticMapper(MapperOptions(publish=1))
    restore(again, load_state(tmp_path / "state.npz"))
    assert [thing.embeddings for thing in again.instances] == [(look,)]
