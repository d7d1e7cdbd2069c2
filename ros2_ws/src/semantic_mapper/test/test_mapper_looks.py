"""Colours and openings of detections."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from coterie_core.colors import COLOR_NAMES, color_name
from coterie_core.detections import ImageDetection, RgbdFrame
from coterie_world.perception.appearance import color_evidence
from coterie_world.scene import LabelBelief
from semantic_mapper.mapper import SemanticMapper, crop, note_opening
from semantic_mapper.options import MapperOptions


def image(paint, background=(240, 240, 240)):
    pixels = np.full((60, 80, 3), background, dtype=np.uint8)
    pixels[20:40, 30:50] = paint
    return pixels


def top(evidence):
    return max(evidence, key=evidence.get)


@pytest.mark.parametrize("paint", [(200, 50, 45), (60, 100, 180), (90, 60, 40), (245, 245, 242)])
def test_names_what_is_within_the_mask(paint):
    mask = np.zeros((40, 40), dtype=bool)
    mask[10:30, 10:30] = True
    found = color_evidence(image(paint), ImageDetection((20, 10, 40, 40), {"box": 1.0}, mask))
    assert top(found) == color_name(paint)
    assert sum(found.values()) == pytest.approx(1.0)


def test_a_white_thing_in_the_shade_is_white():
    lit = ImageDetection((30, 20, 20, 20), {"box": 1.0})
    assert top(color_evidence(image((180, 180, 178), (190, 190, 190)), lit)) == "white"
    assert top(color_evidence(image((120, 120, 122), (235, 235, 235)), lit)) == "grey"


def test_the_detectors_word_counts_if_it_is_a_colour():
    said = ImageDetection((30, 20, 20, 20), {"box": 1.0}, attributes={"color": "Red "})
    assert color_evidence(image((0, 0, 200)), said) == {"red": 1.0}
    nonsense = ImageDetection((30, 20, 20, 20), {"box": 1.0}, attributes={"color": "<b>x</b>"})
    assert top(color_evidence(image((60, 100, 180)), nonsense)) == "blue"


def test_nothing_is_said_where_nothing_is_seen():
    assert color_evidence(None, ImageDetection((0, 0, 5, 5), {})) == {}
    assert color_evidence(image((0, 0, 0)), ImageDetection((500, 500, 5, 5), {})) == {}
    hidden = ImageDetection((0, 0, 5, 5), {}, np.zeros((5, 5), dtype=bool))
    assert color_evidence(image((0, 0, 0)), hidden) == {}


def test_the_latest_looks_say_whether_it_is_open():
    belief = LabelBelief()
    for told in ("closed", "closed", "closed", "sideways", "open", "open"):
        note_opening(belief, ImageDetection((0, 0, 5, 5), {}, attributes={"opening": told}))
    assert belief.top == "open" and set(belief.weights) == {"open", "closed"}


def test_paints_are_named_whatever_their_spelling():
    assert color_name("#D2691E") == color_name((0xD2, 0x69, 0x1E)) != ""
    assert color_name("teal") == "teal"
    assert color_name("ultraviolet") == color_name((1, 2)) == ""
    assert len(set(COLOR_NAMES)) == len(COLOR_NAMES)


def picture_of(thing) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(thing.crop.tobytes())))


def test_the_best_picture_of_a_thing_is_kept_at_the_cameras_resolution():
    pixels = np.random.default_rng(3).integers(0, 255, (480, 640, 3), dtype=np.uint8)
    kept = Image.open(io.BytesIO(crop(pixels, (100, 50, 300, 200), 640).tobytes()))
    assert kept.size == (364, 244)  # with a margin of a tenth
    small = Image.open(io.BytesIO(crop(pixels, (100, 50, 300, 200), 91).tobytes()))
    assert max(small.size) == 91


def test_pictures_stay_within_their_bytes_and_the_oldest_go():
    mapper = SemanticMapper(MapperOptions(crop_bytes=6000))
    rng = np.random.default_rng(5)
    for k in range(12):
        depth = np.full((120, 160), 2.0, np.float32)
        color = rng.integers(0, 255, (120, 160, 3), dtype=np.uint8)
        pose = np.eye(4)
        pose[0, 3] = 5.0 * k  # another place, another thing
        frame = RgbdFrame(depth, (100.0, 100.0, 80.0, 60.0), pose, color, float(k))
        mapper.update(frame, [ImageDetection((60, 40, 30, 30), {"box": 0.9})])
    things = sorted(mapper.instances, key=lambda one: one.time)
    shown = [one.crop is not None for one in things]
    assert len(things) == 12 and sum(len(t.crop) for t in things if t.crop is not None) <= 6000
    assert shown[-1] and not shown[0] and shown == sorted(shown)
    assert picture_of(things[-1]).shape == (40, 40, 3)
