"""When a step of the set-up is due, and what its long commands show."""

from __future__ import annotations

import io
import shutil
import sys
import time
from pathlib import Path

import pytest

from bootstrap import main, ros, stamps, terminal, workspace
from bootstrap.errors import SetupError
from bootstrap.plan import RENDERER, Layout, Plan, optional_groups

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Layout:
    """A repository with the files that the stamps look at, and one package of each kind."""
    root = tmp_path / "clone"
    shutil.copytree(ROOT / "requirements", root / "requirements")
    (root / "tools" / "bootstrap").mkdir(parents=True)
    for name in ("relocate_cmake_exports.py", "write_setup_files.py", "link_packages.py",
                 "bootstrap/slim.py"):  # fmt: skip
        shutil.copy(ROOT / "tools" / name, root / "tools" / name)
    source = root / "ros2_ws" / "src"
    for package in ("one_msgs", "two_py", "compat/tf2_msgs", "compat/robots/arm_msgs"):
        (source / package).mkdir(parents=True)
        (source / package / "package.xml").write_text("<package/>")
    (source / "one_msgs" / "msg").mkdir()
    (source / "one_msgs" / "msg" / "A.msg").write_text("int32 a\n")
    (source / "two_py" / "setup.py").write_text("setup()\n")
    (source / "two_py" / "two_py").mkdir()
    (source / "two_py" / "two_py" / "logic.py").write_text("x = 1\n")
    return Layout(root)


def plan(clone: Layout, version: str = "3.11", *more: str) -> Plan:
    return Plan.of(clone, ros.Installation(), version, more)


def finish(clone: Layout) -> None:
    now = plan(clone)
    for stamp, digest in (
        (clone.group_stamp("build"), now.build_digest),
        (clone.venv_stamp, now.venv_digest),
        (clone.workspace_stamp, now.workspace_digest),
        (clone.renderer_stamp, now.renderer_digest),
    ):
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest + "\n")
    clone.python.parent.mkdir(parents=True, exist_ok=True)
    clone.python.touch()
    clone.state.mkdir(exist_ok=True)
    ros.Activation({}, {}).save(clone.activation)


def test_fresh_clone_has_everything_to_do(clone: Layout) -> None:
    fresh = plan(clone)
    assert not fresh.venv_ready
    assert not fresh.workspace_ready


def test_finished_set_up_has_nothing_to_do(clone: Layout) -> None:
    finish(clone)
    assert plan(clone).ready


def test_touching_files_repeats_nothing(clone: Layout) -> None:
    finish(clone)
    for file in clone.root.rglob("*.txt"):
        file.write_text(file.read_text())
    assert plan(clone).ready


def test_editing_a_module_needs_no_build(clone: Layout) -> None:
    finish(clone)
    (clone.root / "ros2_ws/src/two_py/two_py/logic.py").write_text("x = 2\n")
    (clone.root / "ros2_ws/src/two_py/two_py/new.py").write_text("y = 2\n")
    assert plan(clone).ready


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("one_msgs/msg/A.msg", "int64 a\n"),
        ("one_msgs/msg/B.msg", "int32 b\n"),
        ("one_msgs/action/C.action", "---\n---\n"),
        ("one_msgs/cmake/generate.py", "x = 1\n"),
        ("two_py/setup.py", "setup(version=2)\n"),
        ("two_py/setup.cfg", "[develop]\n"),
        ("three_py/package.xml", "<package/>"),
    ],
)
def test_build_inputs_need_a_build_but_no_installation(clone: Layout, file: str, text: str) -> None:
    finish(clone)
    target = clone.root / "ros2_ws" / "src" / file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    assert plan(clone).venv_ready
    assert not plan(clone).workspace_ready


@pytest.mark.parametrize("name", ["ros", "build", "lock/build", "system"])
def test_changed_requirements_of_builds_need_both(clone: Layout, name: str) -> None:
    finish(clone)
    with clone.requirements(name).open("a") as file:
        file.write("something==1.0\n")
    assert not plan(clone).venv_ready
    assert not plan(clone).workspace_ready


def test_changed_renderer_is_compiled_again_and_nothing_else(clone: Layout) -> None:
    renderer = clone.workspace / RENDERER
    assert (ROOT / "ros2_ws" / RENDERER).is_file()
    renderer.parent.mkdir(parents=True)
    renderer.write_text("x = 1\n")
    finish(clone)
    assert plan(clone).ready
    renderer.write_text("x = 2\n")
    assert not plan(clone).renderer_ready
    assert plan(clone).venv_ready and plan(clone).workspace_ready


@pytest.mark.parametrize("name", ["run", "lock/run"])
def test_changed_requirements_of_programs_need_no_build(clone: Layout, name: str) -> None:
    finish(clone)
    with clone.requirements(name).open("a") as file:
        file.write("something==1.0\n")
    assert not plan(clone).venv_ready
    assert plan(clone).workspace_ready


def test_what_is_asked_for_is_due_only_where_it_is_asked_for(clone: Layout) -> None:
    finish(clone)
    assert "test" in optional_groups(clone)
    assert "run" not in optional_groups(clone)
    asked = plan(clone, "3.11", "test")
    assert asked.venv_ready
    assert asked.missing == ["test"]
    assert not asked.ready
    assert plan(clone).ready
    stamps.write(clone.group_stamp("test"), asked.more["test"])
    assert plan(clone, "3.11", "test").ready
    with clone.lock("test").open("a") as file:
        file.write("something==1.0\n")
    assert plan(clone, "3.11", "test").missing == ["test"]
    assert plan(clone).ready


