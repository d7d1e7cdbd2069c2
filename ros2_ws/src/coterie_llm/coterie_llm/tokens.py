"""Token counts without a tokenizer: a usual estimate, and an upper bound for budgets.

Tokenizers differ by model and fetch their tables from the network, so both are counted from the
text.

* Estimate: 0.9 per word, 0.2 per letter beyond a word's sixth, 1.1 per digit, 1.2 per run of signs,
  1.3 per line break (fitted to the model in the box on prompts of one house; within 7 % on those of
  another), and one per character that is not ASCII. Tokenizers that group digits make fewer. Used
  where an endpoint reports no usage, and to cut prompts to a model's context.
* Upper bound: bytes of UTF-8. Byte-level tokenizers (all current ones) never make more tokens than
bytes.
  Used for reservations, which are settled to the real usage when the reply is there.
* Images: the larger of 85 + 170 per 512 px tile and one per 28 x 28 px, the two usual ways to
count.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from coterie_llm.dialect import strict_schema
from coterie_llm.types import Image, Message, ModelRequest, Usage

# What chat templates put around each message, and around the conversation.
_PER_MESSAGE = 16
_PER_REQUEST = 64
_UNKNOWN_IMAGE_TOKENS = 4000
_WORDS, _DIGITS = re.compile(r"[A-Za-z]+"), re.compile(r"[0-9]+")
_SYMBOLS = re.compile(r"[!-/:-@\[-`{-~]+")


@dataclass(frozen=True)
class Prices:
    """Prices of a model [currency per million tokens]."""

    prompt_per_mtok: float = 0.0
    completion_per_mtok: float = 0.0

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Price of so many tokens [currency]."""
        return (
            prompt_tokens * self.prompt_per_mtok + completion_tokens * self.completion_per_mtok
        ) / 1e6

    def usage(
        self, prompt_tokens: int, completion_tokens: int, *, estimated: bool = False
    ) -> Usage:
        """Usage of so many tokens, with its price."""
        cost = self.cost(prompt_tokens, completion_tokens)
        return Usage(prompt_tokens, completion_tokens, cost, estimated)


FREE = Prices()


def estimate_tokens(text: str) -> int:
    """Tokens that a text usually has."""
    wide = 0 if text.isascii() else sum(1 for char in text if ord(char) > 127)
    words = _WORDS.findall(text)
    digits = sum(map(len, _DIGITS.findall(text)))
    parts = (
        0.9 * len(words)
        + 0.2 * sum(max(0, len(word) - 6) for word in words)
        + 1.1 * digits
        + 1.2 * len(_SYMBOLS.findall(text))
        + 1.3 * text.count("\n")
    )
    return wide + math.ceil(parts)


def most_tokens(text: str) -> int:
    """Tokens that a text has at most."""
    return len(text.encode("utf-8", "surrogatepass"))


def image_tokens(image: Image) -> int:
    """Tokens that an image usually has at most."""
    size = image_size(image.data)
    if size is None:
        return _UNKNOWN_IMAGE_TOKENS
    width, height = size
    tiles = math.ceil(width / 512) * math.ceil(height / 512)
    return max(85 + 170 * tiles, math.ceil(width / 28) * math.ceil(height / 28))


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height [px] of a PNG or JPEG file; None when it cannot be told."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if not data.startswith(b"\xff\xd8"):
        return None
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + int(struct.unpack(">H", data[at + 2 : at + 4])[0])
    return None


def estimate_prompt(request: ModelRequest) -> int:
    """Tokens that a request's prompt usually has."""
    text = sum(estimate_tokens(part) + 4 for part in _texts(request))
    return text + sum(image_tokens(i) for m in request.messages for i in m.images)


def estimate_messages(messages: Iterable[Message]) -> int:
    """Tokens that messages usually have, without schema and tools."""
    return sum(estimate_tokens(message.text) + 4 for message in messages)


def most_prompt(request: ModelRequest) -> int:
    """Tokens that a request's prompt has at most, its schema written into the prompt included."""
    text = sum(most_tokens(part) + _PER_MESSAGE for part in _texts(request))
    return _PER_REQUEST + text + sum(image_tokens(i) for m in request.messages for i in m.images)


def _texts(request: ModelRequest) -> list[str]:
    texts = [message.text for message in request.messages]
    for message in request.messages:
        texts += [json.dumps(dict(call.arguments)) + call.name for call in message.tool_calls]
    if request.schema is not None:  # as it is sent: in words beside tools, else in its strict form
        strict = None if request.tools else strict_schema(request.schema)
        texts.append(_compact(request.schema if strict is None else strict))
    for tool in request.tools:
        texts += [tool.name, tool.description, _compact(dict(tool.parameters))]
    return texts


def _compact(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, separators=(",", ":"))
