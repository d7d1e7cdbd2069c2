"""Documents written for xacro (macros, includes, properties), expanded by xacro itself.

Nearly every maker's robot is written so. xacro evaluates Python expressions of the document, which
is somebody's text: it runs in a child process that may read the robot's package and nothing else
(see `xacro_child`), with a time-out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from coterie_core.urdf import xacro_child
from coterie_core.urdf.errors import UrdfError

REMEDY = "mend it, or expand it first: xacro FILE > robot.urdf"
PREFIX = "xacro"
TIMEOUT_S = 20.0
MAX_PACKAGES = 5000


def needs_expansion(root: ET.Element) -> bool:
    """Whether a document holds anything that xacro would expand."""
    return any(
        element.tag.startswith(f"{PREFIX}:")
        or "${" in (element.text or "")
        or any("${" in value or "$(" in value for value in element.attrib.values())
        for element in root.iter()
    )


def expand(
    root: ET.Element,
    file: Path | None,
    packages: Sequence[Path] = (),
    arguments: Mapping[str, str] | None = None,
) -> tuple[bytes, list[str]]:
    """Return the expanded document, and what was odd.

    Args:
        root: The document; xacro's elements have the prefix ``xacro`` (see `unify`).
        file: Where it came from, for relative includes; None: includes are refused.
        packages: Folders of packages, or of workspaces with packages, beside its own.
        arguments: Name -> value of arguments, instead of the document's defaults.

    Raises:
        UrdfError: xacro refuses it, it reads what it must not, it takes too long, or it has no
            such argument.
    """
    if file is None:
        _refuse_includes(root)
    folders = [str(file.resolve().parent)] if file is not None else []
    known = _packages(file, packages)
    given = dict(arguments or {})
    request = {
        "text": ET.tostring(root, encoding="unicode"),
        "file": str(file.resolve()) if file is not None else "",
        "arguments": given,
        "folders": folders,
        "packages": known,
    }
    # Isolated: neither the caller's environment nor what lies in the current folder comes along.
    command = [sys.executable, "-I", xacro_child.__file__]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env={
                "PATH": os.defpath,
                "LC_ALL": "C.UTF-8",
                # Wheels of ROS would start Python a second time for their libraries.
                "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1",
            },
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UrdfError(
            f"xacro did not end within {TIMEOUT_S:g} s: does a macro call itself?", remedy=REMEDY
        ) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        why = (
            "ran out of memory" if "MemoryError" in done.stderr else f"ended with {done.returncode}"
        )
        raise UrdfError(f"xacro {why}", remedy=REMEDY) from None
    if "error" in answer:
        unset = [f"give argument {name} a value (--arg {name}:=VALUE)" for name in answer["unset"]]
        raise UrdfError(f"xacro refuses it: {answer['error']}", remedy=", ".join(unset) or REMEDY)
    missing = sorted(answer["missing"])
    defaults = {k: v for k, v in answer["arguments"].items() if k not in (*given, *missing)}
    refuse_arguments(given, answer["asked"])
    odd = [
        f"variable {name!r} of xacro has no value in this file: taken as empty; "
        + (f"give it one: --arg {name}:=VALUE" if name in answer["asked"] else REMEDY)
        for name in missing
    ]
    if defaults:
        told = ", ".join(f"{name}:={value}" for name, value in defaults.items())
        odd.append(f"arguments of xacro at their defaults: {told}; change one by --arg NAME:=VALUE")
    return answer["xml"].encode(), odd


def refuse_arguments(given: Iterable[str], known: Sequence[str] = ()) -> None:
    """Refuse arguments that a document does not have.

    Raises:
        UrdfError: Names the first of them and those that there are.
    """
    for name in given:
        if name not in known:
            raise UrdfError(
                f"has no argument {name!r}",
                remedy=f"its arguments are {', '.join(sorted(known)) or 'none'}",
            )


def unify(root: ET.Element) -> None:
    """Give xacro's elements the usual prefix, whatever the document calls its namespace."""
    others = tuple(
        f"{key[6:]}:"
        for key, value in root.attrib.items()
        if key.startswith("xmlns:") and "xacro" in value and key != f"xmlns:{PREFIX}"
    )
    for element in root.iter():
        if others and element.tag.startswith(others):
            element.tag = f"{PREFIX}:{element.tag.partition(':')[2]}"
    if any(element.tag.startswith(f"{PREFIX}:") for element in root.iter()):
        root.attrib.setdefault(f"xmlns:{PREFIX}", "http://www.ros.org/wiki/xacro")


def _refuse_includes(root: ET.Element) -> None:
    """A document that came as text has no folder that its includes could be relative to."""
    for element in root.iter(f"{PREFIX}:include"):
        name = element.get("filename", "")
        if not name.startswith("$(find"):
            raise UrdfError(
                "includes another file, but came as text without a folder",
                element=f'{PREFIX}:include "{name[:80]}"',
                remedy="give the path of the file, or expand it first: xacro FILE > robot.urdf",
            )


def _packages(file: Path | None, folders: Sequence[Path]) -> dict[str, str]:
    """Return name -> folder of the packages that a document may name in $(find ...).

    That is its own, those given, those directly below a folder given, and those installed.
    """
    found: dict[str, str] = {}
    given = [folder.resolve() for folder in folders]
    for folder in given:
        try:
            inside = sorted(each for each in folder.iterdir() if each.is_dir())[:MAX_PACKAGES]
        except OSError:
            inside = []
        for place in [folder, *inside]:
            found.setdefault(_package_name(place) or place.name, str(place))
    if file is not None and (own := package_of(file.parent)) is not None:
        found.setdefault(own[0], str(own[1]))
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(":"):
        share = Path(prefix) / "share"
        if prefix and share.is_dir():
            for place in share.iterdir():
                if (place / "package.xml").is_file():
                    found.setdefault(place.name, str(place))
    return found


def package_of(folder: Path) -> tuple[str, Path] | None:
    """Return name and folder of the package that a folder lies in; None: in none."""
    own = folder.resolve()
    for place in (own, *own.parents):
        if (place / "package.xml").is_file():
            return _package_name(place) or place.name, place
    return None


def _package_name(folder: Path) -> str:
    try:
        name = ET.parse(folder / "package.xml").findtext("name")
    except (OSError, ET.ParseError):
        return ""
    return (name or "").strip()
