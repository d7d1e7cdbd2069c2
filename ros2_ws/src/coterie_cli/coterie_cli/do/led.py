"""A task in words, which a team's leader splits among its robots."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from coterie_bringup.abilities import lacking, require
from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import RunState
from coterie_bringup.task_record import TaskRecord
from coterie_bringup.team import Team
from coterie_cli.do.options import DoOptions
from coterie_cli.do.view import TaskView, result_panel
from coterie_cli.exit_codes import Exit
from coterie_cli.figures.task import save_task
from coterie_cli.person import PersonAtTerminal


class LedTask:
    """The task of a command line.

    Raises:
        CommandError: There is none, or none to go on with.
    """

    team = "emos"

    def __init__(self, options: DoOptions, console: Console) -> None:
        words = " ".join(" ".join(options.task or ()).split())
        if options.resume:
            words = words_to_resume(options.out, words)
        if not words:
            raise CommandError(
                'the task is empty; for example: ./coterie do "Bring all mugs to the kitchen '
                'counter"'
            )
        self._options, self._console = options, console
        self._record = TaskRecord(words)

    def of_running(self, state: RunState) -> None:
        """Take note of the running team, whose models cannot be changed."""
        state.require("do")
        if self._options.model:
            raise CommandError(
                f"team {state.team} runs already with models of its own; end it to use "
                "--model, or leave that out"
            )
        self._record.team = state.team

    def of_own(self, team: Team) -> Team:
        """Take note of the team that is started."""
        require("do", lacking(team), f"team {team.name}")
        self._record.team = team.name
        return team

    async def give(self, state: RunState, patience: float) -> None:
        """Give the task to the leader and show how it goes; cancelled, cancel it there, too."""
        from coterie_bringup.spinning import in_loop
        from coterie_bringup.task_watcher import given, watching
        from coterie_cli.person_seat import attend

        record, person = self._record, PersonAtTerminal(self._console)
        with (
            contextlib.closing(person),
            watching(
                state.robots,
                record,
                attend=lambda node: attend(node, state.robots, person, "do"),
                **state.reach,
            ) as watcher,
        ):
            await in_loop(watcher, watcher.require_leader(state.who, patience))
            view = TaskView(self._console, record)
            with person.beside(view.live):
                watcher.on_news = view.news
                await given(watcher, self._options.max_time, self._options.resume)

    def interrupted(self) -> str:
        """Note that it was interrupted."""
        ended = self._record.interrupted or "interrupted before the task was given"
        self._record.message = self._record.message or ended
        return ended

    def save(self) -> list[Path]:
        """Write the result and the picture; return the files."""
        return save_task(self._record, self._options.out)

    def as_data(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return self._record.as_data()

    def show(self) -> None:
        """Show the result."""
        self._console.print(result_panel(self._record))

    def exit_code(self) -> int:
        """Return how it ended."""
        record = self._record
        if record.success:
            return Exit.DONE
        if record.judgement is not None and not record.judgement.proceeds:
            return Exit.NOT_CLEAR
        return Exit.PARTLY if record.outcome == "partial" else Exit.NOTHING


def words_to_resume(folder: Path, words: str = "") -> str:
    """Return the words of a task whose result stands in a folder, to be given again.

    Args:
        folder: Holds `result.json`.
        words: Those that the person gave now; "": none.

    Raises:
        CommandError: There is no such result, all of it was done, or it is another task.
    """
    file = folder / "result.json"
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        before, meant = kept["task"], kept.get("meant") or kept["task"]
        outcome, success = kept["outcome"], kept["success"]
        if not (isinstance(before, str) and isinstance(meant, str)):
            raise TypeError("task is no text")
    except OSError as error:
        why = error.strerror
        raise CommandError(f"--resume: {file}: {why}; name the folder with --out") from None
    except (ValueError, KeyError, TypeError) as error:
        raise CommandError(f"--resume: {file} is no result of ./coterie do: {error}") from None
    if success:
        raise CommandError(f"--resume: {file}: {before!r} ended as {outcome}: nothing is left")
    if words and words != before:
        raise CommandError(f"--resume: {file} is of another task: {before!r}; leave the words out")
    return meant
