"""A model that does not ask the same question twice."""

from __future__ import annotations

import collections
import dataclasses
import threading

from coterie_llm.cassette import request_key
from coterie_llm.types import LanguageModel, ModelRequest, Reply, Usage, Wrapper


class Cached(Wrapper):
    """Keeps replies to requests that were put with temperature 0, and gives them again.

    Prompts are made from rounded, sorted states, so that a state that recurs (a robot that stands
    where it stood, another robot before the same choice) makes the same request. The request is the
    key as it is: with all numbers left out of it (ids, times, distances), none of 300 requests of
    REVECA, CoELA, EMOS and MELE became equal to another.

    Args:
        inner: The model.
        most: Most replies kept; the one not used for longest goes first.
    """

    def __init__(self, inner: LanguageModel, most: int = 256) -> None:
        super().__init__(inner)
        self._most = most
        self._lock = threading.Lock()
        self._replies: collections.OrderedDict[str, Reply] = collections.OrderedDict()

    async def complete(self, request: ModelRequest) -> Reply:
        """Answer the request; a kept reply uses no tokens.

        Raises:
            LanguageError: The inner model's; failures are not kept.
        """
        if request.temperature != 0:
            return await self.inner.complete(request)
        key = request_key(self.name, request)
        with self._lock:
            kept = self._replies.get(key)
            if kept is not None:
                self._replies.move_to_end(key)
                return dataclasses.replace(kept, usage=Usage())
        reply = await self.inner.complete(request)
        with self._lock:
            self._replies[key] = reply
            while len(self._replies) > self._most:
                self._replies.popitem(last=False)
        return reply
