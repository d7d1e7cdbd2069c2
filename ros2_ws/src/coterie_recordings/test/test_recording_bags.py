"""Recordings of ROS 2 without ROS: MCAP and rosbag2's SQLite, whole, cut off and damaged."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zstandard
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_core.embedding import Embedding
from coterie_fixtures.packed_images import encode_color, encode_depth
from coterie_recordings import RecordedFrame, RecordingError, open_recording
from coterie_recordings.bag import BagRecording, BagTopics
from coterie_recordings.bag_images import detections_of
from coterie_recordings.mcap_log import McapLog
from coterie_recordings.mcap_writer import RecordingWriter
from coterie_recordings.ros_types import (
    BOXES_2D,
    BOXES_3D,
    CAMERA_INFO,
    COMPRESSED,
    DETECTIONS,
    EARLIER,
    IMAGE,
    TF,
    decode,
    definition,
    encode,
)
from coterie_world.scene import Room, SceneGraph

ROWS, COLS = 48, 64
LOOK = Embedding.of("clip", [0.6, 0.8])
AHEAD = np.array([[0, 0, 1, 1.0], [-1, 0, 0, 2.0], [0, -1, 0, 1.2], [0, 0, 0, 1.0]])


def frame(k):
    rng = np.random.default_rng(k)
    depth = rng.uniform(0.3, 6.0, (ROWS, COLS)).astype(np.float32)
    color = rng.integers(0, 256, (ROWS, COLS, 3), dtype=np.uint8)
    pose = AHEAD.copy()
    pose[0, 3] = k
    found = (
        ImageDetection(
            (2, 3, 5, 4), {"mug": 0.75}, rng.random((4, 5)) > 0.5, LOOK, {"color": "red"}
        ),
        ImageDetection((-2, 40, 6, 20), {"bowl": 0.5}, np.ones((20, 6), dtype=bool)),
    )
    rgbd = RgbdFrame(depth, (50.0, 51.0, 32.0, 24.0), pose, color, 10.0 + k / 2, "scout")
    return RecordedFrame(f"f{k}", rgbd, found)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("bag") / "tour.mcap"
    rooms = SceneGraph()
    rooms.add_room(Room("room_1", "kitchen", "kitchen"))
    with RecordingWriter(path, scene=rooms) as writer:
        for k in range(60):
            writer.add(frame(k))
    return path


def test_what_is_written_is_read(whole):
    recording = open_recording(whole)
    assert (len(recording), recording.problems, recording.name) == (60, (), "tour")
    assert set(recording.scene.rooms) == {"room_1"}
    for k in (0, 31, 59, 3):
        got, put = recording[k], frame(k)
        np.testing.assert_array_equal(got.frame.depth, put.frame.depth)
        np.testing.assert_array_equal(got.frame.color, put.frame.color)
        np.testing.assert_allclose(got.frame.camera_to_map, put.frame.camera_to_map, atol=1e-9)
        assert got.frame.intrinsics == put.frame.intrinsics
        assert (got.frame.time, got.frame.robot) == (put.frame.time, "scout")
        mug, bowl = got.detections
        np.testing.assert_array_equal(mug.mask, put.detections[0].mask)
        assert (mug.label, mug.attributes) == ("mug", {"color": "red"})
        assert mug.embedding == LOOK
        # What reached beyond the image was cut off: no message can hold it.
        assert bowl.box == (0, 40, 4, 8) and bowl.mask.all()
    assert recording[-1].frame.time == 10.0 + 59 / 2
    with pytest.raises(IndexError):
        recording[60]


def test_others_read_what_is_written(whole):
    with AnyReader([whole]) as reader:
        known = {c.topic: c for c in reader.connections}
        assert {"/tf", "/scout/head/depth/image_raw", "/scout/head/color/camera_info"} <= set(known)
        chosen = known["/scout/head/color/image_raw"]
        _, nanos, data = next(reader.messages([chosen]))
        first = reader.deserialize(data, chosen.msgtype)
    assert (first.encoding, first.width, first.header.stamp.sec) == ("rgb8", COLS, 10)
    assert nanos == 10 * 10**9


def test_no_detector_is_not_the_same_as_nothing_found(tmp_path):
    with RecordingWriter(tmp_path / "r.mcap") as writer:
        writer.add(replace(frame(0), detections=None))
        writer.add(replace(frame(1), detections=()))
        with pytest.raises(RecordingError, match="not later than the last"):
            writer.add(frame(1))
    recording = open_recording(tmp_path / "r.mcap")
    assert recording[0].detections is None and recording[1].detections == ()
    with pytest.raises(RecordingError, match="already"):
        RecordingWriter(tmp_path / "r.mcap")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_cut_off_in_the_middle(whole, tmp_path, share):
    data = whole.read_bytes()
    path = tmp_path / "cut.mcap"
    path.write_bytes(data[: int(len(data) * share)])
    recording = open_recording(path)
    assert 0.5 * share * 60 < len(recording) < 60 and "cut off" in recording.problems[0]
    assert all(r.frame.time == 10.0 + k / 2 for k, r in enumerate(recording))


def test_a_damaged_chunk_costs_its_frames_only(whole, tmp_path):
    data = bytearray(whole.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 2000] = bytes(2000)
    path = tmp_path / "bad.mcap"
    path.write_bytes(data)
    recording = open_recording(path)
    assert 40 < len(recording) < 60 and "damaged" in recording.problems[0]
    assert len([r.frame.depth for r in recording]) == len(recording)


def test_what_is_no_bag(tmp_path):
    path = tmp_path / "x.mcap"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(RecordingError, match="no MCAP file"):
        open_recording(path)
    (tmp_path / "x.db3").write_bytes(b"neither")
    with pytest.raises(RecordingError, match="no rosbag2 file"):
        open_recording(tmp_path / "x.db3")
    folder = tmp_path / "bag"
    folder.mkdir()
    (folder / "metadata.yaml").write_text("rosbag2_bagfile_information: {compression_mode: FILE}")
    with pytest.raises(RecordingError, match="ros2 bag convert"):
        open_recording(folder)


def test_folder_of_several_files(tmp_path):
    folder = tmp_path / "bag"
    for number, frames in ((0, range(3)), (1, range(3, 5))):
        with RecordingWriter(folder / f"bag_{number}.mcap") as writer:
            for k in frames:
                writer.add(frame(k))
    (folder / "metadata.yaml").write_text(
        "rosbag2_bagfile_information:\n"
        "  relative_file_paths: [bag_0.mcap, bag_1.mcap, ../other.mcap, missing.mcap]\n"
    )
    recording = open_recording(folder)
    assert [r.frame.time for r in recording] == [10.0, 10.5, 11.0, 11.5, 12.0]
    (folder / "metadata.yaml").write_text("cut off: [")
    assert len(open_recording(folder)) == 5


# -- what other robots record -------------------------------------------------------------------


def head(time, frame="camera"):
    nanos = round(time * 1e9)
    return {"stamp": {"sec": nanos // 10**9, "nanosec": nanos % 10**9}, "frame_id": frame}


def image(encoding, pixels, time, frame="camera", pad=0):
    rows = pixels.shape[0]
    row = pixels.reshape(rows, -1).view(np.uint8)
    padded = np.concatenate([row, np.zeros((rows, pad), np.uint8)], axis=1)
    return {
        "header": head(time, frame), "height": rows, "width": pixels.shape[1],
        "encoding": encoding, "is_bigendian": int(pixels.dtype.byteorder == ">"),
        "step": padded.shape[1], "data": padded.tobytes(),
    }  # fmt: skip


def transform(parent, child, spot, time):
    turn = {"x": -0.5, "y": 0.5, "z": -0.5, "w": 0.5} if child == "camera" else {"w": 1.0}
    x, y, z = spot
    return {
        "header": head(time, parent), "child_frame_id": child,
        "transform": {
            "translation": {"x": x, "y": y, "z": z},
            "rotation": {"x": 0.0, "y": 0.0, "z": 0.0} | turn,
        },
    }  # fmt: skip


def info(time, size=(ROWS, COLS), f=50.0, frame="camera"):
    cx, cy = (size[1] - 1) / 2, (size[0] - 1) / 2
    k = [f, 0.0, cx, 0.0, f, cy, 0.0, 0.0, 1.0]
    return {
        "header": head(time, frame), "height": size[0], "width": size[1],
        "distortion_model": "", "d": [], "k": k, "r": [0.0] * 9, "p": [0.0] * 12,
    }  # fmt: skip


def write(path, messages):
    log = McapLog(path)
    for n, (topic, kind, message) in enumerate(messages):
        log.add(topic, kind, encode(kind, message), n)
    log.close()
    return path


def moving(times):
    yield "/tf_static", TF, {"transforms": [transform("base", "camera", (0, 0, 1.0), 0.0)]}
    for t in times:
        yield "/tf", TF, {"transforms": [transform("odom", "base", (t, 0, 0), t)]}
        yield "/tf", TF, {"transforms": [transform("map", "odom", (0, 5.0, 0), t)]}


def test_a_robot_of_others(tmp_path):
    """16-bit depth with padding, bgr8 of another size, tf in three parts, drifting stamps."""
    depth = (np.full((ROWS, COLS), 2500) + np.arange(COLS)).astype(np.uint16)
    color = np.zeros((2 * ROWS, 2 * COLS, 3), dtype=np.uint8)
    color[:, COLS:] = (10, 20, 200)  # blue, green, red
    messages = [
        *moving([1.0, 2.0, 3.0]),
        ("/camera/depth/image_rect_raw", IMAGE, image("16UC1", depth, 1.5, pad=6)),
        ("/camera/depth/camera_info", CAMERA_INFO, info(1.5)),
        ("/camera/color/image_raw", IMAGE, image("bgr8", color, 1.52)),
        ("/camera/color/camera_info", CAMERA_INFO, info(1.5, (2 * ROWS, 2 * COLS), 100.0)),
        ("/camera/labels", IMAGE, image("32SC1", depth.astype(np.int32), 1.5)),
        ("/camera/depth/image_rect_raw", IMAGE, image("16UC1", depth.astype(">u2"), 2.0)),
        ("/camera/depth/image_rect_raw", IMAGE, image("16UC1", depth, 9.0)),
    ]
    recording = open_recording(write(tmp_path / "r.mcap", messages))
    assert len(recording) == 2 and any("1 of 3 frames left out" in p for p in recording.problems)
    first, second = recording
    np.testing.assert_allclose(first.frame.depth, depth * 0.001, rtol=1e-6)
    np.testing.assert_array_equal(first.frame.depth, second.frame.depth)
    assert first.frame.intrinsics == (50.0, 50.0, COLS / 2, ROWS / 2)
    np.testing.assert_allclose(first.frame.camera_to_map[:3, 3], (1.5, 5.0, 1.0))
    np.testing.assert_allclose(first.frame.camera_to_map[:3, 2], (1, 0, 0), atol=1e-9)
    assert (first.frame.color[:, COLS // 2 :] == (200, 20, 10)).all()
    assert not first.frame.color[:, : COLS // 2].any()
    assert second.frame.color is None and first.detections is None


def test_compressed_images(tmp_path):
    depth = np.random.default_rng(0).uniform(0.5, 5.0, (ROWS, COLS)).astype(np.float32)
    color = np.full((ROWS, COLS, 3), (200, 30, 40), dtype=np.uint8)
    packed = {"header": head(1.0), "format": "16UC1; compressedDepth png"}
    packed["data"] = bytes(12) + encode_depth(depth)
    jpeg = {"header": head(1.0), "format": "rgb8; jpeg compressed bgr8"}
    jpeg["data"] = encode_color(color, "jpg")
    messages = [
        *moving([1.0]),
        ("/c/depth/image_raw/compressedDepth", COMPRESSED, packed),
        ("/c/depth/camera_info", CAMERA_INFO, info(1.0)),
        ("/c/color/image_raw/compressed", COMPRESSED, jpeg),
    ]
    (got,) = open_recording(write(tmp_path / "r.mcap", messages))
    np.testing.assert_allclose(got.frame.depth, depth, atol=6e-4)
    assert np.abs(got.frame.color.astype(int) - color).max() < 6


def test_bad_messages_are_told_and_topics_can_be_chosen(tmp_path):
    depth = np.full((ROWS, COLS), 2000, dtype=np.uint16)
    bad = image("16UC1", depth, 1.5) | {"height": 9000}
    messages = [
        *moving([1.0, 2.0]),
        ("/a/depth/image_raw", IMAGE, image("16UC1", depth, 1.0)),
        ("/a/depth/camera_info", CAMERA_INFO, info(1.0)),
        ("/a/depth/image_raw", IMAGE, bad),
        ("/b/depth/image_raw", IMAGE, image("16UC1", depth, 1.2)),
        ("/tf", TF, {"transforms": [transform("map", "map", (0, 0, 0), 1.0)]}),
    ]
    path = write(tmp_path / "r.mcap", messages)
    recording = open_recording(path)
    assert len(recording) == 2
    told = " | ".join(recording.problems)
    assert "/tf: a bad message" in told and "/b/depth/image_raw: not read: no CameraInfo" in told
    with pytest.raises(RecordingError, match="8192"):
        recording[1]
    with pytest.raises(RecordingError, match="of that kind are: /a/depth"):
        BagRecording(path, BagTopics(depth="/c"))
    chosen = BagRecording(
        path, BagTopics(depth="/b/depth/image_raw", camera_info="/a/depth/camera_info")
    )
    assert [r.frame.time for r in chosen] == [1.2]
    odom = BagRecording(path, BagTopics(depth="/a/depth/image_raw", map_frame="odom"))
    np.testing.assert_allclose(odom[0].frame.camera_to_map[:3, 3], (1.0, 0.0, 1.0))


def sqlite_bag(whole, path, packed=bytes):
    """The MCAP file `whole` as a file of SQLite, each message packed by a function."""
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name, type, serialization_format)")
    base.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data BLOB)")
    base.execute("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
    ids = {}
    with whole.open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            if channel.topic not in ids:
                ids[channel.topic] = len(ids) + 1
                row = (ids[channel.topic], channel.topic, schema.name, "cdr")
                base.execute("INSERT INTO topics VALUES(?, ?, ?, ?)", row)
            row = (ids[channel.topic], message.log_time, packed(message.data))
            base.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES(?, ?, ?)", row)
    base.commit()
    base.close()
    return path


def test_packed_messages_of_sqlite_bags(whole, tmp_path):
    path = sqlite_bag(whole, tmp_path / "bag_0.db3", zstandard.ZstdCompressor().compress)
    recording = open_recording(path)
    assert len(recording) == 60 and not recording.problems
    np.testing.assert_array_equal(recording[7].frame.color, frame(7).frame.color)
    other = sqlite_bag(whole, tmp_path / "other.db3", lambda data: b"LZ4!" + data)
    with pytest.raises(RecordingError, match="unsupported CDR"):
        open_recording(other)
    damaged = sqlite_bag(
        whole, tmp_path / "x.db3", lambda d: zstandard.ZstdCompressor().compress(d)[:-9]
    )
    with pytest.raises(RecordingError):
        len(open_recording(damaged)) or open_recording(damaged)[0]


def test_sqlite_bags(whole, tmp_path):
    path = sqlite_bag(whole, tmp_path / "100% #2?_0.db3")
    recording = open_recording(path)
    assert len(recording) == 60
    np.testing.assert_array_equal(recording[7].frame.color, frame(7).frame.color)
    assert recording[7].detections[0].label == "mug"
    data = path.read_bytes()
    half = len(data) // 2 // 4096 * 4096
    path.write_bytes(data[:half] + bytes(8192) + data[half + 8192 :])
    damaged = open_recording(path)
    assert 0 < len(damaged) < 60 and re.search(r"damaged.*\.recover", damaged.problems[0])
    path.write_bytes(data[:half])
    with pytest.raises(RecordingError, match=r"cut off.*\.recover"):
        open_recording(path)


def hypothesis(label, score):
    return {"hypothesis": {"class_id": label, "score": score}, "pose": {}}


def test_detections_of_vision_msgs(tmp_path):
    """Boxes in the color image and in space, both with labels, become detections of depth."""
    depth = np.full((ROWS, COLS), 3000, "<u2")
    depth[10:20, 10:24] = 2000
    times = (0.0, 1.0)
    messages = list(moving(times))
    for t in times:
        messages += [
            ("/cart/head/depth/camera_info", CAMERA_INFO, info(t)),
            ("/cart/head/depth/image_raw", IMAGE, image("16UC1", depth, t)),
        ]
    flat = {
        "header": head(0.0),
        "detections": [
            {
                "results": [hypothesis("mug", 0.7), hypothesis("cup", 0.2)],
                "bbox": {
                    "center": {"position": {"x": 17.0, "y": 15.0}, "theta": 0.0},
                    "size_x": 14.0, "size_y": 10.0,
                },
            }
        ],
    }  # fmt: skip
    fx = 50.0
    x, y = (17.0 - COLS / 2) / fx * 2.0, (15.0 - ROWS / 2) / fx * 2.0
    solid = {
        "header": head(1.0),
        "detections": [
            {
                "results": [hypothesis("mug", 0.6)],
                "bbox": {
                    "center": {"position": {"x": x, "y": y, "z": 2.0}, "orientation": {"w": 1.0}},
                    "size": {"x": 1.0, "y": 1.0, "z": 0.3},
                },
            }
        ],
    }
    two = write(tmp_path / "two.mcap", [*messages, ("/cart/head/detections", BOXES_2D, flat)])
    recording = open_recording(two)
    (one,) = recording[0].detections
    assert one.box == (10, 10, 14, 10) and one.scores == {"mug": 0.7, "cup": 0.2}
    assert one.mask is None and recording[1].detections is None
    three = write(tmp_path / "three.mcap", [*messages, ("/cart/head/boxes", BOXES_3D, solid)])
    (one,) = open_recording(three)[1].detections
    assert one.box == (10, 10, 14, 10) and one.mask.all(), "only what lies within the box in space"
    solid["detections"][0]["bbox"]["size"]["x"] = float("nan")
    bad = write(tmp_path / "bad.mcap", [*messages, ("/cart/head/boxes", BOXES_3D, solid)])
    with pytest.raises(RecordingError, match="box in space"):
        open_recording(bad)[1]


def test_definitions_are_those_of_the_messages():
    folder = Path(__file__).parents[2] / "coterie_msgs" / "msg"
    parts = re.split("=+\nMSG: coterie_msgs/", f"ImageDetections\n{definition(DETECTIONS)}")
    ours = dict(part.split("=")[0].strip().split("\n", 1) for part in parts)
    for name in ("ImageDetections", "ImageDetection", "LabelScore"):
        lines = (folder / f"{name}.msg").read_text("utf-8").splitlines()
        fields = [" ".join(line.split("#")[0].split()) for line in lines]
        known = [
            re.sub(r"^(ImageDetection|LabelScore)\b", r"coterie_msgs/\1", f) for f in fields if f
        ]
        assert ours[name].split("\n") == known


def test_no_damage_does_more_than_cost_frames(tmp_path):
    """Bytes changed at random, most of them in the file's first part: refused, or told."""
    path = tmp_path / "a.mcap"
    with RecordingWriter(path) as writer:
        for k in range(4):
            writer.add(frame(k))
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(60):
        data = np.frombuffer(good, np.uint8).copy()
        span = len(data) if rng.random() < 0.5 else 3000
        places = rng.integers(span, size=rng.integers(1, 12))
        data[places] = rng.integers(256, size=len(places))
        path.write_bytes(data[: rng.integers(len(data))] if rng.random() < 0.2 else data)
        try:
            recording = open_recording(path)
            list(recording)
            told += bool(recording.problems)
        except RecordingError:
            told += 1
    assert told > 30


