"""`./coterie up`: run a team until Ctrl-C, showing what its processes say."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from coterie_bringup.errors import CommandError
from coterie_bringup.hosts import chosen_host
from coterie_bringup.resuming import run_to_resume
from coterie_bringup.rundir import RunState
from coterie_bringup.running_team import TeamRun, prepared
from coterie_bringup.security.enforcing import warnings
from coterie_bringup.supervisor import Event
from coterie_bringup.team import load_team
from coterie_bringup.team_models import with_model
from coterie_cli.options import Domain, Model, TeamFile
from coterie_safety.stop import latch_file

if TYPE_CHECKING:
    from coterie_bringup.team_client import Operator


app = typer.Typer(add_completion=False)


_LOOK = 0.5
_ATTEMPT = 3.0
"""How often is looked for stops, and how long one attempt takes [s]; a release ends it at once."""

_COLOURS = ("36", "33", "35", "32", "34", "96", "93", "95")
_MARKS = {"died": "31;1", "given_up": "31;1", "failed": "31;1", "restarting": "33"}


def pending(state: RunState) -> dict[str, Path]:
    """Return the robots of other hosts that have not heard a stop, and where it is kept."""
    files = {robot: latch_file(Path(state.stops), robot) for robot in state.elsewhere}
    return {robot: file for robot, file in files.items() if file.is_file()}


def command(state: RunState, robot: str, file: Path) -> Sequence[str]:
    """Return the command that tells a robot of another host once more."""
    by = reason = ""
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(file.read_text("utf-8"))
        by, reason = str(kept["by"]), str(kept["reason"])
    return (
        sys.executable, "-m", "coterie_bringup.stop_robots", "stop", robot,
        "--timeout", f"{_ATTEMPT:g}",
        "--domain", str(state.domain), "--namespace", f"/{state.namespace}",
        f"--by={by}", f"--reason={reason}", "--again",
    )  # fmt: skip


@asynccontextmanager
async def telling(state: RunState) -> AsyncIterator[None]:
    """Tell robots of other hosts the stops that they did not hear, while the block runs."""
    task = asyncio.create_task(_tell(state)) if state.elsewhere and state.stops else None
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _tell(state: RunState) -> None:
    while True:
        for robot, file in pending(state).items():
            program = await asyncio.create_subprocess_exec(
                *command(state, robot, file), stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            try:
                heard = await _until_released(program, file) == 0
            finally:
                if program.returncode is None:
                    program.kill()
                    await program.wait()
            if heard and file.is_file():
                file.unlink(missing_ok=True)
                print(f"team {state.team}: {robot} stands: it heard the stop now", flush=True)
        await asyncio.sleep(_LOOK)


async def _until_released(program: asyncio.subprocess.Process, file: Path) -> int | None:
    """Wait for a program's end; None as soon as the stop was taken back."""
    ended = asyncio.ensure_future(program.wait())
    try:
        while not ended.done():
            if not file.is_file():
                return None
            await asyncio.wait({ended}, timeout=0.1)
        return ended.result()
    finally:
        ended.cancel()


class Printer:
    """Prints lines with the process's name in front, in a colour of its own on a terminal."""

    def __init__(self, stream: TextIO = sys.stdout, *, lines: bool = True) -> None:
        self._stream = stream
        self._lines = lines
        self._width = 12
        self._colours: dict[str, str] = {}
        self._colour = stream.isatty() and "NO_COLOR" not in os.environ

    def line(self, name: str, line: str) -> None:
        """Print a line that a process wrote."""
        if self._lines:
            self._write(name, line, "")

    def event(self, event: Event) -> None:
        """Print what happened to a process, with its last lines where it died."""
        if event.kind == "died" and not self._lines:
            for line in event.lines:
                self._write(event.program, f"  | {line}", "")
        word = event.kind.replace("_", " ")
        text = event.text if event.text.startswith(word) else f"{word}: {event.text}"
        self._write(event.program, f"-- {text}", _MARKS.get(event.kind, "2"))

    def _write(self, name: str, line: str, style: str) -> None:
        self._width = max(self._width, len(name))
        label = f"{name:<{self._width}} |"
        if self._colour:
            colour = self._colours.setdefault(name, _COLOURS[len(self._colours) % len(_COLOURS)])
            label = f"\x1b[{colour}m{label}\x1b[0m"
            line = f"\x1b[{style}m{line}\x1b[0m" if style else line
        try:
            self._stream.write(f"{label} {line}\n")
            self._stream.flush()
        except (BrokenPipeError, ValueError):  # `| head` went away: the team goes on
            self._lines = False


