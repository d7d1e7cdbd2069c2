"""A keystore as SROS 2 has it: an authority, and per enclave a key, a certificate, permissions."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs7
from cryptography.x509.oid import NameOID

from coterie_bringup.errors import CommandError
from coterie_bringup.rundir import state_root
from coterie_bringup.security import documents
from coterie_bringup.security.rights import Rights, rights
from coterie_bringup.team import Team
from coterie_core.files import write_atomically

AUTHORITY = "coterieCA"
LEEWAY = timedelta(days=1)
"""Keys hold from so long before they were made: clocks of robots are wrong now and then."""
SOON = timedelta(days=30)
"""Certificates that end within this time, or in the last third of a shorter life, are told at a
start, and renewed by an update."""

_PUBLIC = ("identity_ca.cert.pem", "permissions_ca.cert.pem")
FILES = (
    *_PUBLIC,
    "cert.pem",
    "key.pem",
    "governance.p7s",
    "permissions.p7s",
)
"""What every enclave has: a folder holds all that its process needs, and can be copied alone."""


def keystore_folder(team: Team) -> Path:
    """Return where the keystore of a team is."""
    if team.security.keystore:
        return team.resolve(team.security.keystore)
    return state_root() / "keystores" / team.name


def make_keystore(team: Team, folder: Path, *, update: bool = False) -> list[str]:
    """Make the keystore of a team; return the enclaves whose key or certificate is new.

    Args:
        team: The team.
        folder: Where it goes.
        update: Keep the keys of a keystore that is there, make those that are missing, renew the
            certificates that end `SOON`, and write all permissions anew. Without it a keystore that
            is there is left alone.

    Raises:
        CommandError: There is a keystore already, or something else; or it cannot be read.
    """
    there = (folder / "enclaves").is_dir()
    if there and not update:
        raise CommandError(
            f"security: {folder} holds a keystore already. --update keeps its keys and writes its "
            "permissions anew; for new keys move it away first"
        )
    if there and not makes_keys(folder):
        # Another authority's keys would cut this computer off from its team.
        raise CommandError(
            f"security: {folder} makes no keys, as a host's share: permissions are signed where "
            "the keystore was made. Deal the share anew there (--host NAME --out FOLDER)"
        )
    if not there and folder.is_dir() and any(folder.iterdir()):
        raise CommandError(f"security: {folder} is no keystore, and not empty; choose another")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        return _write(team, folder)
    except OSError as error:
        raise CommandError(f"security: {folder}: cannot be written: {error}") from None


def makes_keys(folder: Path) -> bool:
    """Tell whether a keystore has its authority's key; a host's share has not."""
    return _authority_key(folder).is_file()


def _authority_key(folder: Path) -> Path:
    return folder / "private" / "ca.key.pem"


def _write(team: Team, folder: Path) -> list[str]:
    begin = datetime.now(timezone.utc).replace(microsecond=0) - LEEWAY
    end = begin + LEEWAY + timedelta(days=team.security.days)
    key, certificate = _authority(folder, begin)
    enclaves = folder / "enclaves"
    enclaves.mkdir(exist_ok=True)
    _write_signed(enclaves / "governance", documents.governance(), key, certificate)
    new = []
    for name, allowed in rights(team).items():
        own = _own(folder, name)
        own.mkdir(parents=True, exist_ok=True)
        keyless = not (own / "key.pem").is_file()
        if keyless:
            _write_private(own / "key.pem", ec.generate_private_key(ec.SECP256R1()))
        if keyless or not _goes_on(own):
            new.append(name)
            _write_certificate(own, name, key, certificate, begin, end)
        for file in _PUBLIC:
            write_atomically(own / file, (folder / "public" / file).read_bytes())
        write_atomically(own / "governance.p7s", (enclaves / "governance.p7s").read_bytes())
        holder = _certificate(own / "cert.pem")
        text = documents.permissions(f"CN={name}", allowed, begin, holder.not_valid_after_utc)
        _write_signed(own / "permissions", text, key, certificate)
    return new


def ending(folder: Path, enclaves: Collection[str]) -> dict[str, datetime]:
    """Return when the certificates of enclaves end, of those that end `SOON`."""
    certificates = {name: _certificate(_own(folder, name) / "cert.pem") for name in enclaves}
    return {n: one.not_valid_after_utc for n, one in certificates.items() if _ends_soon(one)}


def problems(team: Team, folder: Path, enclaves: Collection[str]) -> Iterator[str]:
    """Give what is wrong with some enclaves of a team's keystore, in words; nothing: all good."""
    if not (folder / "enclaves").is_dir():
        yield "is not there"
        return
    allowed = rights(team)
    for name in enclaves:
        own = _own(folder, name)
        missing = [file for file in FILES if not (own / file).is_file()]
        if missing:
            what = f"has no {', '.join(missing)} for {name}" if own.is_dir() else f"lacks {name}"
            yield what
            continue
        try:
            yield from _problems_of(own, name, allowed[name])
        except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
            yield f"{name}: cannot be read: {error}"


