"""A robot's answer to a proposal: its share judged by its tools and by a model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from coterie_core.geometry import Vec3
from coterie_core.tasks import Proposal, Reflection, SubTask
from coterie_llm import Decider, inline_data
from coterie_requests.asking import Asking
from emos_planner.geometry.results import Estimate
from emos_planner.geometry.toolbox import Toolbox
from emos_planner.lookups import Lookups
from emos_planner.robot.reflect import ReflectOnShare, ShareState, settled, with_code
from emos_planner.robot.share_facts import share_facts
from emos_planner.sandbox.write_check import second_opinion


async def reflection_on(
    proposal: Proposal,
    robot: str,
    body: str,
    estimates: Mapping[str, Estimate],
    decider: Decider,
    tools: Toolbox,
    start: Vec3 | None,
    code_checks: int,
    heard: Sequence[str] = (),
    numbers: bool = True,
    asking: Asking | None = None,
) -> Reflection:
    """Return yes, or no with typed reasons, to what a proposal gives to a robot.

    A model judges what its word can change: not what the tools rule out, nor what no other robot
    could take over.

    Args:
        proposal: Who is to do what.
        robot: Who answers.
        body: Its body in words.
        estimates: Id of a sub-task of its share -> what the tools say.
        decider: A model, or the rules.
        tools: For what the robot knows now.
        start: Where it stands [m].
        code_checks: Sub-tasks for which a model also writes code over the tools.
        heard: What was said in the discussion so far.
        numbers: Whether a model is told those of the body.
        asking: Lets a model ask the person and other robots.
    """
    if asking is not None:
        asking.begin(proposal.task)
    mine = tuple(s for s in proposal.sub_tasks if s.robot == robot)
    if not mine:
        return Reflection(task=proposal.task, round=proposal.round, robot=robot, agrees=True)
    open_ = tuple(s for s in mine if estimates[s.id].feasible and s.id not in proposal.sole)
    state = ShareState(
        robot,
        proposal.words,
        tools.resumes[robot],
        body,
        open_,
        tuple(share_facts(tools, robot, s, start, numbers=numbers) for s in open_),
        estimates,
        tuple(heard),
        Lookups(tools, {robot: start}, own=robot, asking=asking),
    )
    chosen = () if decider.rule_only else mine[:code_checks]
    decided, coded = await asyncio.gather(
        decider.decide(ReflectOnShare(), state),
        _by_code(chosen, robot, estimates, decider, tools, start),
    )
    by_model = decided.decided_by == "model"
    said = {verdict.sub_task: verdict for verdict in decided.reply.verdicts} if by_model else {}
    verdicts = tuple(
        with_code(settled(one.id, estimates[one.id], said.get(one.id)), coded.get(one.id, ""))
        for one in mine
    )
    return Reflection(
        task=proposal.task,
        round=proposal.round,
        robot=robot,
        agrees=all(verdict.feasible for verdict in verdicts),
        verdicts=verdicts,
        without_model="" if by_model else inline_data(decided.reason, limit=300)[:300],
    )


async def _by_code(
    chosen: Sequence[SubTask],
    robot: str,
    estimates: Mapping[str, Estimate],
    decider: Decider,
    tools: Toolbox,
    start: Vec3 | None,
) -> dict[str, str]:
    """Return what code that the model wrote says against the tools, by sub-task."""
    opinions = await asyncio.gather(
        *(
            second_opinion(decider, tools, robot, one, estimates[one.id], start=start)
            for one in chosen
        )
    )
    return {
        one.id: verdict.disagreement for one, (verdict, _) in zip(chosen, opinions, strict=True)
    }
