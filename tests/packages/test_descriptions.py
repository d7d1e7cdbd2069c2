"""Descriptions of parameters and options stand alone: a user reads each of them by itself."""

import importlib
from pathlib import Path

import pytest
from pydantic import BaseModel

from coterie_bringup.team import Team
from coterie_cli import cli
from coterie_fixtures.descriptions import described_options, fragment, fragments

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "ros2_ws" / "src"


@pytest.mark.parametrize(
    "text",
    ["How long to wait for answers.", "Least confidence.", "Per turn of a debate.", "", "A b c"],
)
def test_fragments_are_told_from_phrases(text):
    assert fragment(text)
    assert not fragment("Time to wait for the robots' answers to a question; 0: no time at all.")


def _node_classes(base):
    for kind in base.__subclasses__():
        yield kind
        yield from _node_classes(kind)


@pytest.mark.ros
def test_every_parameter_of_a_node_is_described_by_a_whole_phrase():
    agent_node = importlib.import_module("coterie_ros.agent_node")
    for file in sorted(SOURCES.glob("*/*/**/node.py")):
        importlib.import_module(".".join(file.relative_to(SOURCES).with_suffix("").parts[1:]))
    specs = list(agent_node.COMMON_PARAMETERS)
    where = ["every node"] * len(specs)
    for kind in _node_classes(agent_node.AgentNode):
        if (SOURCES / kind.__module__.partition(".")[0]).is_dir():
            specs += kind.PARAMETERS
            where += [f"{kind.__module__}.{kind.__name__}"] * len(kind.PARAMETERS)
    assert len(specs) > 100
    wrong = [
        f"{place}, {spec.name}: {spec.description!r} {problem}"
        for place, spec in zip(where, specs, strict=True)
        if (problem := fragment(spec.description) or _unexplained(spec))
    ]
    assert not wrong, "\n".join(wrong)


def _unexplained(spec) -> str:
    """An empty string or list, and a zero that switches something off, mean something."""
    text = spec.description
    if spec.default in ("", [], ()) and "empty" not in text:
        return "does not say what an empty value means"
    # With a least value of 0 and a default of 0 nothing else can be meant than "off" or a seed.
    if spec.minimum == 0 and spec.default == 0 and "eed" not in text and "0:" not in text:
        return "does not say what 0 means"
    return ""


def test_every_command_and_option_is_described_by_a_whole_phrase():
    described = described_options(cli.app, "coterie")
    assert len(described) > 150
    assert not (wrong := fragments(described)), "\n".join(wrong)


def _fields(annotation, where, around=()):
    """Give (place, field) of the models in a type, of their fields' types, and so on.

    A type within itself (a model profile has a larger one) is given once.
    """
    for part in getattr(annotation, "__args__", ()):
        yield from _fields(part, where, around)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation in around:
            return
        for name, field in annotation.model_fields.items():
            yield f"{where}.{name}", field
            yield from _fields(field.annotation, f"{where}.{name}", (*around, annotation))


def test_every_field_of_a_team_file_is_described_by_a_whole_phrase():
    described = [(place, field.description or "") for place, field in _fields(Team, "team")]
    assert {"team.robots.start.pose.yaw", "team.models.timeout_s", "team.world.maker"} <= {
        place for place, _ in described
    }
    wrong = [
        f"{place}: {text!r} {problem}" for place, text in described if (problem := fragment(text))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_page_on_team_files_has_every_field_of_every_section():
    page = (ROOT / "docs" / "team_file.md").read_text("utf-8")
    rows = [line.partition(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    elsewhere = ("world", "models", "robots")  # worlds.md, language.md, and a part of its own
    places = [place.split(".") for place, _ in _fields(Team, "team")]
    sections = [p[1:] for p in places if len(p) == 3 and p[1] not in elsewhere]
    assert len(sections) > 35
    missing = [
        f"{section}.{field}"
        for section, field in sections
        if not any(f"`{section}." in row and f".{field}`" in row for row in rows)
        and f"`{section}.{field}`" not in page
    ]
    assert not missing, missing
