"""Runs of teams whose decisions are kept on this computer, for ./coterie why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from coterie_bringup.errors import CommandError
from coterie_bringup.run_note import begun_as
from coterie_bringup.rundir import RunState, running_teams, state_root
from coterie_safety.why import Explanation, explain
from coterie_safety.why.explanation import NothingKept


@dataclass(frozen=True, slots=True)
class KeptRun:
    """Where the decisions of a run are, and its log of goals."""

    team: str
    decisions: Path
    log: Path
    running: bool = False

    @property
    def directory(self) -> Path:
        """The run's folder; of real robots, that of all teams."""
        return self.decisions.parent

    @property
    def memory(self) -> Path | None:
        """Where the copies of the team's memory are; None: none are kept."""
        own, root = self.directory / "team", state_root()
        if any(own.glob("*.json")):
            return own
        runs = root.glob(f"runs/*-{self.team}-*/team") if self.directory == root / "why" else ()
        there = filter(Path.is_dir, (root / "memory" / self.team / "team", *runs))
        return max(there, key=lambda folder: folder.stat().st_mtime, default=None)

    def explain(self, what: str) -> Explanation:
        """Return why something happened in this run; see `coterie_safety.why.explain`.

        Raises:
            CommandError: Nothing that is kept fits.
        """
        try:
            return explain(what, self.decisions, self.log, self.memory)
        except NothingKept as nothing:
            live = [state for state in running_teams() if state.log and Path(state.log) == self.log]
            if any(what.strip() in state.robots for state in live):
                raise CommandError(
                    f"{self.team}: {what.strip()} has done nothing yet in this run"
                ) from None
            raise CommandError(f"{self.team}: {nothing}") from None


def kept_runs() -> list[KeptRun]:
    """Return the runs of which anything is kept: those that go on, then the newest first."""
    root = state_root()
    live = {Path(state.log) for state in running_teams() if state.log}
    found: list[tuple[float, KeptRun]] = []
    for folder in (*root.glob("runs/*/why"), *root.glob("why/*")):
        files = list(folder.glob("*.jsonl"))
        real = folder.parent == root / "why"
        log = root / "log" / folder.name if real else folder.parent / "log"
        if not files and log not in live:
            continue
        name = re.sub(r"^\d+-\d+-|-\d+(-\d+)?$", "", folder.parent.name)
        team = folder.name if real else name
        newest = max((file.stat().st_mtime for file in files), default=0.0)
        found.append((newest, KeptRun(team, folder, log, log in live)))
    return [run for _, run in sorted(found, key=lambda one: (not one[1].running, -one[0]))]


def run_of(state: RunState) -> KeptRun | None:
    """Return the run of a team that runs; None where it runs on another computer."""
    if not state.log:
        return None
    log = Path(state.log)
    root = log.parent.parent if log.parent.name == "log" else None
    decisions = log.parent / "why" if root is None else root / "why" / log.name
    return KeptRun(state.team, decisions, log, running=True)


def choose_run(team: str = "", folder: Path | None = None) -> KeptRun:
    """Return the run that is meant: in a folder, of a team by name, or the last one.

    Args:
        team: Name of the team, or of the team file that it was begun with; "": any.
        folder: The run's folder, or the folder of decisions in it.

    Raises:
        CommandError: Nothing is kept of it, or several teams run.
    """
    if folder is not None:
        inner = folder / "why"
        decisions = inner if inner.is_dir() else folder
        if not decisions.is_dir():
            raise CommandError(f"{folder}: no such folder")
        return KeptRun(folder.name, decisions, decisions.parent / "log")

    kept = kept_runs()
    runs = [run for run in kept if team in ("", run.team)]
    runs = runs or [run for run in kept if team == begun_as(run.directory)]
    live = sorted({run.team for run in runs if run.running})
    if not team and len(live) > 1:
        raise CommandError(f"several teams run here: give --team {' or '.join(live)}")
    if not runs:
        names = sorted({run.team for run in kept})
        others = f"; there are those of {', '.join(names)}" if names else ""
        raise CommandError(
            f"no decisions of {team or 'any team'} are kept on this computer{others}: start a team "
            "(./coterie up), and leave why.keep in its team file as it is"
        )
    return runs[0]
