"""Noise that can matter: look-alikes, confused labels, closed boxes."""

import pytest

from coterie_core.cooperation import GoTo
from research.bench.reveca.activities import BROKEN
from research.bench.reveca.bodies import HouseholdOptions
from research.bench.reveca.environment import run_episode
from research.bench.reveca.household import HouseholdWorld
from research.bench.reveca.methods import METHODS


def made(seed, **options):
    world = HouseholdWorld(HouseholdOptions(agents=2, hidden=False, **options))
    world.reset(seed)
    return world


def seen_by(world, name="Ada"):
    return {thing.id: thing.label for thing in world.percepts()[name].things}


@pytest.mark.parametrize("options", [{"lookalikes": 6}, {"confused": 0.5}])
def test_from_afar_things_are_taken_for_others_and_near_by_they_are_known(options):
    checked = 0
    for seed in range(40, 46):
        world = made(seed, **options)
        assert world._guises
        for id_, guise in list(world._guises.items()):
            thing = world.things[id_]
            assert guise != thing.label
            if "lookalikes" in options:
                assert thing.label.startswith(BROKEN) and guise in world.goal.items
                assert thing.label not in world.goal.items
            world.bodies["Ada"].spot = world.home.ways.rooms[thing.spot.room].spot
            world._known["Ada"].clear()
            if not world._near(world.bodies["Ada"], thing):
                assert seen_by(world)[id_] == guise
            for _ in range(100):
                if world.step({"Ada": GoTo(id_, thing.spot)})["Ada"].result.done:
                    break
            assert seen_by(world)[id_] == thing.label
            world.bodies["Ada"].spot = world.home.ways.rooms[thing.spot.room].spot
            assert seen_by(world)[id_] == thing.label  # once known it stays so
            assert id_ not in world._known["Bob"] or world._near(world.bodies["Bob"], thing)
            checked += 1
    assert checked > 10


async def test_broken_things_are_not_brought_and_the_goal_is_met():
    for seed in range(50, 54):
        world = HouseholdWorld(HouseholdOptions(agents=2, lookalikes=8))
        metrics = await run_episode(world, METHODS["reveca"].make(world, None), seed)
        assert metrics.success
        ends = [t for t in world.things.values() if t.label in world.goal.items]
        assert all(not t.label.startswith(BROKEN) for t in ends)


def test_boxes_are_closed_and_some_hide_what_is_needed():
    hidden = 0
    for seed in range(12):
        world = HouseholdWorld(HouseholdOptions(agents=2, boxes=20))
        world.reset(seed)
        boxes = {id_ for id_, t in world.things.items() if t.label == "box"}
        assert len(boxes) == 20 and all(world.things[b].is_open is False for b in boxes)
        hidden += sum(
            t.parent in boxes and t.label in world.goal.items for t in world.things.values()
        )
    assert hidden > 0


def test_a_house_is_another_one_for_every_seed_and_hashes_tell_episodes_apart():
    first, again, other = made(7), made(7), made(12)
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()
    again.step({"Ada": GoTo(next(iter(again.home.ways.rooms)))})
    assert first.fingerprint() == again.fingerprint()  # of the beginning, whatever happens then
