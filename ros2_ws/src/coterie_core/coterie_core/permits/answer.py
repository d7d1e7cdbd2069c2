"""Answers of a person to requests for permits, signed with a key that no node and no model sends.

The key lies in the state folder of whoever runs the team, readable by that user alone. What takes
part in the ROS graph can read requests and call the service; it cannot sign.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from coterie_core.permits.request import Permit, PermitRequest
from coterie_core.permits.touched import canonical
from coterie_core.stop import MAX_TEXT, one_line

_KEY_BYTES = 32


class Decision(enum.IntEnum):
    """What a person decides; the numbers are those of coterie_msgs/AnswerPermit."""

    ALLOW = 1
    REFUSE = 2
    REVOKE = 3


@dataclass(frozen=True, slots=True)
class SignedAnswer:
    """A person's answer to one request, or the end of a standing permit.

    Attributes:
        request: Id of the request; REVOKE: of the permit.
        goal: Digest of the goal, as the request, or the permit, has it.
        decision: What is decided.
        by: Who says so.
        reason: Why; "": none is given.
        until: When the permit ends [s, wall time]; milliseconds count.
        standing: Whether it is for all goals alike.
        signature: HMAC-SHA-256 of all of that, hexadecimal.
    """

    request: str
    goal: str
    decision: Decision
    by: str
    reason: str = ""
    until: float = 0.0
    standing: bool = False
    signature: str = ""

    def sign(self, key: bytes) -> SignedAnswer:
        """Return it with the signature that this key gives."""
        return replace(self, signature=self._mac(key))

    def signed_with(self, key: bytes) -> bool:
        """Tell whether somebody with this key has signed exactly this."""
        return hmac.compare_digest(
            self._mac(key).encode(), self.signature.encode("utf-8", "replace")
        )

    def _mac(self, key: bytes) -> str:
        fields = [*astuple(replace(self, signature=""))]
        fields[2], fields[5] = int(self.decision), f"{self.until:.3f}"
        return hmac.new(key, b"coterie permit 1\n" + canonical(fields), hashlib.sha256).hexdigest()

    def too_long(self) -> bool:
        """Tell whether a text of it is longer than it may be."""
        return max(len(self.by), len(self.reason)) > MAX_TEXT


class KeyProblem(ValueError):
    """A key cannot be used; says why and what to do."""


def make_key(file: Path) -> Path:
    """Make a key for this user, unless there is one; return its file.

    Raises:
        OSError: It cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(secrets.token_hex(_KEY_BYTES) + "\n")
    return file


def load_key(file: Path) -> bytes:
    """Return the key in a file.

    Raises:
        KeyProblem: There is none, others may read it, or it is no key.
    """
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            text = opened.read(1000)
    except OSError as error:
        raise KeyProblem(
            f"{file}: the key that answers are signed with cannot be read ({error.strerror}); "
            "`./coterie up` makes it where there is none"
        ) from None
    if stat.S_IMODE(mode) & 0o077:
        raise KeyProblem(f"{file}: others may read this key: chmod 600 {file}, or make a new one")
    try:
        key = bytes.fromhex(text.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise KeyProblem(f"{file}: no key: expected {2 * _KEY_BYTES} hexadecimal digits")
    return key


ONCE = 300.0
"""How long a permit for one goal waits for it to begin [s]."""


def answered(
    request: PermitRequest,
    decision: Decision,
    by: str,
    reason: str = "",
    *,
    lasting: float = 0.0,
    now: float,
    key: bytes,
) -> SignedAnswer:
    """Return a person's answer to a request, signed: for tools that a person uses, and no others.

    Args:
        request: The request.
        decision: What the person decides.
        by: Who the person is.
        reason: Why.
        lasting: How long all goals alike are allowed [s]; 0: this goal is, once.
        now: Wall time [s].
        key: The key of the team's robots.
    """
    until = now + (lasting or ONCE) if decision is Decision.ALLOW else 0.0
    return SignedAnswer(
        request.id,
        request.goal.digest,
        decision,
        one_line(by),
        one_line(reason),
        round(until, 3),
        lasting > 0.0 and decision is Decision.ALLOW,
    ).sign(key)


def revoked(permit: Permit, by: str, reason: str = "", *, key: bytes) -> SignedAnswer:
    """Return a person's end of a standing permit, signed.

    Args:
        permit: The permit.
        by: Who the person is.
        reason: Why.
        key: The key of the team's robots.
    """
    return SignedAnswer(
        permit.id, permit.goal.digest, Decision.REVOKE, one_line(by), one_line(reason)
    ).sign(key)
