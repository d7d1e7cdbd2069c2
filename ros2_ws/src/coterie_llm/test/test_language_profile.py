"""Model profiles: what is accepted, what is refused and how, and what is built from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from coterie_fixtures.endpoint import Endpoint
from coterie_llm import (
    LanguageError,
    Message,
    ModelProfile,
    ModelRequest,
    ProfileError,
    RequestRejected,
    RulesModel,
    build_model,
    load_profile,
)
from coterie_llm.errors import MissingKey
from coterie_llm.transport import LOCAL_ONLY_VARIABLE, is_loopback, proxy_for

KEY = "sk-test-3f9a1c77b2d84e6f"
LOCAL = {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}


def test_the_default_is_rules() -> None:
    assert isinstance(build_model(ModelProfile()), RulesModel)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "opnai"}, "'rules', 'openai', 'local' or 'replay'"),
        ({"kind": "openai", "model": "m", "threads": 2}, "threads: only for kind 'local'"),
        ({"kind": "local", "base_url": "http://localhost/v1"}, "base_url is given; remove it"),
        ({"kind": "local", "threads": 0}, "threads"),
        ({"kind": "openai"}, "needs model"),
        ({"kind": "openai", "model": "m", "cassette": "c"}, "use record_to"),
        ({"kind": "replay"}, "needs cassette"),
        ({"kind": "replay", "cassette": "c", "record_to": "d"}, "records nothing"),
        ({"model": "m"}, "asks no model but model is given; set kind: openai"),
        ({**LOCAL, "base_url": "localhost:11434"}, "expected a URL such as"),
        ({**LOCAL, "base_url": "http://"}, "expected a URL such as"),
        ({**LOCAL, "base_url": "http://[::1"}, "expected a URL such as"),
        ({**LOCAL, "budget_cost": 1.0}, "needs price_prompt_per_mtok"),
        ({**LOCAL, "timeout_s": 0}, "greater than 0"),
        ({**LOCAL, "temperatur": 0}, "Extra inputs are not permitted"),
        ({**LOCAL, "max_concurrency": 0}, "greater than or equal to 1"),
    ],
)
def test_errors_say_what_to_do(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as error:
        ModelProfile.model_validate(fields)
    assert words in str(error.value)


class Team(BaseModel):
    """As a team file holds profiles."""

    model_config = ConfigDict(hide_input_in_errors=True)

    models: dict[str, ModelProfile]


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({**LOCAL, "api_key": KEY}, "api_key"),
        ({**LOCAL, "key": KEY}, "key"),
        ({**LOCAL, "token": "abc"}, "token"),
        ({**LOCAL, "Authorization": f"Bearer {KEY}"}, "Authorization"),
        ({**LOCAL, "api_key_env": KEY}, "api_key_env"),
        ({**LOCAL, "api_key_env": "3f9a1c77b2d84e6f3f9a"}, "api_key_env"),
        ({**LOCAL, "model": KEY}, "model"),
        ({**LOCAL, "base_url": f"http://user:{KEY}@localhost/v1"}, "base_url"),
        ({**LOCAL, "base_url": f"http://{KEY}@localhost/v1"}, "base_url"),
        ({**LOCAL, "base_url": f"http://localhost/v1?key={KEY}"}, "base_url"),
        ({**LOCAL, "base_url": "http://localhost/v1?k=3f9a1c77b2d84e6f"}, "base_url"),
        ({**LOCAL, "base_url": f"http://localhost/v1#{KEY}"}, "base_url"),
    ],
)
def test_keys_in_profiles_are_refused_and_not_repeated(fields: dict[str, Any], at: str) -> None:
    with pytest.raises(ValidationError) as error:
        Team.model_validate({"models": {"smart": fields}})
    text = str(error.value) + repr(error.value) + repr(error.value.errors()) + error.value.json()
    assert KEY not in text
    assert "3f9a1c77b2d84e6f" not in text
    (problem,) = error.value.errors()
    assert problem["loc"] == ("models", "smart", at)
    assert "api_key_env: OPENAI_API_KEY" in problem["msg"]


def test_a_key_beside_another_error_is_not_repeated_either() -> None:
    with pytest.raises(ValidationError) as error:
        ModelProfile.model_validate({**LOCAL, "api_key": KEY, "timeout_s": -1})
    assert KEY not in str(error.value) + repr(error.value.errors())


def test_where_the_key_comes_from() -> None:
    assert ModelProfile(kind="openai", model="m").key_variable == "OPENAI_API_KEY"
    assert ModelProfile.model_validate(LOCAL).key_variable is None
    named = ModelProfile.model_validate({**LOCAL, "api_key_env": "MY_KEY"})
    assert named.key_variable == "MY_KEY"
    with pytest.raises(MissingKey, match=r"MY_KEY is not set.*export MY_KEY="):
        build_model(named, env={})
    with pytest.raises(MissingKey, match="MY_KEY is not set"):
        build_model(named, env={"MY_KEY": "  "})
    with pytest.raises(MissingKey, match="no key has") as error:
        build_model(named, env={"MY_KEY": f"{KEY}\nX-Evil: 1"})
    assert KEY not in str(error.value)


async def test_only_the_named_variable_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "ambient-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: ambient-secret")
    asked = ModelRequest(messages=(Message.user("hello"),))
    with Endpoint(lambda request: "x") as endpoint:
        settings = {**LOCAL, "base_url": endpoint.url}
        await build_model(ModelProfile.model_validate(settings)).complete(asked)
        settings["api_key_env"] = "MY_KEY"
        profile = ModelProfile.model_validate(settings)
        await build_model(profile, env={"MY_KEY": KEY}).complete(asked)
    keyless, keyed = endpoint.received
    assert "ambient-secret" not in repr(endpoint.received)
    assert "authorization" not in keyless.headers
    assert keyed.headers["authorization"] == f"Bearer {KEY}"
    assert not any(name.startswith("x-") for name in keyed.headers)


@pytest.mark.parametrize(
    "url",
    [
        None,
        "https://api.openai.com/v1",
        "http://127.0.0.1.example.com/v1",
        "http://10.0.0.1/v1",
        "http://localhost.example.com/v1",
        "http://0.0.0.0:8000/v1",
    ],
)
def test_tests_cannot_ask_other_machines(url: str | None) -> None:
    fields: dict[str, Any] = {"kind": "openai", "model": "m", "api_key_env": "MY_KEY"}
    if url is not None:
        fields["base_url"] = url
    profile = ModelProfile.model_validate(fields)
    with pytest.raises(RequestRejected, match=LOCAL_ONLY_VARIABLE):
        build_model(profile, env={"MY_KEY": KEY})


async def test_the_guard_stands_at_the_wire_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOCAL_ONLY_VARIABLE, "0")
    profile = ModelProfile(kind="openai", model="m", base_url="http://192.0.2.1/v1", max_retries=0)
    model = build_model(profile)  # made where it is allowed, asked where it is not
    monkeypatch.setenv(LOCAL_ONLY_VARIABLE, "1")
    with pytest.raises(RequestRejected, match=LOCAL_ONLY_VARIABLE):
        await model.complete(ModelRequest(messages=(Message.user("hello"),)))


def test_loopback_is_recognised() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"]))
    assert not any(map(is_loopback, ["example.com", "128.0.0.1", "localhost.example.com", ""]))


def test_proxies_are_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert proxy_for("https://api.example.com/v1") == "http://proxy.example:3128"
    assert proxy_for("https://inside.example/v1") is None
    assert proxy_for("http://127.0.0.1:8000/v1") is None


def test_a_cassette_that_is_absent_is_named(tmp_path: Path) -> None:
    profile = ModelProfile(kind="replay", cassette=tmp_path / "absent.jsonl")
    with pytest.raises(LanguageError, match=r"absent\.jsonl cannot be read.*record_to"):
        build_model(profile)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"- openai", "expected a map"),
        (b"kind: [", "m.yaml"),
        (b"kind: magic\ntimeout_s: -3", "timeout_s"),
        (b"kind: rules\nkind: openai", "kind"),
        (b"\xff\xfe\x00", "UTF-8"),
        pytest.param(b"[" * 4000, "m.yaml", id="nested 4000 deep"),
    ],
)
def test_a_file_that_holds_no_profile_is_one_line(
    content: bytes | None, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "m.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ProfileError) as caught:
        load_profile(file)
    text = str(caught.value)
    assert str(file) in text and said in text and "\n" not in text


def test_a_profile_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        "kind: openai\nmodel: small\nbase_url: http://localhost:1/v1\n"
    )
    assert load_profile(tmp_path / "m.yaml").model == "small"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {**LOCAL, "timeout_s": 3.0},
        {"kind": "local", "threads": 2},
        {"kind": "replay", "cassette": "runs/a.jsonl"},
    ],
)
def test_a_profile_written_out_in_full_is_read_again(given: dict[str, Any]) -> None:
    profile = ModelProfile.model_validate(given)
    assert ModelProfile.model_validate_json(profile.model_dump_json()) == profile
