"""What another model replies to a decision's prompt: exactly what was sent then, sent to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coterie_llm import (
    LanguageError,
    LanguageModel,
    Message,
    ModelProfile,
    ModelRequest,
    build_model,
    extract_json,
)
from coterie_safety.why import Record
from coterie_safety.why.words import line, mappings, reply_words
from research.whatif.rerun.kept import CannotReplay

_ROLES = ("system", "user", "assistant", "tool")
_CUT = "… ("


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """A decision as it was made, and what another model replies; `problem`: why it replies none."""

    id: str
    who: str
    name: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    problem: str = ""

    @property
    def differs(self) -> bool:
        """Whether it would have decided otherwise; the words of the reason do not count."""
        return not self.problem and _without_reason(self.before) != _without_reason(self.after)

    def in_words(self) -> tuple[str, str]:
        """Return both replies in a line each."""
        after = self.problem or reply_words(self.after)
        return reply_words(self.before), after


def _without_reason(reply: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in reply.items() if key != "reason"}


def ask_again(records: list[Record], profile: ModelProfile) -> list[DecisionChange]:
    """Put decisions to another model, with the prompts that were kept.

    Raises:
        CannotReplay: The profile asks no model.
    """
    if profile.kind == "rules":
        raise CannotReplay("--model rules asks no model; a rule's reply is the one that is kept")
    return asyncio.run(_ask_all(records, profile))


async def _ask_all(records: list[Record], profile: ModelProfile) -> list[DecisionChange]:
    model = build_model(profile)
    try:
        return [await _ask(record, model, profile) for record in records]
    finally:
        await model.aclose()


async def _ask(record: Record, model: LanguageModel, profile: ModelProfile) -> DecisionChange:
    body = record.body
    name, before = str(body.get("name", "")), body.get("reply")
    kept = before if isinstance(before, Mapping) else {}
    try:
        request = request_of(body, profile)
        answer = await model.complete(request)
        after = answer.parsed if answer.parsed is not None else extract_json(answer.text)
        # As the decision would have read it: what is left out has its default.
        whole = {key: after.get(key, value) for key, value in kept.items()}
        return DecisionChange(record.id, record.who, name, kept, {**whole, **after})
    except (CannotReplay, LanguageError) as error:
        return DecisionChange(record.id, record.who, name, kept, {}, line(error))


def request_of(body: Mapping[str, Any], profile: ModelProfile) -> ModelRequest:
    """Return the request of a decision that was kept.

    Raises:
        CannotReplay: Not all of it was kept.
    """
    messages = []
    for one in mappings(body.get("prompt")):
        role, text = one.get("role"), one.get("text")
        if one.get("images"):
            raise CannotReplay("images of its prompt are not kept")
        if role not in _ROLES or not isinstance(text, str) or (_CUT in text[-40:]):
            raise CannotReplay("its prompt was too long to be kept whole")
        messages.append(Message(role, text))
    schema = body.get("schema")
    if not messages or not isinstance(schema, Mapping):
        raise CannotReplay("its prompt is not kept")
    return ModelRequest(
        messages=tuple(messages),
        schema=json.loads(json.dumps(schema)),
        max_tokens=int(body.get("max_tokens") or 1024),
        timeout_s=profile.timeout_s,
        tags={"who": "whatif", "decision": str(body.get("name", ""))},
    )
