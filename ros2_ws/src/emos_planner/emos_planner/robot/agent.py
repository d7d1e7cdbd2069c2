"""A robot's agent: judges its share by its own body, then works through it, one skill at a time.

A plain asynchronous object: the node drives one, a benchmark many in lockstep. It believes results
and what it sees afterwards, never itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from pydantic import Field

from coterie_core.geometry import Vec3
from coterie_core.observation import Observation
from coterie_core.resume import Resume
from coterie_core.resume_text import resume_text
from coterie_core.skills import (
    Ask,
    Close,
    NavigateTo,
    Open,
    Outcome,
    Pick,
    Place,
    Skill,
    SkillResult,
    Wait,
)
from coterie_core.tasks import Obstacle, Proposal, Reflection, RobotReport, SubTask, SubTaskState
from coterie_execution.clearing import PATIENCE
from coterie_execution.executive import TRIES, Executive
from coterie_execution.geometry.things import FLOOR
from coterie_execution.options import Attempt, Option, Purpose, Step, keep_option
from coterie_execution.own_tools import OwnTools
from coterie_execution.situation import Situation
from coterie_execution.standpoints import face_first
from coterie_llm import CheckFailed, Decider, inline_data
from coterie_requests.asking import Asking
from coterie_safety.stop import is_stop
from coterie_safety.why import belong, follow
from coterie_world.object_events import ObjectEvent
from coterie_world.right_of_way import YieldRequest
from coterie_world.sightings import kind_of
from coterie_world.team_map import TeamMap
from emos_planner.leader.expand import MOST_THINGS
from emos_planner.leader.options import ResumePrompts
from emos_planner.lookups import Lookups
from emos_planner.robot.choose import (
    WITH_ARM,
    ChooseSkill,
    SkillChoice,
    chosen,
    name_of,
    outlook,
)
from emos_planner.robot.helping import ANSWER_WAIT, HelpMessage, HelpTalk
from emos_planner.robot.reflect import ReflectOnShare, ShareState, reflection_of
from emos_planner.robot.share import Share, Work, open_places
from emos_planner.robot.share_facts import share_facts
from emos_planner.robot.skill_calls import MOST_CHOSEN, step_of
from emos_planner.robot.witness import Witness

_PENDING, _RUNNING = SubTaskState.PENDING, SubTaskState.RUNNING
_DONE, _FAILED = SubTaskState.DONE, SubTaskState.FAILED


class AgentLimits(ResumePrompts):
    """How an agent works."""

    tries: int = Field(
        TRIES, ge=1, le=1000, description="Largest number of skills tried for one sub-task."
    )

    def body_text(self, resume: Resume) -> str:
        """Return what a model is told of a body."""
        return resume_text(resume, self.resume_format, numbers=self.use_resume_numbers)


class RobotAgent:
    """The agent of one robot.

    Args:
        robot: Its name.
        resume: What its body can do, as far as it believes.
        decider: Who decides: a model, or the rules.
        team_map: What it knows of the house.
        limits: How it works.

    Attributes:
        asking: Lets its model ask the person and other robots; None: there is no way to.
        executive: What it does next by rule, and what was tried.
    """

    def __init__(
        self,
        robot: str,
        resume: Resume,
        decider: Decider,
        team_map: TeamMap,
        *,
        limits: AgentLimits | None = None,
    ) -> None:
        self.robot = robot
        self.decider = decider
        self.map = team_map
        self.limits = limits or AgentLimits()
        self.task = self.words = ""
        self.history: list[Attempt] = []
        self.share = Share(robot)
        self.talk = HelpTalk(robot)
        self.witness = Witness(robot, team_map)
        self.tools = OwnTools(robot, resume, team_map)
        self.executive = Executive(robot, self.tools, patience=PATIENCE, tries=self.limits.tries)
        self.aside = self.executive.aside
        self.asking: Asking | None = None
        self._chosen: Option | None = None
        self._doing = ""
        self._time = self._began = 0.0
        self._room = ""

    @property
    def holding(self) -> str:
        """Id of what the hand holds; "": nothing."""
        return self.executive.holding

    @holding.setter
    def holding(self, item: str) -> None:
        self.executive.holding = item

    @property
    def position(self) -> Vec3 | None:
        """Where it stands [m]; None: not known."""
        return self.executive.position

    # -- stage 1: reflection --------------------------------------------------------------------

    async def reflect(self, proposal: Proposal) -> Reflection:
        """Judge the own share of a proposal: yes, or no with typed reasons.

        A model judges what its word can change: not what the tools rule out, nor what no other
        robot could take over.
        """
        belong(task=proposal.task)
        if self.asking is not None:
            self.asking.begin(proposal.task)
        by_id = {one.id: one for one in proposal.sub_tasks}
        estimates = {
            one.id: self.tools.estimate_later(one, self.position, by_id)
            for one in proposal.sub_tasks
            if one.robot == self.robot
        }
        may_refuse = [id for id, one in estimates.items() if one.feasible]
        open_ = tuple(by_id[id] for id in may_refuse if id not in proposal.sole)
        tools, start, numbers = self.tools.toolbox(), self.position, self.limits.use_resume_numbers
        state = ShareState(
            proposal.words,
            self.limits.body_text(self.tools.resume),
            open_,
            tuple(share_facts(tools, self.robot, o, start, numbers=numbers) for o in open_),
            estimates,
            self.talk.lines,
            Lookups(tools, {self.robot: start}, own=self.robot, asking=self.asking),
        )
        decided = await self.decider.decide(ReflectOnShare(), state)
        return reflection_of(proposal, self.robot, estimates, decided)

    def overhear(self, reflection: Reflection) -> None:
        """Take in what another robot answered to a proposal."""
        self.talk.overhear(reflection)

    # -- what comes in --------------------------------------------------------------------------

    def assign(self, task: str, words: str, sub_tasks: Sequence[SubTask]) -> None:
        """Take over who does what; all sub-tasks of the task, those of others too."""
        if task != self.task:
            self.task, self.words = task, words
            self._begin_task(task)
            self.share.clear()
            self.history.clear()
            self.executive.clearing.begin()
            self.executive.looks.begin()
        self.words = words or self.words
        for one in sub_tasks:
            if one.robot == self.robot:
                self._learn(one)
        self.share.take(sub_tasks)
        if not (self.holding or self.history):  # it may have begun anew with something in its hand
            self.holding = self.share.in_hand(self.map)

    def _begin_task(self, task: str) -> None:
        self.talk.begin(task)
        self.witness.begin(task)
        if self.asking is not None:
            self.asking.begin(task)

    def _learn(self, one: SubTask) -> None:
        """Take over what an own sub-task says of the house, and of what others have searched."""
        for thing in (one.object, one.receptacle):
            if thing is not None and thing.label != FLOOR:
                self.map.learn(thing)
        self.executive.learn(one)

    def observe(self, observation: Observation) -> None:
        """Take in what is perceived."""
        if observation.robot != self.robot:
            return
        self._time, self.executive.pose = observation.time, observation.pose
        self._room = observation.room.id if observation.room else ""
        self.witness.observe(observation, self.holding, self._searched())
        if self.map.thing(self.holding) is not None:
            self.map.take(self.holding)

    def receive(self, message: object, now: float | None = None) -> None:
        """Take in what another robot says at a time [s]; offers its hand if it can help.

        `now` None: the time of the last observation.
        """
        if isinstance(message, YieldRequest):
            if self._chosen is None or self.aside.blocked:
                self.aside.hear(message, self._time if now is None else now)
            return
        request = self.talk.hear(message)
        if request is None or not self.idle:
            return
        wanted = next((s for s in self.share.all if s.id == request.sub_task), None)
        if wanted is not None and self.tools.estimate_later(wanted, self.position, {}).feasible:
            self.talk.offer(request)

    # -- stage 2: one skill at a time -----------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """Whether all of the own share is at an end."""
        return self.share.over

    @property
    def idle(self) -> bool:
        """Whether nothing is left to it of a task, in its hand neither."""
        return self.waiting and not self.holding

    def works_on(self, sub_task: str) -> bool:
        """Whether a sub-task is this robot's to do now."""
        work = self.share.get(sub_task)
        return work is not None and work.sub_task.state is _RUNNING

    async def next_skill(self) -> Skill | None:
        """Choose what to do next; None: nothing to do now."""
        if self.share.in_work() and (aside := self.aside.between(self.position, self._time)):
            return self._begin(aside)
        for _ in range(len(self.share.sub_tasks) + 2):
            work = self.share.next_work(self.holding, self.map, self.witness.step)
            if work is None:
                self._chosen, self._doing = None, ""
                aside = self.aside.option(self.position, self._time, idle=not self.holding)
                return self._begin(aside) if aside is not None else self._put_down_leftover()
            option, said = await self._choose(work)
            keep_option(self.robot, option, said.words)
            if option.effect == "done":
                self._end(work, _DONE, "", seen=option.step.purpose is Purpose.CONFIRMED)
                continue
            if option.effect == "give up":
                self._give_up(work, option, said.words)
                continue
            if isinstance(option.skill, Ask):
                # Messages go between robots, not through the world; then it waits for an answer.
                self.talk.say(work.sub_task, said.words, said.target)
                words = f"said to {said.target or 'all'}: {inline_data(said.words, limit=200)}"
                option = replace(option, words=words, skill=Wait(ANSWER_WAIT))
            self.talk.spoken_to = False
            return self._begin(option)
        return None

    @property
    def why(self) -> str:
        """What its skill is for, in words."""
        return self.aside.words or self.words

    def _begin(self, option: Option) -> Skill | None:
        self._chosen, self._doing = option, type(option.skill).__name__
        self._began = self._time
        if isinstance(option.skill, Place):
            self.map.about_to_put(self.holding)
        return option.skill

    async def _choose(self, work: Work) -> tuple[Option, SkillChoice]:
        belong(task=self.task, sub_task=work.sub_task.id)
        now = self._situation(work)
        step = partial(step_of, now)
        by_rule, meant = self.executive.trees[work.sub_task.kind].step(now), work.meant
        work.meant = None
        came = bool(now.attempts) and now.attempts[-1].ok
        if meant is not None and came and not by_rule.settled:
            with suppress(CheckFailed):  # it drove there, or turned, to do this
                if not isinstance((option := step(meant)).skill, NavigateTo):
                    return face_first(now, option), meant
        state = outlook(
            now,
            by_rule,
            step,
            work.attempts,
            words=self.words,
            room=self._room,
            share=self.share.all,
            heard=self.talk.lines,
            numbers=self.limits.use_resume_numbers,
            asking=self.asking,
        )
        if len(work.attempts) >= MOST_CHOSEN:
            decided = self.decider.decide_by_rule(ChooseSkill(), state)
        else:
            decided = await self.decider.decide(ChooseSkill(), state)
        follow(decided.trace)
        option = face_first(now, chosen(state, decided.reply))
        if name_of(option) == "go_to" and decided.reply.skill in WITH_ARM:
            work.meant = decided.reply
        return option, decided.reply

    def _searched(self) -> str:
        """Return the kind of thing that is searched now ("": none)."""
        work = self.share.get(self.share.current)
        if work is None or work.sub_task.kind != "search" or work.sub_task.object is None:
            return ""
        return kind_of(work.sub_task.object.label)

    def _situation(self, work: Work) -> Situation:
        now = self.executive.situation(
            work,
            seen_now=self.witness.seen_now(),
            glimpsed=self.witness.glimpsed(self.position),
            mates=self.share.mates,
            spoken_to=self.talk.spoken_to,
        )
        seen = self.witness.seen_on(now.thing, now.receptacle, work.placed)
        return replace(now, seen_placed=bool(work.sub_task.receptacle) and seen)

    def _put_down_leftover(self) -> Skill | None:
        """What the hand holds and nobody wants any more goes down before the robot goes on."""
        share, held, known = self.share, self.holding, self.map
        planned = any(share.places(held, one, known) for one in open_places(share.sub_tasks))
        if not self.holding or planned:
            self.executive.clearing.wanted()
            return None
        told = (one for one in share.all if one.robot == self.robot)
        if any(share.places(held, one, known) for one in open_places(told)):
            return None
        option = self.executive.clear_hand()
        if option is None:
            return None
        keep_option(self.robot, option)
        return self._begin(option)

    def skill_ended(self, skill: Skill, result: SkillResult) -> None:
        """Take in how a skill went: the true outcome, and the reason."""
        option, self._chosen, self._doing = self._chosen, None, ""
        if self.aside.took_in(option, skill, result, self.position, self._time):
            return
        words = option.words if option is not None else type(skill).__name__
        step = option.step if option is not None else Step(Purpose.DO)
        seen, at = self.witness.step, result.bears_at
        tried = Attempt(step, skill, result.outcome, result.reason, seen, at, words)
        self.history.append(tried)
        self.executive.looked(skill, result)
        if step.purpose is Purpose.LOOK_AGAIN:
            self.witness.looked_again(self.position)
        work = self.share.get(self.share.current)
        if step.purpose is Purpose.PUT_DOWN:
            self.executive.clearing.ended(skill, result, self.holding, self._room)
        if result.ok:
            self.witness.passed(self._began + result.duration)
            self._changed(skill, work, result.put_at)
        elif result.outcome is Outcome.HAND_EMPTY:
            self.holding = ""
        elif result.outcome is Outcome.UNKNOWN_TARGET and isinstance(skill, (Open, Close)):
            self.map.drop(skill.target.instance)
        if work is not None and work.sub_task.state is _RUNNING and not is_stop(result):
            self.executive.tried(work, tried)

    def _changed(self, skill: Skill, work: Work | None, put_at: Vec3 | None) -> None:
        """What a skill that succeeded changes in hand and map."""
        if isinstance(skill, Pick):
            self.holding = skill.target.instance or (work.sub_task.id if work else "?")
            self.witness.happened("picked", self.map.thing(self.holding))
            self.map.take(self.holding)
        elif isinstance(skill, Place):
            target = skill.receptacle
            self.map.put(self.holding, target.instance, put_at or target.position)
            self.witness.happened("placed", self.map.thing(self.holding))
            self.holding = ""
        elif hasattr(skill, "target"):
            is_open = isinstance(skill, Open)
            self.map.set_open(skill.target.instance, is_open)
            thing = self.map.thing(skill.target.instance)
            self.witness.happened("opened" if is_open else "closed", thing)

    def events(self) -> list[ObjectEvent]:
        """Return what became of things since the last call; whoever tells it gives the ids."""
        return self.witness.events()

    def hear(self, event: ObjectEvent) -> None:
        """Take in what another robot did to a thing."""
        if event.robot != self.robot:
            self.map.note(event)

    def _end(self, work: Work, state: SubTaskState, reason: str, seen: bool = False) -> None:
        work.sub_task = work.sub_task.model_copy(
            update={"state": state, "reason": inline_data(reason, limit=300), "seen": seen}
        )
        if state is _DONE:
            self.talk.asked = ""
        self.share.current = ""

    def _give_up(self, work: Work, option: Option, words: str = "") -> None:
        obstacle = option.obstacle.value if option.obstacle else "other"
        reason = option.reason or option.words
        doubted = option.obstacle is Obstacle.NOT_THERE
        self.witness.not_there(work.sub_task, work.attempts, self.position, doubted)
        self.talk.ask(work.sub_task, reason, words)
        told = f"; {inline_data(words, limit=150)}" if words else ""
        self._end(work, _FAILED, f"{obstacle}: {reason}{told}")

    # -- what goes out --------------------------------------------------------------------------

    def outbox(self) -> list[HelpMessage | YieldRequest]:
        """Return what is to be said to other robots, and forget it."""
        return [*self.talk.outbox(), *self.aside.outbox()]

    def report(self) -> RobotReport:
        """Tell how far this robot is; also its sign of life."""
        self.executive.looks.count()
        held = self.map.thing(self.holding)
        here = self.position if self._searched() else None
        found = self.witness.found(self.share.all, self.words, self.holding, here)
        return RobotReport(
            robot=self.robot,
            time=self._time,
            task=self.task,
            waiting=self.waiting,
            position=self.position,
            room=self._room,
            holding=held.label.top if held is not None else "something" if self.holding else "",
            skill=self._doing,
            help=self.talk.asked,
            offers=self.talk.offers,
            sub_tasks=self.share.sub_tasks,
            found=tuple(found[:MOST_THINGS]),
            put_down=self.executive.clearing.told,
            looked=self.executive.looks.report(),
        )

    # -- keeping --------------------------------------------------------------------------------

    def resume_work(self, task: str, words: str, holding: str) -> None:
        """Go on after a restart: the leader tells how far the own sub-tasks are."""
        self.task, self.words, self.holding = task, words, holding
        self._begin_task(task)
