"""A goal that robots share and reach without a leader."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from coterie_bringup.abilities import lacking, require, without
from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import RunState
from coterie_bringup.team import Team
from coterie_cli.do.goal_record import CooperationRecord, Said
from coterie_cli.do.options import DoOptions
from coterie_cli.person import PersonAtTerminal
from coterie_core.cooperation import Goal, GoalError
from coterie_core.files import write_atomically
from reveca_agent.household_goal import unfamiliar

if TYPE_CHECKING:
    from coterie_cli.do.goal_watcher import CooperationWatcher

EXAMPLE = './coterie do --together "ON(mug, counter): 2"'
_LINES = 12
"""Messages shown while they work."""


class SharedGoal:
    """The goal of a command line, or of the team file.

    Raises:
        CommandError: The predicates are wrong, or the options do not fit together.
    """

    team = "reveca"

    def __init__(self, options: DoOptions, console: Console) -> None:
        if options.resume:
            raise CommandError("--resume is for tasks with a leader: leave it or --together out")
        self._options, self._console = options, console
        goal = self._goal(options.name, tuple(options.task)) if options.task else None
        self._given = goal is not None
        self._record = CooperationRecord(goal or Goal(options.name, ()))
        self._robots: list[str] = []

    def of_running(self, state: RunState) -> None:
        """Take note of the running team, which has to be told the goal."""
        state.require("together")
        if not self._given:
            raise CommandError(
                f"team {state.team} runs already: say what it shall do, for example\n  {EXAMPLE}"
            )
        self._record.team, self._robots = state.team, list(state.robots)

    def of_own(self, team: Team) -> Team:
        """Return the team in the world of the options, and take its goal where none was given."""
        if self._options.world:
            team = _in_world(team, self._options.world)
        spec = team.cooperation
        require("together", lacking(team), f"team {team.name}")
        if not self._given:
            if not spec.goal:
                raise CommandError(
                    f"team {team.name} has no goal: add `goal:` to its section cooperation, or "
                    f"say it: {EXAMPLE}"
                )
            self._record.goal = self._goal(spec.name, spec.goal)
        self._record.team = team.name
        self._robots = [robot.name for robot in team.cooperators]
        return team

    async def give(self, state: RunState, patience: float) -> None:
        """Give the goal to all robots at once and show how it goes; cancelled, cancel it there."""
        from coterie_bringup.spinning import in_loop, spinning
        from coterie_cli.do.goal_watcher import CooperationWatcher

        record, person = self._record, PersonAtTerminal(self._console)

        def make(context: Any) -> CooperationWatcher:
            return CooperationWatcher(
                self._robots, record, person=person, namespace=state.namespace, context=context
            )

        with (
            contextlib.closing(person),
            spinning(make, domain=state.domain, environment=state.environment) as watcher,
        ):
            there = await in_loop(watcher, watcher.robots_there(patience))
            if not there:
                raise CommandError(
                    f"no action <robot>/cooperate within {patience:g} s: "
                    f"{without('together', state.who)}"
                )
            begin = time.monotonic()
            view = GoalView(self._console, record)
            with person.beside(view.live):
                watcher.on_news = view.news
                giving = watcher.run(watcher.give(there, self._options.max_time), "goal")
                try:
                    await asyncio.wrap_future(giving)
                except asyncio.CancelledError:
                    giving.cancel()
                    await asyncio.sleep(1.0)  # the cancellations still have to leave
                    raise
                finally:
                    record.seconds = time.monotonic() - begin

    def interrupted(self) -> str:
        """Note that it was interrupted."""
        self._record.message = "interrupted"
        return "interrupted; the robots were told to stop"

    def save(self) -> list[Path]:
        """Write the record; return its file."""
        folder = self._options.out
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "cooperation.json"
        write_atomically(file, json.dumps(self.as_data(), indent=1) + "\n")
        return [file]

    def as_data(self) -> dict[str, Any]:
        """Return the record for JSON."""
        return self._record.as_data()

    def show(self) -> None:
        """Show what every robot did, and how the goal ended."""
        record = self._record
        self._console.print(shares_table(record))
        verdict = "done" if record.success else f"not done: {record.message}"
        style = "green" if record.success else "red"
        self._console.print(Text(f"{record.goal.text()}: {verdict}", style=style))

    def exit_code(self) -> int:
        """Return 0 only where the goal was met."""
        return 0 if self._record.success else 1

    def _goal(self, name: str, predicates: tuple[str, ...]) -> Goal:
        try:
            goal = Goal.parse(name or "a shared goal", predicates)
        except GoalError as error:
            raise CommandError(str(error)) from None
        for warning in unfamiliar(goal):
            self._console.print(Text(f"warning: {warning}", style="yellow"))
        return goal


def _in_world(team: Team, kind: str) -> Team:
    """Return the team in another kind of world, of the same house.

    Raises:
        CommandError: There is no such kind.
    """
    from pydantic import ValidationError

    try:
        world = type(team.world).model_validate(
            {**team.world.model_dump(exclude_defaults=True), "kind": kind}
        )
    except ValidationError as error:
        raise CommandError(f"--world {kind}: {error.errors(include_url=False)[0]['msg']}") from None
    return team.model_copy(update={"world": world})


class GoalView:
    """Live on a terminal; elsewhere a line for what a robot plans anew, and for each message.

    Attributes:
        live: What a terminal draws; whoever shows the view starts and stops it. None: no terminal.
    """

    def __init__(self, console: Console, record: CooperationRecord) -> None:
        self._console, self._record = console, record
        self._begin = time.monotonic()
        self._heard = 0
        self._plans: dict[str, str] = {}
        self.live: Live | None = None
        if console.is_terminal:
            self.live = Live(
                console=console, refresh_per_second=4, get_renderable=self.render, transient=True
            )

    def news(self) -> None:
        """Show that something happened."""
        if self.live is not None:
            return
        took = f"{time.monotonic() - self._begin:6.1f} s"
        for line in self._new():
            self._console.print(f"{took}  {line}", markup=False, highlight=False, soft_wrap=True)

    def _new(self) -> Iterator[str]:
        said = self._record.said[self._heard :]
        self._heard += len(said)
        for one in said:
            yield f"{_from(one)} {one.text}"
        for share in self._record.shares.values():
            plan = share.outcome or share.plan
            if plan and plan != self._plans.get(share.robot):
                self._plans[share.robot] = plan
                yield f"{share.robot}: {plan}; {share.placed} of {share.wanted} in place"

    def render(self) -> Group:
        """Return everything as it is now."""
        talk = Table.grid(padding=(0, 2))
        for one in self._record.said[-_LINES:]:
            talk.add_row(f"{one.seconds:6.1f} s", _from(one), Text(one.text[:160]))
        seconds = time.monotonic() - self._begin
        head = Text(f"{self._record.goal.text()}   {seconds:.0f} s", style="bold")
        return Group(head, shares_table(self._record), talk)


def _from(one: Said) -> str:
    to = f" to {', '.join(one.to)}" if one.to else ""
    return f"{one.sender}{to}:"


def shares_table(record: CooperationRecord) -> Table:
    """Return what every robot did for the goal."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("robot", "in place", "room", "plan", "way", "said"):
        table.add_column(title, overflow="fold")
    for share in record.shares.values():
        table.add_row(
            share.robot,
            f"{share.placed} of {share.wanted}",
            Text(share.room),
            Text(share.outcome or share.plan),
            "" if share.distance is None else f"{share.distance:.1f} m",
            "" if share.messages is None else f"{share.messages} ({share.characters} characters)",
        )
    return table
