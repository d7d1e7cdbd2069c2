"""What a leader does around a model's split of a task: what it is told, what its reply means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from coterie_core.geometry import Vec3
from coterie_core.resume import Resume
from coterie_core.tasks import SubTask
from coterie_llm import inline_data
from coterie_requests.understanding import NotUnderstood
from coterie_world.meaning import Meanings, likeness_by_label
from coterie_world.scene import SceneGraph
from coterie_world.sightings import as_thing
from emos_planner.allocation.solver import Share
from emos_planner.leader.briefing import body_text, brief_body, where_text
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.progress import Progress
from emos_planner.leader.split_checks import mistakes
from emos_planner.leader.split_state import SplitReply, SplitState, sub_tasks_of_reply
from emos_planner.leader.task import TaskInWork
from emos_planner.leader.understand import understand
from emos_planner.lookups import Lookups


def split_state(
    work: TaskInWork,
    second: Share,
    starts: Mapping[str, Vec3 | None],
    resumes: Mapping[str, Resume],
    options: LeaderOptions,
    lookups: Lookups,
) -> SplitState:
    """Return what a model is told of a task.

    Args:
        work: The task, as far as the rule understood it.
        second: The solver's plan, which the rule replies with.
        starts: The robots that take part -> where they are [m].
        resumes: What is believed of their bodies.
        options: Of the leader.
        lookups: What a model may look up and ask, over bodies in the scene.
    """
    basis, scene = work.meant.sub_tasks, lookups.toolbox.scene
    meant = [t.id for one in basis for t in (one.object, one.receptacle) if t is not None]
    return SplitState(
        words=work.words,
        meant=tuple(dict.fromkeys(meant)),
        things={id: as_thing(thing) for id, thing in scene.objects.items()},
        rooms={room.id: room.name for room in scene.rooms.values()},
        robots={robot: body_text(resumes[robot], options) for robot in starts},
        brief={robot: brief_body(resumes[robot], options) for robot in starts},
        now={robot: where_text(scene, robot, at) for robot, at in starts.items()},
        lookups=lookups,
        basis=basis,
        second=second.sub_tasks,
        only=work.meant.board.only,
        map_chars=options.map_chars,
    )


async def with_likeness(state: SplitState, meanings: Meanings | None) -> SplitState:
    """Return a state that knows how near the map's labels are to the task."""
    scene = state.lookups.toolbox.scene
    labels = (thing.label.top for thing in scene.objects.values())
    return replace(state, likeness=await likeness_by_label(meanings, state.words, labels, scene))


def meant_by_order(
    work: TaskInWork,
    state: SplitState,
    reply: SplitReply,
    scene: SceneGraph,
    options: LeaderOptions,
) -> tuple[SubTask, ...]:
    """Return a plan for words that the rule did not understand, with what they want.

    What the model says they mean, in plain English, is read by the rule where that fits its own
    plan: then the leader knows what to claim, and what to do with things that are found on the
    way. Else the plan is all that there is.

    Args:
        work: The task; its wants and `order` are filled where the order is understood.
        state: What the model was told.
        reply: What it replied, checked.
        scene: The map that grows with the task.
        options: Of the leader.
    """
    plan = sub_tasks_of_reply(state, reply)
    order = inline_data(reply.order, limit=400)
    if not order:
        return plan
    try:
        meant = understand(order, scene, tuple(state.robots), unseen=options.unseen)
    except NotUnderstood:
        return plan
    known = replace(state, basis=meant.sub_tasks, second=(), only=meant.board.only)
    if not meant.sub_tasks or mistakes(known, reply):
        return plan
    work.notes.append(f"taken to mean: {order}")
    work.order, work.meant = order, meant
    work.progress = Progress(work.id, meant, scene, options)
    return sub_tasks_of_reply(known, reply)
