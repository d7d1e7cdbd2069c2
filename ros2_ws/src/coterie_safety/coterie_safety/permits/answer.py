"""Answers of a person to requests for permits, signed with a private key that no robot has.

Two files make a pair: `permits.key` lies in the state folder of whoever answers, readable by that
user alone; robots have `permits.pub`, which tells whether an answer was signed with the other, and
cannot sign. What takes part in the ROS graph can read requests and call the service, no more.
"""

from __future__ import annotations

import contextlib
import enum
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from coterie_core.files import write_atomically
from coterie_safety.permits.goal_scope import canonical
from coterie_safety.permits.request import Permit, PermitRequest
from coterie_safety.stop import MAX_TEXT, one_line

_MAX_BYTES = 1000
_SHARED_SECRET = 64
"""Hexadecimal digits of a key of before, one secret for people and robots."""


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
        shown: SHA-256 of all that the person was shown: `shown` of the request, or the permit.
        decision: Decision of the person.
        by: Name of the person.
        reason: Reason; "": none is given.
        until: Time at which the permit ends [s, wall time]; milliseconds count.
        standing: Whether it is for all goals alike.
        signature: Ed25519 over all of that, hexadecimal.
    """

    request: str
    goal: str
    shown: str
    decision: Decision
    by: str
    reason: str = ""
    until: float = 0.0
    standing: bool = False
    signature: str = ""

    def sign(self, key: Ed25519PrivateKey) -> SignedAnswer:
        """Return it with the signature that this key gives."""
        return replace(self, signature=key.sign(self._signed()).hex())

    def signed_with(self, key: Ed25519PublicKey) -> bool:
        """Tell whether somebody with the private half of this key has signed exactly this."""
        try:
            key.verify(bytes.fromhex(self.signature), self._signed())
        except (ValueError, InvalidSignature):
            return False
        return True

    def _signed(self) -> bytes:
        fields = [*astuple(replace(self, signature=""))]
        fields[3], fields[6] = int(self.decision), f"{self.until:.3f}"
        return b"coterie permit 2\n" + canonical(fields)

    def too_long(self) -> bool:
        """Tell whether a text of it is longer than it may be."""
        return max(len(self.by), len(self.reason)) > MAX_TEXT


class KeyProblem(ValueError):
    """A key cannot be used; says why and what to do."""


def public_half(file: Path) -> Path:
    """Return the file of the public key that belongs to this private one."""
    return file.with_suffix(".pub")


def make_key(file: Path, say: Callable[[str], object] = print) -> Path:
    """Make a pair of keys, unless there is one; return the file of the private key.

    Where only the public key is, people answer elsewhere, and none is made. What is no key that
    anybody could have, an empty file or the shared secret of before, is renewed.

    Args:
        file: File of the private key; the public one lies beside it.
        say: Hears that a key was renewed.

    Raises:
        OSError: They cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    public = public_half(file)
    with _alone(file.parent):
        there = _content(file)
        old = _is_shared_secret(there)
        if there.strip() and not old:
            if not _content(public).strip():
                with contextlib.suppress(KeyProblem):  # whoever wants to sign is told
                    _write_public(public, load_key(file).public_key())
        elif not _content(public).strip():
            key = Ed25519PrivateKey.generate()
            form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            secret = key.private_bytes(serialization.Encoding.PEM, form, plain)
            public.unlink(missing_ok=True)  # never that of another key
            write_atomically(file, secret, durable=True, mode=0o600)
            _write_public(public, key.public_key())
        elif old:
            file.unlink()
    if old:
        say(
            f"{file}: was a secret that people and robots shared, and is one no more; robots now "
            f"go by {public}: copy it to each robot's computer (./coterie team deploy does)"
        )
    return file


def load_key(file: Path) -> Ed25519PrivateKey:
    """Return the private key in a file.

    Raises:
        KeyProblem: There is none, others may read it, or it is no key.
    """
    text = _read(file, 0o077, "others may read this key", "600")
    with contextlib.suppress(ValueError, TypeError, UnsupportedAlgorithm):
        key = serialization.load_pem_private_key(text, None)
        if isinstance(key, Ed25519PrivateKey):
            return key
    raise _no_key(file, text, "private")


