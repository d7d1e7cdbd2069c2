"""A recorded task is decided once more, without a model; where it comes out otherwise is told."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from rich.console import Console

pytest.importorskip("rclpy")
pytest.importorskip("coterie_msgs")

from coterie_cli.record_live import CASSETTE, DECISIONS_TOPIC, DECISIONS_TYPE, PARAMETERS
from coterie_llm import ModelProfile
from coterie_recordings.bag_files import McapFile
from coterie_recordings.mcap_log import McapLog
from coterie_safety.why import JournalSettings, belong, close_journal, open_journal
from coterie_safety.why.tail import JournalTail
from research.whatif.recording import (
    Made,
    _of_cassette,
    decide_again,
    differences,
    recording_again,
    show,
)
from research.whatif.rerun.kept import CannotReplay, kept_nodes
from research.whatif.rerun.tasks import TaskAgain

WORDS = "go to the kitchen"


def kept_run(folder: Path) -> Path:
    """Keep a task of a team of two, as a recording does; the house is drawn with another seed."""
    robots = [{"name": "ant", "embodiment": "wheels"}, {"name": "bee", "embodiment": "legs"}]
    rules = {"model_profile": '{"kind": "rules"}', "seed": 5}
    house = {"kind": "embedded", "seed": 32, "floors": 1, "noise": "none"}
    nodes = {
        "/bridge": {"world": json.dumps(house), "robots": json.dumps(robots), "seed": 5}
        | {"mode": "lockstep", "prior_map": "everything"},
        "/leader": {"robots": ["ant", "bee"], **rules},
        "/ant/robot": rules,
        "/bee/robot": rules,
    }
    told = {name: {"ros__parameters": own} for name, own in nodes.items()}
    (folder / PARAMETERS).write_text(yaml.safe_dump(told))
    belong()
    open_journal(JournalSettings(str(folder / "why")), "test")
    try:
        end = TaskAgain(kept_nodes(folder)).run(WORDS)
    finally:
        close_journal()
        belong()
    assert end.state == "done"
    records = [asdict(record) for record in JournalTail(folder / "why").read()]
    assert sum(one["kind"] == "decision" for one in records) > 1
    return written(folder / "run.mcap", folder, records)


def written(path: Path, folder: Path, records: list[dict]) -> Path:
    log = McapLog(path)
    log.attach(PARAMETERS, "application/yaml", (folder / PARAMETERS).read_bytes())
    for k, record in enumerate(records):
        log.add_json(DECISIONS_TOPIC, DECISIONS_TYPE, record, k + 1)
    log.close()
    return path


@pytest.mark.slow
def test_a_task_is_decided_again_and_a_difference_is_told(tmp_path):
    path = kept_run(tmp_path)
    told = decide_again(McapFile(path))
    assert told.differences == () and told.before == told.after > 1
    assert "every decision came out as it was" in show(told)[-1]
    records = [json.loads(one.data) for one in McapFile(path).scan(None)]
    changed = next(one for one in reversed(records) if one["kind"] == "decision")
    changed["body"]["reply"] = {**changed["body"]["reply"], "chosen": "somewhere else"}
    other = written(tmp_path / "other.mcap", tmp_path, records)
    out = Console(file=io.StringIO(), width=1000)
    assert recording_again(other, out) == 1
    shown = " ".join(out.file.getvalue().split())
    assert f"{changed['who']}, decision" in shown and "somewhere else" in shown


def test_where_somebody_decides_otherwise_first():
    was = [Made("ant", "go", {"to": 1, "reason": "x"}), Made("bee", "go", {"to": 2})]
    now = [Made("bee", "go", {"to": 2}), Made("ant", "go", {"to": 1, "reason": "y"})]
    assert differences(was, now) == ()  # of each robot in its own order; reasons are words
    more = differences(was, [*now, Made("bee", "wait", {})])
    assert [(one.who, one.number, one.before) for one in more] == [("bee", 2, None)]
    assert "no decision; is wait" in more[0].in_words()


def test_models_become_cassettes_or_are_missed(tmp_path):
    log = McapLog(tmp_path / "a.mcap")
    log.attach(f"{CASSETTE}/somewhere/a.jsonl", "application/jsonl", b"{}\n")
    log.add_json(DECISIONS_TOPIC, DECISIONS_TYPE, {"kind": "turn", "at": ""}, 1)
    log.close()
    file = McapFile(tmp_path / "a.mcap")
    with pytest.raises(CannotReplay, match="no task is in it"):
        decide_again(file)
    profile = {
        "kind": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1", "temperature": 0.5,
        "record_to": "/somewhere/a.jsonl",
    }  # fmt: skip
    made = ModelProfile.model_validate(_of_cassette(profile, file, tmp_path))
    assert made.kind == "replay" and made.temperature == 0.5 and made.model == "m"
    assert made.cassette.read_bytes() == b"{}\n"
    with pytest.raises(CannotReplay, match="record_to"):
        _of_cassette({"kind": "local"}, file, tmp_path)
