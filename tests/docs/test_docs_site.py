"""The site builds strictly, from pages and sources, and loads nothing from the network."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

import docs_site

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def sources(tmp_path):
    """Two packages, of which the second imports one module of the first."""
    for path, text in {
        "a/a/__init__.py": '"""The first package."""\n',
        "a/a/shared.py": '"""What others | import."""\n\n\ndef used() -> int:\n    """Seven."""\n',
        "a/a/inner.py": '"""What only a uses."""\nfrom a.shared import used\n',
        "a/a/testing.py": '"""For tests."""\n',
        "b/b/__init__.py": '"""The second package."""\n',
        "b/b/main.py": '"""Starts."""\nfrom a import shared\nfrom a.testing import x\n',
        "coterie_msgs/msg/Ball.msg": "# Something round.\nfloat64 radius  # [m]\n",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_modules_that_another_package_imports_are_public(sources):
    assert docs_site.public_modules(sources) == ["a", "a.shared"]


def test_api_pages_hold_public_modules_and_interfaces(sources):
    pages = docs_site.api_pages(sources)
    assert "::: a.shared" in pages["api/a.md"]
    assert "inner" not in "".join(pages.values())
    assert "float64 radius  # [m]" in pages["api/coterie_msgs.md"]
    assert "[a](a.md)" in pages["api/index.md"]


def test_the_table_of_a_package_has_its_modules(sources):
    table = docs_site.module_table(sources, "a")
    assert "| `inner` | What only a uses. |" in table
    assert r"What others \| import." in table
    with pytest.raises(ValueError, match="there is no package c"):
        docs_site.module_table(sources, "c")


def test_diagrams_become_links_to_pictures_with_their_title():
    diagram = "flowchart LR\n  accTitle: a leads to b\n  a --> b\n"
    page = f"# Page\n\n```mermaid\n{diagram}```\n\nEnd.\n"
    assert docs_site.diagrams(page) == [diagram]
    made = docs_site.with_pictures(page, "packages/page.md")
    assert f"![a leads to b](../{docs_site.diagram_path(diagram)})" in made
    with pytest.raises(ValueError, match=r"docs/page\.md: .*accTitle"):
        docs_site.with_pictures(page.replace("accTitle", "title"), "page.md")


needs_mkdocs = pytest.mark.skipif(
    find_spec("mkdocs") is None or find_spec("mmdr") is None,
    reason="mkdocs is not installed: ./coterie setup --with docs",
)


class Loaded(HTMLParser):
    """Addresses that a browser loads by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed", "object"):
            self.addresses += [values[key] for key in ("src", "srcset", "data") if values.get(key)]
        if tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(values.get("href") or "")


def fetched(site: Path) -> list[str]:
    """Addresses on the network that pages, styles and pictures of a site load."""
    found = []
    for file in site.rglob("*"):
        text = file.read_text("utf-8") if file.suffix in (".html", ".css", ".svg") else ""
        page = Loaded()
        if file.suffix == ".html":
            page.feed(text)
        loaded = [
            *page.addresses,
            *re.findall(r"url\(['\"]?(.*?)['\"]?\)|@import ['\"](.*?)['\"]", text),
        ]
        found += [
            f"{file.name}: {address}"
            for address in ("".join(entry) for entry in loaded)
            if re.match(r"(https?:)?//", address)
        ]
    return found


def test_addresses_on_the_network_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<script src="https://x/y.js"></script><img src="b.png"><a href="https://z">z</a>'
    )
    (tmp_path / "a.css").write_text("@import '//fonts/q.css'; b {background: url(https://p)}")
    assert sorted(fetched(tmp_path)) == [
        "a.css: //fonts/q.css",
        "a.css: https://p",
        "a.html: https://x/y.js",
    ]


@needs_mkdocs
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_site_builds_strictly_and_loads_nothing_from_the_network(tmp_path, capfd):
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=False)
    assert done.returncode == 0, capfd.readouterr()
    home = (tmp_path / "index.html").read_text("utf-8")
    assert "Where to go" in home
    assert (tmp_path / "api" / "coterie_llm.html").is_file()
    assert "ImageDetections" in (tmp_path / "api" / "coterie_msgs.html").read_text("utf-8")
    mapper = (tmp_path / "packages" / "semantic_mapper.html").read_text("utf-8")
    picture = re.search(r'src="\.\./(diagrams/\w+\.svg)"', mapper)
    assert picture and "worker" in (tmp_path / picture[1]).read_text("utf-8")
    assert "<!-- modules" not in mapper and "<code>node</code>" in mapper
    assert fetched(tmp_path) == []


@needs_mkdocs
@pytest.mark.parametrize("link", ["gone.md", "index.md#nowhere", "/absolute.md"])
def test_a_link_that_leads_nowhere_ends_the_build(tmp_path, link):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Home\n\n[there]({link})\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\nnav: [index.md]\nhooks: []\nplugins: []\n")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config)]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "site")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert link in done.stderr
