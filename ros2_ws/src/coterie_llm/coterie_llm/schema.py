"""JSON schemas as models are sent them: no word that a model does not need."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

_MAX_VALUES = 500
_SHARED_CHARS = 60
"""Lists of values that come twice and are longer than this stand in the schema once."""
_NEEDLESS = ("title", "default")


@functools.lru_cache(maxsize=512)
def lean_schema(reply_type: type[BaseModel]) -> Mapping[str, Any]:
    """JSON schema of a type, without what no model needs.

    Left out are titles and defaults, and what docstrings tell programmers of parts that are
    objects; parts stand where they are used, unless they contain themselves. The title of the whole
    stays: it names the form of the reply.
    """
    full = reply_type.model_json_schema()
    defs = full.get("$defs", {})
    lean = _lean(full, defs, ())
    if "description" in full:
        lean["description"] = full["description"]
    recursive = {name: _lean(defs[name], defs, (name,)) for name in _referred(lean)}
    title = {"title": full["title"]} if "title" in full else {}
    return {**({"$defs": recursive} if recursive else {}), **lean, **title}


def _lean(node: Any, defs: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_lean(item, defs, inside) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in inside or _contains_itself(name, defs):
            return {"$ref": node["$ref"]}
        beside = {k: v for k, v in node.items() if k not in ("$ref", *_NEEDLESS)}
        return {**_lean(defs[name], defs, (*inside, name)), **_lean(beside, defs, inside)}
    # A field's own description stands beside a reference to it, or in a node that is no object.
    needless = (*_NEEDLESS, "$defs", *(["description"] if "properties" in node else []))
    return {
        key: {name: _lean(field, defs, inside) for name, field in value.items()}
        if key == "properties"
        else (value if key in ("enum", "const") else _lean(value, defs, inside))
        for key, value in node.items()
        if key not in needless
    }


def _contains_itself(name: str, defs: Mapping[str, Any]) -> bool:
    seen: set[str] = set()
    ahead = _referred(defs[name])
    while ahead:
        one = ahead.pop()
        if one == name:
            return True
        if one not in seen:
            seen.add(one)
            ahead |= _referred(defs[one])
    return False


def _referred(node: Any) -> set[str]:
    """Return the names of the parts that a schema refers to."""
    if isinstance(node, list):
        return set().union(*map(_referred, node))
    if not isinstance(node, Mapping):
        return set()
    own = {str(node["$ref"]).rpartition("/")[2]} if "$ref" in node else set()
    return own.union(*(_referred(value) for key, value in node.items() if key != "enum"))


def with_options(
    base: Mapping[str, Any],
    options: Mapping[str, Sequence[str | int]],
    lengths: Mapping[str, int] | None = None,
) -> Mapping[str, Any]:
    """Return a schema in which valid values of fields stand as enums.

    Lists of more than 500 values are left out (endpoints bound a schema's size). One that several
    fields share stands there once.

    Args:
        base: The schema.
        options: Path of a field -> values: see `Decision.options`.
        lengths: Path of a list -> how many entries it has: see `Decision.lengths`.

    Raises:
        ValueError: A path names a field that the schema does not have.
    """
    schema = copy.deepcopy(dict(base))
    shared: dict[str, list[dict[str, Any]]] = {}
    for path, given in options.items():
        node = _field(schema, path)
        if not 0 < len(given) <= _MAX_VALUES:
            continue
        values = list(dict.fromkeys(given))
        node["enum"] = values
        for bound in ("minLength", "maxLength"):
            node.pop(bound, None)
        text = json.dumps(values)
        if len(text) > _SHARED_CHARS:
            shared.setdefault(text, []).append(node)
    for path, count in (lengths or {}).items():
        _field(schema, path).update(minItems=count, maxItems=count)
    groups = [nodes for nodes in shared.values() if len(nodes) > 1]
    for number, nodes in enumerate(groups, start=1):
        name = f"Values{number}"
        kind = {"type": nodes[0]["type"]} if "type" in nodes[0] else {}
        schema.setdefault("$defs", {})[name] = {**kind, "enum": nodes[0]["enum"]}
        for node in nodes:
            for key in ("enum", "type"):
                node.pop(key, None)
            # A description may not stand beside a reference in the strict form.
            node["anyOf"] = [{"$ref": f"#/$defs/{name}"}]
    return schema


def _field(schema: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the schema of a field of the reply, for change."""
    node = schema
    for part in path.split("."):
        name, _, item = part.partition("[")
        fields = _resolved(schema, node).get("properties", {})
        if name not in fields:
            raise ValueError(f"options: the reply has no field {path!r}")
        node = fields[name]
        if item:
            node = _resolved(schema, node)["items"]
    return _resolved(schema, node)


def _resolved(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return node
