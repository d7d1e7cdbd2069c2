"""What the set-up takes out of the environment, and that the rest stays whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap import installer
from bootstrap.slim import LEFT_OUT, slim


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("cmeel.prefix/include/pinocchio/fwd.hpp", True),
        ("cmeel.prefix/lib/libqhullstatic.a", True),
        ("cmeel.prefix/lib/libassimp.so", False),
        ("cmeel.prefix/bin/check_urdf", False),
        ("cmeel.prefix/lib/libboost_log.so", True),
        ("cmeel.prefix/lib/libboost_python311.so.1.90.0", False),
        ("open3d/resources/defaultLit.filamat", True),
        ("open3d/open3d_tf_ops.so", True),
        ("open3d/libOpen3D.so.0.20", False),
        ("zstandard/_cffi.cpython-311-x86_64-linux-gnu.so", True),
        ("zstandard/backend_c.cpython-311-x86_64-linux-gnu.so", False),
        ("scipy/stats/tests/test_qmc.py", True),
        ("numpy/testing/__init__.py", False),
        ("other/tests/test_other.py", False),
    ],
)
def test_only_what_nothing_loads_is_left_out(name: str, left_out: bool) -> None:
    assert bool(LEFT_OUT.search(name)) == left_out


def test_equal_libraries_become_one_file_and_distributions_stay_whole(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "site-packages"
    names = ("one/libx.so", "one/libx.so.1", "two.libs/libx-1.so", "one/liby.so", "one/data.txt")
    texts = ("library", "library", "library", "another", "library")
    files = [write(site / name, text) for name, text in zip(names, texts, strict=True)]
    gone = write(site / "numpy" / "tests" / "test_x.py", "library")
    outside = write(tmp_path / "lib" / "libx.so.1.0", "library")
    info = site / "one-1.0.dist-info"
    write(info / "INSTALLER", "uv")
    rows = [*(f"{name},sha256=x,7" for name in names), "numpy/tests/test_x.py,sha256=x,7"]
    write(info / "RECORD", "\n".join(rows))
    slim(tmp_path, site)
    slim(tmp_path, site)
    assert [path.read_text() for path in files] == list(texts)
    assert all(path.samefile(outside) for path in files[:3])
    assert files[4].stat().st_nlink == 1
    assert not gone.exists() and not (site / "numpy").exists()
    assert installer.drop_damaged(site) == []