def load_public_key(file: Path) -> Ed25519PublicKey:
    """Return the public key in a file.

    Raises:
        KeyProblem: There is none, others may write it, or it is no key.
    """
    text = _read(file, 0o022, "others may write this key", "644")
    with contextlib.suppress(ValueError, UnsupportedAlgorithm):
        key = serialization.load_pem_public_key(text)
        if isinstance(key, Ed25519PublicKey):
            return key
    raise _no_key(file, text, "public")


def _read(file: Path, forbidden: int, why: str, mode: str) -> bytes:
    try:
        with file.open("rb") as opened:
            bits = os.fstat(opened.fileno()).st_mode
            text = opened.read(_MAX_BYTES)
    except OSError as error:
        elsewhere = ""
        if isinstance(error, FileNotFoundError) and public_half(file).exists():
            elsewhere = "; people answer on the computer that has it, where deploy was run"
        raise KeyProblem(
            f"{file}: the key of permits cannot be read ({error.strerror}){elsewhere}; "
            "`./coterie up` makes a pair of keys where there is none"
        ) from None
    if stat.S_IMODE(bits) & forbidden:
        raise KeyProblem(f"{file}: {why}: chmod {mode} {file}, or make a new one")
    return text


def _no_key(file: Path, text: bytes, half: str) -> KeyProblem:
    if _is_shared_secret(text):
        return KeyProblem(
            f"{file}: no key: a secret that people and robots shared, of an older version; "
            "`./coterie up`, or `deploy`, makes a pair of keys in its place"
        )
    remedy = (
        "remove the file, and ./coterie up makes a pair of keys"
        if half == "private"
        else ("copy it anew from where people answer")
    )
    return KeyProblem(f"{file}: no key: expected the {half} half of an Ed25519 key; {remedy}")


def _is_shared_secret(text: bytes) -> bool:
    digits = text.strip()
    with contextlib.suppress(ValueError):
        return len(digits) == _SHARED_SECRET and bool(bytes.fromhex(digits.decode("ascii")))
    return False


def _content(file: Path) -> bytes:
    with contextlib.suppress(FileNotFoundError), file.open("rb") as opened:
        return opened.read(_MAX_BYTES)
    return b""


def _write_public(file: Path, key: Ed25519PublicKey) -> None:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    write_atomically(file, key.public_bytes(serialization.Encoding.PEM, form), durable=True)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let no other process make keys in a folder meanwhile."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


PERMIT_LIFETIME_S = 300.0
"""Time that a permit for one goal waits for it to begin [s]."""


def answered(
    request: PermitRequest,
    decision: Decision,
    by: str,
    reason: str = "",
    *,
    lasting: float = 0.0,
    now: float,
    key: Ed25519PrivateKey,
) -> SignedAnswer:
    """Return a person's answer to a request, signed: for tools that a person uses, and no others.

    Args:
        request: The request.
        decision: Decision of the person.
        by: Name of the person.
        reason: Reason that the person gives.
        lasting: Time for which all goals alike are allowed [s]; 0: this goal is, once.
        now: Wall time [s].
        key: The private key; the team's robots have its public half.
    """
    until = now + (lasting or PERMIT_LIFETIME_S) if decision is Decision.ALLOW else 0.0
    return SignedAnswer(
        request.id,
        request.goal.digest,
        request.shown,
        decision,
        one_line(by),
        one_line(reason),
        round(until, 3),
        lasting > 0.0 and decision is Decision.ALLOW,
    ).sign(key)


def revoked(permit: Permit, by: str, reason: str = "", *, key: Ed25519PrivateKey) -> SignedAnswer:
    """Return a person's end of a standing permit, signed.

    Args:
        permit: The permit.
        by: Name of the person.
        reason: Reason that the person gives.
        key: The private key; the team's robots have its public half.
    """
    return SignedAnswer(
        permit.id, permit.goal.digest, permit.shown, Decision.REVOKE, one_line(by), one_line(reason)
    ).sign(key)
