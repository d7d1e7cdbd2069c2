"""Aggregators by name, with a suggestion where a name is mistyped."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from cam_aggregator.base import Aggregator, AggregatorError

_MAKERS: dict[str, Callable[..., Aggregator]] = {}


def register(name: str, maker: Callable[..., Aggregator]) -> None:
    """Make an aggregator known; see docs/aggregators.md.

    Raises:
        ValueError: Another one has this name.
    """
    if _MAKERS.setdefault(name, maker) is not maker:
        raise ValueError(f"an aggregator named {name!r} is registered already; choose another name")


def aggregator_names() -> tuple[str, ...]:
    """Return all names, in the order of registration."""
    return tuple(_MAKERS)


def make_aggregator(name: str, **options: Any) -> Aggregator:
    """Return an aggregator, not yet fitted.

    Args:
        name: One of `aggregator_names()`.
        options: Passed on; those that this aggregator does not have are refused.

    Raises:
        AggregatorError: No such name or option; names the nearest one.
    """
    maker = _MAKERS.get(name)
    if maker is None:
        raise AggregatorError(_unknown("aggregator", name, list(_MAKERS)))
    known = [p for p in inspect.signature(maker).parameters if p != "self"]
    for option in options:
        if option not in known:
            raise AggregatorError(f"{name}: {_unknown('option', option, known)}")
    return maker(**options)


def accepted_options(name: str) -> tuple[str, ...]:
    """Return the options that an aggregator takes.

    Raises:
        AggregatorError: No such name.
    """
    maker = _MAKERS.get(name)
    if maker is None:
        raise AggregatorError(_unknown("aggregator", name, list(_MAKERS)))
    return tuple(inspect.signature(maker).parameters)


def _unknown(what: str, name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"no {what} named {name!r}{hint} Known: {', '.join(known)}"


def _register_all() -> None:
    from cam_aggregator.cam import CAM_CLASSES
    from cam_aggregator.cam_plus import CamPlus
    from cam_aggregator.debate import Debate
    from cam_aggregator.label_free import LABEL_FREE_CLASSES
    from cam_aggregator.votes import ConfidenceWeightedVote, MajorityVote

    kinds: tuple[type[Aggregator], ...] = (
        MajorityVote,
        ConfidenceWeightedVote,
        Debate,
        *CAM_CLASSES,
        CamPlus,
        *LABEL_FREE_CLASSES,
    )
    for kind in kinds:
        register(kind.name, kind)


_register_all()
