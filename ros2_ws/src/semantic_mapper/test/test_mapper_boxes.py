"""Boxes of mapped objects: leaking masks, two that were one, one that was several."""

from dataclasses import replace

import numpy as np
import pytest

from coterie_core.detections import BoxDetection, ImageDetection
from coterie_core.geometry import Box
from coterie_core.household import load_household
from coterie_fixtures.drawn_scenes import looking, view
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from coterie_world.sightings import resting_on
from coterie_world.sizes import is_sliver, known_size, plausible_size
from coterie_world.team_map import TeamMap
from semantic_mapper.cloud import EvidenceCloud
from semantic_mapper.mapper import SemanticMapper, set_supports
from semantic_mapper.options import MapperOptions

CRATE = ((1.8, -0.15, 0.7), (2.1, 0.15, 1.0))
TOP = ((1.5, -0.9, 0.6), (2.8, 0.9, 0.7))
EYES = [looking(0.2, y, 1.1, -y / 2.0) for y in (-0.6, -0.3, 0.0, 0.3, 0.6)]


def leaking(detection, pixels):
    """The detection with a mask that is its box grown on all sides: what lies behind leaks in."""
    u, v, width, height = detection.box
    box = (u - pixels, v - pixels, width + 2 * pixels, height + 2 * pixels)
    return ImageDetection(box, detection.scores, np.ones((box[3], box[2]), bool))


def test_one_leaking_mask_does_not_spoil_a_box_for_good():
    mapper = SemanticMapper(MapperOptions())
    for k, eye in enumerate([*EYES, *EYES]):
        frame, found = view({"crate": CRATE, "table": TOP}, eye, time=float(k))
        crate = next(one for one in found if one.label == "crate")
        # One mask in five takes in the table around it.
        mapper.update(frame, [leaking(crate, 5) if k in (1, 6) else crate])
    (thing,) = mapper.scene().objects.values()
    assert thing.box.size == pytest.approx((0.3, 0.3, 0.3), abs=0.07)


def test_two_that_were_taken_for_one_are_parted():
    books = {
        "book#1": ((1.8, -0.2, 0.7), (2.1, -0.06, 0.8)),
        "book#2": ((1.8, 0.06, 0.7), (2.1, 0.2, 0.8)),
    }
    mapper = SemanticMapper(MapperOptions())
    for k, eye in enumerate([*EYES, *EYES, *EYES]):
        frame, found = view(books, eye, time=float(k))
        if k < 3:  # masks over both make one instance of both
            boxes = np.array([one.box for one in found])
            low = boxes[:, :2].min(axis=0)
            width, height = (boxes[:, :2] + boxes[:, 2:]).max(axis=0) - low
            mask = np.zeros((height, width), bool)
            for one in found:
                u, v = one.box[0] - low[0], one.box[1] - low[1]
                mask[v : v + one.box[3], u : u + one.box[2]] = one.mask
            found = [ImageDetection((*low.tolist(), int(width), int(height)), {"book": 0.9}, mask)]
        mapper.update(frame, found if k < 3 else [found[k % 2]])
    mapper.tidy()
    things = mapper.scene().objects.values()
    assert len(things) == 2
    assert sorted(round(t.box.center[1], 1) for t in things) == [-0.1, 0.1]
    assert all(max(t.box.size) < 0.4 for t in things)


def test_what_is_seen_side_by_side_in_one_image_stays_two():
    screens = {
        "television#1": ((2.0, -0.8, 1.0), (2.1, -0.02, 1.5)),
        "television#2": ((2.0, 0.0, 1.0), (2.1, 0.78, 1.5)),
    }
    mapper = SemanticMapper(MapperOptions())
    for k, eye in enumerate([*EYES, *EYES]):
        frame, found = view(screens, eye, time=float(k))
        mapper.update(frame, [leaking(one, 3) for one in found])
    mapper.tidy()
    assert len(mapper.scene().objects) == 2


def test_one_box_that_shows_where_a_thing_ends_outweighs_two_that_hold_its_neighbor():
    row = {
        "oven": ((2.0, 0.0, 0.3), (2.6, 0.6, 1.2)),
        "dishwasher": ((2.0, -0.63, 0.3), (2.6, -0.03, 1.2)),
    }
    mapper = SemanticMapper(MapperOptions())
    eyes = [looking(0.2, 0.3, 1.3, 0.0), *(looking(x, -1.3, 1.3, 0.9) for x in (0.8, 0.9))]
    for k, eye in enumerate(eyes * 4):
        frame, found = view(row, eye, time=float(k))
        oven = next(one for one in found if one.label == "oven")
        mapper.update(frame, [replace(oven, mask=None)])
    (thing,) = mapper.scene().objects.values()
    assert thing.box.size[1] == pytest.approx(0.6, abs=0.08)


