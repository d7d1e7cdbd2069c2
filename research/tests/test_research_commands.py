"""Commands of the studies: described by whole phrases, and in the pages with options they have."""

from __future__ import annotations

import importlib

import pytest
import typer

from coterie_cli.research import STUDIES
from coterie_fixtures.descriptions import described_options, fragments
from coterie_fixtures.pages import shown_commands, wrong
from research import commands
from research.bench.figures.catalog import BENCHES
from research.bench.lab import command as lab
from research.play import command as play

OWN: dict[str, typer.Typer] = {
    **{f"bench {name}": importlib.import_module(one.module).app for name, one in BENCHES.items()},
    "bench lab": lab.app,
    "play": play.app,
}
"""Command lines that read their own arguments."""


def test_every_study_that_the_product_names_is_a_command_here() -> None:
    app = typer.main.get_command(commands.app)
    for name in STUDIES:
        found = app
        for word in name.split():
            found = found.commands[word]  # type: ignore[attr-defined]


def test_every_command_and_option_is_described_by_a_whole_phrase() -> None:
    described = described_options(commands.app, "coterie")
    for name, app in OWN.items():
        described += described_options(app, f"coterie {name}")
    assert len(described) > 150
    assert not (wrong_ones := fragments(described)), "\n".join(wrong_ones)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("./coterie bench map --houses 2", ""),
        ("./coterie bench map --hoses 2", "map has no option --hoses"),
        ("./coterie play --pag", "play has no option --pag"),
        ("./coterie whatif t1 --without ant", ""),
        ("./coterie whatif t1 --wihtout ant", "whatif has no option --wihtout"),
        ("./coterie model check tiny --sampels 2", "check has no option --sampels"),
    ],
)
def test_wrong_commands_are_found(line: str, problem: str) -> None:
    assert wrong(line, commands.app, OWN) == problem


def test_commands_in_the_pages_exist_with_their_options() -> None:
    studies = [one for one in shown_commands() if one[1].split()[1] in STUDIES]
    assert len(studies) >= 20
    problems = [f"{page}: {line}: {found}" for page, line in studies
                if (found := wrong(line, commands.app, OWN))]  # fmt: skip
    assert not problems, "\n".join(problems)
