"""What-if: an answer, a decision, a task once more with one thing changed; or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from cam_aggregator.registry import make_aggregator
from coterie_bringup.errors import CommandError
from coterie_core.questions import Answer, Evidence, Question
from coterie_fixtures.endpoint import Endpoint
from coterie_safety.why import JournalSettings, belong, close_journal, note, open_journal
from research.whatif.command import WhatIf, check_repeats, whatif
from research.whatif.cooperation import (
    CooperationAgain,
    CooperationEnd,
    Step,
    first_difference,
    goal_of,
)
from research.whatif.cooperation import differs_from_run as goal_differs
from research.whatif.exploration import ExplorationAgain
from research.whatif.rerun.kept import CannotReplay, kept_nodes
from research.whatif.rerun.tasks import TaskAgain

ROBOTS = ("ant", "bee", "cat")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    belong()
    open_journal(JournalSettings(str(tmp_path / "why")), "test")
    yield tmp_path
    close_journal()
    belong()


def parameters(run: Path, **nodes: dict[str, Any]) -> None:
    told = {f"/{name.replace('__', '/')}": {"ros__parameters": own} for name, own in nodes.items()}
    (run / "parameters.yaml").write_text(yaml.safe_dump(told))


def answered(run: Path, id_: str, yes: dict[str, bool], method: str = "majority_vote") -> None:
    """Keep a question with the robots' answers, as the aggregator does."""
    question = Question(id_, "ladle", "pantry", f"Is there a ladle in the pantry? ({id_})")
    answers = [
        Answer(id_, robot, said, 0.9, Evidence("seen" if said else "not_there", looks=3), "looked")
        for robot, said in yes.items()
    ]
    final = make_aggregator(method).decide(question, answers, ROBOTS)
    note("question", "aggregator", {"words": question.text}, question=id_)
    body = {
        "words": "told",
        "method": method,
        "question": asdict(question),
        "yes": final.yes,
        "confidence": final.confidence,
        "votes": [{"weight": 1.0, **asdict(one)} for one in answers],
    }
    note("answer", "the team", body, question=id_)


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


def aggregator(run: Path, method: str = "majority_vote") -> None:
    parameters(run, aggregator={"method": method, "robots": list(ROBOTS), "abstain_below": 0.0})


def test_without_a_robot_the_vote_goes_otherwise(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aggregator(run)
    answered(run, "q1", {"ant": True, "bee": True, "cat": False})
    answered(run, "q2", {"ant": True, "bee": False, "cat": False})
    whatif(WhatIf("q2", without=("cat", "bee"), folder=run, as_json=True))
    (one,) = told(capsys)["answers"]
    assert (one["before"]["yes"], one["after"]["yes"], one["differs"]) == (False, True, True)
    whatif(WhatIf("q1", without=("cat",), folder=run, as_json=True))
    (one,) = told(capsys)["answers"]
    assert (one["before"]["yes"], one["after"]["yes"], one["differs"]) == (True, True, False)
    whatif(WhatIf("q2", without=("cat", "bee"), folder=run))
    assert "yes, " in capsys.readouterr().out


def test_another_aggregator_answers_all_questions_of_the_run(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aggregator(run)
    for k in range(4):
        answered(run, f"q{k}", {"ant": True, "bee": k > 1, "cat": False})
    whatif(WhatIf(aggregator="confidence_vote", folder=run, as_json=True))
    assert len(told(capsys)["answers"]) == 4
    whatif(WhatIf(aggregator="confidence_vote", folder=run))
    assert " of 4 answers would have been others." in capsys.readouterr().out


def test_an_answer_that_does_not_come_out_again_is_refused(run: Path) -> None:
    aggregator(run)
    answered(run, "q1", {"ant": True, "bee": True, "cat": False})
    (file,) = (run / "why").glob("*.jsonl")
    file.write_text(file.read_text().replace('"confidence":0.9,', '"confidence":0.6,'))
    with pytest.raises(CannotReplay, match="does not come out again as it was"):
        whatif(WhatIf("q1", without=("cat",), folder=run))


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (WhatIf("q1", without=("dog",)), "no robot whose answers count.* ant, bee, cat"),
        (WhatIf("q1", aggregator="majority_vot"), "did you mean 'majority_vote'"),
        (WhatIf("q1", aggregator="debate"), "is not kept"),
        (WhatIf("q1", aggregator="cam_plus"), "has to be trained first"),
        (WhatIf("q1"), "say what is to be otherwise"),
        (WhatIf("nothing like it", without=("ant",)), "nothing that is kept"),
        (WhatIf("q1", without=("ant",), model="rules"), "--without changes nothing"),
    ],
)
def test_what_cannot_be_had_again_says_why(run: Path, asked: WhatIf, why: str) -> None:
    aggregator(run)
    answered(run, "q1", {"ant": True, "bee": True, "cat": False})
    with pytest.raises(CommandError, match=why):
        whatif(replace(asked, folder=run))