def deal(team: Team, folder: Path, enclaves: Collection[str], out: Path) -> None:
    """Copy what a computer needs of a team's keystore: its enclaves' folders, and nothing else.

    Args:
        team: The team.
        folder: Its keystore.
        enclaves: Those of the processes that run there.
        out: The keystore of that computer; what is there of these enclaves is replaced.

    Raises:
        CommandError: The keystore lacks one of them, or one is not good; `out` makes keys itself,
            holds keys that are not that computer's, or cannot be written.
    """
    if found := list(problems(team, folder, enclaves)):
        raise CommandError(f"security: the keystore {folder} {'; '.join(found)}")
    if makes_keys(out):
        raise CommandError(f"security: {out} is a keystore that makes keys; choose another folder")
    there = {f"/{key.parent.relative_to(out / 'enclaves')}" for key in out.rglob("key.pem")}
    if others := sorted(there - set(enclaves)):
        raise CommandError(
            f"security: {out} holds keys of {', '.join(others)}, which do not run on that "
            "computer (any more): delete them, there too, and deal the share anew"
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        out.chmod(0o700)
        for name in enclaves:
            own = _own(out, name)
            own.mkdir(parents=True, exist_ok=True)
            for file in (*FILES, "permissions.xml"):
                data = (_own(folder, name) / file).read_bytes()
                if file == "key.pem":
                    (own / file).unlink(missing_ok=True)
                    _write_secret(own / file, data)
                else:
                    write_atomically(own / file, data)
    except OSError as error:
        raise CommandError(f"security: {out}: cannot be written: {error}") from None


def _own(folder: Path, enclave: str) -> Path:
    return folder / "enclaves" / enclave.lstrip("/")


def _problems_of(own: Path, name: str, allowed: Rights) -> Iterator[str]:
    if (own / "key.pem").stat().st_mode & 0o077:
        yield f"{name}: others may read key.pem (chmod 600)"
    holder, authority = _certificate(own / "cert.pem"), _certificate(own / _PUBLIC[0])
    now = datetime.now(timezone.utc)
    if now > holder.not_valid_after_utc:
        yield f"{name}: its certificate ended on {holder.not_valid_after_utc:%Y-%m-%d}"
    if now < holder.not_valid_before_utc:
        begin = holder.not_valid_before_utc
        yield (
            f"{name}: its certificate holds from {begin:%Y-%m-%d}, and the clock here says "
            f"{now:%Y-%m-%d}: set it"
        )
    if holder.subject.rfc4514_string() != f"CN={name}":
        yield f"{name}: its certificate is for {holder.subject.rfc4514_string()}"
    try:
        holder.verify_directly_issued_by(authority)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        yield f"{name}: its certificate was issued by another authority"
    if _private(own / "key.pem").public_key() != holder.public_key():
        yield f"{name}: its key does not belong to its certificate"
    text = (own / "permissions.xml").read_text("utf-8")
    begin, end = documents.validity(text)
    if text != documents.permissions(f"CN={name}", allowed, begin, end):
        yield f"{name}: its permissions are of another team file"
    if not begin <= now <= end:
        yield (
            f"{name}: its permissions hold from {begin:%Y-%m-%d} to {end:%Y-%m-%d}, and the clock "
            f"here says {now:%Y-%m-%d}"
        )
    # Whether the signatures are good, DDS finds out: the library reads none.
    for file, plain in (("permissions.p7s", text), ("governance.p7s", documents.governance())):
        if plain not in (own / file).read_text("utf-8").replace("\r\n", "\n"):
            yield f"{name}: {file} is not what was signed for this team"


def _authority(
    folder: Path, begin: datetime
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """Return the key and certificate that sign everything; made where they are missing."""
    public, private = folder / "public", folder / "private"
    public.mkdir(exist_ok=True)
    private.mkdir(mode=0o700, exist_ok=True)
    key_file, file = _authority_key(folder), public / "ca.cert.pem"
    if not key_file.is_file():
        key = ec.generate_private_key(ec.SECP256R1())
        _write_private(key_file, key)
        name = _name(AUTHORITY)
        certificate = (
            _builder(name, name, key, begin, begin + timedelta(days=36500))
            .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
            .sign(key, hashes.SHA256())
        )
        write_atomically(file, certificate.public_bytes(serialization.Encoding.PEM))
    for kind in ("identity_ca", "permissions_ca"):
        _link(public / f"{kind}.cert.pem", file.name)
        _link(private / f"{kind}.key.pem", key_file.name)
    try:
        return _private(key_file), _certificate(file)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CommandError(f"security: {folder}: the authority cannot be read: {error}") from None


def _ends_soon(certificate: x509.Certificate) -> bool:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return end < datetime.now(timezone.utc) + min(SOON, (end - begin) / 3)


def _goes_on(own: Path) -> bool:
    """Tell whether there is a certificate that does not end `SOON`."""
    try:
        return not _ends_soon(_certificate(own / "cert.pem"))
    except (OSError, ValueError):
        return False


def _write_certificate(
    own: Path, name: str, authority_key: ec.EllipticCurvePrivateKey, authority: x509.Certificate,
    begin: datetime, end: datetime,
) -> None:  # fmt: skip
    """Make the certificate of a key that is there; whoever runs with the old one goes on."""
    key = _private(own / "key.pem")
    certificate = (
        _builder(_name(name), authority.subject, key, begin, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    write_atomically(own / "cert.pem", certificate.public_bytes(serialization.Encoding.PEM))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, begin: datetime,
    end: datetime,
) -> x509.CertificateBuilder:  # fmt: skip
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _write_private(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    data = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write_secret(file, data)


def _write_secret(file: Path, data: bytes) -> None:
    """Write what nobody but its owner may ever read, not for a moment."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(data)


def _write_signed(
    path: Path, text: str, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate
) -> None:
    """Write a document twice: as XML for people, and signed (S/MIME, in clear text) for DDS."""
    signed = (
        pkcs7.PKCS7SignatureBuilder()
        .set_data(text.encode())
        .add_signer(certificate, key, hashes.SHA256())
        .sign(
            serialization.Encoding.SMIME,
            [pkcs7.PKCS7Options.DetachedSignature, pkcs7.PKCS7Options.Text],
        )
    )
    write_atomically(path.with_suffix(".xml"), text)
    write_atomically(path.with_suffix(".p7s"), signed)


def _link(path: Path, target: str) -> None:
    if not path.is_symlink():
        path.symlink_to(target)


def _certificate(file: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(file.read_bytes())


def _private(file: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{file.name} is no key of an elliptic curve")
    return key
