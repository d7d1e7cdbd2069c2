"""Agents and environments of cooperative worlds, and the lockstep that runs them."""

from __future__ import annotations

from typing import Protocol

from coterie_core.cooperation.messages import Note
from coterie_core.cooperation.world import Action, Briefing, Percept


class Agent(Protocol):
    """Decides for itself from what it perceives; a benchmark or a ROS node drives it.

    One round is: `observe` (with the messages in the percept), then `act`. `receive` is for
    messages that come between percepts; it must give the same as finding them in the next percept.
    """

    name: str

    def begin(self, briefing: Briefing) -> None:
        """Start an episode: forget what belongs to another one."""

    def observe(self, percept: Percept) -> None:
        """Take in a percept."""

    async def act(self) -> Action:
        """Choose the next action."""

    def receive(self, note: Note) -> None:
        """Take in a message."""
