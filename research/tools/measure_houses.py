"""What a team gets done in generated houses without ROS: work, cooperation, answers, finding.

    python -m research.tools.measure_houses --seed 83500 --houses 8 --out out/houses.jsonl

Rooms are known beforehand, and what is in them is not; the detector errs as usual; the rules
decide. Run it at two versions with the same seeds to see what a change of the houses, or of the
robots, comes to.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from coterie_core.cooperation import Goal
from coterie_core.resume import Resume
from coterie_fixtures.emos_team import Agent, run_team
from coterie_fixtures.house_team import HouseTeam
from coterie_llm import ModelProfile, UsageMeter
from coterie_world.team_map import TeamMap
from emos_planner.leader.leader import Leader, rules_decider
from emos_planner.leader.options import LeaderOptions
from emos_planner.robot.agent import RobotAgent
from habitat_bridge.embedded.detector import DetectorNoise
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.prior import prior_map
from habitat_bridge.robots import EMBODIMENTS
from research.bench.common.intervals import share_interval
from research.bench.lab.works import Errand, errands, shared_goals
from research.bench.models.works import Answering, mele, objects

TEAM = {name: EMBODIMENTS[name].model_copy(update={"name": name}) for name in ("wheels", "slim")}
PARTS = ("do", "cooperate", "explore", "find")
ROOMS, ERRANDS, MAX_TIME = 5, 3, 600.0


@dataclass(frozen=True, slots=True)
class Row:
    """How much of one thing that was asked for in a house was right, of how much, and in words."""

    house: int
    what: str
    right: int
    of: int
    told: str = ""
    time: float = 0.0


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=83500, help="seed of the first house")
    parser.add_argument("--houses", type=int, default=8)
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=Path("out/houses.jsonl"))
    chosen = parser.parse_args()
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for seed in range(chosen.seed, chosen.seed + chosen.houses):
        for row in measure(seed, chosen.parts.split(",")):
            rows.append(row)
            with chosen.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row)) + "\n")
    print(table(rows))


def measure(seed: int, parts: Sequence[str]) -> Iterator[Row]:
    """Ask a team for everything in a house, one thing after the other."""
    work = _errands(seed)
    if "do" in parts:
        for errand in work[:ERRANDS]:
            yield from asyncio.run(_do(seed, errand))
    if "cooperate" in parts:
        for goal, those in shared_goals(work, ERRANDS):
            yield asyncio.run(_cooperate(seed, goal, those))
    answering = Answering(ModelProfile(kind="rules"), UsageMeter())
    for name, job in (("explore", mele(seed)), ("find", objects(seed, ("grounded",)))):
        for one in asyncio.run(job(answering)) if name in parts else ():
            what = f"{one.bench}: {one.part.partition(', house')[0]}"
            yield Row(seed, what, round(one.score * one.of), one.of)


def table(rows: Sequence[Row]) -> str:
    """Return shares in % with Wilson's 95 % intervals, widened by what things of a house share."""
    lines = ["| what | houses | right | of | share [%] |", "|---|--:|--:|--:|---|"]
    for what in dict.fromkeys(row.what for row in rows):
        mine = [row for row in rows if row.what == what]
        hits = [k < row.right for row in mine for k in range(row.of)]
        houses = [row.house for row in mine for _ in range(row.of)]
        share, low, high = (round(100.0 * x) for x in share_interval(hits, houses))
        told = f"{share} ({low}-{high})"
        lines.append(f"| {what} | {len(set(houses))} | {sum(hits)} | {len(hits)} | {told} |")
    return "\n".join(lines)


def _world(seed: int) -> EmbeddedWorld:
    house = generate_house(seed, floors=1, rooms=ROOMS)
    return EmbeddedWorld(house, seed=seed, noise=DetectorNoise.normal(), threads=1)


def _errands(seed: int) -> list[Errand]:
    world = _world(seed)
    try:
        for name, body in TEAM.items():
            world.add_robot(name, body)
        return errands(world, "wheels", seed, 2 * ERRANDS)
    finally:
        world.close()


async def _do(seed: int, errand: Errand) -> list[Row]:
    world = _world(seed)
    try:
        resumes = {name: Resume.of_embodiment(body) for name, body in TEAM.items()}
        for name, body in TEAM.items():
            world.add_robot(name, body)
        scene = prior_map(world.truth(), "rooms")
        agents: dict[str, Agent] = {
            name: RobotAgent(name, resume, rules_decider(name), TeamMap(scene, name))
            for name, resume in resumes.items()
        }
        options = LeaderOptions(reflect_timeout=3600.0)
        leader = Leader(rules_decider(), scene, resumes, options=options)
        run = await run_team(
            world, leader, agents, errand.words, max_steps=int(2 * MAX_TIME), dt=0.5
        )
        told = f"{errand.words}: {run.outcome.message[:300]}"
        there, said = errand.done(world.contents), run.success
        return [
            Row(seed, "do: thing is where it shall be", int(there), 1, told, run.time),
            Row(seed, "do: said DONE, and it is", int(there and said), 1, told, run.time),
        ]
    finally:
        world.close()


async def _cooperate(seed: int, goal: Goal, parts: Sequence[Errand]) -> Row:
    world = _world(seed)
    try:
        team = HouseTeam(world, prior_map(world.truth(), "rooms"), TEAM)
        ended = await team.run(goal, MAX_TIME)
        right = sum(part.done(world.contents) for part in parts)
        told = f"{goal.text()}: {ended}"
        return Row(seed, "cooperate: parts of the goals", right, len(parts), told, world.time)
    finally:
        world.close()


if __name__ == "__main__":
    main()
