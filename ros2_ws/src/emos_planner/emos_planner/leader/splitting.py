"""What a leader does around a model's split of a task: what it is told, what its reply means."""

from __future__ import annotations

from dataclasses import replace

from coterie_llm import Decider, inline_data
from coterie_safety.why import follow
from coterie_world.meaning import Meanings, likeness_by_label
from emos_planner.allocation.solver import Share
from emos_planner.leader.asked import bounds_of, with_all_asked
from emos_planner.leader.briefing import body_text, brief_body, where_text
from emos_planner.leader.progress import Progress
from emos_planner.leader.split_task import SplitState, SplitTask, sub_tasks_of_reply
from emos_planner.lookups import Lookups


def split_state(work: Progress, second: Share, lookups: Lookups) -> SplitState:
    """Return what a model is told of a task.

    Args:
        work: The task.
        second: The solver's plan, which the rule replies with.
        lookups: What a model may look up and ask, over bodies in the scene.
    """
    scene, resumes, options = lookups.toolbox.scene, lookups.toolbox.resumes, work.options
    meant = [t.id for one in work.sub_tasks for t in (one.object, one.receptacle) if t is not None]
    return SplitState(
        words=work.words,
        read=work.request.told() if work.request is not None else "",
        meant=tuple(dict.fromkeys(meant)),
        bounds=bounds_of(work.graph),
        robots={robot: body_text(resumes[robot], options) for robot in lookups.starts},
        brief={robot: brief_body(resumes[robot], options) for robot in lookups.starts},
        now={robot: where_text(scene, robot, at) for robot, at in lookups.starts.items()},
        lookups=lookups,
        known=second.sub_tasks,
        only=work.graph.only,
        map_chars=options.map_chars,
    )


async def split(
    work: Progress,
    second: Share,
    lookups: Lookups,
    decider: Decider,
    meanings: Meanings | None,
) -> tuple[Share, str]:
    """Have a model split a task; where it does not, the solver's plan counts, which notes tell.

    Returns the first proposal, and whose it is.

    Args:
        work: The task; its sub-tasks are the model's from now on, with all that was asked for.
        second: The solver's plan.
        lookups: What the model may look up and ask, over bodies in the scene.
        decider: Asks it.
        meanings: Compares the task with labels.
    """
    state = split_state(work, second, lookups)
    if not decider.rule_only:
        labels = (thing.label.top for thing in state.scene.objects.values())
        likeness = await likeness_by_label(meanings, state.words, labels, state.scene)
        state = replace(state, likeness=likeness)
    decided = await decider.decide(SplitTask(), state)
    follow(decided.trace)
    work.transcript.asked(decided.tool_uses)
    if decided.decided_by == "rule":
        if decided.reason:
            work.notes.append(f"the solver's plan counts: {decided.reason}")
        return second, "rule"
    why = inline_data(decided.reply.reason, limit=400) or "no reason given"
    said = f"the plan is the model's ({decided.model}): {why}"
    work.transcript.say("statement", "leader", said)
    graph, model = work.graph, sub_tasks_of_reply(state, decided.reply)
    plan, left_out = with_all_asked(graph, model, second.sub_tasks)
    work.notes += left_out
    plan = tuple(
        one.model_copy(update={"enough": graph.book.share(("all",), 1)})
        if one.kind == "search" and not one.enough
        else one
        for one in plan
    )
    graph.sub_tasks = {one.id: one.model_copy(update={"robot": ""}) for one in plan}
    nobody = {one.id for one in plan if not one.robot}
    unassigned = {id: by for id, by in second.unassigned.items() if id in nobody}
    return Share(plan, unassigned), "model"
