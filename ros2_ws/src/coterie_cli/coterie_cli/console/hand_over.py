"""What people on the console's page wish to have done by another robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie_cli.hand_over import WITHIN
from coterie_console.team.page import Refused, Said, Tab, words_of
from coterie_console.team.state import ConsoleState
from coterie_msgs.srv import HandOver
from coterie_ros.clients import NoAnswer, ServiceClient
from coterie_safety.stop import one_line
from emos_planner.leader.hand_over_service import SERVICE

if TYPE_CHECKING:
    from coterie_cli.console.node import ConsoleNode

_NAME = 120


class HandOvers:
    """Hands sub-tasks over; for a node's `on_setup`.

    Args:
        node: The console's node.
        state: Is told.
    """

    def __init__(self, node: ConsoleNode, state: ConsoleState) -> None:
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
