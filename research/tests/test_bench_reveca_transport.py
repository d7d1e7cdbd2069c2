"""The transport world: turning, the cone of view, containers; layouts of ThreeDWorld."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path

import pytest

from coterie_core.cooperation import GoTo, Grab, Put, Turn
from research.bench.reveca.baseline_coela import TextAgent
from research.bench.reveca.baseline_rhp import RuleAgent
from research.bench.reveca.environment import run_episode
from research.bench.reveca.layouts import LayoutError, generated_layout, tdw_files, tdw_layout
from research.bench.reveca.methods import METHODS
from research.bench.reveca.transport import (
    AS_ORIGINAL,
    SECTORS,
    TURN,
    TransportOptions,
    TransportWorld,
)

TDW = Path(__file__).parents[3] / "shared/data/tdw_mat/dataset_train"


def world_of(seed=0, **options):
    world = TransportWorld(TransportOptions(**options))
    return world, world.reset(seed)


def walk(world, name, target, spot=None):
    for _ in range(2000):
        result = world.step({name: GoTo(target, spot)})[name].result
        if result.done:
            return result
    raise AssertionError("never arrives")


def test_one_sees_ahead_and_knows_a_room_after_a_full_turn():
    world, _ = world_of(agents=1)
    body = world.bodies["Ada"]
    seen, turns = set(), 0
    percept = world.percepts()["Ada"]
    while not percept.covered:
        for thing in percept.things:
            dx = thing.spot.position[0] - body.spot.position[0]
            dy = thing.spot.position[1] - body.spot.position[1]
            off = math.degrees(math.atan2(dy, dx)) - percept.heading
            assert math.hypot(dx, dy) <= 1.2 or abs((off + 180) % 360 - 180) <= 45.0
            seen.add(thing.id)
        percept = world.step({"Ada": Turn(TURN)})["Ada"]
        turns += 1
    assert turns == SECTORS - 2 * 45 // TURN - 1  # what the first look shows need not be turned to
    assert percept.covered == (body.spot.room,)
    assert {t.id for t in percept.things} == {t.id for t in world._view(body.spot.room)} >= seen
    assert not world.step({"Ada": Turn(TURN)})["Ada"].covered  # only once a visit
    bad = world.step({"Ada": Turn(90)})["Ada"].result
    assert not bad.ok and "15" in bad.text


def test_containers_carry_three_things_and_are_emptied_at_the_goal():
    world, _ = world_of(agents=1)
    target = world.goal.subgoals[0].target
    carrier = next(t for t in world.things.values() if t.kind == "container" and t.portable)
    food = [t for t in world.things.values() if t.label in world.goal.items][:4]
    for thing in (carrier, *food):
        walk(world, "Ada", thing.id, thing.spot)
        result = world.step({"Ada": Grab(thing.id)})["Ada"].result
        assert result.ok, result.text
        if thing is not carrier:
            percept = world.step({"Ada": Put(thing.id, carrier.id, "in")})["Ada"]
            if thing is food[3]:
                assert percept.result.reason == "full" and thing.id in percept.hands
            else:
                assert percept.result.ok and thing.id not in percept.hands
                assert thing.id in {t.id for t in percept.things}  # one sees what one carries
    assert world.bodies["Ada"].hands == (carrier.id, food[3].id)
    walk(world, "Ada", target, world.things[target].spot)
    assert world.step({"Ada": Put(carrier.id, target, "on")})["Ada"].result.ok
    assert world.bodies["Ada"].hands == (carrier.id, food[3].id)  # emptied, not put down
    assert all(world.things[t.id].parent == target for t in food[:3])
    assert world.metrics().placed == (3, 10) and world.metrics().groups["food"] == (3, 10)
    again = world.step({"Ada": Grab(food[0].id)})["Ada"].result
    assert not again.ok and again.reason == "hands_full"


@pytest.mark.parametrize("kind", [RuleAgent, TextAgent])
def test_agents_bring_all_ten_and_repeat_exactly(kind):
    def play():
        world = TransportWorld()
        team = {name: kind(name) for name in world.team}
        return asyncio.run(run_episode(world, team, 1))

    first = play()
    assert first.success and first.groups == {"stuff": (10, 10)} and first == play()


def test_generated_episodes_are_as_the_paper_has_them():
    for seed in range(6):
        layout = generated_layout(seed)
        assert layout.goal.total == 10 and layout.goal.kind == "transport"
        containers = [t for t in layout.items.values() if t.kind == "container"]
        assert 2 <= len(containers) <= 5 and all(t.portable for t in containers)
        assert {g.group for g in layout.goal.subgoals} == {("food", "stuff")[seed % 2]}


def tdw_file(folder, name="9z_0_0", **changes):
    objects = [
        {"$type": "add_object", "name": n, "position": {"x": x, "y": 0.4, "z": z}, "id": k}
        for k, (n, x, z) in enumerate(
            [
                ("apple", 0, 0),
                ("b03_burger", 1, 1),
                ("small_purse", 9, 0),
                ("my_new_fruit_bowl_01", 1, 0),
                ("wicker_basket", 8, 1),
                ("apple", 9, 9),
            ]
        )
    ]
    rooms = ["Kitchen", "Kitchen", "Office", "Kitchen", "Office", "Kitchen"]
    meta = {
        "object_room_list": [[o["name"], r] for o, r in zip(objects, rooms, strict=True)],
        "0": {"x": 0, "y": 0, "z": 2},
        "1": {"x": 8, "y": 0, "z": 2},
    }
    meta.update(changes)
    path = folder / f"{name}.json"
    path.write_text(json.dumps([{"$type": "step_physics"}, *objects]))
    path.with_name(f"{name}_metadata.json").write_text(json.dumps(meta))
    return path


def test_rooms_are_rebuilt_around_the_objects(tmp_path):
    layout = tdw_layout(tdw_file(tmp_path), "food")
    rooms = layout.home.ways.rooms
    # The two kitchens are 12 m apart: two rooms of one name.
    assert set(rooms) == {"kitchen-1", "kitchen-2", "office-1"}
    assert layout.items["apple-1"].spot.room == "kitchen-1"
    assert layout.items["apple-2"].spot.room == "kitchen-2"
    assert layout.items["purse-1"].spot.position == (9.0, 0.0, 0.0)
    assert {str(g) for g in layout.goal.subgoals} == {"ON(apple, bed-1): 2", "ON(burger, bed-1): 1"}
    kinds = {t.label: t.kind for t in layout.items.values()}
    assert kinds["my new fruit bowl"] == "container" and "wicker basket" not in kinds
    assert layout.starts[0].room == "kitchen-1" and layout.starts[1].room == "office-1"
    for a in rooms.values():
        for b in rooms.values():
            assert math.isfinite(layout.home.ways.distance(a.spot, b.spot))


def test_all_rooms_of_a_floor_plan_are_there_and_the_bed_is_in_the_bedroom(tmp_path):
    file = tdw_file(tmp_path, floorplan_scene_name="9z", floorplan_layout=1)
    plain = tdw_layout(file, "food")
    assert "bedroom-1" not in plain.home.ways.rooms
    plans = [["Office"], ["Kitchen", "Bedroom", "Office", "Livingroom", "Livingroom"]]
    (tmp_path / "room_types.json").write_text(json.dumps({"9": plans}))
    tdw_layout.cache_clear()
    layout = tdw_layout(file, "food")
    rooms = layout.home.ways.rooms
    # One kitchen only, says the list: the two groups of its objects, 12 m apart, are one room.
    assert sorted(rooms) == ["bedroom-1", "kitchen-1", "livingroom-1", "livingroom-2", "office-1"]
    assert layout.home.fixed["bed-1"].spot.room == "bedroom-1"
    for a in rooms.values():
        for b in rooms.values():
            assert math.isfinite(layout.home.ways.distance(a.spot, b.spot))
    (tmp_path / "room_types.json").write_text('{"9": []}')
    tdw_layout.cache_clear()
    with pytest.raises(LayoutError, match=r"room_types.json: no rooms for floor plan '9'"):
        tdw_layout(file, "food")


def test_handling_takes_its_steps_and_containers_stay_at_the_bed():
    world, _ = world_of(agents=1, grasp=3, load=4, drop=2, lost=True)
    target = world.goal.subgoals[0].target
    carrier = next(t for t in world.things.values() if t.kind == "container" and t.portable)
    food = next(t for t in world.things.values() if t.label in world.goal.items)

    def until_done(action):
        for count in range(1, 9):
            result = world.step({"Ada": action})["Ada"].result
            assert result.ok, result.text
            if result.done:
                return count
        raise AssertionError("never done")

    for thing in (carrier, food):
        walk(world, "Ada", thing.id, thing.spot)
        assert until_done(Grab(thing.id)) == 3
    assert until_done(Put(food.id, carrier.id, "in")) == 4
    walk(world, "Ada", target, world.things[target].spot)
    assert until_done(Put(carrier.id, target, "on")) == 2
    assert world.bodies["Ada"].hands == () and world.things[carrier.id].parent == target
    assert world.things[food.id].parent == target and world.metrics().placed[0] == 1
    for _ in range(3):
        result = world.step({"Ada": Grab(carrier.id)})["Ada"].result
    assert result.reason == "not_portable"


@pytest.mark.parametrize("name", ["reveca", "rhp", "mhp", "nearest", "coela", "oracle"])
def test_everybody_copes_with_containers_that_stay(name):
    world = TransportWorld(AS_ORIGINAL)
    team = METHODS[name].make(world, None)
    metrics = asyncio.run(run_episode(world, team, 3))
    assert metrics.success
    assert set(world.rates) == {"total_750", "total_1500"}
    assert world.rates["total_750"] <= world.rates["total_1500"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"object_room_list": [["apple", "Kitchen"]]}, "names the rooms of 1"),
        ({"0": {"x": "here"}}, "position"),
    ],
)
def test_broken_layouts_are_named(tmp_path, changes, said):
    with pytest.raises(LayoutError, match=said):
        tdw_layout(tdw_file(tmp_path, **changes), "food")
    with pytest.raises(LayoutError, match="no layouts"):
        tdw_files(tmp_path / "nowhere")


def test_a_folder_without_a_list_stands_for_both_tasks(tmp_path):
    tdw_file(tmp_path)
    assert [task for _, task in tdw_files(tmp_path)] == ["food", "stuff"]
    (tmp_path / "test_env.json").write_text('[{"scene": "9z", "layout": "0_0", "task": "toys"}]')
    with pytest.raises(LayoutError, match="food or stuff"):
        tdw_files(tmp_path)


@pytest.mark.skipif(not TDW.is_dir(), reason="the TDW-MAT layouts are not there")
def test_all_published_layouts_load_and_one_runs():
    files = tdw_files(TDW)
    assert len(files) == 24
    for file, task in files:
        layout = tdw_layout(file, task)
        assert layout.goal.total == 10
        assert {g.group for g in layout.goal.subgoals} == {task}
    world = TransportWorld(TransportOptions(folder=TDW))
    team = {name: RuleAgent(name) for name in world.team}
    assert asyncio.run(run_episode(world, team, 3)).success
