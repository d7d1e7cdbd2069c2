"""The person at the terminal: answers what a team's models ask while they do a task."""

from __future__ import annotations

import asyncio
import contextlib
import select
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.status import Status

from coterie_llm import inline_data
from coterie_requests.asking import WordsAnswer, WordsQuestion, told_choice

_POLL = 0.2
"""How often it is looked whether the time is over [s]."""


class PersonAtTerminal:
    """Puts questions to whoever sits at the terminal, one after the other, each in its time.

    Args:
        console: Where questions are shown.
        stdin: Where answers are typed.
    """

    def __init__(self, console: Console, stdin: TextIO | None = None) -> None:
        self._console = console
        self._stdin = stdin if stdin is not None else sys.stdin
        self._turn = asyncio.Lock()
        self._closed = threading.Event()
        self._live: Live | Status | None = None
        self._drawing = threading.Lock()

    @property
    def there(self) -> bool:
        """Whether somebody can read questions and type answers."""
        with contextlib.suppress(ValueError):  # closed
            return self._console.is_terminal and self._stdin.isatty()
        return False

    @contextlib.contextmanager
    def beside(self, live: Live | Status | None) -> Iterator[None]:
        """Draw `live` while the block runs, except while a question waits for its answer."""
        self._live = live
        if live is not None:
            live.start()
        try:
            yield
        finally:
            with self._drawing:
                self._live = None
                if live is not None:
                    live.stop()

    def show(self, line: str) -> None:
        """Show a line; its text is data."""
        self._console.print(line, style="dim", markup=False, highlight=False)

    def close(self) -> None:
        """Wait for no answer any more."""
        self._closed.set()

    async def answer(self, question: WordsQuestion) -> WordsAnswer:
        """Return what the person types; nothing, with the reason, where the time ends first."""
        end = time.monotonic() + question.within
        async with self._turn:  # several robots may ask at a time
            return await asyncio.to_thread(self._put, question, end)

    def _put(self, question: WordsQuestion, end: float) -> WordsAnswer:
        left = end - time.monotonic()
        if left <= 0.0 or self._closed.is_set():
            return WordsAnswer(reason="the person was busy with another question")
        with self._pause():
            self._show(question, left)
            while time.monotonic() < end and not self._closed.is_set():
                if select.select([self._stdin], [], [], _POLL)[0]:
                    typed = self._stdin.readline()
                    text = told_choice(inline_data(typed, limit=1000), question.choices)
                    if text:
                        return WordsAnswer(text)
                    return WordsAnswer(reason="the person gave no answer")
            self._console.print("  no answer in time", style="dim")
        return WordsAnswer(reason="the person did not answer in time")

    @contextlib.contextmanager
    def _pause(self) -> Iterator[None]:
        """Make room for a question where something is drawn anew all the time."""
        with self._drawing:
            if self._live is not None:
                self._live.stop()
        try:
            yield
        finally:
            with self._drawing:
                if self._live is not None:  # else it has ended meanwhile
                    self._live.start()

    def _show(self, question: WordsQuestion, left: float) -> None:
        asker = inline_data(question.asker, limit=60)
        text = inline_data(question.text, limit=600)
        self._console.print(f"\n{asker} asks: {text}", style="bold", markup=False, highlight=False)
        for number, choice in enumerate(question.choices, 1):
            line = f"  {number}  {inline_data(choice, limit=120)}"
            self._console.print(line, markup=False, highlight=False)
        self._console.print(
            f"  answer within {left:.0f} s, or press Enter to give none:", style="dim"
        )
