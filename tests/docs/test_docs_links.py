"""Links, paths, commands and team files that the documentation shows lead to what is there."""

import functools
import re
import shutil
from pathlib import Path

import pytest
import yaml

import docs_site
from coterie_bringup.team import load_team
from coterie_cli import exit_codes
from coterie_fixtures.pages import FENCE, shown_commands, tracked, wrong

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\[[^\]\[]*\]\(([^()\s]+)\)")
#: A page named in code, configuration or a message, such as docs/team_file.md.
MENTION = re.compile(r"\bdocs/[\w/]+\.md\b")


def anchor(heading: str) -> str:
    """The identifier that the site and git hosts give a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    words = re.sub(r"[^\w\s-]", "", plain.strip().lower())
    return re.sub(r"\s", "-", words)


@functools.cache
def anchors(markdown: str) -> set[str]:
    text = FENCE.sub("", markdown)
    return {anchor(line.lstrip("#")) for line in text.splitlines() if re.match(r"#+ ", line)}


def dead_links(page: Path, known: dict[Path, str]) -> list[str]:
    """Links of a page that lead to no file, or to no heading of a page."""
    dead = []
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCE.sub("", known[page]))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        there = file in known or file.exists()
        if not there or (fragment and fragment not in anchors(known.get(file, ""))):
            dead.append(f"{page.relative_to(page.anchor)}: {target}")
    return dead


def pages() -> dict[Path, str]:
    made = {DOCS / path: text for path, text in docs_site.api_pages(docs_site.SOURCES).items()}
    return {**{file: file.read_text("utf-8") for file in tracked("*.md")}, **made}


def test_exit_codes_are_those_of_the_commands():
    assert exit_codes.table() in (DOCS / "guides/ask.md").read_text("utf-8")


def test_dead_links_are_found(tmp_path):
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    text = "# Page\n[a](other.md#two-words) [b](other.md#three) [c](none.md) [d](#page)\n"
    fenced = "```\n[e](gone.md)\n```\n`[f](gone.md)` [g](https://example.org)\n"
    known = {page: text + fenced, other: "# Other\n## Two words\n"}
    assert [dead.partition(": ")[2] for dead in dead_links(page, known)] == [
        "other.md#three",
        "none.md",
    ]


def test_links_between_pages_lead_somewhere():
    known = pages()
    assert len(known) > 70
    dead = [link for page in known for link in dead_links(page, known)]
    assert not dead, "\n".join(dead)


def test_pages_that_code_and_configuration_name_are_there():
    files = tracked("*.py", "*.yaml", "*.yml", "*.toml", "*.txt", "*.msg", "*.srv", "*.action")
    files += [*tracked("docker/*", "*.xml"), ROOT / "coterie"]
    named = {
        (str(file.relative_to(ROOT)), mention)
        for file in files
        for mention in MENTION.findall(file.read_text("utf-8", errors="replace"))
    }
    assert len(named) > 20
    gone = [f"{file}: {page}" for file, page in sorted(named) if not (ROOT / page).is_file()]
    assert not gone, "\n".join(gone)


def test_every_package_has_a_page_with_its_picture():
    packages = {file.parent.name for file in ROOT.glob("ros2_ws/src/*/package.xml")}
    assert len(packages) > 10
    for name in packages:
        page = (DOCS / "packages" / f"{name}.md").read_text("utf-8")
        assert len(docs_site.diagrams(page)) == 1, name
        assert docs_site.with_pictures(page, f"packages/{name}.md") != page
    index = (DOCS / "packages" / "index.md").read_text("utf-8")
    assert not [name for name in packages if f"({name}.md)" not in index]


# Commands as the pages show them


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("./coterie ask 'Is there a mug?' --json   # a comment", ""),
        ("./coterie bench map --houses 2", ""),  # research/tests knows its options
        ("./coterie aks 'Is there a mug?'", "no command 'aks'"),
        ("./coterie ask x --jsn", "ask has no option --jsn"),
        ("./coterie team chek x.yaml", "no command 'chek'"),
        ("./coterie setup --with docs", ""),
        ("./coterie setup dosc", "setup: expected --with NAME, got dosc"),
    ],
)
def test_wrong_commands_are_found(line, problem):
    assert wrong(line) == problem


def test_commands_in_the_pages_exist_with_their_options():
    shown = shown_commands()
    assert len(shown) > 80
    problems = [f"{page}: {line}: {found}" for page, line in shown if (found := wrong(line))]
    assert not problems, "\n".join(problems)


# Team files as the pages show them


def test_team_files_in_the_guides_are_good(tmp_path):
    urdf = ROOT / "ros2_ws/src/coterie_description/coterie_description/urdf/fetch.urdf"
    shutil.copy(urdf, tmp_path / "my_robot.urdf")
    guides = [DOCS / "start.md", *sorted((DOCS / "guides").glob("*.md"))]
    blocks = [
        (guide.name, match[3])
        for guide in guides
        for match in FENCE.finditer(guide.read_text("utf-8"))
        if match[2] == "yaml"
    ]
    for _, text in blocks:
        if "urdf" in yaml.safe_load(text):
            (tmp_path / "my_robot.yaml").write_text(text)
    teams = 0
    for name, text in blocks:
        fields = yaml.safe_load(text)
        if {"world", "robots"} <= set(fields):
            file = tmp_path / name.replace(".md", ".yaml")
            file.write_text(text)
            assert load_team(file).robots, name
            teams += 1
    assert teams >= 3
