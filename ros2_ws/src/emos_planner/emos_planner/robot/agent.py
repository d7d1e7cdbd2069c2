"""A robot's agent: judges its share by its own body, then works through it, one skill at a time.

A plain asynchronous object: the node drives one, a benchmark many in lockstep. It believes results
and what it sees afterwards, never itself.
"""

from __future__ import annotations

import asyncio
import copy
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from coterie_core.geometry import Vec3, distance
from coterie_core.household import load_household
from coterie_core.language import Decider, inline_data
from coterie_core.object_events import EventKind, ObjectEvent, event_of
from coterie_core.observation import Observation
from coterie_core.resume import Resume
from coterie_core.scene import SceneObject
from coterie_core.sightings import as_thing
from coterie_core.skills import (
    Detect,
    LookAround,
    NavigateTo,
    Outcome,
    Pick,
    Place,
    Skill,
    SkillResult,
    Target,
)
from coterie_core.tasks import (
    Obstacle,
    Proposal,
    Reflection,
    RobotReport,
    SubTask,
    SubTaskState,
)
from coterie_core.team_map import TeamMap
from emos_planner.resume.words import ResumeFormat, resume_text
from emos_planner.robot.choose import ChoiceState, ChooseSkill, Option, Tried
from emos_planner.robot.coverage import Coverage, Look
from emos_planner.robot.leftovers import leftover
from emos_planner.robot.messages import HelpMessage, Kind
from emos_planner.robot.reflect import ReflectOnShare, ShareState, settled, with_code
from emos_planner.robot.work import Attempt, Situation, options_for
from emos_planner.tools.results import Estimate
from emos_planner.tools.toolbox import Toolbox
from emos_planner.tools.write_check import second_opinion

_PENDING, _RUNNING = SubTaskState.PENDING, SubTaskState.RUNNING
_DONE, _FAILED = SubTaskState.DONE, SubTaskState.FAILED
_NEAR = 3.0
"""Who looks for a thing from nearer than this sees whether it is there [m]."""
_LOOKS = 2
"""So many looks in vain say that a thing is gone."""
PATIENCE = 3
"""Choices that a robot waits for the leader before it puts down what nobody seems to want."""
MOST_OFFERS = 100
"""Offers that a report tells, the latest ones."""


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """Bounds of an agent: tries per sub-task, its memory of what was done, things reported.

    `form` and `numbers` say how the body is shown to a model (the paper's ablations). A model also
    writes code over the tools for the first `code_checks` sub-tasks of a share.
    """

    tries: int = 12
    history: int = 60
    found: int = 60
    form: ResumeFormat = "json"
    numbers: bool = True
    code_checks: int = 0


@dataclass(slots=True)
class _Work:
    """A sub-task of the own share, and what was tried for it."""

    sub_task: SubTask
    tried: list[Tried] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    released: bool = False
    visited: list[str] = field(default_factory=list)
    stood: list[Vec3] = field(default_factory=list)


