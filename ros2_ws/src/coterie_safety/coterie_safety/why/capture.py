"""A decision as a record's body: what went in, what came out, who decided."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict
from typing import Any

from coterie_llm.tracing import DecisionTrace
from coterie_llm.types import Message

_MOST_PICTURES, _LARGEST_PICTURE = 4, 200_000
"""Pictures of a message that are kept with it, and the most bytes of one."""


def of_decision(trace: DecisionTrace) -> dict[str, Any]:
    """Return a decision as plain data.

    Where a rule decided without a model, the prompt is what a model would have been sent: all that
    was known.
    """
    made = trace.decided
    asked = bool(trace.tries)
    body: dict[str, Any] = {
        "name": trace.name,
        "mode": made.mode,
        "by": made.decided_by,
        "model": made.model,
        "asked": asked,
        "reply": made.reply.model_dump(mode="json"),
        "reason": made.reason,
        "seconds": round(made.seconds, 4),
        "prompt": [_message(message) for message in trace.prompt()],
        "schema": trace.schema(),
        "max_tokens": trace.max_tokens,
    }
    if trace.own:
        body["own"] = trace.own
    if asked:
        usage = made.usage
        body["tries"] = [asdict(one) for one in trace.tries]
        body["tokens"] = [usage.prompt_tokens, usage.completion_tokens]
        body["cost"] = usage.cost
    if made.tool_uses:
        body["looked_up"] = [asdict(use) for use in made.tool_uses]
    return body


def _message(message: Message) -> dict[str, Any]:
    told: dict[str, Any] = {"role": message.role, "text": message.text}
    if message.images:
        told["images"] = [
            f"{image.mime}, {len(image.data)} bytes, sha256 "
            f"{hashlib.sha256(image.data).hexdigest()[:16]}"
            for image in message.images
        ]
        told["pictures"] = [
            base64.b64encode(image.data).decode()
            for image in message.images[:_MOST_PICTURES]
            if len(image.data) <= _LARGEST_PICTURE
        ]
    return told
