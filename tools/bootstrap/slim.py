"""Take out of the environment what wheels bring and nothing here loads."""

from __future__ import annotations

import contextlib
import filecmp
import itertools
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

LEFT_OUT = re.compile(
    # Of pinocchio: headers, static libraries, what builds with them, programs, documents.
    r"(^|/)cmeel\.prefix/(bin/(?!check_urdf)|include/|share/|lib/cmake/|.*\.a$)"
    # The parts of boost that neither pinocchio nor what it links asks for.
    r"|(^|/)cmeel\.prefix/lib/libboost_(?!atomic|container|filesystem|graph|python|serialization)"
    # What open3d draws in windows with, its examples, its operators for torch and TensorFlow.
    r"|(^|/)open3d/((examples|resources|_ml3d)/|open3d_(torch|tf)_ops\.so$)"
    # What zstandard runs on in PyPy.
    r"|(^|/)zstandard/_cffi\."
    # The sources that libraries are compiled from.
    r"|(^|/)fontTools/.*\.c$"
    r"|(^|/)(apsw|lxml|scipy|shapely|sklearn)/.*\.(c|cpp|h|pxd|pxi|pyx)$"
    # The libraries' own tests, which none of their modules imports.
    r"|(^|/)(matplotlib|networkx|numpy|scipy|sklearn)/(.*/)?tests/"
)
"""Files that are removed, by their path below site-packages."""
_LIBRARY = re.compile(r"\.so(\.|$)")


def slim(environment: Path, site_packages: Path) -> None:
    """Remove what is left out, and keep each shared library once.

    Wheels hold no links: one that has a library under three names, or the same library as another
    wheel, brings a copy for each. The copies become names of one file.

    Args:
        environment: Folder of the virtual environment.
        site_packages: Where packages are in it.
    """
    for path in _files(site_packages):
        if LEFT_OUT.search(path.relative_to(site_packages).as_posix()):
            path.unlink(missing_ok=True)
    for place, _, _ in os.walk(site_packages, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(place)  # if it is empty by now
    sizes: dict[int, list[Path]] = defaultdict(list)
    for path in _files(environment):
        if _LIBRARY.search(path.name):
            sizes[path.stat().st_size].append(path)
    for alike in sizes.values():
        for first, second in itertools.combinations(alike, 2):
            if not first.samefile(second) and filecmp.cmp(first, second, shallow=False):
                _link(first, second)


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if not path.is_symlink():
                yield path


def _link(first: Path, second: Path) -> None:
    """Make `second` a name of the file `first`; it is whole at any moment."""
    scratch = second.with_name(f"{second.name}.link")
    scratch.unlink(missing_ok=True)
    try:
        scratch.hardlink_to(first)
    except OSError:
        return  # a file system without links, or too many of one file
    scratch.replace(second)
