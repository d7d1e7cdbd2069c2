"""Stop asking an endpoint that is down, and find out when it is back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Literal

from coterie_llm.errors import (
    BadReply,
    CircuitOpen,
    LanguageError,
    ModelTimeout,
    RateLimited,
    RequestRejected,
)
from coterie_llm.types import LanguageModel, ModelRequest, Reply, Wrapper

_LOG = logging.getLogger(__name__)
_LOOK_S = 2.0
"""Longest time for an endpoint to show that it answers at all [s]."""


class CircuitBreaker(Wrapper):
    """Closed: calls pass. Open: calls fail at once. Half-open: one call tries the endpoint.

    Failures that say something about the endpoint (`LanguageError.endpoint_down`) count when they
    come in a row; a reply, be it a useless one or a rate limit, shows that it lives. Cancelled
    calls and exhausted budgets say nothing. A slow model is not down: where the last failure
    is a time-out, the circuit opens only if the endpoint does not answer anything else either.

    Args:
        inner: The model.
        threshold: Failures in a row that open the circuit.
        cool_down_s: Seconds until an open circuit lets one call try [s].
        clock: Monotonic seconds [s].
    """

    def __init__(
        self,
        inner: LanguageModel,
        *,
        threshold: int = 5,
        cool_down_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(inner)
        if threshold < 1:
            raise ValueError(f"threshold must be at least 1 failure, not {threshold}")
        self._threshold = threshold
        self._cool_down_s = cool_down_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._opened_at: float | None = None
        self._trying = False
        self._doubted = False

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        """What the next call will meet."""
        with self._lock:
            if self._opened_at is None:
                return "closed"
            cooled = self._clock() - self._opened_at >= self._cool_down_s
            return "half-open" if cooled else "open"

    async def complete(self, request: ModelRequest) -> Reply:
        """Answer the request unless the circuit is open.

        Raises:
            CircuitOpen: The endpoint is taken to be down.
            LanguageError: The inner model's.
        """
        if self._doubted:
            await self._look(request)
        trial = self._enter()
        try:
            reply = await self.inner.complete(request)
        except LanguageError as error:
            if error.endpoint_down:
                self._failed(trial, slow=isinstance(error, ModelTimeout))
            elif isinstance(error, (BadReply, RateLimited, RequestRejected)):
                self._lives(trial)
            raise
        else:
            self._lives(trial)
            return reply
        finally:
            if trial:
                with self._lock:
                    self._trying = False

    def _enter(self) -> bool:
        """Let a call in; True when it is the one that tries an open circuit."""
        with self._lock:
            if self._opened_at is None:
                return False
            left_s = self._cool_down_s - (self._clock() - self._opened_at)
            if left_s > 0 or self._trying:
                raise CircuitOpen(
                    f"{self.name}: not asked, the endpoint failed {self._failures} times in a row; "
                    + (
                        f"tried again in {left_s:.1f} s"
                        if left_s > 0
                        else "one call is trying it now"
                    )
                )
            self._trying = True
            return True

    async def _look(self, request: ModelRequest) -> None:
        """Find out whether an endpoint that lets time run out lives; open the circuit if not."""
        with self._lock:
            if not self._doubted:
                return
            self._doubted = False
        limit_s = request.timeout_s if request.timeout_s is not None else _LOOK_S
        if await self.inner.lives(min(_LOOK_S, 0.3 * limit_s)):
            _LOG.info("%s: %d time-outs, but it lives: it is slow", self.name, self._failures)
            self._lives(trial=True)
            return
        with self._lock:
            if self._opened_at is None:
                self._open()

    def _open(self) -> None:
        _LOG.warning("%s: circuit open after %d failures", self.name, self._failures)
        self._opened_at = self._clock()

    def _failed(self, trial: bool, *, slow: bool) -> None:
        with self._lock:
            if self._opened_at is not None and not trial:
                return  # a call from before the circuit opened
            self._failures += 1
            if trial:
                self._opened_at = self._clock()
            if slow and (trial or self._failures >= self._threshold):
                self._doubted = True  # looked into by the next call, in its time
            elif not trial and self._failures >= self._threshold:
                self._open()

    def _lives(self, trial: bool) -> None:
        with self._lock:
            if self._opened_at is not None:
                if not trial:
                    return
                _LOG.info("%s: endpoint is back, circuit closed", self.name)
            self._opened_at = None
            self._doubted = False
            self._failures = 0
