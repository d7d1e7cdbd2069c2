"""`./coterie detect`: pictures from anywhere, a table, boxes on them, JSON."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from coterie_bringup.errors import CommandError
from coterie_cli.detect import DetectOptions, detect, drawn
from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_perception.pictures import Picture, pictures
from coterie_recordings import RecordedFrame, RecordingError
from coterie_recordings.mcap_writer import RecordingWriter

PIXELS = np.zeros((40, 60, 3), np.uint8)


@pytest.fixture
def network(tmp_path):
    """An .onnx file that sees a red thing in the middle of every image with red in it."""
    onnx = pytest.importorskip("onnx", reason="./coterie setup --with detector")
    pytest.importorskip("onnxruntime", reason="./coterie setup --with detector")
    from onnx import TensorProto, helper, numpy_helper

    constants = [
        numpy_helper.from_array(np.array([[[30], [30], [20], [20]]], np.float32), "box"),
        numpy_helper.from_array(np.array([0], np.int64), "red"),
        numpy_helper.from_array(np.array([1, 1, 1], np.int64), "shape"),
    ]
    nodes = [
        helper.make_node("Gather", ["images", "red"], ["channel"], axis=1),
        helper.make_node("ReduceMax", ["channel"], ["most"], keepdims=0),
        helper.make_node("Reshape", ["most", "shape"], ["score"]),
        helper.make_node("Concat", ["box", "score"], ["output0"], axis=1),
    ]
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, 60, 60])
    out = helper.make_tensor_value_info("output0", TensorProto.FLOAT, [1, 5, 1])
    graph = helper.make_graph(nodes, "red", [images], [out], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    entry = model.metadata_props.add()
    entry.key, entry.value = "names", "{0: 'red [thing]'}"
    onnx.save(model, tmp_path / "red.onnx")
    return str(tmp_path / "red.onnx")


def red(amount):
    pixels = PIXELS.copy()
    pixels[20, 30, 0] = amount
    return pixels


def test_a_folder_of_pictures_becomes_a_table_json_and_boxes(network, tmp_path, capsys):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name, amount in (("a", 255), ("b", 204), ("c", 0)):
        Image.fromarray(red(amount)).save(folder / f"{name}.png")
    Image.fromarray(np.zeros((4, 4), np.uint16)).save(folder / "a-depth.png")
    (folder / "notes.txt").write_text("no picture")
    again = tmp_path / "a.png"
    Image.fromarray(red(0)).save(again)
    out, file = tmp_path / "out", tmp_path / "found.json"
    options = DetectOptions(
        [str(folder), str(again)], "onnx", network, min_score=0.6, as_json=file, out=out
    )
    assert detect(options) == 0
    told = capsys.readouterr().out
    assert "red [thing]" in told and "pictures: 4, detections: 2" in told
    *first, last = json.loads(file.read_text())["pictures"]
    assert last["picture"] == "a.png" and not last["detections"]
    found = {p["picture"]: p["detections"] for p in first}
    assert found["c.png"] == [] and found["a.png"][0]["box"] == [20, 10, 20, 20]
    assert found["b.png"][0]["scores"] == pytest.approx({"red [thing]": 0.8})
    assert sorted(one.name for one in out.iterdir()) == ["a.jpg", "a_2.jpg", "b.jpg", "c.jpg"]
    with pytest.raises(CommandError, match="is one picture; give a folder"):
        detect(replace(options, out=tmp_path / "boxes.png"))


def test_one_picture_without_a_thing_is_exit_code_1(network, tmp_path, capsys):
    Image.fromarray(PIXELS).save(tmp_path / "dark.png")
    options = DetectOptions(
        [str(tmp_path / "dark.png")], "onnx", network, min_score=0.6, out=tmp_path / "boxes.png"
    )
    assert detect(options) == 1 and (tmp_path / "boxes.png").is_file()
    told = capsys.readouterr().out
    assert "Nothing has a score of 0.6 or more" in told and "pictures: 1, detections: 0" in told


def test_boxes_and_masks_are_drawn():
    mask = np.zeros((10, 10), bool)
    mask[5:] = True
    image = drawn(
        Picture("x", np.full((40, 60, 3), 100, np.uint8)),
        [ImageDetection((20, 20, 10, 10), {"ключ": 0.9}, mask)],
    )
    pixels = np.asarray(image)
    assert (pixels[20, 20:30] != 100).any() and (pixels[27, 25] != 100).any()
    assert (pixels[22, 25] == 100).all() and (pixels[36, 50] == 100).all()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"detector": "boxes"}, "--detector: 'boxes': expected one of box"),
        ({"detector": "onnx"}, "give the .onnx file"),
        ({"detector": "vlm"}, "name a model profile"),
    ],
)
def test_a_detector_that_cannot_be_used_is_told(tmp_path, more, why):
    Image.fromarray(PIXELS).save(tmp_path / "dark.png")
    with pytest.raises(CommandError, match=why):
        detect(DetectOptions([str(tmp_path / "dark.png")], **more))


def test_pictures_come_from_recordings_and_videos(tmp_path):
    path = tmp_path / "seen.mcap"
    with RecordingWriter(path) as writer:
        for k in range(4):
            depth = np.ones((40, 60), np.float32)
            frame = RgbdFrame(depth, (50, 50, 30, 20), np.eye(4), red(60 * k), float(k), "r")
            writer.add(RecordedFrame(f"{k:06d}", frame))
    seen = list(pictures([str(path)], every=2))
    assert len(seen) == 2 and seen[1].pixels[20, 30, 0] > seen[0].pixels[20, 30, 0]
    cv2 = pytest.importorskip("cv2", reason="./coterie setup --with detector")
    video = cv2.VideoWriter(
        str(tmp_path / "seen.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 10, (64, 48)
    )
    for blue in (0, 80, 160, 240):
        video.write(np.full((48, 64, 3), (blue, 0, 0), np.uint8))
    video.release()
    frames = list(pictures([str(tmp_path / "seen.avi")], every=3, most=2))
    assert [one.name for one in frames] == ["000000", "000003"]
    assert frames[1].pixels.shape == (48, 64, 3) and frames[1].pixels[5, 5].tolist()[2] > 200


@pytest.mark.parametrize("name", ["none.jpg", "text.png", "/dev/video77", "empty"])
def test_what_is_no_picture_is_told(tmp_path, name):
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordingError):
        list(pictures([str(tmp_path / name) if not name.startswith("/") else name]))
