"""Decisions of the user's own, in the place of the stack's: a derived class, or a rule."""

from __future__ import annotations

import copy
import inspect
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_type_hints

from coterie_core.own_classes import load_own
from coterie_llm.decision import Decision

ENVIRONMENT = "COTERIE_DECISIONS"
"""Environment variable with the own decisions of a process: JSON, decision -> module:Class."""

_LOG = logging.getLogger(__name__)


def own_decisions(names: Mapping[str, str] | None = None) -> dict[str, tuple[str, Any]]:
    """Return the user's own decisions of this process: decision -> its name in Python, and itself.

    Decisions that no module of this process has are left out: other nodes make them.

    Args:
        names: Decision -> `my_package.module:Class`; None: as the environment says.

    Raises:
        ValueError: One is not there, or does not fit; names the field and what was expected.
    """
    given = json.loads(os.environ.get(ENVIRONMENT) or "{}") if names is None else names
    ours: dict[str, type[Decision[Any, Any]]] = {}
    for kind in _kinds(Decision) if given else ():  # type: ignore[type-abstract]
        ours.setdefault(vars(kind).get("name", ""), kind)  # before those derived from it
    return {
        name: (own, _loaded(own, f"decisions.{name}", ours[name]))
        for name, own in given.items()
        if name in ours
    }


def _kinds(base: type[Decision[Any, Any]]) -> Iterator[type[Decision[Any, Any]]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


def _loaded(own: str, field: str, ours: type[Decision[Any, Any]]) -> Any:
    """Return a class derived from one of our decisions, or a function that does as its rule."""
    replies = ours.reply_type
    expected = (
        f"a class derived from {ours.__module__}.{ours.__name__}, or a function of its state whose "
        f"return type is {replies.__module__}.{replies.__name__}"
    )

    def fits(found: Any) -> bool:
        if inspect.isclass(found):
            return issubclass(found, ours)
        return inspect.isfunction(found) and _takes_one(found) and _returns(found) is replies

    return load_own(own, field, expected, fits)


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    return True


def _returns(function: Callable[..., Any]) -> Any:
    try:
        return get_type_hints(function).get("return")
    except Exception:  # a name in it that is not there when the program runs
        return None


def replaced(decision: Decision[Any, Any], own: tuple[str, Any]) -> Decision[Any, Any]:
    """Return the user's own decision in the place of one of ours.

    Its rule is checked as a model's reply is. Where it fails, ours decides, and `Decision.own` says
    so.
    """
    name, kind = own
    made: Any = kind() if inspect.isclass(kind) else copy.copy(decision)
    decide = made.rule if inspect.isclass(kind) else kind

    def rule(state: Any) -> Any:
        try:
            reply = decide(state)
            if not isinstance(reply, decision.reply_type):
                expected = decision.reply_type.__name__
                raise TypeError(f"expected {expected}, got {type(reply).__name__}")
            decision.check(state, reply)
        except Exception as error:  # a robot goes on deciding whatever the user's code does
            _LOG.error("%s: %s failed: %s: %s", decision.name, name, type(error).__name__, error)
            made.own = f"{name} failed ({type(error).__name__}: {error}): Coterie's rule"
            return decision.rule(state)
        return reply

    made.own, made.rule = name, rule
    replacement: Decision[Any, Any] = made
    return replacement
