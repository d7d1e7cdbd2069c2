"""What a person sees while a team does a task: the talk, who does what, how far it is."""

from __future__ import annotations

import time
from collections import deque

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from coterie_bringup.task_record import TaskRecord
from coterie_core.skill_registry import doing
from coterie_core.tasks import SubTaskState
from coterie_core.wording import spoken

_LINES = 8
_MOST_ROWS = 24
_ENDS = {
    "done": ("DONE", "bold green"),
    "partial": ("PARTLY DONE", "bold yellow"),
    "not_done": ("NOT DONE", "bold red"),
    "cancelled": ("CANCELLED", "bold red"),
}
_STATE = {
    SubTaskState.PENDING: ("waits", "dim"),
    SubTaskState.RUNNING: ("works", "yellow"),
    SubTaskState.DONE: ("done", "green"),
    SubTaskState.FAILED: ("failed", "red"),
}


class TaskView:
    """Live on a terminal; elsewhere one line per event.

    Attributes:
        live: What a terminal draws; whoever shows the view starts and stops it. None: no terminal.
    """

    def __init__(self, console: Console, record: TaskRecord) -> None:
        self._console = console
        self._record = record
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._stage = "waiting"
        self._begin = time.monotonic()
        self.live: Live | None = None
        if console.is_terminal:
            self.live = Live(
                console=console, refresh_per_second=6, get_renderable=self.render, transient=True
            )

    def news(self, text: str) -> None:
        """Show that something happened ("": only numbers have changed)."""
        if not text:
            return
        text = _spoken(text, self._record)
        if text.startswith("-- "):
            self._stage = text[3:]
        self._lines.append(text)
        if self.live is None:
            took = time.monotonic() - self._begin
            self._console.print(
                f"{took:6.1f} s  {text}", markup=False, highlight=False, soft_wrap=True
            )

    def render(self) -> Panel:
        """Return everything as it is now."""
        record = self._record
        head = Text.assemble(
            (self._stage, "bold"),
            f"   round {record.rounds}   {time.monotonic() - self._begin:.0f} s",
            ("" if record.first_time is None else f"   {record.simulated:.0f} s simulated", "dim"),
        )
        talk = Text("\n".join(self._lines), "dim", no_wrap=True, overflow="ellipsis")
        return Panel(
            Group(head, Text(), sub_task_table(record), Text(), _robots(record), Text(), talk),
            title=Text(record.words[:100]),
            title_align="left",
        )


def sub_task_table(record: TaskRecord) -> Table:
    """Return who does what and how far it is."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("robot", "what", "state", "why"):
        table.add_column(title, overflow="fold")
    rows = sorted(record.sub_tasks, key=lambda one: one.state != SubTaskState.RUNNING)
    for one in rows[:_MOST_ROWS]:
        word, style = _STATE[one.state]
        if not one.robot:
            word, style = "nobody", "red"
        table.add_row(
            Text(one.robot or "-"), Text(_spoken(one.description or one.id, record)),
            Text(word, style), Text(_spoken(one.reason[:600], record), "dim"),
        )  # fmt: skip
    if len(rows) > _MOST_ROWS:
        table.add_row("", Text(f"and {len(rows) - _MOST_ROWS} more", "dim"), "", "")
    return table


def _spoken(text: str, record: TaskRecord) -> str:
    return spoken(text, {*record.reports, *(one.robot for one in record.sub_tasks)})


def _robots(record: TaskRecord) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for robot, report in sorted(record.reports.items())[:12]:
        does = doing(report.skill) or ("waits" if report.waiting else "thinks")
        held = f"holds {report.holding}" if report.holding else ""
        table.add_row(
            Text(robot, "bold"),
            Text(report.room, "dim"),
            Text(does),
            Text(held),
            Text(report.help),
        )
    return table


def result_panel(record: TaskRecord) -> Panel:
    """Return how it ended."""
    word, style = _ENDS.get(record.outcome, _ENDS["not_done"])
    head = Text.assemble((word, style), f"  {_spoken(record.message, record)}")
    if record.not_searched:
        head.append(f"\nnot searched, or not enough: {', '.join(record.not_searched)}", "yellow")
    times = {0: "never", 1: "once"}.get(record.replans, f"{record.replans} times")
    rounds = f"{record.rounds} round{'s' * (record.rounds != 1)} of discussion"
    foot = Text(f"{record.took}, {rounds}, replanned {times}", "dim")
    # A task that was refused has nothing to show but why.
    told = (Text(), sub_task_table(record), Text(), foot) if record.sub_tasks else ()
    return Panel(
        Group(head, *told),
        title=Text(record.words[:100]),
        title_align="left",
        expand=False,
    )
