"""What takes long says so: which step it is at, and for how long it has been."""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType

_LOG = logging.getLogger(__name__)
PERIOD = 10.0
"""Time between two messages [s]; what takes less says nothing."""


class Progress:
    """Tells every few seconds what is being done, while it lasts: `with Progress(...) as steps`.

    Args:
        what: What it is about, for example "scene 'apartment_1'".
        period: Time between two messages [s].
    """

    def __init__(self, what: str, period: float = PERIOD) -> None:
        self._what, self._period = what, period
        self._step = "it begins"
        self._over = threading.Event()
        self._begun = time.monotonic()
        self._teller = threading.Thread(target=self._tell, name="progress", daemon=True)

    def at(self, step: str) -> None:
        """Note the step that begins now."""
        self._step = step

    def __enter__(self) -> Progress:
        """Begin to tell."""
        self._begun = time.monotonic()
        self._teller.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Tell no more."""
        self._over.set()
        self._teller.join()

    def _tell(self) -> None:
        while not self._over.wait(self._period):
            # A warning, since it is also to be seen where nobody has set up logging.
            _LOG.warning("%s: %s (%.0f s)", self._what, self._step, time.monotonic() - self._begun)
