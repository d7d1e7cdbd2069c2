"""Turns pydantic's findings into problems with line, field path and the nearest valid name."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, core_schema

from coterie_core.plain_data import shorten
from coterie_core.yaml_marks import FileProblem, MarkedData, Path_, Problem

Model = TypeVar("Model", bound=BaseModel)

PYDANTIC_KINDS = set(typing.get_args(core_schema.ErrorType))
"""Kinds of errors whose texts are pydantic's and do not say what was given."""

_PLAIN = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "dict": "a map (key: value)",
    "list": "a list (- item)",
}


def suggestion(word: object, choices: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest choice, else `; one of a, b, c`.

    Args:
        word: Word that the file holds.
        choices: The valid names.
    """
    names = sorted(set(choices))
    near = difflib.get_close_matches(
        str(word)[:100].lower(), [n.lower() for n in names], n=1, cutoff=0.6
    )
    if near:
        best = next(n for n in names if n.lower() == near[0])
        return f"; did you mean {best!r}?"
    if not names:
        return ""
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"; one of {shown}"


def shown(value: object) -> str:
    """Return a value as it would stand in YAML, cut to a readable length."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return shorten(repr(value) if isinstance(value, str) else value, 60)


def check(model: type[Model], marked: MarkedData, file: str, extra: list[Problem]) -> Model:
    """Return the data as `model`.

    Args:
        model: Schema of the file.
        marked: The file's data with lines.
        file: Its name, for the errors.
        extra: Problems already known, reported together with those found here.

    Raises:
        FileProblem: Anything is wrong; all problems at once, in the order of lines.
    """
    problems = [*marked.problems, *extra]
    result: Model | None = None
    if not isinstance(marked.data, dict):
        message = f"expected a map (key: value), got {shown(marked.data)}"
        raise FileProblem(file, [*problems, Problem((), marked.line(()), message)])
    try:
        result = model.model_validate(marked.data)
    except ValidationError as error:
        details = error.errors(include_url=False)
        problems += _translate(model, details, marked)
    if problems or result is None:
        raise FileProblem(file, _unique(problems))
    return result


def _translate(
    model: type[BaseModel], details: list[ErrorDetails], marked: MarkedData
) -> list[Problem]:
    problems = []
    for detail in details:
        if detail["type"] == "too_short" and _explained(detail, details):
            continue
        if detail["type"] == "literal_error" and isinstance(detail["input"], (list, dict)):
            if _explained(
                {**detail, "loc": detail["loc"][:-1]}, [d for d in details if d is not detail]
            ):
                continue  # a word would do as well, but this is meant as the other kind of value
        path = _real_path(detail["loc"], marked.data, detail["type"] == "missing")
        line = marked.line(path)
        problems.append(Problem(path, line, _message(model, detail, path)))
    return problems


def _explained(detail: ErrorDetails, details: list[ErrorDetails]) -> bool:
    """Whether a list is too short only because its entries are wrong."""
    depth = len(detail["loc"])
    return any(len(d["loc"]) > depth and d["loc"][:depth] == detail["loc"] for d in details)


def _message(model: type[BaseModel], detail: ErrorDetails, path: Path_) -> str:
    kind, got, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        fields = _fields_at(model, path[:-1])
        return f"unknown field {str(path[-1])!r}{suggestion(path[-1], fields)}"
    if kind == "literal_error":
        choices = [c.strip("' ") for c in str(context["expected"]).replace(" or ", ",").split(",")]
        return f"unknown value {shown(got)}{suggestion(got, choices)}"
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        choices = [c.strip("' ") for c in str(context.get("expected_tags", "")).split(",") if c]
        field = str(context.get("discriminator", "")).strip("'")
        tag = context.get("tag")
        if tag is None:
            return f"the field {field!r} is missing" + suggestion("", choices)
        return f"{field}: unknown value {tag!r}{suggestion(tag, choices)}"
    if kind == "value_error":
        return str(context.get("error", detail["msg"]))
    if kind.endswith(("_type", "_parsing")):
        plain = kind.rsplit("_", 1)[0].replace("string", "str").replace("tuple", "list")
        expected = _PLAIN.get(plain, "a map (key: value)" if plain.startswith("model") else plain)
        hint = ""
        if expected == "text" and isinstance(got, (bool, int, float)):
            hint = " (put it in quotes)"
        return f"expected {expected}, got {shown(got)}{hint}"
    message = detail["msg"]
    message = message[:1].lower() + message[1:]
    if got == "(hidden)" or kind not in PYDANTIC_KINDS:
        return message
    return f"{message.replace('input should be', 'must be')}, got {shown(got)}"


def _real_path(loc: tuple[int | str, ...], data: Any, missing: bool) -> Path_:
    """Drop the parts of a pydantic location that are names of union members, not keys."""
    path: list[int | str] = []
    for i, part in enumerate(loc):
        last = i == len(loc) - 1
        in_map = isinstance(data, dict) and part in data
        in_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if in_map or in_list:
            data = data[part]
            path.append(part)
        elif last and missing:
            path.append(part)
    return tuple(path)


def _fields_at(model: type[BaseModel], path: Path_) -> set[str]:
    """Return the names of the fields that a map at `path` may have."""
    types_: list[Any] = [model]
    for part in path:
        following: list[Any] = []
        for kind in types_:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                info = kind.model_fields.get(str(part))
                following += _members(info.annotation) if info else []
            else:
                arguments = typing.get_args(kind)
                if arguments:
                    following += _members(
                        arguments[-1] if arguments[-1] is not ... else arguments[0]
                    )
        types_ = following
    names: set[str] = set()
    for kind in types_:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names |= set(kind.model_fields)
    return names


def _members(annotation: Any) -> list[Any]:
    """Return the alternatives of a type: the members of a union, without wrappers."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _members(typing.get_args(annotation)[0])
    if origin in {typing.Union, types.UnionType}:
        return [m for part in typing.get_args(annotation) for m in _members(part)]
    return [annotation]


def _unique(problems: list[Problem]) -> list[Problem]:
    seen: set[tuple[Path_, str]] = set()
    kept = []
    for problem in problems:
        key = (problem.path, problem.message)
        if key not in seen:
            seen.add(key)
            kept.append(problem)
    return kept
