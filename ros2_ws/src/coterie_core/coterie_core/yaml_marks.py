"""Reads YAML as plain data and remembers the line of every value, so that errors can name it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from coterie_core.kept import kept
from coterie_core.plain_data import shorten

Path_ = tuple[str | int, ...]
"""Path of a value in the file: keys and list indices from the root."""

OWN: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Reads files that come with a package: libyaml's, where PyYAML has it, takes a quarter of the time
but notices no depth of indentation that others may write."""

LARGEST_FILE = 1_000_000
"""Longest file that is read [bytes]."""

LARGEST_TREE = 50_000
"""Most values after aliases are followed; a small file can otherwise unfold without end."""


MAX_NESTING = 200
"""Most brackets, or dashes of one line, that may be open at once: reading takes time with the
square of their number, and a small file can otherwise keep a reader busy for minutes."""

_BRACKET = re.compile(r"[\[{]|[\]}]|(?:[-?][ \t]+){200,}")


MAX_PROBLEMS = 30
"""Problems of a file that are shown; the rest are counted."""

MAX_PROBLEM_CHARS = 400
"""Longest text of one problem [characters]."""

# What no name, path or text of a settings file has a use for, and much software stumbles over.
_UNUSABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a file: where (`path`; `line` from 1, 0: the whole file), what."""

    path: Path_
    line: int
    message: str

    def text(self, file: str) -> str:
        """Return `file:line: path: message`, leaving out what is not known."""
        where = f"{file}:{self.line}" if self.line else file
        dotted = shorten(format_path(self.path), 120)
        message = shorten(self.message, MAX_PROBLEM_CHARS)
        return f"{where}: {dotted}: {message}" if dotted else f"{where}: {message}"


@dataclass(slots=True)
class MarkedData:
    """Plain data (dicts, lists, scalars), the line of each value, and what was wrong."""

    data: Any
    lines: dict[Path_, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line(self, path: Path_) -> int:
        """Line of the value at `path`, or of the nearest value around it that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


class FileProblem(Exception):
    """A file cannot be used; `problems` holds all that is wrong with it."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        self.file = file
        self.problems = sorted(problems, key=lambda p: p.line)
        lines = [p.text(file) for p in self.problems[:MAX_PROBLEMS]]
        more = len(self.problems) - len(lines)
        if more:
            lines.append(f"{file}: and {more} more problems")
        super().__init__("\n".join(lines))


def format_path(path: Path_) -> str:
    """Return a path as people write it: `robots[1].embodiment`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text


def read_text(file: Path) -> str:
    """Return the text of a file.

    Raises:
        FileProblem: It is missing, a directory, unreadable, too large or not UTF-8.
    """
    name = str(file)

    def refuse(message: str) -> FileProblem:
        return FileProblem(name, [Problem((), 0, message)])

    try:
        if file.is_dir():
            raise refuse("this is a directory; give the path of a YAML file")
        with file.open("rb") as stream:
            raw = stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        near = _neighbours(file)
        raise refuse("no such file" + (f"; there is {near}" if near else "")) from None
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror or error}") from None
    if len(raw) > LARGEST_FILE:
        raise refuse(f"larger than {LARGEST_FILE // 1000} kB: this is no settings file")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        message = f"byte {raw[error.start]:#04x} is not UTF-8 text; save the file as UTF-8"
        raise FileProblem(name, [Problem((), line, message)]) from None


def check_depth(text: str) -> None:
    """Refuse YAML that is nested too deeply, before it is read.

    Raises:
        yaml.YAMLError: It is.
    """
    depth = 0
    for found in _BRACKET.finditer(text):
        first = found[0][0]
        depth += 1 if first in "[{" else -1 if first in "]}" else MAX_NESTING
        if depth >= MAX_NESTING:
            raise yaml.YAMLError("nested too deeply")
        depth = max(depth, 0)


def read_yaml(text: str, loader: type[Any] = yaml.SafeLoader) -> Any:
    """Return the plain data of YAML that others wrote.

    Args:
        text: The YAML.
        loader: `OWN` for what comes with a package.

    Raises:
        yaml.YAMLError: It is no YAML, or nested too deeply.
    """
    check_depth(text)
    try:
        return yaml.load(text, loader)  # noqa: S506 - of two that build plain data alone
    except RecursionError:
        raise yaml.YAMLError("nested too deeply") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        # PyYAML's own readers of numbers, times and truth values let these through.
        raise yaml.YAMLError(f"a value cannot be read: {shorten(str(error))}") from None


