"""Generated houses: every one passes the validator, the same seed gives the same house."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie_core.household import load_household
from coterie_fixtures.house_inspector import validate_house
from coterie_world.scene import from_json, to_json
from habitat_bridge.embedded.reach import reachable_rooms
from habitat_bridge.house.disturbance import LEAST, MOST, Disturbance
from habitat_bridge.house.export import house_to_json
from habitat_bridge.house.generator import generate_house
from habitat_bridge.house.house import House
from habitat_bridge.house.room_program import FEWEST
from habitat_bridge.house.usual import load_usual

HOME, USUAL = load_household(), load_usual()


@functools.cache
def plain(seed: int) -> House:
    """Return the house of a seed; several tests look at it, and none changes it."""
    return generate_house(seed)


@pytest.mark.parametrize("first", (0, 10))
def test_houses_are_valid(first):
    for seed in range(first, first + 10):
        assert validate_house(plain(seed)) == [], f"seed {seed}"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(20, 60, 20))
def test_many_more_houses_are_valid(first):
    for seed in range(first, first + 20):
        assert validate_house(plain(seed)) == [], f"seed {seed}"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**40),
    floors=st.none() | st.integers(1, 3),
    rooms=st.none() | st.integers(4, 25),
)
def test_any_possible_request_is_met(seed, floors, rooms):
    if floors and rooms and rooms < FEWEST[floors]:
        with pytest.raises(ValueError, match="floors need at least"):
            generate_house(seed, floors=floors, rooms=rooms)
        return
    house = generate_house(seed, floors=floors, rooms=rooms)
    assert floors is None or len(house.floors) == floors
    assert rooms is None or len(house.rooms) == rooms
    assert 4 <= len(house.rooms) <= 25
    assert validate_house(house) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"floors": 5}, "floors: expected 1 to 3"),
        ({"floors": 0}, "floors: expected 1 to 3"),
        ({"rooms": 30}, "rooms: expected 4 to 25"),
        ({"rooms": 3}, "rooms: expected 4 to 25"),
        ({"rooms": 4, "floors": 3}, "3 floors need at least 6 rooms"),
        ({"clutter": 9.0}, "clutter"),
    ],
)
def test_impossible_requests_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        generate_house(1, **arguments)


def test_a_seed_below_zero_is_refused():
    with pytest.raises(ValueError, match="seed"):
        generate_house(-1)


def test_the_same_seed_gives_the_same_house():
    assert house_to_json(generate_house(11)) == house_to_json(generate_house(11))
    assert house_to_json(generate_house(11)) != house_to_json(generate_house(12))


def test_houses_have_what_homes_have():
    types: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    widths = []
    for seed in range(24):
        house = plain(seed)
        kinds = {room.type for room in house.rooms}
        assert {"kitchen", "living room", "bedroom", "bathroom"} <= kinds
        assert len(house.objects) >= 60
        types.update(kinds)
        labels.update({thing.label.top for thing in house.objects})
        widths += [door.width for door in house.doors]
        for thing in house.objects:
            assert thing.label.top in HOME.categories
            assert thing.kind == HOME.categories[thing.label.top].kind
            for receptacle in thing.receptacles:
                assert receptacle.id.startswith(thing.id + "/")
    assert len(types) >= 15
    assert len(labels) >= 130
    mele = {"dumbbells", "jumprope", "tv remote", "wristwatch", "playing cards", "appliance"}
    assert mele <= set(labels)
    narrow = [w for w in widths if w < 0.7]
    assert 0.02 < len(narrow) / len(widths) < 0.25
    assert all(0.55 <= w <= 2.3 for w in widths)


def test_names_are_unique_and_plain_where_single():
    house = generate_house(7, floors=2, rooms=16)
    names = [room.name for room in house.rooms]
    assert len(set(names)) == len(names)
    for room in house.rooms:
        same = [r for r in house.rooms if r.type == room.type]
        assert (room.name[-1].isdigit()) == (len(same) > 1)
        assert HOME.room_type(room.name) == room.type


def test_stairs_stop_wheels_and_not_legs():
    house = generate_house(5, floors=3, rooms=14)
    assert reachable_rooms(house, 0.25) == {room.id for room in house.rooms}
    on_wheels = reachable_rooms(house, 0.25, climbs=False)
    assert len({house.room(name).floor for name in on_wheels}) == 1
    for stairs in house.stairs:
        assert 0.15 <= stairs.riser <= 0.20
        low, high = stairs.bottom[2], stairs.top[2]
        assert high - low == pytest.approx(stairs.riser * (len(stairs.treads) + 1), abs=1e-3)


def test_a_narrow_door_stops_a_wide_base():
    """Some house has a room that a base of 0.36 m radius cannot enter and one of 0.25 m can."""
    stopped = 0
    for seed in range(12):
        house = generate_house(seed, floors=1)
        narrow = reachable_rooms(house, 0.25)
        stopped += len(narrow - reachable_rooms(house, 0.36))
    assert stopped > 0


def test_things_lie_where_they_usually_do_but_not_always():
    """Kitchens have what kitchens have; and no house is exactly the common numbers."""
    houses = [plain(seed) for seed in range(30)]
    usual = odd = 0
    for house in houses:
        for thing in house.objects:
            if thing.kind == "item":
                prior = HOME.likelihood(thing.label.top, house.room(thing.room).type)
                usual += prior >= 0.3
                odd += prior <= 0.06
    assert usual > 6 * odd
    assert odd > 30


def test_containers_hide_and_some_stand_open():
    things = [t for seed in range(10) for t in plain(seed).objects]
    containers = [t for t in things if t.is_open is not None]
    assert any(t.is_open for t in containers)
    assert sum(bool(t.is_open) for t in containers) < 0.2 * len(containers)
    assert all(any(r.inside for r in t.receptacles) for t in containers)
    assert sum(bool(t.container) for t in things) > 50


def test_receptacles_are_at_true_heights():
    heights: dict[str, list[float]] = {}
    for seed in range(8):
        house = plain(seed)
        levels = {f.id: f.elevation for f in house.floors}
        for thing in house.objects:
            floor = levels[house.room(thing.room).floor]
            for receptacle in thing.receptacles:
                z = receptacle.surface.center[2] - floor
                assert -1e-6 <= z <= 2.0 + 1e-6
                assert receptacle.surface.size[2] == 0.0
                heights.setdefault(thing.label.top, []).append(z)
    for label, usual in (("table", 0.75), ("counter", 0.9), ("bed", 0.5), ("chair", 0.44)):
        assert all(LEAST**2 * usual < z < 1.1 * MOST**2 * usual for z in heights[label]), label
        assert max(heights[label]) - min(heights[label]) > 0.1, "houses differ"
    assert max(heights["bookcase"]) > 1.5 and min(heights["bookcase"]) < 0.2


def test_sizes_are_not_those_that_are_usual():
    """More than half of the things are larger or smaller than the ranges; a house's are alike."""
    outside = []
    for seed in range(20):
        for thing in plain(seed).objects:
            ranges = USUAL[thing.label.top].size
            if thing.label.top in ("railing", "rug"):
                continue  # as long as the well is; as large as there is room
            depth, width, height = thing.box.size
            for side, (low, high) in zip((width, depth, height), ranges, strict=True):
                assert 0.7 * low < side < MOST * high + 1e-3, thing.id
            outside.append(
                any(
                    not low - 1e-3 <= side <= high + 1e-3
                    for side, (low, high) in zip((width, depth, height), ranges, strict=True)
                )
            )
    assert sum(outside) > len(outside) / 2
    chairs = [t for t in plain(8).objects if t.label.top == "chair"]
    assert len(chairs) > 1 and len({t.properties["level"] for t in chairs}) == 1


