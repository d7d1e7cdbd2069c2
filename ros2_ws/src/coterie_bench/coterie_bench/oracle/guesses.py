"""A floor: an answerer that fills the schema of any reply with valid values at random."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from coterie_bench.oracle.request import one_by_one, question_of, resolved

_WORDS = ("yes", "no", "one", "two", "here", "kitchen", "table", "red", "open", "wait")
_MOST_ITEMS = 3


def random_answerer(seed: int) -> Callable[[dict[str, Any]], Any]:
    """Return a responder for `Endpoint` that knows the form of a reply and nothing else.

    It calls no tools. The same request gets the same reply, in whatever order requests come.

    Args:
        seed: Of its guesses.
    """

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        draw = random.Random(f"{seed} {json.dumps(body.get('messages'))}")
        schema = question_of(body).schema
        return dict(_value(schema, schema, draw)) if schema else {}

    return lambda body: one_by_one(answer, body)


def _value(schema: Mapping[str, Any], node: Mapping[str, Any], draw: random.Random) -> Any:
    node = resolved(schema, node)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return draw.choice(node["enum"])
    for several in ("anyOf", "oneOf"):
        if several in node:
            return _value(schema, draw.choice(node[several]), draw)
    kind = node.get("type")
    if kind == "object":
        return {k: _value(schema, v, draw) for k, v in node.get("properties", {}).items()}
    if kind == "array":
        return _items(schema, node, draw)
    if kind in ("integer", "number"):
        return _number(node, draw, whole=kind == "integer")
    if kind == "boolean":
        return draw.random() < 0.5
    if kind == "null":
        return None
    return " ".join(draw.choices(_WORDS, k=2))[: node.get("maxLength", 80)]


def _number(node: Mapping[str, Any], draw: random.Random, *, whole: bool) -> float:
    low = node.get("minimum", node.get("exclusiveMinimum", 0))
    high = node.get("maximum", node.get("exclusiveMaximum", low + 10))
    return draw.randint(int(low), int(high)) if whole else draw.uniform(low, high)


def _items(schema: Mapping[str, Any], node: Mapping[str, Any], draw: random.Random) -> list[Any]:
    """Return a list; where items are told apart by an id from a list, one for each id."""
    item = resolved(schema, node.get("items", {}))
    ids = _listed(schema, item)
    if ids is not None:
        name, values = ids
        return [{**_value(schema, item, draw), name: value} for value in values]
    most = min(node.get("maxItems", _MOST_ITEMS), max(_MOST_ITEMS, node.get("minItems", 0)))
    count = draw.randint(node.get("minItems", 0), most)
    if "enum" in item:
        return draw.sample(item["enum"], min(count, len(item["enum"])))
    return [_value(schema, item, draw) for _ in range(count)]


def _listed(schema: Mapping[str, Any], item: Mapping[str, Any]) -> tuple[str, list[Any]] | None:
    if item.get("type") != "object" or not item.get("properties"):
        return None
    name, first = next(iter(item["properties"].items()))
    values = resolved(schema, first).get("enum")
    return (name, values) if values else None