@pytest.mark.parametrize(
    ("behind", "at_once", "joined", "things"),
    [("dishwasher", True, 0, 1), ("dishwasher", False, 1, 1), ("mug", True, 0, 2)],
)
def test_furniture_behind_a_chair_is_not_mapped_in_its_place(behind, at_once, joined, things):
    """Robots put a pot onto a chair, where a dishwasher behind it had been found."""
    mapper = SemanticMapper(MapperOptions())
    chair = {"chair": ((1.5, -0.3, 0.0), (1.9, 0.3, 0.9))}
    for k, eye in enumerate([*EYES, *EYES, *EYES, *EYES, *EYES, *EYES]):
        frame, (found,) = view(chair, eye, time=float(k))
        boxes = [replace(found, mask=None)]
        if k in (7, 12):  # what is behind shows a little, and depth finds the chair in its box
            u, v, width, height = found.box
            part = ImageDetection((u, v, width // 4, height // 3), {behind: 0.9})
            boxes = [*(boxes if at_once else []), part]
        mapper.update(frame, boxes)
    assert mapper.tidy() == joined, "both have the same surface"
    assert len(mapper) == things
    assert "chair" in {thing.label.top for thing in mapper.scene().objects.values()}


def test_parts_that_are_never_seen_at_once_are_one():
    parts = {
        "chair#back": ((2.35, -0.22, 0.5), (2.4, 0.22, 0.95)),
        "chair#seat": ((1.95, -0.22, 0.42), (2.4, 0.22, 0.47)),
    }
    mapper = SemanticMapper(MapperOptions())
    for k, eye in enumerate([*EYES, *EYES]):
        frame, found = view(parts, eye, time=float(k))
        mapper.update(frame, [found[k % 2]])  # the detector reports the one or the other
    mapper.tidy()
    (thing,) = mapper.scene().objects.values()
    assert thing.observations == 10
    assert thing.box.size[2] == pytest.approx(0.53, abs=0.08)


def test_memory_of_evidence_is_bounded():
    rng = np.random.default_rng(0)
    cloud = EvidenceCloud(rng.uniform(0, 1, (500, 3)).astype(np.float32))
    for _ in range(20):
        cloud.add(rng.uniform(0, 1, (500, 3)).astype(np.float32), 0.02, 1000)
    assert len(cloud.points) == len(cloud.inside) == len(cloud.outside) == 1000


def test_a_cloud_in_crumbs_has_a_largest_part():
    rng = np.random.default_rng(5)
    sizes = [40, 43, 41, 42, 40, 41, 40, 42, 41]  # each below the fraction that parts an object
    crumbs = [np.array([k, 0.0, 0.0]) + rng.uniform(0.0, 0.05, (n, 3)) for k, n in enumerate(sizes)]
    cloud = EvidenceCloud(np.concatenate(crumbs).astype(np.float32))
    cloud.inside[:] = 3.0
    (part,) = cloud.clusters(0.1)
    assert part.sum() == 43 and set(cloud.points[part][:, 0].astype(int)) == {1}


def test_how_plausible_sizes_are():
    assert plausible_size("mug", (0.1, 0.1, 0.1)) == 1.0
    assert plausible_size("mug", (0.9, 0.1, 0.1)) < 0.3
    assert plausible_size("chair", (0.5, 0.03, 0.03)) < 0.5
    assert plausible_size("frobnicator", (9.0, 9.0, 9.0)) == 1.0, "nothing is known of it"


def test_what_is_too_small_for_furniture_is_a_sliver():
    assert is_sliver("side table", (0.01, 0.03, 0.1))
    assert is_sliver("sofa", (0.12, 0.12, 0.2))
    assert not is_sliver("side table", (0.01, 0.5, 0.5)), "its front, seen in part"
    assert not is_sliver("spoon", (0.01, 0.01, 0.01)) and not is_sliver("frob", (0.01, 0.01, 0.01))
    for category in load_household().categories.values():
        size = known_size(category.label)
        if category.kind == "furniture" and size is not None:
            for end in (0, 1):
                assert not is_sliver(category.label, [side[end] for side in size])


def test_furniture_that_few_viewpoints_report_is_none():
    mapper = SemanticMapper(MapperOptions())
    things = {"stool": ((1.8, -0.7, 0.0), (2.1, -0.4, 0.5)), "crate": CRATE}
    for k, eye in enumerate([*EYES, *EYES, *EYES]):
        frame, found = view(things, eye, time=float(k))
        # Both are reported twice, from their farthest viewpoint; small things are missed more.
        mapper.update(frame, found if k in (4, 9) else [])
    assert [thing.label.top for thing in mapper.scene().objects.values()] == ["crate"]


def test_a_sliver_is_not_mapped_as_furniture():
    mapper = SemanticMapper(MapperOptions())
    flat = (0.0, 0.0, 0.0, 1.0)
    for k, eye in enumerate([*EYES, *EYES]):
        frame, _ = view({}, eye, time=float(k))
        ghost = BoxDetection((2.0, 1.0, 0.8), flat, (0.03, 0.01, 0.26), {"console table": 0.9})
        table = BoxDetection((2.0, -1.0, 0.4), flat, (0.35, 1.0, 0.8), {"console table": 0.9})
        mapper.update_boxes(frame, [ghost, table])
    (told,) = mapper.scene().objects.values()
    assert told.box.center[1] == pytest.approx(-1.0, abs=0.05)


def test_a_rug_is_not_as_high_as_the_stool_on_it():
    """A box without a mask holds the stool as well: so high no rug is, and it was not mapped."""
    drawn = {
        "floor": ((-3.0, -3.0, -0.1), (6.0, 3.0, 0.0)),
        "rug": ((1.5, -0.6, 0.0), (2.5, 0.6, 0.005)),
        "stool": ((1.9, -0.15, 0.0), (2.2, 0.15, 0.45)),
    }
    mapper = SemanticMapper(MapperOptions())
    for k, eye in enumerate([*EYES, *EYES]):
        frame, found = view(drawn, eye, time=float(k))
        mapper.update(frame, [ImageDetection(d.box, d.scores) for d in found if d.label == "rug"])
    (rug,) = mapper.scene().objects.values()
    assert rug.box.size[2] < 0.03


def test_floor_that_few_looks_gave_a_tv_stand_is_not_its():
    """With it it was deeper than any tv stand, and not mapped at all (51236)."""
    drawn = {
        "floor": ((-3.0, -3.0, -0.1), (6.0, 3.0, 0.0)),
        "tv stand": ((2.0, -0.75, 0.0), (2.4, 0.75, 0.5)),
    }
    mapper = SemanticMapper(MapperOptions())
    for k, eye in enumerate(EYES * 4):
        far = eye.copy()
        far[0, 3] -= 1.5
        frame, found = view(drawn, far, time=float(k))
        stand = next(one for one in found if one.label == "tv stand")
        if k in (2, 3):  # two masks go on below it
            u, v, width, height = stand.box
            mask = np.vstack([stand.mask, np.ones((90, width), bool)])
            stand = ImageDetection((u, v, width, height + 90), stand.scores, mask)
        elif k > 3:  # and no other look shows the floor
            frame = replace(frame, depth=np.where(frame.depth < 3.2, np.nan, frame.depth))
        mapper.update(frame, [stand])
    (thing,) = mapper.scene().objects.values()
    assert thing.label.top == "tv stand"
    assert thing.box.size[0] < 0.5


def test_boxes_in_space_are_averaged_and_get_their_color_from_the_image():
    rng = np.random.default_rng(4)
    mapper = SemanticMapper(MapperOptions())
    turned = (0.0, 0.0, float(np.sin(np.pi / 8)), float(np.cos(np.pi / 8)))  # by 45 degrees
    for k, eye in enumerate([*EYES, *EYES]):
        frame, _ = view({}, eye, time=float(k))
        color = np.zeros((*frame.depth.shape, 3), np.uint8)
        color[:] = (230, 230, 230)
        corners = [(x, y, z) for x in (1.8, 2.2) for y in (-0.2, 0.2) for z in (0.7, 1.1)]
        local = np.array(corners) @ np.linalg.inv(eye)[:3, :3].T + np.linalg.inv(eye)[:3, 3]
        fx, fy, cx, cy = frame.intrinsics
        u = local[:, 0] / local[:, 2] * fx + cx
        v = local[:, 1] / local[:, 2] * fy + cy
        color[int(v.min()) : int(v.max()), int(u.min()) : int(u.max())] = (200, 20, 20)
        at = np.array([2.0, 0.0, 0.9]) + rng.normal(0.0, 0.02, 3)
        crate = BoxDetection(tuple(at), (0.0, 0.0, 0.0, 1.0), (0.4, 0.4, 0.4), {"crate": 0.9})
        pole = BoxDetection((3.0, 1.0, 0.5), turned, (0.2, 0.2, 1.0), {"pole": 0.8})
        mapper.update_boxes(replace(frame, depth=np.zeros((1, 1), np.float32), color=color),
                            [crate, pole])  # fmt: skip
    mapper.tidy()
    things = {thing.label.top: thing for thing in mapper.scene().objects.values()}
    assert set(things) == {"crate", "pole"} and len(mapper) == 2
    assert things["crate"].box.center == pytest.approx((2.0, 0.0, 0.9), abs=0.03)
    assert things["crate"].box.size == pytest.approx((0.4, 0.4, 0.4), abs=0.03)
    assert things["pole"].box.size == pytest.approx((0.283, 0.283, 1.0), abs=0.03)
    assert things["crate"].properties["color"] == "red"
    assert things["crate"].observations == 10


def test_what_the_household_calls_furniture_is_furniture_on_the_map_and_carries_things():
    mapper = SemanticMapper(MapperOptions())
    scene = {
        "mug": ((1.8, -0.05, 0.7), (1.9, 0.05, 0.8)),
        "table": ((1.5, -0.9, 0.0), (2.8, 0.9, 0.7)),
    }
    for k, eye in enumerate(EYES):
        mapper.update(*view(scene, eye, time=float(k)))
    things = {thing.label.top: thing for thing in mapper.scene().objects.values()}
    assert {name: thing.kind for name, thing in things.items()} == {
        "mug": "item",
        "table": "furniture",
    }
    # A robot that is given this map sees what it puts down where it put it.
    robot = TeamMap(mapper.scene(), "r1")
    (on, _) = resting_on(robot.scene, robot.scene.objects[things["mug"].id])
    assert on == things["table"].id


def test_what_fell_beside_a_table_into_its_box_is_not_on_the_table():
    known = SceneGraph()
    for label, x, high in (("table", 2.0, 0.7), ("shelf", 6.0, 0.7), ("rug", 10.0, 0.02)):
        box = Box((x, 0.0, high / 2.0), (1.4, 1.8, high))
        known.add_object(SceneObject(label, LabelBelief.of(label), box, kind="furniture"))
        for name, z in (("up", 0.75), ("down", 0.04)):
            mug = Box((x + 0.6, 0.5, z), (0.1, 0.1, 0.1))
            known.add_object(SceneObject(f"{label}-{name}", LabelBelief.of("mug"), mug))
    on = {id: resting_on(known, thing)[0] for id, thing in known.objects.items() if "-" in id}
    set_supports(known)
    carried = {id: t.support or t.container for id, t in known.objects.items() if "-" in id}
    assert carried == on, "the mapper and the robots go by one rule"
    # On a rug and on the lowest board of a shelf things do lie as low as that.
    assert on == {
        "table-up": "table",
        "table-down": "",
        "shelf-up": "shelf",
        "shelf-down": "shelf",
        "rug-up": "",
        "rug-down": "rug",
    }


@pytest.mark.parametrize("is_open", [None, False, True])
def test_what_fell_before_a_cabinet_is_not_behind_its_doors(is_open):
    """Its box is too deep; behind doors that stand open things do lie as low as that."""
    known = SceneGraph()
    stand = Box((2.0, 0.0, 0.39), (0.67, 1.58, 0.78))
    known.add_object(
        SceneObject("stand", LabelBelief.of("tv stand"), stand, kind="furniture", is_open=is_open)
    )
    for name, x in (("before", 2.33), ("behind", 2.05)):
        mug = Box((x, 0.3, 0.07), (0.08, 0.12, 0.07))
        known.add_object(SceneObject(name, LabelBelief.of("mug"), mug))
    rests = {id: resting_on(known, known.objects[id])[0] for id in ("before", "behind")}
    set_supports(known)
    carried = {id: t.support or t.container for id, t in known.objects.items() if id in rests}
    assert carried == rests == {"before": "stand" if is_open else "", "behind": "stand"}


def test_what_lies_in_a_bathtub_or_in_a_basket_on_a_shelf_is_in_it():
    known = SceneGraph()
    for label, kind, box in (
        ("bathtub", "fixture", Box((2.0, 0.0, 0.3), (1.6, 0.8, 0.6))),
        ("shelf", "furniture", Box((6.0, 0.0, 0.8), (0.9, 0.5, 1.6))),
        ("basket", "item", Box((6.2, 0.0, 0.65), (0.35, 0.3, 0.25))),
        ("picture", "fixture", Box((9.0, 0.0, 1.5), (0.6, 0.4, 0.6))),
    ):
        known.add_object(SceneObject(label, LabelBelief.of(label), box, kind=kind))
    for name, at in (
        ("in the tub", (2.3, 0.1, 0.16)),
        ("in the basket", (6.25, 0.0, 0.56)),
        ("beside the basket", (5.7, 0.0, 0.56)),
        ("before the picture", (9.0, 0.0, 1.4)),
    ):
        bowl = Box(at, (0.1, 0.1, 0.08))
        known.add_object(SceneObject(name, LabelBelief.of("bowl"), bowl))
    on = {id: resting_on(known, thing)[0] for id, thing in known.objects.items() if " " in id}
    assert on == {
        "in the tub": "bathtub",
        "in the basket": "basket",
        "beside the basket": "shelf",
        "before the picture": "",
    }
    assert resting_on(known, known.objects["basket"])[0] == "shelf"