@app.command("up")
def up(
    file: TeamFile,
    model: Model = None,
    domain: Domain = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Host of the team file that this computer is; all: everything runs here.",
        ),
    ] = "",
    quiet: Annotated[
        bool, typer.Option(help="Only the events of processes are shown, not their output.")
    ] = False,
    explore: Annotated[
        bool,
        typer.Option(
            "--explore", help="The robots explore at once, within the limits of the team file."
        ),
    ] = False,
    console: Annotated[
        bool, typer.Option("--console", help="The team's page is opened in the browser.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="The team goes on with what its last run keeps: maps, tasks, stops."
        ),
    ] = False,
    run_folder: Annotated[
        Path | None,
        typer.Option("--run", help="Folder of the run to go on with; default: the team's last."),
    ] = None,
) -> int:
    """Run a team until Ctrl-C, or until ./coterie down."""
    begin = time.monotonic()
    team = with_model(load_team(file), model)
    if explore and not team.explorers:
        raise CommandError(f"--explore: no robot of {file} has `role: explorer`")
    host = chosen_host(team, host)
    if run_folder is not None and not resume:
        raise CommandError("--run names the run for --resume: give that, too")
    earlier = run_to_resume(team, run_folder) if resume else None
    printer = Printer(lines=not quiet)
    with prepared(
        team,
        domain=domain,
        host=host,
        resume=earlier,
        on_line=printer.line,
        on_event=printer.event,
    ) as run:
        share = f"{len(team.robots)} robots in {len(run.specs)} processes"
        if host:
            share = f"host {host} with {', '.join(spec.name for spec in run.specs)}"
        print(
            f"team {team.name}: {share}, "
            f"ROS_DOMAIN_ID={run.domain}, logs in {run.directory / 'logs'}; Ctrl-C ends it",
            flush=True,
        )
        if earlier is not None:
            print(f"team {team.name}: goes on with what {earlier} keeps", flush=True)
        for told in warnings(team, run.specs, run.environment, run.domain):
            print(told, flush=True)
        with contextlib.ExitStack() as stack:
            if console:
                from coterie_cli.console.command import ConsoleOptions, serving

                for line in stack.enter_context(serving(run.state, ConsoleOptions())):
                    print(f"team {team.name}: {line}", flush=True)
            code = asyncio.run(_run(run, explore))
    failed = f"; given up: {', '.join(run.supervisor.failed)}" if run.supervisor.failed else ""
    print(f"team {team.name}: ended after {time.monotonic() - begin:.0f} s{failed}", flush=True)
    return code


async def _run(run: TeamRun, explore: bool) -> int:
    """Run the supervisor, and say when the team can be spoken to."""
    leaving = threading.Event()

    async def watch() -> None:
        await run.supervisor.started()
        telling = asyncio.create_task(asyncio.to_thread(_attend, run, leaving, explore))
        try:
            await run.supervisor.stopped()
        finally:
            leaving.set()
            await telling

    watching = asyncio.create_task(watch())
    async with telling(run.state):
        code = await run.supervisor.run()
    await watching
    return code


def _attend(run: TeamRun, leaving: threading.Event, explore: bool) -> None:
    """Wait until all nodes can be spoken to, and say so; for a thread of its own."""
    from coterie_bringup.team_client import operating

    begin = time.monotonic()
    team = run.team
    with operating(
        [r.name for r in team.explorers or team.robots],
        domain=run.domain,
        namespace=run.team.namespace,
        environment=run.environment,
    ) as operator:
        while operator.run(
            operator.wait_for_team(
                0.3, explorers=bool(team.explorers), leader=team.leader is not None
            )
        ).result(30.0):
            if leaving.is_set():
                return
        took = time.monotonic() - begin
        what = "ask it", './coterie ask "Is there an oven in the kitchen?"'
        if not team.explorers:
            what = "give it a task", './coterie do "Bring all mugs to the kitchen counter"'
            if team.leader is None:
                what = "give it a goal", './coterie do --together "ON(mug, table): 1"'
        print(
            f"team {team.name}: up after {took:.0f} s; {what[0]} from another terminal: {what[1]}",
            flush=True,
        )
        if explore:
            _explore(run, operator, leaving)


def _explore(run: TeamRun, operator: Operator, leaving: threading.Event) -> None:
    """Let all explorers explore at once; say how each of them ended."""
    from coterie_bringup.team_client import exploration_goal

    goal = exploration_goal(run.team.exploration)
    operator.on_behalf_of = "./coterie up --explore"
    going = {
        robot.name: operator.run(operator.explore(robot.name, goal, lambda feedback: None))
        for robot in run.team.explorers
    }
    while going and not leaving.wait(0.2):
        for name in [name for name, future in going.items() if future.done()]:
            error = going[name].exception()
            result = going.pop(name).result() if error is None else None
            told = f"exploration failed: {error}"
            if result is not None:
                told = f"explored {result.distance:.0f} m, {result.objects} things: {result.reason}"
            print(f"team {run.team.name}: {name}: {told}", flush=True)
