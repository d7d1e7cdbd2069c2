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
from coterie_cli.whatif.command import WhatIf, whatif
from coterie_cli.whatif.kept import CannotReplay, kept_nodes
from coterie_cli.whatif.tasks import TaskAgain, check_repeats
from coterie_core.questions import Answer, Evidence, Question
from coterie_core.testing.endpoint import Endpoint
from coterie_core.why import JournalSettings, belong, close_journal, note, open_journal

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
