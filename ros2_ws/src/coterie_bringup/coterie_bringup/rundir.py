"""Run directories, running teams and ROS domains: who uses what on this machine."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from coterie_bringup.abilities import Ability, require
from coterie_bringup.errors import CommandError
from coterie_bringup.run_note import begun_as
from coterie_ros.domains import LAST_DOMAIN, take_domain

KEPT_RUNS = 20
"""Run directories that are kept; older ones of teams that ended are removed."""

FIRST_DOMAIN = 20
"""First domain that is taken by itself: people choose the low ones."""


class DomainError(Exception):
    """No ROS domain can be used; says why and what to do."""


@dataclass(slots=True)
class RunState:
    """What is known of a running team: who runs it, where, and how to reach it."""

    team: str
    pid: int
    domain: int
    directory: str
    started: float
    namespace: str = ""
    robots: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    pid_birth: int = 0
    stops: str = ""
    log: str = ""
    elsewhere: list[str] = field(default_factory=list)
    tells_stops: bool = False
    leads: bool = False
    host: str = ""
    lacks: list[str] = field(default_factory=list)

    @property
    def who(self) -> str:
        """The team in words; one that runs elsewhere has no name here."""
        return f"team {self.team}" if self.team else f"the team in ROS domain {self.domain}"

    def require(self, ability: Ability) -> None:
        """Refuse what the team cannot be asked for, as far as that is known here.

        Raises:
            CommandError: It lacks what that takes.
        """
        require(ability, self.lacks, self.who)

    @property
    def alive(self) -> bool:
        """Whether the process that runs the team still exists."""
        return process_birth(self.pid) == self.pid_birth != 0

    @property
    def reach(self) -> dict[str, Any]:
        """How a node gets into the team: arguments of `operating`, `watching` and their like."""
        return {
            "domain": self.domain,
            "namespace": self.namespace,
            "environment": self.environment,
        }


def own_state(
    team: str,
    domain: int,
    directory: Path,
    *,
    namespace: str = "",
    robots: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    stops: Path | None = None,
    log: Path | None = None,
    elsewhere: Sequence[str] = (),
    tells_stops: bool = False,
    leads: bool = False,
    host: str = "",
    lacks: Sequence[str] = (),
) -> RunState:
    """Return the state of a team that this process runs from now on.

    `stops` is where the latches of stopped robots are kept, `log` where goals and permits are
    logged. `elsewhere` are the robots whose stops another host of the team obeys; with
    `tells_stops` they are told again what they did not hear. `leads`: the leader runs here.
    `host` is the share of a team of several hosts that runs here, or `all`. `lacks` is what the
    team cannot be asked for, see `abilities.lacking`.
    """
    return RunState(
        team=team,
        pid=os.getpid(),
        pid_birth=process_birth(os.getpid()),
        domain=domain,
        directory=str(directory),
        started=time.time(),
        namespace=namespace,
        robots=list(robots),
        environment=dict(environment or {}),
        stops=str(stops or ""),
        log=str(log or ""),
        elsewhere=list(elsewhere),
        tells_stops=tells_stops,
        leads=leads,
        host=host,
        lacks=list(lacks),
    )


def process_birth(pid: int) -> int:
    """Return when a process began [clock ticks since boot]; 0 where there is none, or has ended.

    Together with the id this names a process for good: ids are used again, births are not.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    fields = stat.rsplit(")", 1)[1].split()
    return 0 if fields[0] == "Z" else int(fields[19])  # a zombie only waits for its parent


