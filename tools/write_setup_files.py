#!/usr/bin/env python3
"""Give a virtual environment made of ROS wheels the ``setup.bash`` that /opt/ros/<distro> has.

colcon and every README of the ROS world expect a prefix that can be sourced. The wheels bring none:
they patch ``LD_LIBRARY_PATH`` by starting Python a second time from a ``.pth`` file, which doubles
the start-up time of every process and puts the library directories in an arbitrary order. The files
written here set the search paths once, in sorted order, and raise the wheels' own guard variable so
that no second start happens.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import sysconfig
from pathlib import Path

#: Shells for which a file is written; the text is plain POSIX sh, hence the same for all.
SHELLS = ("sh", "bash", "zsh")
STEMS = ("setup", "local_setup")

_TEMPLATE = """\
# Written by tools/write_setup_files.py; source it, do not edit it.
_coterie_prefix={prefix}
if [ ! -d "$_coterie_prefix" ]; then
    echo "setup: $_coterie_prefix is gone (was the environment moved?); run ./coterie setup" >&2
    unset _coterie_prefix
    return 1
fi
# Put $2 in front of the colon list named $1, unless it is already a member.
_coterie_prepend() {{
    eval "_coterie_list=\\"\\${{$1-}}\\""
    case ":$_coterie_list:" in
        *":$2:"*) ;;
        *) eval "export $1=\\"\\$2\\${{_coterie_list:+:\\$_coterie_list}}\\"" ;;
    esac
}}
{libraries}
_coterie_prepend AMENT_PREFIX_PATH "$_coterie_prefix"
_coterie_prepend CMAKE_PREFIX_PATH "$_coterie_prefix"
_coterie_prepend PATH "$_coterie_prefix/bin"
export VIRTUAL_ENV="$_coterie_prefix"
export ROS_DISTRO={distro} ROS_VERSION=2 ROS_PYTHON_VERSION=3
# The library path is complete from here on: keep the wheels from starting Python twice.
export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
unset _coterie_prefix _coterie_list
unset -f _coterie_prepend
"""


def library_directories(prefix: Path, site_packages: Path) -> list[Path]:
    """Return the directories with shared libraries of the wheels, in the order of the search.

    The prefix's own ``lib`` comes first; the ``ros_*.libs`` folders hold what auditwheel bundled.
    """
    return [prefix / "lib", *sorted(site_packages.glob("ros_*.libs"))]


def render(prefix: Path, libraries: list[Path], distro: str = "jazzy") -> str:
    """Return the text of the setup file for ``prefix``: POSIX sh, may be sourced repeatedly."""
    # Prepending reverses the order, so the list is walked from its end.
    lines = [
        f"_coterie_prepend LD_LIBRARY_PATH {shlex.quote(str(path))}" for path in reversed(libraries)
    ]
    return _TEMPLATE.format(
        prefix=shlex.quote(str(prefix)), libraries="\n".join(lines), distro=distro
    )


def write(prefix: Path, site_packages: Path) -> list[Path]:
    """Write ``setup.*`` and ``local_setup.*`` into ``prefix`` and return their paths."""
    text = render(prefix, library_directories(prefix, site_packages))
    paths = [prefix / f"{stem}.{shell}" for stem in STEMS for shell in SHELLS]
    for path in paths:
        path.write_text(text, encoding="utf-8")
    return paths


def main() -> int:
    """Write the files into the environment of the running interpreter (or ``--prefix``)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--prefix", type=Path, default=Path(sys.prefix), help="environment to equip"
    )
    prefix = parser.parse_args().prefix.resolve()
    site_packages = Path(
        sysconfig.get_path("purelib", vars={"base": str(prefix), "platbase": str(prefix)})
    )
    write(prefix, site_packages)
    print(f"wrote {prefix / 'setup.bash'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
