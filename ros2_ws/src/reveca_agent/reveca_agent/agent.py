"""The agent: observe, rate, plan, validate, talk when it pays, execute (REVECA)."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TypeVar

from pydantic import BaseModel

from coterie_core.cooperation import (
    Action,
    Briefing,
    Note,
    Open,
    Percept,
    Put,
    Result,
    Send,
    Spot,
    Thing,
    Wait,
)
from coterie_llm import Decider, Decision, RulesModel
from coterie_requests.asking import Asking
from coterie_safety import why
from coterie_safety.why.record import new_id
from coterie_world.meaning import Meanings, likeness_by_label, nearest_labels
from reveca_agent.communication import Communicator
from reveca_agent.entries import Deed, trim
from reveca_agent.memory import Memory
from reveca_agent.observation import Observer
from reveca_agent.planning import ChoosePlan, PlanState, candidates, with_others
from reveca_agent.plans import Plan
from reveca_agent.relevance import RATED, RateRelevance, RatingState
from reveca_agent.settings import Settings
from reveca_agent.skill_book import carried
from reveca_agent.validation import (
    NOBODY,
    JudgeScenario,
    ScenarioState,
    scenarios,
    shown,
    worth_asking,
)

StateT = TypeVar("StateT")
ReplyT = TypeVar("ReplyT", bound=BaseModel)

KEPT = 500
"""Most questions and failures that are remembered."""
RETRIES = 3
"""Failures at one target after which it counts as missing, and is left alone for long."""
WAYS = 2
"""Failures to get to a target, or to find room on it, after which it is left alone for long."""
ASK_AGAIN = 30
"""Steps before the same question is asked again."""


class RevecaAgent:
    """An agent that cooperates under partial observation; free of ROS, driven from outside.

    Args:
        name: Its name in the team.
        decider: Who answers its decisions; None: the rules.
        settings: R, K, bounds, and what is left out.
        meanings: Compares the goal with labels, where more is new than a model can rate at a time.

    Attributes:
        asking: Lets its model ask the person; None: there is no way to.
    """

    def __init__(
        self,
        name: str,
        decider: Decider | None = None,
        settings: Settings | None = None,
        meanings: Meanings | None = None,
    ) -> None:
        self.name = name
        self.meanings = meanings
        self.settings = settings or Settings()
        self.decider = decider or Decider(RulesModel(), who=name)
        self.memory: Memory
        self.briefing: Briefing
        self.plan: Plan | None = None
        self.asking: Asking | None = None
        self._result: Result | None = None
        self._action: Action | None = None

    # --- driven from outside ---------------------------------------------------------------------

    def begin(self, briefing: Briefing, memory: Memory | None = None) -> None:
        """Start an episode, with an empty memory or one that was saved."""
        self.briefing = briefing
        why.belong(task=f"goal-{new_id()}")
        why.note("task", self.name, {"words": briefing.goal.text(), "robots": briefing.team})
        self.memory = memory or Memory(self.settings, self.name, briefing.goal)
        self.observer = Observer(self.memory, briefing)
        self.communicator = Communicator(self.memory, briefing)
        self.plan = None
        self._result = self._action = None
        self._planned = self._last_decision = ""
        self._started = memory is not None
        self._brought: list[str] = []
        self._putting: tuple[str, ...] = ()
        self._failed: dict[str, int] = {}
        self._asked: dict[str, int] = {}

    def observe(self, percept: Percept) -> None:
        """Take a percept in, with what was said."""
        self.observer.observe(percept)
        for note in percept.notes:
            self.communicator.hear(note)
        self._result = percept.result

    def receive(self, note: Note) -> None:
        """Take in a message that came between percepts."""
        self.communicator.hear(note)

    async def act(self) -> Action:
        """Choose the next action: talk where it is due, else the plan's next step."""
        await self._rate()
        self._judge_result()
        action = await self._next()
        self._keep(action)
        self._action = action
        if isinstance(action, Put):
            inside = tuple(self.memory.inside(action.item))
            self._putting = inside or (action.item,)  # a container is emptied
        self.communicator.aim = self.plan.target if self.plan is not None else ""
        return action

    def _keep(self, action: Action) -> None:
        """Keep what it does, and for which plan; of waiting on and on the beginning."""
        if isinstance(action, Wait) and isinstance(self._action, Wait):
            return
        plan = self.plan.text() if self.plan is not None else "no plan"
        because = self._planned if self.plan is not None else ""
        words = f"{plan}: {action}"
        body = {"words": words, "skill": type(action).__name__, "plan": plan}
        why.follow(why.note("action", self.name, body, because=because))

    def undeliverable_item(self) -> str:
        """Return the id of what the hand holds though none of its places takes it now; "": none.

        Nor does one where none is known, and all rooms left are such that one does not get into.
        """
        memory = self.memory
        left = [room for room in self.briefing.ways.rooms if room not in memory.rooms]
        beyond = len(self.briefing.team) > 1 and bool(left) and all(map(memory.blocked, left))
        for thing in carried(memory):
            wanted = memory.goal.of_item(thing.label)
            places = [id_ for goal in wanted for id_ in memory.targets.get(goal.target, ())]
            known = [id_ for id_ in places if id_ in memory.scene and not memory.scene[id_].missing]
            none = all(map(memory.blocked, known)) if known else bool(wanted) and beyond
            if none and not memory.blocked(thing.id):
                return thing.id
        return ""

    def release_item(self, item: str) -> Note:
        """Leave a thing to others for a while; return what tells them where it is."""
        self.memory.block(item)
        self._end_plan("laid aside")
        return self.communicator.release_item(item)

    # --- observation time ------------------------------------------------------------------------

    async def _rate(self) -> None:
        """Rate the relevance of what is new, before it counts for anything."""
        things, notes = self.observer.new + self.communicator.things, self.communicator.new
        if not things and not notes:
            return
        self.observer.new, self.communicator.things, self.communicator.new = [], [], []
        if not self.settings.relevance:
            return
        count = len(things) + len(notes)
        if count > RATED and not self.decider.rule_only:
            labels, goal = {thing.label for thing in things}, self.memory.goal.text()
            near = nearest_labels(await likeness_by_label(self.meanings, goal, labels))
            things, notes = self._rate_many(things, notes, near)
        left_out = count - len(things) - len(notes)
        state = RatingState(self.memory.goal, things, notes, self.settings.levels, left_out)
        ratings = await self._decide(RateRelevance(), state)
        levels = ratings.by_piece(state)
        for thing, level in zip(things, levels, strict=False):
            self.memory.rate(thing.id, level)
        heard = (
            {one.note.id: one for one in list(self.memory.heard)[-len(notes) :]} if notes else {}
        )
        for note, level in zip(notes, levels[len(things) :], strict=False):
            if note.id in heard:
                heard[note.id].level = level

    def _rate_many(
        self, things: list[Thing], notes: list[Note], near: Collection[str]
    ) -> tuple[list[Thing], list[Note]]:
        """Rate what is too much for one question by the rule; return what a model should rate.

        That are the latest messages, and the things that the rule finds most relevant; of equal
        ones those whose labels are `near` to the goal in meaning.
        """
        state = RatingState(self.memory.goal, things, (), self.settings.levels)
        levels = RateRelevance().rule(state).by_piece(state)
        for thing, level in zip(things, levels, strict=True):
            self.memory.rate(thing.id, level)
        notes = notes[-RATED // 2 :]
        ranked = sorted(range(len(things)), key=lambda k: (-levels[k], things[k].label not in near))
        best = ranked[: RATED - len(notes)]
        return [things[k] for k in sorted(best)], notes

    # --- planning, validation, execution ---------------------------------------------------------

    async def _next(self) -> Action:
        speaker = self.communicator
        if self.observer.surprised or speaker.surprised:
            self.observer.surprised = speaker.surprised = False
            self._end_plan("things changed")
        action = self._execute()
        if action is None:
            await self._choose()
            action = self._execute()
        talks = self.settings.talk and len(self.briefing.team) > 1
        if talks:
            note = self._due()
            if note is not None:
                return Send(note)
        for _ in range(self.settings.plans):
            if self.plan is None or self.plan.checked or not talks:
                break
            self.plan.checked = True
            question = await self._validate(self.plan)
            if question is not None:
                return Send(question)
        if action is None:
            action = Wait("nothing to do")
        return action

    def _execute(self) -> Action | None:
        """Return the plan's next action; None when there is no plan, or it is complete."""
        plan = self.plan
        if plan is None:
            return None
        skill = self.memory.skills[plan.kind]
        action = skill(plan, self.memory, self._near)
        if action is None:
            self._end_plan("done")
        return action

    def _near(self, spot: Spot) -> bool:
        here = self.memory.spot
        away = math.dist(here.position[:2], spot.position[:2])
        return here.room == spot.room and away <= self.briefing.reach

    async def _choose(self) -> None:
        options = candidates(self.memory, self.briefing)
        self._planned = ""
        if len(options) == 1:
            self.plan = options[0].plan
            return
        if not self.decider.rule_only:
            with_others(options, self.memory, self.briefing)
        left = self.briefing.horizon - self.memory.step
        state = PlanState(options, self.memory, left, self.briefing.hands, self.asking)
        chosen = state.chosen(await self._decide(ChoosePlan(), state))
        self._planned = self._last_decision
        assert chosen is not None  # by its check
        self.plan = chosen.plan

    def _end_plan(self, outcome: str) -> None:
        plan = self.plan
        if plan is None:
            return
        if plan.kind != "wait":
            self.memory.deeds.append(Deed(self.memory.step, plan.kind, plan.target, outcome))
        self.plan = None

    def _judge_result(self) -> None:
        """Learn from what became of the last action."""
        result, action = self._result, self._action
        if result is None or action is None:
            return
        if result.ok:
            if result.done and isinstance(action, Put) and action.target not in self.memory.hands:
                self._brought = [*self._brought, *self._putting][-KEPT:]
            return
        plan = self.plan
        if plan is None or isinstance(action, (Send, Wait)):
            return
        if result.reason == "unable" and isinstance(action, Open):
            self.memory.opens = False
        count = self._failed[plan.target] = self._failed.get(plan.target, 0) + 1
        trim(self._failed, KEPT)
        entry = self.memory.scene.get(plan.target)
        # What stands there is something else, or stands in front of it.
        wrong = result.reason == "gone" or (result.reason == "closed" and isinstance(action, Open))
        phantom = wrong and entry is not None and entry.thing.kind != "item"
        passing = result.reason == "in_the_way"
        if (phantom or passing or result.reason in ("no_way", "too_far", "full")) and count >= WAYS:
            self.memory.block(plan.target, passing)
            self._failed.pop(plan.target)
            self._end_plan(result.reason)
            return
        if entry is not None and (result.reason == "gone" or count >= RETRIES):
            self.memory.miss(plan.target, self.memory.step)
        if count >= RETRIES:
            # In view it is back at once, and never what it was taken for.
            self.memory.block(plan.target)
            self._failed.pop(plan.target)
        self._end_plan(result.reason or "failed")

    async def _validate(self, plan: Plan) -> Note | None:
        """Return the question to ask before a plan, or None where it counts as valid."""
        if self.settings.ask == "never":
            return None
        memory, target, whom = self.memory, plan.target, ""
        if memory.step - self._asked.get(target, -ASK_AGAIN) < ASK_AGAIN:
            return None
        if self.settings.ask == "always":
            if plan.kind not in ("fetch", "look", "explore"):
                return None
        else:
            state = scenarios(plan, memory, self.briefing)
            if state is None or not worth_asking(state, memory, self.briefing):
                return None
            whom = await self._likeliest(state)
            if not whom:
                return None
        self._asked.pop(target, None)
        self._asked[target] = memory.step
        trim(self._asked, KEPT)
        return self.communicator.ask(whom, plan)

    async def _likeliest(self, state: ScenarioState) -> str:
        if not self.decider.rule_only:
            state = shown(state, self.memory, self.briefing)
        choice = await self._decide(JudgeScenario(), state)
        return "" if choice.who == NOBODY else choice.who

    def _due(self) -> Note | None:
        """Return what is to be said now: at the start, an answer owed, a sub-goal achieved."""
        speaker = self.communicator
        if not self._started:
            self._started = True
            return speaker.start(self.plan)
        if speaker.duties:
            return speaker.reply(self.plan)
        if self._brought and (self.plan is None or self.plan.kind != "deliver"):
            items = [id_ for id_ in self._brought if id_ in self.memory.placed]
            self._brought = []
            if items:
                return speaker.done(items, self.plan)
        return None

    async def _decide(self, decision: Decision[StateT, ReplyT], state: StateT) -> ReplyT:
        if self.decider.rule_only:
            made = self.decider.decide_by_rule(decision, state)
        else:
            made = await self.decider.decide(decision, state)
        self._last_decision = made.trace
        return made.reply
