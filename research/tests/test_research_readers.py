"""Readers of the studies' files get damaged input: their own error, or something that is right."""

from __future__ import annotations

import json

import pytest

from coterie_core.yaml_marks import FileProblem
from coterie_fixtures.fuzzing.files import file_reader, json_reader, text_reader
from coterie_fixtures.fuzzing.readers import Reader
from coterie_fixtures.fuzzing.running import run
from research.annotate.clouds import load_cloud
from research.annotate.queries import parse_queries
from research.annotate.responses import parse_responses
from research.bench.emos.episodes import Episode, EpisodeError, Robot, load_episodes
from research.bench.openeqa.data import DataError, load_open_eqa
from research.bench.openeqa.scenes import load_starts
from research.play.record import PlayError, read_record

EXAMPLES = 8
CLOUD = """ply
format ascii 1.0
element vertex 2
property float x
property float y
property float z
end_header
0 0 0
1 1 1
"""
QUESTION = {
    "question": "What color is the sofa?", "answer": "red", "category": "object recognition",
    "question_id": "q1", "episode_history": "a/b", "position": [0.0, 1.0, 2.0],
    "rotation": [1.0, 0.0, 0.0, 0.0],
}  # fmt: skip


def _episode() -> str:
    robot = Robot(name="r1", kind="fetch", start=(0.0, 0.0, 0.0))
    made = {
        "id": "e1", "family": "mixed", "house": 3, "words": "bring it", "ratio": 1.2,
        "robots": [robot.model_dump()], "goals": [],
    }  # fmt: skip
    family = Episode.model_fields["family"].annotation
    made["family"] = next(iter(getattr(family, "__args__", ("mixed",))))
    return json.dumps(made)


def _questions() -> str:
    return json.dumps([QUESTION])


READERS: dict[str, Reader] = {
    "labels: queries": text_reader(
        'queries:\n  q1: {query: "a chair", type: descriptive}\n  q2: a mug\n',
        lambda t: parse_queries(t, "queries.yaml"), FileProblem, covers=()),
    "labels: answers": json_reader(
        lambda: {"q1": ["o1", "o2"], "q2": []}, lambda t: parse_responses(t, "answers.json"),
        FileProblem, covers=()),
    "episodes": file_reader(_episode, load_episodes, EpisodeError, covers=()),
    "questions": file_reader(_questions, load_open_eqa, DataError, covers=()),
    "questions with starts": file_reader(_questions, load_starts, DataError, covers=()),
    "point cloud": file_reader(
        lambda: CLOUD, lambda path: load_cloud(path, (0.0, 0.0, 0.0)), ValueError, plain=True,
        name="a.ply", covers=()),
    "saved game": file_reader(lambda: "{}", read_record, PlayError, covers=()),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_readers_take_damaged_input(name: str) -> None:
    run(READERS[name], EXAMPLES)
