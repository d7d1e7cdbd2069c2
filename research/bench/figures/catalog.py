"""The benches by name: which module runs each, and what it measures."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import NamedTuple


class Bench(NamedTuple):
    """A bench: the module whose ``main(arguments)`` returns an exit code, and one line of help."""

    module: str
    help: str


BENCHES: dict[str, Bench] = {
    "mele": Bench(
        "research.bench.mele.bench",
        "MELE's protocol on every house in a folder.",
    ),
    "calibration": Bench(
        "research.bench.calibration.bench",
        "Test of stated confidence, on houses that it was not fitted on.",
    ),
    "objects": Bench(
        "research.bench.objects.bench",
        "Requests on semantic maps by every workflow.",
    ),
    "emos": Bench(
        "research.bench.emos.bench",
        "Habitat-MAS: EMOS, its ablations and fixed assignments on verified episodes.",
    ),
    "claims": Bench(
        "research.bench.claims.bench",
        "Claims of a leader about tasks in words against what is so in the true house.",
    ),
    "askback": Bench(
        "research.bench.askback.bench",
        "Requests that are ambiguous, false, too early, of taste or incomplete: who asks back.",
    ),
    "openeqa": Bench(
        "research.bench.openeqa.bench",
        "OpenEQA: open questions from memory and exploring.",
    ),
    "map": Bench(
        "research.bench.mapping.bench",
        "Semantic maps of generated houses against the truth.",
    ),
    "sensing": Bench(
        "research.bench.sensing.bench",
        "Observations of real robots' sensors against the simulator's own; maps aligned.",
    ),
    "reveca": Bench(
        "research.bench.reveca.bench",
        "REVECA: cooperation under partial observation, its ablations and baselines in lockstep.",
    ),
    "skills": Bench(
        "research.bench.skills.bench",
        "One robot's skills in the same houses, directly and through a lab of real interfaces.",
    ),
    "models": Bench(
        "research.bench.models.bench",
        "Every decision put to rules, a scripted oracle, a guesser and models, on a small set.",
    ),
    "all": Bench(
        "research.bench.figures.bench",
        "Runs every bench whose tables the results hold, and marks the figures that moved.",
    ),
}


def run_bench(name: str, arguments: Sequence[str]) -> int:
    """Run a bench's command line in this process; return its exit code."""
    return int(importlib.import_module(BENCHES[name].module).main(list(arguments)))
