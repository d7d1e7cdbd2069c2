"""Tokens of each decision's prompt, counted by a local model's own tokenizer."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from rich.table import Table

from coterie_llm import DECISIONS, ModelProfile
from coterie_llm.decision import request_for
from coterie_llm.dialect import Dialect
from coterie_llm.local import LocalServer, ensure_served
from research.bench.decision_samples import Sample, decision_samples

_WITHIN_S = 60.0


def token_table(profile: ModelProfile, names: Sequence[str] = DECISIONS, seed: int = 3) -> Table:
    """Return how many tokens the prompts of decisions have, and how many begin like the last one.

    Args:
        profile: A profile of kind `local`: its server counts, and its limits shorten prompts.
        names: Of decisions.
        seed: Of the houses in which they come up.

    Raises:
        ValueError: The profile is of another kind.
        NoLocalModel: The server does not start.
    """
    server = ensure_served(profile)
    if server is None:
        raise ValueError("--tokens: only a model of kind local counts tokens; give its --profile")
    table = Table(title="Tokens of prompts, and of these like the last one", title_justify="left")
    for column in ("decision", "tokens", "like the last"):
        table.add_column(column, justify="left" if column == "decision" else "right")
    for name, counts in _counts(server, profile, decision_samples(names, seed=seed)):
        tokens = [str(count) for count, _ in counts]
        table.add_row(name, ", ".join(tokens), ", ".join(str(same) for _, same in counts[1:]))
    return table


def _counts(
    server: LocalServer, profile: ModelProfile, samples: Mapping[str, Sequence[Sample]]
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    for name, some in samples.items():
        counts: list[tuple[int, int]] = []
        last: list[int] = []
        for sample in some:
            tokens = _tokens(server, profile, sample)
            alike = takewhile(lambda pair: pair[0] == pair[1], zip(tokens, last, strict=False))
            counts.append((len(tokens), sum(1 for _ in alike)))
            last = tokens
        yield name, counts


def _tokens(server: LocalServer, profile: ModelProfile, sample: Sample) -> list[int]:
    request = request_for(
        sample.decision, sample.state, "model", profile.conversation_tokens,
        short=profile.policy.short, look_ups=profile.turns > 0,
    )  # fmt: skip
    body = Dialect().body("", request)
    messages = [{**one, "content": _text(one["content"])} for one in body["messages"]]
    prompt = _ask(server, "/apply-template", {"messages": messages})["prompt"]
    told = _ask(server, "/tokenize", {"content": prompt, "parse_special": True})
    return [int(token) for token in told["tokens"]]


def _text(content: Any) -> str:
    """Return the text of a message; images count for nothing here."""
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


def _ask(server: LocalServer, path: str, body: Mapping[str, Any]) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.key}"}
    url = server.url.removesuffix("/v1") + path
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=_WITHIN_S) as answer:
        return json.load(answer)
