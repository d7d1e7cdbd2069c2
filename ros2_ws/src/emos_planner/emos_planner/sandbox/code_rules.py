"""What code of a model may look like before it is run at all: it parses, and uses offered names."""

from __future__ import annotations

import ast

MODULES = frozenset({"math"})
"""Modules that code may import."""
BUILTINS = frozenset(
    {
        "abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "isinstance", "len",
        "list", "max", "min", "print", "range", "reversed", "round", "set", "sorted", "str", "sum",
        "tuple", "zip", "True", "False", "None", "Exception", "ValueError", "TypeError",
        "KeyError", "IndexError", "ZeroDivisionError",
    }
)  # fmt: skip
"""Functions and names of the language that code may use."""
LONGEST = 6000
"""Characters of code."""
_MOST_NODES = 3000
_DEEPEST = 60


def trouble_with(code: str, offered: frozenset[str]) -> str:
    """Return "" if code may be run, else what is wrong with it and what to do.

    The sandbox would stop all of this too; here it is named in words that a model can act on.

    Args:
        code: Python.
        offered: Names of inputs and functions beside `BUILTINS` and what the code defines.
    """
    if not code.strip():
        return "there is no code"
    if len(code) > LONGEST:
        return f"the code has {len(code)} characters, at most {LONGEST} are run; shorten it"
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        at = f"line {line}: " if line else ""
        return f"it is no Python: {at}{getattr(error, 'msg', None) or type(error).__name__}"
    nodes = _flat(tree)
    if nodes is None:
        return f"it is nested deeper than {_DEEPEST} or has over {_MOST_NODES} parts; shorten it"
    known = offered | BUILTINS | _defined(nodes)
    for node in nodes:
        problem = _problem(node, known)
        if problem:
            return f"line {getattr(node, 'lineno', 1)}: {problem}"
    return ""


def _flat(tree: ast.AST) -> list[ast.AST] | None:
    """Return all nodes, or None if there are too many or they are nested too deep."""
    out: list[ast.AST] = []
    level = [tree]
    for _ in range(_DEEPEST):
        out += level
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if len(out) > _MOST_NODES:
            return None
        if not level:
            return out
    return None


def _defined(nodes: list[ast.AST]) -> frozenset[str]:
    """Return the names that code itself gives a meaning to."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return frozenset(names)


def _problem(node: ast.AST, known: frozenset[str]) -> str:
    if isinstance(node, ast.Import):
        strange = [alias.name for alias in node.names if alias.name not in MODULES]
        return _no_module(strange[0]) if strange else ""
    if isinstance(node, ast.ImportFrom):
        return _no_module(node.module or ".") if node.module not in MODULES else ""
    if isinstance(node, (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)):
        return "nothing here is asynchronous; call functions plainly"
    if isinstance(node, (ast.ClassDef, ast.With, ast.Global, ast.Nonlocal)):
        return f"{type(node).__name__} is not needed here; use functions and plain values"
    if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
        return f"attribute {node.attr!r} is private; use the inputs and functions offered"
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in known:
        return f"name {node.id!r} is neither offered nor defined in the code"
    return ""


def _no_module(name: str) -> str:
    return f"module {name!r} cannot be imported; only {', '.join(sorted(MODULES))} can"
