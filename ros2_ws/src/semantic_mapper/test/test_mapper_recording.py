"""A recording becomes a map: with its detections, with a detector, with neither."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_recordings import RecordedFrame, RecordingError, open_recording
from coterie_recordings.mcap_writer import RecordingWriter
from coterie_world.scene import Floor, Room, SceneGraph, SceneObject
from semantic_mapper.from_recording import MappingOptions, build_map, map_recording

ROWS, COLS = 60, 80
AHEAD = np.array([[0, 0, 1, 0.0], [-1, 0, 0, 0.0], [0, -1, 0, 1.0], [0, 0, 0, 1.0]])


class Shown:
    """A camera that drives along y past a red box 2 m ahead, a wall behind it."""

    name = "shown"
    problems = ("cut off somewhere",)

    def __init__(self, detections=True, depth=True, scene=None, broken=()):
        self.detections, self.depth, self.scene, self.broken = detections, depth, scene, broken
        self.read = []

    def __len__(self):
        return 6

    def __getitem__(self, k):
        if k >= 6:
            raise IndexError
        self.read.append(k)
        if k in self.broken:
            raise RecordingError(f"{k}.png", "damaged")
        depth = np.full((ROWS, COLS), 3.0 if self.depth else 0.0, dtype=np.float32)
        color = np.full((ROWS, COLS, 3), 235, dtype=np.uint8)
        left = 20 + 4 * k
        depth[20:40, left : left + 20] = 2.0 if self.depth else 0.0
        color[20:40, left : left + 20] = (185, 45, 40)
        pose = AHEAD.copy()
        pose[1, 3] = 0.2 * k
        frame = RgbdFrame(depth, (40.0, 40.0, 40.0, 30.0), pose, color, float(k), "scout")
        mask = np.ones((20, 20), dtype=bool)
        found = (ImageDetection((left, 20, 20, 20), {"box": 0.9}, mask),)
        return RecordedFrame(f"{k}", frame, found if self.detections else None)


def rooms():
    graph = SceneGraph()
    graph.add_floor(Floor("floor_0", 0, 0.0, 2.5))
    square = [(0.0, -3.0), (4.0, -3.0), (4.0, 3.0), (0.0, 3.0)]
    graph.add_room(Room("room_1", "kitchen", "kitchen", "floor_0", square))
    return graph


def see(frame):
    near = frame.depth < 2.5
    v, u = np.nonzero(near)
    box = (int(u.min()), int(v.min()), int(np.ptp(u)) + 1, int(np.ptp(v)) + 1)
    return [ImageDetection(box, {"crate": 0.8}, attributes={"opening": "open"})]


def only(scene):
    (thing,) = scene.objects.values()
    return thing


def test_things_with_room_colour_and_place():
    calls = []
    scene = map_recording(Shown(scene=rooms()), progress=lambda *a: calls.append(a))
    box = only(scene)
    assert (box.label.top, box.room, box.properties["color"]) == ("box", "room_1", "red")
    assert box.observations == 6 and box.is_open is None
    assert abs(box.box.center[0] - 2.0) < 0.05 and set(scene.rooms) == {"room_1"}
    assert calls[0] == (0, 6) and calls[-1] == (6, 6)


def test_a_detector_of_ones_own():
    made = build_map(Shown(detections=False), MappingOptions(detector=see))
    crate = only(made.scene)
    assert (crate.label.top, crate.is_open, made.frames, made.detections) == ("crate", True, 6, 6)
    kept = map_recording(Shown(), MappingOptions(detector=see))
    again = map_recording(Shown(), MappingOptions(detector=see, again=True))
    assert only(kept).label.top == "box" and only(again).label.top == "crate"
    with pytest.raises(ValueError, match="outside"):
        outside = [ImageDetection((COLS, 0, 5, 5), {"x": 0.5})]
        map_recording(Shown(detections=False), MappingOptions(detector=lambda _: outside))


def test_what_cannot_be_mapped_says_why():
    with pytest.raises(RecordingError, match=r"none of its 6 frames has detections.*detector"):
        map_recording(Shown(detections=False))
    with pytest.raises(RecordingError, match="no depth"):
        map_recording(Shown(depth=False))
    with pytest.raises(RecordingError, match="cut off somewhere"):
        map_recording(Shown(broken=range(6)))


def test_damaged_frames_are_left_out_and_told():
    recording = Shown(broken=(2,))
    made = build_map(recording)
    assert made.frames == 5 and made.problems == ("cut off somewhere", "2.png: damaged")
    assert recording.read == [0, 1, 2, 3, 4, 5]
    few = Shown()
    assert build_map(few, MappingOptions(every=4)).frames == 2 and few.read == [0, 4]


def test_things_known_beforehand_are_not_found_by_it():
    known = rooms()
    known.add_object(SceneObject("sofa_1", only(map_recording(Shown())).label, box=_far()))
    assert only(map_recording(Shown(scene=known))).label.top == "box"


def _far():
    from coterie_core.geometry import Box

    return Box((3.0, 2.0, 0.5), (1.0, 1.0, 1.0))


def test_from_the_disk(tmp_path):
    with RecordingWriter(tmp_path / "r.mcap", scene=rooms()) as writer:
        for k in range(6):
            writer.add(Shown()[k])
    a, b = map_recording(open_recording(tmp_path / "r.mcap")), map_recording(Shown(scene=rooms()))
    assert only(a).label.top == only(b).label.top and only(a).room == "room_1"
    np.testing.assert_allclose(only(a).box.center, only(b).box.center, atol=0.01)


class Called(Shown):
    """The same, whose detector calls the box by other labels."""

    def __init__(self, scores):
        super().__init__()
        self.scores = scores

    def __getitem__(self, k):
        recorded = super().__getitem__(k)
        (one,) = recorded.detections
        return replace(recorded, detections=(replace(one, scores=self.scores),))


@pytest.mark.parametrize("scores", [{}, {"": 0.9}, {" ": 0.9}])
def test_what_a_detector_gives_no_name_is_no_thing_and_counted(scores):
    made = build_map(Called(scores))
    assert not made.scene.objects
    assert "6 detections without a label left out" in made.problems


def test_numbers_for_names_are_told_with_the_remedy():
    made = build_map(Called({"56": 1.0}))
    assert only(made.scene).label.top == "56"
    (told,) = [p for p in made.problems if "56" in p]
    assert "numbers" in told and "--detector" in told
    assert not [p for p in build_map(Shown()).problems if "numbers" in p]
