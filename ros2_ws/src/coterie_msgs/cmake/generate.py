"""Run a generator of rosidl, without reading the same things again and again.

    python generate.py GENERATOR --generator-arguments-file FILE ...

Each generator parses each interface anew, and reads each of its templates anew for each interface:
most of its time. Here the first generator parses all interfaces, with all cores, and leaves what it
read beside FILE, in the build tree, where the others find it; and a template is read once. What is
generated is the same.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pickle
import runpy
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import em
from rosidl_parser import definition, parser

TOKENS: dict[str, list[Any]] = {}
"""Templates that were read, by their text."""


class Kept:
    """Interfaces that were parsed, in a folder.

    Args:
        folder: It exists.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parse = parser.parse_idl_string
        # Another version of the parser may read another thing.
        files = (parser.__file__, definition.__file__, parser.grammar_file)
        self._version = b"".join(Path(file).read_bytes() for file in files)

    def file(self, text: str) -> Path:
        """Return where the content of an interface in IDL is kept."""
        return self._folder / hashlib.sha256(self._version + text.encode()).hexdigest()

    def parsed(self, text: str, png_file: str | None = None) -> Any:
        """Return the content of an interface; in place of ``parser.parse_idl_string``."""
        file = self.file(text)
        if file.is_file():
            return pickle.loads(file.read_bytes())  # noqa: S301  written below, in the build tree
        content = self._parse(text, png_file)
        scratch = file.with_name(f"{file.name}.{os.getpid()}")
        scratch.write_bytes(pickle.dumps(content))
        scratch.replace(file)
        return content


def run_template(interpreter: em.Interpreter, scanner: em.Scanner, scope: Any = None) -> None:
    """Run what a scanner has of a template; in place of ``em.Interpreter.parse``."""
    text = scanner.rest()
    tokens = TOKENS.get(text)
    if tokens is None:
        tokens = []
        try:
            while (token := scanner.one()) is not None:
                tokens.append(token)
            TOKENS[text] = tokens
        except em.TransientParseError:  # em goes on with what is left, after these
            for token in tokens:
                token.run(interpreter, scope)
            raise
    for token in tokens:
        token.run(interpreter, scope)


def main() -> None:
    """Parse what is not parsed yet, then be the generator."""
    sys.argv = sys.argv[1:]
    arguments = Path(sys.argv[sys.argv.index("--generator-arguments-file") + 1])
    folder = arguments.parent / "parsed_interfaces"
    folder.mkdir(exist_ok=True)
    kept = Kept(folder)
    pairs = [pair.rsplit(":", 1) for pair in json.loads(arguments.read_text())["idl_tuples"]]
    texts = [Path(*pair).read_text(encoding="utf-8") for pair in pairs]
    new = [text for text in texts if not kept.file(text).is_file()]
    if new:
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(functools.partial(Kept.parsed, kept), new, chunksize=2))
    parser.parse_idl_string = kept.parsed
    if em.__version__.startswith("3."):
        em.Interpreter.parse = run_template
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
