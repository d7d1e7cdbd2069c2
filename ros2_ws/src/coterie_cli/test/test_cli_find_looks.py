"""Finding objects by looks: embeddings from the detector to map, files, merges and `find`."""

import json
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from coterie_bringup.errors import CommandError
from coterie_cli.find_in_file import find_alike
from coterie_core.colors import COLOR_NAMES, color_names
from coterie_core.embedding import Embedding
from coterie_fixtures.drawn_scenes import SIDES, view
from coterie_fixtures.endpoint import Endpoint
from coterie_world.scene import merge
from object_planner.embedding import EmbeddingError, most_alike
from semantic_mapper.files import load_map, save_map
from semantic_mapper.mapper import SemanticMapper
from semantic_mapper.options import MapperOptions

PAINT = {"vase": (200, 30, 30), "jug": (40, 60, 190)}
BOXES = {
    "vase": ((2.2, -0.5, 0.75), (2.4, -0.3, 1.1)),
    "jug": ((2.2, 0.3, 0.75), (2.4, 0.5, 1.1)),
}


class ColorEmbedder:
    """A joint embedding of words and pictures that knows colors and nothing else."""

    model = "colors"

    def embed_text(self, words):
        return np.array([float(name in words.split()) for name in COLOR_NAMES])

    def embed_image(self, image):
        names = color_names(image.reshape(-1, 3)[::7].astype(np.float64))
        return np.array([names.count(name) / len(names) for name in COLOR_NAMES])


@pytest.fixture(scope="module")
def scene():
    mapper, embedder = SemanticMapper(MapperOptions()), ColorEmbedder()
    for k, pose in enumerate(SIDES):
        frame, found = view(BOXES, pose, time=float(k))
        color, looks = np.full_like(frame.color, 240), []
        for one in found:
            u, v, width, height = one.box
            part = color[v : v + height, u : u + width]
            part[one.mask] = PAINT[one.label]
            embedding = Embedding.of(embedder.model, embedder.embed_image(part[one.mask][None]))
            looks.append(replace(one, embedding=embedding))
        mapper.update(replace(frame, color=color), looks)
    return mapper.scene()


def labels(scene, found):
    return [scene.objects[id_].label.top for id_, _ in found]


def test_words_and_pictures_find_what_looks_like_them(scene):
    embedder = ColorEmbedder()
    assert labels(scene, most_alike(scene, embedder.embed_text("something red"))) == ["vase", "jug"]
    blue = np.full((8, 8, 3), PAINT["jug"], np.uint8)
    (first, worth), _ = most_alike(scene, embedder.embed_image(blue))
    assert scene.objects[first].label.top == "jug" and worth > 0.95


@pytest.mark.parametrize("name", ["map.json", "map.voxeland.json", "map.dsg.json"])
def test_files_keep_embeddings(scene, tmp_path, name):
    form = {"map.json": "scene", "map.voxeland.json": "voxeland"}.get(name, "spark-dsg")
    if form == "spark-dsg":
        pytest.importorskip("spark_dsg")
    save_map(scene, tmp_path / name, form)
    again = load_map(tmp_path / name)
    for id_, thing in scene.objects.items():
        assert again.objects[id_].embeddings == thing.embeddings != ()


def test_a_merge_keeps_both_looks(scene):
    merged, report = merge(scene, scene)
    assert len(report.matched) == 2
    for id_, thing in merged.objects.items():
        (mean,), (before,) = thing.embeddings, scene.objects[id_].embeddings
        assert mean.model == "colors" and mean.vector == pytest.approx(before.vector, abs=1e-3)
    bare, _ = merge(scene, scene)
    for thing in bare.objects.values():
        thing.embeddings = ()
    assert all(thing.embeddings for thing in merge(bare, scene)[0].objects.values())


def test_the_command(scene, tmp_path, capsys, monkeypatch):
    module = types.ModuleType("my_looks")
    module.make = ColorEmbedder
    module.wrong = dict
    monkeypatch.setitem(sys.modules, "my_looks", module)
    path = tmp_path / "map.json"
    save_map(scene, path)
    picture = tmp_path / "red.png"
    Image.new("RGB", (20, 20), PAINT["vase"]).save(picture)
    how = {"file": path, "embedder": "my_looks:make", "limit": 5, "as_json": True}
    for image, words, label in ((None, "blue", "jug"), (picture, "like this", "vase")):
        assert find_alike(words, image=image, **how) == 0
        first = json.loads(capsys.readouterr().out)["objects"][0]
        assert scene.objects[first["id"]].label.top == label
    with pytest.raises(CommandError, match="embed_text"):
        find_alike("blue", image=None, **{**how, "embedder": "my_looks:wrong"})
    with pytest.raises(CommandError, match="no picture"):
        find_alike("blue", image=path, **how)
    with pytest.raises(CommandError, match="direction"):
        find_alike("nothing", image=None, **how)


def test_words_are_embedded_by_an_endpoint_in_the_detectors_space(scene, tmp_path, capsys):
    """The text half of the network is served; the map holds what its image half gave."""
    path, picture = tmp_path / "map.json", tmp_path / "red.png"
    save_map(scene, path)
    Image.new("RGB", (20, 20), PAINT["vase"]).save(picture)

    def serve(body):
        return [list(ColorEmbedder().embed_text(words)) for words in body["input"]]

    how = {"file": path, "image": None, "limit": 5, "as_json": True}
    with Endpoint(serve) as endpoint:
        for words, label in (("something red", "vase"), ("a blue one", "jug")):
            assert find_alike(words, embedder=f"{endpoint.url}#colors", **how) == 0
            first = json.loads(capsys.readouterr().out)["objects"][0]
            assert scene.objects[first["id"]].label.top == label
        with pytest.raises(CommandError, match="the map's embeddings are of colors"):
            find_alike("red", embedder=f"{endpoint.url}#siglip", **how)
        with pytest.raises(CommandError, match="name the network after the URL"):
            find_alike("red", embedder=endpoint.url, **how)
        with pytest.raises(CommandError, match="embeds words only"):
            find_alike("this", embedder=f"{endpoint.url}#colors", **{**how, "image": picture})
    with pytest.raises(CommandError, match="colors at http"):
        find_alike("red", embedder=f"{endpoint.url}#colors", **how)


def test_a_detector_that_is_exchanged_spoils_no_map(scene, tmp_path):
    """Its new embeddings have another length, and the old name."""
    mapper, files = SemanticMapper(MapperOptions()), tmp_path / "map.json"
    for k, pose in enumerate(SIDES):
        frame, found = view(BOXES, pose, time=float(k))
        sizes = {"vase": 16, "jug": 24}
        looks = [replace(f, embedding=Embedding.of("net", [1.0] * sizes[f.label])) for f in found]
        mapper.update(frame, looks)
    save_map(mapper.scene(), files)
    kept = [one.dimension for t in load_map(files).objects.values() for one in t.embeddings]
    assert kept == [16]


def test_embeddings_of_another_network_are_told(scene):
    for query, model in (([1.0, 0.0], ""), ([1.0, 0.0], "colors"), ([1.0] * 11, "clip")):
        with pytest.raises(EmbeddingError, match="the network that the detector used"):
            most_alike(scene, query, model)
