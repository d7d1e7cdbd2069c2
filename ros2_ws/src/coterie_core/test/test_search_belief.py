"""How many things nobody has seen: the belief that backs "all" and "none"."""

from __future__ import annotations

import math

import pytest

from coterie_core.geometry import Box
from coterie_core.household import load_household
from coterie_core.scene import Floor, LabelBelief, Receptacle, Room, SceneGraph, SceneObject
from coterie_core.search_belief import SearchBelief, container_key, expected_in, regions_of


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