def test_what_was_sent_to_one_model_is_sent_to_another(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = {
        "name": "mele.answer",
        "by": "rule",
        "reply": {"reason": "seen twice", "answer": "yes", "confidence": 0.8},
        "prompt": [{"role": "system", "text": "Answer."}, {"role": "user", "text": "A ladle?"}],
        "schema": {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}}},
        "max_tokens": 50,
    }
    first = note("decision", "ant", body, question="q1")
    note("decision", "bee", {**body, "prompt": [{"role": "user", "text": "cut… (99 more)"}]})
    with Endpoint(lambda request: {"reason": "no light", "answer": "no"}) as endpoint:
        profile = tmp_path / "other.yaml"
        profile.write_text(f"{{kind: openai, base_url: '{endpoint.url}', model: other}}")
        whatif(WhatIf(first, model=str(profile), folder=run, as_json=True))
        (one,) = told(capsys)["decisions"]
        assert (one["differs"], one["after"]["answer"]) == (True, "no")
        (sent,) = endpoint.received
        assert [m["content"] for m in sent.body["messages"]] == ["Answer.", "A ladle?"]


HOUSE = {"kind": "embedded", "seed": 31, "floors": 1, "noise": "none"}


def a_run(run: Path, mode: str = "lockstep") -> None:
    """Keep the parameters of a team of two in a small house."""
    robots = [{"name": "ant", "embodiment": "wheels"}, {"name": "bee", "embodiment": "legs"}]
    rules = {"model_profile": '{"kind": "rules"}', "seed": 3}
    bridge = {"world": json.dumps(HOUSE), "robots": json.dumps(robots), "mode": mode, "seed": 3}
    leader = {"robots": ["ant", "bee"], "model_profile": '{"kind": "rules"}', "seed": 3}
    bridge["prior_map"] = "everything"
    parameters(run, bridge=bridge, leader=leader, ant__robot=rules, bee__robot=rules)


@pytest.mark.slow
def test_a_task_is_done_again_without_a_robot(run: Path) -> None:
    a_run(run)
    again = TaskAgain(kept_nodes(run))
    words = "go to the kitchen"
    before = check_repeats(again, words, {})
    (who,) = before.given.values()
    after = again.run(words, {who})
    assert before.state == after.state == "done"
    assert set(after.given.values()) == {"ant", "bee"} - {who}
    assert who not in after.skills
    with pytest.raises(CannotReplay, match="does not begin again as it was"):
        check_repeats(again, words, dict.fromkeys(before.given, "somebody"))
    with pytest.raises(CannotReplay, match="no robot that does tasks"):
        again.run(words, {"dog"})


def cooperators(run: Path, mode: str = "lockstep") -> None:
    """Keep the parameters of two robots that cooperate in a small house."""
    robots = [{"name": "ant", "embodiment": "wheels"}, {"name": "bee", "embodiment": "slim"}]
    own = {"levels": 4, "plans": 3, "max_time": 400.0, "team": ["ant", "bee"], "seed": 3}
    house = {"kind": "embedded", "seed": 8, "floors": 1}
    bridge = {"world": json.dumps(house), "robots": json.dumps(robots), "mode": mode, "seed": 8}
    parameters(run, bridge={**bridge, "prior_map": "furniture"}, ant__agent=own, bee__agent=own)


