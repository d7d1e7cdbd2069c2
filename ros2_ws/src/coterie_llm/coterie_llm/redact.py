"""Keys stay secret: holders that never print, and removal of known keys from any text that leaves.

Keys are known to this process from the moment a model is built until it ends. `scrub` takes all of
them out of error messages, replies, cassettes and the HTTP libraries' log records, since an
endpoint may echo what it was sent.
"""

from __future__ import annotations

import base64
import logging
import threading
from typing import NoReturn

REMOVED = "[key removed]"

# Placeholders of keyless endpoints ("none", "ollama") are words; removing them would tear up
# replies.
_SHORTEST_KEY = 8
_HTTP_LOGGERS = (
    "openai",
    "openai._base_client",
    "openai._legacy_response",
    "openai._response",
    "httpx2",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.http2",
    "httpcore2.proxy",
    "httpcore2.socks",
)

_lock = threading.Lock()
_known: tuple[str, ...] = ()


class Secret:
    """A key read from the environment. Prints as stars; revealed only where a request is sent."""

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value
        _remember(value)

    def reveal(self) -> str:
        """The key itself."""
        return self.__value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Secret is not pickled or copied; build the model anew in the other process"
        )


def _remember(value: str) -> None:
    global _known
    if len(value) < _SHORTEST_KEY:
        return
    encoded = base64.b64encode(value.encode()).decode()
    with _lock:
        # Longest first: one key may be the beginning of another.
        _known = tuple(sorted({*_known, value, encoded}, key=lambda k: (-len(k), k)))
    for name in _HTTP_LOGGERS:
        logger = logging.getLogger(name)
        if _FILTER not in logger.filters:
            logger.addFilter(_FILTER)


def scrub(text: str) -> str:
    """The text without any known key."""
    for key in _known:
        if key in text:
            text = text.replace(key, REMOVED)
    return text


class _KeyFilter(logging.Filter):
    """Takes keys out of the HTTP libraries' log records (they log headers of responses)."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except Exception:  # a record that cannot be formatted is logging's own to report
            return True
        clean = scrub(message)
        if clean is not message:
            record.msg, record.args = clean, ()
        return True


_FILTER = _KeyFilter()
