"""Exports of each family, made here with weights whose detections are known."""

import numpy as np
import pytest

from coterie_core.detector_options import DetectorOptions
from coterie_perception.detector import DetectorError, make_detector

onnx = pytest.importorskip("onnx", reason="./coterie setup --with detector")
pytest.importorskip("onnxruntime", reason="./coterie setup --with detector")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

pytestmark = pytest.mark.quick

IMAGE = np.full((60, 120, 3), 128, np.uint8)
"""Wide: what keeps its shape gets gray above and below."""


def export(path, outputs, names=None, side=64, more=(), layout="first"):
    """Write a network whose outputs do not depend on its image but for its mean times zero."""
    shape = [1, 3, side, side] if layout == "first" else [1, side, side, 3]
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, shape)
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
    ]
    constants = [numpy_helper.from_array(np.float32(0), "zero")]
    results = []
    for name, value in outputs.items():
        value = np.asarray(value)
        kind = TensorProto.INT64 if value.dtype == np.int64 else TensorProto.FLOAT
        constants.append(numpy_helper.from_array(value, f"{name}_value"))
        if kind == TensorProto.INT64:
            nodes.append(helper.make_node("Identity", [f"{name}_value"], [name]))
        else:
            nodes.append(helper.make_node("Add", [f"{name}_value", "nothing"], [name]))
        results.append(helper.make_tensor_value_info(name, kind, list(value.shape)))
    graph = helper.make_graph(nodes, "made", [images, *more], results, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    if names is not None:
        entry = model.metadata_props.add()
        entry.key, entry.value = "names", repr(dict(enumerate(names)))
    onnx.save(model, path)
    return str(path)


def detected(file, labels="", **options):
    given = DetectorOptions(file=file, labels=str(labels), **options)
    return make_detector("onnx", given).detect(IMAGE)


def wide(rows, count=40):
    """Fill up with candidates that are nothing, as exports have thousands of."""
    rows = np.asarray(rows, np.float32)
    return np.vstack([rows, np.zeros((count - len(rows), rows.shape[1]), np.float32)])


# In the network's 64 x 64 the image takes rows 16 to 48: scale 64 / 120.
CUP = (32.0, 32.0, 16.0, 8.0)
IN_IMAGE = (45, 22, 30, 16)
"""The same box (column, row, width, height) in the image, outwards to whole pixels."""


def near(box, other=IN_IMAGE, by=1):
    return all(abs(a - b) <= by for a, b in zip(box, other, strict=True))


def test_yolo_8_with_names_in_the_file(tmp_path):
    raw = wide([[*CUP, 0.1, 0.9]]).T[None]
    (one,) = detected(export(tmp_path / "v8.onnx", {"output0": raw}, ["bowl", "cup"]))
    assert one.label == "cup" and near(one.box)
    assert one.scores == pytest.approx({"cup": 0.9, "bowl": 0.1})


def test_yolo_5_with_objectness_and_a_file_of_labels(tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_text("bowl\ncup\n")
    raw = wide([[*CUP, 0.5, 0.1, 0.9]])[None]
    (one,) = detected(export(tmp_path / "v5.onnx", {"output": raw}), labels)
    assert one.label == "cup" and near(one.box) and one.scores["cup"] == pytest.approx(0.45)


def test_yolo_with_masks(tmp_path):
    """The first prototype is the left half of the image, the second the lower one."""
    prototypes = np.full((1, 32, 16, 16), -1.0, np.float32)
    prototypes[0, 0, :, :8] = 1.0
    coefficients = np.zeros(32, np.float32)
    coefficients[0] = 1.0
    raw = wide([[*CUP, 0.9, 0.0, *coefficients]], 60).T[None]
    made = {"output0": raw, "output1": prototypes}
    (one,) = detected(export(tmp_path / "seg.onnx", made, ["cup", "bowl"]))
    assert one.mask is not None and one.mask.shape == (one.box[3], one.box[2])
    left, right = one.mask[:, :13], one.mask[:, -13:]
    assert left.all() and not right.any()


def test_yolo_10_with_its_own_selection(tmp_path):
    raw = wide([[24, 28, 40, 36, 0.8, 1.0], [0, 0, 9, 9, 0.9, 7.0]])[None]
    (one,) = detected(export(tmp_path / "v10.onnx", {"output0": raw}, ["bowl", "cup", "pan"]))
    assert one.label == "cup" and near(one.box)  # of the other the class is not known


def test_detr_of_transformers(tmp_path):
    """Boxes in fractions of the image, which is stretched; the last class is no thing."""
    logits = np.array([[[0.0, 5.0, 0.0], [0.0, 0.0, 9.0]]], np.float32)
    boxes = np.array([[[0.5, 0.5, 0.25, 0.5], [0.5, 0.5, 0.9, 0.9]]], np.float32)
    mask = helper.make_tensor_value_info("pixel_mask", TensorProto.INT64, [1, 64, 64])
    file = export(
        tmp_path / "detr.onnx",
        {"logits": logits, "pred_boxes": boxes},
        ["bowl", "cup"],
        more=[mask],
    )
    (one,) = detected(file)
    assert one.label == "cup" and near(one.box, (45, 15, 30, 30))


def test_rt_detr_of_transformers_and_its_own_export(tmp_path):
    logits = np.array([[[-9.0, 2.0], [-9.0, -9.0]]], np.float32)
    boxes = np.array([[[0.5, 0.5, 0.25, 0.5], [0.5, 0.5, 0.9, 0.9]]], np.float32)
    file = export(tmp_path / "rt.onnx", {"logits": logits, "pred_boxes": boxes}, ["bowl", "cup"])
    (one,) = detected(file)
    assert one.scores["cup"] == pytest.approx(0.881, abs=1e-3) and near(one.box, (45, 15, 30, 30))
    size = helper.make_tensor_value_info("orig_target_sizes", TensorProto.INT64, [1, 2])
    made = {
        "labels": np.array([[1, 0]], np.int64),
        "boxes": np.array([[[45, 15, 75, 45], [0, 0, 5, 5]]], np.float32),
        "scores": np.array([[0.7, 0.1]], np.float32),
    }
    (one,) = detected(export(tmp_path / "own.onnx", made, ["bowl", "cup"], more=[size]))
    assert one.label == "cup" and one.box == (45, 15, 30, 30)


def test_images_with_channels_last(tmp_path):
    raw = wide([[*CUP, 0.1, 0.9]]).T[None]
    file = export(tmp_path / "last.onnx", {"output0": raw}, ["bowl", "cup"], layout="last")
    assert near(detected(file)[0].box)


def test_what_the_image_shows_reaches_the_network(tmp_path):
    """A network whose score is the image's red, between 0 and 1."""
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, 64, 64])
    constants = [
        numpy_helper.from_array(np.array([[[32], [32], [64], [32]]], np.float32), "box"),
        numpy_helper.from_array(np.array([0], np.int64), "red"),
        numpy_helper.from_array(np.array([1, 1, 1], np.int64), "shape"),
    ]
    nodes = [
        helper.make_node("Gather", ["images", "red"], ["channel"], axis=1),
        helper.make_node("ReduceMax", ["channel"], ["most"], keepdims=0),
        helper.make_node("Reshape", ["most", "shape"], ["score"]),
        helper.make_node("Concat", ["box", "score"], ["output0"], axis=1),
    ]
    out = helper.make_tensor_value_info("output0", TensorProto.FLOAT, [1, 5, 1])
    graph = helper.make_graph(nodes, "red", [images], [out], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    entry = model.metadata_props.add()
    entry.key, entry.value = "names", "{0: 'red thing'}"
    onnx.save(model, tmp_path / "red.onnx")
    detector = make_detector(
        "onnx", DetectorOptions(file=str(tmp_path / "red.onnx"), min_score=0.7)
    )
    image = np.zeros((60, 120, 3), np.uint8)
    image[..., 1:] = 255
    assert detector.detect(image) == []  # gray around it is 114 / 255
    image[..., 0] = 204
    (one,) = detector.detect(image)
    assert one.scores["red thing"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("names", "why"),
    [(None, "names no labels"), (["one"] * 5, "outputs of no family that is known")],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, names, why):
    raw = wide([[*CUP, 0.1, 0.9]]).T[None]
    with pytest.raises(DetectorError, match=why):
        detected(export(tmp_path / "net.onnx", {"output0": raw}, names))


def test_what_is_no_network_is_refused(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"no network")
    with pytest.raises(DetectorError, match="onnxruntime cannot load"):
        detected(str(tmp_path / "bad.onnx"))
    with pytest.raises(DetectorError, match="is no file"):
        detected(str(tmp_path / "none.onnx"))


def test_a_name_in_the_file_is_data(tmp_path):
    """What stands in the metadata is read as a literal, and never run."""
    raw = wide([[*CUP, 0.1, 0.9]]).T[None]
    file = export(tmp_path / "net.onnx", {"output0": raw}, ["a", "b"])
    model = onnx.load(file)
    model.metadata_props[0].value = f"__import__('pathlib').Path({str(tmp_path / 'ran')!r}).touch()"
    onnx.save(model, file)
    with pytest.raises(DetectorError, match="names no labels"):
        detected(file)
    assert not (tmp_path / "ran").exists()
