"""`bench mele` on a small house in Matterport3D's file format: records, files, skipping, errors."""

from __future__ import annotations

import csv
import json
import math
import random
from pathlib import Path

import pytest

from research.bench.common.records import mean_std, write_csv, write_json
from research.bench.mele.bench import NothingToRun, main, run_bench
from research.bench.mele.extras import ceilings
from research.bench.mele.houses import explore_house, oracle_house, richest_rooms, tree_picture
from research.bench.mele.job import Job, run_job
from research.bench.mele.methods import DEFAULT_METHODS, Methods
from research.bench.mele.paper import HOUSES, TABLE_1, paper_accuracy
from research.bench.mele.tables import headline

ROOMS = ("k,kitchen", "b,bedroom", "a,bathroom", "l,living room", "h,hallway")
THINGS = {
    "k,kitchen": "oven sink mug kettle fridge plate pan cabinet table",
    "b,bedroom": "bed lamp pillow wardrobe picture cabinet blanket",
    "a,bathroom": "toilet sink towel mirror bathtub soap",
    "l,living room": "sofa television picture plant carpet table lamp",
    "h,hallway": "mirror coat shoe picture",
}
FEW = Methods(
    names=("majority_vote", "debate", "decision_tree", "cam_plus", "dawid_skene"),
    trees=5,
    liars=(0,),
    extras=False,
)


