"""`./coterie model check`: asks an endpoint what it can do, and puts every decision to it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from coterie_bringup.errors import CommandError
from coterie_bringup.team_models import named_profile
from coterie_core.files import write_atomically
from coterie_core.yaml_checks import suggestion
from coterie_llm import (
    DECISIONS,
    LanguageError,
    LanguageModel,
    ModelProfile,
    OpenAIModel,
    Wrapper,
    build_model,
)
from coterie_llm.fence import inline_data
from coterie_llm.types import Sampled
from coterie_llm.waiting import within
from research.bench.common.tables import print_whole
from research.bench.decision_samples import decision_samples, sampled
from research.models.decisions import DecisionRow, put
from research.models.probe import Probe, probe

SOME = 3
"""Exit code where the model is fit for some decisions and not for all."""
UNFIT = 1
"""Exit code where it is fit for none, or does not answer."""
_STYLES = {
    "yes": "green", "fit": "green", "partly": "yellow", "asked again": "yellow",
    "not always": "yellow", "too slow": "yellow", "no": "red", "unfit": "red", "not asked": "dim",
}  # fmt: skip


@dataclass(frozen=True)
class CheckOptions:
    """What is checked.

    Attributes:
        model: Id of the model, where the endpoint has several.
        key_env: Environment variable with the endpoint's key.
        decisions: Names, or parts of them before a point (`emos`); empty: all. `none`: no decision.
        samples: States of each decision.
        seed: Of the houses that the states come from.
        seconds: Seconds for one question or decision [s].
        longest: Largest prompt that is tried [tokens].
        out: File for the result as JSON.
    """

    model: str | None = None
    key_env: str | None = None
    decisions: tuple[str, ...] = ()
    samples: int = 1
    seed: int = 1
    seconds: float = 60.0
    longest: int = 16_000
    out: Path | None = None


def check(endpoint: str, options: CheckOptions) -> int:
    """Check an endpoint; return the exit code: 0, `SOME` or `UNFIT`.

    Args:
        endpoint: Its URL, the name of a model profile that always exists, or a profile's file.
        options: What is checked.

    Raises:
        CommandError: There is no such profile or decision, or the endpoint is not reached.
    """
    console = Console(highlight=False)
    names = _chosen(options.decisions)
    profile, limit_s = asyncio.run(_profile(endpoint, options))
    try:
        model = build_model(profile)
    except LanguageError as error:
        raise CommandError(str(error)) from None
    plain = _plain_model(model)
    console.print(f"[bold]{profile.model or model.name}[/] at {endpoint}", highlight=False)
    samples = decision_samples(names, seed=options.seed, count=options.samples) if names else {}
    if samples:
        console.print(f"{len(samples)} decisions, each in at most {options.seconds:g} s a state")
    # Each decision gets a line below: not a second one of the log.
    logging.getLogger("coterie_llm").setLevel(logging.ERROR)
    found: Probe | None = None
    rows: list[DecisionRow] = []

    async def work() -> None:
        nonlocal found
        with console.status("asking") as status:
            try:
                found = await probe(
                    _endpoint(model),
                    timeout_s=options.seconds,
                    longest=options.longest,
                    tell=lambda name: status.update(f"asking: {name}"),
                )
            except LanguageError as error:
                raise CommandError(f"it does not answer: {error}", exit_code=UNFIT) from None
            print_whole(_findings(found), console)
            for name, states in samples.items():
                status.update(f"{name} ({len(rows) + 1} of {len(samples)})")
                row = await put(
                    plain,
                    states,
                    timeout_s=options.seconds,
                    limit_s=limit_s,
                    policy=profile.policy,
                )
                rows.append(row)
                console.print(f"  {name}: {row.fitness}, {row.seconds:.0f} s", style="dim")
        await model.aclose()

    asyncio.run(work())
    assert found is not None
    if rows:
        print_whole(_decisions(rows), console)
        for reason, those in _why(rows).items():
            text = f"  {', '.join(those)}: {reason[:300]}"
            console.print(text, style="dim", markup=False, soft_wrap=True)
    console.print(_advice(rows, limit_s), highlight=False, soft_wrap=True)
    if options.out is not None:
        data = {
            "endpoint": endpoint if "://" not in endpoint else profile.base_url,
            "model": profile.model or model.name,
            "abilities": [asdict(one) for one in found.findings],
            "decisions": [row.as_data() for row in rows],
        }
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(options.out, json.dumps(data, indent=1) + "\n")
        console.print(f"  {options.out}", style="dim", markup=False, highlight=False)
    return exit_code(found, rows)


def exit_code(found: Probe, rows: Sequence[DecisionRow]) -> int:
    """Return 0 where all that was asked is fit, `UNFIT` where nothing is, else `SOME`."""
    schema = found.of("schema")
    good = [row.fitness in ("fit", "asked again") for row in rows]
    good.append(schema is not None and schema.verdict == "yes")
    if all(good):
        return 0
    return SOME if any(good) else UNFIT


def _chosen(given: Sequence[str]) -> list[str]:
    if tuple(given) == ("none",):
        return []
    names: list[str] = []
    for word in given:
        found = [name for name in sampled() if name == word or name.startswith(f"{word}.")]
        if not found:
            raise CommandError(
                f"--decisions {word}: no such decision{suggestion(word, DECISIONS)}; they are "
                f"{', '.join(DECISIONS)}"
            )
        names += found
    return list(dict.fromkeys(names)) or sampled()


async def _profile(endpoint: str, options: CheckOptions) -> tuple[ModelProfile, float]:
    """Return a profile that asks each question once and keeps no replies.

    Returns:
        The profile, and how long a reply is waited for where it is used [s].
    """
    changes: dict[str, Any] = {"cache": 0, "max_retries": 0, "timeout_s": options.seconds}
    if "://" not in endpoint:
        found = named_profile(endpoint)
        if found.kind in ("rules", "replay"):
            raise CommandError(f"{endpoint}: a profile of kind {found.kind} has no endpoint")
        if options.model:
            changes["model"] = options.model
        return found.model_copy(update=changes), found.timeout_s
    parts = urllib.parse.urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CommandError(f"{endpoint}: expected a URL such as http://localhost:11434/v1")
    try:
        ids = await list_models(endpoint, options.key_env)
    except LanguageError as error:
        raise CommandError(str(error), exit_code=UNFIT) from None
    name = options.model or (ids[0] if ids else None)
    if name is None:
        raise CommandError(f"{endpoint} lists no models; name one with --model")
    if ids and name not in ids:
        raise CommandError(
            f"--model {name}: {endpoint} has no such model{suggestion(name, ids)}; it lists "
            f"{', '.join(ids[:12])}"
        )
    try:
        made = ModelProfile.model_validate(
            {
                "kind": "openai",
                "base_url": endpoint,
                "model": name,
                "api_key_env": options.key_env,
                **changes,
            }
        )
        return made, options.seconds
    except ValueError as error:
        raise CommandError(f"{endpoint}: {error}") from None


def _endpoint(model: LanguageModel) -> OpenAIModel:
    while isinstance(model, Wrapper):
        model = model.inner
    assert isinstance(model, OpenAIModel)  # of its kind
    return model


def _plain_model(model: LanguageModel) -> LanguageModel:
    """Return the endpoint with the profile's sampling, and without its circuit.

    A decision that it is too slow for must not count against the next.
    """
    endpoint = _endpoint(model)
    if isinstance(model, Sampled):
        model.inner = endpoint
        return model
    return endpoint


def _findings(found: Probe) -> Table:
    table = Table(title="What the endpoint can do")
    for column in ("ability", "there", "seen"):
        table.add_column(column)
    for one in found.findings:
        table.add_row(one.name, f"[{_STYLES[one.verdict]}]{one.verdict}[/]", _plain(one.detail))
    return table


def _decisions(rows: Sequence[DecisionRow]) -> Table:
    table = Table(title="What it can decide")
    table.add_column("decision")
    table.add_column("verdict")
    for column in ("at once", "asked again", "by rule", "s", "tokens sent"):
        table.add_column(column, justify="right")
    for row in rows:
        name = f"{row.name} (images)" if row.images else row.name
        table.add_row(
            name,
            f"[{_STYLES[row.fitness]}]{row.fitness}[/]",
            *(str(count) for count in (row.at_once, row.asked_again, row.by_rule)),
            f"{row.seconds:.1f}",
            f"{row.prompt_tokens:.0f}",
        )
    return table


def _why(rows: Sequence[DecisionRow]) -> dict[str, list[str]]:
    """Return reason -> decisions that have it; those that differ only in numbers are one."""
    told: dict[str, str] = {}
    out: dict[str, list[str]] = {}
    for row in rows:
        for reason in row.reasons[:1]:
            first = told.setdefault(re.sub(r"[\d.]+", "0", reason), reason)
            out.setdefault(first, []).append(row.name)
    return out


def _advice(rows: Sequence[DecisionRow], limit_s: float) -> str:
    """Return what to put into the profile, so that the rules decide what the model cannot."""
    poor = [row.name for row in rows if row.fitness not in ("fit", "asked again")]
    if not rows:
        return "no decision was put to it"
    if not poor:
        return f"fit for all {len(rows)} decisions that were put to it"
    modes = ", ".join(f"{name}: rule" for name in poor)
    late = [row for row in rows if row.fitness == "too slow" and not row.late]
    slow = (
        f"{len(late)} took longer than the {limit_s:g} s for which its profile waits (timeout_s)\n"
        if late
        else ""
    )
    return slow + (
        f"fit for {len(rows) - len(poor)} of {len(rows)} decisions; the rules decide the others "
        f"without asking it if its profile has\n  modes: {{{modes}}}"
    )


def _plain(text: str) -> str:
    """Return text of an endpoint for the terminal: no markup, no control characters."""
    return "".join(c if c.isprintable() else " " for c in text).replace("[", r"\[")


async def list_models(
    base_url: str,
    api_key_env: str | None = None,
    *,
    timeout_s: float = 20.0,
    env: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the ids of the models that an endpoint lists; empty where it lists none.

    Raises:
        MissingKey: The variable named is not set.
        LanguageError: It is not reached, or refuses.
    """
    import openai

    asked = OpenAIModel("", base_url=base_url, api_key_env=api_key_env, env=env)

    async def ask() -> list[str]:
        try:
            listed = await asked._client().models.with_raw_response.list()
            data = json.loads(listed.http_response.content).get("data")
        except openai.APIConnectionError as failure:
            error: LanguageError = asked._from_connection(failure)
        except openai.APIStatusError as failure:
            if failure.status_code == 404:
                return []  # not every endpoint has this
            error = asked._from_status(failure)
        except (openai.OpenAIError, ValueError, AttributeError, RecursionError):
            return []
        else:
            found = [one.get("id") for one in data or () if isinstance(one, dict)]
            return [inline_data(name, limit=120) for name in found if isinstance(name, str)]
        raise error

    try:
        return await within(ask(), timeout_s, f"models of {base_url}")
    finally:
        await asked.aclose()