def state_root() -> Path:
    """Return the folder of all runs: COTERIE_STATE, or the user's state folder.

    Where that cannot be written, a folder of this user below the temporary directory.
    """
    own = os.environ.get("COTERIE_STATE")
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    for candidate in (own, os.path.join(base, "coterie")):
        if not candidate:
            continue
        path = Path(candidate)
        with contextlib.suppress(OSError):
            path.mkdir(parents=True, exist_ok=True)
            if os.access(path, os.W_OK):
                return path
    path = Path(tempfile.gettempdir()) / f"coterie-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    told = path.lstat()  # anybody can put a link there, to any folder of this user
    private = stat.S_ISDIR(told.st_mode) and not told.st_mode & 0o077
    if told.st_uid != os.getuid() or not private:
        raise PermissionError(
            f"{path} is no folder of this user alone; set COTERIE_STATE to one that is"
        )
    return path


def key_file() -> Path:
    """Return where the key is that this user's answers to requests for permits are signed with.

    The public half, by which the team's robots go, lies beside it: `permits.pub`.
    """
    return state_root() / "permits.key"


def new_run(team: str) -> Path:
    """Make and return a run directory for a team; old ones are tidied away."""
    root = state_root() / "runs"
    root.mkdir(parents=True, exist_ok=True)
    _tidy(root)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    safe = re.sub(r"[^A-Za-z0-9_]+", "_", team)
    for n in range(1000):
        path = root / f"{stamp}-{safe}-{os.getpid()}{f'-{n}' if n else ''}"
        with contextlib.suppress(FileExistsError):
            path.mkdir()
            return path
    raise FileExistsError(f"no free run directory in {root}")


def announce(state: RunState) -> Path:
    """Let others find the running team as long as its process lives; return the file."""
    file = Path(state.directory) / "state.json"
    temporary = file.with_suffix(".tmp")
    temporary.write_text(json.dumps(asdict(state), indent=1), encoding="utf-8")
    temporary.replace(file)
    return file


