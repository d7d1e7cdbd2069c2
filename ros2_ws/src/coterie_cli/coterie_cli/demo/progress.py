"""Progress bars and timings of the demonstration."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)


@dataclass(slots=True)
class Timings:
    """How long each part took [s]."""

    parts: dict[str, float] = field(default_factory=dict)
    begin: float = field(default_factory=time.monotonic)

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measure a block."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.parts[name] = time.monotonic() - start

    def total(self) -> float:
        """Time since the beginning [s]."""
        return time.monotonic() - self.begin


class DemoProgress:
    """Shows what the demonstration does; on no terminal it prints one line per finished part."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓[/]"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("[dim]{task.fields[note]}[/]"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._notes: dict[str, str] = {}

    def __enter__(self) -> DemoProgress:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def begin(self, name: str, total: int, note: str = "") -> None:
        """Start a bar."""
        self._tasks[name] = self._progress.add_task(name, total=total, note=note)

    def show(self, name: str, done: int, note: str = "") -> None:
        """Move a bar."""
        self._notes[name] = note
        self._progress.update(self._tasks[name], completed=done, note=note)

    def finish(self, name: str, note: str = "") -> None:
        """Fill a bar, whatever it holds, and say how it ended."""
        task = self._progress.tasks[self._tasks[name]]
        note = note or self._notes.get(name, "")
        self._progress.update(
            task.id, total=task.completed or 1, completed=task.completed or 1, note=note
        )
        if self._progress.disable:
            self._console.print(f"{name}: {note}" if note else name, markup=False, highlight=False)
