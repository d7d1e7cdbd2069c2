"""Regions of two robots that are one room are joined; neighbors and named rooms are not."""

from __future__ import annotations

from coterie_core.geometry import Box
from coterie_world.scene import Connection, Place, Room, SceneGraph, SceneObject, merge
from coterie_world.scene.model import LabelBelief

BOX = Box((1.0, 1.0, 0.5), (0.1, 0.1, 0.1))


def square(x: float, y: float, side: float = 4.0) -> list[tuple[float, float]]:
    return [(x, y), (x + side, y), (x + side, y + side), (x, y + side)]


def of(robot: str, *outlines: list[tuple[float, float]], floor: str = "f") -> SceneGraph:
    graph = SceneGraph()
    for k, outline in enumerate(outlines, 1):
        graph.add_room(Room(f"{robot}_region_{k}", f"{robot} region {k}", "", floor, outline))
        graph.add_place(Place(f"p_{robot}_{k}", (*outline[0], 0.0), f"{robot}_region_{k}", floor))
    for k in range(1, len(outlines)):
        at = (*outlines[k][0], 0.0)
        ends = (f"{robot}_region_{k}", f"{robot}_region_{k + 1}")
        graph.add_connection(Connection(f"way_{k}", *ends, "door", at, 0.9))
    return graph


def test_what_two_robots_saw_of_one_room_is_one_room_with_the_outline_of_both():
    a = of("a", square(0, 0), square(4.1, 0))
    b = of("b", square(4.2, 0.1), square(0.1, 0.1, 3.0), square(9, 0))
    team, report = merge(a, b)
    assert set(team.rooms) == {"a_region_1", "a_region_2", "b_region_3"}
    assert report.rooms["b_region_2"] == "a_region_1" and report.rooms["b_region_1"] == "a_region_2"
    assert team.places["p_b_2"].room == "a_region_1"
    assert max(x for x, _ in team.rooms["a_region_2"].polygon) == 8.2
    # Ways are numbered from one by each robot: both of b lead elsewhere, or to where a's does.
    joined = {frozenset((way.room_a, way.room_b)) for way in team.connections.values()}
    assert joined == {
        frozenset(("a_region_1", "a_region_2")),
        frozenset(("a_region_1", "b_region_3")),
    }
    again, _ = merge(team, b)
    assert set(again.rooms) == set(team.rooms)
    assert len(again.connections) == len(team.connections)


def test_neighbors_floors_and_named_rooms_stay_apart():
    a = of("a", square(0, 0))
    for other in (
        of("b", square(2.0, 0)),  # half of it
        of("b", square(0, 0), floor="upper"),
    ):
        assert len(merge(a, other)[0].rooms) == 2
    named = SceneGraph()
    named.add_room(Room("kitchen", "kitchen", "kitchen", "f", square(0, 0)))
    assert set(merge(named, a)[0].rooms) == {"kitchen", "a_region_1"}


def test_things_of_joined_rooms_are_in_the_joined_room():
    a, b = of("a", square(0, 0)), of("b", square(0, 0, 3.0))
    b.add_object(SceneObject("cup", LabelBelief.of("cup"), BOX, "b_region_1"))
    assert merge(a, b)[0].objects["cup"].room == "a_region_1"
