"""Look-ups in a map: finding, what is around, measuring; refusals say what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coterie_core.geometry import Box
from coterie_llm.tools import use_tool
from coterie_llm.types import ToolCall
from coterie_world.scene import LabelBelief, Room, SceneGraph, SceneObject
from coterie_world.scene.lookups import map_tools


@pytest.fixture
def scene() -> SceneGraph:
    graph = SceneGraph()
    graph.add_room(Room("r1", "den", "office"))
    graph.add_room(Room("r2", "loft", "bedroom"))
    for id_, label, room, center, size in (
        ("d1", "desk", "r1", (0.0, 0.0, 0.4), (1.4, 0.8, 0.8)),
        ("l1", "desk lamp", "r1", (0.3, 0.0, 1.0), (0.2, 0.2, 0.4)),
        ("l2", "lamp", "r2", (6.0, 0.0, 1.0), (0.2, 0.2, 0.4)),
    ):
        graph.add_object(SceneObject(id_, LabelBelief({label: 1.0}), Box(center, size), room))
    return graph


async def told(scene: SceneGraph, tool: str, **arguments: Any) -> Any:
    tools = {one.name: one for one in map_tools(scene, lambda thing: thing.id)}
    use = await use_tool(tools, ToolCall("c", tool, arguments))
    return use.result if use.refused else json.loads(use.result.splitlines()[1])


async def test_things_are_found_by_word_and_room(scene: SceneGraph) -> None:
    found = await told(scene, "find_objects", words="lamps")
    assert found == {"count": 2, "objects": ["l1", "l2"]}
    assert (await told(scene, "find_objects", words="lamp", room="loft"))["objects"] == ["l2"]
    assert (await told(scene, "find_objects", words="piano"))["count"] == 0
    assert "rooms: den, loft" in await told(scene, "find_objects", words="lamp", room="attic")


async def test_what_is_around_comes_nearest_first_with_its_relation(scene: SceneGraph) -> None:
    around = await told(scene, "look_around", object="d1", within=2.0)
    assert around == {"count": 1, "objects": [{"gap": 0.0, "it is": "on it", "object": "l1"}]}
    assert "no object 'x9'" in await told(scene, "look_around", object="x9")


async def test_two_things_are_measured(scene: SceneGraph) -> None:
    measured = await told(scene, "measure", first="l2", second="d1")
    assert measured["distance between centers"] == 6.03
    assert measured["gap between boxes"] == 5.2
    assert measured["first is higher by"] == 0.4
