"""One robot works on a shared goal in a house: decide, move, speak, and think again on the way.

Free of ROS: whoever drives it carries out skills and messages (the node through its driver, a test
in a simulated house).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Protocol

from coterie_core.cooperation import Action, GoTo, Note, Put, Result, Send, Wait
from coterie_core.skills import LookAround, NavigateTo, Outcome, Place, Skill, SkillResult
from coterie_core.skills import Wait as Idle
from coterie_core.tasks import SubTask
from coterie_execution.options import Option, Purpose
from coterie_safety import why
from coterie_world.right_of_way import YieldRequest
from reveca_agent.agent import RevecaAgent
from reveca_agent.house import HouseBody

LINGER = 3
"""Decisions that may still be messages once all is done: who waits for an answer gets it."""
_ELSEWHERE = (Outcome.UNREACHABLE, Outcome.BLOCKED)
"""Failures of a drive after which another robot may want its way."""


class Driver(Protocol):
    """What carries out skills and messages."""

    async def skill(self, skill: Skill) -> SkillResult:
        """Carry out a skill; the body has observed what came after it when this returns."""

    def speak(self, note: Note) -> None:
        """Send a message to the others."""

    def ask_way(self, request: YieldRequest) -> None:
        """Ask the others for the way."""

    def heard(self) -> Sequence[Note]:
        """Return the messages that came since the last call, stamps as steps of the goal."""

    def noted(self) -> Awaitable[Any]:
        """Return what ends when there is a message that was not heard yet."""


class Work:
    """One robot's work on one goal.

    Args:
        agent: Decides; `begin` was called.
        body: What the robot knows of the house.
        driver: Carries out skills and messages.
        on_change: Called when what the robot does changes.

    Attributes:
        doing: What it does now, in words; "" for nothing.
        decisions, notes, characters, distance: Decisions taken, messages sent and their length,
            way travelled [m].
    """

    def __init__(
        self,
        agent: RevecaAgent,
        body: HouseBody,
        driver: Driver,
        on_change: Callable[[], object] = lambda: None,
    ) -> None:
        self.agent, self.body, self.driver = agent, body, driver
        self.on_change = on_change
        self.doing = ""
        self.decisions = self.notes = self.characters = 0
        self.distance = 0.0

    @property
    def met(self) -> bool:
        """Whether all sub-goals are met as far as the robot knows."""
        return not any(self.agent.memory.needs().values())

    async def until_met(self, end: float) -> str:
        """Decide and act until the goal is met or the world's clock is at `end` [s].

        Returns:
            What ended it: "met" or "out of time".
        """
        action: Action | None = None
        lingered = 0
        while self.body.time < end:
            if action is None:
                action = await self._decide()
            if isinstance(action, Send):
                self._speak(action.note)
                action = Wait("spoke")  # costs a step, as in the bench: there is time to answer
            elif self.met:
                if isinstance(action, Wait) or lingered >= LINGER:
                    self._tell_met()
                    self._do("")
                    return "met"
                lingered += 1
            elif await self._lay_aside() or (
                isinstance(action, Wait) and await self._make_way(idle=True)
            ):
                action = None
                continue
            action = await self._carry_out(action)
        self._do("")
        return "out of time"

    async def to_the_end(self, end: float) -> str:
        """Work as `until_met` does, with a hand that holds nothing useless before and after."""
        if self.body.holds_useless(self.agent.memory.goal):
            await self.empty_hand()
        how = await self.until_met(end)
        await self.empty_hand()
        return how

    async def empty_hand(self) -> None:
        """Put down what the hand holds and nobody wants any more."""
        self.body.executive.clearing.begin()
        while (step := self.body.executive.clear_hand()) is not None and step.skill is not None:
            self.body.put_away(step, await self._skill(step.skill))

    async def answer(self) -> None:
        """Answer what was asked while there is nothing to do."""
        self.agent.observe(self.body.percept(self.driver.heard()))
        for _ in range(LINGER):
            thought = await self.agent.act()
            if not isinstance(thought, Send):
                return
            self._speak(thought.note)

    async def _lay_aside(self) -> bool:
        """Put down what no place takes from this robot: another one may reach higher, or further.

        It is left alone for a while then. Tell whether there was such a thing.
        """
        item = self.agent.undeliverable_item()
        if not item:
            return False
        self._do("lay aside")
        await self.empty_hand()
        self.agent.observe(self.body.percept(self.driver.heard()))
        note = self.agent.release_item(item)
        if len(self.agent.briefing.team) > 1 and not self.body.holding:
            self._speak(note)
        return True

    async def _decide(self) -> Action:
        self.agent.observe(self.body.percept(self.driver.heard()))
        self.decisions += 1
        return await self.agent.act()

    async def _carry_out(self, action: Action) -> Action | None:
        """Do an action; return the next one where the agent changed its mind on the way."""
        plan = self.agent.plan
        meant = plan.target if plan is not None and plan.kind == "fetch" else ""
        self._do(plan.text() if plan is not None else "wait")
        motion = self.body.motion(action, meant)
        if isinstance(motion, Result) and self.body.motions.only_told(action):
            motion = await self._look_for(action)
        if isinstance(motion, Result):
            if not motion.ok:
                body = {"outcome": motion.reason.upper(), "message": motion.text}
                why.note("ended", self.body.name, body)
            await self._skill(Idle(self.body.shape.step))  # what needs no motion takes a step too
            self.body.result = motion  # it could not be done at all, or needs no motion
            return None
        return await self._by_steps(action, motion)

    async def _look_for(self, action: Action) -> SubTask | Result:
        """Look around for what only another robot has seen, and from where a camera shows it."""
        view = self.body.motions.view_of(self.body.spot)
        await self._skill(LookAround())
        motion = self.body.motion(action)
        if isinstance(motion, Result) and view is not None and (await self._skill(view)).ok:
            await self._skill(LookAround())
            motion = self.body.motion(action)
        return motion

    async def _by_steps(self, action: Action, one: SubTask) -> Action | None:
        """Do an action as its executive says; return the next one where the agent thinks anew."""
        failed: SkillResult | None = None
        going = isinstance(action, GoTo)
        while (step := self.body.executive.next_step(one)).effect == "act":
            assert step.skill is not None
            if going and not isinstance(step.skill, (NavigateTo, Idle, LookAround)):
                break  # what the hand does there is another action
            result, instead = await self._walk(action, step.skill)
            if instead is not None:
                return instead
            drives = isinstance(step.skill, NavigateTo)
            went = drives and result.ok
            if went and isinstance(action, GoTo) and not self.body.arrived(action):
                # Near enough for a drive, in the next room: nothing is reached from there.
                result = SkillResult(Outcome.UNREACHABLE, "it only got to another room")
            if self.body.stepped(action, step, result):
                await self._breathe(result)
                return None
            if one.kind == "search" and isinstance(step.skill, LookAround):
                self.body.ended(action, result)
                await self._breathe(result)
                return None  # what it shows may be what is wanted
            failed = failed if result.ok else result
            if drives and result.outcome in _ELSEWHERE:
                await self._make_way(idle=False)
        if one.kind == "search":
            self.body.search.ended(one.rooms[0])
        if step.effect == "give up":
            self.body.gave_up(action, step, failed)
            await self._breathe(failed)
            return None
        if isinstance(action, GoTo) and not self.body.arrived(action):
            end = SkillResult(Outcome.UNREACHABLE, "it gets no nearer than another room")
            self.body.ended(action, end)
            await self._breathe(end)
        else:
            self._end(action, step)
        return None

    async def _breathe(self, result: SkillResult | None) -> None:
        """Let time pass where a try took none: who tries again and again would never end."""
        if result is None or not (result.ok or result.duration):
            await self._skill(Idle(self.body.shape.step))

    def _end(self, action: Action, step: Option) -> None:
        """Take in that an action was done: the robot is there, or has seen what it did."""
        if isinstance(action, Put):
            unseen = step.step.purpose is not Purpose.CONFIRMED
            if unseen and self.body.to_be_seen(action.item):
                self.body.fell(action.item)
        else:
            self.body.ended(action, SkillResult(Outcome.SUCCEEDED))

    async def _walk(self, action: Action, skill: Skill) -> tuple[SkillResult, Action | None]:
        """Do a skill; on the way to furniture and rooms the agent goes on thinking."""
        walk = asyncio.ensure_future(self._skill(skill))
        async with _ended(walk):
            while isinstance(action, GoTo) and not walk.done():
                noted = asyncio.ensure_future(self.driver.noted())
                async with _ended(noted):
                    await asyncio.wait({walk, noted}, return_when=asyncio.FIRST_COMPLETED)
                if walk.done():
                    break
                instead = await self._on_the_way(action)
                if instead is not None and not walk.done():
                    return SkillResult(Outcome.CANCELLED, "changed its mind"), instead
            return await walk, None

    async def _on_the_way(self, action: GoTo) -> Action | None:
        """Take in what was said while walking; return what to do instead, if anything."""
        self.body.result = Result(True, False)  # the last action goes on
        for _ in range(4):  # answers owed; each is one decision
            thought = await self._decide()
            if isinstance(thought, Send):
                self._speak(thought.note)
                continue
            if self.met:
                return Wait("met")  # somebody else has done the rest
            same = isinstance(thought, GoTo) and thought.target == action.target
            return None if same else thought
        return None

    async def _skill(self, skill: Skill) -> SkillResult:
        result = await self._carried(skill)
        if (drive := self.body.aside.blocked_drive(skill, result)) is not None:
            self.body.ask_way(self.driver.ask_way, drive)
        return result

    async def _carried(self, skill: Skill) -> SkillResult:
        if isinstance(skill, Place):
            self.body.about_to_put()
        result = await self.driver.skill(skill)
        self.distance += result.distance
        return result

    async def _make_way(self, idle: bool) -> bool:
        """Go aside for a robot that has asked for it; tell whether this one moved."""
        aside = self.body.aside
        called = aside.asked is not None or (aside.listens and not idle)
        if not called or not (idle or aside.blocked > 0):
            return False
        before = self.doing
        self._do("make way")
        moved = await self.body.make_way(self._carried, self.driver.ask_way, idle)
        self._do(before)
        return moved

    def _tell_met(self) -> None:
        """Say what is in place before one stops: others may not have seen all of it."""
        placed = list(self.agent.memory.placed)
        if placed and len(self.agent.briefing.team) > 1:
            self._speak(self.agent.communicator.done(placed, None))

    def _speak(self, note: Note) -> None:
        self.body.names.said(note)
        self.notes += 1
        self.characters += len(note.text)
        self.driver.speak(note)

    def _do(self, what: str) -> None:
        self.doing = what
        self.on_change()


@contextlib.asynccontextmanager
async def _ended(task: asyncio.Future[Any]) -> AsyncIterator[None]:
    """Cancel a task when the block ends before it, and wait until it has ended."""
    try:
        yield
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
