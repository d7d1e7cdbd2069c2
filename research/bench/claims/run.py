"""Runs one task of the bench of claims in lockstep, and compares what is claimed with the truth."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

from coterie_core.household import load_household
from coterie_core.resume import Resume
from coterie_fixtures.emos_team import run_team
from coterie_requests.understanding import NotUnderstood
from coterie_world.association import SIGHTING
from coterie_world.scene import SceneGraph
from coterie_world.team_map import TeamMap
from emos_planner.leader.leader import Leader, rules_decider
from emos_planner.leader.options import LeaderOptions
from emos_planner.robot.agent import RobotAgent
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.prior import prior_map
from habitat_bridge.robots import EMBODIMENTS
from research.bench.claims.cases import ALL, TEAMS, Case, house_of
from research.bench.claims.truth import false_claim, matching, possible, truth_of

DT = 0.5
"""Length of a step [s]."""
MAX_STEPS = 3600
"""Steps after which a task ends: half an hour."""
ANSWER_TIMEOUT = 3600.0
"""How long a robot may take for an answer [s of the machine]: a busy machine changes no result."""


async def run_case(case: Case) -> dict[str, Any]:
    """Let a team do a task; return what it claims, what is so, and what was possible."""
    begun = time.process_time()
    noise = DetectorNoise.none() if case.detector == "perfect" else DetectorNoise.normal()
    world = EmbeddedWorld(house_of(case.house), seed=case.house, noise=noise, threads=1)
    record: dict[str, Any] = case.data
    try:
        resumes = {
            name: Resume.of_embodiment(EMBODIMENTS[body].model_copy(update={"name": name}))
            for name, body in TEAMS[case.team]
        }
        for name, resume in resumes.items():
            world.add_robot(name, resume.embodiment())
        before = world.truth()
        able = possible(case, before, resumes)
        scene = prior_map(before, case.prior)
        agents = {
            name: RobotAgent(name, resume, rules_decider(name), TeamMap(scene, name))
            for name, resume in resumes.items()
        }
        options = LeaderOptions(reflect_timeout=ANSWER_TIMEOUT)
        leader = Leader(rules_decider(), scene, resumes, options=options)
        try:
            run = await run_team(
                world, leader, dict(agents), case.words, max_steps=MAX_STEPS, dt=DT
            )
        except NotUnderstood as error:
            return record | {"state": "refused", "message": str(error)[:300]}
        outcome = run.outcome
        truth = truth_of(case, before, world.truth())
        state, said = outcome.state.value, outcome.present
        if case.kind in ALL and _says_none(leader):
            said = False
        record |= {
            "state": state,
            "said_yes": said,
            "false": false_claim(case, state, said, outcome.achieved, truth),
            "achieved": outcome.achieved,
            "wanted": outcome.wanted,
            "not_searched": list(outcome.not_searched),
            "left": round(_left(leader), 4),
            "searched": _searched(leader),
            "unseen": _unseen(case, before, world.truth(), leader, agents.values()),
            "met": truth.met,
            "there": truth.there,
            "right": truth.right,
            "possible": able.things,
            "searchable": able.search,
            "steps": run.steps,
            "simulated": run.time,
            "skills": sum(run.skills.values()),
            "held": sum(1 for a in agents.values() if a.holding),
            "message": outcome.message[:600],
        }
    finally:
        world.close()
    return record | {"cpu": time.process_time() - begun}


def _says_none(leader: Leader) -> bool:
    """Whether the leader says that all was looked over and none of the things is there."""
    understood = leader.progress.graph
    return bool(understood.wants) and all(
        not want.assigned
        and not want.satisfied
        and want.rooms
        and understood.book.is_enough(want.label, want.rooms)
        for want in understood.wants
    )


def _searched(leader: Leader) -> bool:
    """Tell whether anything was searched for, so that "left" says what is believed unseen."""
    return any(want.rooms for want in leader.progress.graph.wants)


def _unseen(
    case: Case,
    before: SceneGraph,
    after: SceneGraph,
    leader: Leader,
    agents: Iterable[RobotAgent],
) -> int:
    """Return how many of the things that a task is about no map of the team shows at its end."""
    canonical = load_household().canonical
    known = [
        (canonical(o.label.top), o.box.center)
        for scene in (leader.scene, *(agent.map.scene for agent in agents))
        for o in scene.objects.values()
    ]
    return sum(
        not any(
            kind == canonical(thing.label.top)
            and min(math.dist(at, p) for p in places) <= SIGHTING.distance_m
            for kind, at in known
        )
        for thing in matching(case, before)
        for places in [(thing.box.center, after.objects[thing.id].box.center)]
    )


def _left(leader: Leader) -> float:
    """Return the expected number of things that the leader believes unseen."""
    understood = leader.progress.graph
    return sum(
        understood.book.left(want.label, want.rooms) for want in understood.wants if want.rooms
    )
