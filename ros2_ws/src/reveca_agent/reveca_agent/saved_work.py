"""What a robot's process leaves for the next one: the goal in work, its memory, its hand."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from coterie_core.files import write_atomically


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

    def write(self, file: Path) -> None:
        """Write the file, and its folder where there is none.

        Raises:
            OSError: That cannot be done.
        """
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, self.model_dump_json())

    @classmethod
    def read(cls, file: Path) -> SavedWork:
        """Read the file.

        Raises:
            OSError: It cannot be read.
            ValueError: It is no such file; says why.
        """
        return cls.model_validate_json(file.read_bytes())
