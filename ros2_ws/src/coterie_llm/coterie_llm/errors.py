"""Errors of models: one exception per kind, with what wrappers need to react.

Messages are written for the person who runs the robots: what happened, what was expected, what to
do. No message ever holds a key (`coterie_llm.redact` removes it before the message is
built).
"""

from __future__ import annotations

import email.utils
import time

from coterie_llm.types import Usage

_NOTHING_USED = Usage()


class LanguageError(Exception):
    """Base of everything in this module.

    Attributes:
        retryable: The same request may succeed a little later.
        endpoint_down: Says something about the endpoint rather than about this request; circuit
            breakers count it.
        maybe_billed: The endpoint may have produced (and billed) tokens although no reply arrived.
        usage: Usage of the failed call, as far as known.
    """

    retryable: bool = False
    endpoint_down: bool = False
    maybe_billed: bool = False
    usage: Usage = _NOTHING_USED


class ProfileError(LanguageError):
    """A file holds no model profile that can be used."""


class ModelUnavailable(LanguageError):
    """No connection, or a connection that broke before a reply was complete."""

    retryable = True
    endpoint_down = True

    def __init__(self, message: str, *, maybe_billed: bool = False) -> None:
        super().__init__(message)
        self.maybe_billed = maybe_billed


class ModelTimeout(ModelUnavailable):
    """No reply in time."""

    def __init__(self, message: str, *, maybe_billed: bool = True) -> None:
        super().__init__(message, maybe_billed=maybe_billed)


class RateLimited(ModelUnavailable):
    """The endpoint asked to slow down (HTTP 429). It lives, so circuit breakers do not count this.

    Attributes:
        retry_after_s: Seconds that the endpoint asked to wait [s], or None when it did not say.
    """

    endpoint_down = False

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerFault(ModelUnavailable):
    """The endpoint failed (HTTP 5xx), or its answer is not the protocol (HTML, broken JSON).

    Attributes:
        status: HTTP status, or 0 when the status was fine and the body was not.
        retry_after_s: Seconds that the endpoint asked to wait [s], or None when it did not say.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        retry_after_s: float | None = None,
        maybe_billed: bool = False,
    ) -> None:
        super().__init__(message, maybe_billed=maybe_billed)
        self.status = status
        self.retry_after_s = retry_after_s


class RequestRejected(LanguageError):
    """The endpoint refuses this request (HTTP 4xx but 429): wrong key, unknown model, too long, ...

    Attributes:
        status: HTTP status, or 0 when the request was refused before it was sent.
    """

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
        # With a wrong key, URL or model name every further call fails as well: let the breaker
        # open.
        self.endpoint_down = status in (401, 403, 404)


class CircuitOpen(ModelUnavailable):
    """Not asked: the endpoint failed too often just now."""

    retryable = False
    endpoint_down = False


class BudgetExceeded(LanguageError):
    """Not asked: the call could cost more than what is left of the budget."""


class BadReply(LanguageError):
    """The reply cannot be used: not JSON, wrong schema, a refusal, cut off, too long.

    Attributes:
        text: The reply as far as it was read (bounded), for the second question.
    """

    def __init__(self, message: str, *, text: str = "", usage: Usage = _NOTHING_USED) -> None:
        super().__init__(message)
        self.text = text
        self.usage = usage


class CutOff(BadReply):
    """The reply ended at its limit of tokens.

    Attributes:
        limit: Limit that the reply reached [tokens].
        thought: Nothing of a reply had come: all of it went into thinking.
    """

    def __init__(
        self, limit: int, *, thought: bool, text: str = "", usage: Usage = _NOTHING_USED
    ) -> None:
        said = (
            f"no reply came within {limit} tokens: all went into thinking; raise thinking_tokens "
            "of the model's profile, or lower its reasoning_effort"
            if thought
            else f"the reply was cut off after {limit} tokens; be brief"
        )
        super().__init__(said, text=text, usage=usage)
        self.limit = limit
        self.thought = thought


class CheckFailed(LanguageError):
    """A reply that fits its schema but not the state. Raised by `Decision.check`.

    The message goes back to the model, so it says what came, what was expected and what to do, as
    in "place 'p9' is no neighbour of 'p3'; choose one of p1, p4, p7".

    Attributes:
        reply_text: The reply that failed (set by `read_reply`), for the second question.
    """

    reply_text: str = ""


class ReplayMiss(LanguageError):
    """A cassette holds no reply for this request; the message shows a diff to the nearest one.

    Attributes:
        fatal: `Decider.decide` raises it rather than fall back to the rule, since a replay that
            silently answers with rules would not repeat the recorded run.
    """

    def __init__(self, message: str, *, fatal: bool = True) -> None:
        super().__init__(message)
        self.fatal = fatal


class NoLocalModel(LanguageError):
    """A model of kind `local` cannot be served: not installed, no such file, or no start."""


class MissingKey(LanguageError):
    """The environment variable that a profile names as the place of its key is not set."""


MAX_RETRY_AFTER_S: float = 24 * 3600.0


def parse_retry_after(value: str | None, *, now_s: float | None = None) -> float | None:
    """Read a Retry-After header: seconds, or an HTTP date (RFC 9110, section 10.2.3).

    Args:
        value: The header, or None.
        now_s: Present time as seconds since the epoch [s]; `time.time()` by default.

    Returns:
        Seconds to wait [s], at least 0 and at most a day; None when absent or not understood.
    """
    if value is None or not value.strip():
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(value.strip())
        except (TypeError, ValueError, IndexError, OverflowError):
            return None
        seconds = date.timestamp() - (time.time() if now_s is None else now_s)
    if seconds != seconds:  # NaN
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)
