"""`./coterie model check`: fit, half fit, unfit and unreachable endpoints, over real HTTP."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from coterie_bringup.errors import CommandError
from coterie_fixtures.endpoint import Endpoint, Hang, Raw, Says, Status
from coterie_fixtures.oracle.guesses import random_answerer
from research.models.check import SOME, UNFIT, CheckOptions, check

DECISIONS = ("reveca.choose_plan", "coela.act_or_speak")
QUICK = {"seconds": 20.0, "longest": 2000}


def able(body: dict[str, Any]) -> Any:
    """A model that fills any form, calls a tool where it may, and sees no images."""
    if any(isinstance(message["content"], list) for message in body["messages"]):
        return Status(400, "this model has no vision: image_url is not supported")
    if body.get("tools"):
        call = {"name": "look_up_room", "arguments": json.dumps({"room": "r5"})}
        return {"tool_calls": [{"id": "c1", "type": "function", "function": call}]}
    if "response_format" not in body:
        return "yes"
    return random_answerer(3)(body)


def found(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    data["abilities"] = {one["name"]: one for one in data["abilities"]}
    data["decisions"] = {one["decision"]: one for one in data["decisions"]}
    return data


def test_an_able_endpoint_is_fit_and_what_it_lacks_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "check.json"
    with Endpoint(able, model="able-7b") as endpoint:
        code = check(endpoint.url, CheckOptions(decisions=DECISIONS, out=out, **QUICK))
    data = found(out)
    assert code == 0
    assert data["model"] == "able-7b"  # the first that is listed
    told = {name: one["verdict"] for name, one in data["abilities"].items()}
    assert told["answers"] == told["schema"] == told["tools"] == "yes"
    assert told["images"] == "no" and "no vision" in data["abilities"]["images"]["detail"]
    assert told["context"] == "partly"  # it reads, and finds nothing again
    assert data["abilities"]["schema"]["values"]["form"] == "JSON schema"
    assert {one["verdict"] for one in data["decisions"].values()} <= {"fit", "asked again"}
    assert set(data["decisions"]) == set(DECISIONS)
    assert "fit for all 2 decisions" in capsys.readouterr().out


def test_one_that_only_talks_is_unfit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "check.json"
    with Endpoint(lambda body: "Well, that depends.") as endpoint:
        code = check(endpoint.url, CheckOptions(decisions=DECISIONS, out=out, **QUICK))
    data = found(out)
    assert code == UNFIT
    assert data["abilities"]["schema"]["verdict"] == "no"
    for one in data["decisions"].values():
        assert one["verdict"] == "unfit" and one["by_rule"] == 1
        assert "BadReply" in one["reasons"][0]
    assert "modes: {reveca.choose_plan: rule, coela.act_or_speak: rule}" in " ".join(
        capsys.readouterr().out.split()
    )


def test_one_that_does_some_is_told_so(tmp_path: Path) -> None:
    def half(body: dict[str, Any]) -> Any:
        title = body.get("response_format", {}).get("json_schema", {}).get("name")
        return Says("no idea") if title == "TurnReply" else able(body)

    with Endpoint(half) as endpoint:
        assert check(endpoint.url, CheckOptions(decisions=DECISIONS, **QUICK)) == SOME


def test_decisions_that_take_too_long_do_not_count_against_the_others(tmp_path: Path) -> None:
    """Five time-outs in a row open a circuit elsewhere; here each decision is asked for itself."""
    out = tmp_path / "check.json"
    names = ("reveca", "coela")

    def slow(body: dict[str, Any]) -> Any:
        title = body.get("response_format", {}).get("json_schema", {}).get("name")
        return able(body) if title in ("Room", "Color", "Code", "Wording", None) else Hang()

    with Endpoint(slow) as endpoint:
        options = CheckOptions(decisions=names, samples=2, out=out, seconds=1.0, longest=1000)
        assert check(endpoint.url, options) == SOME
    rows = found(out)["decisions"]
    assert rows["coela.word_message"]["verdict"] in ("fit", "asked again")
    for name in rows.keys() - {"coela.word_message"}:
        assert rows[name]["verdict"] == "too slow" and rows[name]["late"] == 2
        assert all("ModelTimeout" in reason for reason in rows[name]["reasons"])


def test_valid_but_later_than_its_profile_waits_is_too_slow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, profile = tmp_path / "check.json", tmp_path / "weak.yaml"

    def late(body: dict[str, Any]) -> Any:
        title = body.get("response_format", {}).get("json_schema", {}).get("name")
        if title in ("TurnReply", "Wording"):
            time.sleep(0.4)
        return able(body)

    with Endpoint(late) as endpoint:
        profile.write_text(
            f"{{kind: openai, base_url: '{endpoint.url}', model: m, timeout_s: 0.3}}"
        )
        assert check(str(profile), CheckOptions(decisions=("coela",), out=out, **QUICK)) == SOME
    rows = found(out)["decisions"]
    assert {row["verdict"] for row in rows.values()} == {"too slow"}
    assert all(row["late"] == 0 for row in rows.values())
    said = capsys.readouterr().out
    assert "2 took longer than the 0.3 s for which its profile waits (timeout_s)" in said
    assert "coela.act_or_speak: rule" in said


def test_decisions_are_named_whole_and_a_reason_that_many_share_comes_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with Endpoint(lambda body: "Well, that depends.") as endpoint:
        check(endpoint.url, CheckOptions(decisions=DECISIONS, **QUICK))
    said = capsys.readouterr().out
    table = said.split("What it can decide")[1]
    assert table.count("coela.act_or_speak") == 3  # its row, its reason, the modes
    assert "  reveca.choose_plan, coela.act_or_speak: asked again: BadReply" in table


def test_an_endpoint_that_knows_no_schema_is_asked_in_words(tmp_path: Path) -> None:
    out = tmp_path / "check.json"

    def wordy(body: dict[str, Any]) -> Any:
        if "response_format" in body:
            return Status(400, "response_format is not supported")
        if "JSON schema" not in json.dumps(body["messages"]):
            return "yes"
        return '{"reason": "it is there", "room": "r2"}'

    with Endpoint(wordy) as endpoint:
        code = check(endpoint.url, CheckOptions(decisions=("none",), out=out, **QUICK))
    assert code == 0 and found(out)["abilities"]["schema"]["values"]["form"] == "words"


def test_what_cannot_be_checked_is_one_line() -> None:
    for endpoint, words in (
        ("http://127.0.0.1:9/v1", "no connection to 127.0.0.1"),
        ("tinny", "did you mean 'tiny'"),
        ("rules", "has no endpoint"),
        ("ftp://somewhere", "expected a URL"),
    ):
        with pytest.raises(CommandError, match=words) as caught:
            check(endpoint, CheckOptions(decisions=("none",)))
        assert "\n" not in str(caught.value)
    with pytest.raises(CommandError, match=r"did you mean 'mele\.answer'"):
        check("tiny", CheckOptions(decisions=("mele.anwser",)))
    empty = b'{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}'
    with Endpoint(lambda body: Raw(empty)) as server:
        with pytest.raises(CommandError, match="no choice"):
            check(server.url, CheckOptions(decisions=("none",)))
    with Endpoint(model="one") as server:
        with pytest.raises(CommandError, match="it lists one"):
            check(server.url, CheckOptions(model="two", decisions=("none",)))


def test_a_wrong_key_is_told_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "wrong-key-of-a-test")
    with Endpoint(able, key="right") as endpoint:
        with pytest.raises(CommandError, match="access refused, check the key in SOME_KEY"):
            check(endpoint.url, CheckOptions(key_env="SOME_KEY", decisions=("none",)))
    with pytest.raises(CommandError, match="NO_SUCH is not set"):
        check("http://127.0.0.1:9/v1", CheckOptions(key_env="NO_SUCH", decisions=("none",)))
