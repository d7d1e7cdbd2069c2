"""Functions that a model may call while it decides: typed arguments, a bounded result."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from coterie_core.plain_data import schema_problems
from coterie_llm.fence import as_data, inline_data
from coterie_llm.schema import lean_schema
from coterie_llm.types import ToolCall, ToolSpec

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)

_LOG = logging.getLogger(__name__)
_RESULT_CHARS = 4000


@functools.lru_cache(maxsize=512)
def lean_arguments(arguments: type[BaseModel]) -> Mapping[str, Any]:
    """JSON schema of a tool's arguments; the function's own name and description say the rest."""
    schema = lean_schema(arguments)
    return {key: value for key, value in schema.items() if key not in ("title", "description")}


class ToolRefused(ValueError):
    """The tool cannot answer this: what came, what was expected, what to do. The model reads it."""


@dataclass(frozen=True)
class Tool(Generic[ArgumentsT]):
    """A function that a model may call before it answers.

    A tool looks things up or asks; it never moves a robot. What it returns is data to the model.

    Attributes:
        name: Letters, digits and `_`.
        description: Description of the result, with units, for the model.
        arguments: Type of its arguments; field descriptions reach the model.
        run: Returns the result as plain data, or awaits it. Raises `ToolRefused` for arguments
            that mean nothing here.
    """

    name: str
    description: str
    arguments: type[ArgumentsT]
    run: Callable[[ArgumentsT], Any | Awaitable[Any]]

    @property
    def spec(self) -> ToolSpec:
        """The tool as requests carry it."""
        return ToolSpec(self.name, self.description, lean_arguments(self.arguments))


@dataclass(frozen=True)
class ToolUse:
    """One call of a tool by a model, for the record.

    Attributes:
        name: The tool.
        arguments: Arguments that the model gave.
        result: Result that the model read, fenced and bounded.
        refused: Whether it was told that the call cannot be answered.
    """

    name: str
    arguments: dict[str, Any]
    result: str
    refused: bool = False


async def use_tool(tools: Mapping[str, Tool[Any]], call: ToolCall) -> ToolUse:
    """Run one call that a model asked for; whatever it gave, the result is text for the model."""
    given = dict(call.arguments)
    tool = tools.get(call.name)
    try:
        if tool is None:
            raise ToolRefused(f"there is no such tool; the tools are {', '.join(tools) or 'none'}")
        arguments = tool.arguments.model_validate(given)
        result = tool.run(arguments)
        if inspect.isawaitable(result):
            result = await result
    except ValidationError as error:
        problems = schema_problems(error, "arguments", most=5)
        return ToolUse(call.name, given, f"refused: {inline_data(problems, limit=1000)}", True)
    except ToolRefused as error:
        return ToolUse(call.name, given, f"refused: {inline_data(str(error), limit=1000)}", True)
    except Exception as error:  # a robot goes on deciding whatever a look-up meets
        _LOG.warning("tool %s failed", call.name, exc_info=True)
        return ToolUse(call.name, given, f"refused: the tool failed: {type(error).__name__}", True)
    return ToolUse(call.name, given, as_data(f"result of {call.name}", result, limit=_RESULT_CHARS))
