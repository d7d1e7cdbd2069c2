"""Slow models: shorter prompts after time-outs, and pauses where even the shortest is too long."""

from __future__ import annotations

import threading
from dataclasses import dataclass

MAX_HALVINGS = 3
"""Prompts are halved at most so often."""
_EASIER_AFTER = 4
"""Replies in time in a row after which a prompt may be twice as long again."""
_MAX_PAUSE_DECISIONS = 32
"""Decisions that the rule makes before the model is tried again, at most."""


@dataclass
class _State:
    shortened: int = 0
    in_time: int = 0
    pause: int = 0
    left_out: int = 0


class Pace:
    """How long the prompts of one model may be, by decision.

    A model that does not reply in time may be dead or slow; that it lives is the circuit breaker's
    question. A slow one is asked for less: each time-out halves the prompt of that decision, down
    to an eighth. Where that is too much as well, the rule makes the next four decisions of the
    kind, then 8, 16, at most 32, and one is tried between. Replies in time lengthen the prompt
    again. All depends on what came of the calls alone, not on the clock, so that a replayed
    cassette meets the prompts that were recorded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[str, _State] = {}

    def shortened(self, decision: str) -> int:
        """Return how often the prompt of a decision is halved."""
        return self._states.get(decision, _State()).shortened

    def pause(self, decision: str) -> str:
        """Return why a decision is not put to the model this time ("": it is)."""
        with self._lock:
            state = self._states.get(decision)
            if state is None or not state.left_out:
                return ""
            state.left_out -= 1
            again = f"asked again after {state.left_out} more" if state.left_out else "asked next"
            return (
                f"not asked: the model is slow, an eighth of the prompt was too much for its time; "
                f"{again}"
            )

    def timed_out(self, decision: str) -> None:
        """Take down that no reply came in time."""
        with self._lock:
            state = self._states.setdefault(decision, _State())
            state.in_time = 0
            if state.shortened < MAX_HALVINGS:
                state.shortened += 1
            else:
                state.pause = min(_MAX_PAUSE_DECISIONS, 2 * state.pause or 4)
                state.left_out = state.pause

    def replied(self, decision: str) -> None:
        """Take down that a reply came in time."""
        with self._lock:
            state = self._states.get(decision)
            if state is None:
                return
            state.pause = 0
            state.in_time += 1
            if state.in_time >= _EASIER_AFTER and state.shortened:
                state.shortened, state.in_time = state.shortened - 1, 0
