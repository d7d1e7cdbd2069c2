"""What people on the console's page decide about permits."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING

from coterie_console.team.page import Refused, Said, Tab
from coterie_console.team.state import ConsoleState
from coterie_ros.permit_client import PermitClient
from coterie_safety.permits import Decision, Permit, PermitRequest
from coterie_safety.stop import one_line

if TYPE_CHECKING:
    from coterie_cli.console.node import ConsoleNode

_LONGEST_PERMIT = 3600.0
_DECISIONS = {"allow": Decision.ALLOW, "refuse": Decision.REFUSE}


class PermitPanel:
    """Requests for permits and standing permits on the page; for a node's `on_start`.

    Args:
        node: The console's node.
        state: Is filled.
        key_file: Key that answers are signed with.
    """

    def __init__(self, node: ConsoleNode, state: ConsoleState, key_file: Path) -> None:
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
