"""One unit of the MELE bench, a house and a seed: explore, answer, train, score; kept in a file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coterie_core.files import write_atomically
from research.bench.common.code_digest import code_digest
from research.bench.mele.extras import (
    from_scores,
    importance,
    label_curve,
    observations_only,
    oracle,
    robustness,
    team_curve,
)
from research.bench.mele.houses import explore_house
from research.bench.mele.methods import Methods, score_trial

_CODE = (
    "cam_aggregator",
    "research.bench.common",
    "research.bench.mele",
    "coterie_core",
    "research.bench.graph_houses",
    "mele_explorer",
)
"""Code that makes results."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to run."""

    directory: Path
    scan: str
    seed: int
    agents: int
    steps: int
    methods: Methods

    def fingerprint(self) -> str:
        """Return a digest of all that the result depends on, the house's files included."""
        wanted = [self.scan, self.seed, self.agents, self.steps, dataclasses.asdict(self.methods)]
        digest = hashlib.sha256(json.dumps(wanted).encode())
        folders = ("connectivity", "objects")
        files = [p for f in folders for p in (self.directory / f).glob(f"{self.scan}_*.json")]
        for path in (*sorted(files), self.directory / "rooms.json"):
            if path.is_file():
                digest.update(path.name.encode() + path.read_bytes())
        digest.update(code_digest(*_CODE).encode())
        return digest.hexdigest()[:16]


def run_job(job: Job, cache: Path | None = None) -> Mapping[str, Any]:
    """Return the result of a job as plain data; with `cache`, from there if it was run before.

    Keys: nodes, agents, problems, scores (split, method, liar, accuracy, n_test), measures
    (analysis, method, split, x, value), or error (a sentence) where the house cannot be used.
    """
    path = None if cache is None else cache / f"{job.scan}_{job.seed}_{job.fingerprint()}.json"
    if path is not None and path.is_file():
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            pass  # a damaged file is made again
    try:
        result = _run(job)
    except Exception as error:  # one bad house must not end the bench
        return {"error": f"{type(error).__name__}: {error}"}
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(result))
    return result


def _run(job: Job) -> dict[str, Any]:
    trial = explore_house(job.directory, job.scan, job.seed, job.agents, job.steps)
    table, methods = trial.table, job.methods
    scores = {(s.split, s.method, s.liar): s for s in score_trial(table, job.seed, methods)}
    problems = list(trial.problems)
    measures: list[dict[str, Any]] = []
    if methods.extras:
        walk = (job.directory, job.scan, job.seed)
        parts = {
            "agreement": from_scores(table, scores, methods),
            "importance": importance(table, job.seed, methods),
            "robustness": robustness(table, job.seed, methods),
            "labels": label_curve(table, job.seed, methods),
            "agents": team_curve(*walk, job.steps, methods),
            "observations only": observations_only(*walk, job.agents, job.steps, methods),
            "oracle": oracle(*walk, methods),
        }
        for name, part in parts.items():
            try:
                measures += [dataclasses.asdict(measure) for measure in part]
            except Exception as error:  # a house may be too small for a further analysis
                problems.append(f"analysis {name!r} left out: {type(error).__name__}: {error}")
    return {
        "nodes": trial.nodes,
        "questions": len(table),
        "problems": problems,
        "scores": [
            {
                "split": s.split,
                "method": s.method,
                "liar": s.liar,
                "accuracy": s.accuracy,
                "n_test": len(s.test),
            }
            for s in scores.values()
        ],
        "measures": measures,
    }