def test_every_category_that_is_placed_has_a_size():
    placed = {c.label for c in HOME.categories.values() if c.shape != "none"}
    assert placed == set(USUAL)
    for label, usual in USUAL.items():
        assert all(0.0 < low <= high < 6.0 for low, high in usual.size), label
        hung = HOME.categories[label].place in ("hung", "above", "window") and label != "door"
        assert (usual.height is not None) == hung, label


def test_each_house_has_habits_of_its_own():
    """Where a kind of thing usually lies differs from house to house, for one seed never."""
    names = list(HOME.categories)
    one, same, other = (Disturbance(np.random.default_rng(k), names) for k in (1, 1, 2))
    shares = [d.habit("mug", "counter") / d.habit("mug", "table") for d in (one, same, other)]
    assert shares[0] == shares[1] != shares[2]
    tilts = [one.habit(label, owner) for label in names[:20] for owner in (*names[:20], "floor")]
    assert max(tilts) > 2.0 and min(tilts) < 0.5 and 0.9 < float(np.median(tilts)) < 1.1


def test_without_clutter_there_is_furniture_only():
    house = generate_house(3, clutter=0.0)
    assert not [t for t in house.objects if t.kind == "item"]
    assert [t for t in house.objects if t.kind == "furniture"]
    assert validate_house(house) == []


def test_truth_is_a_scene_graph_of_its_own():
    house = generate_house(2)
    graph = house.truth()
    assert from_json(to_json(graph)) == graph
    assert len(graph.connections) == len(house.doors) + len(house.stairs)
    first = house.objects[0]
    graph.objects[first.id].is_open = True
    graph.objects[first.id].properties["mount"] = "changed"
    assert first.properties["mount"] != "changed"


def test_every_process_makes_the_same_house():
    """Nothing hangs on the order of sets, which differs from process to process."""
    code = (
        "from habitat_bridge.house.export import house_to_json\n"
        "from habitat_bridge.house.generator import generate_house\n"
        "import hashlib; text = house_to_json(generate_house(5, rooms=12)).encode()\n"
        "print(hashlib.sha256(text).hexdigest())"
    )
    found = set()
    for seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout.strip())
    here = house_to_json(generate_house(5, rooms=12)).encode()
    assert found == {hashlib.sha256(here).hexdigest()}
