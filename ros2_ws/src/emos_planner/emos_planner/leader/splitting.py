"""What a leader does around a model's split of a task: what it is told, what its reply means."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from coterie_core.geometry import Vec3
from coterie_core.resume import Resume
from coterie_core.tasks import SubTask
from coterie_llm import Decided, Decider, inline_data
from coterie_safety.why import follow
from coterie_world.meaning import Meanings, likeness_by_label
from coterie_world.scene import SceneGraph
from coterie_world.sightings import as_thing
from emos_planner.allocation.problem import depths
from emos_planner.allocation.solver import Share
from emos_planner.leader.asked import bounds_of, with_all_asked
from emos_planner.leader.briefing import body_text, brief_body, where_text
from emos_planner.leader.discussion import groups_of
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.split_task import (
    SplitReply,
    SplitState,
    SplitTask,
    sub_tasks_of_reply,
)
from emos_planner.leader.task import TaskInWork
from emos_planner.lookups import Lookups

Starts = Mapping[str, Vec3 | None]
Split = tuple[tuple[SubTask, ...], Share, str]
"""The sub-tasks, the first proposal, and whose it is."""


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
        work: The task.
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
        read=work.request.told() if work.request is not None else "",
        meant=tuple(dict.fromkeys(meant)),
        bounds=bounds_of(work.meant.wants, scene),
        things={id: as_thing(thing) for id, thing in scene.objects.items()},
        rooms={room.id: room.name for room in scene.rooms.values()},
        robots={robot: body_text(resumes[robot], options) for robot in starts},
        brief={robot: brief_body(resumes[robot], options) for robot in starts},
        now={robot: where_text(scene, robot, at) for robot, at in starts.items()},
        lookups=lookups,
        basis=basis,
        second=second.sub_tasks,
        only=work.meant.graph.only,
        map_chars=options.map_chars,
    )


async def with_likeness(state: SplitState, meanings: Meanings | None) -> SplitState:
    """Return a state that knows how near the map's labels are to the task."""
    scene = state.lookups.toolbox.scene
    labels = (thing.label.top for thing in scene.objects.values())
    return replace(state, likeness=await likeness_by_label(meanings, state.words, labels, scene))


