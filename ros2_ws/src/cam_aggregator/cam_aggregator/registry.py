"""Aggregators by name, with a suggestion where a name is mistyped."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from cam_aggregator.base import Aggregator, AggregatorError
from cam_aggregator.cam import CAM_CLASSES
from cam_aggregator.cam_plus import CamPlus
from cam_aggregator.debate import Debate
from cam_aggregator.label_free import LABEL_FREE_CLASSES
from cam_aggregator.votes import ConfidenceWeightedVote, MajorityVote
from coterie_core.own_classes import load_class

_KINDS: tuple[type[Aggregator], ...] = (
    MajorityVote,
    ConfidenceWeightedVote,
    Debate,
    *CAM_CLASSES,
    CamPlus,
    *LABEL_FREE_CLASSES,
)
_MAKERS: dict[str, Callable[..., Aggregator]] = {kind.name: kind for kind in _KINDS}


def aggregator_names() -> tuple[str, ...]:
    """Return the names of Coterie's own aggregators."""
    return tuple(_MAKERS)


def make_aggregator(name: str, **options: Any) -> Aggregator:
    """Return an aggregator, not yet fitted.

    Args:
        name: One of `aggregator_names()`, or a class of yours as `module:Class`.
        options: Passed on; those that this aggregator does not have are refused.

    Raises:
        AggregatorError: No such name or option; names the nearest one.
    """
    maker = _maker(name)
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
    return tuple(inspect.signature(_maker(name)).parameters)


def _maker(name: str) -> Callable[..., Aggregator]:
    """Return what makes an aggregator: one of Coterie's, or a class of the user's.

    Raises:
        AggregatorError: No such name, module or class.
    """
    if ":" in name:
        try:
            own = load_class(name, "aggregator.method", Aggregator)  # type: ignore[type-abstract]
        except ValueError as error:
            raise AggregatorError(str(error)) from error
        if not getattr(own, "name", ""):
            raise AggregatorError(f"{name}: set `name`, a word that the team's answers call it by")
        return own
    if name not in _MAKERS:
        raise AggregatorError(_unknown("aggregator", name, list(_MAKERS)))
    return _MAKERS[name]


def _unknown(what: str, name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"no {what} named {name!r}{hint} Known: {', '.join(known)}"
