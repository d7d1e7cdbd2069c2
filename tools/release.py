#!/usr/bin/env python3
"""One version for all packages, and their CHANGELOG.rst (REP-132), from CHANGELOG.md.

    python tools/release.py check              # do all packages state the version of CHANGELOG.md?
    python tools/release.py version            # write it, address and maintainer into them
    python tools/release.py changelogs         # write CHANGELOG.rst of each package, for bloom

All packages are released together, so each gets the whole list. Neither ament nor colcon needs the
CHANGELOG.rst files: git ignores them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = Path("ros2_ws") / "src"
URL = "https://example.org/coterie"
"""Address of the repository: set it here, and run `version`, when there is one."""
MAINTAINER, EMAIL = "Coterie contributors", "coterie@example.org"
UNRELEASED = "unreleased"

_HEADING = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\S+)$")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


@dataclass(frozen=True, slots=True)
class Release:
    """A version, its date or `unreleased`, and (section, entry) in their order."""

    version: str
    date: str
    entries: list[tuple[str, str]] = field(default_factory=list)


def read_changelog(text: str) -> list[Release]:
    """Return the versions of a CHANGELOG.md, the newest first.

    Raises:
        ValueError: It names no version, or an entry belongs to none.
    """
    releases: list[Release] = []
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _HEADING.match(line):
            releases.append(Release(heading[1], heading[2]))
        elif line.startswith("### "):
            section = line[4:].strip()
        elif line.startswith("- "):
            if not releases:
                raise ValueError(f"CHANGELOG.md:{number}: an entry above the first version")
            releases[-1].entries.append((section, line[2:].strip()))
    if not releases:
        raise ValueError("CHANGELOG.md: expected a heading such as '## [0.3.0] - 2026-11-30'")
    return releases


def as_rst(releases: Sequence[Release], package: str) -> str:
    """Return the CHANGELOG.rst of a package, as REP-132 has it."""
    title = f"Changelog for package {package}"
    rule = "^" * len(title)
    lines = [rule, title, rule]
    for release in releases:
        name = f"{release.version} ({release.date})"
        if release.date == UNRELEASED:
            name = "Forthcoming"
        lines += ["", name, "-" * len(name)]
        lines += [f"* {section}: {_inline(text)}" for section, text in release.entries]
    return "\n".join(lines) + "\n"


def _inline(text: str) -> str:
    """Return Markdown of a line as reStructuredText: literals, links without their targets."""
    parts = text.split("`")
    for k in range(0, len(parts), 2):
        plain = _LINK.sub(r"\1", parts[k]).replace("**", "")
        parts[k] = re.sub(r"([\\*_|])", r"\\\1", plain)
    literals = [f"``{part}``" if k % 2 else part for k, part in enumerate(parts)]
    # A literal has to end at a space or a sign: after it, a letter would go on with it.
    return re.sub(r"``(?=\w)(?<=\w``)", r"``\\ ", "".join(literals))


def package_files(root: Path) -> Iterator[Path]:
    """Give the package.xml of all packages."""
    for file in sorted((root / SOURCES).rglob("package.xml")):
        if not {"build", "install"} & set(file.relative_to(root).parts):
            yield file


def stated(file: Path, version: str) -> str:
    """Return a package.xml or setup.py with a version, and the project's address and maintainer."""
    text = file.read_text(encoding="utf-8")
    if file.name == "setup.py":
        text = re.sub(r'^( *version=)"[^"]*"', rf'\1"{version}"', text, flags=re.M)
        text = re.sub(r'^( *maintainer=)"[^"]*"', rf'\1"{MAINTAINER}"', text, flags=re.M)
        text = re.sub(r'^( *maintainer_email=)"[^"]*"', rf'\1"{EMAIL}"', text, flags=re.M)
        text = re.sub(r'^ *url="[^"]*",\n', "", text, flags=re.M)
        return re.sub(r"^( *)(maintainer=)", rf'\1url="{URL}",\n\1\2', text, flags=re.M)
    maintainer = f'<maintainer email="{EMAIL}">{MAINTAINER}</maintainer>'
    text = re.sub(r"<version>.*?</version>", f"<version>{version}</version>", text)
    text = re.sub(r"<maintainer .*?</maintainer>", maintainer, text)
    text = re.sub(r"^ *<url .*?</url>\n", "", text, flags=re.M)
    url = f'<url type="repository">{URL}</url>'
    return re.sub(r"^( *)(<license.*?</license>)\n", rf"\1\2\n\1{url}\n", text, flags=re.M)


def differing(root: Path, version: str) -> list[Path]:
    """Return the files of packages that state another version, address or maintainer."""
    files = [
        file
        for package in package_files(root)
        for file in (package, package.with_name("setup.py"))
        if file.is_file()
    ]
    return [file for file in files if stated(file, version) != file.read_text(encoding="utf-8")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return the exit code: 1 where `check` finds a file that differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("check", "version", "changelogs"))
    parser.add_argument("--root", type=Path, default=ROOT, help="the clone")
    options = parser.parse_args(arguments)
    root: Path = options.root
    releases = read_changelog((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    version = releases[0].version
    if options.what == "changelogs":
        for file in package_files(root):
            rst = file.with_name("CHANGELOG.rst")
            rst.write_text(as_rst(releases, file.parent.name), encoding="utf-8")
        return 0
    wrong = differing(root, version)
    for file in wrong:
        if options.what == "version":
            file.write_text(stated(file, version), encoding="utf-8")
        else:
            print(f"{file.relative_to(root)}: differs; run python tools/release.py version")
    return 1 if wrong and options.what == "check" else 0


if __name__ == "__main__":
    sys.exit(main())
