"""Figures in docs: measured again, compared cell by cell, written back."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.table import Table

from research.bench.common.tables import PrintedTable, print_whole, recorded_tables
from research.bench.figures.bench import main
from research.bench.figures.docs_blocks import (
    DocsError,
    as_markdown,
    blocks_of,
    changes,
    filled,
    table_of,
)

TABLE = PrintedTable(
    "Success [%] by task",
    ("method", "task 1", "wall [s]"),
    (("emos", "93.1 (37.4)", "1.2"), ("random", "40.0", "0.3")),
)
PAGE = """# A page

<!-- figures: bench emos --episodes 2 --seed 5 | Success [%] -->
| method | task 1 |
| --- | ---: |
| emos | 99.0 (37.4) |
| random | 40.0 |
<!-- end figures -->

Text stays.
"""


def test_tables_are_kept_as_plain_text_while_recorded():
    table = Table(title="[bold]A[/] title")
    table.add_column("method")
    table.add_column("steps")
    table.add_row("[dim]one[/]", "12")
    quiet = Console(quiet=True)
    with recorded_tables() as tables:
        print_whole(table, quiet)
    print_whole(table, quiet)
    assert tables == [PrintedTable("A title", ("method", "steps"), (("one", "12"),))]


def test_a_block_names_its_bench_and_table(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    (block,) = blocks_of(page)
    assert block.command == ("emos", "--episodes", "2", "--seed", "5")
    assert block.line == 3 and block.title == "Success [%]"
    assert table_of(block, [TABLE]) is TABLE


def test_what_moved_is_told_by_row_and_column_and_times_are_left_out(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    (block,) = blocks_of(page)
    (change,) = changes(block.body, TABLE)
    assert (change.row, change.column) == ("emos", "task 1")
    assert (change.before, change.after) == ("99.0 (37.4)", "93.1 (37.4)")
    text = filled(PAGE, [(block, TABLE)])
    assert text == PAGE.replace("99.0", "93.1")
    page.write_text(text)
    assert changes(blocks_of(page)[0].body, TABLE) == []


def test_a_row_that_came_and_one_that_went_are_told():
    body = as_markdown(PrintedTable("t", ("method", "x"), (("old", "1"), ("both", "2"))))
    after = PrintedTable("t", ("method", "x"), (("both", "2"), ("new", "3")))
    assert [(c.row, c.after) for c in changes(body, after)] == [("new", "3"), ("old", "(none)")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PAGE.replace("<!-- end figures -->", ""), "1 of its blocks"),
        (PAGE.replace("bench emos", "rm -rf"), "page.md:3: expected 'bench NAME"),
        (PAGE.replace(" | Success [%]", ""), "lack ' | title'"),
    ],
)
def test_broken_blocks_are_refused(tmp_path, text, told):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(DocsError) as caught:
        blocks_of(page)
    assert told in str(caught.value)


def test_a_title_that_no_table_has_is_refused_with_those_there_are(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    (block,) = blocks_of(page)
    with pytest.raises(DocsError, match="its tables: Another"):
        table_of(block, [PrintedTable("Another", (), ())])


def test_a_bench_is_measured_compared_and_written(tmp_path, capsys):
    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    page = docs / "maps.md"
    command = "bench map --houses 1 --seed 41 --width 64"
    page.write_text(
        f"<!-- figures: {command} | Semantic maps -->\nnothing yet\n<!-- end figures -->\n"
    )
    words = ["--pages", str(docs), "--out", str(out)]
    assert main([*words, "--docs"]) == 1  # everything is new
    first = page.read_text()
    assert "| 41 |" in first and "nothing yet" not in first
    assert main(words) == 0  # what was measured is what the page says
    assert "0 figures moved" in capsys.readouterr().out
    page.write_text(first.replace("| 41 |", "| 42 |"))
    assert main(words) == 1


def test_unknown_benches_and_data_that_is_not_there_are_told(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- figures: bench nosuch | T -->\n<!-- end figures -->\n"
        "<!-- figures: bench mele --graphs ../no/such/folder | T -->\n<!-- end figures -->\n"
    )
    assert main(["--pages", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "no bench 'nosuch'" in told and "../no/such/folder is not on this machine" in told
    assert main(["--pages", str(tmp_path), "--only", "emos"]) == 2
