"""The bench of models: stand-ins, its records and tables, mistakes on its command line."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from rich.console import Console

from coterie_fixtures.endpoint import Endpoint
from coterie_fixtures.explorations import run_exploration
from coterie_fixtures.oracle import Oracle
from coterie_fixtures.oracle.request import one_by_one, question_of
from coterie_llm import Decision, Image, Message, ModelProfile, UsageMeter, as_data
from habitat_bridge.embedded.world import EmbeddedWorld
from habitat_bridge.house.generator import generate_house
from habitat_bridge.robots import EMBODIMENTS
from openeqa_agent.captions import CaptionFrame, CaptionState
from openeqa_agent.decisions import AnswerFromFrames, Asked
from openeqa_agent.understood import OpenQuestion
from research.bench.models.bench import SAVINGS, answerer, main, run_models
from research.bench.models.tables import against_rules, by_bench, print_tables, summed
from research.bench.models.token_counts import token_table
from research.bench.models.works import FEW, Answering, Outcome, all_works

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
    asked = counts["oracle", "team.read_request"]
    assert asked["calls"] == asked["at_once"] == asked["by_model"] > 0 == asked["overruled"]
    assert asked["prompt_tokens"] > 100 * asked["calls"]
    assert counts["rules", "team.read_request"]["calls"] == 0
    assert {record["mode"] for record in records} == {"rule", "model"}


def picture() -> Image:
    return Image(b"\x89PNG\r\n\x1a\n" + bytes(32))


async def photos(answering: Answering) -> list[Outcome]:
    """A question about a photo, and a description of it."""
    decider = answering.decider("r1")
    asked = Asked(OpenQuestion("Is the door open?"), images=(picture(),), frames=("f1",))
    made = [
        await decider.decide(AnswerFromFrames(), asked),
        await decider.decide(CaptionFrame(), CaptionState(picture(), "2 chairs.", "kitchen")),
    ]
    await decider.aclose()
    assert {one.decided_by for one in made} == {"rule"}
    return [Outcome("openeqa", one.reason[:60], 0.0, 1) for one in made]


def test_what_the_oracle_cannot_see_goes_to_the_rule_and_is_told() -> None:
    records = run_models(("oracle",), {"photos": photos})
    assert not records[0]["error"]
    assert all("RequestRejected" in one["part"] for one in records[0]["outcomes"])
    console = Console(record=True, width=200)
    print_tables(records, console)
    shown = console.export_text()
    rows = [line for line in shown.splitlines() if "oracle" in line and "openeqa." in line]
    assert len(rows) == 2 and all("not covered" in row for row in rows)
    assert "not in this set: " in shown and "mele.answer" in shown.partition("not in this set")[2]


def test_what_saves_calls_is_compared_and_costs_no_right_answer() -> None:
    """Settings add up: no decision takes more calls with one more of them."""
    questions = [Ask(k) for k in range(6)]

    async def ask(answering: Answering) -> list[Outcome]:
        decider = answering.decider("r1")
        twice = [*questions, *questions, Ask(0, only=True)]
        made = await asyncio.gather(*(decider.decide(Which(), one) for one in twice))
        await decider.aclose()
        right = [d.reply.place == one.places[0] for d, one in zip(made, twice, strict=True)]
        return [Outcome("test", "asked", sum(right) / len(right), len(right))]

    with Endpoint(lambda body: one_by_one(first_place, body), usage=None) as endpoint:
        profile = ModelProfile(kind="openai", base_url=endpoint.url, model="m", max_retries=0)
        calls, tokens = [], []
        for changes in SAVINGS.values():
            meter = UsageMeter()
            answering = Answering(profile.model_copy(update=changes), meter)
            (outcome,) = asyncio.run(ask(answering))
            assert outcome.score == 1.0
            calls.append(sum(row["calls"] for row in meter.as_json()))
            tokens.append(meter.total().prompt_tokens)
    assert calls[0] == 13 and calls[1] == 12 and calls[2] <= 12 and calls[3] <= 2
    assert tokens[0] > tokens[1] >= tokens[2] > 2 * tokens[3]


@dataclass(frozen=True)
class Ask:
    """A question by its number."""

    number: int
    only: bool = False

    @property
    def places(self) -> tuple[str, ...]:
        return (f"p{self.number}",) if self.only else (f"p{self.number}", f"q{self.number}")


class Place(BaseModel):
    """Where to."""

    reason: str = ""
    place: str


class Which(Decision[Ask, Place]):
    """Which place."""

    name = "mele.answer"
    reply_type = Place
    joins = 10

    def prompt(self, state: Ask) -> Sequence[Message]:
        notes = as_data("notes", "a long way to go; " * 40)
        return (Message.user(f"{notes}\n{as_data('places', list(state.places))}\nWhich?"),)

    def only_reply(self, state: Ask) -> Place | None:
        return self.rule(state) if state.only else None

    def rule(self, state: Ask) -> Place:
        return Place(place=state.places[0])


def first_place(body: dict[str, Any]) -> dict[str, Any]:
    return {"reason": "near", "place": question_of(body).data["places"][0]}


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


def test_a_small_model_first_and_a_larger_one_where_its_replies_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The small one marks some replies as it should, and repeats itself on the others."""
    good = Oracle()

    def weak(body: dict[str, Any]) -> Any:
        kettle = "kettle" in body["messages"][-1]["content"]
        return good(body) if kettle else {"reason": "mark " * 40, "mark": 77}

    profile, out = tmp_path / "weak.yaml", tmp_path / "records.json"
    with Endpoint(weak, model="weak", usage=None) as endpoint:
        profile.write_text(
            f"{{kind: openai, base_url: '{endpoint.url}', model: weak, max_retries: 0}}"
        )
        arguments = ["--answerer", "rules", "--profile", str(profile), "--larger", "oracle"]
        assert main([*arguments, "--only", "openeqa judge", "--out", str(out)]) == 0
    _, mine = json.loads(out.read_text())
    assert mine["outcomes"][0]["score"] == 1.0
    row = mine["decisions"]["openeqa.judge_answer"]
    assert row["decided weak"] > 0 and row["decided oracle"] > 0 == row["by_rule"]
    assert row["decided weak"] + row["decided oracle"] == row["by_model"]
    assert row["asked weak"] == row["decided weak"] + 2 * row["decided oracle"]
    assert row["asked oracle"] == row["decided oracle"]
    assert "Small first" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--answerer", "sage"], "'sage'; one of rules, oracle, random"),
        (["--only", "chess"], "no work holds 'chess'"),
        (["--larger", "rules"], "--larger: the rules decide after any model"),
        (["--larger", "sage", "--profile", "tiny", "--only", "openeqa judge"], "sage"),
        (["--mode", "guess"], "'guess'; one of rule, model, advised"),
        (["--answerer", "rules", "--profile", "no.yaml", "--only", "openeqa judge"], "no.yaml"),
    ],
)
def test_mistakes_are_one_clear_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


