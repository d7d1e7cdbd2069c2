"""A leader's state on disk: with it, a leader that is started again goes on with its task."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from coterie_core.files import write_atomically
from coterie_core.plain_data import DataError, check_values, read_json, schema_problems, shorten
from coterie_world.scene import SceneError, SceneGraph, from_json, to_json
from emos_planner.leader.options import LeaderOptions
from emos_planner.leader.progress import Progress
from emos_planner.leader.reported import ReportedThings
from emos_planner.leader.searches import Searches
from emos_planner.leader.task_graph import TaskGraph
from emos_planner.leader.transcript import Transcript

FORMAT = "coterie.leader/5"
_LARGEST = 200_000_000
_STATE = "leader.json"


class StateError(ValueError):
    """A leader's state cannot be read; says which file and field."""


def _kept_of(kind: type, *names: str) -> type[BaseModel]:
    """Return the model of what is kept of a class: fields of these names, with its own types."""
    hints = get_type_hints(kind)
    fields: dict[str, Any] = {name: (hints[name], ...) for name in names}
    return create_model(kind.__name__, __config__=ConfigDict(extra="forbid"), **fields)


_PARTS: dict[str, tuple[type[BaseModel], Callable[[Progress], Any]]] = {
    "task": (
        _kept_of(
            Progress,
            *("id", "words", "round", "notes", "request", "problems", "places", "grown", "found"),
        ),
        lambda work: work,
    ),
    "graph": (
        _kept_of(TaskGraph, *(name for name in get_type_hints(TaskGraph) if name != "book")),
        lambda work: work.graph,
    ),
    "searches": (_kept_of(Searches, "tried", "owners"), lambda work: work.graph.book),
    "things": (
        _kept_of(ReportedThings, "doubted", "alias", "sightings", "taken", "of_map"),
        lambda work: work.things,
    ),
}
"""Part of a task in work -> what is kept of it, and where it is."""

LeaderState: Any = create_model(  # type: ignore[call-overload]
    "LeaderState",
    __config__=ConfigDict(extra="forbid"),
    format=(str, FORMAT),
    looked=(dict[str, dict[str, dict[str, float]]], {}),
    **{name: (model, ...) for name, (model, _) in _PARTS.items()},
)
"""Everything that a leader needs to go on: fields of the task in work, part by part."""


def state_of(work: Progress) -> Any:
    """Return what another leader needs to go on with a task: a `LeaderState`."""
    parts = {
        name: {field: getattr(part_of(work), field) for field in model.model_fields}
        for name, (model, part_of) in _PARTS.items()
    }
    return LeaderState(looked=work.graph.book.all_looked(), **parts)


def task_of(
    state: Any, scene: SceneGraph, options: LeaderOptions, transcript: Transcript
) -> Progress:
    """Return the task of a `LeaderState`, on the map that was saved with it.

    What is said goes on in `transcript`.
    """
    book = Searches(scene, options.max_expected_unseen)
    work = Progress(state.task.id, state.task.words, TaskGraph((), book), options, transcript)
    for name, (model, part_of) in _PARTS.items():
        for field in model.model_fields:
            setattr(part_of(work), field, getattr(getattr(state, name), field))
    for robot, looked in state.looked.items():
        book.hear(robot, looked)
    return work


@dataclass(frozen=True, slots=True)
class Kept:
    """A state that was read, with the map as the leader knew it."""

    state: Any
    scene: SceneGraph


def save_state(state: Any, scene: SceneGraph, path: Path) -> None:
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
        state: Any = LeaderState.model_validate(data["state"])
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

    def save(self, state: Any, scene: SceneGraph) -> None:
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