def test_interfaces_of_real_robots_are_built_when_asked_for(clone: Layout) -> None:
    finish(clone)
    asked = plan(clone, "3.11", "robots")
    assert asked.missing == ["robots"]
    assert asked.workspace_ready and plan(clone).ready
    stamps.write(clone.group_stamp("robots"), asked.more["robots"])
    assert plan(clone, "3.11", "robots").ready
    interface = clone.workspace / "src/compat/robots/arm_msgs/msg/Arm.msg"
    interface.parent.mkdir()
    interface.write_text("int32 a\n")
    assert plan(clone, "3.11", "robots").missing == ["robots"]
    # Whoever asked for them once gets the new ones without asking again.
    assert plan(clone).missing == ["robots"]
    shutil.rmtree(clone.install)
    assert plan(clone, "3.11", "robots").missing == ["robots"]


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ([], []),
        (["demo"], []),
        (["docs"], []),
        (
            ["test"],
            ["detector", "docs", "embeddings", "local-model", "mcp", "robots", "test"],
        ),  # it builds the site, runs models, talks as robots do
        (["mcp", "--http"], ["mcp"]),
        (["detect", "0"], ["detector"]),
        (["robot", "check", "team.yaml"], []),  # the command itself, once it has read the file
        (["setup", "--with", "robots"], ["robots"]),
        (["setup", "--with", "local-model"], ["local-model"]),
        (["setup", "--with", "docs"], ["docs"]),
        (["setup", "--with=test,docs"], ["test", "docs"]),
    ],
)
def test_commands_bring_the_groups_that_they_need(
    clone: Layout, arguments: list[str], asked: list[str]
) -> None:
    assert main.asked_for(arguments, optional_groups(clone)) == asked


def test_another_python_or_place_or_ros_needs_both(clone: Layout, tmp_path: Path) -> None:
    finish(clone)
    assert not plan(clone, "3.12").venv_ready
    installed = ros.Installation(setup=Path("/opt/ros/jazzy/setup.bash"))
    assert not Plan.of(clone, installed, "3.11").venv_ready
    moved = tmp_path / "moved"
    clone.root.rename(moved)
    assert not plan(Layout(moved)).venv_ready


def test_deleting_a_product_makes_its_step_due(clone: Layout) -> None:
    finish(clone)
    shutil.rmtree(clone.install)
    assert plan(clone).venv_ready
    assert not plan(clone).ready
    finish(clone)
    shutil.rmtree(clone.venv)
    assert not plan(clone).venv_ready


def test_unreadable_stamp_counts_as_missing(tmp_path: Path) -> None:
    stamp = tmp_path / "stamp"
    stamp.write_bytes(b"\xff\xfe")
    assert not stamps.is_current(stamp, "abc")


def test_stand_ins_only_where_the_real_package_is_absent(clone: Layout, tmp_path: Path) -> None:
    compat = clone.root / "ros2_ws" / "src" / "compat"
    prefix = tmp_path / "ros"
    assert workspace.missing_stand_ins(compat, [prefix]) == [compat / "tf2_msgs"]
    (prefix / "share" / "tf2_msgs").mkdir(parents=True)
    assert workspace.missing_stand_ins(compat, [prefix]) == []


def test_colcon_progress_counts_finished_packages() -> None:
    progress = workspace.ColconProgress(total=9)
    assert progress("Starting >>> coterie_msgs") == "0/9 coterie_msgs"
    assert progress("Finished <<< coterie_msgs [9.1s]") == "1/9 coterie_msgs"
    assert progress("--- stderr: coterie_msgs") is None


def test_failed_command_shows_its_log_and_advice(tmp_path: Path) -> None:
    log = tmp_path / "log" / "step.log"
    with pytest.raises(SetupError, match="exit code 3") as caught:
        terminal.Job(
            [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"],
            title="step",
            log=log,
            environ={},
            advise=lambda output: [f"saw {'the reason' in output}"],
        ).wait()
    text = caught.value.render()
    assert "| the reason" in text
    assert "saw True" in text


def test_command_that_does_not_exist_is_a_setup_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot start"):
        terminal.Job(
            [str(tmp_path / "absent")], title="step", log=tmp_path / "step.log", environ={}
        ).wait()


def test_commands_never_wait_for_input(tmp_path: Path) -> None:
    log = tmp_path / "step.log"
    terminal.Job(
        [sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"],
        title="step",
        log=log,
        environ={},
    ).wait()
    assert log.read_text().splitlines()[-1] == "''"


def test_interrupting_ends_what_the_command_started(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print('started', child.pid, flush=True)\n"
        "child.wait()\n"
    )

    def interrupt(line: str) -> None:
        if line.startswith("started"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        terminal.Job(
            [sys.executable, "-c", script],
            title="step",
            log=tmp_path / "step.log",
            environ={},
            describe=interrupt,
        ).wait()
    child = int((tmp_path / "step.log").read_text().split()[-1])
    deadline = time.monotonic() + 30
    while _runs(child):
        assert time.monotonic() < deadline, f"process {child} outlived the command"
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_progress_without_a_terminal_has_no_control_characters() -> None:
    stream = io.StringIO()
    progress = terminal.Progress("step", stream)
    progress.update("1/2")
    progress.done()
    assert "\x1b" not in stream.getvalue()
    assert "\r" not in stream.getvalue()


def test_a_step_that_takes_longer_than_usual_says_so() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    progress = terminal.Progress("step", stream, expected=60.0)
    assert "(0 of about 60 s)" in stream.getvalue()
    progress._started -= 223.0
    progress._redraw()
    progress.done()
    assert "longer than the usual 60 s" in stream.getvalue()
    assert "223 of about" not in stream.getvalue()
