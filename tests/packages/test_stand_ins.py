"""Interfaces of real robots: those here are those that their projects publish."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "ros2_ws" / "src" / "compat" / "robots"
PUBLISHED = json.loads(Path(__file__).with_name("published_interfaces.json").read_text("utf-8"))
"""Type hashes and constants of the published definitions, and the commits they were taken from."""


def described(interface: str) -> dict[str, Any]:
    """Return the type description of an installed interface."""
    package, _, name = interface.partition("/")
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        file = Path(prefix) / "share" / package / f"{name}.json"
        if file.is_file():
            return json.loads(file.read_text("utf-8"))
    pytest.skip(f"{package} is not built here: ./coterie setup --with robots")


def test_every_stand_in_is_compared():
    here = {
        f"{file.parents[1].name}/{file.parent.name}/{file.stem}"
        for file in SOURCES.glob("*/*/*")
        if file.suffix in (".msg", ".srv", ".action")
    }
    assert here == PUBLISHED["interfaces"].keys()


@pytest.mark.parametrize("interface", PUBLISHED["interfaces"])
def test_type_hashes_are_the_published_ones(interface):
    hashes = {
        entry["type_name"]: entry["hash_string"] for entry in described(interface)["type_hashes"]
    }
    assert hashes[interface] == PUBLISHED["interfaces"][interface]["hash"]


@pytest.mark.parametrize(
    "interface", [name for name, facts in PUBLISHED["interfaces"].items() if facts["constants"]]
)
def test_constants_are_the_published_ones(interface):
    described(interface)
    package, kind, name = interface.split("/")
    kind_of = getattr(importlib.import_module(f"{package}.{kind}"), name)
    for part, constants in PUBLISHED["interfaces"][interface]["constants"].items():
        owner = getattr(kind_of, part) if part else kind_of
        # A constant of type byte is an object of one byte in Python.
        values = {key: getattr(owner, key) for key in constants}
        assert {k: v[0] if isinstance(v, bytes) else v for k, v in values.items()} == constants
