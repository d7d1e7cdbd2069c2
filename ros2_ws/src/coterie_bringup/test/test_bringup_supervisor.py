"""The supervisor with real child programs: death, restarts, limits, the ways out, orphans."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from coterie_bringup.child_process import Program, describe_exit, printable
from coterie_bringup.restarts import DEFAULT_PATIENCE, Patience
from coterie_bringup.supervisor import Event, Supervisor, alive

QUICK = Patience(backoff=0.01, longest_backoff=0.05)


def python(name: str, code: str, **options: object) -> Program:
    command = (sys.executable, "-u", "-c", textwrap.dedent(code))
    return Program(name, command, **options)  # type: ignore[arg-type]


async def until(condition: Callable[[], bool], limit: float = 30.0) -> None:
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "what was waited for did not happen"
        await asyncio.sleep(0.01)


class Heard:
    """What a supervisor told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.lines: list[tuple[str, str]] = []

    def kinds(self, program: str) -> list[str]:
        return [e.kind for e in self.events if e.program == program]

    def supervisor(self, programs: list[Program], tmp_path: Path, **options: object) -> Supervisor:
        return Supervisor(
            programs,
            tmp_path / "logs",
            on_line=lambda name, line: self.lines.append((name, line)),
            on_event=self.events.append,
            **{"patience": QUICK, **options},  # type: ignore[arg-type]
        )


SLEEPER = "import time; print('up'); time.sleep(600)"


async def test_output_is_prefixed_logged_and_clean(tmp_path: Path) -> None:
    heard = Heard()
    code = r"""
        import sys
        print("hello")
        print("\x1b[31mred\x1b[0m and \x07bell", file=sys.stderr)
        sys.stdout.write("x" * 10000 + "\n" + "no newline at the end")
    """
    supervisor = heard.supervisor([python("talker", code, restart_limit=0)], tmp_path)
    async with supervisor.running():
        await until(lambda: "talker" in supervisor.failed)
    assert ("talker", "hello") in heard.lines
    assert ("talker", "red and bell") in heard.lines
    assert max(len(line) for _, line in heard.lines) <= 4000
    text = (tmp_path / "logs" / "talker.log").read_text()
    assert "hello\nred and bell\n" in text and text.endswith("no newline at the end\n")


async def test_a_program_that_dies_is_named_with_its_last_lines_and_restarted(
    tmp_path: Path,
) -> None:
    heard = Heard()
    marker = tmp_path / "died_once"
    code = f"""
        import pathlib, sys, time
        marker = pathlib.Path({str(marker)!r})
        if not marker.exists():
            marker.touch()
            print("the map is gone")
            sys.exit(3)
        print("better now")
        time.sleep(600)
    """
    supervisor = heard.supervisor([python("r1", code), python("other", SLEEPER)], tmp_path)
    async with supervisor.running():
        await until(lambda: ("r1", "better now") in heard.lines)
        other = supervisor.pid("other")
        assert alive(supervisor.pid("r1")) and alive(other)
    died = next(e for e in heard.events if e.kind == "died")
    assert died.program == "r1" and "exit code 3" in died.text
    assert "the map is gone" in died.lines
    assert supervisor.restarts == {"r1": 1, "other": 0}
    assert heard.kinds("other") == ["started", "ended"]
    assert not alive(other)


