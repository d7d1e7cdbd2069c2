"""Settings as pydantic models, and their fields as flat values such as ROS parameters."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from coterie_core.plain_data import schema_problems

SettingsT = TypeVar("SettingsT", bound="Settings")
_NONE = "null"
"""What a text that may be none says where it is none."""


class Settings(BaseModel):
    """A section of settings: unknown fields are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def from_parameters(cls: type[SettingsT], values: Mapping[str, Any]) -> SettingsT:
        """Read what `to_parameters` wrote, with defaults for what is not there.

        Raises:
            ValueError: A value is wrong, or values do not fit to one another; names them.
        """
        nested: dict[str, Any] = {}
        for leaf in leaves(cls):
            if leaf.name not in values:
                continue
            *sections, last = leaf.name.split(".")
            inner = nested
            for section in sections:
                inner = inner.setdefault(section, {})
            inner[last] = leaf.read(values[leaf.name])
        try:
            return cls.model_validate(nested)
        except ValidationError as error:
            raise ValueError(f"parameters: {schema_problems(error)}") from None

    def to_parameters(self) -> dict[str, Any]:
        """Return what differs from the defaults, with dots in the names of sections' fields."""
        flat: dict[str, Any] = {}
        for leaf in leaves(type(self)):
            value: Any = self
            for part in leaf.name.split("."):
                value = getattr(value, part)
            if value != leaf.usual:
                flat[leaf.name] = leaf.written(value)
        return flat


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field that is no section.

    Attributes:
        name: Name, with dots after the names of the sections around it.
        field: The field.
        usual: Its default.
        json: Whether its flat value is a text that holds JSON.
        optional: Whether it is a text that may be none; its flat value then is `null`.
    """

    name: str
    field: FieldInfo
    usual: Any
    json: bool
    optional: bool

    def written(self, value: Any) -> Any:
        """Return a value as a flat one: a number, a truth value or a text."""
        if self.optional and value is None:
            return _NONE
        return json.dumps(_plain(value)) if self.json else value

    def read(self, value: Any) -> Any:
        """Return what a flat value says."""
        if self.optional and value == _NONE:
            return None
        return json.loads(value) if self.json and isinstance(value, str) else value


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[Leaf]:
    """Give all fields of a model that are no sections, and those of its sections."""
    yield from _leaves(model, None, prefix)


def _leaves(model: type[BaseModel], section: Any, prefix: str) -> Iterator[Leaf]:
    for name, field in model.model_fields.items():
        usual = field.get_default(call_default_factory=True, validated_data={})
        if section is not None:
            usual = getattr(section, name)
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, usual, f"{prefix}{name}.")
            continue
        plain = kind in (bool, int, float, str) or typing.get_origin(kind) is Literal
        optional = not plain and _is_text_or_none(kind)
        yield Leaf(f"{prefix}{name}", field, usual, not (plain or optional), optional)


def _is_text_or_none(kind: Any) -> bool:
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return False
    return {
        typing.get_args(part)[0] if typing.get_origin(part) is Annotated else part
        for part in typing.get_args(kind)
    } == {str, types.NoneType}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
