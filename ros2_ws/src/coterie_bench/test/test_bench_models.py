"""The bench of models: stand-ins, its records and tables, mistakes on its command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coterie_bench.models.bench import main, run_models
from coterie_bench.models.tables import by_bench, summed
from coterie_bench.models.works import FEW, all_works

SHORT = ("mele sentences", "openeqa judge")


def test_stand_ins_do_the_same_works_and_are_told_apart(tmp_path: Path) -> None:
    works = {title: work for title, work in all_works().items() if title in SHORT}
    records = run_models(("rules", "oracle", "random"), works)
    assert not [record["error"] for record in records if record["error"]]
    scores = by_bench(records)
    for part, cells in scores.items():
        assert cells["oracle"][0] >= cells["rules"][0] > cells["random"][0] - 0.3, part
        assert cells["oracle"][0] > cells["random"][0], part
    counts = summed(records)
    asked = counts["oracle", "mele.parse_question"]
    assert asked["calls"] == asked["at_once"] == asked["by_model"] > 0 == asked["overruled"]
    assert asked["prompt_tokens"] > 100 * asked["calls"]
    assert counts["rules", "mele.parse_question"]["calls"] == 0
    assert {record["mode"] for record in records} == {"rule", "model"}


@pytest.mark.slow
def test_with_the_oracle_two_agents_tidy_up_as_well_as_by_rule() -> None:
    works = {title: work for title, work in all_works().items() if title.startswith("reveca")}
    scores = by_bench(run_models(("rules", "oracle"), works))
    (cells,) = scores.values()
    assert cells["oracle"][0] == cells["rules"][0] == 1.0
    steps, by_rule = cells["oracle"][1], cells["rules"][1]
    assert steps is not None and by_rule is not None and steps <= 1.15 * by_rule


def test_few_of_each_bench_for_a_slow_model() -> None:
    few, whole = all_works(FEW), all_works()
    assert {title.split()[0] for title in few} == {title.split()[0] for title in whole}
    short = {title: few[title] for title in SHORT}
    (said, marked) = run_models(("rules",), short, amount=FEW)
    assert said["outcomes"][0]["of"] == marked["outcomes"][0]["of"] == FEW.items


def test_a_model_by_its_profile_and_records_on_disk(tmp_path: Path) -> None:
    profile = tmp_path / "mine.yaml"
    profile.write_text("{kind: openai, base_url: 'http://127.0.0.1:9', model: m, max_retries: 0}")
    out = tmp_path / "records.json"
    arguments = ["--answerer", "rules", "--profile", str(profile), "--mode", "advised"]
    assert main([*arguments, "--only", "openeqa judge", "--out", str(out)]) == 0
    rules, mine = json.loads(out.read_text())
    assert (rules["answerer"], rules["mode"]) == ("rules", "rule")
    assert (mine["answerer"], mine["mode"]) == ("mine", "advised")
    assert mine["decisions"]["openeqa.judge_answer"]["overruled"] > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--answerer", "sage"], "'sage'; one of rules, oracle, random"),
        (["--only", "chess"], "no work holds 'chess'"),
        (["--mode", "guess"], "'guess'; one of rule, model, advised"),
        (["--answerer", "rules", "--profile", "no.yaml", "--only", "openeqa judge"], "no.yaml"),
    ],
)
def test_mistakes_are_one_clear_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