async def test_a_program_that_keeps_dying_is_given_up_and_the_rest_goes_on(tmp_path: Path) -> None:
    heard = Heard()
    programs = [
        python("weak", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", restart_limit=2),
        python("strong", SLEEPER),
    ]
    supervisor = heard.supervisor(programs, tmp_path)
    async with supervisor.running():
        await until(lambda: "weak" in supervisor.failed)
        await until(lambda: ("strong", "up") in heard.lines)
        assert alive(supervisor.pid("strong"))
    assert heard.kinds("weak").count("started") == 3
    given_up = next(e for e in heard.events if e.kind == "given_up")
    assert "2 restarts" in given_up.text and "SIGSEGV" in given_up.text


async def test_losing_an_essential_program_ends_the_team_with_code_1(tmp_path: Path) -> None:
    heard = Heard()
    programs = [
        python("bridge", "raise SystemExit(7)", restart_limit=1, essential=True),
        python("r1", SLEEPER),
    ]
    supervisor = heard.supervisor(programs, tmp_path)
    assert await supervisor.run() == 1
    assert any(e.kind == "failed" and "bridge" in e.text for e in heard.events)
    assert supervisor.pid("r1") == 0


async def test_a_program_that_cannot_be_started_is_reported_once(tmp_path: Path) -> None:
    heard = Heard()
    missing = Program("ghost", (str(tmp_path / "no_such_program"),), essential=True)
    supervisor = heard.supervisor([missing], tmp_path)
    assert await supervisor.run() == 1
    assert heard.kinds("ghost") == ["given_up", "failed"]
    assert "no_such_program" in heard.events[0].text


async def test_a_program_that_ignores_both_signals_is_killed(tmp_path: Path) -> None:
    heard = Heard()
    code = """
        import signal, subprocess, sys, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(child.pid)
        time.sleep(600)
    """
    patience = Patience(interrupt=0.2, terminate=0.2)
    supervisor = heard.supervisor([python("deaf", code)], tmp_path, patience=patience)
    async with supervisor.running():
        await until(lambda: bool(heard.lines))
        grandchild = int(heard.lines[0][1])
        parent = supervisor.pid("deaf")
        assert alive(grandchild)
    assert not alive(parent)
    await until(lambda: not alive(grandchild))
    assert "SIGKILL" in heard.events[-1].text


async def test_an_interrupt_while_a_node_imports_leaves_no_page_of_traceback(
    tmp_path: Path,
) -> None:
    heard = Heard()
    ready = tmp_path / "ready"
    code = f"""
        import pathlib, time
        pathlib.Path({str(ready)!r}).touch()
        time.sleep(600)
    """
    importing = dataclasses.replace(python("importing", code), ignore_sigint_until_ready=True)
    patience = Patience(interrupt=0.2, terminate=5.0)
    supervisor = heard.supervisor([importing], tmp_path, patience=patience)
    async with supervisor.running():
        await until(ready.exists)
    assert not heard.lines
    assert "SIGTERM" in heard.events[-1].text


async def test_what_cannot_do_what_it_was_told_is_not_started_again(tmp_path: Path) -> None:
    heard = Heard()
    wrong = python("wrong", f"raise SystemExit({os.EX_CONFIG})")
    supervisor = heard.supervisor([dataclasses.replace(wrong, essential=True)], tmp_path)
    assert await supervisor.run() == 1
    assert heard.kinds("wrong") == ["started", "died", "given_up", "failed"]


async def test_a_second_stop_does_not_wait(tmp_path: Path) -> None:
    heard = Heard()
    code = """
        import signal, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("up"); time.sleep(600)
    """
    patience = Patience(interrupt=200.0, terminate=200.0)
    supervisor = heard.supervisor([python("deaf", code)], tmp_path, patience=patience)
    running = asyncio.create_task(supervisor.run())
    await until(lambda: bool(heard.lines))
    supervisor.stop()
    await asyncio.sleep(0.05)
    supervisor.stop()
    assert await asyncio.wait_for(running, 30.0) == 0


def test_names_must_differ(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="twice: r1"):
        Supervisor([python("r1", ""), python("r1", "")], tmp_path)


TEAM = """
import asyncio, pathlib, sys
from coterie_bringup.child_process import Program
from coterie_bringup.restarts import Patience
from coterie_bringup.supervisor import Supervisor
deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); "
deaf += "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
fair = "import time; print('up', flush=True); time.sleep(600)"
programs = [Program(n, (sys.executable, "-c", c)) for n, c in [("a", fair), ("b", deaf)]]
supervisor = Supervisor(
    programs, pathlib.Path(sys.argv[1]), patience=Patience(interrupt=0.3, terminate=0.3),
    on_line=lambda name, line: print(supervisor.pid(name), flush=True),
)
sys.exit(asyncio.run(supervisor.run()))
"""


@contextlib.contextmanager
def team_process(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run a supervisor in a process of its own; yield it and the ids of its two children."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(
        [sys.executable, "-c", TEAM, str(tmp_path)],
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, [int(process.stdout.readline()) for _ in range(2)]
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_team_with_code_0(tmp_path: Path, number: signal.Signals) -> None:
    with team_process(tmp_path) as (process, children):
        assert all(alive(pid) for pid in children)
        process.send_signal(number)
        assert process.wait(timeout=60.0) == 0
        assert not any(alive(pid) for pid in children)


def test_a_team_is_ended_within_the_five_seconds_promised() -> None:
    assert DEFAULT_PATIENCE.interrupt + DEFAULT_PATIENCE.terminate < 4.0


def test_children_die_with_a_killed_supervisor(tmp_path: Path) -> None:
    with team_process(tmp_path) as (process, children):
        process.kill()
        process.wait()
        end = time.monotonic() + 60.0
        while any(alive(pid) for pid in children) and time.monotonic() < end:
            time.sleep(0.01)
        assert not any(alive(pid) for pid in children)


LAST = """
import os, signal, sys, time
parent = int(os.environ["COTERIE_PARENT"])
signal.signal(signal.SIGINT, lambda *_: (print("told", flush=True), sys.exit()))
print("up", flush=True)
while os.getppid() == parent:
    time.sleep(0.02)
open(sys.argv[1], "w").write("orphaned")
"""


def last_program(note: Path) -> Program:
    return Program("dog", (sys.executable, "-c", LAST, str(note)), last=True)


@pytest.mark.parametrize("hurry", [False, True])
async def test_who_ends_last_is_told_when_all_others_are_gone(tmp_path: Path, hurry: bool) -> None:
    heard = Heard()
    slow = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('up'); "
    slow += "time.sleep(600)"
    supervisor = heard.supervisor(
        [last_program(tmp_path / "x"), python("a", slow)],
        tmp_path,
        patience=dataclasses.replace(QUICK, interrupt=0.3),
    )
    async with supervisor.running():
        await until(lambda: {("a", "up"), ("dog", "up")} <= set(heard.lines))
        if hurry:
            supervisor.stop()
            supervisor.stop()
    ended = [event.program for event in heard.events if event.kind == "ended"]
    assert ended == ["a", "dog"]
    assert ("dog", "told") in heard.lines, "it was killed, and not told"


async def test_a_team_whose_others_were_given_up_ends(tmp_path: Path) -> None:
    heard = Heard()
    programs = [last_program(tmp_path / "x"), python("a", "", restart_limit=0)]
    assert await asyncio.wait_for(heard.supervisor(programs, tmp_path).run(), 60.0) == 0
    assert heard.kinds("a")[-1] == "failed" and heard.kinds("dog")[-1] == "ended"


def test_who_ends_last_outlives_a_killed_supervisor_and_knows(tmp_path: Path) -> None:
    note = tmp_path / "note"
    code = f"""
import asyncio, pathlib, sys
from coterie_bringup.child_process import Program
from coterie_bringup.supervisor import Supervisor
dog = Program("dog", (sys.executable, "-c", {LAST!r}, {str(note)!r}), last=True)
asyncio.run(Supervisor([dog], pathlib.Path(sys.argv[1]), on_line=print).run())
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(
        [sys.executable, "-uc", code, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        process.wait()
        end = time.monotonic() + 60.0
        while not note.is_file() and time.monotonic() < end:
            time.sleep(0.01)
        assert note.is_file()
    finally:
        process.kill()
        process.wait()


def test_exits_in_words() -> None:
    assert describe_exit(0) == "exit code 0"
    assert describe_exit(-11) == "killed by SIGSEGV"
    assert describe_exit(-250) == "killed by signal 250"
    assert printable("a\x1b[2Jb\x00c\td") == "abc\td"
