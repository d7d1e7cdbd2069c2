"""Packages state one version, and their CHANGELOG.rst is what REP-132 asks for."""

from pathlib import Path

import pytest
from catkin_pkg.changelog import get_changelog_from_path

import release

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = """\
# Changelog

## [0.2.0] - unreleased

### Added

- `a*b` is *new*, see [the page](page.md#part).

## [0.1.0] - 2026-11-21

### Fixed

- The first.
- `<robot>/stop`s are heard.
"""


def test_all_packages_state_the_version_of_the_changelog(capsys):
    assert release.main(["check"]) == 0, capsys.readouterr().out


def test_the_changelog_has_versions_with_entries_within_2500_words():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    releases = release.read_changelog(text)
    assert [one.version for one in releases][-2:] == ["0.2.0", "0.1.0"]
    assert all(one.entries for one in releases)
    assert len(text.split()) <= 2500


def test_bloom_reads_what_is_made_of_it(tmp_path):
    file = tmp_path / "CHANGELOG.rst"
    file.write_text(release.as_rst(release.read_changelog(CHANGELOG), "pack"))
    made = get_changelog_from_path(str(file), "pack")
    (version, _, content), *rest = made.foreach_version()
    assert (version, rest) == ("0.1.0", [])  # what is not released yet is no version
    assert str(content[0]) == "* Fixed: The first.\n* Fixed: ``<robot>/stop``s are heard."
    assert "Forthcoming\n-----------\n* Added: ``a*b`` is" in file.read_text()


def test_the_whole_changelog_is_valid_rst():
    from docutils.core import publish_doctree

    rst = release.as_rst(release.read_changelog((ROOT / "CHANGELOG.md").read_text("utf-8")), "pack")
    publish_doctree(rst, settings_overrides={"halt_level": 2, "report_level": 2})


def test_check_names_what_differs(tmp_path, capsys):
    package = tmp_path / "ros2_ws" / "src" / "pack"
    package.mkdir(parents=True)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (package / "package.xml").write_text(
        "<package>\n  <version>0.1.0</version>\n  <maintainer email='a@b'>A</maintainer>\n"
        "  <license>Apache-2.0</license>\n</package>\n"
    )
    (package / "setup.py").write_text(
        'setup(\n    version="0.1.0",\n    maintainer="A",\n    maintainer_email="a@b",\n)\n'
    )
    assert release.main(["check", "--root", str(tmp_path)]) == 1
    assert "pack/setup.py: differs" in capsys.readouterr().out
    assert release.main(["version", "--root", str(tmp_path)]) == 0
    assert release.main(["check", "--root", str(tmp_path)]) == 0
    assert "<version>0.2.0</version>" in (package / "package.xml").read_text()
    assert f'url="{release.URL}"' in (package / "setup.py").read_text()
    assert release.main(["changelogs", "--root", str(tmp_path)]) == 0
    assert (package / "CHANGELOG.rst").is_file()


def test_entries_above_the_first_version_are_refused():
    with pytest.raises(ValueError, match=r"CHANGELOG\.md:1: an entry above"):
        release.read_changelog("- lost\n")
