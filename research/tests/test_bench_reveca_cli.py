"""`bench reveca` from the command line: records, tables, resuming, clear mistakes."""

import importlib.util
import json
import multiprocessing
import os
import signal

import pytest

from research.bench.common.intervals import mean_interval
from research.bench.reveca import episodes
from research.bench.reveca.bench import main
from research.bench.reveca.episodes import Job, play, play_all

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
    "house",
    "episode",
}


def test_records_tables_and_plot(tmp_path, capsys):
    arguments = ["--episodes", "2", "--seed", "3", "--out", str(tmp_path), "--no-floors"]
    assert main([*arguments, "--method", "reveca", "--method", "single"]) == 0
    records = json.loads((tmp_path / "results.json").read_text())
    assert [(r["method"], r["seed"], r["agents"]) for r in records] == [
        ("reveca", 3, 2),
        ("reveca", 4, 2),
        ("single", 3, 1),
        ("single", 4, 1),
    ]
    assert all(set(r) == FIELDS and r["success"] for r in records)
    assert len({r["episode"] for r in records}) == 4  # alone it is another episode
    assert [r["house"] for r in records] == ["house-3", "house-4"] * 2
    assert (tmp_path / "reveca.png").stat().st_size > 1000
    assert (tmp_path / "results.csv").is_file()
    shown = capsys.readouterr().out
    assert "household" in shown
    assert "±" in shown


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    first = play_all([Job("household", "rhp", k) for k in range(2)], cache=tmp_path)
    played = []
    real = episodes.run_one
    monkeypatch.setattr(episodes, "run_one", lambda *a, **k: played.append(a) or real(*a, **k))
    again = play_all([Job("household", "rhp", k) for k in range(3)], cache=tmp_path)
    assert again[:2] == first
    assert [a[2] for a in played] == [2]
    for file in tmp_path.iterdir():
        file.write_text('{"half')
    assert play(Job("household", "rhp", 0), tmp_path) == first[0]


def killed_in_the_middle(cache):
    """Play, and die of SIGKILL with half of the second episode's file written."""
    real = episodes.write_atomically

    def write(path, text):
        if list(cache.glob("*.json")):
            path.write_text(text[: len(text) // 2])
            (cache / f".{path.name}.tmp").write_text("{")
            os.kill(os.getpid(), signal.SIGKILL)
        real(path, text)

    episodes.write_atomically = write
    play_all([Job("household", "rhp", k) for k in range(4)], cache=cache)


def test_a_run_goes_on_after_kill_9_in_the_middle_of_writing(tmp_path):
    child = multiprocessing.get_context("fork").Process(
        target=killed_in_the_middle, args=(tmp_path,)
    )
    child.start()
    child.join(60.0)
    assert child.exitcode == -signal.SIGKILL
    assert len(list(tmp_path.glob("*.json"))) == 2
    jobs = [Job("household", "rhp", k) for k in range(4)]
    assert play_all(jobs, cache=tmp_path) == play_all(jobs)
    assert len(list(tmp_path.glob("*.json"))) == 4


@pytest.mark.parametrize("text", ['"text"', "[1]", "{}", '{"seed": 0, "world": "household"}'])
def test_what_is_no_whole_record_is_played_again(text, tmp_path):
    job = Job("household", "rhp", 0)
    first = play(job, tmp_path)
    for file in tmp_path.iterdir():
        file.write_text(text)
    assert play(job, tmp_path) == first


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--method", "magic"], "--method: 'magic'; one of reveca,"),
        (["--method", "k0"], "--method: 'k0'; one of"),
        (["--world", "mars"], "--world: 'mars'; one of household,"),
        (["--episodes", "0"], "--episodes: expected 1 to"),
        (["--prior", "mine"], "--prior: 'mine'; one of household, flat"),
        (["--seed", "-1"], "--seed: expected 0 to"),
        (["--jobs", "0"], "--jobs: expected 1 to"),
        (["--agents", "2", "--agents", "11"], "--agents: expected 1 to 10, got 11"),
        (["--out", __file__], "is a file; give a folder"),
        (["--layouts", "/no/such/folder"], "/no/such/folder: no layouts"),
        (["--ray", "127.0.0.1:1"], "--ray"),
        (["--ray", "auto"], "--ray"),
    ],
)
def test_mistakes_are_one_clear_line(wrong, said, capsys):
    if wrong == ["--ray", "auto"] and importlib.util.find_spec("ray") is not None:
        pytest.skip("Ray is installed here")
    assert main(["--episodes", "1", "--method", "rhp", *wrong]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert len(shown.splitlines()) == 1


def test_a_broken_layout_is_named_before_anything_is_played(tmp_path, capsys):
    (tmp_path / "1a_0_0.json").write_text("[{")
    (tmp_path / "1a_0_0_metadata.json").write_text("{}")
    out = tmp_path / "out"
    arguments = ["--world", "household", "--layouts", str(tmp_path), "--out", str(out)]
    assert main(["--episodes", "1", "--method", "rhp", *arguments]) == 2
    shown = capsys.readouterr().err
    assert "1a_0_0.json" in shown and len(shown.splitlines()) == 1
    assert not out.exists()


def test_intervals_are_of_the_mean():
    mean, half = mean_interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.303 / 3**0.5, rel=1e-3)  # Student's t of two degrees


def test_a_method_of_ones_own_is_played(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from research.bench.reveca.baseline_rhp import RuleAgent\n"
        "class Lazy(RuleAgent):\n"
        "    async def choose(self):\n"
        "        return None\n"
    )
    arguments = ["--episodes", "1", "--out", str(tmp_path / "out"), "--no-floors"]
    assert main([*arguments, "--method", "mine:Lazy"]) == 0
    record = json.loads((tmp_path / "out" / "results.json").read_text())[0]
    assert (record["method"], record["simulation_steps"]) == ("mine:Lazy", 250)
    assert main([*arguments, "--method", "mine:Nobody"]) == 2
    assert "Nobody" in capsys.readouterr().err


def test_beliefs_are_everybodys_or_nobodys(tmp_path):
    records = {}
    for prior in ("household", "flat"):
        methods = ["--method", "reveca", "--method", "mhp", "--no-floors"]
        out = tmp_path / prior
        assert main(["--episodes", "3", *methods, "--prior", prior, "--out", str(out)]) == 0
        records[prior] = json.loads((out / "results.json").read_text())
    pairs = list(zip(records["household"], records["flat"], strict=True))
    assert all(a["episode"] == b["episode"] for a, b in pairs)
    for name in ("reveca", "mhp"):
        steps = [(a["simulation_steps"], b["simulation_steps"]) for a, b in pairs
                 if a["method"] == name]  # fmt: skip
        assert any(a != b for a, b in steps)
