"""A leader's state on disk: with it, a leader that is started again goes on with its task."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from coterie_core.files import write_atomically
from coterie_core.geometry import Vec3
from coterie_core.plain_data import DataError, check_values, read_json, schema_problems, shorten
from coterie_core.tasks import Predicate, SubTask
from coterie_requests.request import Request
from coterie_world.scene import SceneError, SceneGraph, from_json, to_json
from emos_planner.leader.transcript import Transcript

FORMAT = "coterie.leader/2"
_LARGEST = 200_000_000
_STATE = "leader.json"


class StateError(ValueError):
    """A leader's state cannot be read; says which file and field."""


class WantState(BaseModel):
    """What has become of one want; the want itself comes from the request (or goals) again."""

    model_config = ConfigDict(extra="forbid")

    given: dict[str, tuple[str, ...]] = {}
    met: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    rooms: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    target_searches: tuple[str, ...] = ()
    goals: dict[str, Predicate] = {}
    elsewhere: dict[str, str] = {}


class ReportedState(BaseModel):
    """What robots reported of things; see `ReportedThings`."""

    model_config = ConfigDict(extra="forbid")

    doubted: dict[str, int] = {}
    alias: dict[str, str] = {}
    sightings: dict[str, int] = {}
    taken: dict[str, tuple[Vec3, dict[str, int]]] = {}


class LeaderState(BaseModel):
    """Everything that a leader needs to go on."""

    model_config = ConfigDict(extra="forbid")

    format: str = FORMAT
    task: str
    words: str
    request: Request | None = None
    robots: tuple[str, ...]
    goals: tuple[Predicate, ...] | None = None
    round: int = 0
    resumed: bool = False
    sub_tasks: tuple[SubTask, ...] = ()
    only: dict[str, str] = {}
    waits: dict[str, tuple[str, ...]] = {}
    never: tuple[tuple[str, str, str], ...] = ()
    seen: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    looked: dict[str, dict[str, dict[str, float]]] = {}
    searched: dict[str, dict[str, list[str]]] = {}
    reported: ReportedState = ReportedState()
    wants: tuple[WantState, ...] = ()
    forbidden: tuple[tuple[str, str], ...] = ()
    tries: dict[str, int] = {}
    given_up: dict[str, str] = {}
    failures: dict[str, dict[str, str]] = {}
    dropped: tuple[str, ...] = ()
    places: dict[str, list[str]] = {}
    offers: dict[str, dict[str, None]] = {}
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A state that was read, with the map as the leader knew it."""

    state: LeaderState
    scene: SceneGraph


def save_state(state: LeaderState, scene: SceneGraph, path: Path) -> None:
    """Write what a leader knows of its task; a reader never sees half of it.

    Raises:
        OSError: The folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    data: dict[str, Any] = {
        "state": state.model_dump(mode="json"),
        "scene": json.loads(to_json(scene)),
    }
    write_atomically(path, json.dumps(data))


def load_state(path: Path) -> Kept:
    """Read what `save_state` wrote.

    Raises:
        StateError: The file cannot be read, or a field is wrong.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise StateError(f"{path}: larger than {_LARGEST} bytes; no state of a leader")
        data = read_json(path.read_bytes())
        check_values(data)
        state = LeaderState.model_validate(data["state"])
        scene = from_json(json.dumps(data["scene"]), f"{path}: scene")
    except OSError as error:
        raise StateError(f"{path}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        raise StateError(f"{path}: {schema_problems(error, 'state')}") from None
    except (KeyError, TypeError, SceneError, DataError) as error:
        raise StateError(f"{path}: not a leader's state: {error}") from None
    if state.format != FORMAT:
        raise StateError(f"{path}: format {shorten(state.format)!r}, expected {FORMAT!r}")
    return Kept(state, scene)


class TaskFiles:
    """What a leader keeps of its task on disk: its state, and what was said.

    Args:
        folder: Where; None: nothing is kept.
        problem: Is told what cannot be written.
    """

    def __init__(self, folder: Path | None, problem: Callable[[str], None]) -> None:
        self._folder, self._problem = folder, problem

    @property
    def state(self) -> Path | None:
        """The file of a task that was in work when the leader ended; None: there is none."""
        file = self._folder / _STATE if self._folder is not None else None
        return file if file is not None and file.is_file() else None

    def save(self, state: LeaderState, scene: SceneGraph) -> None:
        """Keep the state."""
        if self._folder is not None:
            try:
                save_state(state, scene, self._folder / _STATE)
            except OSError as error:
                self._problem(f"state not saved: {error}")

    def save_transcript(self, transcript: Transcript) -> None:
        """Keep what was said."""
        if self._folder is not None:
            try:
                transcript.save(self._folder, f"discussion_{transcript.task}")
            except OSError as error:
                self._problem(f"transcript not saved: {error}")

    def forget(self) -> None:
        """Remove the state: the task is over."""
        if self._folder is not None:
            (self._folder / _STATE).unlink(missing_ok=True)
