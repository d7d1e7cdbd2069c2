"""Parts of the documentation's site that are made from the sources when mkdocs builds it.

mkdocs loads this file as a hook (mkdocs.yml). It adds an API page for each package and folder with
public modules, the interface definitions of coterie_msgs, tables of a package's modules, and draws
the mermaid diagrams of pages as SVG, so that no page needs the network. mkdocs runs it.
"""

from __future__ import annotations

import ast
import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "ros2_ws" / "src"
API = "api"
#: A line in a page that is replaced by the table of a package's modules.
MODULE_TABLE = re.compile(r"^<!-- modules of (\w+) -->$", re.MULTILINE)
DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIAGRAM_TITLE = re.compile(r"^\s*accTitle: (.+)$", re.MULTILINE)
#: Entry of the navigation that the API pages are put into.
API_SECTION = "API reference"


# What the sources hold


def modules(sources: Path) -> dict[str, Path]:
    """Return all modules of the workspace's Python packages, by dotted name."""
    found = {}
    for package in sorted(sources.glob("*/*/__init__.py")):
        for file in sorted(package.parent.rglob("*.py")):
            parts = file.relative_to(package.parent.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = file
    return found


def public_modules(sources: Path) -> list[str]:
    """Return the modules that another package imports: what a package offers to the others."""
    known = modules(sources)
    public = set()
    for name, file in known.items():
        for other in _imported(ast.parse(file.read_text("utf-8"))):
            if other in known and other.partition(".")[0] != name.partition(".")[0]:
                public.add(other)
    return sorted(name for name in public if "testing" not in name.split("."))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def summary(file: Path) -> str:
    """Return the first line of a module's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return text.partition("\n")[0].replace("|", "\\|")


# Pages made from them


def api_pages(sources: Path) -> dict[str, str]:
    """Return the API reference: path of a page below docs/ -> its Markdown."""
    known = modules(sources)
    groups: dict[str, list[str]] = {}
    for name in public_modules(sources):
        parts = name.split(".")
        folder = parts[: 2 if len(parts) > 2 or known[name].name == "__init__.py" else 1]
        groups.setdefault(".".join(folder), []).append(name)
    pages = {}
    for group, names in groups.items():
        listed = "\n\n".join(f"::: {name}" for name in names)
        pages[f"{API}/{group}.md"] = f"# {group}\n\n{listed}\n"
    pages[f"{API}/coterie_msgs.md"] = _interfaces(sources / "coterie_msgs")
    rows = "\n".join(f"| [{group}]({group}.md) | {summary(known[group])} |" for group in groups)
    pages[f"{API}/index.md"] = (
        f"# {API_SECTION}\n\n"
        "These pages are made from the docstrings of the modules that other packages import. The\n"
        "page of each package lists its other modules; they are read in the source.\n"
        "Topics, services and actions are in [coterie_msgs](coterie_msgs.md).\n\n"
        f"| package | what it is for |\n|---|---|\n{rows}\n"
    )
    return pages


def _interfaces(package: Path) -> str:
    text = (
        "# coterie_msgs\n\nThe messages, services and actions, as `ros2 interface show` has them.\n"
    )
    for folder, title in (("msg", "Messages"), ("srv", "Services"), ("action", "Actions")):
        text += f"\n## {title}\n"
        for file in sorted((package / folder).glob(f"*.{folder}")):
            text += f"\n### {file.stem}\n\n```\n{file.read_text('utf-8').strip()}\n```\n"
    return text


def module_table(sources: Path, package: str) -> str:
    """Return a Markdown table of a package's modules, with what each is for.

    Raises:
        ValueError: There is no such package.
    """
    own = {n: f for n, f in modules(sources).items() if n.startswith(f"{package}.")}
    if not own:
        raise ValueError(f"<!-- modules of {package} -->: there is no package {package}")
    rows = [
        f"| `{name.partition('.')[2]}` | {summary(file)} |"
        for name, file in own.items()
        if summary(file) and "testing" not in name.split(".")
    ]
    return "\n".join(["| module | what it is for |", "|---|---|", *rows])


# Diagrams


def diagram_path(source: str) -> str:
    """Return where below docs/ the picture of a diagram lies, by its text."""
    return f"diagrams/{hashlib.sha256(source.encode()).hexdigest()[:16]}.svg"


def diagrams(markdown: str) -> list[str]:
    """Return the texts of a page's mermaid diagrams."""
    return [match[1] for match in DIAGRAM.finditer(markdown)]


def with_pictures(markdown: str, page: str) -> str:
    """Return a page in which every mermaid diagram is a link to its picture.

    Args:
        markdown: The page.
        page: Its path below docs/, from which the links go.

    Raises:
        ValueError: A diagram has no title (``accTitle:``), which those who cannot see it are told.
    """

    def picture(match: re.Match[str]) -> str:
        title = DIAGRAM_TITLE.search(match[1])
        if title is None:
            raise ValueError(f"docs/{page}: a mermaid diagram lacks a line 'accTitle: ...'")
        link = posixpath.relpath(diagram_path(match[1]), posixpath.dirname(page) or ".")
        return f"[![{title[1]}]({link}){{ .diagram }}]({link})"

    return DIAGRAM.sub(picture, markdown)


def draw(source: str) -> str:
    """Return a mermaid diagram as SVG text, drawn on this machine, with its size in pixels."""
    import mmdr

    svg = str(mmdr.render(source).svg())
    box = re.search(r'viewBox="\S+ \S+ (\d+)\S* (\d+)', svg)
    return (
        svg
        if box is None
        else svg.replace('width="100%"', f'width="{box[1]}" height="{box[2]}"', 1)
    )


# Hooks of mkdocs


@cache
def _pages() -> Mapping[str, str]:
    return api_pages(SOURCES)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the API pages into the navigation."""
    for entry in config.nav or []:
        if isinstance(entry, dict) and API_SECTION in entry:
            entry[API_SECTION] = sorted(
                _pages(), key=lambda path: (path != f"{API}/index.md", path)
            )
    return config


def _place(page: str) -> tuple[bool, str]:
    return page != f"{API}/index.md", page.removesuffix(".md")  # a package before its folders


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the API pages and the pictures of all diagrams."""
    from mkdocs.structure.files import File

    sources = {
        text for page in files.documentation_pages() for text in diagrams(page.content_string)
    }
    for path, content in _pages().items():
        files.append(File.generated(config, path, content=content))
    for text in sorted(sources):
        files.append(File.generated(config, diagram_path(text), content=draw(text)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in tables of modules and pictures of diagrams."""
    tables = MODULE_TABLE.sub(lambda match: module_table(SOURCES, match[1]), markdown)
    return with_pictures(tables, page.file.src_uri)
