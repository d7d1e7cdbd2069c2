"""Installing pinned packages: what is asked for, with which settings, and what was cut off."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from bootstrap import installer
from bootstrap.errors import SetupError

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"


def test_wheels_take_every_pin_as_it_stands() -> None:
    lines = installer.requirement_lines(REQUIREMENTS, ["ros", "build", "run"], wheels=True)
    assert "ros-jazzy-rclpy[fastrtps]==7.1.6" in lines
    versions = {line.partition(";")[0].strip() for line in lines if line.startswith("numpy=")}
    assert len(versions) == 2  # of Python 3.10, of later ones
    assert any(line.startswith("contourpy==") for line in lines)


def test_installed_ros_brings_its_own_versions() -> None:
    lines = installer.requirement_lines(REQUIREMENTS, ["ros", "build", "run"], wheels=False)
    assert [line for line in lines if line.startswith("numpy")] == ["numpy==1.26.4"]
    assert not any(line.startswith("ros-") for line in lines)
    assert any(line.startswith("colcon-core==") for line in lines)
    assert [line for line in lines if line.startswith("contourpy")] == ["contourpy==1.3.2"]


def test_a_group_takes_of_the_installed_ros_only_what_it_has() -> None:
    lines = installer.requirement_lines(REQUIREMENTS, ["test"], wheels=False)
    assert any(line.startswith("pytest==") for line in lines)
    assert not any(line.startswith("numpy") for line in lines)


def settings(tmp_path: Path, **environ: str) -> dict[str, str]:
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null"}
    return installer.index_settings(Path(sys.executable), {**clean, **environ})


@pytest.mark.skipif(shutil.which("pip") is None, reason="no pip to ask for its settings")
def test_uv_gets_the_index_that_pip_has(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        PIP_INDEX_URL="https://mirror.example/simple",
        PIP_EXTRA_INDEX_URL="https://a.example/simple\nhttps://b.example/simple",
        PIP_FIND_LINKS="/wheels /more",
        PIP_CERT="/etc/mine.pem",
    )
    assert found["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    assert found["UV_INDEX"] == "https://a.example/simple https://b.example/simple"
    assert found["UV_FIND_LINKS"] == "/wheels,/more"
    assert found["SSL_CERT_FILE"] == "/etc/mine.pem"


@pytest.mark.skipif(shutil.which("pip") is None, reason="no pip to ask for its settings")
def test_environment_wins_over_pips_file_and_uvs_own_over_both(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text("[global]\nindex-url = https://file.example\nproxy = http://p.example\n")
    found = settings(
        tmp_path,
        PIP_CONFIG_FILE=str(config),
        PIP_INDEX_URL="https://variable.example",
        UV_INDEX="https://own.example",
        PIP_EXTRA_INDEX_URL="https://other.example",
    )
    assert found["UV_DEFAULT_INDEX"] == "https://variable.example"
    assert found["ALL_PROXY"] == "http://p.example"
    assert "UV_INDEX" not in found


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with two installed distributions, as installers leave them."""
    for name in ("whole", "broken"):
        package, info = tmp_path / name, tmp_path / f"{name}-1.0.dist-info"
        package.mkdir()
        info.mkdir()
        (package / "__init__.py").write_text("x = 1\n")
        (info / "METADATA").write_text(f"Name: {name}\n")
        (info / "INSTALLER").write_text("uv")
        (info / "RECORD").write_text(
            f"{name}/__init__.py,sha256=x,6\n{name}/__pycache__/a.pyc,,\n"
            f"{info.name}/METADATA,sha256=x,{11 + len(name) - 4}\n{info.name}/RECORD,,\n"
        )
    return tmp_path


def test_whole_distributions_are_left_alone(site: Path) -> None:
    assert installer.drop_damaged(site) == []
    assert (site / "broken-1.0.dist-info").is_dir()


@pytest.mark.parametrize(
    "harm",
    ["rm broken/__init__.py", "printf x > broken/__init__.py", "rm broken-1.0.dist-info/RECORD",
     "rm broken-1.0.dist-info/INSTALLER", ": > broken-1.0.dist-info/RECORD"],
)  # fmt: skip
def test_cut_off_distributions_are_forgotten(site: Path, harm: str) -> None:
    subprocess.run(["sh", "-c", harm], cwd=site, check=True)
    assert installer.drop_damaged(site) == ["broken"]
    assert not (site / "broken-1.0.dist-info").exists()
    assert (site / "whole-1.0.dist-info").is_dir()


