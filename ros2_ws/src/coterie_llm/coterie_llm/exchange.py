"""Messages that models were sent and replied about one decision, collected for traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from coterie_llm.types import Message, Reply


@dataclass(frozen=True, slots=True)
class Try:
    """One reply of a model: its name, what it said, and why that could not be used ("": it was)."""

    model: str
    said: str
    refused: str = ""


@dataclass(slots=True)
class Exchange:
    """The messages of the first request, and all replies in order."""

    messages: tuple[Message, ...] = ()
    tries: list[Try] = field(default_factory=list)

    def keep(self, model: str, messages: Sequence[Message], said: str, refused: str = "") -> None:
        """Keep a model's reply, and what it was sent."""
        self.messages = self.messages or tuple(messages)
        self.tries.append(Try(model, said, refused))


def said_in(answer: Reply) -> str:
    """Return a reply as text: its words, its fields, or what it looks up."""
    if answer.tool_calls:
        calls = [f"{call.name}({json.dumps(dict(call.arguments))})" for call in answer.tool_calls]
        return f"looks up: {', '.join(calls)}"
    return answer.text or (json.dumps(answer.parsed) if answer.parsed is not None else "")
