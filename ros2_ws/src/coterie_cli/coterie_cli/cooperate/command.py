"""`./coterie cooperate`: robots of a team do a goal that they share, while a person looks on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped_team
from coterie_bringup.rundir import RunState, choose_team, running_teams
from coterie_bringup.running_team import TeamRun, ended_by_signals
from coterie_bringup.team import Team, load_team
from coterie_bringup.team_models import with_model
from coterie_cli.cooperate.record import CooperationRecord
from coterie_cli.own_team import own_team
from coterie_cli.person import PersonAtTerminal
from coterie_core.cooperation import Goal, GoalError
from coterie_core.files import write_atomically
from reveca_agent.household_goal import unfamiliar

if TYPE_CHECKING:
    from coterie_cli.cooperate.watch import CooperationWatcher

DEFAULT_TEAM = "reveca"
THERE = 90.0
"""How long a team that was started may take until its robots can be spoken to [s]."""
_LINES = 12
"""Messages shown while they work."""


@dataclass(frozen=True, slots=True)
class CooperateOptions:
    """What `./coterie cooperate` is asked for.

    `predicates`: the goal; empty: the team file's. `team_file`: start this team; None: use the one
    that runs, or start config/teams/reveca.yaml. `world`: another kind of world for the same house.
    """

    predicates: tuple[str, ...] = ()
    name: str = ""
    team_file: Path | None = None
    world: str | None = None
    model: str | None = None
    out: Path = Path("out/cooperate")
    domain: int | None = None
    max_time: float = 0.0
    as_json: bool = False


def cooperate(options: CooperateOptions) -> int:
    """Let a team do a goal; return the exit code: 0 only if it was done.

    Raises:
        CommandError: No goal, no team, or no robot that cooperates.
        FileProblem: The team file is wrong.
    """
    console = Console(stderr=options.as_json)
    given = _goal(options.name, options.predicates, console) if options.predicates else None
    kept: list[CooperationRecord] = []
    own = options.team_file or options.world or options.model
    running = [] if own else _running(options.domain)
    try:
        if running:
            state = choose_team(running, options.domain, os.environ.get("ROS_DOMAIN_ID", ""))
            if given is None:
                raise CommandError(
                    f"team {state.team} runs already: say what it shall do, for example\n"
                    '  ./coterie cooperate "ON(mug, counter): 2"'
                )
            kept.append(CooperationRecord(given, state.team))
            asyncio.run(_with_running(state, options, kept[0], console))
        else:
            _with_own(given, options, console, kept)
    except asyncio.CancelledError:
        console.print("cooperate: interrupted; the robots were told to stop", highlight=False)
        if kept:
            kept[0].message = "interrupted"
            file, _ = _write(kept[0], options.out)
            console.print(f"  {file}", style="dim", markup=False, highlight=False)
        return 130
    record = kept[0]
    file, text = _write(record, options.out)
    if options.as_json:
        print(text)
    else:
        console.print(_shares_table(record))
        verdict = "done" if record.success else f"not done: {record.message}"
        console.print(
            Text(f"{record.goal.text()}: {verdict}", style="green" if record.success else "red")
        )
    console.print(f"  {file}", style="dim", markup=False, highlight=False)
    return 0 if record.success else 1


def _write(record: CooperationRecord, folder: Path) -> tuple[Path, str]:
    """Keep a record; return its file and what is in it."""
    folder.mkdir(parents=True, exist_ok=True)
    file, text = folder / "cooperation.json", json.dumps(record.as_data(), indent=1)
    write_atomically(file, text + "\n")
    return file, text


def _goal(name: str, predicates: tuple[str, ...], console: Console) -> Goal:
    try:
        goal = Goal.parse(name or "a shared goal", predicates)
    except GoalError as error:
        raise CommandError(str(error)) from None
    for warning in unfamiliar(goal):
        console.print(Text(f"warning: {warning}", style="yellow"))
    return goal


def _running(domain: int | None) -> list[RunState]:
    return [team for team in running_teams() if domain is None or team.domain == domain]


async def _with_running(
    state: RunState, options: CooperateOptions, record: CooperationRecord, console: Console
) -> None:
    async with ended_by_signals():
        await _give(state, state.robots, options, record, console, patience=5.0)


def _with_own(
    given: Goal | None,
    options: CooperateOptions,
    console: Console,
    kept: list[CooperationRecord],
) -> None:
    """Start a team for the goal; its record goes into `kept` at once."""
    team = load_team(options.team_file or shipped_team(DEFAULT_TEAM))
    team = with_model(team, options.model)
    if options.world:
        team = _in_world(team, options.world)
    spec = team.cooperation
    if not team.cooperators:
        raise CommandError(
            f"team {team.name} has no robot of role: cooperator; give one, or use "
            f"--team {DEFAULT_TEAM}"
        )
    if given is None and not spec.goal:
        raise CommandError(
            f"team {team.name} has no goal: add `goal:` to its section cooperation, or say it: "
            './coterie cooperate "ON(mug, counter): 2"'
        )
    record = CooperationRecord(given or _goal(spec.name, spec.goal, console), team.name)
    kept.append(record)

    with own_team(team, options.domain, console) as run:
        asyncio.run(_start_and_give(run, options, record, console))


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


async def _start_and_give(
    run: TeamRun, options: CooperateOptions, record: CooperationRecord, console: Console
) -> None:
    robots = [robot.name for robot in run.team.cooperators]
    async with ended_by_signals():
        await run.beside(_give(run.state, robots, options, record, console, patience=THERE))


async def _give(
    state: RunState,
    robots: list[str],
    options: CooperateOptions,
    record: CooperationRecord,
    console: Console,
    *,
    patience: float,
) -> None:
    """Give the goal to all robots at once and show how it goes; cancelled, cancel it there too."""
    from coterie_bringup.spinning import in_loop, spinning
    from coterie_cli.cooperate.watch import CooperationWatcher

    person = PersonAtTerminal(console)

    def make(context: Any) -> CooperationWatcher:
        return CooperationWatcher(
            robots, record, person=person, namespace=state.namespace, context=context
        )

    with (
        contextlib.closing(person),
        spinning(make, domain=state.domain, environment=state.environment) as watcher,
    ):
        there = await in_loop(watcher, watcher.robots_there(patience))
        if not there:
            raise CommandError(
                f"{f'team {state.team}' if state.team else 'the team'} in ROS domain "
                f"{state.domain} has no robot that cooperates (no action <robot>/cooperate within "
                f"{patience:g} s); start one that has: ./coterie up {DEFAULT_TEAM}"
            )
        begin = time.monotonic()
        live = Live(console=console, refresh_per_second=4, transient=True)
        with person.beside(live):
            watcher.on_news = lambda: live.update(_view(record, time.monotonic() - begin))
            giving = watcher.run(watcher.give(there, options.max_time), "goal")
            try:
                await asyncio.wrap_future(giving)
            except asyncio.CancelledError:
                giving.cancel()
                await asyncio.sleep(1.0)  # the cancellations still have to leave
                raise
            finally:
                record.seconds = time.monotonic() - begin


def _view(record: CooperationRecord, seconds: float) -> Group:
    talk = Table.grid(padding=(0, 2))
    for one in record.said[-_LINES:]:
        to = f" to {', '.join(one.to)}" if one.to else ""
        talk.add_row(f"{one.seconds:6.1f} s", f"{one.sender}{to}:", Text(one.text[:160]))
    head = Text(f"{record.goal.text()}   {seconds:.0f} s", style="bold")
    return Group(head, _shares_table(record), talk)


def _shares_table(record: CooperationRecord) -> Table:
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