@dataclass(frozen=True, slots=True)
class Splitting:
    """Who splits tasks, and what they know.

    `lookups` makes the tools of robots, `solve` the solver for a task, `floors` tells where each
    robot is, `clock` the time [s] for the transcript.
    """

    decider: Decider
    scene: SceneGraph
    resumes: Mapping[str, Resume]
    options: LeaderOptions
    lookups: Callable[[Starts], Lookups]
    solve: Callable[[TaskInWork, Starts], Callable[..., Share]]
    floors: Mapping[str, str]
    meanings: Meanings | None
    clock: Callable[[], float]

    def by_solver(self, work: TaskInWork, starts: Starts) -> Share:
        """Return the solver's plan of all that was asked for."""
        own = self.solve(work, starts)
        forbidden = work.forbidden | work.named_others(tuple(starts))
        return own(work.meant.sub_tasks, tuple(starts), {}, forbidden)

    async def split(self, work: TaskInWork, starts: Starts) -> Split:
        """Split a task among robots: a model where there is one, else the solver.

        A model sees at most `group_size` robots. Of a larger team the solver deals the sub-tasks to
        groups, by what bodies can do and where things are; each group's part is split by a model of
        its own accord, all groups at the same time.
        """
        second = self.by_solver(work, starts)
        large = len(starts) > self.options.group_size
        if large and self.decider.rule_only:
            return work.meant.sub_tasks, second, "rule"
        if not large:
            return await self._whole(work, second, starts)
        return await self._by_groups(work, second, starts)

    async def _decide(
        self, work: TaskInWork, state: SplitState, who: str
    ) -> Decided[SplitReply] | None:
        """Put a split to the model; None where the rule decided, which the notes then tell."""
        if not self.decider.rule_only:
            state = await with_likeness(state, self.meanings)
        decided = await self.decider.decide(SplitTask(), state)
        follow(decided.trace)
        work.transcript.asked(decided.tool_uses, self.clock())
        if decided.decided_by == "rule":
            if decided.reason:
                work.notes.append(f"{who}the solver's plan counts: {decided.reason}")
            return None
        why = inline_data(decided.reply.reason, limit=400) or "no reason given"
        said = f"{who}the plan is the model's ({decided.model}): {why}"
        work.transcript.say("statement", "leader", said, time=self.clock())
        return decided

    async def _whole(self, work: TaskInWork, second: Share, starts: Starts) -> Split:
        basis = work.meant.sub_tasks
        lookups = self.lookups(starts)
        state = split_state(work, second, starts, self.resumes, self.options, lookups)
        decided = await self._decide(work, state, "")
        if decided is None:
            return basis, second, "rule"
        plan = sub_tasks_of_reply(state, decided.reply)
        return self._proposed(work, plan, second)

    async def _by_groups(self, work: TaskInWork, second: Share, starts: Starts) -> Split:
        """Have each group's part split by a model; where none can, the solver's plan counts."""
        groups = groups_of(second.sub_tasks, tuple(starts), self.floors, self.options)
        parts = [[one for one in second.sub_tasks if one.robot in group] for group in groups]
        found = await asyncio.gather(
            *(
                self._part(work, k, {robot: starts[robot] for robot in group}, part)
                for k, (group, part) in enumerate(zip(groups, parts, strict=True), 1)
                if part
            )
        )
        if not any(by_model for _, by_model in found):
            return work.meant.sub_tasks, second, "rule"
        nobody = [one for one in second.sub_tasks if not one.robot]
        plan = joined([*(one for part, _ in found for one in part), *nobody], second.sub_tasks)
        if plan is None:
            work.notes.append("the groups' plans wait for one another: the solver's plan counts")
            return work.meant.sub_tasks, second, "rule"
        return self._proposed(work, plan, second)

    def _proposed(self, work: TaskInWork, plan: Sequence[SubTask], second: Share) -> Split:
        """Take a model's plan over, with all that was asked for."""
        wants, known = work.meant.wants, second.sub_tasks
        plan, left_out = with_all_asked(wants, plan, known, self.scene)
        work.notes += left_out
        plan = tuple(work.meant.graph.with_enough(plan))
        work.meant.graph.adopt(plan)
        nobody = {one.id for one in plan if not one.robot}
        unassigned = {id: by for id, by in second.unassigned.items() if id in nobody}
        return plan, Share(plan, unassigned), "model"

    async def _part(
        self, work: TaskInWork, number: int, starts: Starts, part: Sequence[SubTask]
    ) -> tuple[Sequence[SubTask], bool]:
        """Return a group's plan of its part, and whether a model made it."""
        ids = {one.id for one in part}
        mine = tuple(
            one.model_copy(update={"depends_on": tuple(i for i in one.depends_on if i in ids)})
            for one in part
        )
        basis = {one.id for one in work.meant.sub_tasks}
        lookups = self.lookups(starts)
        state = split_state(work, Share(mine), starts, self.resumes, self.options, lookups)
        meant = [t.id for one in mine for t in (one.object, one.receptacle) if t is not None]
        state = replace(
            state,
            words=part_in_words(mine, work.words),
            read="",
            meant=tuple(dict.fromkeys(id for id in meant if id)),
            basis=tuple(one for one in mine if one.id in basis),
            second=mine,
        )
        decided = await self._decide(work, state, f"group {number} ({', '.join(starts)}): ")
        if decided is None:
            return part, False
        plan = sub_tasks_of_reply(state, decided.reply)
        names = {one.id: one.id if one.id in ids else f"g{number}-{one.id}" for one in plan}
        return [
            one.model_copy(
                update={
                    "id": names[one.id],
                    "depends_on": tuple(names.get(i, i) for i in one.depends_on),
                    "same_robot_as": names.get(one.same_robot_as, one.same_robot_as),
                }
            )
            for one in plan
        ], True


def part_in_words(part: Sequence[SubTask], words: str) -> str:
    """Return a group's part of a task as an order."""
    steps = "; ".join(one.description or one.id for one in part)
    return f"{steps} (your group's part of: {words[:300]})"


def joined(plan: Sequence[SubTask], dealt: Sequence[SubTask]) -> tuple[SubTask, ...] | None:
    """Return the groups' plans as one, or None where they would wait for one another in a circle.

    Args:
        plan: All groups' sub-tasks, each group's waiting for its own only.
        dealt: The sub-tasks as they were dealt to the groups: what waits for another group's still
            does.
    """
    before = {one.id: one.depends_on for one in dealt}
    number = {one.id: k for k, one in enumerate(plan)}
    whole = tuple(
        one.model_copy(
            update={
                "depends_on": tuple(
                    i
                    for i in dict.fromkeys((*one.depends_on, *before.get(one.id, ())))
                    if i in number
                )
            }
        )
        for one in plan
    )
    deep = depths([[number[i] for i in one.depends_on] for one in whole])
    return None if deep and max(deep) >= len(whole) else whole
