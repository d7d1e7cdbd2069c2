"""Faults that a test endpoint plays on one request."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Fault:
    """Something that goes wrong with one request. The base class answers normally."""


@dataclasses.dataclass(frozen=True)
class Status(Fault):
    """An HTTP status with an error body as OpenAI words it."""

    status: int
    message: str = "something went wrong"
    code: str = ""
    headers: tuple[tuple[str, str], ...] = ()


def rate_limit(retry_after: str | None = None) -> Status:
    """HTTP 429, with Retry-After (seconds or an HTTP date) if given."""
    headers = () if retry_after is None else (("Retry-After", retry_after),)
    return Status(429, "too many requests", "rate_limit_exceeded", headers)


def server_error(status: int = 500) -> Status:
    """HTTP 500 or another."""
    return Status(status, "the server had an error")


def form_unsupported(form: str = "json_schema") -> Status:
    """HTTP 400 as of an endpoint that does not know a `response_format`."""
    return Status(400, f"response_format of type '{form}' is not supported", "invalid_request")


@dataclasses.dataclass(frozen=True)
class Hang(Fault):
    """No answer for so many seconds [s] (then the connection is closed)."""

    seconds: float = 3600.0


@dataclasses.dataclass(frozen=True)
class Cut(Fault):
    """The connection breaks in the middle of the body, or before any answer."""

    before_headers: bool = False


@dataclasses.dataclass(frozen=True)
class Raw(Fault):
    """A body as it is: broken JSON, HTML, anything."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200


@dataclasses.dataclass(frozen=True)
class Drip(Fault):
    """The normal answer, byte by byte with a pause between [s]."""

    pause_s: float = 0.05


@dataclasses.dataclass(frozen=True)
class Huge(Fault):
    """A reply of so many bytes, sent in chunks for as long as the client reads."""

    size: int = 50_000_000


@dataclasses.dataclass(frozen=True)
class Says(Fault):
    """A normal answer with this content, whatever the responder would say."""

    content: Any
    finish_reason: str = "stop"


@dataclasses.dataclass(frozen=True)
class Refusal(Fault):
    """The model declines."""

    words: str = "I cannot help with that."


@dataclasses.dataclass(frozen=True)
class EmptyChoices(Fault):
    """A valid answer without any choice."""


@dataclasses.dataclass(frozen=True)
class Echo(Fault):
    """Sends the request's headers and body back as error text, as careless gateways do."""

    status: int = 400


@dataclasses.dataclass(frozen=True)
class Obey(Fault):
    """Does what an instruction hidden in the prompt orders: replies the JSON after `marker`."""

    marker: str = "SAY"


BROKEN_JSON = Raw(b'{"id": "x", "choices": [{"message": {"role": "assist')
HTML = Raw(b"<html><body><h1>502 Bad Gateway</h1></body></html>", "text/html")
BROKEN_CONTENT = Says('{"place": "p3", ')
CUT_OFF = Says('{"place": "p3"', "length")
