"""What becomes of a thing that a gripper of the lab lets go of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coterie_core.embodiment import Arm, Embodiment
from coterie_core.geometry import Box
from coterie_fixtures.tiny_house import tiny_house
from coterie_world.scene import LabelBelief
from habitat_bridge.embedded.body import Body
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.lab.hands import Grip, Hands


@pytest.fixture
def world() -> EmbeddedWorld:
    made = EmbeddedWorld(tiny_house(), seed=3, threads=1, look_on_arrival=False)
    made.add_robot("r1", Embodiment(name="cart", radius=0.2, arm=Arm()))
    return made


def let_go(world: EmbeddedWorld, thing: str, hand: tuple[float, float, float]) -> None:
    """Have the robot let go of a thing at a point of the house [m]."""
    (body,) = world.bodies
    assert isinstance(body, Body)
    world.contents.take(thing, body.name)
    body.holding = thing
    Hands(world).open(body, Grip(gap=0.0, thing=thing), hand, 0.1)


@pytest.mark.parametrize(("wide", "stands"), [(0.9, True), (0.12, False)])
def test_over_a_full_table_a_thing_comes_to_stand_on_what_is_as_wide(
    world: EmbeddedWorld, wide: float, stands: bool
) -> None:
    things = world.contents
    tray, bowl = things.things["o_book"], things.things["o_bowl"]
    tray.box = Box((7.5, 1.7, 0.46), (wide, 0.5, 0.02))
    if not stands:  # the rest of the table is full as well
        full = things.things["o_towel"]
        full.box = replace(tray.box, size=(0.94, 0.54, 0.06), center=(7.5, 1.7, 0.5))
        full.support, full.kind = "o_table", "fixture"
    let_go(world, "o_bowl", (7.5, 1.7, 0.6))
    assert (bowl.support == "o_book") is stands
    assert (bowl in things.upon("o_table")) is stands
    assert bowl.box.bottom == pytest.approx(0.47 if stands else 0.0, abs=0.01)


@pytest.mark.parametrize(
    ("bears", "high", "stands"),
    [("coffee table", 0.02, True), ("coffee table", 0.06, False), ("basket", 0.06, True)],
)
def test_over_a_full_table_a_thing_lies_over_what_is_flat_and_in_a_basket_over_all(
    world: EmbeddedWorld, bears: str, high: float, stands: bool
) -> None:
    """A toy let go over a remote control does not jump to the floor; a basket holds a heap."""
    things = world.contents
    things.things["o_table"].label = LabelBelief.of(bears)
    for name, y in (("o_book", 1.62), ("o_towel", 1.82)):
        narrow = things.things[name]
        narrow.box = Box((7.5, y, 0.45 + high / 2.0), (0.94, 0.05, high))
        narrow.support = "o_table"
    let_go(world, "o_bowl", (7.5, 1.72, 0.6))
    bowl = things.things["o_bowl"]
    assert (bowl.support == "o_table") is stands
    assert bowl.box.bottom == pytest.approx(0.45 + high if stands else 0.0, abs=0.011)


@pytest.mark.parametrize(("deep", "yaw", "stands"), [(0.1, 0.3, True), (0.5, 0.0, False)])
def test_before_what_stands_askew_a_thing_has_the_room_that_is_there(
    world: EmbeddedWorld, deep: float, yaw: float, stands: bool
) -> None:
    """Before one end of a turned television there is room, although not before all of it."""
    things = world.contents
    television = things.things["o_book"]
    television.box = Box((7.5, 1.75, 0.7), (0.9, deep, 0.5), yaw)
    (_, front, _), _ = television.box.axis_aligned()
    towel = things.things["o_towel"]
    towel.box = Box((0.0, 0.0, 0.05), (0.15, 0.15, 0.1))
    assert front - 1.425 < 0.15
    let_go(world, "o_towel", (7.85, 1.5, 0.6))
    assert (towel.support == "o_table") is stands


def test_where_there_is_room_it_lies_on_the_table_itself(world: EmbeddedWorld) -> None:
    let_go(world, "o_bowl", (7.7, 1.75, 0.6))
    bowl = world.contents.things["o_bowl"]
    assert bowl.support == "o_table" and bowl.box.bottom == pytest.approx(0.45)


@pytest.mark.parametrize(("bears", "falls_in"), [("coffee table", False), ("basket", True)])
def test_what_is_let_go_within_a_rim_falls_in_beside_the_bottom_too(
    world: EmbeddedWorld, bears: str, falls_in: bool
) -> None:
    """The bottom of a basket ends at its sides; over those a hand may let go, a table has none."""
    things = world.contents
    table = things.things["o_table"]
    table.label = LabelBelief.of(bears)
    (receptacle,) = table.receptacles
    surface = receptacle.surface
    narrow = replace(surface, size=(surface.size[0] - 0.2, *surface.size[1:]))
    table.receptacles = (replace(receptacle, surface=narrow),)
    let_go(world, "o_bowl", (table.box.center[0] + table.box.size[0] / 2.0 - 0.03, 1.75, 0.6))
    assert (things.things["o_bowl"].support == "o_table") is falls_in


@pytest.mark.parametrize(("long", "stands"), [(0.25, True), (0.5, False)])
def test_between_other_things_a_thing_stands_across_where_it_does_not_along(
    world: EmbeddedWorld, long: float, stands: bool
) -> None:
    """A strip 14 cm wide is left along one edge: room for a narrow thing turned the right way."""
    things = world.contents
    table = things.things["o_table"].receptacles[0].surface
    left, strip = table.center[0] - table.size[0] / 2.0, 0.14
    full, bowl = things.things["o_towel"], things.things["o_bowl"]
    (_, y0, _), (x1, y1, _) = table.axis_aligned()
    full.box = Box(
        ((left + strip + x1) / 2.0, (y0 + y1) / 2.0, 0.5), (x1 - left - strip, y1 - y0, 0.06)
    )
    full.support = "o_table"
    bowl.box = replace(bowl.box, size=(long, 0.1, 0.08))
    if not stands:  # it is as long as the strip, with something on that
        book = things.things["o_book"]
        book.box = Box((left + 0.07, 1.7, 0.5), (0.1, 0.1, 0.1))
        book.support = "o_table"
    let_go(world, "o_bowl", (left + 0.08, 1.7, 0.6))
    assert (bowl.support == "o_table") is stands