class RobotAgent:
    """The agent of one robot.

    Args:
        robot: Its name.
        resume: What its body can do, as far as it believes.
        decider: Who decides: a model, or the rules.
        team_map: What it knows of the house.
        limits: Bounds.
        seed: For ties.
    """

    def __init__(
        self,
        robot: str,
        resume: Resume,
        decider: Decider,
        team_map: TeamMap,
        *,
        limits: AgentLimits | None = None,
        seed: int = 0,
    ) -> None:
        self.robot = robot
        self.resume = resume
        self.decider = decider
        self.map = team_map
        self.limits = limits or AgentLimits()
        self.seed = seed
        self.task = ""
        self.words = ""
        self.holding = ""
        self.help = ""
        self.history: deque[Tried] = deque(maxlen=self.limits.history)
        self._all: tuple[SubTask, ...] = ()
        self._own: dict[str, _Work] = {}
        self._current = ""
        self._chosen: Option | None = None
        self._doing = ""
        self._time = 0.0
        self._position: Vec3 | None = None
        self._room = ""
        self._step = -1
        self._seen: dict[str, int] = {}
        self._noted: set[str] = set()
        self._outbox: list[HelpMessage] = []
        self._events: list[ObjectEvent] = []
        self._offers: dict[str, None] = {}
        self._messages = 0
        self._stuck_holding = ""
        self._heard: deque[str] = deque(maxlen=200)
        self._toolbox: Toolbox | None = None
        self._tool_version = -1
        self._heading = 0.0
        self._looks: list[Look] = []
        self._covers: dict[str, Coverage] = {}
        self._put_down, self._idle, self._leftover_tries = "", 0, 0

    # -- stage 1: reflection --------------------------------------------------------------------

    async def reflect(self, proposal: Proposal) -> Reflection:
        """Judge the own share of a proposal: yes, or no with typed reasons."""
        mine = tuple(s for s in proposal.sub_tasks if s.robot == self.robot)
        tools = self.toolbox()
        place_of = {s.id: s for s in proposal.sub_tasks}
        estimates = {one.id: self._estimate(tools, one, place_of) for one in mine}
        if not mine:
            return Reflection(
                task=proposal.task, round=proposal.round, robot=self.robot, agrees=True
            )
        state = ShareState(
            self.robot,
            proposal.words,
            resume_text(self.resume, self.limits.form, numbers=self.limits.numbers),
            mine,
            estimates,
        )
        decided, coded = await asyncio.gather(
            self.decider.decide(ReflectOnShare(), state), self._by_code(tools, mine, estimates)
        )
        by_model = decided.decided_by == "model"
        said = {verdict.sub_task: verdict for verdict in decided.reply.verdicts}
        verdicts = tuple(
            with_code(settled(estimates[one.id], said[one.id], by_model), coded.get(one.id, ""))
            for one in mine
        )
        return Reflection(
            task=proposal.task,
            round=proposal.round,
            robot=self.robot,
            agrees=all(verdict.feasible for verdict in verdicts),
            verdicts=verdicts,
        )

    async def _by_code(
        self, tools: Toolbox, mine: Sequence[SubTask], estimates: Mapping[str, Estimate]
    ) -> dict[str, str]:
        """Return what code that the model wrote says against the tools, by sub-task."""
        chosen = mine[: self.limits.code_checks]
        if self.decider.rule_only or not chosen:
            return {}
        opinions = await asyncio.gather(
            *(
                second_opinion(
                    self.decider, tools, self.robot, one, estimates[one.id], start=self._position
                )
                for one in chosen
            )
        )
        return {
            one.id: verdict.disagreement for one, (verdict, _) in zip(chosen, opinions, strict=True)
        }

    def _estimate(
        self, tools: Toolbox, one: SubTask, others: dict[str, SubTask] | None = None
    ) -> Estimate:
        """Ask the tools; what a place puts down is in the hand by then, what is opened is open."""
        holding: str | None = self.holding
        opened = [
            other.object.id
            for id_ in one.depends_on
            if others is not None
            and (other := others.get(id_)) is not None
            and other.kind == "open"
            and other.object is not None
        ]
        if others is not None:
            held = one.object.id if one.kind == "place" and one.object is not None else ""
            holding = held
        return tools.estimate(self.robot, one, self._position, holding=holding, opened=opened)

    def toolbox(self) -> Toolbox:
        """Return the tools for what this robot knows now."""
        if self._toolbox is None or self._tool_version != self.map.version:
            scene = copy.deepcopy(self.map.scene)
            resumes = {self.robot: self.resume}
            if self._toolbox is None:
                self._toolbox = Toolbox(scene, resumes)
            else:
                self._toolbox = self._toolbox.with_scene(scene, resumes)
            self._tool_version = self.map.version
        return self._toolbox

    # -- what comes in --------------------------------------------------------------------------

    def assign(self, task: str, words: str, sub_tasks: Sequence[SubTask]) -> None:
        """Take over who does what; all sub-tasks of the task, those of others too.

        A robot knows best how far its own are, but one that the leader calls done or failed is at
        its end. One that failed comes back as pending only after the leader has said so.
        """
        if task != self.task:
            self.task, self.words = task, words
            self._own, self._current = {}, ""
            self._seen, self.help, self._offers = {}, "", {}
            self._noted = set()
            self._covers = {}
            self._put_down, self._idle, self._leftover_tries = "", 0, 0
        self.words = words or self.words
        self._all = tuple(sub_tasks)
        given = {one.id: one for one in sub_tasks if one.robot == self.robot}
        for id_ in [i for i in self._own if i not in given]:
            del self._own[id_]
        for one in given.values():
            self._learn(one)
            if one.kind == "search" and one.object is not None:
                kind = load_household().canonical(one.object.label)
                cover = self._covers.setdefault(kind, Coverage(self.robot, kind))
                if one.receptacle is not None:
                    cover.owners.add(one.receptacle.id)
                if one.looked:
                    cover.hear(one.looked)
                    for name in cover.opened(self.toolbox()):
                        self.map.set_open(name, True)
            known = self._own.get(one.id)
            if known is None:
                # Running, and not by this agent: by one that died. It is begun anew.
                state = _PENDING if one.state is _RUNNING else one.state
                self._own[one.id] = _Work(one.model_copy(update={"state": state}))
                continue
            state = known.sub_task.state
            if one.state is _FAILED:
                known.released = True
            if one.state in (_DONE, _FAILED) and state in (_PENDING, _RUNNING):
                state = one.state  # the leader needs it no longer: what was found, was found
            again = one.state is _PENDING and state is _FAILED and known.released
            if again:
                self._own[one.id] = _Work(one)
            else:
                known.sub_task = one.model_copy(
                    update={"state": state, "reason": known.sub_task.reason}
                )
        for other in sub_tasks:
            if other.robot != self.robot:
                if other.id in self._own:
                    del self._own[other.id]
                self._note_others(other)
        if self._current not in self._own:
            self._current = ""

    def _learn(self, one: SubTask) -> None:
        for thing in (one.object, one.receptacle):
            if thing is not None:
                self.map.learn(thing)

    def _note_others(self, other: SubTask) -> None:
        """What others have done changes what this robot knows."""
        if other.state is not _DONE or other.object is None or other.id in self._noted:
            return
        self._noted.add(other.id)
        thing = self.map.resolve(other.object)
        if thing is None:
            return
        if other.kind in ("open", "close"):
            self.map.set_open(thing.id, other.kind == "open")
        elif other.kind == "pick":
            self.map.take(thing.id)
        elif other.kind == "place" and other.receptacle is not None:
            goal = self.map.resolve(other.receptacle)
            if goal is not None and thing.id not in self._seen:
                top = next((r for r in goal.receptacles if not r.inside), None)
                x, y, _ = goal.box.center
                at = top.surface.center if top is not None else (x, y, goal.box.top)
                self.map.put(thing.id, goal.id, at)

    def observe(self, observation: Observation) -> None:
        """Take in what is perceived."""
        if observation.robot != self.robot:
            return
        self._time, self._position = observation.time, observation.pose.position
        self._heading = observation.pose.yaw
        self._room = observation.room.id if observation.room else ""
        self._step = observation.step
        for id_ in self.map.observe(observation, self.holding):
            self._seen[id_] = observation.step
        held = self.map.thing(self.holding)
        if held is not None:
            self.map.take(self.holding)

    def receive(self, message: object) -> None:
        """Take in what another robot says; offers its hand if it can help."""
        if not isinstance(message, HelpMessage) or message.id in self._heard:
            return
        self._heard.append(message.id)
        concerned = not message.recipients or self.robot in message.recipients
        if not concerned or message.sender == self.robot or message.task != self.task:
            return
        if message.kind == "ask":
            wanted = next((s for s in self._all if s.id == message.sub_task), None)
            able = wanted is not None and not self.holding and self.waiting
            if able and wanted is not None and self._estimate(self.toolbox(), wanted, {}).feasible:
                # Who asked hears it; the leader, who gives out work, reads it in the report.
                self._offers[wanted.id] = None
                self._say("offer", wanted.id, f"{self.robot} can do it", (message.sender,))

    # -- stage 2: one skill at a time -----------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """Whether all of the own share is at an end."""
        return all(w.sub_task.state in (_DONE, _FAILED) for w in self._own.values())

    @property
    def current(self) -> str:
        """Id of the sub-task in work ("" for none)."""
        return self._current

    def works_on(self, sub_task: str) -> bool:
        """Whether a sub-task is this robot's to do now."""
        work = self._own.get(sub_task)
        return work is not None and work.sub_task.state is _RUNNING

    async def next_skill(self) -> Skill | None:
        """Choose what to do next; None: nothing to do now."""
        for _ in range(len(self._own) + 2):
            work = self._pick_work()
            if work is None:
                self._chosen, self._doing = None, ""
                return self._put_down_leftover()
            option = await self._choose(work)
            if option.effect == "done":
                self._end(work, _DONE, "", seen=option.id == "seen")
                continue
            if option.effect == "give up":
                self._give_up(work, option)
                continue
            self._chosen, self._doing = option, type(option.skill).__name__
            if option.asks_help:
                self._ask_help(work, option.reason)
            return option.skill
        return None

    def _pick_work(self) -> _Work | None:
        """The sub-task in work, else the best one that may begin."""
        current = self._own.get(self._current)
        if current is not None and current.sub_task.state in (_PENDING, _RUNNING):
            if current.sub_task.state is _RUNNING and self._may_begin(current.sub_task):
                return current
        ready = [
            w
            for w in self._own.values()
            if w.sub_task.state is _PENDING and self._may_begin(w.sub_task)
        ]
        if not ready:
            return None
        # What the hand holds goes where it shall be, before anything else is begun.
        ready.sort(key=lambda w: not self._places_held(w.sub_task))
        if self.holding and not self._places_held(ready[0].sub_task):
            if ready[0].sub_task.kind == "pick" and not self._picks_held(ready[0].sub_task):
                return None  # first that goes down
        chosen = ready[0]
        chosen.sub_task = chosen.sub_task.model_copy(update={"state": _RUNNING})
        self._current = chosen.sub_task.id
        return chosen

    def _may_begin(self, one: SubTask) -> bool:
        states = {other.id: other.state for other in self._all}
        states.update({id_: work.sub_task.state for id_, work in self._own.items()})
        return all(states.get(id_, _DONE) is _DONE for id_ in one.depends_on)

    def _places_held(self, one: SubTask) -> bool:
        if one.kind != "place" or not self.holding or one.object is None:
            return False
        meant = self.map.resolve(one.object)
        pick = self._own.get(one.same_robot_as)
        same = meant is not None and meant.id == self.holding
        return same or (pick is not None and pick.sub_task.state is _DONE)

    def _picks_held(self, one: SubTask) -> bool:
        meant = self.map.resolve(one.object) if one.object is not None else None
        return meant is not None and meant.id == self.holding

    def _held_is_planned(self) -> bool:
        """Whether some open sub-task of the own share will put down what the hand holds."""
        return any(
            w.sub_task.kind == "place"
            and w.sub_task.state in (_PENDING, _RUNNING)
            and self._places_held(w.sub_task)
            for w in self._own.values()
        )

    async def _choose(self, work: _Work) -> Option:
        situation = self._situation(work)
        options = options_for(situation)
        state = ChoiceState(
            self.robot,
            work.sub_task,
            options,
            tuple(work.tried[-12:]),
            situation.holding_label,
            self._room,
        )
        if len(options) == 1:
            return options[0]
        decided = await self.decider.decide(ChooseSkill(), state)
        return next(o for o in options if o.id == decided.reply.option)

    def _situation(self, work: _Work) -> Situation:
        one = work.sub_task
        self._count_looks()
        held = self.map.thing(self.holding)
        meant = self.map.resolve(one.object) if one.object is not None else None
        goal = self.map.resolve(one.receptacle) if one.receptacle is not None else None
        tools = self.toolbox()
        estimate = self._estimate(tools, self._grounded(one))
        if one.kind == "place":
            estimate = tools.estimate(
                self.robot, self._grounded(one), self._position, holding=self.holding or None
            )
        return Situation(
            robot=self.robot,
            sub_task=one,
            estimate=estimate,
            thing=meant,
            receptacle=goal,
            position=self._position,
            holding=self.holding,
            holding_label=held.label.top if held is not None else "",
            attempts=tuple(work.attempts),
            tries_left=self.limits.tries - self._tried(work),
            tools=tools,
            scene=self.map.scene,
            visited=tuple(work.visited),
            seen_now=frozenset(i for i, step in self._seen.items() if step == self._step),
            stood=tuple(work.stood),
            placed_in_view=one.receptacle is not None and self._in_view_on(meant, goal),
            coverage=self._covers.get(load_household().canonical(one.object.label))
            if one.kind == "search" and one.object is not None
            else None,
        )

    def _in_view_on(self, thing: SceneObject | None, goal: SceneObject | None) -> bool:
        """Whether the last look shows such a thing on (or in) what it was put on."""
        kind = load_household().canonical(thing.label.top) if thing is not None else ""
        for id_, step in self._seen.items():
            seen = self.map.thing(id_)
            if step != self._step or seen is None:
                continue
            if load_household().canonical(seen.label.top) != kind:
                continue
            if goal is None or goal.id in (seen.support, seen.container):
                return True
        return False

    def _tried(self, work: _Work) -> int:
        """Return how much of its patience a sub-task has cost; a search takes many looks."""
        if work.sub_task.kind != "search":
            return len(work.attempts)
        rooms = len(work.sub_task.rooms) or len(self.map.scene.rooms)
        return sum(not a.ok for a in work.attempts) - rooms * self.limits.tries // 2

    def _count_looks(self) -> None:
        """Take down what the last looks have left unseen; what they showed is on the map by now."""
        looks, self._looks = self._looks, []
        for look in looks if self._covers else ():
            tools = self.toolbox()
            for cover in self._covers.values():
                cover.look(tools, look)

    def _grounded(self, one: SubTask) -> SubTask:
        """The sub-task with ids and places as this robot's own map has them."""
        changes = {}
        for name in ("object", "receptacle"):
            thing = getattr(one, name)
            known = self.map.resolve(thing) if thing is not None else None
            if known is not None:
                changes[name] = as_thing(known)
        return one.model_copy(update=changes) if changes else one

    def _put_down_leftover(self) -> Skill | None:
        """What the hand holds and nobody wants any more goes down before the robot goes on.

        On the nearest surface of the room that it fits on; where there is none, on the floor.
        """
        if not self.holding or self._held_is_planned() or self._position is None:
            self._idle = 0
            return None
        if self._stuck_holding == self.holding or self._wanted_elsewhere():
            return None  # it does not get it down: better to wait with it than to try for ever
        self._idle += 1
        if self._idle < PATIENCE:
            return None  # the leader may say at once where else it shall go
        option = leftover(self.robot, self.map, self.toolbox(), self._position, self.holding)
        if self._leftover_tries >= 2 or option is None:
            x, y, z = self._position
            skill = Place(Target("floor", (x + 0.4, y, z)))
            option = Option("put down", "put down what nobody wants any more", skill=skill)
        self._leftover_tries += isinstance(option.skill, NavigateTo)
        self._chosen, self._doing = option, type(option.skill).__name__
        return option.skill

    def _wanted_elsewhere(self) -> bool:
        """Whether the hand's thing is still to be placed by this robot."""
        return any(
            s.kind == "place"
            and s.robot == self.robot
            and s.state in (_PENDING, _RUNNING)
            and self._places_held(s)
            for s in self._all
        )

    def skill_ended(self, skill: Skill, result: SkillResult) -> None:
        """Take in how a skill went: the true outcome, and the reason."""
        option, self._chosen, self._doing = self._chosen, None, ""
        words = option.words if option is not None else type(skill).__name__
        tried = Tried(words, result.outcome, result.reason)
        self.history.append(tried)
        if self._position is not None and isinstance(skill, (LookAround, Detect)):
            around = isinstance(skill, LookAround)
            if result.ok or not around:
                self._looks.append(Look(self._position, None if around else self._heading))
        work = self._own.get(self._current)
        if option is not None and option.id == "put down":
            self._ended_leftover(skill, result)
        if result.ok:
            self._changed(skill, work)
        elif result.outcome in (Outcome.HAND_EMPTY,):
            self.holding = ""
        if work is None or work.sub_task.state is not _RUNNING:
            return
        work.tried.append(tried)
        work.attempts.append(
            Attempt(
                option.id if option is not None else "?",
                type(skill).__name__,
                result.outcome,
                result.reason,
                self._step,
            )
        )
        looked = isinstance(skill, Detect)
        if (looked or not result.ok) and self._position is not None:
            work.stood.append(self._position)
        if option is not None and option.id.startswith("room ") and result.ok:
            work.visited.append(option.id.removeprefix("room "))

    def _ended_leftover(self, skill: Skill, result: SkillResult) -> None:
        """Take down how it went to put down what nobody wants."""
        if not result.ok and isinstance(skill, Place) and skill.receptacle.label == "floor":
            self._stuck_holding = self.holding
        elif not result.ok:
            self._leftover_tries = 2
        elif isinstance(skill, Place):
            held = self.map.thing(self.holding)
            room = self.map.scene.rooms.get(self._room)
            where = f" in {room.name}" if room is not None else ""
            name = held.label.top if held is not None else "what it held"
            self._put_down = f"put the {name} down on the {skill.receptacle.label}{where}"
            self._leftover_tries = 0

    def _changed(self, skill: Skill, work: _Work | None) -> None:
        """What a skill that succeeded changes in hand and map."""
        if isinstance(skill, Pick):
            self.holding = skill.target.instance or (work.sub_task.id if work else "?")
            self._happened("picked", self.map.thing(self.holding))
            self.map.take(self.holding)
        elif isinstance(skill, Place):
            owner = skill.receptacle.instance
            self.map.put(self.holding, owner, skill.receptacle.position)
            self._happened("placed", self.map.thing(self.holding))
            self.holding = ""
        elif hasattr(skill, "target"):
            is_open = type(skill).__name__ == "Open"
            self.map.set_open(skill.target.instance, is_open)
            thing = self.map.thing(skill.target.instance)
            self._happened("opened" if is_open else "closed", thing)

    def _happened(self, kind: EventKind, thing: SceneObject | None) -> None:
        """Note for the team what this robot did to a thing, or saw of it, by its own map."""
        if thing is not None and thing.label.top:
            self._events.append(event_of(kind, thing, self.robot, self._time, self.task))

    def events(self) -> list[ObjectEvent]:
        """Return what became of things since the last call; whoever tells it gives the ids."""
        told, self._events = self._events, []
        return told

    def hear(self, event: ObjectEvent) -> None:
        """Take in what another robot did to a thing."""
        if event.robot != self.robot:
            self.map.note(event)

    def _not_there(self, work: _Work, doubted: bool = False) -> None:
        """Tell the team of a thing that was looked for where it was said to be, in vain."""
        one = work.sub_task
        thing = self.map.resolve(one.object) if one.object is not None else None
        if thing is None or thing.kind != "item" or one.kind not in ("pick", "detect"):
            return
        if doubted:
            self._happened("gone" if thing.observations > 1 else "doubted", thing)
            return
        missed = (Outcome.NOT_VISIBLE, Outcome.UNKNOWN_TARGET)
        looks = [a for a in work.attempts if a.outcome in missed]
        since = min((a.step for a in looks), default=self._step)
        near = self._position is not None and distance(self._position, thing.box.center) <= _NEAR
        if len(looks) >= _LOOKS and near and self._seen.get(thing.id, -1) < since:
            self._happened("gone", thing)

    def _end(self, work: _Work, state: SubTaskState, reason: str, seen: bool = False) -> None:
        work.sub_task = work.sub_task.model_copy(
            update={"state": state, "reason": inline_data(reason, limit=300), "seen": seen}
        )
        if state is _DONE:
            self.help = ""
        self._current = ""

    def _give_up(self, work: _Work, option: Option) -> None:
        obstacle = option.obstacle.value if option.obstacle else "other"
        reason = option.reason or option.words
        self._not_there(work, option.obstacle is Obstacle.NOT_THERE)
        self._ask_help(work, reason)
        self._end(work, _FAILED, f"{obstacle}: {reason}")

    # -- what goes out --------------------------------------------------------------------------

    def _ask_help(self, work: _Work, reason: str) -> None:
        text = f"{self.robot} cannot {work.sub_task.description or work.sub_task.kind}: {reason}"
        self.help = text[:300]
        self._say("ask", work.sub_task.id, text)

    def _say(self, kind: Kind, sub_task: str, text: str, recipients: tuple[str, ...] = ()) -> None:
        self._messages += 1
        self._outbox.append(
            HelpMessage(
                id=f"{self.robot}-{self.task}-{self._messages}"[:80],
                sender=self.robot,
                recipients=recipients,
                kind=kind,
                task=self.task,
                sub_task=sub_task,
                text=text[:500],
            )
        )

    def outbox(self) -> list[HelpMessage]:
        """Return what is to be said to other robots, and forget it."""
        said, self._outbox = self._outbox, []
        return said

    def report(self) -> RobotReport:
        """Tell how far this robot is; also its sign of life."""
        self._count_looks()
        held = self.map.thing(self.holding)
        return RobotReport(
            robot=self.robot,
            time=self._time,
            task=self.task,
            waiting=self.waiting,
            position=self._position,
            room=self._room,
            holding=held.label.top if held is not None else "",
            skill=self._doing,
            help=self.help,
            offers=tuple(self._offers)[-MOST_OFFERS:],
            sub_tasks=tuple(work.sub_task for work in self._own.values()),
            found=tuple(self._found())[: self.limits.found],
            put_down=self._put_down,
            looked={label: cover.report() for label, cover in self._covers.items()},
        )

    def _found(self) -> list[object]:
        """Things the task is about that this robot has seen with its own eyes."""
        household = load_household()
        labels = {
            household.canonical(thing.label)
            for one in self._all
            for thing in (one.object, one.receptacle)
            if thing is not None
        }
        looked_over = {
            one.receptacle.id for one in self._all if one.kind == "search" and one.receptacle
        }
        words = set(re.findall(r"[a-z]+", self.words.lower()))
        things = []
        for id_ in self._seen:
            thing = self.map.thing(id_)
            if thing is None or id_ == self.holding:
                continue
            kind = household.canonical(thing.label.top)
            wanted = kind in labels or kind in words or f"{kind}s" in words
            if wanted or {thing.support, thing.container} & looked_over:
                update = {"sightings": thing.observations}
                things.append(as_thing(thing).model_copy(update=update))
        return list(things)

    # -- keeping --------------------------------------------------------------------------------

    def resume_work(self, report: RobotReport) -> None:
        """Go on after a restart from the last report: states of the own sub-tasks."""
        self.task = report.task
        for one in report.sub_tasks:
            if one.robot == self.robot:
                # What was in work is begun anew: what is done of it shows at once.
                state = _PENDING if one.state is _RUNNING else one.state
                self._own[one.id] = _Work(one.model_copy(update={"state": state}))
