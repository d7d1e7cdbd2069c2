"""The sizes that houses are drawn from, before each disturbs them; robots do not read them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict, TypeAdapter

from coterie_core.household import Range
from coterie_core.yaml_marks import read_own


class Usual(BaseModel):
    """Of a kind of thing: width (along the wall), depth (away from it) and height [m].

    `height` is where the middle of what hangs on a wall is above the floor [m].
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: tuple[Range, Range, Range]
    height: Range | None = None


@cache
def load_usual() -> Mapping[str, Usual]:
    """Return what things are usually like, by category; what has no size is never placed."""
    text = resources.files("habitat_bridge").joinpath("data/sizes.yaml").read_text("utf-8")
    return TypeAdapter(dict[str, Usual]).validate_python(read_own("habitat_bridge sizes", text))
