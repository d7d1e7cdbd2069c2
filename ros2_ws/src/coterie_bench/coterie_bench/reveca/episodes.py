"""Episodes of the REVECA bench: played one by one, in processes or on a cluster, and kept."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib

from coterie_bench.reveca.methods import METHODS, make_world
from coterie_core.cooperation import Metrics, run_episode
from coterie_core.files import write_atomically
from coterie_core.language import Decider

Record = dict[str, Any]


class ClusterError(RuntimeError):
    """A cluster was asked for and cannot be used: says what is missing."""


@dataclass(frozen=True, slots=True)
class Job:
    """One episode: which world, by which method, of which seed, with how many agents."""

    world: str
    method: str
    seed: int
    agents: int = 2


def run_one(
    world: str, method: str, seed: int, agents: int = 2, decider: Decider | None = None
) -> Record:
    """Play one episode and return its record.

    Raises:
        KeyError: No such world or method.
    """
    chosen = METHODS[method]
    place = make_world(world, chosen.agents or agents)
    team = chosen.make(place, decider)
    metrics = asyncio.run(run_episode(place, team, seed, together=decider is not None))
    return record(world, method, seed, len(place.team), metrics)


def record(world: str, method: str, seed: int, agents: int, metrics: Metrics) -> Record:
    """Return an episode's record."""
    out: Record = {
        "world": world.partition(":")[0],
        "method": method,
        "seed": seed,
        "agents": agents,
        "success": metrics.success,
        "simulation_steps": metrics.steps,
        "travel_distance": round(metrics.distance, 3),
        "communication_steps": metrics.notes,
        "characters": metrics.characters,
        "total": round(metrics.placed[0] / max(1, metrics.placed[1]), 4),
    }
    for group, (done, whole) in metrics.groups.items():
        out[group] = round(done / max(1, whole), 4)
    return out


def play_all(
    todo: Iterable[Job], *, cache: Path | None = None, jobs: int = 1, ray: str = ""
) -> list[Record]:
    """Play episodes, those first that no earlier run has played; return all records in order.

    Args:
        todo: What to play.
        cache: Folder in which every finished episode is kept; a run that stopped goes on from it.
        jobs: Processes on this machine.
        ray: Address of a Ray cluster that plays them instead; "": none.

    Raises:
        ClusterError: A cluster is asked for, and Ray is not installed or does not answer.
    """
    wanted = list(todo)
    if not ray and jobs == 1:
        return [play(job, cache) for job in wanted]
    if ray:
        _use_cluster(ray)
    with joblib.parallel_config(backend="ray" if ray else "loky", n_jobs=-1 if ray else jobs):
        played: list[Record] = joblib.Parallel()(joblib.delayed(play)(j, cache) for j in wanted)
    return played


def play(job: Job, cache: Path | None = None) -> Record:
    """Return an episode's record, from the cache if it has it."""
    file = cache / f"{_digest(job)}.json" if cache is not None else None
    if file is not None and file.is_file():
        try:
            known = json.loads(file.read_text("utf-8"))
        except ValueError:
            known = None  # half written by a program that was killed: played again
        if isinstance(known, dict) and "simulation_steps" in known:
            return known
    out = run_one(job.world, job.method, job.seed, job.agents)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(out))
    return out


def _digest(job: Job) -> str:
    text = json.dumps(asdict(job), sort_keys=True) + _code()
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@lru_cache(maxsize=1)
def _code() -> str:
    """Return a digest of the code that decides how an episode goes: kept ones are of this code."""
    import coterie_core.cooperation
    import reveca_agent

    folders = (
        Path(__file__).parent,
        Path(coterie_core.cooperation.__file__).parent,
        Path(reveca_agent.__file__).parent,
    )
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _use_cluster(address: str) -> None:
    try:  # by name: an extra that only who has a cluster installs
        ray: Any = importlib.import_module("ray")
        bridge: Any = importlib.import_module("ray.util.joblib")
    except ImportError:
        raise ClusterError(
            "--ray: Ray is not installed in this environment; install it (pip install ray) on "
            "every machine of the cluster, or use --jobs"
        ) from None
    try:
        ray.init(address=address, ignore_reinit_error=True)
    except Exception as error:  # Ray raises many kinds where no cluster answers
        raise ClusterError(f"--ray {address}: no cluster answers there ({error})") from None
    bridge.register_ray()
