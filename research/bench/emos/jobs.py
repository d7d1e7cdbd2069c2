"""Runs of `bench emos`: an episode by a method each, with records that outlive a stopped bench."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coterie_core.resume_text import ResumeFormat
from coterie_llm import ModelProfile
from habitat_bridge.factory import NoiseLevel
from habitat_bridge.prior import PriorMap
from research.bench.common.processes import spread
from research.bench.emos.episodes import Episode, WorldKind
from research.bench.emos.run import Method, run_episode


@dataclass(frozen=True, slots=True)
class Job:
    """One run: an episode by a method; `vary` names a scaling experiment, `value` its setting."""

    episode: Episode
    method: Method
    seed: int = 0
    form: ResumeFormat = "json"
    profile: str = ""
    vary: str = ""
    value: str = ""
    world: WorldKind = "embedded"
    prior: PriorMap = "everything"
    noise: NoiseLevel = "none"

    @property
    def key(self) -> str:
        """What tells this run from all others."""
        parts: tuple[object, ...] = (
            self.episode.model_dump_json(),
            self.method,
            self.seed,
            self.form,
            self.profile,
            self.vary,
            self.value,
        )
        if self.world != "embedded":
            parts = (*parts, self.world)
        if (self.prior, self.noise) != ("everything", "none"):
            parts = (*parts, self.prior, self.noise)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


def run_job(job: Job) -> dict[str, Any]:
    """Return the record of a run; what goes wrong in it is the record's `error`."""
    record: dict[str, Any] = {
        "key": job.key,
        "episode": job.episode.id,
        "task": job.episode.family,
        "house": job.episode.house,
        "method": job.method,
        "seed": job.seed,
        "form": job.form,
        "robots": len(job.episode.robots),
        "objects": len(job.episode.goals),
        "vary": job.vary,
        "value": job.value,
        "world": job.world,
        "prior": job.prior,
        "noise": job.noise,
    }
    profile = ModelProfile.model_validate_json(job.profile) if job.profile else None
    work = run_episode(
        job.episode,
        job.method,
        profile=profile,
        seed=job.seed,
        form=job.form,
        kind=job.world,
        prior=job.prior,
        noise=job.noise,
    )
    try:
        found = asdict(asyncio.run(work))
    except Exception as error:  # one episode must not end the bench
        blank = {"success": False, "goals": {}, "tokens": 0, "prompt_tokens": 0, "steps": 0}
        return record | blank | {"rounds": 0, "seconds": 0.0, "error": _line(error)}
    return {**found, **record, "goals": dict(found["goals"])}


class Results:
    """Records of finished runs, one JSON line each, so that a bench that was stopped goes on.

    Args:
        file: JSON lines; None: nothing is kept.
    """

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.done: dict[str, dict[str, Any]] = {}
        if file is not None and file.is_file():
            for line in file.read_text("utf-8").splitlines():
                try:
                    record = json.loads(line)
                    self.done[record["key"]] = record
                except (ValueError, KeyError, TypeError):
                    continue  # cut off when the bench was stopped: that run is done again

    def add(self, record: dict[str, Any]) -> None:
        """Keep a record."""
        self.done[record["key"]] = record
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(record) + "\n")


def run_jobs(
    jobs: Sequence[Job],
    results: Results,
    *,
    workers: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Run what has no record yet; return the records of all jobs, in their order."""
    waiting = [job for job in jobs if job.key not in results.done]
    finished = len(jobs) - len(waiting)
    for record in spread(run_job, [(job,) for job in waiting], workers):
        results.add(record)
        finished += 1
        if on_progress:
            on_progress(finished, len(jobs))
    return [results.done[job.key] for job in jobs]


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
