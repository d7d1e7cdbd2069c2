"""The simulated model of the object-planning bench errs as stated, and repeats exactly."""

import json

import pytest

from coterie_core.geometry import Box
from coterie_world.scene import LabelBelief, SceneGraph, SceneObject
from object_planner.workflows import Options
from research.bench.objects.bench import main
from research.bench.objects.data import ObjectData, ObjectMap, Query
from research.bench.objects.simulated import run_simulated
from research.bench.objects.simulated_planner import PAPER_ERRORS, Rates

THINGS = ("chair", "dining table", "bed", "book", "couch", "cup", "lamp", "tv")


@pytest.fixture(scope="module")
def data():
    graph = SceneGraph()
    for k, label in enumerate(THINGS):
        box = Box((2.0 * k, 0.0, 0.4), (0.5, 0.5, 0.8))
        graph.add_object(SceneObject(label[:3], LabelBelief({label: 5.0}), box, observations=3))
    truth, queries = {}, []
    asked = [(f"a {label}", "descriptive", [label[:3]]) for label in THINGS[:6]]
    asked += [(f"a {label}", "descriptive", []) for label in ("piano", "bathtub", "guitar")]
    asked += [("something to read", "affordance", ["boo"]), ("somewhere to sleep", "affordance", ["bed", "cou"])]  # fmt: skip  # noqa: E501
    asked += [("a seat that is not a chair", "negation", ["cou"])]
    for k, (words, kind, ids) in enumerate(asked):
        queries.append(Query(f"q{k}", words, kind))
        truth[f"q{k}"] = ids
    return ObjectData(queries, [ObjectMap("flat_1", "flat", graph, truth)])


def whole(records):
    return {r["method"]: r for r in records if (r["dataset"], r["query_type"]) == ("all", "all")}


def test_without_errors_all_are_right(data):
    methods = ("baseline", "self_reflection", "ensemble", "grounded")
    found = whole(run_simulated(data, methods, Options(), 0.0, (0,)))
    assert {name: record["top_1"] for name, record in found.items()} == dict.fromkeys(
        methods, 100.0
    )
    calls = {name: record["calls"] / record["queries"] for name, record in found.items()}
    assert calls == {"baseline": 1, "self_reflection": 5, "ensemble": 6, "grounded": 1}
    assert found["baseline"]["tokens"] > 0


def test_errors_repeat_and_tools_mend_them(data):
    methods = ("baseline", "grounded")
    first = whole(run_simulated(data, methods, Options(), 0.5, (0, 1)))
    again = whole(run_simulated(data, methods, Options(), 0.5, (0, 1)))
    for name in methods:
        assert first[name]["top_1"] == again[name]["top_1"]
        assert first[name]["tokens"] == again[name]["tokens"]
    assert first["baseline"]["top_1"] < 90.0
    assert first["grounded"]["top_1"] > first["baseline"]["top_1"]


def test_rates_grow_with_the_errors():
    assert Rates.of(PAPER_ERRORS) == Rates()
    assert Rates.of(0.0).over_empty == 0.0
    assert Rates.of(0.6).over_empty > Rates().over_empty


def test_command(tmp_path, capsys):
    (tmp_path / "semantic_maps").mkdir()
    (tmp_path / "responses").mkdir()
    box = {"center": [0, 0, 0.4], "size": [0.5, 0.5, 0.8]}
    one = {"bbox": box, "n_observations": 3, "results": {"chair": 2.5}}
    (tmp_path / "queries.yaml").write_text('{"queries": {"q1": "a chair", "q2": "a bed"}}')
    (tmp_path / "semantic_maps/m_1.json").write_text(json.dumps({"instances": {"a": one}}))
    (tmp_path / "responses/m_1.json").write_text('{"responses": {"q1": ["a"], "q2": []}}')
    out = tmp_path / "out"
    arguments = ["--data", str(tmp_path), "--out", str(out), "--simulated-errors", "0.3"]
    arguments += ["--sweeps", "1", "--method", "baseline", "--method", "grounded"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "Simulated model" in printed and "Grounded (ours)" in printed
    assert (out / "simulated.png").stat().st_size > 5000
    assert {r["errors"] for r in json.loads((out / "simulated.json").read_text())} == {0.3}
