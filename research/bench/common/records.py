"""Results of benchmarks as flat records: JSON and CSV, each written whole."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from coterie_core.files import write_atomically

Record = Mapping[str, Any]


def write_json(path: Path, data: Sequence[Record] | Record) -> None:
    """Write records (or one object) as JSON; NaN becomes null. Makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(_plain(data), indent=1, allow_nan=False) + "\n")


def write_csv(path: Path, records: Sequence[Record]) -> None:
    """Write records as CSV; columns are all fields, in order of appearance. Makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({k: "" if _is_nan(v) else v for k, v in record.items()})
    write_atomically(path, text.getvalue())


def mean_std(values: Iterable[float]) -> tuple[float, float]:
    """Return mean and standard deviation (divided by n) of the numbers that are not NaN."""
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
    return None if _is_nan(value) else value
