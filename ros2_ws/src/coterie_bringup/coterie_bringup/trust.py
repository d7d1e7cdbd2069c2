"""What a team file makes this machine do: programs, hosts, files; new ones are asked for once.

Team files go from lab to lab. One can name a program to run, a host to send prompts and a key to,
and files to read and write. Files that come with Coterie are trusted; whatever else reaches beyond
the folder of the team file is asked for once, and kept by a hash of what it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coterie_bringup import rundir
from coterie_bringup.errors import CommandError
from coterie_bringup.resources import shipped
from coterie_bringup.team import Team
from coterie_core.files import write_atomically
from coterie_core.plain_data import shorten
from coterie_llm.endpoint_settings import in_clear, is_local

ActKind = Literal["runs", "sends", "reads", "writes"]

OPENAI = "https://api.openai.com"
VARIABLE = "COTERIE_TRUST"
_NAME = "trusted.json"


@dataclass(frozen=True, slots=True)
class Act:
    """Something that a team file makes happen.

    Attributes:
        kind: What is done.
        target: To what: a program, a host with its port, or a path.
        field: Where the team file says so.
        detail: For people: what is sent, or why it is read.
        inside: It stays within the folder of the team file, within Coterie, or on this machine.
    """

    kind: ActKind
    target: str
    field: str
    detail: str = ""
    inside: bool = False

    @property
    def key(self) -> str:
        """Hash of what is done; of a program's content, too, so that another one is asked for."""
        parts = [self.kind, self.target, self.detail]
        if self.kind == "runs":
            try:
                parts.append(hashlib.sha256(Path(self.target).read_bytes()).hexdigest())
            except OSError:
                parts.append("missing")
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.kind} {shorten(self.target, 300)}{detail}, by {self.field}"


def acts(team: Team) -> list[Act]:
    """Return all that a team makes happen on this machine and beyond, in the order of the file."""
    return list(dict.fromkeys(_acts(team)))


def untrusted(team: Team) -> list[Act]:
    """Return the acts of a team that nobody has agreed to yet."""
    if team.file is not None and shipped(team.file):
        return []
    known = _known()
    return [act for act in acts(team) if not act.inside and act.key not in known]


def require_trust(
    team: Team,
    *,
    trust: bool | None = None,
    ask: Callable[[str], str] | None = None,
    how: str = "--trust (ros2 launch: trust:=true)",
) -> None:
    """Return if everything that a team makes happen is agreed to; remember what is.

    Args:
        team: The team.
        trust: Agree to all; None: what the environment variable COTERIE_TRUST says (1 agrees).
        ask: Asks the person; None: at the terminal, if there is one.
        how: How to agree where the caller is, for the error.

    Raises:
        CommandError: Something new was not agreed to; lists it, and how to agree.
    """
    new = untrusted(team)
    if not new:
        return
    if trust is None:
        trust = os.environ.get(VARIABLE) == "1"
    listed = "\n".join(f"  {act}" for act in new)
    if not trust:
        if ask is None and sys.stdin is not None and sys.stdin.isatty():
            ask = input
        what = f"{team.file or 'the team'} asks for what it was not trusted with before:\n{listed}"
        reply = ask(f"{what}\nAgree, now and from now on? [y/N] ") if ask is not None else ""
        if reply.strip().lower() not in ("y", "yes"):
            raise CommandError(f"{what}\nread it, then agree with {how}, or {VARIABLE}=1")
    _remember(new)


def _acts(team: Team) -> Iterator[Act]:
    folder = team.file.parent if team.file is not None else Path.cwd()

    def file(kind: ActKind, path: str | Path, field: str, detail: str = "") -> Act:
        resolved = team.resolve(str(path))
        inside = resolved.is_relative_to(folder) or (kind == "reads" and shipped(resolved))
        return Act(kind, str(resolved), field, detail, inside)

    world = team.world
    if world.habitat_python:
        program = os.path.expanduser(world.habitat_python)
        own = program == os.path.expanduser(os.environ.get("COTERIE_HABITAT_PYTHON", ""))
        yield Act("runs", program, "world.habitat_python", "habitat-sim's Python", own)
    for name in ("house", "dataset"):
        if getattr(world, name):
            yield file("reads", getattr(world, name), f"world.{name}")
    if world.scene and "/" in world.scene:
        yield file("reads", world.scene, "world.scene")
    for name, given in team.models.items():
        for depth, profile in enumerate(given.chain):
            where = f"models.{name}" + ".larger" * depth
            if profile.kind == "openai":
                yield _sends(profile.base_url or OPENAI, profile.key_variable, f"{where}.base_url")
            for part in ("cassette", "file"):
                if getattr(profile, part) is not None:
                    yield file("reads", getattr(profile, part), f"{where}.{part}")
            if (told := profile.record_to) is not None:
                yield file("writes", told, f"{where}.record_to", "what models are told")
    for section in ("", "mapper", "planner", "open_questions"):
        embedder = getattr(getattr(team, section) if section else team, "embedder", None)
        if embedder is not None and embedder.base_url is not None:
            where = f"{section}.embedder.base_url".lstrip(".")
            yield _sends(embedder.base_url, embedder.api_key_env, where, "requests, labels")
    for robot in team.robots:
        for name in ("urdf", "overrides"):
            if getattr(robot, name):
                yield file("reads", getattr(robot, name), f"robots: {robot.name}: {name}")
        if robot.adapter is not None and (path := robot.adapter.sensors.map_file):
            where = f"robots: {robot.name}: adapter.sensors.map_file"
            yield file("reads", path, where)
        for camera in robot.adapter.sensors.all_cameras() if robot.adapter is not None else ():
            for name in ("file", "labels"):
                told = getattr(camera.detections.options, name)
                if told and team.resolve(told).exists():
                    where = f"robots: {robot.name}: {camera.name}: detections.options.{name}"
                    yield file("reads", told, where)
    if team.questions.path:
        yield file("reads", team.questions.path, "questions.path")
    for where, name in team.own_classes.items():
        yield Act("runs", name, where, "code of your own")
    if team.aggregator.model_directory:
        yield file("writes", team.aggregator.model_directory, "aggregator.model_directory")


def _sends(url: str, variable: str | None, field: str, what: str = "prompts") -> Act:
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    local = is_local(host)
    port = f":{parts.port}" if parts.port else ""
    key = f" and the key in ${variable}" if variable else ""
    if in_clear(url):
        key += ", unencrypted: whoever reads the network reads them; https encrypts"
    return Act("sends", f"{parts.scheme}://{host}{port}", field, f"{what}{key}", inside=local)


def _file() -> Path:
    return rundir.state_root() / _NAME


def _known() -> dict[str, str]:
    try:
        data = json.loads(_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _remember(new: Sequence[Act]) -> None:
    known = _known() | {act.key: str(act) for act in new}
    write_atomically(_file(), json.dumps(known, indent=1, sort_keys=True) + "\n")
