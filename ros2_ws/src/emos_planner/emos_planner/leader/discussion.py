"""Stage 1: the leader proposes, all robots reflect at once, what they refuse is given to others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from coterie_core.tasks import Obstacle, Proposal, Reflection, SubTask, Verdict
from coterie_llm import Decider, inline_data
from emos_planner.allocation.problem import Pair
from emos_planner.allocation.solver import Share
from emos_planner.leader.briefing import body_text, where_text
from emos_planner.leader.progress import Progress
from emos_planner.leader.reassign import Reassign, ReassignState, able_robots
from emos_planner.leader.transcript import MOST_PROBLEMS, answer_line
from emos_planner.lookups import Lookups


class Channel(Protocol):
    """How the leader hears from robots: over topics, or in one process."""

    async def reflect(
        self, robots: Sequence[str], proposal: Proposal, deadline: float
    ) -> Mapping[str, object]:
        """Put a proposal before robots, all at once; return what each answered within [s]."""
        ...


Solver = Callable[[Sequence[SubTask], Collection[str], Mapping[Pair, str]], Share]
"""Gives sub-tasks to robots (names): with pairs that must not be, and the reason."""


@dataclass(slots=True)
class Talk:
    """What a discussion has come to so far."""

    forbidden: dict[Pair, str] = field(default_factory=dict)
    verdicts: dict[str, dict[str, Verdict]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    rounds: int = 0

    def refuse(self, robot: str, verdict: Verdict) -> None:
        """Take down that a robot cannot do a sub-task."""
        self.forbidden[verdict.sub_task, robot] = verdict.reason
        self.verdicts.setdefault(verdict.sub_task, {})[robot] = verdict

    def hear(self, unassigned: Mapping[str, Mapping[str, Verdict]]) -> None:
        """Take down why robots cannot do sub-tasks, unless they have said so themselves."""
        for id, by in unassigned.items():
            mine = self.verdicts.get(id, {})
            self.verdicts[id] = {**mine, **by, **mine}


@dataclass(frozen=True, slots=True)
class Setting:
    """What stays the same through a discussion.

    `work` is the task; `lookups` are the tools, and know the robots that may take part.
    """

    work: Progress
    lookups: Lookups
    solve: Solver
    decider: Decider
    channel: Channel


async def discuss(
    setting: Setting, sub_tasks: Sequence[SubTask], first: Share, talk: Talk
) -> tuple[SubTask, ...]:
    """Let the team agree on who does what (EMOS, algorithm 1, stage 1).

    All are asked at once, and those whose share has changed once more, until nobody refuses.

    Args:
        setting: Who talks about what.
        sub_tasks: What is to be done; robots do not matter.
        first: The first proposal.
        talk: What is known from before (refusals); is added to.

    Returns:
        The sub-tasks that a robot agreed to do, hand-overs among them included, then the others
        without a robot.
    """
    open_tasks = {one.id: one for one in sub_tasks}
    plan = tuple(one for one in first.sub_tasks if one.robot)
    basis = [open_tasks[one.id] for one in plan if one.id in open_tasks]
    agreed: dict[str, SubTask] = {}
    while talk.rounds < setting.work.options.round_limit:
        busy = {one.robot for one in plan if agreed.get(one.id) != one}
        asked = [robot for robot in setting.lookups.starts if robot in busy]
        if not asked:
            break
        before = len(talk.forbidden), len(talk.left_out)
        round_ = setting.work.round + talk.rounds
        await ask(setting, asked, plan, round_, talk)
        talk.rounds += 1
        agreed = {
            one.id: one
            for one in plan
            if (one.id, one.robot) not in talk.forbidden and one.robot not in talk.left_out
        }
        if (len(talk.forbidden), len(talk.left_out)) == before:
            break
        there = [robot for robot in setting.lookups.starts if robot not in talk.left_out]
        plan = await _again(setting, basis, there, round_, agreed, talk)
    # A place without its pick is worth nothing: what waits for what nobody does is not agreed on.
    agreed = _whole({one.id: one for one in plan if agreed.get(one.id) == one}, open_tasks)
    left = (one for one in sub_tasks if one.id not in agreed)
    return (*agreed.values(), *(one.model_copy(update={"robot": ""}) for one in left))


async def ask(
    setting: Setting, robots: Sequence[str], plan: Sequence[SubTask], round_: int, talk: Talk
) -> None:
    """Put a plan before robots, all at once, and take down what they say."""
    proposal = Proposal(
        task=setting.work.id,
        words=setting.work.words,
        round=round_,
        sub_tasks=tuple(plan),
        sole=_sole(setting, robots, plan, talk),
    )
    setting.work.transcript.propose(proposal, robots)
    timeout = setting.work.options.reflect_timeout
    answers = await setting.channel.reflect(robots, proposal, timeout)
    for robot in answers:
        if robot not in robots:
            _problem(setting, f"{inline_data(robot)} answered without being asked", round_)
    for robot in robots:
        answer = answers.get(robot)
        own = [one.id for one in plan if one.robot == robot]
        if answer is None:
            talk.left_out[robot] = why = f"no answer within {timeout:g} s"
            talk.said.append(f"round {round_ + 1}, {robot}: {why}")
            setting.work.transcript.say("silent", robot, f"{why}: left out", round=round_)
            silent = partial(Verdict, feasible=False, obstacle=Obstacle.NO_ANSWER, reason=why)
            for id in own:
                talk.refuse(robot, silent(sub_task=id))
            continue
        reflection, trouble = checked(answer, robot, proposal, own)
        for text in trouble:
            _problem(setting, text, round_)
        setting.work.transcript.reflect(reflection)
        for verdict in reflection.verdicts:
            if verdict.disagreement:
                setting.work.notes.append(f"{robot}: {verdict.disagreement}")
            if not verdict.feasible:
                talk.refuse(robot, verdict)
        talk.said.append(answer_line(reflection))


def _sole(
    setting: Setting, robots: Sequence[str], plan: Sequence[SubTask], talk: Talk
) -> tuple[str, ...]:
    """Return what no other robot could take over: there a model need not be asked whether it will.

    With the rules nobody is asked anyway, and large teams are not looked through for it.
    """
    team = [robot for robot in setting.lookups.starts if robot not in talk.left_out]
    if setting.decider.rule_only or len(team) > setting.work.options.group_size:
        return ()
    given = [one for one in plan if one.robot in robots]
    able = able_robots(given, team, talk.forbidden, setting.lookups)
    return tuple(one.id for one in given if set(able[one.id]) <= {one.robot})


def checked(
    answer: object, robot: str, proposal: Proposal, own: Sequence[str]
) -> tuple[Reflection, list[str]]:
    """Return what of a robot's answer counts, and what is wrong with it.

    A robot speaks for itself, in this round, about its own sub-tasks, and about each once; all
    else is left out. What is then not refused counts as accepted: nothing that a robot says about
    others, or forgets to say, changes what they do.
    """
    empty = Reflection(task=proposal.task, round=proposal.round, robot=robot, agrees=True)
    if not isinstance(answer, Reflection):
        return empty, [f"{robot} sent {type(answer).__name__}, not a reflection: ignored"]
    for field_, wanted in (("robot", robot), ("task", proposal.task), ("round", proposal.round)):
        came = getattr(answer, field_)
        if came != wanted:
            return empty, [
                f"{robot} answered for {field_} {inline_data(came)}, expected "
                f"{inline_data(wanted)}: ignored"
            ]
    trouble = []
    verdicts: dict[str, Verdict] = {}
    for verdict in answer.verdicts:
        if verdict.sub_task not in own:
            trouble.append(
                f"{robot} judged {inline_data(verdict.sub_task)}, which is not its own: ignored"
            )
        elif verdict.sub_task in verdicts:
            trouble.append(f"{robot} judged {verdict.sub_task} twice: the first counts")
        else:
            verdicts[verdict.sub_task] = verdict
    refused = [v for v in verdicts.values() if not v.feasible]
    if answer.agrees and refused:
        trouble.append(f"{robot} agreed and refused {refused[0].sub_task}: the refusal counts")
    if not answer.agrees and not refused:
        trouble.append(f"{robot} said no to none of its sub-tasks: counts as yes")
    kept = Reflection(
        task=proposal.task,
        round=proposal.round,
        robot=robot,
        agrees=not refused,
        verdicts=tuple(verdicts.values()),
        without_model=answer.without_model,
    )
    return kept, trouble


async def _again(
    setting: Setting,
    basis: Sequence[SubTask],
    robots: Sequence[str],
    round_: int,
    agreed: Mapping[str, SubTask],
    talk: Talk,
) -> tuple[SubTask, ...]:
    """Give what was refused to others; what was agreed on and is not touched by that stays."""
    if not robots:
        return ()
    share = setting.solve(basis, robots, talk.forbidden)
    talk.hear(share.unassigned)
    plan = tuple(one for one in share.sub_tasks if one.robot)
    open_ = tuple(one for one in plan if agreed.get(one.id) != one)
    if not open_ or len(robots) > setting.work.options.group_size:
        return plan  # no model sees so many robots
    lookups, refused = setting.lookups, frozenset(talk.forbidden)
    tools, options = lookups.toolbox, setting.work.options
    state = ReassignState(
        words=setting.work.words,
        robots={robot: body_text(tools.resumes[robot], options) for robot in robots},
        now={robot: where_text(tools.scene, robot, lookups.starts[robot]) for robot in robots},
        lookups=lookups,
        second=open_,
        refused=refused,
        said=tuple(talk.said),
        busy={
            robot: [
                inline_data(o.description or o.id)
                for o in plan
                if o.robot == robot and o not in open_
            ]
            for robot in robots
        },
        able={} if setting.decider.rule_only else able_robots(open_, robots, refused, lookups),
    )
    decided = await setting.decider.decide(Reassign(), state)
    if decided.decided_by == "model":
        chosen = {item.sub_task: item.robot for item in decided.reply.assignments}
        plan = tuple(
            one.model_copy(update={"robot": chosen.get(one.id, one.robot)}) for one in plan
        )
        why = inline_data(decided.reply.reason, limit=400) or "no reason given"
        said = f"who takes over is the model's choice ({decided.model}): {why}"
        setting.work.transcript.say("statement", "leader", said, round=round_)
        talk.said.append(f"round {round_ + 1}, leader: {why}")
        return tuple(one for one in plan if one.robot)
    if decided.reason:
        setting.work.notes.append(f"reassignment by rule: {decided.reason}")
    return plan


def _whole(agreed: dict[str, SubTask], open_tasks: Mapping[str, SubTask]) -> dict[str, SubTask]:
    """Return the agreed sub-tasks without those whose partner nobody does."""
    agreed = dict(agreed)
    needed = {one.same_robot_as for one in open_tasks.values()}
    lost = [""]
    while lost:
        # A robot must not pick up what it will not be able to put down.
        served = {one.same_robot_as for one in agreed.values()}
        handed = {one.object for one in agreed.values() if one.kind == "place"}
        lost = [
            one.id
            for one in agreed.values()
            if one.same_robot_as in open_tasks.keys() - agreed.keys()
            or (one.kind == "pick" and one.id in needed - served and one.object not in handed)
        ]
        for id in lost:
            del agreed[id]
    return agreed


def _problem(setting: Setting, text: str, round_: int) -> None:
    if len(setting.work.problems) < MOST_PROBLEMS:
        setting.work.problems.append(text)
    setting.work.transcript.say("problem", "leader", text, round=round_)
