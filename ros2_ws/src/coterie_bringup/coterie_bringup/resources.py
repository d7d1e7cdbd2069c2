"""Files that come with Coterie, by name: from the clone, this package's share, or the wheel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib import resources as package_files
from pathlib import Path

from coterie_bringup.errors import CommandError
from coterie_core.plain_data import shorten
from coterie_core.yaml_checks import suggestion

PACKAGE = "coterie_bringup"
DDS_PROFILE = "config/dds/fastdds.xml"
NETWORK_PROFILE = "config/dds/fastdds_udp.xml"
"""The same without shared memory."""
COMMAND_PROFILE = "config/dds/fastdds_command.xml"
"""The same on 127.0.0.1 alone, for commands to a team of this machine."""
LOCAL_DDS_PROFILE = "config/dds/fastdds_localhost.xml"
TEAMS = "config/teams"
SCHEME = "package://"


@cache
def roots() -> tuple[Path, ...]:
    """Return the folders that hold `config/teams`: the clone first, then shares of this package."""
    return tuple(dict.fromkeys(p.resolve() for p in _candidates() if (p / TEAMS).is_dir()))


def _candidates() -> Iterator[Path]:
    if "COTERIE_ROOT" in os.environ:
        yield Path(os.environ["COTERIE_ROOT"])
    clone = clone_of(Path(__file__))
    if clone is not None:
        yield clone
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if prefix:
            yield Path(prefix) / "share" / PACKAGE
    yield Path(__file__).parent / "share"  # of the wheel (tools/build_wheel.py)


def clone_of(file: Path) -> Path | None:
    """Return the nearest folder above a file that holds `config/teams`: no folder farther up.

    What lies in the clone is trusted, so a home that has such a folder, too, must not count.
    """
    return next((p for p in file.resolve().parents if (p / TEAMS).is_dir()), None)


def resource(name: str) -> Path:
    """Return a file by its name below the clone, such as `config/dds/fastdds.xml`.

    Raises:
        CommandError: It is not there.
    """
    for root in roots():
        if (root / name).is_file():
            return root / name
    raise CommandError(f"{name} is not there; run from a clone, or build {PACKAGE} again")


def shipped_team(name: str) -> Path:
    """Return the file of a team that comes with Coterie, by its name (`demo`).

    Raises:
        CommandError: It is not there.
    """
    return resource(f"{TEAMS}/{name}.yaml")


def team_file(name: str) -> Path:
    """Return the file of a team: a path, or the name of one that comes with Coterie (`demo`).

    Raises:
        CommandError: There is neither such a file nor such a name.
    """
    path = Path(name).expanduser()
    if path.is_file() or path.parent != Path("."):
        return path  # whoever reads it says what is wrong with it
    known: dict[str, Path] = {}
    for root in reversed(roots()):
        known |= {file.stem: file for file in (root / TEAMS).glob("*.yaml")}
    found = known.get(path.stem) if path.suffix in ("", ".yaml") else None
    if found is None:
        hint = suggestion(path.stem, known)
        raise CommandError(
            f"no file and no team that comes with Coterie: {shorten(str(name))}{hint}"
        )
    return found


def shipped(path: Path) -> bool:
    """Whether a file comes with Coterie."""
    real = path.resolve()
    return any(real.is_relative_to(root) for root in roots())


def package_path(address: str) -> Path | None:
    """Return the file of `package://PACKAGE/PATH`: in the package's share, or in its modules.

    None where there is no such package or file.
    """
    package, _, inner = address.removeprefix(SCHEME).partition("/")
    if not package.isidentifier() or not inner or ".." in Path(inner).parts:
        return None
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        path = Path(prefix) / "share" / package / inner
        if prefix and path.exists():
            return path.resolve()
    try:
        path = Path(str(package_files.files(package))) / inner
    except (ImportError, TypeError):
        return None
    return path.resolve() if path.exists() else None