async def test_the_oracle_explores_by_the_prompt_and_does_not_pace_up_and_down() -> None:
    """It goes on to what it made for: it never comes to a place for the third time in five hops."""
    world = EmbeddedWorld(generate_house(61501, floors=1), seed=3, threads=1)
    with answerer("oracle", "model", 0) as profile:
        decider = Answering(profile, UsageMeter()).decider("r1")
        try:
            world.add_robot("r1", EMBODIMENTS["wheels"])
            (run,) = await run_exploration(world, steps=9, decider=decider)
        finally:
            world.close()
            await decider.aclose()
    assert run.chosen_by["model"] > 4
    for k in range(len(run.path) - 4):
        assert max(Counter(run.path[k : k + 5]).values()) < 3, run.path


def test_answerers_are_compared_with_the_rules_house_by_house(tmp_path: Path) -> None:
    """Scores that differ from house to house say little; their differences do."""
    scores = {"rules": (0.2, 0.5, 0.9), "oracle": (0.3, 0.6, 1.0)}
    records = [
        {
            "answerer": name,
            "work": f"explore {house}",
            "outcomes": [{"bench": "mele", "part": f"met, house {house}", "score": score}],
        }
        for name, values in scores.items()
        for house, score in enumerate(values)
    ]
    console = Console(record=True, width=120)
    console.print(against_rules(records))
    assert "+10.0 ± 0.0" in console.export_text()
    assert not against_rules(records[:4]).row_count  # one house tells no spread


@pytest.mark.parametrize("houses", ["9-8", "a", "3-", "-3", "1,2"])
def test_houses_that_are_no_range_are_told(houses: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--houses", houses]) == 2
    assert "--houses: expected a seed or two, such as 221-244" in capsys.readouterr().err


def test_in_each_house_people_ask_for_what_teams_do() -> None:
    works = all_works(FEW, (71501, 71502))
    asked = [title for title in works if title.startswith("house 71502")]
    assert asked == [f"house 71502: {what}" for what in ("do", "find", "explore, ask", "cooperate")]


def test_each_decision_is_written_down_for_people_to_read(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    works = {title: work for title, work in all_works().items() if title == "openeqa judge"}
    run_models(("random",), works, amount=FEW, trace=trace)
    lines = trace.read_text("utf-8").splitlines()
    assert lines and all(line.startswith("random, openeqa judge: ") for line in lines)
    assert any("by random" in line and '"mark"' in line for line in lines)


def test_tokens_are_counted_by_the_models_own_tokenizer() -> None:
    profile = ModelProfile(kind="local", prompt=300)
    table = token_table(profile, ["openeqa.answer_blind"], seed=4)
    console = Console(width=120, record=True)
    console.print(table)
    row = next(line for line in console.export_text().splitlines() if "answer_blind" in line)
    counts = [int(count) for count in re.findall(r"\b\d+\b", row)]
    assert all(50 < count < 1500 for count in counts[:2])


def test_tokens_are_counted_by_local_models_only() -> None:
    with pytest.raises(ValueError, match="kind local"):
        token_table(ModelProfile(kind="rules"))
