"""Compares what two versions recorded for the same seeds: every value, but times and digests.

    python -m research.tools.compare_records BEFORE AFTER

BEFORE and AFTER are folders that one and the same command wrote (`./coterie bench NAME --out`,
`./coterie demo --out`). JSON, JSON lines and CSV of both are read. Digests in names of files, which
are of code, are not compared: such files are paired by what they hold. Exit code 1 where something
differs.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WALL_TIME = re.compile(
    r"(^|_)(seconds|timings|wall|took|started|ended|date|rate|cpu|version|digest)(_|$)"
)
"""Keys whose values differ between two runs of one version."""
_DIGEST = re.compile(r"[0-9a-f]{12,}")
_MOST = 20


def values(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give (path, value) of all leaves that two runs have to share."""
    if isinstance(data, dict):
        for key, one in sorted(data.items()):
            if not WALL_TIME.search(str(key)):
                yield from values(one, f"{path}.{key}")
    elif isinstance(data, list):
        for k, one in enumerate(data):
            yield from values(one, f"{path}[{k}]")
    else:
        yield path, data


def read(file: Path) -> Any:
    """Return what a record file holds, as plain data."""
    text = file.read_text("utf-8")
    if file.suffix == ".csv":
        return list(csv.DictReader(text.splitlines()))
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line]
    return json.loads(text)


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the leaves of every record file, by its path below the folder."""
    named: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".json", ".jsonl", ".csv"):
            name = _DIGEST.sub("#", str(file.relative_to(folder)))
            named.setdefault(name, []).append(dict(values(read(file))))
    return {
        f"{name}{k or ''}": held
        for name, those in named.items()
        for k, held in enumerate(sorted(those, key=lambda one: json.dumps(one, default=str)))
    }


def differences(before: Path, after: Path) -> tuple[int, list[str]]:
    """Return how many values were compared, and what differs, a line each."""
    old, new = records(before), records(after)
    told = [f"{name}: only before" for name in sorted(old.keys() - new.keys())]
    told += [f"{name}: only after" for name in sorted(new.keys() - old.keys())]
    compared = 0
    for name in sorted(old.keys() & new.keys()):
        for path in sorted(old[name].keys() | new[name].keys()):
            was, now = (one[name].get(path, "nothing") for one in (old, new))
            compared += 1
            if was != now and not (was != was and now != now):  # NaN in both
                told.append(f"{name}{path}: {was!r} before, {now!r} after")
    return compared, told


def main() -> int:
    """Compare two folders."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args()
    for folder in (options.before, options.after):
        if not folder.is_dir():
            parser.error(f"{folder} is no folder")
    compared, told = differences(options.before, options.after)
    if compared == 0:
        parser.error(f"{options.before} and {options.after} share no JSON, JSON lines or CSV")
    print("\n".join(told[:_MOST]))
    print(f"{compared} values compared, {len(told)} differ")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
