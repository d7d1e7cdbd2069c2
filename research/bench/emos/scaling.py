"""Scaling experiments: the same episode with more robots, more objects, other forms (EMOS, C.6)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, get_args

from coterie_core.resume_text import ResumeFormat
from coterie_core.tasks import Predicate, SubTask
from coterie_execution.geometry.toolbox import Toolbox
from coterie_world.scene import SceneGraph
from coterie_world.sightings import as_thing
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from research.bench.emos.episodes import (
    APART,
    Episode,
    Goal,
    Robot,
    resume_of_kind,
)
from research.bench.emos.jobs import Job, run_job
from research.bench.emos.words import reference, sentence

Vary = Literal["robots", "objects", "form"]
"""What a scaling experiment varies."""
ROBOTS = (2, 4, 6, 10)
OBJECTS = (1, 2, 3, 5)
FORMS: tuple[ResumeFormat, ...] = get_args(ResumeFormat)
OBJECT_TRIES = 4
"""Choices of further objects that are tried per episode."""
_CLOSEST = 0.7
"""Robots of a crowd may start as near as this [m]: between their middles."""


def with_robots(episode: Episode, count: int) -> Episode | None:
    """Return the episode with `count` robots: more of its kinds in turn; None without free spots.

    Fewer than it has are an episode without its last robots.
    """
    robots = list(episode.robots[:count])
    if len(robots) < count:
        truth = _truth(episode)
        kinds = [robot.kind for robot in episode.robots]
        tools = Toolbox(truth, {kind: resume_of_kind(kind) for kind in kinds})
        level = robots[0].start[2]
        spots = [p.position for p in truth.places.values() if abs(p.position[2] - level) < 0.5]
        random.Random(f"{episode.id} robots").shuffle(spots)
        for k in range(len(robots), count):
            kind = kinds[k % len(kinds)]
            space = tools.kind(kind).space
            spot = next(
                (
                    s
                    for gap in (APART, _CLOSEST)
                    for s in spots
                    if space.stand(s) is not None
                    and all(math.dist(s, other.start) >= gap for other in robots)
                ),
                None,
            )
            if spot is None:
                return None
            robots.append(Robot(name=f"{kind}_{k + 1}", kind=kind, start=spot))
    return episode.model_copy(update={"id": f"{episode.id}-robots{count}", "robots": tuple(robots)})


def with_objects(episode: Episode, count: int, attempt: int = 0) -> Episode | None:
    """Return the episode with `count` things to rearrange; None if there are no more.

    Further things go to the receptacle of the goal whose robot can bring them; another `attempt`
    chooses others.
    """
    goals = list(episode.goals[:count])
    if any(goal.predicate.name != "object_at_receptacle" for goal in goals):
        return None
    if len(goals) < count:
        truth = _truth(episode)
        tools = Toolbox(truth, {r.name: resume_of_kind(r.kind) for r in episode.robots})
        starts = {robot.name: robot.start for robot in episode.robots}
        taken = {g.predicate.object.id for g in goals if g.predicate.object}
        things = [t for t in truth.objects.values() if t.kind == "item" and not t.container]
        random.Random(f"{episode.id} objects {attempt}").shuffle(things)
        for thing in things:
            goal = episode.goals[len(goals) % len(episode.goals)]
            place, item = goal.predicate.receptacle, as_thing(thing)
            assert place is not None
            if thing.id in taken or thing.support == place.id or reference(thing, truth) is None:
                continue
            pick = SubTask(id="p", kind="pick", object=item)
            put = SubTask(id="q", kind="place", object=item, receptacle=place)
            start = starts[goal.right]
            if not tools.estimate(goal.right, pick, start).feasible:
                continue
            if not tools.estimate(goal.right, put, start, holding=thing.id).feasible:
                continue
            taken.add(thing.id)
            predicate = Predicate(name="object_at_receptacle", object=item, receptacle=place)
            goals.append(Goal(predicate=predicate, right=goal.right, swapped=goal.swapped))
            if len(goals) == count:
                break
        else:
            return None
    words = sentence([goal.predicate for goal in goals], _truth(episode))
    if words is None:
        return None
    return episode.model_copy(
        update={
            "id": f"{episode.id}-objects{count}",
            "goals": tuple(goals),
            "words": words,
        }
    )


def solvable(episode: Episode, count: int) -> Episode | None:
    """Return the episode with so many things that the right assignment can bring all of them."""
    for attempt in range(OBJECT_TRIES):
        larger = with_objects(episode, count, attempt)
        if larger is None or len(larger.goals) <= len(episode.goals):
            return larger
        if run_job(Job(larger, "oracle"))["success"]:
            return larger
    return None


def scaling_jobs(episodes: Sequence[Episode], vary: Vary, base: Job) -> Iterator[Job]:
    """Yield the runs of a scaling experiment; in all that it does not vary they are as `base`."""
    for episode in episodes:
        one = replace(base, episode=episode, vary=vary)
        if vary == "form":
            for form in FORMS:
                yield replace(one, form=form, value=form)
            continue
        larger, counts = (with_robots, ROBOTS) if vary == "robots" else (solvable, OBJECTS)
        for count in counts:
            found = larger(episode, count)
            if found is not None:
                yield replace(one, episode=found, value=str(count))


def _truth(episode: Episode) -> SceneGraph:
    house = generate_house(episode.house, floors=episode.floors)
    return EmbeddedWorld(house, seed=episode.house).truth()
