"""Aggregators by name, with a suggestion where a name is mistyped."""

from __future__ import annotations

import difflib
import importlib
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
    """Return what makes an aggregator: a registered one, or a class in a module on Python's path.

    Raises:
        AggregatorError: No such name, module or class.
    """
    module, colon, kind = name.partition(":")
    if not colon:
        if name not in _MAKERS:
            raise AggregatorError(_unknown("aggregator", name, list(_MAKERS)))
        return _MAKERS[name]
    try:
        found = getattr(importlib.import_module(module), kind, None)
    except Exception as error:  # whatever a module of somebody else's does when it is imported
        raise AggregatorError(
            f"{name}: {module} cannot be imported ({type(error).__name__}: {error}); is its folder "
            "in PYTHONPATH?"
        ) from error
    if not (inspect.isclass(found) and issubclass(found, Aggregator)):
        raise AggregatorError(f"{name}: {module} has no class {kind} derived from Aggregator")
    made: Callable[..., Aggregator] = found
    return made


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
