"""Floors and links of the team file: who gets where, and how maps of two floors are joined."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from coterie_world.scene import Place, SceneGraph, merge
from habitat_bridge.factory import WorldSpec
from robot_adapters.sensing.storeys import Storeys

HEIGHTS = {"ground": 0.0, "upper": 3.0, "attic": 5.8}
STAIRS = {"kind": "stairs", "ends": [[4.0, 1.0, 0.0], [7.0, 1.0, 3.0]], "robots": ["walker"]}
LIFT = {"kind": "elevator", "ends": [[1.0, 1.0, 3.0], [1.0, 1.0, 5.8]], "robots": []}
WHERE = {"heights": HEIGHTS, "links": [STAIRS, LIFT]}


def test_a_robot_gets_to_another_floor_only_by_links_that_it_may_use():
    walker, rover = (Storeys.of(name, WHERE) for name in ("walker", "rover"))
    assert [walker.at(z) for z in (-1.0, 0.2, 2.4, 2.6, 3.4, 9.0)] == [
        "ground", "ground", "ground", "upper", "upper", "attic",
    ]  # fmt: skip
    down, up, top = (0.0, 0.0, 0.1), (2.0, 2.0, 3.0), (2.0, 2.0, 5.9)
    for here, there in ((down, up), (up, down), (down, top), (top, down), (down, down)):
        assert walker.trouble(here, there) == ""
    assert rover.trouble(up, top) == "" == rover.trouble(top, up)
    why = rover.trouble(down, up)
    assert "floor 'upper'" in why and "'ground'" in why and "world.floor_links" in why
    assert "rover" in why
    assert Storeys("rover").trouble(down, up) == ""  # nothing is known of floors


def test_maps_of_two_robots_on_two_floors_are_joined_by_the_stairs():
    maps = []
    for name, place, floor in (
        ("walker", Place("down", (4.5, 1.0, 0.0), "", "ground"), "ground"),
        ("spot", Place("up", (6.0, 1.0, 3.0), "", "upper"), "upper"),
    ):
        graph = SceneGraph()
        graph.add_place(place)
        links = [{**STAIRS, "robots": []}]
        Storeys.of(name, {"heights": HEIGHTS, "links": links}).add_to(graph)
        assert floor in graph.floors
        maps.append(graph)
    team, _ = merge(*maps)
    way, new = {"down"}, ["down"]
    while new:
        for other in team.links[new.pop()]:
            if other not in way:
                way.add(other)
                new.append(other)
    assert way == {"down", "stairs_1a", "stairs_1b", "up"}
    alone = SceneGraph()
    Storeys.of("rover", WHERE).add_to(alone)
    assert set(alone.places) == {"elevator_2a", "elevator_2b"}


def test_a_link_whose_end_is_on_no_floor_is_refused():
    good = WorldSpec(kind="real", floor_heights=HEIGHTS, floor_links=[STAIRS])
    assert good.floor_links[0].kind == "stairs"
    wrong = {**STAIRS, "ends": [[4.0, 1.0, 0.0], [7.0, 1.0, 1.5]]}
    with pytest.raises(ValidationError, match=r"floor_links\[0\].ends\[1\]: z = 1.5 m"):
        WorldSpec(kind="real", floor_heights=HEIGHTS, floor_links=[wrong])
    with pytest.raises(ValidationError, match="kind: real"):
        WorldSpec(kind="embedded", floor_heights=HEIGHTS)
