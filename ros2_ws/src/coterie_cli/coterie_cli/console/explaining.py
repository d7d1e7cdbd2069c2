"""Why: the chain from words to motor, for whoever looks at the console's page."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from coterie_bringup.kept_runs import KeptRun
from coterie_console.team.page import Refused, Said, Tab, words_of
from coterie_console.text import plain

_LONGEST = 200
_MOST_STEPS, _MOST_DETAILS = 100, 20
_MOST_WAITING = 5
_READ = 60.0
"""How long it may take to read what is kept [s]."""


class Explaining:
    """Explains what a team decided and did, from what is kept of its run.

    It is read in a process of its own, one at a time: a stop never waits for it.

    Args:
        run: What is kept; None: it is kept on another computer, or nowhere.
        in_words: Gives ids in a text their names.
    """

    def __init__(self, run: KeptRun | None, in_words: Callable[[str], str]) -> None:
        self._run, self._turn, self._waiting = run, asyncio.Lock(), 0
        self._in_words = in_words

    @property
    def there(self) -> bool:
        """Whether anything is kept here."""
        return self._run is not None and self._run.decisions.is_dir()

    async def why(self, said: Said, tab: Tab) -> str:
        """Send a page the chain of what it names: an id, a robot, words."""
        what = words_of(said, "what", _LONGEST)
        if not self.there:
            raise Refused(
                "nothing is kept on this computer of what this team decided: ask where it was "
                "started, with ./coterie why, and leave why.keep in its team file as it is"
            )
        if self._waiting >= _MOST_WAITING:
            raise Refused(f"{_MOST_WAITING} explanations are being read already; wait for one")
        self._waiting += 1
        try:
            async with self._turn:
                told = await asyncio.to_thread(self._read, what)
        finally:
            self._waiting -= 1
        await tab.send(json.dumps({"why": {"asked": what, **_shown(told, self._in_words)}}))
        return ""

    async def task(self, id_: str) -> tuple[str, str, str]:
        """Return a task's words, how it ended and what was said of that, by the leader's id.

        "": not known, or words that are too long to be told.
        """
        if not self.there:
            return "", "", ""
        async with self._turn:
            try:
                told = await asyncio.to_thread(self._read, id_)
            except Refused:
                return "", "", ""
        title = re.fullmatch(r'the task "(.+)"', told["title"])
        words = title[1] if title is not None else ""
        texts = (re.fullmatch(r"the task ended (\w+): (.*)", one["text"]) for one in told["steps"])
        outcome, message = next(((end[1], end[2]) for end in texts if end), ("", ""))
        return "" if words.endswith(("...", "…")) else words, outcome, message

    def _read(self, what: str) -> Mapping[str, Any]:
        assert self._run is not None
        run = self._run
        folders = [
            str(run.decisions),
            str(run.log) if run.log.is_dir() else "",
            str(run.memory or ""),
        ]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "coterie_safety.why", *folders, what],
                capture_output=True,
                text=True,
                timeout=_READ,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Refused(f"it takes longer than {_READ:.0f} s: ./coterie why {what}") from None
        if done.returncode != 0:
            raise Refused(done.stderr.strip().rpartition("\n")[2] or "it could not be read")
        told: Mapping[str, Any] = json.loads(done.stdout)
        return told


def _shown(told: Mapping[str, Any], in_words: Callable[[str], str]) -> dict[str, Any]:
    """Return an explanation as a page shows it, bounded."""
    steps = told["steps"]
    left = max(len(steps) - _MOST_STEPS, 0)
    return {
        "title": plain(in_words(told["title"]), 300),
        "steps": [
            {
                "id": plain(one["id"], 80),
                "at": plain(one["at"], 40),
                "text": plain(in_words(one["text"]), 600),
                "details": [
                    plain(in_words(text), 400) for text in one["details"][:_MOST_DETAILS] if text
                ],
                "asked_for": bool(one["asked_for"]),
            }
            for one in steps[:_MOST_STEPS]
        ],
        "gaps": [plain(text, 400) for text in told["gaps"][:_MOST_DETAILS]]
        + ([f"{left} further steps: ./coterie why"] if left else []),
    }
