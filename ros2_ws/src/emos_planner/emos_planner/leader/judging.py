"""Which plan counts where a model and the solver differ: the checks decide, and say why."""

from __future__ import annotations

from collections.abc import Sequence

from coterie_core.tasks import SubTask
from emos_planner.tools.toolbox import Toolbox


def judge(
    model: Sequence[SubTask], solver: Sequence[SubTask], toolbox: Toolbox, what: str
) -> tuple[tuple[SubTask, ...], str]:
    """Return the better of two plans and why, as a sentence for the report."""
    wrong = _trouble(model, toolbox)
    own = _trouble(solver, toolbox)
    if len(wrong) < len(own) or (not wrong and not own):
        return tuple(model), f"{what}: model and solver differ; nothing speaks against the model's"
    return tuple(solver), f"{what}: model and solver differ; the solver's counts: {wrong[0]}"


def _trouble(plan: Sequence[SubTask], toolbox: Toolbox) -> list[str]:
    told = []
    for one in plan:
        if one.robot:
            estimate = toolbox.estimate(one.robot, one)
            if not estimate.feasible:
                told.append(f"{one.robot} cannot {one.description or one.id}: {estimate.reason}")
    return told
