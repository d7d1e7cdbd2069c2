"""Whole teams for scenario tests: real processes of real nodes, each team in its own domain."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coterie_fixtures.ros_harness import patience

if TYPE_CHECKING:
    from coterie_bringup.running_team import TeamRun
    from coterie_bringup.supervisor import Event
    from coterie_bringup.team_client import Operator

PATIENCE = 120.0
"""Ten times what is expected on a busy machine [s]."""

TINY = """\
name: tiny
world: {kind: embedded, seed: 5, floors: 1, rooms: 5}
seed: 5
robots:
  - {name: rover, embodiment: wheels}
  - {name: walker, embodiment: legs}
exploration: {steps: 4}
questions: {count: 8, train: 24}
aggregator: {method: majority_vote, deadline: 3.0}
"""


@dataclass
class Running:
    """A team that runs, its operator, and what the supervisor told."""

    run: TeamRun
    operator: Operator
    events: list[Event] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait for a condition; fails the test when it does not come true."""
        begin = time.monotonic()
        while not condition():
            if time.monotonic() - begin > patience(PATIENCE):
                told = "\n".join(f"{n}: {line}" for n, line in self.lines[-40:])
                pytest.fail(f"waited {PATIENCE:g} s for {what}; last lines:\n{told}")
            await asyncio.sleep(0.02)

    async def loop(self, work: Any) -> Any:
        """Run a coroutine of the operator in its loop."""
        from coterie_bringup.spinning import in_loop

        return await asyncio.wait_for(in_loop(self.operator, work), 1.5 * PATIENCE)

    async def finals(self, questions: list[str]) -> None:
        """Wait until all these questions have their final answer."""
        missing: set[str] = set()

        def answered() -> bool:
            missing.clear()
            missing.update(set(questions) - self.operator.finals.keys())
            return not missing

        await self.until(answered, f"final answers to {missing}")


@pytest.fixture(scope="session")
def tiny() -> str:
    """A small team's file."""
    return TINY


@pytest.fixture
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for run directories that is not the user's."""
    folder = tmp_path / "state"
    monkeypatch.setenv("COTERIE_STATE", str(folder))
    return folder


@pytest.fixture
def running_team(state_folder: Path) -> Callable[..., Any]:
    """Return a context manager that runs the team of a text in a domain."""
    from coterie_bringup.running_team import prepared
    from coterie_bringup.team import parse_team
    from coterie_bringup.team_client import operating

    @contextlib.asynccontextmanager
    async def run(text: str, domain: int) -> AsyncIterator[Running]:
        events: list[Event] = []
        lines: list[tuple[str, str]] = []
        team = parse_team(text)
        with prepared(
            team,
            domain=domain,
            on_line=lambda name, line: lines.append((name, line)),
            on_event=events.append,
        ) as started:
            async with started.supervisor.running():
                names = [r.name for r in team.robots]
                with operating(names, domain=domain, environment=started.environment) as operator:
                    running = Running(started, operator, events, lines)
                    missing = await running.loop(operator.wait_for_team(PATIENCE))
                    assert not missing, f"not up: {missing}; {lines[-40:]}"
                    yield running

    return run
