"""Questions of open-eqa-v0.json with the episode folders that a user has, answered from memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coterie_core.detections import load_detector
from coterie_recordings import Recording, RecordingError, open_recording
from coterie_world.scene import SceneGraph
from openeqa_agent.understood import Category
from research.bench.openeqa.categories import category_named
from research.bench.openeqa.run import Asker, Setup
from semantic_mapper.from_recording import MappingOptions, map_recording

FRAMES = 50
"""Frames an agent looks at (OpenEQA, appendix V.C)."""


class DataError(ValueError):
    """A file of questions is not as it should be: says which entry and what to do."""


@dataclass(frozen=True, slots=True)
class DataQuestion:
    """A question of the data set; `episode` is the folder its history is in."""

    id: str
    question: str
    answer: str
    extra: tuple[str, ...]
    category: Category
    episode: str

    @property
    def source(self) -> str:
        """Which scans it is about: the first part of the episode's name ("hm3d-v0")."""
        return self.episode.split("/")[0] if "/" in self.episode else "other"


def load_open_eqa(path: Path) -> list[DataQuestion]:
    """Read questions in the format of open-eqa-v0.json.

    Raises:
        DataError: Not such a file; names the entry and the field.
    """
    return [question_of(e, f"{path}: entry {k}", k) for k, e in enumerate(entries_of(path))]


def entries_of(path: Path) -> list[Any]:
    """Return the entries of a JSON file of questions.

    Raises:
        DataError: It cannot be read, or is no list.
    """
    try:
        entries = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}; give the path of a file of questions") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from None
    if not isinstance(entries, list):
        raise DataError(f"{path}: expected a list of questions, got {type(entries).__name__}")
    return entries


def question_of(entry: Any, where: str, number: int) -> DataQuestion:
    """Return a question of the data set; `where` names the entry in errors.

    Raises:
        DataError: A field is missing or of another type.
    """
    if not isinstance(entry, dict):
        raise DataError(f"{where}: expected an object, got {type(entry).__name__}")
    for name in ("question", "answer", "category"):
        if not isinstance(entry.get(name), str):
            raise DataError(f"{where}: {name}: expected text, got {entry.get(name)!r}"[:300])
    extra = entry.get("extra_answers") or []
    if not isinstance(extra, list) or not all(isinstance(e, str) for e in extra):
        raise DataError(f"{where}: extra_answers: expected a list of texts, got {extra!r}"[:300])
    try:
        category = category_named(entry["category"])
    except ValueError as error:
        raise DataError(f"{where}: {error}") from None
    return DataQuestion(
        str(entry.get("question_id", number)),
        entry["question"],
        entry["answer"],
        tuple(extra),
        category,
        str(entry.get("episode_history", "")),
    )


def find_episode(folder: Path | None, episode: str) -> Path | None:
    """Return where an episode is in a folder, with or without its source's folder, or None."""
    if folder is None or not episode or ".." in Path(episode).parts or Path(episode).is_absolute():
        return None
    names = [episode, Path(episode).name]
    # "hm3d-v0/000-hm3d-BFRyYbPCCPE" is "00826-BFRyYbPCCPE" elsewhere: the scan's name is the same.
    for name in (*names, *(f"{n}.mcap" for n in names)):
        if (folder / name).exists():
            return folder / name
    scan = Path(episode).name.split("-")[-1]
    found = sorted(folder.glob(f"*-{scan}")) if scan.isalnum() and len(scan) > 8 else []
    return found[0] if found else None


async def run_episode(
    questions: Sequence[DataQuestion], folder: Path | None, setup: Setup
) -> list[dict[str, Any]]:
    """Return the records of the questions about one episode.

    Where there are no frames, the blind agent alone answers; what the others miss is said in the
    record's `missing`, and they get no mark.

    Args:
        questions: All of one episode.
        folder: Where the episodes are; None: nowhere.
        setup: Who answers and marks.
    """
    recording, scene, trouble = _open(folder, questions[0].episode, setup.detector)
    asker = Asker.of(setup)
    try:
        return [
            record
            for method in setup.methods
            for record in await _answered(asker, questions, method, recording, scene, trouble)
        ]
    finally:
        await asker.close()


async def _answered(
    asker: Asker,
    questions: Sequence[DataQuestion],
    method: str,
    recording: Recording | None,
    scene: SceneGraph | None,
    trouble: str,
) -> list[dict[str, Any]]:
    missing = _misses(method, recording, scene, trouble)
    if missing:
        told = [unanswered(missing) for _ in questions]
    else:
        told = await asker.ask(method, questions, scene, recording, FRAMES)
    return [{**data_record(q, method, "em"), **t} for q, t in zip(questions, told, strict=True)]


def data_record(
    one: DataQuestion, method: str, setting: str, exploration: str = ""
) -> dict[str, Any]:
    """Return the record of a question of the data set, without what its answer adds."""
    return {
        "method": method,
        "setting": setting,
        "exploration": exploration,
        "category": one.category,
        "source": one.source,
        "episode": one.episode,
        "question_id": one.id,
        "question": one.question,
        "answer": one.answer,
        "E": None,
        "steps": None,
        "missing": "",
    }


def unanswered(why: str) -> dict[str, Any]:
    """Return what the record of a question says that could not be asked."""
    return {
        "prediction": "",
        "mark": None,
        "rule_mark": None,
        "C": None,
        "guessed": False,
        "calls": 0,
        "tokens": 0,
        "seconds": 0.0,
        "missing": why,
    }


def _misses(
    method: str, recording: Recording | None, scene: SceneGraph | None, trouble: str
) -> str:
    """What an agent would need that is not there ("" if it can answer)."""
    if method == "blind":
        return ""
    if recording is None:
        return trouble
    return trouble if method == "scene_graph" and scene is None else ""


def _open(
    folder: Path | None, episode: str, detector: str
) -> tuple[Recording | None, SceneGraph | None, str]:
    """Return the recording and the map of an episode, or why there is none."""
    path = find_episode(folder, episode)
    if path is None:
        where = f" in {folder}" if folder is not None else "; give --episodes"
        return None, None, f"no frames of {episode}{where}"
    try:
        recording = open_recording(path)
    except RecordingError as error:
        return None, None, str(error)
    if not len(recording):
        return None, None, f"{path}: no frames in it"
    try:
        # A detector keeps what it saw before: each recording gets one of its own.
        how = MappingOptions(detector=load_detector(detector) if detector else None)
        return recording, map_recording(recording, how), ""
    except RecordingError as error:
        return recording, None, str(error)
