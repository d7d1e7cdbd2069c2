"""Tasks that an assistant proposes: put to a person by a gate, and begun only with its permit."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import RunState, key_file, state_root
from coterie_bringup.spinning import in_loop
from coterie_bringup.task_record import TaskRecord
from coterie_bringup.task_watcher import watching
from coterie_cli.team_tools.results import Proposed, State
from coterie_core.skills import SkillRefused
from coterie_core.waiting import in_time
from coterie_llm import inline_data
from coterie_ros.agent_node import AgentNode
from coterie_ros.permit_server import PermitServer
from coterie_safety.ledger import Ledger
from coterie_safety.permits import (
    PermitGate,
    PermitRequest,
    Permits,
    RobotPermits,
    TeamTask,
    public_half,
)
from coterie_safety.permits.request import Permit
from coterie_safety.stop import one_line

WAIT = 300.0
"""How long a person is waited for [s]."""
LEADER_THERE = 10.0
"""How long the team's leader may take to be found [s]."""
MOST_KEPT = 200
"""Most proposals of which the end is remembered."""
MOST_WAITING = 5
"""Most proposals that wait for a person at a time: nobody reads more."""
_EXPIRE = 0.3


@dataclass(slots=True)
class _Proposal:
    id: str
    task: TeamTask
    state: State = "waiting"
    told: str = "a person is asked: ./coterie permits"
    record: TaskRecord | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Proposals:
    """Asks a person for a permit for each task, and has exactly that task done with it.

    Nothing here can permit: the gate's policy is to ask, and takes answers that are signed with the
    private key of a person.

    Args:
        wait: How long a person is waited for [s].
    """

    def __init__(self, wait: float = WAIT) -> None:
        self.name = f"assistant_{os.getpid()}"
        self._wait = wait
        self._kept: dict[str, _Proposal] = {}
        self._lock = threading.Lock()
        self._state: RunState | None = None
        self._gate: PermitGate | None = None
        self._running: set[asyncio.Task[None]] = set()

    def of_team(self, state: RunState) -> None:
        """Begin anew with a team; what waited for another one is taken back."""
        self.drop("the team has ended")
        log = Path(state.log) if state.log else state_root() / "log" / f"domain-{state.domain}"
        policy = Permits(otherwise="ask", wait=self._wait)
        permits = RobotPermits(team=policy, name=self.name)
        self._state, self._gate = state, PermitGate(permits, Ledger(log), public_half(key_file()))

    def serve(self, node: AgentNode) -> None:
        """Tell what waits on topics, and take answers; for a node's `on_start`."""
        assert self._gate is not None
        PermitServer(node, {self.name: self._gate}, {self.name: f"{self.name}/"})
        node.every(_EXPIRE, self._gate.expire, "proposals nobody answered")

    def drop(self, reason: str) -> None:
        """Take back what waits for a person."""
        for one in self._gate.waiting if self._gate is not None else ():
            if self._gate is not None and self._gate.drop(one.id, reason):
                self._end(one.id, "refused", reason)

    def propose(self, words: str, why: str, max_time: float) -> Proposed:
        """Ask a person whether a task may be done; nothing else happens.

        Args:
            words: The task.
            why: What it is for.
            max_time: Simulated time it may take [s]; 0: the leader's default.

        Raises:
            CommandError: No task, or a person may not be asked for it now.
        """
        gate, loop = self._gate, asyncio.get_running_loop()
        assert gate is not None
        task = TeamTask(inline_data(" ".join(words.split()), limit=10_000), max_time)
        try:
            goal = task.goal(self.name, inline_data(why, limit=160))
        except ValueError as error:
            raise CommandError(str(error)) from None
        if len(gate.waiting) >= MOST_WAITING:
            raise CommandError(f"{MOST_WAITING} proposals wait for a person already")
        asked: list[PermitRequest] = []

        def settled(permit: Permit | None, reason: str) -> None:  # in the node's thread
            loop.call_soon_threadsafe(self._settled, asked[0].id, permit, reason)

        try:
            request = gate.apply(goal, settled)
        except SkillRefused as refused:
            raise CommandError(refused.result.reason) from None
        if not isinstance(request, PermitRequest):
            raise CommandError("a task is put to a person, whatever a policy says")
        asked.append(request)
        while len(self._kept) >= MOST_KEPT:
            ended = [id_ for id_, one in self._kept.items() if one.state not in _GOING]
            self._kept.pop(ended[0] if ended else next(iter(self._kept)))
        self._kept[request.id] = _Proposal(request.id, task)
        return self._told(request.id)

    async def what_became(self, id_: str, wait: float) -> Proposed:
        """Return how a proposal stands, as soon as that changes or after some time [s].

        Raises:
            CommandError: There is none with this id.
        """
        one = self._kept.get(id_)
        if one is None:
            raise CommandError(f"no proposal with the id {inline_data(id_)}")
        if wait > 0.0 and one.state in _GOING:
            one.changed.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await in_time(one.changed.wait(), wait)
        return self._told(id_)

    async def close(self) -> None:
        """Take back what waits, and cancel what runs."""
        self.drop("the server has ended")
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    # -- inside --------------------------------------------------------------------------------

    def _told(self, id_: str) -> Proposed:
        one = self._kept[id_]
        told = one.told
        if one.state == "running" and one.record is not None and one.record.events:
            told = one.record.events[-1].strip()
        return Proposed(id=id_, task=one.task.words, state=one.state, told=told)

    def _end(self, id_: str, state: State, told: str) -> None:
        if one := self._kept.get(id_):
            one.state, one.told = state, told
            one.changed.set()

    def _settled(self, id_: str, permit: Permit | None, reason: str) -> None:
        one, gate, state = self._kept.get(id_), self._gate, self._state
        if permit is None or one is None or gate is None or state is None:
            self._end(id_, "refused", reason)
            return
        try:
            gate.begin(permit, permit.goal, one.task, None)
        except SkillRefused as refused:
            self._end(id_, "refused", refused.result.reason)
            return
        self._end(id_, "running", f"allowed by {permit.by}")
        running = asyncio.ensure_future(self._do(one, gate, permit, state))
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _do(self, one: _Proposal, gate: PermitGate, permit: Permit, state: RunState) -> None:
        """Have a task done that a person has allowed, as `./coterie do` does."""
        record = one.record = TaskRecord(one.task.words, team=state.team)
        begun = time.monotonic()
        ended: State = "not_done"
        told = ""
        try:
            with contextlib.ExitStack() as stack:
                make = watching(
                    state.robots,
                    record,
                    **state.reach,
                )
                watcher = await asyncio.to_thread(stack.enter_context, make)
                await in_loop(watcher, watcher.require_leader(state.who, LEADER_THERE))
                await in_loop(watcher, watcher.give(one.task.max_time))
            ended, told = record.outcome, record.message  # type: ignore[assignment]
        except asyncio.CancelledError:
            ended, told = "cancelled", "the server has ended"
            raise
        except CommandError as error:
            told = str(error)
        finally:
            self._end(one.id, ended, told)
            gate.note(
                "result",
                {
                    "goal": permit.goal.digest,
                    "outcome": ended.upper(),
                    "reason": one_line(told),
                    "duration": round(time.monotonic() - begun, 3),
                },
            )


_GOING = ("waiting", "running")
