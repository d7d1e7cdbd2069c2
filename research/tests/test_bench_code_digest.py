"""Kept results of a bench are of the code that would make them now."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from research.bench.common.code_digest import code_digest
from research.bench.mele import job as mele
from research.bench.openeqa import bench as openeqa
from research.bench.reveca import episodes as reveca


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "measured"
    (folder / "deep").mkdir(parents=True)
    for name in ("__init__.py", "run.py", "plots.py", "deep/words.yaml", "notes.md"):
        (folder / name).write_text(f"# {name}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "measured", raising=False)
    return folder


def digest():
    code_digest.cache_clear()
    return code_digest("measured", leave_out=frozenset({"plots.py"}))


def test_any_change_of_code_or_data_shows_and_nothing_else(package) -> None:
    before = digest()
    for name in ("notes.md", "plots.py"):
        (package / name).write_text("changed\n")
    assert digest() == before
    seen = {before}
    for name in ("run.py", "deep/words.yaml"):
        (package / name).write_text("changed\n")
        seen.add(digest())
    (package / "run.py").rename(package / "deep" / "run.py")
    seen.add(digest())
    assert len(seen) == 4


@pytest.mark.parametrize("bench", [mele, openeqa, reveca])
def test_every_package_of_a_bench_is_there_and_its_own_is_among_them(bench) -> None:
    assert code_digest(*bench._CODE)
    assert bench.__name__.rpartition(".")[0] in bench._CODE
    for name in getattr(bench, "_SHOWN", ()):
        folders = [sys.modules[package].__path__[0] for package in bench._CODE]
        assert any((Path(folder) / name).exists() for folder in folders), name
