"""Stops that a robot on another host did not hear are told it again, until it says that it stands.

Beside the team's processes in `./coterie up`: who gave the stop is long gone when the link returns.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from coterie_bringup.rundir import RunState
from coterie_safety.stop import latch_file

_LOOK = 0.5
_ATTEMPT = 3.0
"""How often is looked for stops, and how long one attempt takes [s]; a release ends it at once."""


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
        "--timeout", f"{_ATTEMPT:g}", "--domain", str(state.domain),
        "--namespace", f"/{state.namespace}",
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
