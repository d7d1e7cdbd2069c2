"""Episodes of the REVECA bench: played one by one, in processes or on a cluster, and kept."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joblib

from coterie_core.files import write_atomically
from coterie_llm import (
    Decider,
    LanguageModel,
    ModelProfile,
    RulesModel,
    UsageMeter,
    build_model,
)
from research.bench.common.code_digest import code_digest
from research.bench.reveca.environment import Metrics, run_episode
from research.bench.reveca.methods import make_world
from research.bench.reveca.methods import method as method_of
from reveca_agent.settings import Prior

Record = dict[str, Any]
_CODE = ("research.bench.reveca", "coterie_core.cooperation", "reveca_agent")
_SHOWN = frozenset({"bench.py", "hypothesis_tests.py", "plots.py", "tables.py"})
"""What is made of records: changes nothing in those kept here."""
_FIELDS = (
    "world",
    "method",
    "seed",
    "agents",
    "success",
    "simulation_steps",
    "travel_distance",
    "communication_steps",
    "characters",
    "total",
    "house",
    "episode",
)


_HOW = ("asked_again", "at_once", "overruled", "tool_uses")


class ClusterError(RuntimeError):
    """A cluster was asked for and cannot be used: says what is missing."""


@dataclass(frozen=True, slots=True)
class Job:
    """One episode: which world, by which method, of which seed, with how many agents.

    `profile` is the model profile that its decisions are made with, as JSON; "": the rules. `prior`
    is what all agents believe beforehand of where things lie.
    """

    world: str
    method: str
    seed: int
    agents: int = 2
    profile: str = ""
    prior: Prior = "household"


def run_one(
    world: str,
    method: str,
    seed: int,
    agents: int = 2,
    decider: Decider | None = None,
    *,
    prior: Prior = "household",
) -> Record:
    """Play one episode and return its record.

    Raises:
        KeyError: No such world.
        ValueError: No such method.
    """
    return asyncio.run(play_one(world, method, seed, agents, decider, prior=prior))


async def play_one(
    world: str,
    method: str,
    seed: int,
    agents: int = 2,
    decider: Decider | None = None,
    *,
    prior: Prior = "household",
) -> Record:
    """As `run_one`, within a running loop."""
    return await _episode(Job(world, method, seed, agents, prior=prior), decider)


async def _episode(job: Job, decider: Decider | None) -> Record:
    chosen = method_of(job.method)
    place = make_world(job.world, chosen.agents or job.agents, job.prior)
    team = chosen.make(place, decider)
    metrics = await run_episode(place, team, job.seed, together=decider is not None)
    out = record(job.world, job.method, job.seed, len(place.team), metrics)
    out |= {"house": place.home.name.partition("+")[0], "episode": place.fingerprint()}
    out |= getattr(place, "rates", {})
    return out if job.prior == "household" else out | {"prior": job.prior}


@dataclass(frozen=True, slots=True)
class Answering:
    """The models of a profile, shared by all episodes: their limits hold for all together."""

    settings: ModelProfile
    model: LanguageModel
    larger: LanguageModel | None
    meter: UsageMeter

    @staticmethod
    def of(settings: ModelProfile) -> Answering:
        """Build the models.

        Raises:
            LanguageError: The profile cannot be used.
        """
        meter = UsageMeter()
        larger = build_model(settings.larger, meter) if settings.larger else None
        return Answering(settings, build_model(settings, meter), larger, meter)

    async def aclose(self) -> None:
        """Close the models' connections."""
        await self.model.aclose()
        if self.larger is not None:
            await self.larger.aclose()

    async def play(self, job: Job) -> Record:
        """Play one episode whose decisions the models make; the record tells what they took.

        Raises:
            ReplayMiss: The model is a cassette without such a question.
        """
        who = f"{job.world} {job.method} {job.seed} {job.agents} {job.prior}"
        decider = Decider(
            self.model,
            timeout_s=self.settings.timeout_s,
            who=who,
            on_decided=self.meter.watch(who),
            policy=self.settings.policy,
            larger=self.larger,
        )
        out = await _episode(job, decider)
        rows = [row for row in self.meter.as_json() if row["who"] == who]
        counts = ("calls", "prompt_tokens", "completion_tokens", "by_rule", *_HOW)
        return out | {
            "model": self.settings.model or self.settings.kind,
            "mode": self.settings.mode,
            **({"modes": dict(self.settings.modes)} if self.settings.modes else {}),
            "failed_calls": sum(sum(row["failures"].values()) for row in rows),
            "decisions": sum(row["by_model"] + row["by_rule"] for row in rows),
            **{name: sum(row[name] for row in rows) for name in counts},
        }


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
    todo: Iterable[Job],
    *,
    cache: Path | None = None,
    jobs: int = 1,
    ray: str = "",
    on_played: Callable[[], None] = lambda: None,
) -> list[Record]:
    """Play episodes, those first that no earlier run has played; return all records in order.

    Those whose decisions a model makes run in this process, `jobs` at a time: they wait for the
    model, and its limits hold for all of them together.

    Args:
        todo: What to play.
        cache: Folder in which every finished episode is kept; a run that stopped goes on from it.
        jobs: Processes on this machine.
        ray: Address of a Ray cluster that plays them instead; "": none.
        on_played: Called after every episode that is played in this process.

    Raises:
        ClusterError: A cluster is asked for, and Ray is not installed or does not answer.
        LanguageError: The model cannot be built, or a cassette lacks an answer.
    """
    wanted = list(todo)
    told = [job for job in wanted if job.profile]
    by_rules = [job for job in wanted if not job.profile]
    played: list[Record] = []
    # All methods of a seed one after the other: its house is made once.
    by_rules.sort(key=lambda job: (job.world, job.seed))
    if not ray and jobs == 1:
        for job in by_rules:
            played.append(play(job, cache))
            on_played()
    elif by_rules:
        if ray:
            _use_cluster(ray)
        with joblib.parallel_config(backend="ray" if ray else "loky", n_jobs=-1 if ray else jobs):
            played = joblib.Parallel()(joblib.delayed(play)(j, cache) for j in by_rules)
    records = dict(zip(by_rules, played, strict=True))
    for profile in dict.fromkeys(job.profile for job in told):
        of_it = [job for job in told if job.profile == profile]
        answers = asyncio.run(_play_told(of_it, profile, cache, jobs, on_played))
        records |= zip(of_it, answers, strict=True)
    return [records[job] for job in wanted]


