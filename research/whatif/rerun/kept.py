"""Parameters that a run's nodes were started with, as they were kept in its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from coterie_bringup.errors import CommandError
from coterie_core.yaml_marks import read_yaml


class CannotReplay(CommandError):
    """An episode cannot be had again exactly; says why."""


@dataclass(frozen=True, slots=True)
class KeptNodes:
    """The parameters of a run's nodes, by the node's full name."""

    nodes: Mapping[str, Mapping[str, Any]]

    def of(self, ending: str) -> Mapping[str, Any]:
        """Return the parameters of the node whose name ends so; {}: there is none."""
        for name, parameters in self.nodes.items():
            if name.endswith(f"/{ending}"):
                return parameters
        return {}

    def all_of(self, ending: str) -> dict[str, Mapping[str, Any]]:
        """Return the parameters of all robots' nodes whose name ends so, by robot."""
        found = {}
        for name, parameters in self.nodes.items():
            if name.endswith(f"/{ending}"):
                found[name.split("/")[-2]] = parameters
        return found


def kept_nodes(directory: Path) -> KeptNodes:
    """Read the parameters of a run.

    Raises:
        CannotReplay: They are not kept there.
    """
    file = directory / "parameters.yaml"
    try:
        data = read_yaml(file.read_text(encoding="utf-8"))
        nodes = {str(name): dict(body["ros__parameters"]) for name, body in data.items()}
    except (OSError, yaml.YAMLError, TypeError, KeyError, AttributeError, ValueError):
        raise CannotReplay(
            f"{file} is not there or cannot be read: only runs of simulated teams are kept whole"
        ) from None
    return KeptNodes(nodes)


def from_json(parameters: Mapping[str, Any], name: str) -> Any:
    """Return a parameter that holds JSON; None where it is empty or holds none."""
    try:
        return json.loads(str(parameters.get(name) or "null"))
    except ValueError:
        return None
