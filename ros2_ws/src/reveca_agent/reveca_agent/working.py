"""One robot works on a shared goal in a house: decide, move, speak, and think again on the way.

Free of ROS: whoever drives it carries out skills and messages (the node through its driver, a test
in a simulated house).
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from coterie_core.cooperation import Action, GoTo, Note, Put, Result, Send, Wait
from coterie_core.geometry import Vec3
from coterie_core.skills import Detect, LookAround, NavigateTo, Outcome, Place, Skill, SkillResult
from coterie_core.skills import Wait as Idle
from coterie_safety import why
from coterie_world.right_of_way import YieldRequest
from reveca_agent.agent import RevecaAgent
from reveca_agent.house import HouseBody
from reveca_agent.motions import Motion
from reveca_agent.right_of_way import make_way, yield_request

LINGER = 3
"""Decisions that may still be messages once all is done: who waits for an answer gets it."""
LOOKS = 2
"""Looks that do not show what was put down, after which it is taken to have fallen."""
SHORT = 2
"""Spots from which a thing was out of reach after which the others are not tried."""
_ELSEWHERE = (
    Outcome.UNREACHABLE,
    Outcome.BLOCKED,
    Outcome.OUT_OF_REACH,
    Outcome.NOT_VISIBLE,
)
"""Failures after which the same is tried from another side."""


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
        for motion in self.body.put_down():
            assert isinstance(motion.then, Place)
            for stand in motion.stands[:3] or (None,):
                if stand is not None and not (await self._go(motion, stand)).ok:
                    continue
                self.body.about_to_put()
                result = await self._skill(motion.then)
                if result.ok:
                    self.body.put_away(motion.then)
                    return
                if result.outcome is Outcome.HAND_EMPTY:
                    self.body.holding = ""
                    return

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
        motion = self.body.motion(action)
        if isinstance(motion, Result) and self.body.motions.only_told(action):
            await self._skill(LookAround())
            motion = self.body.motion(action)
        if isinstance(motion, Result):
            if not motion.ok:
                body = {"outcome": motion.reason.upper(), "message": motion.text}
                why.note("ended", self.body.name, body)
            await self._skill(Idle(self.body.shape.step))  # what needs no motion takes a step too
            self.body.settled(motion)
            return None
        self._do(self.agent.plan.text() if self.agent.plan is not None else "wait")
        result, instead = await self._try(action, motion, view_first=True)
        again = await self._view(action, motion, result.outcome) if instead is None else None
        if again is not None:
            result, instead = await self._try(action, again)
        if instead is not None:
            return instead
        if result.outcome is Outcome.HAND_FULL and not self.body.holding:
            # From before, or the fingers have closed on something beside: that goes down first.
            await self._skill(
                self.body.motions.onto_floor(self.body.spot.position, self.body.pose.yaw)
            )
        self.body.ended(action, result)
        if isinstance(action, Put) and result.ok and await self._fell(action.item):
            self.body.fell(action.item)
        if not result.ok and not result.duration:
            # What is refused takes no time; who tries again and again would never end.
            await self._skill(Idle(self.body.shape.step))
        return None

    async def _try(
        self, action: Action, motion: Motion, view_first: bool = False
    ) -> tuple[SkillResult, Action | None]:
        """Do an action from one stand after the other; return the result, or what to do instead."""
        result = SkillResult(Outcome.FAULT, "nothing to do")
        short = 0
        for stand in motion.stands or (None,):
            if stand is not None:
                result, instead = await self._walk(action, motion, stand)
                if instead is not None:
                    return result, instead
                if result.outcome in _ELSEWHERE:
                    await self._make_way(idle=False)
                    continue
            if isinstance(action, GoTo):
                if result.ok and not self.body.arrived(action):
                    # Near enough for a drive, in the next room: nothing is reached from there.
                    result = SkillResult(Outcome.UNREACHABLE, "it only got to another room")
                    continue
                if result.ok and motion.then is not None:
                    await self._skill(motion.then)  # whatever comes of it, the robot is there
                    if stand is not motion.stands[-1]:
                        instead = await self._on_the_way(action)
                        if instead is not None and not self.body.motions.only_told(instead):
                            return result, instead
                        if self.body.map.thing(action.target) is None:
                            continue  # something may hide it from this side
                    off = self._short_of(action, stand)
                    if off:
                        reason = f"it gets no nearer than {off:.2f} m to where another one stood"
                        result = SkillResult(Outcome.UNREACHABLE, reason)
            elif motion.then is not None and (stand is None or result.ok):
                if isinstance(action, Put):
                    self.body.about_to_put()
                result = await self._skill(motion.then)
            short += result.outcome is Outcome.OUT_OF_REACH
            stays = result.outcome not in _ELSEWHERE or short >= SHORT
            if stays or (view_first and _unseen(action, result.outcome)):
                break
        return result, None

    def _short_of(self, way: GoTo, stand: Vec3 | None) -> float:
        """Return how far from the end of a way the body is [m]; 0: it is there, or not to be yet.

        A wider robot does not get to where a narrow one stood; going there again changes nothing.
        """
        if way.spot is None or stand != way.spot.position or self.body.map.thing(way.target):
            return 0.0
        off = math.dist(self.body.spot.position[:2], stand[:2])
        return off if off > self.agent.briefing.reach else 0.0

    async def _view(self, action: Action, motion: Motion, outcome: Outcome) -> Motion | None:
        """Look from where a better view is; return how to try an action again, None: not at all.

        Where there is no such view, other sides of what is to bear a thing may show it.
        """
        view = self.body.motions.better_view(action, outcome, self.body.spot)
        if view is not None:
            way = Motion((view.position,), faces=view.faces)
            if (await self._go(way, view.position)).ok:
                again = self.body.motion(action)
                return again if isinstance(again, Motion) else None
            await self._make_way(idle=False)
        others = motion.stands[1:] if _unseen(action, outcome) else ()
        return replace(motion, stands=others) if others else None

    async def _fell(self, item: str) -> bool:
        """Look at what was put down, where a camera shows it; tell whether it is not there."""
        label = self.body.to_be_seen(item)
        if not label:
            return False
        for _ in range(LOOKS):
            if (await self._skill(Detect(label))).outcome is not Outcome.NOT_VISIBLE:
                return False
        return True

    async def _walk(
        self, action: Action, motion: Motion, stand: Vec3
    ) -> tuple[SkillResult, Action | None]:
        """Go to a stand; on the way to furniture and rooms the agent goes on thinking."""
        walk = asyncio.ensure_future(self._go(motion, stand))
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
        self.body.under_way()
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

    async def _go(self, motion: Motion, stand: Vec3) -> SkillResult:
        return await self._skill(NavigateTo.near(stand, yaw=motion.yaw(stand)))

    async def _skill(self, skill: Skill) -> SkillResult:
        result = await self._carried(skill)
        request = yield_request(self.body, skill, result)
        if request is not None:
            self.driver.ask_way(request)
        return result

    async def _carried(self, skill: Skill) -> SkillResult:
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
        moved = await make_way(self.body, self._carried, self.driver.ask_way, idle)
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


def _unseen(action: Action, outcome: Outcome) -> bool:
    """Whether what is to bear a thing was not in view."""
    return isinstance(action, Put) and outcome is Outcome.NOT_VISIBLE


@contextlib.asynccontextmanager
async def _ended(task: asyncio.Future[Any]) -> AsyncIterator[None]:
    """Cancel a task when the block ends before it, and wait until it has ended."""
    try:
        yield
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
