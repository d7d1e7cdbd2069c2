"""The script ./coterie itself: which interpreter it chooses, and that it is clean shell."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    Path("/opt/ros/jazzy/setup.bash").exists(), reason="an installed Jazzy decides the interpreter"
)


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """The script with a stand-in for the set-up that tells how it was called, and a bare PATH."""
    shutil.copy(ROOT / "coterie", tmp_path / "coterie")
    entry = tmp_path / "tools" / "bootstrap" / "__main__.py"
    entry.parent.mkdir(parents=True)
    entry.write_text("import sys\nprint('set-up with', sys.argv[1:])\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "dirname", "readlink", "env"):
        (programs / name).symlink_to(str(shutil.which(name)))
    return tmp_path


def fake_python(sandbox: Path, name: str, version: tuple[int, int]) -> Path:
    """A program that passes for a Python: it understands the checks of the script, no more."""
    suitable = (3, 10) <= version <= (3, 12)
    file = sandbox / "bin" / name
    file.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f"  *'%d.%d'*) echo {version[0]}.{version[1]} ;;\n"
        f"  *version_info*) exit {0 if suitable else 1} ;;\n"
        f'  *) echo "{name} ran" ;;\n'
        "esac\n"
    )
    file.chmod(file.stat().st_mode | stat.S_IEXEC)
    return file


def coterie(sandbox: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(sandbox / "coterie"), *arguments],
        env={"PATH": str(sandbox / "bin"), "HOME": str(sandbox), **environ},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_arguments_arrive_unchanged(sandbox: Path) -> None:
    done = coterie(sandbox, "ask", "Is there a mug?", COTERIE_PYTHON=sys.executable)
    assert done.stdout == "set-up with ['ask', 'Is there a mug?']\n"


def test_it_works_through_a_link_and_from_elsewhere(sandbox: Path, tmp_path: Path) -> None:
    link = tmp_path / "bin" / "coterie"
    link.symlink_to(sandbox / "coterie")
    done = subprocess.run(
        [str(link), "x"],
        cwd="/",
        env={"PATH": str(sandbox / "bin"), "COTERIE_PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "set-up with ['x']\n"


@pytest.mark.parametrize("version", [(3, 9), (3, 13)])
def test_unsuitable_python_is_refused_with_advice(sandbox: Path, version: tuple[int, int]) -> None:
    fake_python(sandbox, "python3", version)
    done = coterie(sandbox, "demo")
    assert done.returncode == 1
    assert f"python3={version[0]}.{version[1]}" in done.stderr
    assert "apt-get install python3" in done.stderr


def test_no_python_at_all_is_refused_with_advice(sandbox: Path) -> None:
    done = coterie(sandbox)
    assert done.returncode == 1
    assert "found: none" in done.stderr


def test_next_suitable_python_is_taken(sandbox: Path) -> None:
    fake_python(sandbox, "python3", (3, 13))
    fake_python(sandbox, "python3.11", (3, 11))
    assert coterie(sandbox).stdout == "python3.11 ran\n"


def test_wrong_choice_of_the_user_is_not_replaced_silently(sandbox: Path) -> None:
    fake_python(sandbox, "python3", (3, 11))
    wrong = fake_python(sandbox, "python3.9", (3, 9))
    done = coterie(sandbox, COTERIE_PYTHON=str(wrong))
    assert done.returncode == 1
    assert "COTERIE_PYTHON" in done.stderr


def test_environment_is_used_and_a_broken_one_passed_over(sandbox: Path) -> None:
    fake_python(sandbox, "python3", (3, 11))
    python = sandbox / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    assert coterie(sandbox, "x").stdout == "set-up with ['x']\n"
    python.unlink()
    python.symlink_to(sandbox / "removed")
    assert coterie(sandbox, "x").stdout == "python3 ran\n"


def test_pythons_own_variables_of_the_caller_do_no_harm(sandbox: Path) -> None:
    (sandbox / "shadow").mkdir()
    (sandbox / "shadow" / "json.py").write_text("raise RuntimeError('shadowed')\n")
    entry = sandbox / "tools" / "bootstrap" / "__main__.py"
    entry.write_text("import json\nprint('fine')\n")
    done = coterie(sandbox, COTERIE_PYTHON=sys.executable, PYTHONPATH=str(sandbox / "shadow"))
    assert done.stdout == "fine\n"


def test_help_needs_no_set_up(sandbox: Path) -> None:
    shutil.rmtree(sandbox / "tools")
    for folder in ("tools", "requirements"):
        shutil.copytree(ROOT / folder, sandbox / folder)
    (sandbox / "ros2_ws" / "src").mkdir(parents=True)
    done = coterie(sandbox, "--help", COTERIE_PYTHON=sys.executable)
    assert done.returncode == 0
    assert "./coterie setup" in done.stdout
    assert not (sandbox / ".venv").exists()


def test_wrong_wish_ends_with_a_message_and_not_a_traceback(sandbox: Path) -> None:
    shutil.rmtree(sandbox / "tools")
    shutil.copytree(ROOT / "tools", sandbox / "tools")
    done = coterie(sandbox, "demo", COTERIE_PYTHON=sys.executable, COTERIE_ROS="noetic")
    assert done.returncode == 1
    assert "'noetic'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "script", ["coterie", ".ci/run", "ros2_ws/src/coterie_core/hook/coterie_libraries.sh"]
)
def test_shell_scripts_are_clean(script: str) -> None:
    beside = Path(sys.executable).parent / "shellcheck"
    shellcheck = str(beside) if beside.exists() else shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed (requirements/test.txt has it)")
    done = subprocess.run(
        [
            shellcheck,
            "--shell=sh" if script.endswith(".sh") else "--shell=bash",
            str(ROOT / script),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert script.endswith(".sh") or os.access(ROOT / script, os.X_OK)
