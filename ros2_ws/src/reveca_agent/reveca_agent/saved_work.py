"""What a robot's process leaves for the next one: the goal in work, its memory, its hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from coterie_core.cooperation import Goal
from coterie_core.files import write_atomically
from reveca_agent.house import HouseBody
from reveca_agent.memory import Memory


class SavedWork(BaseModel):
    """The content of `<robot>_memory.json`.

    `goal` is the text of the goal, `memory` what `Memory.save` returns, `holding` the id of what
    the hand holds ("": nothing), `begun` when the goal was given [s, the world's clock].
    """

    model_config = ConfigDict(frozen=True)

    goal: str
    memory: str
    holding: str
    begun: float


class WorkFile:
    """Keeps what a robot works on, so that its next process goes on with it.

    Args:
        file: Where; None: nowhere.
        problem: Told what went wrong.
    """

    def __init__(self, file: Path | None, problem: Callable[[str], object]) -> None:
        self.file, self._problem = file, problem

    def keep(self, memory: Memory, body: HouseBody) -> None:
        """Write down the goal in work, and what is known of it."""
        if self.file is None:
            return
        saved = SavedWork(
            goal=memory.goal.text(), memory=memory.save(), holding=body.holding, begun=body.begun
        )
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.file, saved.model_dump_json())
        except OSError as error:
            self._problem(f"memory not saved: {error}")

    def restored(self, goal: Goal, body: HouseBody) -> Memory | None:
        """Return the memory of a process before this one, if it was for the same goal."""
        if self.file is None or not self.file.is_file():
            return None
        try:
            saved = SavedWork.model_validate_json(self.file.read_bytes())
            if saved.goal != goal.text():
                return None
            memory = Memory.restore(saved.memory)
        except (OSError, ValueError) as error:
            self._problem(f"{self.file}: not taken over: {error}")
            return None
        body.take_over(memory, saved.holding, saved.begun)
        return memory