@pytest.mark.parametrize("named", [True, False], ids=["now", "earlier"])
def test_detections_are_read_whether_or_not_they_name_the_network(named):
    message = {
        "header": {"stamp": {"sec": 1, "nanosec": 0}, "frame_id": "c"},
        "detector": "yolo",
        "image_width": 8,
        "image_height": 8,
        "detections": [
            {
                "x": 1, "y": 1, "width": 2, "height": 2, "scores": [{"label": "cup", "score": 0.5}],
                "mask": [], "embedding": [0.6, 0.8], "attributes": [],
            }
        ],
    }  # fmt: skip
    if named:
        message["embedding_model"] = "clip"
    data = encode(DETECTIONS if named else EARLIER, message)
    (one,) = detections_of(decode(DETECTIONS, data), "bag")
    assert one.embedding == Embedding.of("clip" if named else "yolo", [0.6, 0.8])
    with pytest.raises(ValueError, match="no coterie_msgs/msg/ImageDetections"):
        decode(DETECTIONS, data[:-30])


# -- several robots in one bag ------------------------------------------------------------------


def team(robots, root="map", tf="/{}/tf", prefix=""):
    """A camera per robot, all with the same names of frames, at x = 0, 10, 20, ... in `root`."""
    depth = np.full((ROWS, COLS), 2000, dtype=np.uint16)
    base, camera = f"{prefix}base", f"{prefix}camera"
    for k, robot in enumerate(robots):
        fixed = transform(base, "camera", (0, 0, 1.0), 0.0) | {"child_frame_id": camera}
        yield tf.format(robot) + "_static", TF, {"transforms": [fixed]}
        for t in (0.9 + k / 100, 1.1 + k / 100):
            moves = transform(root, base, (10.0 * k, 0, 0), t)
            yield tf.format(robot), TF, {"transforms": [moves]}
        yield f"/{robot}/depth/camera_info", CAMERA_INFO, info(1.0, frame=camera)
        yield f"/{robot}/depth/image_raw", IMAGE, image("16UC1", depth, 1.0 + k / 100, camera)