async def _play_told(
    todo: Sequence[Job],
    profile: str,
    cache: Path | None,
    jobs: int,
    on_played: Callable[[], None],
) -> list[Record]:
    answering = Answering.of(ModelProfile.model_validate_json(profile))
    slots = asyncio.Semaphore(jobs)

    async def one(job: Job) -> Record:
        async with slots:
            known = _kept(job, cache)
            if known is None:
                if isinstance(answering.model, RulesModel):
                    known = await _episode(job, None)
                else:
                    known = await answering.play(job)
                _keep(job, known, cache)
            on_played()
            return known

    tasks = [asyncio.ensure_future(one(job)) for job in todo]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await answering.aclose()


def play(job: Job, cache: Path | None = None) -> Record:
    """Return the record of an episode by the rules, from the cache if it has it."""
    known = _kept(job, cache)
    if known is None:
        known = run_one(job.world, job.method, job.seed, job.agents, prior=job.prior)
        _keep(job, known, cache)
    return known


def _kept(job: Job, cache: Path | None) -> Record | None:
    """Return what the cache has; a file cut off by a program's end counts as none."""
    if cache is None:
        return None
    try:
        known = json.loads((cache / f"{_digest(job)}.json").read_text("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        return None  # half written by a program that was killed: played again
    return known if _is_record(known, job) else None


def _is_record(known: object, job: Job) -> bool:
    """Tell whether it is a whole record of this episode, whatever happened to the file."""
    if not isinstance(known, Mapping) or not set(_FIELDS) <= set(known):
        return False
    return (known["method"], known["seed"]) == (job.method, job.seed)


def _keep(job: Job, record: Record, cache: Path | None) -> None:
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        write_atomically(cache / f"{_digest(job)}.json", json.dumps(record))


def _digest(job: Job) -> str:
    text = json.dumps(asdict(job), sort_keys=True) + code_digest(*_CODE, leave_out=_SHOWN)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _use_cluster(address: str) -> None:
    try:  # by name: an extra that only who has a cluster installs
        ray: Any = importlib.import_module("ray")
        bridge: Any = importlib.import_module("ray.util.joblib")
    except ImportError:
        raise ClusterError(
            "--ray: Ray is not installed in this environment; install it (pip install ray) on "
            "every machine of the cluster, or use --jobs"
        ) from None
    _answers(address)
    try:
        ray.init(address=address, ignore_reinit_error=True)
    except Exception as error:  # Ray raises many kinds where no cluster answers
        raise ClusterError(f"--ray {address}: no cluster answers there ({error})") from None
    bridge.register_ray()


def _answers(address: str) -> None:
    """Try an address HOST:PORT for some seconds: Ray itself goes on trying for minutes.

    Raises:
        ClusterError: Nothing answers there.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return  # "auto": Ray knows at once
    try:
        socket.create_connection((host, int(port)), timeout=5.0).close()
    except (OSError, ValueError) as error:
        raise ClusterError(f"--ray {address}: no cluster answers there ({error})") from None
