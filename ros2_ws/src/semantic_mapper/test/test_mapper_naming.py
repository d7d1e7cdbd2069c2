"""Things without a name get one from their pictures, once, and keep it."""

from __future__ import annotations

import pytest

from coterie_core.detections import ImageDetection
from coterie_core.geometry import Box
from coterie_fixtures.drawn_scenes import SIDES, TABLE, view
from coterie_llm import Image, decide_by_rule, messages_for
from coterie_world.scene import SceneGraph, SceneObject
from semantic_mapper.mapper import SemanticMapper
from semantic_mapper.naming import Namer, NameThing, Pictured, ThingNamed

TOASTER = ThingNamed(reason="slots for bread", label="Toaster", confidence=0.9)


@pytest.fixture
def mapper():
    made = SemanticMapper()
    look(made, 0)
    return made


def look(mapper, side):
    """Look at a thing that a detector knows nothing of."""
    frame, found = view({"table": TABLE}, SIDES[side], time=float(side))
    color = (frame.depth[..., None].repeat(3, axis=2) * 40).astype("uint8")
    frame = type(frame)(
        frame.depth, frame.intrinsics, frame.camera_to_map, color, frame.time, frame.robot
    )
    unknown = [ImageDetection(one.box, {"object": 0.9}, one.mask) for one in found]
    mapper.update(frame, unknown)


def told(mapper, namer):
    """The labels of the map that is told."""
    scene = SceneGraph()
    for thing in mapper.instances:
        box = Box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
        scene.objects[thing.id] = SceneObject(thing.id, thing.labels, box)
    return [one.label.top for one in namer.name(scene).objects.values()]


def test_a_thing_gets_its_name_keeps_it_and_is_not_asked_for_again(mapper):
    namer = Namer()
    id_, image = namer.next(mapper.instances)
    assert isinstance(image, Image) and image.mime == "image/jpeg"
    assert id_ == mapper.instances[0].id
    assert namer.next(mapper.instances) is None  # while it is being looked at
    assert namer.take(id_, TOASTER)
    for side in range(3):
        look(mapper, side)  # the detector goes on saying that it is an object: the same one
        assert namer.next(mapper.instances) is None
        assert told(mapper, namer) == ["toaster"]
        assert [one.labels.top for one in mapper.instances] == ["object"]


@pytest.mark.parametrize(
    "named",
    [
        ThingNamed(),
        ThingNamed(label="toaster", confidence=0.4),
        ThingNamed(label="object", confidence=1.0),
    ],
)
def test_what_is_not_sure_or_says_nothing_is_no_name(mapper, named):
    namer = Namer()
    namer.next(mapper.instances)
    assert not namer.take(mapper.instances[0].id, named) and told(mapper, namer) == ["object"]


def test_what_a_detector_knows_is_left_alone_and_a_label_is_a_word():
    mapper = SemanticMapper()
    frame, found = view({"table": TABLE}, SIDES[0])
    mapper.update(frame, found)
    assert Namer().next(mapper.instances) is None
    with pytest.raises(ValueError):
        ThingNamed(label="a; rm -rf /")
    image = Image(b"\xff\xd8\xff" + bytes(9), "image/jpeg")
    assert messages_for(NameThing(), Pictured(image))[-1].images == (image,)
    assert decide_by_rule(NameThing(), Pictured(image)).reply.label == ""