def test_robots_that_name_their_frames_alike_have_a_tree_each(tmp_path):
    recording = open_recording(write(tmp_path / "two.mcap", team(["r1", "r2"])))
    assert [r.frame.camera_to_map[0, 3] for r in recording] == [0.0, 10.0]
    assert any("read apart" in p and "'map'" in p for p in recording.problems)
    # What /tf tells holds for all of them, and a single robot's namespace needs no such name.
    shared = [
        *team(["r1", "r2"], root="site"),
        ("/tf_static", TF, {"transforms": [transform("map", "site", (0, 3.0, 0), 0.0)]}),
    ]
    both = open_recording(write(tmp_path / "shared.mcap", shared))
    assert [tuple(r.frame.camera_to_map[:2, 3]) for r in both] == [(0.0, 3.0), (10.0, 3.0)]
    alone = open_recording(write(tmp_path / "one.mcap", team(["r1"], tf="/elsewhere/tf")))
    assert (len(alone), alone.problems) == (1, ())


def test_robots_whose_odometry_begins_apart_are_not_one_map(tmp_path):
    path = write(tmp_path / "odom.mcap", team(["r1", "r2"], root="odom"))
    with pytest.raises(RecordingError, match=r"'odom' of its own.*--depth-topic"):
        open_recording(path)
    chosen = BagRecording(path, BagTopics(depth="/r2/depth/image_raw"))
    assert [r.frame.camera_to_map[0, 3] for r in chosen] == [10.0]


def test_a_bag_without_a_known_map_frame_names_those_it_has(tmp_path):
    path = write(tmp_path / "r.mcap", team(["r1"], root="r1/map", prefix="r1/"))
    told = " | ".join(open_recording(path).problems)
    assert "'r1/map'" in told and "--map-frame" in told
    assert len(BagRecording(path, BagTopics(map_frame="r1/map"))) == 1


@pytest.mark.parametrize("ending", ["mcap", "db3"])
def test_a_pointer_of_git_lfs_is_named_as_one(tmp_path, ending):
    path = tmp_path / f"bag.{ending}"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(RecordingError, match="git lfs pull"):
        open_recording(path)
