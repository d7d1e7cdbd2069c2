"""How many things nobody has seen: the belief that backs "all" and "none"."""

from __future__ import annotations

import math

import numpy as np
import pytest

from coterie_core.geometry import Box, containment
from coterie_core.household import load_household
from coterie_world.scene import Floor, LabelBelief, Receptacle, Room, SceneGraph, SceneObject
from coterie_world.search_belief import (
    STRAY_FRACTION,
    SearchBelief,
    container_key,
    expected_in,
    is_found,
    regions_of,
)


def house(*, furniture: bool = True) -> SceneGraph:
    scene = SceneGraph()
    scene.add_floor(Floor("ground", 0, 0.0))
    square = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)]
    scene.add_room(Room("kitchen", "kitchen", "kitchen", "ground", square))
    scene.add_room(Room("bath", "bathroom", "bathroom", "ground", [(x + 4, y) for x, y in square]))
    if furniture:
        top = Receptacle("counter-1/top", Box((2.0, 3.7, 0.9), (2.0, 0.6, 0.0)))
        shelf = Receptacle("cabinet-1/shelf", Box((0.3, 1.0, 0.6), (0.4, 0.8, 0.0)), inside=True)
        for id_, label, part, is_open in (
            ("counter-1", "counter", top, None),
            ("cabinet-1", "cabinet", shelf, False),
        ):
            box = Box(part.surface.center, (1.0, 0.6, 0.9))
            belief = LabelBelief.of(label)
            scene.add_object(
                SceneObject(
                    id_, belief, box, "kitchen", "furniture", is_open=is_open, receptacles=[part]
                )
            )
    return scene


def test_a_room_nobody_has_seen_holds_what_common_sense_says() -> None:
    scene = house()
    belief = SearchBelief(scene, "mug", ("kitchen", "bath"))
    chance = load_household().likelihood("mug", "kitchen")
    assert belief.left("kitchen") == pytest.approx(-math.log(1.0 - chance))
    assert belief.total() == pytest.approx(belief.left("kitchen") + belief.left("bath"))
    assert belief.left("kitchen") > 10.0 * belief.left("bath")


def test_every_look_leaves_less_and_robots_count_together() -> None:
    scene = house()
    belief = SearchBelief(scene, "mug", ("kitchen",))
    regions = regions_of(scene, scene.rooms["kitchen"], "mug")
    assert sum(region.weight for region in regions) == pytest.approx(1.0)
    whole = belief.left("kitchen")
    belief.hear("ann", {region.key: 0.4 for region in regions})
    assert belief.left("kitchen") == pytest.approx(0.4 * whole)
    belief.hear("ann", {region.key: 0.3 for region in regions})
    assert belief.left("kitchen") == pytest.approx(0.3 * whole), "its newest report counts"
    belief.hear("bob", {region.key: 0.5 for region in regions})
    assert belief.left("kitchen") == pytest.approx(0.15 * whole)


def test_a_closed_cabinet_keeps_its_share_until_it_is_looked_into() -> None:
    scene = house()
    regions = regions_of(scene, scene.rooms["kitchen"], "mug")
    (inside,) = [region for region in regions if region.inside]
    assert inside.owner == "cabinet-1" and inside.weight > 0.2
    belief = SearchBelief(scene, "mug", ("kitchen",))
    belief.hear("ann", {region.key: 0.0 for region in regions if not region.inside})
    assert belief.left("kitchen") == pytest.approx(
        inside.weight * expected_in(scene.rooms["kitchen"], "mug")
    )


def test_containers_found_on_the_way_count_once_for_all_robots() -> None:
    scene = house(furniture=False)
    belief = SearchBelief(scene, "mug", ("kitchen",))
    open_ = {r.key: 0.0 for r in regions_of(scene, scene.rooms["kitchen"], "mug")}
    belief.hear("ann", open_)
    assert belief.left("kitchen") == 0.0
    box = Box((1.0, 1.0, 0.5), (0.6, 0.4, 1.0))
    found = SceneObject("ann-cabinet-1", LabelBelief.of("cabinet"), box, "kitchen", "furniture")
    key = container_key(found)
    belief.hear("ann", {**open_, key: 1.0})
    one = belief.left("kitchen")
    assert one > 0.1
    found.box = Box((1.2, 1.1, 0.5), box.size)
    belief.hear("bob", {container_key(found): 1.0})
    assert belief.left("kitchen") == pytest.approx(one), "two robots saw the same cabinet"
    belief.hear("bob", {container_key(found): 0.0})
    assert belief.left("kitchen") == 0.0


def test_containers_that_one_robot_tells_apart_are_never_taken_for_one() -> None:
    scene = house(furniture=False)
    belief = SearchBelief(scene, "mug", ("kitchen",))
    seen = {r.key: 0.0 for r in regions_of(scene, scene.rooms["kitchen"], "mug")}
    keys = []
    for x in (1.0, 1.6):  # base cabinets stand side by side
        box = Box((x, 1.0, 0.5), (0.6, 0.4, 1.0))
        belief_of = LabelBelief.of("cabinet")
        keys.append(container_key(SceneObject(f"c-{x}", belief_of, box, "kitchen", "furniture")))
    belief.hear("ann", {**seen, keys[0]: 0.0, keys[1]: 1.0})
    assert belief.left("kitchen") > 0.1 * expected_in(scene.rooms["kitchen"], "mug")


