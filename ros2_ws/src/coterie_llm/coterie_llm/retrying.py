"""Try again what may work a little later: rate limits, server faults, time-outs, lost links."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import random
import time
from collections.abc import Awaitable, Callable

from coterie_llm.errors import LanguageError, ModelTimeout, RateLimited, ServerFault
from coterie_llm.types import LanguageModel, ModelRequest, Reply, Usage, Wrapper

_LOG = logging.getLogger(__name__)

FIRST_WAIT_S = 0.5
"""Scale of the first wait [s]."""
MAX_WAIT_S = 20.0
"""Longest wait [s]."""
DEADLINE_S = 120.0
"""Time for all attempts of a request that brings no time-out of its own [s]."""


class Retrying(Wrapper):
    """Exponential backoff with full jitter: waits `uniform(0, min(longest, first * 2^n))`.

    A wait that the endpoint asks for (Retry-After) is kept, with a little jitter on top, up to
    `MAX_WAIT_S`. Nothing is tried that could not end before the deadline. The jitter depends on
    seed, robot and call number
    only: runs repeat exactly, and robots of one team do not come back at the same moment.

    Args:
        inner: The model.
        max_retries: Attempts after the first.
        seed: Seed of the jitter.
        clock: Monotonic seconds [s].
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        inner: LanguageModel,
        *,
        max_retries: int = 3,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(inner)
        self._max_retries = max_retries
        self._seed = seed
        self._clock = clock
        self._sleep = sleep
        self._calls: dict[str, int] = {}

    async def complete(self, request: ModelRequest) -> Reply:
        """Answer the request, after several attempts if need be.

        Raises:
            LanguageError: The last attempt's error, or one that no further attempt would mend.
        """
        who = request.tags.get("who", "")
        number = self._calls[who] = self._calls.get(who, 0) + 1
        rng = random.Random(f"{self._seed}/{who}/{number}")
        limit_s = DEADLINE_S if request.timeout_s is None else request.timeout_s
        deadline = self._clock() + limit_s
        spent = Usage()
        for attempt in range(self._max_retries + 1):
            left_s = deadline - self._clock()
            if left_s <= 0:
                break
            try:
                reply = await self.inner.complete(request.with_timeout(left_s))
            except LanguageError as error:
                spent = spent + error.usage
                error.usage = spent
                wait_s = self._wait_s(error, attempt, rng)
                if not error.retryable or attempt == self._max_retries:
                    raise
                if self._clock() + wait_s >= deadline:
                    raise
                _LOG.info(
                    "%s: attempt %d failed (%s), next in %.2f s",
                    self.name,
                    attempt + 1,
                    type(error).__name__,
                    wait_s,
                )
            else:
                if spent.tokens:
                    reply = dataclasses.replace(reply, usage=spent + reply.usage)
                return reply
            await self._sleep(wait_s)
        timeout = ModelTimeout(f"{self.name}: no reply within {limit_s:.3g} s", maybe_billed=False)
        timeout.usage = spent
        raise timeout

    def _wait_s(self, error: LanguageError, attempt: int, rng: random.Random) -> float:
        ceiling = min(MAX_WAIT_S, FIRST_WAIT_S * 2.0**attempt)
        jitter = rng.uniform(0.0, ceiling)
        asked = error.retry_after_s if isinstance(error, (RateLimited, ServerFault)) else None
        if asked is None:
            return jitter
        return min(asked, MAX_WAIT_S) + 0.1 * jitter
