"""Work spread over processes of this machine."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from joblib import Parallel, delayed


def spread(
    work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], processes: int
) -> Iterator[Any]:
    """Yield `work(*one)` for each of the arguments, in their order; not all need to be taken.

    Args:
        work: A function of a module.
        arguments: What it is called with.
        processes: Number of processes; 1: this one.
    """
    for _, result in _results(work, arguments, processes, "generator"):
        yield result


def as_done(
    work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], processes: int
) -> Iterator[tuple[int, Any]]:
    """Yield numbers of arguments, from 0, with `work(*one)`, whatever is done first.

    Args: see `spread`.
    """
    return _results(work, arguments, processes, "generator_unordered")


def _results(
    work: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    processes: int,
    order: Literal["generator", "generator_unordered"],
) -> Iterator[tuple[int, Any]]:
    count = max(1, min(processes, len(arguments)))
    if count > 1:
        # Each process gets one thread: numeric libraries would otherwise fight for the same cores.
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")
    parallel = Parallel(count, return_as=order, batch_size=1)
    results = parallel(delayed(_numbered)(work, k, one) for k, one in enumerate(arguments))
    try:
        for one in results:  # noqa: UP028 (`yield from` would close the results, with a warning)
            yield one
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what nobody takes is to be cancelled
            results.close()


def _numbered(work: Callable[..., Any], number: int, arguments: tuple[Any, ...]) -> tuple[int, Any]:
    return number, work(*arguments)