def read_own(name: str, text: str) -> Any:
    """Return the plain data of a YAML file, by its name, that comes with a package."""
    return kept(name, text, lambda: read_yaml(text, OWN))


def load_marked(text: str, file: str) -> MarkedData:
    """Parse YAML into plain data with lines.

    Only plain data comes out: tags that would build Python objects are refused. Keys that stand
    twice are listed in `problems`; the first is kept.

    Raises:
        FileProblem: The text is no YAML, or empty, or unfolds beyond `LARGEST_TREE` values.
    """
    loader: yaml.SafeLoader | None = None
    try:
        check_depth(text)
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            raise FileProblem(file, [Problem((), 0, "the file is empty")])
        reader = _Reader(loader, file)
        data = reader.read(node, ())
    except yaml.MarkedYAMLError as error:
        raise FileProblem(file, [_syntax_problem(error, text)]) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        what = f"holds a character that YAML does not allow (code {error.character:#04x})"
        raise FileProblem(file, [Problem((), line, f"{what}; remove it")]) from None
    except yaml.YAMLError as error:
        message = " ".join(str(error).split())
        raise FileProblem(file, [Problem((), 0, f"not YAML: {message}")]) from None
    except RecursionError:
        raise FileProblem(file, [Problem((), 0, "nested too deeply")]) from None
    finally:
        if loader is not None:
            loader.dispose()
    return MarkedData(data, reader.lines, reader.problems)


class _Reader:
    """Turns YAML nodes into data, noting lines and repeated keys."""

    def __init__(self, loader: yaml.SafeLoader, file: str) -> None:
        self._loader = loader
        self._file = file
        self._count = 0
        self.lines: dict[Path_, int] = {}
        self.problems: list[Problem] = []

    def read(self, node: yaml.Node, path: Path_) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self._count += 1
        if self._count > LARGEST_TREE:
            message = f"holds more than {LARGEST_TREE} values once aliases are followed"
            raise FileProblem(self._file, [Problem((), line, message)])
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(child, (*path, i)) for i, child in enumerate(node.value)]
        try:
            value = self._loader.construct_object(node, deep=True)
        except yaml.constructor.ConstructorError:
            self.problems.append(Problem(path, line, f"the tag {node.tag} is not allowed here"))
            return None
        # PyYAML raises all kinds where a tag does not fit the text: `!!bool maybe`, `!!int ""`.
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            kind = node.tag.rpartition(":")[2]
            why = f": {error}" if isinstance(error, ValueError) else f" as a YAML {kind}"
            message = f"{shorten(node.value, 80)!r} cannot be read{why}; put it in quotes"
            self.problems.append(Problem(path, line, message))
            return None
        if isinstance(value, str):
            return self._usable(value, path, line)
        return value

    def _usable(self, text: str, path: Path_, line: int) -> str:
        """Note a character that nothing can use; return the text without any."""
        found = _UNUSABLE.search(text)
        if found is None:
            return text
        message = f"holds the character U+{ord(found[0]):04X}, which cannot be used; remove it"
        self.problems.append(Problem(path, line, message))
        return _UNUSABLE.sub("?", text)

    def _mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str, Any]:
        result: dict[str, Any] = {}
        first: dict[str, int] = {}
        inherited: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == "tag:yaml.org,2002:merge":
                base = self.read(value_node, path)
                for part in base if isinstance(base, list) else [base]:
                    if isinstance(part, dict):
                        inherited = {**part, **inherited}
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem(path, line, "a key must be a word, not a list or map"))
                continue
            key = self._usable(str(key_node.value), path, line)
            here = (*path, key)
            if key in first:
                message = f"stands twice (first on line {first[key]}); keep one"
                self.problems.append(Problem(here, line, message))
                continue
            first[key] = line
            self.lines[here] = line
            result[key] = self.read(value_node, here)
        return {**inherited, **result}


def _syntax_problem(error: yaml.MarkedYAMLError, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    rows = text.splitlines()
    row = rows[line - 1] if 0 < line <= len(rows) else ""
    if "\t" in row[: len(row) - len(row.lstrip())] or "'\\t'" in (error.problem or ""):
        return Problem((), line, "indented with a tab; YAML wants spaces")
    parts = [error.context, error.problem]
    message = ", ".join(" ".join(p.split()) for p in parts if p)
    return Problem((), line, f"not YAML: {message}")  # not the row: it may hold a key


def _neighbours(file: Path) -> str:
    try:
        names = sorted(p.name for p in file.parent.iterdir() if p.suffix in {".yaml", ".yml"})
    except OSError:
        return ""
    return ", ".join(str(file.parent / name) for name in names[:5])
