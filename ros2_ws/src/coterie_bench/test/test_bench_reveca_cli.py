"""`bench reveca` from the command line: records, tables, resuming, clear mistakes."""

import importlib.util
import json

import pytest

from coterie_bench.reveca import episodes
from coterie_bench.reveca.bench import main
from coterie_bench.reveca.episodes import Job, play, play_all
from coterie_bench.reveca.tables import interval

FIELDS = {
    "world",
    "method",
    "seed",
    "agents",
    "success",
    "simulation_steps",
    "travel_distance",
    "communication_steps",
    "characters",
    "total",
}


def test_records_tables_and_plot(tmp_path, capsys):
    arguments = ["--episodes", "2", "--seed", "3", "--out", str(tmp_path)]
    assert main([*arguments, "--method", "reveca", "--method", "single"]) == 0
    records = json.loads((tmp_path / "results.json").read_text())
    assert [(r["method"], r["seed"], r["agents"]) for r in records] == [
        ("reveca", 3, 2),
        ("reveca", 4, 2),
        ("single", 3, 1),
        ("single", 4, 1),
    ]
    assert all(set(r) == FIELDS and r["success"] for r in records)
    assert (tmp_path / "reveca.png").stat().st_size > 1000
    assert (tmp_path / "results.csv").is_file()
    shown = capsys.readouterr().out
    assert "household" in shown
    assert "±" in shown


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    first = play_all([Job("household", "rhp", k) for k in range(2)], cache=tmp_path)
    played = []
    real = episodes.run_one
    monkeypatch.setattr(episodes, "run_one", lambda *a: played.append(a) or real(*a))
    again = play_all([Job("household", "rhp", k) for k in range(3)], cache=tmp_path)
    assert again[:2] == first
    assert [a[2] for a in played] == [2]
    for file in tmp_path.iterdir():
        file.write_text('{"half')
    assert play(Job("household", "rhp", 0), tmp_path) == first[0]


@pytest.mark.parametrize("wrong", [["--method", "magic"], ["--world", "mars"], ["--ray", "auto"]])
def test_mistakes_are_one_clear_line(wrong, capsys):
    if wrong[0] == "--ray" and importlib.util.find_spec("ray") is not None:
        pytest.skip("Ray is installed here")
    assert main(["--episodes", "1", *wrong]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert wrong[1] in said or "Ray is not installed" in said


def test_intervals_are_of_the_mean():
    mean, half = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(1.96 / 3**0.5)
