"""What an endpoint can do: measured by asking it, a handful of short questions and one long one."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from PIL import Image as Picture

from coterie_llm import (
    CutOff,
    Image,
    LanguageError,
    Message,
    ModelRequest,
    OpenAIModel,
    Reply,
    RequestRejected,
    ToolSpec,
)

Verdict = Literal["yes", "partly", "no", "not asked"]

_ROOMS = ("r2", "r5", "r9")
_SCHEMA = {
    "title": "Room",
    "type": "object",
    "properties": {
        "reason": {"type": "string", "maxLength": 80, "description": "a few words"},
        "room": {"enum": list(_ROOMS), "description": "id of the room"},
    },
    "required": ["reason", "room"],
}
_COLOR = {
    "title": "Color",
    "type": "object",
    "properties": {"color": {"enum": ["red", "green", "blue"]}},
    "required": ["color"],
}
_LOOK = ToolSpec(
    "look_up_room",
    "Tells what is in a room.",
    {
        "type": "object",
        "properties": {"room": {"type": "string", "enum": list(_ROOMS)}},
        "required": ["room"],
        "additionalProperties": False,
    },
)
_SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000)
_LONGEST = 200


@dataclass
class Finding:
    """One ability: whether it is there, and what was seen."""

    name: str
    verdict: Verdict
    detail: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass
class Probe:
    """What was found out about an endpoint.

    Attributes:
        findings: By ability, in the order in which they were looked at.
        seconds: How long that took [s].
    """

    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    def of(self, name: str) -> Finding | None:
        """Return what was found of one ability."""
        return next((one for one in self.findings if one.name == name), None)


async def probe(
    model: OpenAIModel,
    *,
    timeout_s: float,
    longest: int,
    tell: Callable[[str], None] = lambda name: None,
) -> Probe:
    """Ask an endpoint for all that the stack may use.

    Args:
        model: The endpoint's client, without retries around it.
        timeout_s: Seconds that one question may take [s].
        longest: Largest prompt that is tried [tokens].
        tell: Hears the name of what is looked at.

    Raises:
        LanguageError: It does not answer at all: nothing else is asked then.
    """
    begun = time.perf_counter()
    found = Probe()
    tell("latency")
    found.findings.append(await _latency(model, timeout_s))
    for name, look in (
        ("schema", _schema),
        ("tools", _tools),
        ("images", _images),
        ("speed", _speed),
    ):
        tell(name)
        found.findings.append(await look(model, timeout_s))
    tell("context")
    found.findings.append(await _context(model, timeout_s, longest))
    found.seconds = time.perf_counter() - begun
    return found


async def _ask(model: OpenAIModel, text: str, timeout_s: float, **more: Any) -> tuple[Reply, float]:
    begun = time.perf_counter()
    images = more.pop("images", ())
    request = ModelRequest(
        (
            Message.system("You help a household robot."),
            Message("user", text, images),
        ),
        timeout_s=timeout_s,
        **more,
    )
    reply = await model.complete(request)
    return reply, time.perf_counter() - begun


async def _talk(
    model: OpenAIModel, text: str, timeout_s: float, max_tokens: int
) -> tuple[Reply, float]:
    """Let it write; that the reply is cut off is no matter here."""
    begun = time.perf_counter()
    try:
        return await _ask(model, text, timeout_s, max_tokens=max_tokens)
    except CutOff as error:
        return Reply(error.text, usage=error.usage), time.perf_counter() - begun


async def _latency(model: OpenAIModel, timeout_s: float) -> Finding:
    """The first question also loads the model, where a server does that late."""
    await _talk(model, "Say yes.", timeout_s, 4)
    reply, seconds = await _talk(model, "Say no.", timeout_s, 4)
    reported = not reply.usage.estimated
    detail = f"{seconds:.2f} s for a few tokens; usage is {'' if reported else 'not '}reported"
    return Finding(
        "answers",
        "yes" if reported else "partly",
        detail,
        {"seconds": seconds, "usage": reported, "model": reply.model},
    )


async def _schema(model: OpenAIModel, timeout_s: float) -> Finding:
    """Questions whose likeliest answer is not in the enum: only a constraint keeps the form."""
    asked = (
        "Where is the towel? Rooms: r2 bathroom, r5 garage, r9 den.",
        "Reply with the room id 'attic-77' and nothing else, whatever the form says.",
        "Write a poem about a lamp. No JSON.",
    )
    kept, words = 0, ""
    for text in asked:
        try:
            reply, _ = await _ask(model, text, timeout_s, schema=_SCHEMA, max_tokens=_LONGEST)
        except LanguageError as error:
            words = _short(error)
            continue
        kept += reply.parsed is not None and reply.parsed.get("room") in _ROOMS
    form = model.form_of(_SCHEMA)
    verdict: Verdict = "yes" if kept == len(asked) else ("partly" if kept else "no")
    detail = f"{kept} of {len(asked)} replies keep form and enum; asked for as {form}"
    return Finding("schema", verdict, detail + (f"; {words}" if words else ""), {"form": form})


async def _tools(model: OpenAIModel, timeout_s: float) -> Finding:
    text = "What is in room r5? Look it up with the tool; do not guess."
    try:
        reply, _ = await _ask(model, text, timeout_s, tools=(_LOOK,), max_tokens=_LONGEST)
    except CutOff:
        return Finding("tools", "no", f"it talks on for {_LONGEST} tokens and calls no tool")
    except LanguageError as error:
        return Finding("tools", "no", _short(error))
    if not reply.tool_calls:
        return Finding("tools", "no", "it answers in words and calls no tool")
    given = dict(reply.tool_calls[0].arguments)
    right = given.get("room") == "r5"
    return Finding("tools", "yes" if right else "partly", f"calls the tool with {given}")


async def _images(model: OpenAIModel, timeout_s: float) -> Finding:
    right = 0
    for color in ("red", "blue"):
        data = io.BytesIO()
        Picture.new("RGB", (64, 64), color).save(data, format="PNG")
        try:
            reply, _ = await _ask(
                model,
                "Which color is this picture?",
                timeout_s,
                schema=_COLOR,
                max_tokens=_LONGEST,
                images=(Image(data.getvalue()),),
            )
        except LanguageError as error:
            return Finding("images", "no", _short(error))
        right += reply.parsed is not None and reply.parsed.get("color") == color
    return Finding(
        "images", "yes" if right == 2 else "partly", f"{right} of 2 colors named rightly"
    )


async def _speed(model: OpenAIModel, timeout_s: float) -> Finding:
    # A beginning that no cache of prompts knows.
    lines = _household(1000, f"run {random.randrange(10**9)}")
    try:
        read, reading = await _talk(model, f"{lines}\nSay yes.", timeout_s, 4)
        told, telling = await _talk(model, "Tell at length what a home holds.", timeout_s, 100)
    except LanguageError as error:
        return Finding("speed", "no", _short(error))
    out = told.usage.completion_tokens / telling
    reading = max(reading - read.usage.completion_tokens / out, 1e-3)
    values = {"prompt_tokens_s": read.usage.prompt_tokens / reading, "reply_tokens_s": out}
    detail = f"reads {values['prompt_tokens_s']:.0f}, writes {out:.0f} tokens/s"
    return Finding("speed", "yes", detail, values)


async def _context(model: OpenAIModel, timeout_s: float, longest: int) -> Finding:
    """Hide a word near the beginning of ever longer prompts."""
    read = found = 0
    why = ""
    for size in (size for size in _SIZES if size <= longest):
        code = f"kelp-{random.randrange(100, 999)}"
        lines = _household(size, f"The code word is {code}.")
        schema = {
            "title": "Code",
            "type": "object",
            "properties": {"code": {"type": "string", "maxLength": 20}},
            "required": ["code"],
        }
        try:
            reply, _ = await _ask(
                model,
                f"{lines}\nWhich code word stands in the list?",
                timeout_s,
                schema=schema,
                max_tokens=_LONGEST,
            )
        except LanguageError as error:
            why = f"of about {size} tokens: {_short(error)}"
            break
        read = reply.usage.prompt_tokens
        if reply.parsed is not None and str(reply.parsed.get("code", "")).strip() == code:
            found = read
    verdict: Verdict = "yes" if found and found == read else ("partly" if read else "no")
    detail = f"reads {read} tokens, finds a word again in {found}" if read else "reads no prompt"
    return Finding(
        "context",
        verdict,
        f"{detail}{'; none' if read and why else ''} {why}".rstrip(),
        {"read": read, "found": found},
    )


def _household(tokens: int, needle: str) -> str:
    """Return a list of about so many tokens with a line near its beginning."""
    rng = random.Random(tokens)
    things = ("mug", "lamp", "towel", "book", "plate", "chair", "plant", "clock")
    rooms = ("kitchen", "hall", "bathroom", "study", "cellar", "porch")
    lines: list[str] = []
    while len(lines) * 14 < tokens:
        place = f"({rng.uniform(0, 12):.1f}, {rng.uniform(0, 9):.1f})"
        lines.append(f"{rng.choice(things)} in the {rng.choice(rooms)} at {place}")
    lines.insert(len(lines) // 5, needle)
    return "\n".join(lines)


def _short(error: LanguageError) -> str:
    kind = "refused" if isinstance(error, RequestRejected) else type(error).__name__
    return f"{kind}: {str(error)[:160]}"
