"""A stop that stays: latched until a person releases it, over restarts, too."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from coterie_core.files import write_atomically

if TYPE_CHECKING:  # ./coterie stop begins sooner without what skills import
    from coterie_core.skills import SkillResult

MAX_TEXT = 200
"""Longest text of who stopped a robot, and of why [characters]."""
_PREFIX = "stopped by "
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def is_stop(result: SkillResult) -> bool:
    """Whether a skill ended, or was refused, because its robot is stopped."""
    from coterie_core.skills import Outcome

    refused = result.outcome in (Outcome.REFUSED, Outcome.CANCELLED)
    return refused and result.reason.startswith(_PREFIX)


def stopped_by(by: str, reason: str, robot: str) -> str:
    """Return what goals of a stopped robot are told."""
    why = f": {reason}" if reason else ""
    return f"{_PREFIX}{by or 'somebody'}{why}; release with ./coterie release {robot}"


def one_line(text: str) -> str:
    """Return a text that somebody sent as one line of at most `MAX_TEXT` characters.

    It has no characters that nobody sees, or that turn the order round in which others are seen.
    """
    text = _UNPRINTABLE.sub(" ", text[: 4 * MAX_TEXT])
    if not text.isascii():
        text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Co", "Cn"))
    return " ".join(text.split())[:MAX_TEXT]


class StopLatch:
    """Whether one robot is stopped, by whom and why; ROS-free.

    Args:
        robot: Name of the robot.
        file: File that keeps the state over restarts; None: it is not kept. A file that cannot be
            read means stopped.

    Attributes:
        stopped: Whether the robot is stopped.
        by: Name of who stopped it.
        reason: Reason of the stop.
        trouble: Description of what went wrong with the file the last time ("": nothing).
    """

    def __init__(self, robot: str, file: Path | None = None) -> None:
        self.robot = robot
        self.stopped = False
        self.by = self.reason = self.trouble = ""
        self._file = file
        self._load()

    @property
    def text(self) -> str:
        """What goals are told while it is stopped."""
        return stopped_by(self.by, self.reason, self.robot)

    def stop(self, by: str, reason: str = "") -> bool:
        """Take down a stop; return whether it is the first one, whose reason then stands.

        Call `keep` next: many robots are stopped first, and then all of it is written.
        """
        fresh = not self.stopped
        if fresh:
            self.by, self.reason = one_line(by), one_line(reason)
        self.stopped = True
        return fresh

    def release(self) -> bool:
        """Let the robot go on; return whether it was stopped. Call `keep` next."""
        was, self.stopped, self.by, self.reason = self.stopped, False, "", ""
        return was

    def keep(self, *, durable: bool = False) -> None:
        """Write how it stands, so that a restart changes nothing; see `trouble`.

        Args:
            durable: Whether it outlasts a loss of power, too. That takes a busy disk a third of a
                second, in which whatever logs waits: do it when all robots stand.
        """
        self.trouble = ""
        if self._file is None:
            return
        try:
            if self.stopped:
                keep_stop(self._file, self.by, self.reason, durable=durable)
            else:
                self._file.unlink(missing_ok=True)
        except OSError as error:
            how = "is not kept over" if self.stopped else "comes back at"
            self.trouble = f"{self._file}: the stop of {self.robot} {how} a restart: {error}"

    def _load(self) -> None:
        if self._file is None:
            return
        try:
            kept = json.loads(self._file.read_text("utf-8"))
            self.stopped = True
            self.by, self.reason = one_line(str(kept["by"])), one_line(str(kept["reason"]))
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.stopped = True
            self.by = "nobody knows whom"
            self.reason = f"{self._file} cannot be read ({type(error).__name__})"


def keep_stop(file: Path, by: str, reason: str, *, durable: bool = True) -> None:
    """Write that a robot is stopped, for a latch that begins later.

    Raises:
        OSError: The file cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = {"stopped": True, "by": by, "reason": reason, "at": time.time()}
    write_atomically(file, json.dumps(kept), durable=durable)


def latch_file(folder: Path, robot: str) -> Path:
    """Return the file of a robot's latch."""
    return folder / f"{robot}.stop.json"