def test_progress_counts_each_package_of_pip_once() -> None:
    progress = installer.InstallProgress(total=2)
    assert progress("Collecting numpy==2.4.6 (from -r requirements/ros.txt)") == "1/2 numpy"
    assert progress("Requirement already satisfied: Numpy in x") == "1/2 Numpy"
    assert progress("  Using cached numpy.whl") is None
    assert progress("Installing collected packages: a, b, c") == "unpacking 3 packages"


def test_progress_names_what_uv_is_at() -> None:
    progress = installer.InstallProgress(total=99)
    assert progress(" Downloaded open3d-cpu") == "downloaded open3d-cpu"
    assert progress("Prepared 98 packages in 3.1s") == "98 of 99 packages"
    assert progress(" + numpy==2.4.6") is None


@pytest.mark.parametrize(
    ("output", "word"),
    [
        ("OSError: [Errno 28] No space left on device", "space"),
        ("NewConnectionError('... Temporary failure in name resolution')", "network"),
        ("error: Failed to fetch: `https://x`\n  Caused by: error sending request", "network"),
        ("ERROR: No matching distribution found for numpy==2.4.6", "mirror"),
        ("error: No solution found when resolving dependencies", "mirror"),
        ("something else", "goes on where it stopped"),
    ],
)
def test_advice_fits_the_failure(output: str, word: str) -> None:
    assert word in " ".join(installer.advise(output))


def test_every_pin_has_hashes() -> None:
    known = installer.hashes(REQUIREMENTS)
    groups = [file.stem for file in REQUIREMENTS.glob("*.txt") if file.stem != "unused"]
    for wheels in (True, False):
        asked = [group for group in groups if group != "system"]
        lines = installer.requirement_lines(REQUIREMENTS, asked, wheels=wheels)
        checked = installer.with_hashes(lines, known)
        assert all("--hash=sha256:" in line for line in checked)
    assert ("uv", installer.UV) in known


def test_one_pin_without_hashes_is_not_installed_nor_are_the_others() -> None:
    known = {("a", "1"): ["sha256:00"]}
    assert installer.with_hashes(["a==1"], known) == ["a==1 --hash=sha256:00"]
    marked = 'A==1 ; python_version >= "3.11"'
    assert installer.with_hashes([marked], known) == [f"{marked} --hash=sha256:00"]
    for lines, name in ((["a==1", "b==2"], "b"), (["a==2"], "a")):
        with pytest.raises(SetupError, match=f"no hashes are known of {name},"):
            installer.with_hashes(lines, known)


def test_a_file_that_was_changed_is_not_installed(tmp_path: Path) -> None:
    """A wheel as the index has it goes in; one of the same name and another content does not.

    By pip; uv refuses it as well, but asks no index that is a folder.
    """
    wheel = tmp_path / "simple" / "thing" / "thing-1-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    (wheel.parent / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    info = "thing-1.dist-info"

    def make(content: str) -> str:
        """Pack a wheel; return its hash."""
        files = {
            "thing.py": content,
            f"{info}/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": "",
        }
        with zipfile.ZipFile(wheel, "w") as packed:
            for name, text in files.items():
                packed.writestr(name, text)
        return f"--hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"

    venv, wanted = tmp_path / "venv", tmp_path / "wanted.txt"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (packages,) = (venv / "lib").glob("python3*/site-packages")
    (packages / "pip.pth").write_text(sysconfig.get_path("purelib"))
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null"}
    environ["PIP_INDEX_URL"] = f"file://{tmp_path}/simple"

    def install(line: str) -> int:
        wanted.write_text(line + "\n")
        made, variables = installer.command(None, venv / "bin" / "python", wanted, environ)
        return subprocess.run(made, env=variables, capture_output=True, check=False).returncode

    locked = make("a = 1")
    make("a = 'not what was locked'")
    assert install(f"thing==1 {locked}") != 0
    assert install(f"thing==1 {make('a = 1')}") == 0
