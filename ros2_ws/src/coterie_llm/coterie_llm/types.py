"""Types of requests to a model and of its replies: messages, images, tools."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]

LARGEST_IMAGE_BYTES: int = 8_000_000
_MAGIC = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/webp": (b"RIFF",),
}


@dataclass(frozen=True)
class Image:
    """One picture for a model, already encoded.

    Attributes:
        data: The encoded file, at most 8 MB.
        mime: `image/png`, `image/jpeg` or `image/webp`; must match the data.

    Raises:
        ValueError: Not one of these formats, the data is something else, or it is too big.
    """

    data: bytes = field(repr=False)
    mime: str = "image/png"

    def __post_init__(self) -> None:
        if self.mime not in _MAGIC:
            raise ValueError(
                f"image format '{self.mime}' is not supported; use one of {', '.join(_MAGIC)}"
            )
        if not self.data.startswith(_MAGIC[self.mime]):
            raise ValueError(
                f"image data is not {self.mime} (its first bytes are {self.data[:4].hex()})"
            )
        if len(self.data) > LARGEST_IMAGE_BYTES:
            raise ValueError(
                f"image has {len(self.data)} bytes, at most {LARGEST_IMAGE_BYTES} are sent to a "
                "model; scale it down"
            )


@dataclass(frozen=True)
class ToolSpec:
    """A function that the model may ask to call.

    Attributes:
        name: Letters, digits, `_` and `-`.
        description: Description of the function, for the model.
        parameters: JSON schema of its arguments (an object).
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class ToolCall:
    """The model's wish to call a tool. Untrusted: whoever runs the tool checks the arguments."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """One turn of the conversation.

    Attributes:
        role: Role of the speaker.
        text: Text of the turn. Untrusted parts are fenced with `as_data` or `inline_data`.
        images: Pictures that go with a user's turn.
        tool_calls: Tool calls that an assistant's turn asks for.
        tool_call_id: Tool call that a tool's turn answers.
    """

    role: Role
    text: str
    images: tuple[Image, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    @classmethod
    def system(cls, text: str) -> Message:
        """What the model is and what it has to do."""
        return cls("system", text)

    @classmethod
    def user(cls, text: str, *images: Image) -> Message:
        """The question and its data."""
        return cls("user", text, images)

    @classmethod
    def assistant(cls, text: str) -> Message:
        """An earlier reply of the model."""
        return cls("assistant", text)


@dataclass(frozen=True)
class Usage:
    """Tokens and money used by one or more calls.

    Attributes:
        prompt_tokens: Tokens sent.
        completion_tokens: Tokens produced.
        cost: Price by the profile's rates [currency of the profile].
        estimated: Whether at least a part was estimated here because the endpoint reported nothing.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Tokens sent and produced."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True)
class ModelRequest:
    """One question to a model.

    Attributes:
        messages: The conversation so far.
        schema: JSON schema that the reply must fit, or None for free text.
        tools: Functions that the model may ask to call.
        temperature: Sampling temperature, or None for the endpoint's default.
        seed: Sampling seed, or None.
        max_tokens: Most tokens that may be produced. Always sent: budgets rely on it.
        reasoning_effort: Reasoning effort of a model that reasons, or None for its default.
        timeout_s: Seconds within which the caller needs the reply, retries and queues included [s];
            None: no limit.
        tags: Tags that say who asks what: `who` (robot) and `decision`. Not sent to the endpoint,
            not part of a cassette's key.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = 0.0
    seed: int | None = None
    max_tokens: int = 1024
    reasoning_effort: str | None = None
    timeout_s: float | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def with_timeout(self, timeout_s: float) -> ModelRequest:
        """The same request with at most `timeout_s` seconds left [s]."""
        if self.timeout_s is not None and self.timeout_s <= timeout_s:
            return self
        return dataclasses.replace(self, timeout_s=timeout_s)


@dataclass(frozen=True)
class Reply:
    """What a model replied. All of it is untrusted.

    Attributes:
        text: The reply as written.
        parsed: The JSON object in it when the request had a schema (not yet validated), else None.
        tool_calls: Functions that the model asks to call.
        usage: Tokens and cost.
        model: Name of the model that replied, as the endpoint reports it.
        finish_reason: `stop`, `tool_calls`, ... as the endpoint reports it.
    """

    text: str
    parsed: dict[str, Any] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    finish_reason: str = "stop"


class LanguageModel(abc.ABC):
    """Anything that answers a `ModelRequest`: an endpoint, a cassette, a wrapper around either.

    One model may be shared by any number of robots and event loops.
    """

    #: What cassettes and tables call this model.
    name: str = ""

    @abc.abstractmethod
    async def complete(self, request: ModelRequest) -> Reply:
        """Answer the request.

        Raises:
            LanguageError: Any of `coterie_llm.errors`.
        """

    async def lives(self, timeout_s: float) -> bool:
        """Return whether the endpoint answers anything at all, in so many seconds [s].

        False where that cannot be told.
        """
        return False

    async def aclose(self) -> None:  # noqa: B027  (most models hold nothing to close)
        """Close connections of the running loop. The model can be used again afterwards."""


class Wrapper(LanguageModel):
    """A model around a model: passes everything on; subclasses add one behaviour each."""

    def __init__(self, inner: LanguageModel) -> None:
        self.inner = inner
        self.name = inner.name

    async def complete(self, request: ModelRequest) -> Reply:
        """Answer the request with the inner model."""
        return await self.inner.complete(request)

    async def lives(self, timeout_s: float) -> bool:
        """Return whether the inner model's endpoint answers anything at all."""
        return await self.inner.lives(timeout_s)

    async def aclose(self) -> None:
        """Close the inner model's connections of the running loop."""
        await self.inner.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"


class Sampled(Wrapper):
    """Sampling of a profile, put over what decisions ask for.

    Args:
        inner: The model.
        temperature: Replaces the request's temperature; None leaves it.
        seed: Used where the request has no seed of its own.
        reply_factor: Replies may be so many times as long as the decision says.
        thinking_tokens: Tokens for thinking, on top of that.
        reasoning_effort: Used where the request has none of its own.
    """

    def __init__(
        self,
        inner: LanguageModel,
        *,
        temperature: float | None = None,
        seed: int | None = None,
        reply_factor: float = 1.0,
        thinking_tokens: int = 0,
        reasoning_effort: str | None = None,
    ) -> None:
        super().__init__(inner)
        self._temperature = temperature
        self._seed = seed
        self._reply_factor = reply_factor
        self._thinking_tokens = thinking_tokens
        self._reasoning_effort = reasoning_effort

    async def complete(self, request: ModelRequest) -> Reply:
        """Answer the request with the profile's sampling."""
        temperature = request.temperature if self._temperature is None else self._temperature
        seed = self._seed if request.seed is None else request.seed
        return await self.inner.complete(
            dataclasses.replace(
                request,
                temperature=temperature,
                seed=seed,
                max_tokens=math.ceil(request.max_tokens * self._reply_factor)
                + self._thinking_tokens,
                reasoning_effort=request.reasoning_effort or self._reasoning_effort,
            )
        )
