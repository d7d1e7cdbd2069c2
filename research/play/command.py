"""`./coterie play`: a person is one of the agents, in the terminal or in the browser."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from coterie_cli.commands import run as run_command
from coterie_llm import Decider, LanguageError, build_decider, load_profile
from research.bench.reveca.methods import METHODS, WORLDS
from research.play.page import PACE, PlayPage, Seat
from research.play.record import PlayError, Record, new_file, read_record
from research.play.session import NOT_WITH_PEOPLE, PlaySession, Quit, names_of_people
from research.play.terminal import Terminal

app = typer.Typer(add_completion=False)
ENDED = 3
"""Exit code of a session that was ended before its end (it is saved)."""
INSIST = 0.05
"""After which a signal that was not heeded is sent again [s]."""


@app.command()
def play(
    world: Annotated[
        str, typer.Option(help=f"Name of the world: {', '.join(WORLDS)}.")
    ] = "household",
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the house, the goal and the starts.")
    ] = 0,
    method: Annotated[
        str,
        typer.Option(
            "--with",
            help="Method of the other agents: "
            f"{', '.join(name for name in METHODS if name not in NOT_WITH_PEOPLE)}.",
        ),
    ] = "reveca",
    agents: Annotated[
        int, typer.Option(min=1, max=10, help="Number of agents in the team, people included.")
    ] = 2,
    people: Annotated[
        int,
        typer.Option(
            min=1, max=10, help="Number of people among them; more than one needs --page."
        ),
    ] = 1,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for the results.")] = Path(
        "out/play"
    ),
    profile: Annotated[
        Path | None,
        typer.Option(
            help="Path of the model profile (YAML) that the others think with; default: the rules."
        ),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Play in the browser instead of the terminal.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of the page; default: a free one.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    resume: Annotated[
        Path | None,
        typer.Option(help="Path of a saved session to go on with; other options are not needed."),
    ] = None,
) -> None:
    """Play one of the agents: see what it sees, choose its actions, talk with the others.

    At the end a few questions; everything is saved, also when you end earlier (Ctrl-C).
    """
    decider, model = decider_of(profile)
    if resume is not None:
        record, file = read_record(resume), resume
        if record.state == "finished":
            raise PlayError(f"{resume}: this session is finished")
    else:
        names = names_of_people(world, agents, people)
        record = Record(world=world, method=method, seed=seed, agents=agents, people=names)
        record.model = model
        file = new_file(out, record)
    if record.model != model:
        raise PlayError(
            f"{file}: the others thought with {record.model or 'the rules'}; "
            "resume with the same --profile"
        )
    if page:
        code = play_in_browser(record, file, port=port, show=show, decider=decider)
    else:
        if len(record.people) > 1:
            raise PlayError("several people play in the browser: add --page")
        code = play_in_terminal(record, file, Console(), decider=decider)
    raise typer.Exit(code)


def play_in_terminal(
    record: Record,
    file: Path,
    console: Console,
    read: Callable[[str], str] = input,
    decider: Decider | None = None,
) -> int:
    """Play a session in the terminal; return the exit code.

    Args:
        record: What is played, or a session that is resumed.
        file: Where it is saved.
        console: Where to print.
        read: Reads a line after a prompt.
        decider: Who answers the others' decisions; None: the rules.

    Raises:
        PlayError: It cannot be played, saved or resumed.
    """
    terminal = Terminal(console, read)
    (name,) = record.people
    session = PlaySession(record, file, {name: terminal}, decider)
    others = [other for other in session.record.team if other != name]
    console.print(
        Text(
            f"You are {name}"
            + (f", with {', '.join(others)}" if others else "")
            + ". Choose a number, or write a message; ? for help."
        )
    )

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        # asyncio's own handler would wait for the line to be finished.
        terminal.quit = True
        if terminal.asking:
            raise KeyboardInterrupt

    with _handler(interrupted, lambda: terminal.quit):
        try:
            asyncio.run(session.play())
            terminal.questionnaire(session, name)
        except Quit:
            _tell_saved(console, session.file)
            return ENDED
    console.print(Text(f"Saved: {session.file}"), soft_wrap=True)
    return 0


def play_in_browser(
    record: Record, file: Path, *, port: int | None, show: bool, decider: Decider | None = None
) -> int:
    """Play a session in the browser until all people have answered; return the exit code.

    Args:
        record: What is played, or a session that is resumed.
        file: Where it is saved.
        port: Where to serve; None: a free one.
        show: Open the browser.
        decider: Who answers the others' decisions; None: the rules.

    Raises:
        PlayError: It cannot be played, served, saved or resumed.
    """
    console = Console()

    async def serve() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        seats = {name: Seat(name, PACE) for name in record.people}
        session = PlaySession(record, file, seats, decider)
        served = PlayPage(session, seats, port)
        await served.start()
        try:
            for name in seats:
                console.print(f"{name}: {served.link(name)}", soft_wrap=True, highlight=False)
            console.print("Ctrl-C ends the session; it is saved with every choice.")
            if show:
                # A thread: some browsers run in the foreground until they are closed.
                links = [served.link(name) for name in seats]
                threading.Thread(target=_open, args=(links,), daemon=True).start()
            await served.play()
            await asyncio.sleep(0.5)  # the pages show that it is saved
        finally:
            await served.stop()

    try:
        asyncio.run(serve())
    except (Quit, asyncio.CancelledError, KeyboardInterrupt):
        _tell_saved(console, file)
        return ENDED
    console.print(Text(f"Saved: {file}"), soft_wrap=True)
    return 0


def decider_of(profile: Path | None) -> tuple[Decider | None, str]:
    """Return who answers the agents' decisions, and the model's name; without a profile the rules.

    Raises:
        PlayError: The profile cannot be used.
    """
    if profile is None:
        return None, ""
    try:
        read = load_profile(profile)
        decider = build_decider(read, who="play")
    except (OSError, LanguageError) as error:
        raise PlayError(str(error)) from None
    return decider, read.model or read.kind


def _tell_saved(console: Console, file: Path) -> None:
    console.print(
        Text(f"\nSaved: {file}\nGo on with: ./coterie play --resume {file}"), soft_wrap=True
    )


def _open(links: Sequence[str]) -> None:
    for link in links:
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(link)


@contextlib.contextmanager
def _handler(
    handler: Callable[[int, FrameType | None], None], heeded: Callable[[], bool]
) -> Iterator[None]:
    """Handle Ctrl-C, SIGTERM and a closed terminal in a way of one's own, where that can be.

    A signal that comes in the moment before `input` blocks only leaves a mark that Python looks at
    when the line is finished. A thread hears of it at once and sends it again until it is heeded.
    """
    main = threading.current_thread()
    if main is not threading.main_thread() or main.ident is None:
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    ident = main.ident

    def insist() -> None:
        while told := os.read(reading, 1):
            time.sleep(INSIST)
            if not heeded() and told[0] in numbers:
                signal.pthread_kill(ident, told[0])

    thread = threading.Thread(target=insist, name="signals", daemon=True)
    before = {number: signal.signal(number, handler) for number in numbers}
    fd = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(fd)
        for number, old in before.items():
            signal.signal(number, old)
        os.close(writing)  # the thread reads the end
        thread.join(1.0)
        os.close(reading)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    return run_command(app, "play", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
