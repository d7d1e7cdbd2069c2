"""No module of the workspace imports itself by way of others, not even inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import networkx

import docs_site

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "ros2_ws" / "src"


def imported(tree: ast.AST, known: set[str]) -> Iterator[str]:
    """Give the modules that a module imports when it runs, its functions included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for part in node.orelse:
                yield from imported(part, known)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            # A name of a package is a module of it, or stands in its __init__.
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known else node.module
        else:
            yield from imported(node, known)


def studies() -> dict[str, Path]:
    """Return the modules of `research/`, by dotted name."""
    found = {}
    for file in (ROOT / "research").rglob("*.py"):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def circles(known: Mapping[str, Path]) -> list[list[str]]:
    """Return the groups of modules that import one another, directly or by way of others."""
    graph = networkx.DiGraph()
    for name, file in known.items():
        tree = ast.parse(file.read_text("utf-8"))
        graph.add_edges_from(
            (name, other) for other in imported(tree, set(known)) if other in known
        )
    groups = networkx.strongly_connected_components(graph)
    loops = {name for name in graph if graph.has_edge(name, name)}
    return [sorted(group) for group in groups if len(group) > 1 or group & loops]


def test_no_module_imports_itself_by_way_of_others():
    assert circles({**docs_site.modules(SOURCES), **studies()}) == []


def test_a_circle_inside_a_function_is_found_and_one_for_types_is_none(tmp_path):
    package = tmp_path / "one" / "one"
    package.mkdir(parents=True)
    for name, text in {
        "__init__": "",
        "a": "from one import b\n",
        "b": "def late():\n    from one.c import x\n",
        "c": "import one.a\nx = 1\n",
        "d": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from one import e\n",
        "e": "from one import d\n",
    }.items():
        (package / f"{name}.py").write_text(text)
    assert circles(docs_site.modules(tmp_path)) == [["one.a", "one.b", "one.c"]]
