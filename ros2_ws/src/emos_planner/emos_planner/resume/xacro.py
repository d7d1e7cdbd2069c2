"""Variables that xacro left in a URDF: properties, arguments and simple arithmetic, nothing else.

A URDF "in the wild" often is a xacro file whose names and numbers still read `${...}`. What its own
properties define is worked out here by walking the syntax tree of the expression (never by running
it). Macros and includes need xacro itself and are refused with that remedy.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

from emos_planner.resume.errors import UrdfError

PREFIX = "xacro"
REMEDY = "expand it first: xacro FILE > robot.urdf"

_EXPRESSION = re.compile(r"\$\$|\$\{([^{}]*)\}|\$\(([^()]*)\)")
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: lambda a, b: float(a) < float(b),  # type: ignore[arg-type]
    ast.LtE: lambda a, b: float(a) <= float(b),  # type: ignore[arg-type]
    ast.Gt: lambda a, b: float(a) > float(b),  # type: ignore[arg-type]
    ast.GtE: lambda a, b: float(a) >= float(b),  # type: ignore[arg-type]
}
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sqrt": math.sqrt,
    "radians": math.radians,
    "degrees": math.degrees,
    "abs": abs,
    "float": float,
    "int": int,
}
_DEPTH = 40
_LENGTH = 400

Value = float | str | bool


class UndefinedVariable(LookupError):
    """A variable that the file does not define."""


class Variables:
    """Properties and arguments of one file; values are worked out when they are asked for.

    Args:
        properties: Name -> text of the property, unevaluated.
        arguments: Name -> default of a `xacro:arg`, None where it has none.
    """

    def __init__(self, properties: dict[str, str], arguments: dict[str, str | None]) -> None:
        self._properties = properties
        self._arguments = arguments
        self.missing: set[str] = set()

    def substitute(self, text: str, *, depth: int = 0, lenient: bool = True) -> str:
        """Return `text` with its `${...}` and `$(arg ...)` replaced.

        Args:
            text: Attribute or text of an element.
            depth: Properties that led here; more than 40 is taken for a circle.
            lenient: Replace what is not defined by nothing and note it in `missing`.

        Raises:
            UrdfError: The expression is none, or defined through itself.
            UndefinedVariable: A name without a value, unless `lenient`.
        """
        if "$" not in text:
            return text

        def one(match: re.Match[str]) -> str:
            if match.group(0) == "$$":
                return "$"
            try:
                if match.group(1) is not None:
                    return _text(self.evaluate(match.group(1), depth=depth))
                return self._command(match.group(2))
            except UndefinedVariable as error:
                if not lenient:
                    raise
                self.missing.add(str(error.args[0]))
                return ""

        return _EXPRESSION.sub(one, text)

    def evaluate(self, expression: str, *, depth: int = 0) -> Value:
        """Return the value of what stands between `${` and `}`.

        Raises:
            UrdfError: Not simple arithmetic, or defined through itself.
            UndefinedVariable: A name without a value.
        """
        if depth > _DEPTH:
            raise UrdfError(
                "a property is defined through itself", element=expression[:60], remedy=REMEDY
            )
        if len(expression) > _LENGTH:
            raise UrdfError(f"an expression of more than {_LENGTH} characters", remedy=REMEDY)
        try:
            tree = ast.parse(expression.strip(), mode="eval")
            return self._node(tree.body, depth)
        except (SyntaxError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
            if isinstance(error, UrdfError):
                raise
            raise UrdfError(
                f"cannot work out ${{{expression[:60]}}} ({error}); sums of numbers and "
                "properties of the same file are understood",
                remedy=REMEDY,
            ) from error

    def _command(self, text: str) -> str:
        words = text.split()
        if len(words) == 2 and words[0] == "arg":
            value = self._arguments.get(words[1])
            if value is None:
                raise UndefinedVariable(words[1])
            return value
        if len(words) == 2 and words[0] == "find":
            return f"package://{words[1]}"
        raise UndefinedVariable(text.strip())

    def _node(self, node: ast.expr, depth: int) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
            return node.value
        if isinstance(node, ast.Name):
            return self._name(node.id, depth)
        if isinstance(node, ast.UnaryOp):
            value = self._node(node.operand, depth)
            if isinstance(node.op, ast.Not):
                return not _truth(value)
            if isinstance(node.op, ast.USub | ast.UAdd):
                return -float(value) if isinstance(node.op, ast.USub) else float(value)
        if isinstance(node, ast.BinOp):
            left, right = self._node(node.left, depth), self._node(node.right, depth)
            if isinstance(node.op, ast.Pow):
                if abs(float(right)) > 8:
                    raise ValueError("powers above 8")
                return float(float(left) ** float(right))
            if isinstance(node.op, ast.Add) and isinstance(left, str) and isinstance(right, str):
                return left + right
            if type(node.op) in _BINARY:
                return _BINARY[type(node.op)](float(left), float(right))
        if isinstance(node, ast.BoolOp):
            values = [_truth(self._node(each, depth)) for each in node.values]
            return all(values) if isinstance(node.op, ast.And) else any(values)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            left, right = self._node(node.left, depth), self._node(node.comparators[0], depth)
            return _COMPARE[type(node.ops[0])](left, right)
        if isinstance(node, ast.Call) and not node.keywords and len(node.args) == 1:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            if name in _FUNCTIONS:
                return _FUNCTIONS[name](float(self._node(node.args[0], depth)))
        raise ValueError(f"{type(node).__name__} is not simple arithmetic")

    def _name(self, name: str, depth: int) -> Value:
        if name in ("pi", "M_PI"):
            return math.pi
        if name in ("True", "true", "False", "false"):
            return name.lower() == "true"
        if name not in self._properties:
            raise UndefinedVariable(name)
        text = self.substitute(self._properties[name], depth=depth + 1, lenient=False)
        try:
            return float(text)
        except ValueError:
            return text


def resolve(root: ET.Element) -> list[str]:
    """Replace xacro's variables and conditions below `root` in place.

    Returns:
        What was odd: undefined variables and what they were taken for.

    Raises:
        UrdfError: Macros, includes or expressions that only xacro can expand.
    """
    _unify(root)
    properties: dict[str, str] = {}
    arguments: dict[str, str | None] = {}
    used = False
    for element in root.iter():
        kind = _xacro(element)
        if kind is None:
            used = used or any("$" in value for value in element.attrib.values())
            continue
        used = True
        name = element.get("name", "")
        if kind == "property":
            value = element.get("value", element.get("default"))
            if value is None:
                raise UrdfError(
                    "a block of elements as property cannot be inserted here",
                    element=f'xacro:property "{name}"',
                    remedy=REMEDY,
                )
            properties.setdefault(name, value)
        elif kind == "arg":
            arguments.setdefault(name, element.get("default"))
        elif kind not in ("if", "unless"):
            what = element.get("filename") or name
            raise UrdfError(
                "macros, includes and inserted blocks need xacro itself",
                element=f"xacro:{kind}" + (f' "{what}"' if what else ""),
                remedy=REMEDY,
            )
    if not used:
        return []
    variables = Variables(properties, arguments)
    _replace(root, variables, 0)
    return [
        f"variable {name!r} of xacro has no value in this file: taken as empty; {REMEDY}"
        for name in sorted(variables.missing)
    ]


def _unify(root: ET.Element) -> None:
    """Give xacro's elements the usual prefix, whatever the document calls its namespace."""
    others = tuple(
        f"{key[6:]}:"
        for key, value in root.attrib.items()
        if key.startswith("xmlns:") and "xacro" in value and key != f"xmlns:{PREFIX}"
    )
    if others:
        for element in root.iter():
            if element.tag.startswith(others):
                element.tag = f"{PREFIX}:{element.tag.partition(':')[2]}"


def _replace(element: ET.Element, variables: Variables, depth: int) -> None:
    for key, value in element.attrib.items():
        if "$" in value:
            element.set(key, variables.substitute(value))
    if element.text and "$" in element.text:
        element.text = variables.substitute(element.text)
    children: list[ET.Element] = []
    for child in element:
        children += _kept(child, variables)
    element[:] = children
    for child in element:
        _replace(child, variables, depth + 1)


def _kept(child: ET.Element, variables: Variables) -> list[ET.Element]:
    kind = _xacro(child)
    if kind is None:
        return [child]
    if kind not in ("if", "unless"):
        return []
    value = variables.substitute(child.get("value", ""))
    if _truth(value) != (kind == "if"):
        return []
    return [kept for each in child for kept in _kept(each, variables)]


def _xacro(element: ET.Element) -> str | None:
    prefix, colon, kind = element.tag.partition(":")
    if colon and prefix == PREFIX:
        return kind
    # Before prefixes were asked for, xacro took these bare.
    return element.tag if element.tag in ("macro", "include") else None


def _truth(value: Value) -> bool:
    if isinstance(value, str):
        return value.strip().lower() not in ("", "false", "0", "0.0")
    return bool(value)


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return str(value)