@contextlib.contextmanager
def registered(state: RunState) -> Iterator[None]:
    """Let others find the running team while the block runs."""
    file = announce(state)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def running_teams() -> list[RunState]:
    """Return the teams that run now, the latest first."""
    states = []
    for file in (state_root() / "runs").glob("*/state.json"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            state = RunState(**json.loads(file.read_text(encoding="utf-8")))
            if state.alive:
                states.append(state)
    return sorted(states, key=lambda s: -s.started)


@contextlib.contextmanager
def domain(
    wanted: int | None, environment: Mapping[str, str] = os.environ, *, real: bool = False
) -> Iterator[int]:
    """Hold a ROS domain while the block runs.

    Args:
        wanted: This domain, taken whether or not somebody else is in it; None: that of
            ROS_DOMAIN_ID, or else one that nobody on this machine uses.
        environment: Where ROS_DOMAIN_ID stands.
        real: Robots are real: where nothing says otherwise it is 0, as their drivers have it.

    Raises:
        DomainError: ROS_DOMAIN_ID is no domain, or all domains are in use.
    """
    text = environment.get("ROS_DOMAIN_ID", "").strip()
    if wanted is None and text:
        wanted = _domain(text)
    if wanted is None and real:
        wanted = 0
    if wanted is not None:
        yield wanted
        return
    taken = take_domain(range(FIRST_DOMAIN, LAST_DOMAIN + 1))
    if taken is None:
        raise DomainError("all ROS domains are in use on this machine; choose one with --domain")
    number, lock = taken
    with lock:
        yield number


def clean_shared_memory(folder: Path = Path("/dev/shm")) -> int:
    """Remove shared memory that killed Fast DDS processes left behind; return how many files.

    A segment has a lock file `<name>_el` that a living owner holds locked: only segments whose
    lock is free, and that belong to this user, are removed.
    """
    removed = 0
    for lock_file in folder.glob("fastrtps_*_el"):
        data = lock_file.with_name(lock_file.name[: -len("_el")])
        if "port" in data.name:  # ports are shared; Fast DDS repairs those by itself
            continue
        with contextlib.suppress(OSError):
            if lock_file.stat().st_uid != os.getuid():
                continue
            with lock_file.open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for path in (data, lock_file):
                    if path.exists():
                        path.unlink()
                        removed += 1
    return removed


def _tidy(root: Path) -> None:
    # By last use: a run may have been gone on with.
    runs = sorted((p for p in root.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime)
    busy = {Path(s.directory) for s in running_teams()}
    for path in runs[: max(0, len(runs) - KEPT_RUNS)]:
        if path not in busy:
            shutil.rmtree(path, ignore_errors=True)


def team_name(text: str) -> str:
    """Return a team's name, given that or its file, which is not checked here."""
    path = Path(text).expanduser()
    if not path.is_file():
        return path.stem if path.suffix == ".yaml" else text
    found = re.search(r"^name:\s*[\"']?([A-Za-z]\w*)", path.read_text("utf-8", "replace"), re.M)
    return found[1] if found else "team"


def named_teams(name: str, teams: Sequence[RunState]) -> list[RunState]:
    """Return those of some teams that a name means, or a file; "": all of them.

    The name is the team's own, or that of the file that it was begun with (`demo`).

    Raises:
        CommandError: It means none.
    """
    name = team_name(name)
    if meant := [state for state in teams if name in ("", state.team)]:
        return meant
    from coterie_core.yaml_checks import suggestion  # loads slowly

    meant = [state for state in teams if name == begun_as(state.directory)]
    if name and not meant:
        names = sorted({state.team for state in teams})
        raise CommandError(f"no team {name!r} runs here{suggestion(name, names)}")
    return meant


def _domain(text: str) -> int:
    """Return the domain that a text names.

    Raises:
        DomainError: It names none.
    """
    if not text.isdecimal() or int(text) > 232:
        raise DomainError(f"ROS_DOMAIN_ID is {text!r}: expected a number from 0 to 232")
    return int(text)


def choose_team(
    teams: list[RunState], domain: int | None, environment: str, namespace: str | None = None
) -> RunState:
    """Return the team to ask.

    Args:
        teams: Teams that run on this machine.
        domain: ROS domain the user asked for.
        environment: Value of ROS_DOMAIN_ID.
        namespace: Namespace that the user asked for.

    Raises:
        CommandError: There is none, or more than one and nothing that chooses.
        DomainError: ROS_DOMAIN_ID is no domain.
    """
    elsewhere = (namespace or "").strip("/")
    if namespace is not None:
        teams = [t for t in teams if t.namespace == elsewhere]
    wanted = domain
    if wanted is None and environment.strip() and not teams:
        wanted = _domain(environment.strip())
    if wanted is not None:
        here = [t for t in teams if t.domain == wanted]
        if not here:  # it may run on another machine
            return RunState("", 0, wanted, "", 0.0, namespace=elsewhere)
        teams = here
    if not teams:
        raise CommandError(
            "no team runs on this machine; start one in another terminal: "
            "./coterie up home --explore (or give --domain for a team elsewhere)"
        )
    mine = [t for t in teams if environment.isdecimal() and t.domain == int(environment)]
    if len(teams) > 1 and len(mine) == 1:
        return mine[0]
    if len(teams) > 1:
        names = ", ".join(
            f"{t.team} (--domain {t.domain} --namespace {t.namespace or '/'})" for t in teams
        )
        raise CommandError(f"several teams run: {names}; choose one with --team, or with these")
    return teams[0]


def team_here(domain: int | None = None, namespace: str | None = None, team: str = "") -> RunState:
    """Return the team that runs on this machine; see `choose_team`.

    Args:
        domain: ROS domain that the user asked for.
        namespace: Namespace that the user asked for.
        team: Name that the user asked for, or file; see `named_teams`.

    Raises:
        CommandError: There is none, or more than one and nothing that chooses.
        DomainError: ROS_DOMAIN_ID is no domain.
    """
    teams = named_teams(team, running_teams())
    return choose_team(teams, domain, os.environ.get("ROS_DOMAIN_ID", ""), namespace)