@pytest.mark.slow
def test_a_shared_goal_is_done_again_without_a_robot(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cooperators(run)
    for robot in ("ant", "bee"):
        note("task", robot, {"words": "tidy: ON(plate, table): 1"}, task=f"goal-{robot}")
    asked = WhatIf("tidy", without=("bee",), folder=run)
    whatif(replace(asked, as_json=True))
    data = told(capsys)
    assert set(data["before"]["ended"]) == {"ant", "bee"} and set(data["after"]["ended"]) == {"ant"}
    assert data["before"]["reached"] == 1
    assert not data["trusted"] and "not kept" in data["doubt"]
    again = CooperationAgain(kept_nodes(run))
    before = again.run(goal_of("tidy: ON(plate, table): 1"))
    did: dict[str, list[str]] = {robot: [] for robot in before.ended}
    for step in before.steps:  # the log has no labels of what is taken
        did[step.robot].append(step.what.split(" plate")[0].split(" table")[0])
    assert goal_differs(did, before) == ""
    did["ant"][1:1] = ["pick"]
    assert "ant's step 2 was pick" in goal_differs(did, before)
    assert first_difference(before, before) is None


def test_the_first_step_that_differs_is_the_earliest() -> None:
    end = CooperationEnd({"ant": "met", "bee": "met"}, 1, 1, {}, 9.0, {}, {}, {}, ())
    ant, bee = Step(1.0, "ant", "navigate_to"), Step(2.0, "bee", "pick")
    other = Step(2.5, "bee", "open")
    before, after = replace(end, steps=(ant, bee)), replace(end, steps=(ant, other))
    assert first_difference(before, after) == (bee, other)
    assert first_difference(before, replace(end, steps=(ant,))) == (bee, None)


def test_a_house_is_explored_again_without_a_robot(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run(run)
    nodes = yaml.safe_load((run / "parameters.yaml").read_text())
    bridge = nodes["/bridge"]["ros__parameters"]
    rules = {"model_profile": '{"kind": "rules"}', "seed": 3}
    parameters(run, bridge=bridge, ant__explorer=rules, bee__explorer=rules)
    before = ExplorationAgain(kept_nodes(run), 3).run()  # its decisions are kept, as a run's are
    close_journal()
    asked = WhatIf("exploration", without=("bee",), folder=run)
    whatif(replace(asked, as_json=True))
    data = told(capsys)
    assert data["trusted"], data["doubt"]
    assert data["before"]["hops"] == {robot: list(all_) for robot, all_ in before.chosen.items()}
    assert set(data["after"]["hops"]) == {"ant"}
    assert set(data["after"]["kinds"]) <= set(data["before"]["kinds"])
    open_journal(JournalSettings(str(run / "why")), "test")
    note("decision", "ant", {"name": "mele.choose_place", "reply": {"place": "elsewhere"}})
    close_journal()
    whatif(asked)
    assert "cannot be trusted" in capsys.readouterr().out
    with pytest.raises(CannotReplay, match="nobody would be left"):
        whatif(replace(asked, without=("ant", "bee")))
    with pytest.raises(CannotReplay, match="no robot that explores"):
        whatif(replace(asked, without=("cat",)))
    with pytest.raises(CannotReplay, match="needs labels"):
        whatif(replace(asked, without=(), aggregator="cam_plus"))


def test_runs_that_cannot_be_repeated_are_refused(run: Path) -> None:
    a_run(run, mode="real_time")
    with pytest.raises(CannotReplay, match="real time"):
        TaskAgain(kept_nodes(run))
    parameters(run, aggregator={})
    with pytest.raises(CannotReplay, match="real robots"):
        TaskAgain(kept_nodes(run))
    parameters(run, bridge={"mode": "lockstep"})
    with pytest.raises(CannotReplay, match="no leader"):
        TaskAgain(kept_nodes(run))
    with pytest.raises(CannotReplay, match="only runs of simulated teams"):
        kept_nodes(run / "elsewhere")
    belong(task="task-2")
    note("task", "leader", {"words": "first"}, task="task-1")
    note("task", "leader", {"words": "second"})
    with pytest.raises(CannotReplay, match="did other things before"):
        whatif(WhatIf("second", without=("ant",), folder=run))
