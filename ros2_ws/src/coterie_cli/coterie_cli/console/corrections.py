"""Corrections of the team's map from the console: sent to the mapper, which keeps them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from std_msgs.msg import String

from coterie_console.team.page import Refused, Said, Tab
from coterie_console.team.state import ConsoleState
from coterie_core.plain_data import schema_problems
from coterie_core.waiting import in_time
from coterie_world.scene.corrections import Correction, read_corrections

if TYPE_CHECKING:
    from coterie_cli.console.node import ConsoleNode

_TIMES, _EACH = 5, 1.0
"""How often the mapper is told, and how long it is waited for each time [s]."""


class MapCorrections:
    """Sends what people correct on the map, and hears what holds; for a node's `on_start`.

    Args:
        node: The console's node.
        state: Whose map is corrected.
    """

    def __init__(self, node: ConsoleNode, state: ConsoleState) -> None:
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
