"""The oracle of the REVECA bench: counts steps as the world does, finds the best, bounds others."""

import asyncio
import itertools

import pytest

from research.bench.reveca.environment import run_episode
from research.bench.reveca.episodes import run_one
from research.bench.reveca.methods import METHODS, make_world
from research.bench.reveca.oracle_loads import divide_loads
from research.bench.reveca.oracle_tours import Job, Tours


def planned(world, seed, agents=1):
    """Play an episode of the oracle; return its steps, and those that its plan promised."""
    place = make_world(world, agents)
    team = METHODS["oracle"].make(place, None)
    metrics = asyncio.run(run_episode(place, team, seed))
    assert metrics.success
    return metrics.steps, max(tour.steps for tour in team["Ada"]._plans.values())


@pytest.mark.parametrize("world", ["household", "known"])
def test_one_agent_takes_the_steps_that_its_plan_promised(world):
    for seed in range(25):
        steps, promised = planned(world, seed)
        assert steps == promised, seed


def brute_force(job, start, items):
    """Fewest steps to bring all of two or three things, by trying every order of what to do."""
    events = [(kind, item) for item in items for kind in ("fetch", "put")]
    best = float("inf")
    for order in itertools.permutations(events):
        held, here, steps, opened = [], start, 0.0, set()
        for kind, item in order:
            thing = job.things[item]
            if (kind == "put" and item not in held) or (kind == "fetch" and len(held) == 2):
                break
            place = job.targets[item][0]
            far, here = job.walk(here, (thing if kind == "fetch" else place).spot)
            box = job.things.get(thing.parent) if kind == "fetch" else place
            shut = box is not None and box.is_open is False and box.id not in opened
            opened |= {box.id} if box is not None else set()
            steps += far + 1 + shut
            held = [*held, item] if kind == "fetch" else [x for x in held if x != item]
        else:
            best = min(best, steps)
    return best


def test_tours_are_the_shortest():
    checked = 0
    for seed in range(20):
        world = make_world("household", 1)
        briefing = world.reset(seed)["Ada"]
        job = Job(world.things, briefing)
        items = [item for free, _ in job.groups for item in free]
        if any(len(free) != n for free, n in job.groups):
            continue
        if any(len(job.targets[item]) > 1 for item in items):
            continue
        start = world.bodies["Ada"].spot
        found = Tours(job, items).from_(start)
        for n in (1, 2, 3):
            for some in list(itertools.combinations(items, n))[:4]:
                assert found[frozenset(some)].steps == brute_force(job, start, some), (seed, some)
                checked += 1
    assert checked > 20


@pytest.mark.parametrize("world", ["household", "open", "known"])
def test_nobody_is_faster_than_the_oracle(world):
    for seed in [*range(8), 26, 46, 62, 67, 72, 97]:
        bound = run_one(world, "oracle", seed)["simulation_steps"]
        for method in ("reveca", "no_talk", "rhp"):
            assert bound <= run_one(world, method, seed)["simulation_steps"], (seed, method)


def test_nobody_is_faster_where_containers_carry():
    for seed in (0, 1, 7):
        bound = run_one("transport", "oracle", seed)
        assert bound["success"]
        for method in ("reveca", "rhp"):
            other = run_one("transport", method, seed)["simulation_steps"]
            assert bound["simulation_steps"] <= other


@pytest.mark.parametrize("agents", [1, 2, 3, 5])
def test_any_number_shares_the_loads(agents):
    steps, promised = planned("transport", 2, agents)
    assert abs(steps - promised) <= 0.2 * promised  # one stops within reach, not at the thing


def test_loads_of_another_kind_are_refused():
    place = make_world("transport", 1)
    job = Job(place.things, place.reset(0)["Ada"])
    job.groups[0] = (job.groups[0][0], job.groups[0][1] - 1)
    with pytest.raises(ValueError, match="all of them needed"):
        divide_loads(job, {})