def found_in(scene: SceneGraph, label: str, kind: str, box: Box) -> SceneObject:
    thing = SceneObject(f"ann-{label}-1", LabelBelief.of(label), box, "kitchen", kind)
    scene.add_object(thing)
    return thing


@pytest.mark.parametrize(
    ("label", "kind", "box"),
    [
        ("sink", "fixture", Box((1.0, 3.7, 0.45), (0.5, 0.6, 0.9))),
        ("bin", "item", Box((1.0, 3.0, 0.2), (0.3, 0.3, 0.4))),
    ],
)
def test_a_hollow_thing_that_was_found_hides_its_inside_from_the_side(label, kind, box) -> None:
    scene = house(furniture=False)
    before = regions_of(scene, scene.rooms["kitchen"], "sponge")
    found_in(scene, label, kind, box)
    regions = regions_of(scene, scene.rooms["kitchen"], "sponge")
    (inside,) = [r for r in regions if r.key not in {b.key for b in before}]
    assert is_found(inside.key) and not inside.inside and inside.weight > 0.0
    points = np.array(inside.points)
    x, y, _ = box.center
    eyes = np.array([(x, y, 2.0), (x, y - 3.0, box.top + 0.3), (x, y - 0.5, box.top - 0.1)])
    over = inside.over_rim(eyes, points)
    assert over[0].all(), "from straight above all of the bottom is in view"
    assert not over[1].any(), "from afar the rim hides it"
    assert not over[2].any(), "so does its side from below"
    # A team that has seen all else cannot say that none is there.
    belief = SearchBelief(scene, "sponge", ("kitchen",))
    seen = {r.key: 0.0 for r in regions}
    belief.hear("ann", seen | {inside.key: 1.0})
    assert belief.left("kitchen") > 0.0
    belief.hear("ann", seen)
    assert belief.left("kitchen") == 0.0


def test_boards_and_the_top_above_the_eyes_of_what_was_found_count() -> None:
    scene = house(furniture=False)
    room = scene.rooms["kitchen"]
    found_in(scene, "bookcase", "furniture", Box((1.0, 3.8, 1.0), (0.3, 1.0, 2.0)))
    regions = [r for r in regions_of(scene, room, "vase") if is_found(r.key)]
    boards, top = sorted(regions, key=lambda r: r.points[0][2])
    assert max(p[2] for p in boards.points) < 2.0 < min(p[2] for p in top.points)
    assert 0.0 < top.weight < boards.weight, "vases are kept on boards, hardly up there"
    belief = SearchBelief(scene, "vase", ("kitchen",))
    seen = {r.key: 0.0 for r in regions_of(scene, room, "vase")}
    for part in (boards, top):
        belief.hear("ann", seen | {part.key: 1.0})
        assert belief.left("kitchen") == pytest.approx(part.weight * expected_in(room, "vase"))
    low = house(furniture=False)
    found_in(low, "table", "furniture", Box((1.0, 3.0, 0.4), (1.0, 1.0, 0.8)))
    found_in(low, "floor lamp", "furniture", Box((3.0, 3.0, 0.8), (0.3, 0.3, 1.6)))
    assert not [r for r in regions_of(low, room, "vase") if is_found(r.key)]


def test_nothing_is_said_of_the_top_of_found_furniture_before_a_look() -> None:
    scene = house(furniture=False)
    thing = found_in(scene, "dresser", "furniture", Box((1.0, 3.7, 0.5), (0.5, 1.0, 1.0)))
    belief = SearchBelief(scene, "", ("kitchen",), frozenset([thing.id]))
    assert belief.unseen_share("kitchen") == pytest.approx(1.0)
    owned = regions_of(scene, scene.rooms["kitchen"], "", owners=[thing.id])
    belief.hear("ann", {region.key: 0.0 for region in owned})
    assert belief.total() == 0.0


def test_one_of_ten_lies_astray_however_many_places_there_are() -> None:
    scene = house()
    for k in range(7):  # nobody keeps mugs on beds
        part = Receptacle(f"bed-{k}/top", Box((1.0, 2.0, 0.5), (1.0, 0.6, 0.0)))
        box = Box((1.0, 2.0, 0.25), (1.0, 0.6, 0.5))
        scene.add_object(
            SceneObject(
                f"bed-{k}", LabelBelief.of("bed"), box, "kitchen", "furniture", receptacles=[part]
            )
        )
        regions = regions_of(scene, scene.rooms["kitchen"], "mug")
        stray = [r.weight for r in regions if not r.kept]
        assert sum(stray) == pytest.approx(STRAY_FRACTION)
        assert sum(r.weight for r in regions) == pytest.approx(1.0)
        assert max(stray) < min(r.weight for r in regions if r.kept)
    # What a belief makes of reports weighs regions in the same way.
    belief = SearchBelief(scene, "mug", ("kitchen",))
    belief.hear("ann", {r.key: 0.0 for r in regions if r.kept})
    assert belief.unseen_share("kitchen") == pytest.approx(STRAY_FRACTION)


def test_points_in_boxes_are_told_as_each_box_tells_them() -> None:
    rng = np.random.default_rng(3)
    boxes = [
        Box(tuple(rng.uniform(-1, 1, 3)), tuple(rng.uniform(0.1, 2, 3)), float(rng.uniform(-4, 4)))
        for _ in range(20)
    ]
    points = rng.uniform(-1.5, 1.5, (50, 3))
    told = containment(boxes, points)
    assert told.tolist() == [[box.contains(tuple(p)) for box in boxes] for p in points]
    assert containment([], points).shape == (50, 0)
