"""Parameters declared from specifications: type, range, unit, choices; mistakes are named."""

from __future__ import annotations

import difflib
import itertools
import json
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.parameter import Parameter

from coterie_core.settings import Leaf, leaves
from coterie_core.yaml_marks import read_yaml

if TYPE_CHECKING:
    from rclpy.context import Context
    from rclpy.node import Node

Value = bool | int | float | str | Sequence[str] | Sequence[float] | Sequence[int]

# Parameters that rclpy and ros2 launch set by themselves.
_FOREIGN = ("use_sim_time", "start_type_description_service")
_UNIT = re.compile(r" \[([^\]]+)\]")
"""The unit in a field's description."""


class ParameterError(ValueError):
    """A parameter is unknown or has a wrong type or value; says which and what is right."""


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """One parameter: its default fixes its type (bool, int, float, str, or a list of one of them).

    Attributes:
        name: Name, without the node's.
        default: Value where none is given.
        description: What it is, as a whole phrase that stands alone, with a full stop; what 0 or
            an empty value means comes after a semicolon.
        unit: For example "s" or "Hz"; "" for none.
        minimum: Least value allowed (numbers only).
        maximum: Greatest value allowed (numbers only).
        choices: All values allowed (strings only); empty for any.
        read_only: Whether it is fixed once the node runs.
        json: The string holds JSON (read it with `Parameters.json`); checked when it is declared.
        alias: Name that it had in the last version, still taken; "": none.
    """

    name: str
    default: Value
    description: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    read_only: bool = True
    json: bool = False
    alias: str = ""

    @property
    def kind(self) -> str:
        """Name of the type in words."""
        if isinstance(self.default, Sequence) and not isinstance(self.default, str):
            return "list of strings" if not self.default else f"list of {_word(self.default[0])}s"
        return _word(self.default)

    def checked(self, value: Any) -> Value:
        """Return `value` in the parameter's type.

        Raises:
            ParameterError: Wrong type, out of range, no choice, or no JSON.
        """
        value = _in_type(self, value)
        if isinstance(value, bool):
            return value
        if isinstance(value, (int, float)):
            low, high = self.minimum, self.maximum
            if (low is not None and value < low) or (high is not None and value > high):
                raise ParameterError(
                    f"parameter {self.name!r}: {value!r} is out of range; expected "
                    f"{_range_text(low, high)}{f' {self.unit}' if self.unit else ''}"
                )
        if self.choices and value not in self.choices:
            near = difflib.get_close_matches(str(value), self.choices, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ParameterError(
                f"parameter {self.name!r}: {value!r} is none of {', '.join(self.choices)}{hint}"
            )
        if self.json and value:
            try:
                json.loads(str(value))
            except ValueError as error:
                raise ParameterError(
                    f"parameter {self.name!r}: expected JSON, got {_short(value)} ({error})"
                ) from None
        return value

    def descriptor(self) -> ParameterDescriptor:
        """Return the descriptor that `ros2 param describe` shows."""
        unit = f" [{self.unit}]" if self.unit else ""
        described = re.sub(r"(?=[;.](?:\s|$))", unit, self.description, count=1)
        text = ParameterDescriptor(
            name=self.name,
            description=described,
            read_only=self.read_only,
            additional_constraints=(
                f"one of: {', '.join(self.choices)}" if self.choices else "JSON" * self.json
            ),
        )
        if self.minimum is None and self.maximum is None:
            return text
        if isinstance(self.default, int) and not isinstance(self.default, bool):
            low = -(2**62) if self.minimum is None else int(self.minimum)
            high = 2**62 if self.maximum is None else int(self.maximum)
            text.integer_range = [IntegerRange(from_value=low, to_value=high, step=1)]
        else:
            lowest = -1e300 if self.minimum is None else float(self.minimum)
            highest = 1e300 if self.maximum is None else float(self.maximum)
            text.floating_point_range = [
                FloatingPointRange(from_value=lowest, to_value=highest, step=0.0)
            ]
        return text


def specs_of(model: type[BaseModel], prefix: str = "") -> tuple[ParameterSpec, ...]:
    """Return the parameters that mirror a model's fields; those of its sections have dots.

    Default, range and choices are the field's; the unit stands in brackets in its description,
    such as "Time limit of a task [s]."; structured fields hold JSON.
    """
    return tuple(_spec(leaf) for leaf in leaves(model, prefix))


def _spec(leaf: Leaf) -> ParameterSpec:
    kind, text = leaf.field.annotation, leaf.field.description or ""
    units = _UNIT.findall(text)
    unit = units[0] if len(units) == 1 else ""
    limits: dict[str, Any] = {}
    step = 1 if kind is int else 0
    for rule in leaf.field.metadata:
        for sign, key, inside in (
            ("ge", "minimum", 0),
            ("gt", "minimum", step),
            ("le", "maximum", 0),
            ("lt", "maximum", -step),
        ):
            if (bound := getattr(rule, sign, None)) is not None:
                limits[key] = float(bound + inside)
    return ParameterSpec(
        leaf.name,
        leaf.written(leaf.usual),
        _UNIT.sub("", text) if unit else text,
        unit,
        choices=get_args(kind) if get_origin(kind) is Literal else (),
        json=leaf.json,
        alias=_old_name(leaf),
        **limits,
    )


def _old_name(leaf: Leaf) -> str:
    names: Sequence[Any] = getattr(leaf.field.validation_alias, "choices", ())
    section = leaf.name[: leaf.name.rfind(".") + 1]
    return f"{section}{names[1]}" if len(names) > 1 else ""


class Parameters(Mapping[str, Any]):
    """The values of a node's declared parameters, always the present ones."""

    def __init__(self, node: Node, specs: Sequence[ParameterSpec]) -> None:
        self._node = node
        self._specs = {spec.name: spec for spec in specs}

    def __getitem__(self, name: str) -> Any:
        if name not in self._specs:
            raise KeyError(f"parameter {name!r} was not declared{_nearest(name, self._specs)}")
        value = self._node.get_parameter(name).value
        if isinstance(self._specs[name].default, float):
            return float(value)
        return list(value) if isinstance(self._specs[name].default, (list, tuple)) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    def json(self, name: str) -> Any:
        """Return the value that a JSON parameter holds; None for an empty string."""
        text = self[name]
        return json.loads(text) if text else None


def declare(node: Node, specs: Sequence[ParameterSpec]) -> Parameters:
    """Declare a node's parameters and check what was given for them.

    Call it once with all parameters that the node has: a given one that is not among them (from
    the command line or a parameter file) is an error, unless it comes from a file's section for
    several nodes (`/**`): that one is meant for others.

    Raises:
        ParameterError: Unknown name (with the nearest), wrong type, out of range, no choice.
    """
    given: dict[str, Parameter] = dict(node._parameter_overrides)
    for spec in specs:
        if spec.alias in given and spec.name not in given:
            given[spec.name] = given.pop(spec.alias)
            node.get_logger().warning(
                f"parameter {spec.alias!r} is called {spec.name!r} now; the next version does not "
                "know the old name"
            )
    known = {spec.name for spec in specs}
    foreign = _meant_for_others(node)
    for name in given:
        if name in known or name in _FOREIGN or name.startswith("qos_overrides."):
            continue
        if node.has_parameter(name) or name in foreign:
            continue
        raise ParameterError(
            f"node {node.get_fully_qualified_name()} has no parameter {name!r}"
            f"{_nearest(name, known)}; it has {', '.join(sorted(known))}"
        )
    for spec in specs:
        value = spec.checked(given[spec.name].value if spec.name in given else spec.default)
        if node.has_parameter(spec.name):
            continue
        # The override is passed by value: it may need its type mended (1 for a double).
        node.declare_parameter(
            spec.name,
            list(value) if isinstance(value, tuple) else value,
            spec.descriptor(),
            ignore_override=True,
        )
    by_name = {spec.name: spec for spec in specs}

    def check(parameters: Sequence[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            spec = by_name.get(parameter.name)
            if spec is None:
                continue
            try:
                spec.checked(parameter.value)
            except ParameterError as error:
                return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)
    return Parameters(node, specs)


def remember_arguments(context: Context, arguments: Sequence[str]) -> None:
    """Remember the command line of a context's process, which tells where parameters come from."""
    _arguments[context] = tuple(arguments)


_arguments: weakref.WeakKeyDictionary[Context, tuple[str, ...]] = weakref.WeakKeyDictionary()


def _meant_for_others(node: Node) -> set[str]:
    """Return names of parameters that only stand in sections for several nodes."""
    words = _arguments.get(node.context, ())
    shared: set[str] = set()
    own: set[str] = set()
    for flag, value in itertools.pairwise(words):
        if flag in ("-p", "--param"):
            own.add(value.partition(":=")[0].rpartition(":")[2])
        if flag != "--params-file":
            continue
        try:
            content = read_yaml(Path(value).read_text("utf-8"))
        except (OSError, ValueError, yaml.YAMLError):
            continue  # rcl has read it: whatever it took from it is checked
        sections = content.items() if isinstance(content, dict) else ()
        for section, inner in sections:
            names = _flat(inner.get("ros__parameters")) if isinstance(inner, dict) else set()
            (shared if "*" in str(section) else own).update(names)
    return shared - own


def _flat(values: Any, prefix: str = "") -> set[str]:
    """Return names of parameters of a file's section, those of maps in it with dots."""
    if not isinstance(values, dict):
        return set()
    names: set[str] = set()
    for key, value in values.items():
        inner = _flat(value, f"{prefix}{key}.")
        names |= inner if inner else {f"{prefix}{key}"}
    return names


def _in_type(spec: ParameterSpec, value: Any) -> Value:
    default = spec.default
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
    elif isinstance(default, int):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif isinstance(default, float):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            number = float(value)
            if number == number:  # not NaN
                return number
    elif isinstance(default, str):
        if isinstance(value, str):
            return value
        # A name like 1 or true on a command line is read as a number or a truth value.
        if isinstance(value, (bool, int, float)) and not spec.json:
            return str(value).lower() if isinstance(value, bool) else str(value)
        if spec.json and isinstance(value, (bool, int, float)):
            return json.dumps(value)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        items = list(value)
        kind = type(default[0]) if default else str
        if kind is float and all(isinstance(i, (int, float)) for i in items):
            return [float(i) for i in items]
        if all(isinstance(i, kind) for i in items):
            return items
    raise ParameterError(
        f"parameter {spec.name!r}: expected a {spec.kind}, got {_short(value)} "
        f"(a {type(value).__name__})"
    )


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean (true or false)"
    return {int: "whole number", float: "number", str: "string"}.get(type(value), "value")


def _range_text(low: float | None, high: float | None) -> str:
    if low is None:
        return f"at most {high:g}"
    return f"at least {low:g}" if high is None else f"{low:g} to {high:g}"


def _nearest(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