def write_house(folder: Path, scan: str, seed: int = 0) -> None:
    """Write a grid of 20 viewpoints in five rooms; three objects are seen from each."""
    rng = random.Random(seed)
    names = [f"{scan}{i:02d}" for i in range(20)]
    nodes = []
    for i, name in enumerate(names):
        x, y = divmod(i, 4)
        near = [abs(j // 4 - x) + abs(j % 4 - y) == 1 for j in range(20)]
        pose = [1, 0, 0, 2.0 * x, 0, 1, 0, 2.0 * y, 0, 0, 1, 1.5, 0, 0, 0, 1]
        nodes.append(
            {
                "image_id": name,
                "pose": pose,
                "included": True,
                "visible": near,
                "unobstructed": near,
                "height": 1.5,
            }
        )
    (folder / "connectivity").mkdir(parents=True, exist_ok=True)
    (folder / "objects").mkdir(exist_ok=True)
    (folder / "connectivity" / f"{scan}_connectivity.json").write_text(json.dumps(nodes))
    path = folder / "rooms.json"
    rooms = json.loads(path.read_text()) if path.is_file() else {}
    rooms[scan] = {name: ROOMS[i // 4] for i, name in enumerate(names)}
    path.write_text(json.dumps(rooms))
    for i, name in enumerate(names):
        labels = rng.sample(THINGS[ROOMS[i // 4]].split(), 3)
        things = {
            f"{i}_{k}": {"name": label, "visible_pos": [k], "bbox2d": [[300, 200, 40, 40]]}
            for k, label in enumerate(labels)
        }
        file = folder / "objects" / f"{scan}_{name}.json"
        file.write_text(json.dumps({name: things}))


@pytest.fixture
def graphs(tmp_path) -> Path:
    write_house(tmp_path / "graphs", "alpha")
    return tmp_path / "graphs"


def test_records_are_flat_complete_and_the_same_in_one_process_or_two(graphs, tmp_path):
    out = tmp_path / "out"
    result = run_bench(graphs, out, seeds=(0, 1), steps=4, methods=FEW)
    records = json.loads((out / "results.json").read_text())
    assert records == result.records
    assert len(records) == 5 * 2 * 2  # methods x splits x honest or not
    for record in records:
        assert set(record) == {
            "house",
            "nodes",
            "split",
            "method",
            "malicious",
            "n_agents",
            "accuracy_mean",
            "accuracy_std",
            "n_test",
        }
        assert record["house"] == "alpha" and record["nodes"] == 20 and record["n_agents"] == 3
        assert 0.0 <= record["accuracy_mean"] <= 1.0 and record["n_test"] > 0
    with (out / "results.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == len(records)
    assert (out / "accuracy.png").stat().st_size > 1000
    assert "<svg" in (out / "tree_alpha.svg").read_text()
    two = run_bench(graphs, None, seeds=(0, 1), steps=4, methods=FEW, jobs=2)
    assert two.records == result.records


def test_trials_that_were_run_are_not_run_again_and_changed_files_are(graphs, tmp_path):
    job = Job(graphs, "alpha", 0, 3, 4, FEW)
    first = run_job(job, tmp_path)
    (file,) = tmp_path.glob("alpha_*.json")
    stored = json.loads(file.read_text())
    stored["nodes"] = 999
    file.write_text(json.dumps(stored))
    assert run_job(job, tmp_path)["nodes"] == 999
    file.write_text("{ cut off")
    assert run_job(job, tmp_path) == first
    before = job.fingerprint()
    write_house(graphs, "alpha", seed=1)
    assert job.fingerprint() != before


def test_a_broken_house_is_skipped_and_named_and_the_others_go_on(graphs):
    (graphs / "connectivity" / "broken_connectivity.json").write_text("[{]")
    result = run_bench(graphs, None, seeds=(0,), steps=4, methods=FEW)
    assert {r["house"] for r in result.records} == {"alpha"}
    assert "broken_connectivity.json" in result.skipped["broken"]


def test_a_house_without_objects_is_skipped_with_the_reason(graphs):
    write_house(graphs, "empty")
    for file in (graphs / "objects").glob("empty_*.json"):
        file.unlink()
    result = run_bench(graphs, None, seeds=(0,), steps=4, methods=FEW)
    assert "too few" in result.skipped["empty"]
    with pytest.raises(NothingToRun, match="empty"):
        (graphs / "connectivity" / "alpha_connectivity.json").unlink()
        run_bench(graphs, None, seeds=(0,), steps=4, methods=FEW)


def test_command_prints_the_tables_and_writes_results(graphs, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")  # narrow: tables are wider, and still whole
    arguments = ["--graphs", str(graphs), "--out", str(tmp_path / "out"), "--seeds", "1"]
    assert main([*arguments, "--steps", "3", "--jobs", "1", "--quick"]) == 0
    printed = capsys.readouterr().out
    assert "random split (the paper's)" in printed and "grouped by object" in printed
    assert "\u2026" not in printed  # nothing is cut off
    assert "malicious" in printed and "CAM+" in printed and "alpha" in printed
    assert "65.6" in printed and "58.9" in printed  # the paper's NN and MV for 20 nodes
    records = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {r["method"] for r in records} == set(DEFAULT_METHODS)


def test_nothing_to_run_is_a_clear_error_with_exit_code_2(tmp_path, capsys):
    assert main(["--graphs", str(tmp_path / "nowhere")]) == 2
    assert "nowhere is not a directory" in capsys.readouterr().err
    (tmp_path / "connectivity").mkdir()
    assert main(["--graphs", str(tmp_path)]) == 2
    assert "no house" in capsys.readouterr().err
    assert main(["--grphs", "x"]) == 2


@pytest.mark.slow
def test_further_analyses_are_written(graphs, tmp_path):
    methods = Methods(names=("majority_vote", "debate", "xgboost", "cam_plus"), trees=5, liars=(0,))
    result = run_bench(graphs, tmp_path, seeds=(0,), steps=4, methods=methods)
    kinds = {m["analysis"] for m in result.measures}
    assert {
        "agreement",
        "importance",
        "agents",
        "labels",
        "missing_answers",
        "forged_evidence",
        "selective_accuracy",
        "ceiling",
    } <= kinds
    assert any(kind.startswith("oracle: ") for kind in kinds)
    for name in ("agents.png", "labels.png", "missing_answers.png"):
        assert (tmp_path / name).stat().st_size > 1000
    team = [m for m in result.measures if m["analysis"] == "agents"]
    assert {m["x"] for m in team} == {str(k) for k in range(1, 9)}


def test_an_analysis_that_a_house_is_too_small_for_does_not_cost_the_house(graphs, monkeypatch):
    from research.bench.mele import job as mele_job

    def too_small(*_):
        raise ValueError("five places are too few for eight robots")
        yield

    monkeypatch.setattr(mele_job, "team_curve", too_small)
    methods = Methods(names=("majority_vote",), trees=2, liars=(0,), splits=("random",))
    result = run_bench(graphs, None, seeds=(0,), steps=2, methods=methods)
    assert result.records and not result.skipped
    assert any("too few for eight robots" in text for text in result.problems["alpha"])


def test_oracle_robots_know_one_room_each(graphs):
    rooms = richest_rooms(graphs, "alpha", 2)
    table = oracle_house(graphs, "alpha", 0, rooms)
    assert table.agents == tuple(f"knows {room}" for room in rooms)
    for k, room in enumerate(rooms):
        there = [i for i, name in enumerate(table.rooms) if name == room and table.truth[i]]
        assert there and all(table.answers[i, k] and table.evidence[i, k] == 0 for i in there)
        others = [i for i, name in enumerate(table.rooms) if name != room]
        assert not (table.evidence[others, k] == 0).any()


def test_ceiling_bounds_every_rule_of_room_and_answers(graphs):
    table = explore_house(graphs, "alpha", 0, 3, 4).table
    best = ceilings(table)
    vote = (table.answers.sum(axis=1) >= 2) == table.truth
    assert best["room and answers"] >= best["answers"] >= vote.mean()
    assert best["room and answers"] >= best["room"] >= 0.5


def test_tree_of_a_trial_is_drawn(graphs, tmp_path):
    tree_picture(graphs, "alpha", 0, 3, 4, tmp_path / "tree.svg")
    assert "<svg" in (tmp_path / "tree.svg").read_text()


def test_papers_figures():
    assert len(HOUSES) == 8 and all(len(row) == len(HOUSES) for row in TABLE_1.values())
    assert paper_accuracy(215, "xgboost") == 88.33
    assert paper_accuracy(53, "debate", malicious=True) == 44.17
    assert paper_accuracy(58, "xgboost", malicious=True) is None
    assert paper_accuracy(21, "xgboost") is None and paper_accuracy(20, "cam_plus") is None


def test_records_write_nan_as_null(tmp_path):
    rows = [{"a": 1, "b": math.nan}, {"a": 2, "c": "x,y"}]
    write_json(tmp_path / "new" / "r.json", rows)
    assert json.loads((tmp_path / "new" / "r.json").read_text())[0] == {"a": 1, "b": None}
    write_csv(tmp_path / "r.csv", rows)
    assert (tmp_path / "r.csv").read_text() == 'a,b,c\n1,,\n2,,"x,y"\n'
    assert mean_std([1.0, 3.0, math.nan]) == (2.0, 1.0)
    assert all(math.isnan(v) for v in mean_std([]))


def test_differences_come_with_intervals_over_houses_and_draws_are_called_so():
    def record(house, method, accuracy, *, liar=False):
        return {
            "house": house, "split": "random", "method": method, "malicious": liar,
            "accuracy_mean": accuracy,
        }  # fmt: skip

    rows = []
    for house, tree, boost, vote in (("a", 0.8, 0.7, 0.6), ("b", 0.9, 0.6, 0.6)):
        rows += [record(house, "decision_tree", tree), record(house, "xgboost", boost)]
        rows += [record(house, "majority_vote", vote), record(house, "debate", vote + 0.1)]
        rows += [record(house, "xgboost", boost - 0.1, liar=True)]
    tree, debate, lied = headline(rows)
    assert (tree.one, tree.other, tree.houses) == ("decision_tree", "majority_vote", 2)
    assert tree.mean == pytest.approx(0.25) and tree.draw  # two houses tell next to nothing
    assert tree.half == pytest.approx(12.706 * 0.05, rel=1e-3)
    assert debate.mean == pytest.approx(0.1) and not debate.draw
    assert lied.malicious and lied.mean == pytest.approx(-0.1)
