"""Work spread over processes of this machine."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from joblib import Parallel, delayed


def spread(
    work: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    processes: int,
    *,
    ordered: bool = True,
) -> Iterator[Any]:
    """Yield `work(*one)` for each of the arguments, as it is done; not all need to be taken.

    Args:
        work: A function of a module.
        arguments: What it is called with.
        processes: Number of processes; 1: this one.
        ordered: Results come in the order of the arguments.
    """
    count = max(1, min(processes, len(arguments)))
    if count > 1:
        # Each process gets one thread: numeric libraries would otherwise fight for the same cores.
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")
    returned = "generator" if ordered else "generator_unordered"
    parallel = Parallel(count, return_as=returned, batch_size=1)
    results = parallel(delayed(work)(*one) for one in arguments)
    try:
        for one in results:  # noqa: UP028 (`yield from` would close the results, with a warning)
            yield one
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what nobody takes is to be cancelled
            results.close()
