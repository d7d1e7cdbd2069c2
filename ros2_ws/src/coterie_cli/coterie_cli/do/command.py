"""`./coterie do`: a team does a task given in words, while a person looks on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped_team
from coterie_bringup.rundir import RunState, choose_team, running_teams
from coterie_bringup.running_team import TeamRun, ended_by_signals
from coterie_bringup.task_record import TaskRecord
from coterie_bringup.team import load_team
from coterie_bringup.team_models import with_model
from coterie_cli.ask import NOT_CLEAR
from coterie_cli.do.view import TaskView, result_panel
from coterie_cli.figures.task import save_task
from coterie_cli.own_team import own_team
from coterie_cli.person import PersonAtTerminal

DEFAULT_TEAM = "emos"
PARTIAL_EXIT = 3
"""Exit code of a task that was done in part."""
LEADER_THERE = 180.0
"""How long a team that was started may take until its leader can be spoken to [s]."""


@dataclass(frozen=True, slots=True)
class DoOptions:
    """What `./coterie do` is asked for.

    `team_file`: start this team; None: use the one that runs, or start config/teams/emos.yaml.
    `resume`: go on with the task that `out` holds the result of; `words` may then be empty.
    `model`: name of the model profile that all think with; None: as the team file says.
    """

    words: str
    team_file: Path | None = None
    model: str | None = None
    out: Path = Path("out/do")
    domain: int | None = None
    max_time: float = 0.0
    resume: bool = False
    as_json: bool = False


def do(options: DoOptions) -> int:
    """Let a team do a task; return the exit code: 0 only if all of it was seen to be done.

    1: nothing of it was done, or it failed; 3: some of it was, or there may be more where nobody
    could look (PARTIAL); NOT_CLEAR (5): the leader asked back, and nobody answered; 130:
    interrupted.

    Raises:
        CommandError: No task, no team or no leader.
        FileProblem: The team file is wrong.
    """
    words = " ".join(options.words.split())
    if options.resume:
        words = words_to_resume(options.out, words)
    if not words:
        raise CommandError(
            'the task is empty; for example: ./coterie do "Bring all mugs to the kitchen counter"'
        )
    console = Console(stderr=options.as_json)
    record = TaskRecord(words)
    running = [] if options.team_file else _running(options.domain)
    try:
        if running:
            state = choose_team(running, options.domain, os.environ.get("ROS_DOMAIN_ID", ""))
            if options.model:
                raise CommandError(
                    f"team {state.team} runs already with models of its own; end it to use "
                    "--model, or leave that out"
                )
            record.team = state.team
            asyncio.run(_with_running(state, options, record, console))
        else:
            _with_own(options, record, console)
    except asyncio.CancelledError:
        ended = record.interrupted or "interrupted before the task was given"
        record.message = record.message or ended
        console.print(f"do: {ended}", markup=False, highlight=False, soft_wrap=True)
        _save(record, options, console)
        return 130
    _save(record, options, console)
    if options.as_json:
        print(json.dumps(record.as_data(), indent=1))
    else:
        console.print(result_panel(record))
    if record.success:
        return 0
    if record.judgement is not None and not record.judgement.proceeds:
        return NOT_CLEAR
    return PARTIAL_EXIT if record.outcome == "partial" else 1


def _running(domain: int | None) -> list[RunState]:
    return [team for team in running_teams() if domain is None or team.domain == domain]


def _save(record: TaskRecord, options: DoOptions, console: Console) -> None:
    files = save_task(record, options.out)
    for file in files:
        console.print(f"  {file}", style="dim", markup=False, highlight=False)


async def _with_running(
    state: RunState, options: DoOptions, record: TaskRecord, console: Console
) -> None:
    async with ended_by_signals():
        await _give(state, options, record, console, patience=5.0)


def _with_own(options: DoOptions, record: TaskRecord, console: Console) -> None:
    team = with_model(load_team(options.team_file or shipped_team(DEFAULT_TEAM)), options.model)
    record.team = team.name

    with own_team(team, options.domain, console) as run:
        asyncio.run(_start_and_give(run, options, record, console))


async def _start_and_give(
    run: TeamRun, options: DoOptions, record: TaskRecord, console: Console
) -> None:
    async with ended_by_signals():
        await run.beside(_give(run.state, options, record, console, LEADER_THERE))


async def _give(
    state: RunState, options: DoOptions, record: TaskRecord, console: Console, patience: float
) -> None:
    """Give the task to the leader and show how it goes; where cancelled, cancel it there, too."""
    from coterie_bringup.spinning import in_loop
    from coterie_bringup.task_watcher import given, watching
    from coterie_cli.person_seat import attend

    person = PersonAtTerminal(console)
    with (
        contextlib.closing(person),
        watching(
            state.robots,
            record,
            attend=lambda node: attend(node, state.robots, person, "do"),
            **state.reach,
        ) as watcher,
    ):
        if not await in_loop(watcher, watcher.leader_there(patience)):
            raise CommandError(
                f"{f'team {state.team}' if state.team else 'the team'} in ROS domain "
                f"{state.domain} has no leader (no action execute_task within {patience:g} s); "
                f"start one that has: ./coterie up {DEFAULT_TEAM}"
            )
        view = TaskView(console, record)
        with person.beside(view.live):
            watcher.on_news = view.news
            await given(watcher, options.max_time, options.resume)


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
