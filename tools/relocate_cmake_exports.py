#!/usr/bin/env python3
"""Point the CMake exports of the ROS wheels at this virtual environment.

The wheels were built inside a manylinux container, and the CMake export files of every interface
package still name that container's interpreter (``/opt/python/cpXY-cpXY/...``) for the Python and
NumPy headers. CMake refuses an imported target whose include directory is missing, so nothing that
depends on an interface package configures until these paths are replaced. Run it with the
interpreter of the environment; running it twice changes nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
import sysconfig
from pathlib import Path

#: A directory that ends in the headers of NumPy or of Python itself: of the build container, or of
#: another environment, whose paths an installer's cache may hold.
_NUMPY_HEADERS = re.compile(
    r"/[^;\"$\s]*/lib/python3\.\d+/site-packages/numpy/(?:_core|core)/include"
)
_PYTHON_HEADERS = re.compile(r"/[^;\"$\s]*/include/python3\.\d+")


def relocate_text(text: str, python_include: str, numpy_include: str) -> str:
    """Return one CMake file's text with the container's header directories replaced by ours.

    Args:
        text: Content of a ``*.cmake`` file.
        python_include: Directory that holds ``Python.h`` on this machine.
        numpy_include: Directory that holds ``numpy/arrayobject.h`` on this machine.
    """
    # Functions as replacements: a backslash in a path must not be read as a group reference.
    text = _NUMPY_HEADERS.sub(lambda _: numpy_include, text)
    return _PYTHON_HEADERS.sub(lambda _: python_include, text)


def relocate_prefix(prefix: Path, python_include: str, numpy_include: str) -> list[Path]:
    """Rewrite every CMake export below ``<prefix>/share`` and return the files that changed."""
    changed = []
    for path in sorted((prefix / "share").rglob("*.cmake")):
        before = path.read_text(encoding="utf-8")
        after = relocate_text(before, python_include, numpy_include)
        if after != before:
            # A file of its own: an installer may have linked it to its cache, from which it would
            # come into other environments.
            path.unlink()
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def main() -> int:
    """Relocate the environment of the running interpreter (or ``--prefix``)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--prefix", type=Path, default=Path(sys.prefix), help="environment to rewrite"
    )
    prefix = parser.parse_args().prefix

    import numpy

    # INCLUDEPY is the base interpreter's directory, also from inside a venv.
    python_include = str(sysconfig.get_config_var("INCLUDEPY"))
    if not (Path(python_include) / "Python.h").is_file():
        print(
            f"relocate_cmake_exports: expected Python.h in {python_include}, it is not there; "
            "install the development headers of this Python (Debian, Ubuntu: python3-dev)",
            file=sys.stderr,
        )
        return 1
    changed = relocate_prefix(prefix, python_include, numpy.get_include())
    print(f"relocated {len(changed)} CMake exports below {prefix / 'share'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
