"""One command of this computer at a time answers a team's questions to the person."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from coterie_bringup.rundir import state_root
from coterie_cli.person import PersonAtTerminal
from coterie_llm import inline_data
from coterie_ros.asking import PERSON, serve_words

if TYPE_CHECKING:
    from coterie_ros.agent_node import AgentNode

_LOOK = 1.0
"""How often it is looked whether the seat is free [s]."""


class PersonSeat:
    """Who answers what a team asks the person: two services of one name would both be asked.

    It is a lock on a file, which ends with the process that holds it.

    Args:
        node: A node of the command; its domain and namespace tell the team.
        who: What the others are told while it is taken.
    """

    def __init__(self, node: AgentNode, who: str) -> None:
        team = node.get_namespace().strip("/").replace("/", ".") or "team"
        self._file = state_root() / "person" / f"{node.context.get_domain_id()}.{team}.lock"
        self._who = who
        self._lock: TextIO | None = None
        node.at_end(self.leave)

    @property
    def held(self) -> bool:
        """Whether it is taken by this one."""
        return self._lock is not None

    def take(self) -> bool:
        """Take it if it is free; return whether it is held now."""
        if self._lock is None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            lock = self._file.open("a+", encoding="utf-8")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                return False
            lock.truncate(0)
            lock.write(self._who)
            lock.flush()
            self._lock = lock
        return True

    @property
    def holder(self) -> str:
        """Who has it, as far as that is known."""
        try:
            told = inline_data(self._file.read_text("utf-8"), limit=80)
        except (OSError, UnicodeDecodeError):
            told = ""
        return told or "another command"

    def leave(self) -> None:
        """Let others have it."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.close()


def serve_person(node: AgentNode, person: PersonAtTerminal, command: str) -> None:
    """Put the team's questions to whoever sits at the terminal; in the executor's thread.

    Where another command does so already, that is said, and this one follows when it has ended.

    Args:
        node: The command's node.
        person: Answers.
        command: Name of the command.
    """
    seat = PersonSeat(node, f"./coterie {command} (process {os.getpid()})")
    served = False

    def look() -> None:
        nonlocal served
        if not served and seat.take():
            served = True
            serve_words(node, PERSON, person.answer)

    look()
    if not served:
        person.show(f"{seat.holder} answers the team's questions; they come here when it has ended")
        node.every(_LOOK, lambda: node.in_executor(look), "who answers for the person")


def attend(node: AgentNode, robots: Sequence[str], person: PersonAtTerminal, command: str) -> None:
    """Put a team's questions and requests for permits to whoever sits at the terminal.

    In the executor's thread. Where nobody sits there, only that a robot waits is shown.

    Args:
        node: The command's node.
        robots: The team's robots.
        person: Answers.
        command: Name of the command.
    """
    from coterie_cli.permits import PermitsAtTerminal

    PermitsAtTerminal(node, robots, person, person.show)
    if person.there:
        serve_person(node, person, command)
