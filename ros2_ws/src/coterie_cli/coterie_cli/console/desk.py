"""What people on the console's page decide: permits, hand-overs, corrections of the map."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from std_msgs.msg import String

from coterie_cli.hand_over import WITHIN
from coterie_console.team.page import Refused, Said, Tab, words_of
from coterie_console.team.state import ConsoleState
from coterie_core.plain_data import schema_problems
from coterie_core.waiting import in_time
from coterie_msgs.srv import HandOver
from coterie_ros.agent_node import AgentNode
from coterie_ros.clients import NoAnswer, ServiceClient
from coterie_ros.permit_client import PermitClient
from coterie_safety.permits import Decision, Permit, PermitRequest
from coterie_safety.stop import one_line
from coterie_world.scene.corrections import Correction, read_corrections
from emos_planner.leader.hand_over import SERVICE

_TIMES, _EACH = 5, 1.0
"""How often the mapper is told, and how long it is waited for each time [s]."""

_NAME = 120
_LONGEST_PERMIT = 3600.0
_DECISIONS = {"allow": Decision.ALLOW, "refuse": Decision.REFUSE}


class PermitPanel:
    """Requests for permits and standing permits on the page; for a node's `on_start`.

    Args:
        node: The console's node.
        state: Is filled.
        key_file: Key that answers are signed with.
    """

    def __init__(self, node: AgentNode, state: ConsoleState, key_file: Path) -> None:
        self._state = state
        self.permits = PermitClient(node, [], key_file, self._changed)

    def _changed(self) -> None:
        self._state.requests(self.permits.waiting, self.permits.standing)

    async def answer(self, said: Said, tab: Tab) -> str:
        """Answer a request for a permit."""
        request = self.permits.waiting.get(str(said.get("request")))
        decision = _DECISIONS.get(str(said.get("decision")))
        lasting = said.get("lasting", 0)
        if decision is None:
            raise Refused("expected a decision, allow or refuse")
        reason = _reason(said)
        if not isinstance(lasting, (int, float)) or not 0 <= lasting <= _LONGEST_PERMIT:
            raise Refused("'lasting' is a number of seconds, at most an hour")
        if request is None:
            raise Refused("this request does not wait any more")
        _as_read(said, request)
        by = one_line(tab.who)
        answered = self.permits.answer(request, decision, by, reason, lasting=float(lasting))
        return await _told(answered)

    async def revoke(self, said: Said, tab: Tab) -> str:
        """End a permit for goals alike."""
        permit = self.permits.standing.get(str(said.get("permit")))
        reason = _reason(said)
        if permit is None:
            raise Refused("this permit does not hold any more")
        _as_read(said, permit)
        return await _told(self.permits.revoke(permit, one_line(tab.who), reason))


def _as_read(said: Said, one: PermitRequest | Permit) -> None:
    """Let an answer pass that is to the words that are known here now."""
    if said.get("shown") != one.shown:
        raise Refused("it has come in other words since the page showed it: read it again")


def _reason(said: Said) -> str:
    reason = said.get("reason", "")
    if not isinstance(reason, str):
        raise Refused("expected words in 'reason'")
    return one_line(reason)


async def _told(answered: Awaitable[tuple[bool, str]]) -> str:
    try:
        accepted, told = await answered
    except ValueError as error:
        raise Refused(str(error)) from None
    if not accepted:
        raise Refused(told)
    return told


class HandOvers:
    """Hands sub-tasks over; for a node's `on_setup`.

    Args:
        node: The console's node.
        state: Is told.
    """

    def __init__(self, node: AgentNode, state: ConsoleState) -> None:
        self._state = state
        self._client = ServiceClient(node, HandOver, SERVICE)

    def there(self) -> bool:
        """Whether a leader hands over; for the executor's thread."""
        return self._client.there

    async def hand_over(self, said: Said, tab: Tab) -> str:
        """Have a robot do a sub-task of the task in work."""
        part, robot = words_of(said, "part", _NAME), words_of(said, "robot", _NAME)
        reason = said.get("reason", "")
        if not isinstance(reason, str):
            raise Refused("expected words in 'reason'")
        task = self._state.current_task()
        if task is None or not task.team_id or not part.startswith(f"{task.team_id}/"):
            raise Refused("the task of this part does not go on any more")
        request = HandOver.Request(
            task=task.team_id,
            sub_task=part.removeprefix(f"{task.team_id}/"),
            robot=robot,
            by=one_line(tab.who),
            reason=one_line(reason),
        )
        try:
            told = await self._client.call(request, timeout=WITHIN, attempts=1)
        except NoAnswer as error:
            raise Refused(str(error)) from None
        if not told.success:
            raise Refused(told.message)
        words = f"{tab.who}: {told.message}" + (f" ({one_line(reason)})" if reason else "")
        self._state.moment("hand over", robot, words)
        return str(told.message)


class MapCorrections:
    """Sends what people correct on the map, and hears what holds; for a node's `on_start`.

    Args:
        node: The console's node.
        state: Whose map is corrected.
    """

    def __init__(self, node: AgentNode, state: ConsoleState) -> None:
        self._state, self._heard = state, asyncio.Event()
        self._out = node.publisher(String, "correct_map", "messages")
        node.subscribe(String, "map_corrections", "latched", self._hear, convert=_read)

    @property
    def there(self) -> bool:
        """Whether a mapper takes corrections."""
        return self._out.subscribers > 0

    def _hear(self, corrections: list[Correction]) -> None:
        self._state.corrected(corrections)
        self._heard.set()

    async def correct(self, said: Said, tab: Tab) -> str:
        """Correct the map."""
        scene, ids = self._state.scene, said.get("things", [])
        if not isinstance(ids, list) or len(ids) > 20:
            raise Refused("expected a list of things in 'things'")
        things = [scene.objects.get(id_) if isinstance(id_, str) else None for id_ in ids]
        if None in things:
            raise Refused("the map does not have this thing any more")
        fields: dict[str, Any] = {
            key: said[key] for key in ("kind", "room", "name", "polygon", "floor") if key in said
        }
        refs = [
            {"id": one.id, "label": one.label.top[:200], "position": one.box.center}
            for one in things
            if one is not None
        ]
        try:
            made = Correction.model_validate(
                {**fields, "things": refs, "id": uuid.uuid4().hex[:12], "by": tab.who[:200]}
            )
        except ValidationError as error:
            raise Refused(schema_problems(error, "correction", most=2)) from None
        await self._send(
            {"add": made.model_dump(mode="json", exclude_defaults=True)}, made.id, True
        )
        self._state.moment("correct", "", f"{tab.who}: {made.kind.replace('_', ' ')} {made.name}")
        return "corrected"

    async def undo(self, said: Said, tab: Tab) -> str:
        """Take a correction back."""
        id_ = str(said.get("correction"))
        await self._send({"undo": id_}, id_, False)
        self._state.moment("correct", "", f"{tab.who}: took a correction back")
        return "taken back"

    async def _send(self, order: dict[str, Any], id_: str, holds: bool) -> None:
        """Tell the mapper until it says that a correction holds, or does not any more."""
        for _ in range(_TIMES):
            self._out.publish(String(data=json.dumps(order)))
            self._heard.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await in_time(self._heard.wait(), _EACH)
            if any(one.id == id_ for one in self._state.corrections) is holds:
                return
        if not self.there:
            raise Refused(
                "nobody takes corrections: this team has no mapper (add `mapper: {}` to its file)"
            )
        raise Refused("the mapper did not take it up; its log may say why")


def _read(message: String) -> list[Correction]:
    return read_corrections(str(message.data), "map_corrections")
