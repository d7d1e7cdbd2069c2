"""Results of benchmarks as flat records, written whole: results.json, CSV, and nothing half done."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]


def write_atomically(path: Path, data: str | bytes) -> None:
    """Write a file so that it is either as before or complete; makes its folder.

    Raises:
        OSError: The folder cannot be written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = data.encode("utf-8") if isinstance(data, str) else data
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(raw)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, records: Sequence[Record] | Record) -> None:
    """Write records (or one object) as JSON; NaN becomes null."""
    write_atomically(path, json.dumps(_plain(records), indent=1, allow_nan=False) + "\n")


def write_csv(path: Path, records: Sequence[Record]) -> None:
    """Write records as CSV; columns are all fields, in order of appearance."""
    columns = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({k: "" if _is_nan(v) else v for k, v in record.items()})
    write_atomically(path, text.getvalue())


def mean_std(values: Iterable[float]) -> tuple[float, float]:
    """Return mean and standard deviation (of the population, as the paper's few trials are)."""
    numbers = [v for v in values if not math.isnan(v)]
    if not numbers:
        return math.nan, math.nan
    mean = sum(numbers) / len(numbers)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in numbers) / len(numbers))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    return None if _is_nan(value) else value
