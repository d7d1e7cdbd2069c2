"""Tables of the docs are those of the data: the ROS graph, and ports."""

from pathlib import Path

import write_ros_graph
from coterie_cli.team_tools.command import McpOptions
from coterie_console.site import FIRST_PORT
from coterie_fixtures.running_graph import ports_of

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_has_the_tables_of_the_data():
    page = write_ros_graph.PAGE.read_text("utf-8")
    assert page == write_ros_graph.tables(page), "run `python tools/write_ros_graph.py`"


def test_the_table_of_ports_has_those_that_commands_take():
    table = ports_of(ROOT / "docs" / "guides" / "security.md")
    commands = {
        "console": FIRST_PORT,
        "mcp": McpOptions.__dataclass_fields__["port"].default,
    }
    assert {f"coterie {name}": table.get(port) for name, port in commands.items()} == {
        f"coterie {name}": next(row for row in table.values() if f"`./coterie {name}" in row)
        for name in commands
    }
